// SPDX-License-Identifier: LGPL-3.0-or-later
//
// play.mjs CHROMIUM WORLD.json [WORD...] - opens the movies that WORLD.json names and plays with
// them.  Prints an array of [test, what was wrong or ""].
//
// The model: block i of world.blocks is born by call i + 1; call blocks + k frees block 2 k.  Frame n
// (from 1) shows the heap after n calls, so all that a page of it may say is known.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { chromium } from "playwright-core";

const even = (n) => (n % 1 === 0.5 ? Math.floor(n) + Math.floor(n) % 2 : n).toFixed(0); // as printf rounds
const PAGE = 4096;
const [executablePath, worldFile, ...words] = process.argv.slice(2);
const world = JSON.parse(await readFile(worldFile, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120000 });

// ---- the model ----

const births = world.blocks.length;

/** Blocks that live after n calls: { address, size, born }; born: the number of its call, from 1. */
function alive(n) {
  return world.blocks.map(([address, size], i) => ({ address, size, born: i + 1, i }))
    .filter((b) => b.born <= n && !(b.i % 2 === 0 && births + b.i / 2 + 1 <= n));
}

function sum(list, of) {
  return list.reduce((n, item) => n + of(item), 0);
}

/** What the page of an address holds after n calls. */
function pageOf(address, n) {
  const from = Math.floor(address / PAGE) * PAGE;
  const inside = (b) => Math.min(b.address + b.size, from + PAGE) - Math.max(b.address, from);
  const here = alive(n).filter((b) => inside(b) > 0);
  // Of equal ones the first that was born.
  const top = [...here].sort((a, b) => inside(b) - inside(a) || a.born - b.born)[0];
  return { from, live: sum(here, inside), blocks: here.length, top };
}

const count = (n) => n.toLocaleString("en-US");

/** The facts that the page must show, by name. */
function expected(address, n) {
  const { from, live, blocks, top } = pageOf(address, n);
  const facts = { address: `0x${from.toString(16)} – 0x${(from + PAGE - 1).toString(16)}` };
  if (!live)
    return { ...facts, live: "nothing" };
  const part = 100 * live / PAGE;
  const percent = part < 1 ? "<1" : part < 100 && part > 99 ? ">99" : part.toFixed(0);
  facts.live = `${count(live)} bytes in ${blocks} ${blocks === 1 ? "block" : "blocks"}, ` +
    `${percent} % of the page`;
  facts["largest block"] = `${count(top.size)} bytes` +
    (top.size >= 10240 ? ` (${(top.size / 1024).toFixed(1)} KiB)` : "");
  facts.age = new RegExp(`^${n - top.born} calls?(, about [0-9.]+ .?s)?; allocated by call ${top.born}$`);
  facts.from = new RegExp(`^${top.size > 20000 ? "take_large" : "take_small"} ← main.* \\(layout\\)$`);
  return facts;
}

// ---- the page ----

async function open(name, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, ...options });
  page.setDefaultTimeout(120000); // the machine may be slow
  page.problems = [];
  page.on("console", (m) => page.problems.push(`console: ${m.text()}`));
  page.on("pageerror", (e) => page.problems.push(`error: ${e.message}`));
  page.on("request", (r) => {
    if (!r.url().startsWith("data:") && !(r.url().startsWith("file:") && r.isNavigationRequest()))
      page.problems.push(`request: ${r.url().slice(0, 200)}`);
  });
  await page.goto(`file://${path.join(world.directory, name)}`);
  await page.waitForSelector(".mp-ready, .mp-problem, [data-ready]");
  await settle(page);
  return page;
}

/** Everything that was asked for has been drawn. */
function settle(page) {
  return page.evaluate(() => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(done))));
}

async function scrub(page, frame) {
  await page.getByRole("slider", { name: "Frame" }).fill(String(frame - 1));
  await settle(page);
}

const now = (page) => page.locator(".mp-now").textContent();

async function shown(page) {
  if (!await page.locator(".mp-tip").isVisible())
    return null;
  return page.$$eval(".mp-tip dt", (all) =>
    Object.fromEntries(all.map((dt) => [dt.textContent, dt.nextElementSibling.textContent])));
}

async function find(page, address) {
  await page.getByLabel("Find").fill(`0x${address.toString(16)}`);
  await page.keyboard.press("Enter");
  await settle(page);
  return shown(page);
}

function same(facts, wanted, what) {
  assert.ok(facts, `${what}: nothing is shown`);
  assert.deepEqual(Object.keys(facts).sort(), Object.keys(wanted).sort(), what);
  for (const [name, value] of Object.entries(wanted))
    if (value instanceof RegExp)
      assert.match(facts[name], value, `${what}: ${name}`);
    else
      assert.equal(facts[name], value, `${what}: ${name}`);
}

/** The colour of the canvas where the page of an address is. */
function colourAt(page, panel, where) {
  return page.locator(".mp-panel canvas").nth(panel).evaluate((canvas, [x, y]) => {
    const ratio = canvas.width / canvas.clientWidth;
    const one = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    one.drawImage(canvas, -Math.floor(x * ratio), -Math.floor(y * ratio));
    const [r, g, b] = one.getImageData(0, 0, 1, 1).data;
    return `rgb(${r}, ${g}, ${b})`;
  }, where);
}

/**
 * Moves the pointer over a map until it stands on a page with something live; its facts.  full: all of
 * it is; next: it is not the last one of its row.
 */
async function hoverLive(page, { panel = 0, full = false, next = false } = {}) {
  const box = await page.locator(".mp-panel canvas").nth(panel).boundingBox();
  const factsAt = async (x, y) => {
    await page.mouse.move(box.x + x, box.y + y);
    return shown(page);
  };
  for (let y = 13; y < box.height; y += 24)
    for (let x = box.width / 2 - 370; x < box.width / 2 + 380; x += 24) {
      const facts = await factsAt(x, y);
      if (!facts || facts.live === "nothing" || full && !facts.live.startsWith("4,096 bytes"))
        continue;
      if (next && !await factsAt(x + 24, y))
        continue;
      if (next)
        await factsAt(x, y);
      return { facts, where: [x, y], box };
    }
  throw new Error("there is no such page");
}

// ---- tests ----

const tests = {
  async "opens without an error or a request"() {
    for (const name of ["recorded.html", "played.html", "small.html", "threads.html"]) {
      const page = await open(name);
      await page.keyboard.press("Space");
      await page.waitForTimeout(200);
      assert.deepEqual(page.problems, [], name);
      await page.close();
    }
  },

  async "the head says what the program did"(page) {
    assert.match(await page.locator("h2").textContent(), /layout$/);
    const about = await page.locator(".mp-about").textContent();
    assert.ok(about.startsWith(`${world.calls} calls · `), about);
    const kib = sum(alive(births), (b) => b.size) / 1024;
    assert.ok(about.includes(`at most ${even(kib)} KiB live`), about);
    assert.match(await now(page), new RegExp(`^frame ${births} of ${world.calls} `), "the peak is shown first");
  },

  async "each frame has its own figures"(page) {
    for (let n = 1; n <= world.calls; n += n % 8 ? 1 : 5) {
      await scrub(page, n);
      const said = await now(page), blocks = alive(n);
      const k = sum(blocks, (b) => b.size) / 1024;
      const size = Number.isInteger(k) ? String(k) : (k < 100 ? k.toFixed(k < 10 ? 2 : 1) : even(k));
      assert.ok(said.startsWith(`frame ${n} of ${world.calls} · ${n} call${n === 1 ? "" : "s"} · `), said);
      const blocksOf = `${blocks.length} block${blocks.length === 1 ? "" : "s"}`;
      assert.ok(said.endsWith(` · ${size} KiB live in ${blocksOf}`), `${n}: ${said}`);
    }
    assert.match(await page.locator(".mp-figures span").first().getAttribute("title"), /of the process, with code/);
  },

  async "scrubbing back shows what was there"(page) {
    const address = world.blocks[0][0] + 2 * PAGE;
    for (const n of [world.calls, births, 1, 70, 31, 33, 2]) {
      await scrub(page, n);
      same(await find(page, address), expected(address, n), `frame ${n}`);
    }
  },

  async "pages say what lies in them"(page) {
    for (const n of [20, births, world.calls]) {
      await scrub(page, n);
      for (const i of [0, 1, 2, 7, 15, 16, 17, 20, 30, 31, 32, 33, 47])
        for (const at of [world.blocks[i][0], world.blocks[i][0] + world.blocks[i][1] - 1])
          same(await find(page, at), expected(at, n), `frame ${n}, 0x${at.toString(16)}`);
    }
  },

  async "hovering says the same"(page) {
    for (const n of [5, births, world.calls]) {
      await scrub(page, n);
      const { facts, where, box } = await hoverLive(page, { next: true });
      const address = Number(facts.address.split(" ")[0]);
      same(facts, expected(address, n), `frame ${n}`);
      const beside = where[0] + 24;
      await page.mouse.move(box.x + beside, box.y + where[1]);
      same(await shown(page), expected(address + PAGE, n), `the page to the right, frame ${n}`);
    }
    await page.mouse.move(5, 5);
    assert.equal(await shown(page), null, "still shown when the pointer has left");
  },

  async "the keyboard goes from page to page"(page) {
    await scrub(page, births);
    const address = world.blocks[3][0] + PAGE;
    await find(page, address);
    await page.locator(".mp-panel canvas").focus();
    for (const [key, by] of [["ArrowRight", PAGE], ["ArrowRight", PAGE], ["ArrowLeft", -PAGE]]) {
      await page.keyboard.press(key);
      await settle(page);
      const facts = await shown(page);
      const at = Number(facts.address.split(" ")[0]);
      same(facts, expected(at, births), key);
      assert.ok(Math.abs(at - Math.floor(address / PAGE) * PAGE) <= 2 * PAGE && by);
      assert.ok((await page.locator(".mp-spoken").textContent()).includes(facts.live), "spoken");
    }
  },

  async "an address that no page has is refused"(page) {
    for (const text of ["0x10", "zebra", ""]) {
      await page.getByLabel("Find").fill(text);
      await page.keyboard.press("Enter");
      assert.equal(await page.getByLabel("Find").getAttribute("aria-invalid"), "true", text);
      assert.equal(await shown(page), null);
    }
  },

  async "keys and buttons move in time"(page) {
    const at = async (what, n) => {
      await settle(page);
      assert.match(await now(page), new RegExp(`^frame ${n} of `), what);
    };
    const button = (name) => page.getByRole("button", { name, exact: true }).click();
    await page.keyboard.press("Home");
    await at("Home", 1);
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press(".");
    await at("right", 3);
    await page.keyboard.press("ArrowLeft");
    await at("left", 2);
    await page.keyboard.press("End");
    await at("End", world.calls);
    await page.keyboard.press("ArrowRight");
    await at("behind the end", world.calls);
    await page.keyboard.press("p");
    await at("p", births);
    await button("First frame");
    await at("First frame", 1);
    await button("Next frame");
    await at("Next frame", 2);
    await button("Previous frame");
    await at("Previous frame", 1);
    await button("Last frame");
    await at("Last frame", world.calls);
    await button("Peak");
    await at("Peak", births);
  },

  async "playing goes on to the end and stops there"(page) {
    await page.keyboard.press("Home");
    await page.locator(".mp-speed").selectOption({ index: 0 }); // the end must not come before it is seen to play
    await page.locator("h2").click();
    await page.keyboard.press("Space");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await page.locator(".mp-speed").selectOption("8");
    await page.waitForFunction((n) => document.querySelector(".mp-now").textContent.startsWith(`frame ${n} `), world.calls);
    await page.getByRole("button", { name: "Play" }).waitFor();
    await page.locator(".mp-speed").selectOption({ index: 0 }); // the end must not come before the pause
    await page.getByRole("button", { name: "Play" }).click();
    await page.waitForFunction((n) => !document.querySelector(".mp-now").textContent.startsWith(`frame ${n} `), world.calls);
    await page.getByRole("button", { name: "Pause" }).click();
    await settle(page);
    const said = await now(page);
    await page.waitForTimeout(150);
    assert.equal(await now(page), said, "goes on when paused");
  },

  async "the curves can be clicked"(page) {
    const box = await page.locator(".mp-chart").boundingBox();
    const left = 64, right = 12; // margins of chart.ts
    for (const part of [0.25, 0.5, 0.75]) {
      await page.mouse.click(box.x + left + part * (box.width - left - right) + 1, box.y + 60);
      await settle(page);
      assert.ok((await now(page)).includes(` · ${world.calls * part} calls · `), await now(page));
    }
  },

  async "colours are those of the legend"(page) {
    await scrub(page, births);
    const { where } = await hoverLive(page, { full: true });
    await page.mouse.move(5, 5);
    const look = async (kind, label) => {
      await page.locator(".mp-kind").selectOption(kind);
      await settle(page);
      const legend = await page.$$eval(".mp-swatch", (all) => all.map((s) =>
        [s.textContent, getComputedStyle(s.querySelector("i")).backgroundColor]));
      const found = legend.find(([text]) => text === label);
      assert.ok(found, `${kind}: no '${label}' in ${legend.map(([t]) => t)}`);
      assert.equal(await colourAt(page, 0, [where[0] + 2, where[1] + 2]), found[1], kind);
    };
    await look("size", "to 128 KiB");
    await look("age", "below 100 calls");
    await look("site", "take_large");
    await look("module", "layout");
    await look("thread", "thread 1");
    await page.locator(".mp-kind").selectOption("occupancy");
    await settle(page);
    const ramp = await page.locator(".mp-ramp").evaluate((e) => getComputedStyle(e).backgroundImage);
    const full = await colourAt(page, 0, [where[0] + 2, where[1] + 2]);
    assert.ok(ramp.endsWith(`${full})`), `a full page is ${full}, the ramp ${ramp.slice(-60)}`);
    await page.locator("h2").click();
    await page.keyboard.press("c");
    assert.equal(await page.locator(".mp-kind").inputValue(), "age", "c");
  },

  async "pinned pages are marked"(page) {
    await scrub(page, world.calls);
    // Small ones left in a page of their own, or none.
    const pinned = [...new Set(world.blocks.map(([a]) => Math.floor(a / PAGE) * PAGE))]
      .find((a) => { const { live } = pageOf(a, world.calls); return live > 0 && live < 64; });
    const before = await page.locator(".mp-swatch").count();
    await page.getByLabel("Pins").check();
    await settle(page);
    assert.equal(await page.locator(".mp-swatch").count(), before + 1, "no word of it in the legend");
    if (pinned !== undefined)
      assert.ok(await find(page, pinned), "its page");
  },

  async "zoom, pan and fit"(page) {
    const canvas = page.locator(".mp-panel canvas");
    const picture = () => canvas.evaluate((c) => c.toDataURL());
    const whole = await picture();
    const { where, box, facts } = await hoverLive(page);
    for (let i = 0; i < 3; i++)
      await page.mouse.wheel(0, -200);
    await settle(page);
    await page.mouse.move(box.x + where[0] + 1, box.y + where[1]);
    assert.equal((await shown(page)).address, facts.address, "the page under the pointer stays there");
    await page.mouse.down();
    await page.mouse.move(box.x + where[0] + 90, box.y + where[1] + 10, { steps: 3 });
    await page.mouse.up();
    await settle(page);
    await page.mouse.move(box.x + where[0] + 90, box.y + where[1] + 11);
    assert.equal((await shown(page)).address, facts.address, "it moves with the pointer");
    await page.mouse.move(5, 5);
    await settle(page);
    assert.notEqual(await picture(), whole);
    await page.getByRole("button", { name: "Fit" }).click();
    await settle(page);
    assert.equal(await picture(), whole, "Fit");
  },

  async "light and dark"() {
    const ground = (page) => page.locator(".mprof-movie").evaluate((e) => getComputedStyle(e).backgroundColor);
    const light = await open("recorded.html", { colorScheme: "light" });
    const dark = await open("recorded.html", { colorScheme: "dark" });
    const [white, black] = [await ground(light), await ground(dark)];
    assert.notEqual(white, black, "the system's choice");
    await light.getByRole("button", { name: "Light or dark" }).click();
    await dark.getByRole("button", { name: "Light or dark" }).click();
    assert.deepEqual([await ground(light), await ground(dark)], [black, white], "the button's");
    await light.close();
    await dark.close();
  },

  async "allocators side by side"() {
    const page = await open("played.html");
    const panels = page.locator(".mp-panel:visible");
    const names = await page.locator(".mp-name b").allTextContents();
    assert.deepEqual(names.map((name) => name.split(" ")[0]), ["glibc", "again"]);
    assert.equal(await page.locator(".mp-kind").inputValue(), "size", "--by");
    assert.match(await page.locator(".mp-about").textContent(), /played by one thread, touching each page/);
    await scrub(page, world.calls);
    const kib = sum(alive(world.calls), (b) => b.size) / 1024;
    assert.ok((await now(page)).endsWith(`${even(kib)} KiB live in ${alive(world.calls).length} blocks`), await now(page));
    const figures = await page.locator(".mp-figures").allTextContents();
    for (const text of figures)
      assert.match(text, /resident [0-9.]+ [KM]iB *kept empty [0-9.]+ ([KM]iB|bytes) *page use [0-9]+ %/);
    const { facts } = await hoverLive(page, { panel: 1 });
    assert.equal(facts.memory, "resident");
    assert.match(facts.from, /^take_/);
    await page.locator("h2").click();
    await page.keyboard.press("1");
    await settle(page);
    assert.equal(await panels.count(), 1, "the key 1");
    await page.getByRole("checkbox", { name: "glibc" }).check();
    assert.equal(await panels.count(), 2, "its box");
    assert.deepEqual(page.problems, []);
    await page.close();
  },

  async "threads have numbers, and the names that the program gave them"() {
    const page = await open("threads.html");
    await page.keyboard.press("End");
    const legend = await page.locator(".mp-swatch").allTextContents();
    for (const [address, size, thread] of world.threads) {
      const facts = await find(page, address + 2 * PAGE), title = size === 70000 ? `${thread} (second <&>)` : thread;
      assert.equal(facts.thread, title);
      assert.ok(facts["largest block"].startsWith(`${count(size)} bytes`));
      assert.ok(legend.includes(`thread ${title}`), String(legend));
    }
    await page.close();
  },

  async "a movie that would be too large has fewer frames and occupancy only"() {
    const page = await open("small.html");
    assert.match(await page.locator(".mp-left-out").textContent(),
      /^To keep this page small, one frame in 2 is shown, and age, .* were left out\.$/);
    assert.deepEqual(await page.locator(".mp-kind option:enabled").allTextContents(), ["occupancy"]);
    await page.getByRole("button", { name: "Peak" }).click();
    await settle(page);
    assert.ok((await now(page)).includes(` ${births} calls · `), await now(page));
    const address = world.blocks[1][0] + PAGE;
    const facts = await find(page, address);
    assert.equal(facts.live, `${count(pageOf(address, births).live)} bytes, 100 % of the page`);
    assert.deepEqual(page.problems, []);
    await page.close();
  },

  async "pages are not said to be fuller than full if some blocks have none"() {
    const page = await open("far.html"), said = await page.locator(".mp-figures").innerText();
    assert.match(said, /some addresses are too far away to be drawn/);
    assert.doesNotMatch(said, /page use/);
    await page.close();
  },

  async "several in a page"() {
    const text = await readFile(path.join(world.directory, "recorded.html"), "utf8");
    const part = text.slice(text.indexOf("<div class=\"mprof-movie\">"), text.indexOf("</div>\n") + 7);
    await writeFile(path.join(world.directory, "twice.html"), text.replace(part, () => part + part));
    const page = await open("twice.html");
    await page.waitForFunction(() => document.querySelectorAll(".mp-ready").length === 2);
    // Keys and wheel are for the document until a player is asked.
    const at = () => page.locator(".mp-now").allTextContents();
    const before = await at(), canvas = page.locator(".mp-panel canvas").first();
    const picture = () => canvas.evaluate((c) => c.toDataURL());
    await page.keyboard.press("End");
    await settle(page);
    assert.deepEqual(await at(), before, "a key without focus");
    await page.evaluate(() => scrollTo(0, 0));
    await canvas.hover({ position: { x: 2, y: 2 } });
    const whole = await picture();
    await page.mouse.wheel(0, -100);
    await settle(page);
    assert.equal(await picture(), whole, "the wheel without focus");
    await canvas.click({ position: { x: 2, y: 2 } });
    await page.mouse.wheel(0, -100);
    await settle(page);
    assert.notEqual(await picture(), whole, "the wheel with focus");
    await page.keyboard.press("End");
    await settle(page);
    const after = await at();
    assert.match(after[0], new RegExp(`^frame ${world.calls} `), "a key with focus");
    assert.equal(after[1], before[1], "the other player");
    assert.deepEqual(page.problems, []);
    await page.close();
  },

  async "damage is told"() {
    const text = await readFile(path.join(world.directory, "recorded.html"), "utf8");
    for (const [name, changed] of [
      ["format", text.replace("\"format\":1", "\"format\":9")],
      ["live", text.replace(/"live":"[^"]{8}/, "\"live\":\"AAAAAAAA")],
      ["json", text.replace("\"films\":[{", "\"films\":[")]]) {
      assert.notEqual(changed, text, name);
      await writeFile(path.join(world.directory, "broken.html"), changed);
      const page = await open("broken.html");
      assert.match(await page.getByRole("alert").textContent(), /^The movie cannot be shown: ./, name);
      await page.close();
    }
  },
  // Its figures are those of the table that mprof compare printed.
  "the page of compare is one of the report: pages, tables that sort, pictures at their size, narrow and dark": async () => {
    for (const [width, colorScheme] of [[1280, "light"], [420, "dark"]]) {
      const page = await open("compare.html", { viewport: { width, height: 860 }, colorScheme });
      const go = async (name) => {
        await page.locator("nav a", { hasText: name }).click();
        await page.waitForTimeout(50);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth) <= width, `${name} is wider than ${width} pixels`);
      };
      const cells = () => page.evaluate(() => [...document.querySelectorAll("#page tbody tr")].map((r) => [...r.cells].map((c) => c.innerText.trim())));
      assert.deepEqual((await page.locator("nav a").allInnerTexts()).filter((t) => t !== "Latency"), ["Overview", "Memory over the run", "The heap over time", "Heap map", "Where blocks lie", "How it was played"]);
      assert.ok((await page.locator("#page #findings li").count()) > 0);
      const shown = await cells(), kib = (text) => parseFloat(text.replace(",", "")) * (/MiB/.test(text) ? 1024 : 1);
      assert.match(shown[0][0], /^glibc\s+\d+\.\d+/);
      world.compared.forEach((a, i) => assert.ok(Math.abs(kib(shown[i][1]) - a.peak_rss_bytes / 1024) <= 0.06 * kib(shown[i][1]), `${shown[i][1]} for ${a.peak_rss_bytes}`));
      await page.locator("#page th button", { hasText: "Peak memory" }).click();
      const sorted = (await cells()).map((row) => kib(row[1]));
      assert.deepEqual(sorted, [...sorted].sort((x, y) => y - x));
      await go("Memory over the run");
      assert.ok(await page.evaluate(() => document.querySelector("#page svg").clientWidth) >= 720);
      await go("The heap over time");
      const images = await page.evaluate(() => [...document.querySelectorAll("#page img")].map((i) => [i.clientWidth, i.naturalWidth, i.parentElement.className]));
      const image = images.filter((i) => i[0]); // one of a light and a dark one
      assert.deepEqual([images.length, image.length], [2, 1]);
      assert.match(image[0][2], new RegExp(colorScheme));
      assert.equal(image[0][0], image[0][1]); // labels have their size, and what does not fit scrolls
      await go("Heap map");
      await page.locator("#page .mprof-movie.mp-ready").waitFor();
      assert.equal(await page.locator("#page .mp-panel").count(), 2);
      await go("Where blocks lie");
      await go("How it was played");
      const back = () => page.evaluate(() => /rgb\((\d+)/.exec(getComputedStyle(document.body).backgroundColor)[1] < 128);
      assert.equal(await back(), colorScheme === "dark");
      await page.getByRole("button", { name: "Light or dark" }).first().click();
      assert.equal(await back(), colorScheme !== "dark");
      assert.deepEqual(page.problems, []);
      await page.close();
    }
  },
};

const results = [];
for (const [name, test] of Object.entries(tests)) {
  if (words.length && !words.some((word) => name.includes(word)))
    continue;
  try {
    const page = test.length ? await open("recorded.html") : null;
    await test(page);
    if (page) {
      assert.deepEqual(page.problems, []);
      await page.close();
    }
    results.push([name, ""]);
  } catch (error) {
    results.push([name, error.message.slice(0, 600)]);
  }
}
await browser.close();
console.log(JSON.stringify(results));
