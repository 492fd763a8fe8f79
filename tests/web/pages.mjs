// SPDX-License-Identifier: LGPL-3.0-or-later
//
// pages.mjs CHROMIUM WORLD.json [WORD...] - opens the reports that WORLD.json names, visits every
// page, and compares figures with what mprof report says of the same trace.  Prints an array of
// [test, what was wrong or ""].
import assert from "node:assert/strict";
import { readFile, rename, writeFile } from "node:fs/promises";
import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { deflateSync, inflateSync } from "node:zlib";
import { chromium } from "playwright-core";

// What a page says of the run, as JSON, and the page with that changed.
const HEAD = /(id="mprof-head">)([^<]*)/, inflated = (packed) => inflateSync(Buffer.from(packed, "base64")).toString();
const headOf = (text) => inflated(text.match(HEAD)[2]);
const rewrite = (text, change) => text.replace(HEAD, (_, tag, packed) => tag + deflateSync(change(inflated(packed))).toString("base64"));

const [executablePath, worldFile, ...words] = process.argv.slice(2);
const world = JSON.parse(await readFile(worldFile, "utf8"));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120000 });
const PAGES = ["overview", "flame", "tables", "tree", "callers", "sources", "jumps", "resident", "stacks", "globals", "leaks", "sizes", "lifetimes", "realloc",
  "threads", "processes", "heap", "run"];

const poll = async (page, test, what, ...args) => { // the page's policy forbids eval, which waitForFunction needs
  for (let i = 0; i < 2400; i++) { // a minute or more: it may be slow
    if (await page.evaluate(test, ...args))
      return;
    await new Promise((done) => setTimeout(done, 25));
  }
  throw new Error(`waited for ${what}`);
};

// Tests of each report share a page of it, for an address says all that it shows; the others have their own.
const shared = new Map();
let sharing = false;

async function open(report, hash = "", options = undefined) {
  const share = sharing && !options && report.file;
  if (share && shared.has(report.file)) {
    const page = shared.get(report.file);
    page.problems.length = 0;
    await go(page, "");
    await go(page, hash);
    return page;
  }
  const page = await load(report, hash, options ?? {});
  if (share) {
    shared.set(report.file, page);
    page.close = async () => {};
  }
  return page;
}

async function load(report, hash, options) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 }, acceptDownloads: true, ...options });
  page.setDefaultTimeout(120000); // the machine may be slow
  page.problems = [];
  page.on("console", (m) => page.problems.push(`console: ${m.text()}`));
  page.on("pageerror", (e) => page.problems.push(`error: ${e.message}`));
  page.on("dialog", (d) => { page.problems.push("a dialog"); d.dismiss(); });
  page.on("request", (r) => {
    if (report.url && r.url().startsWith(report.url)) // mprof view answers
      return;
    if (!r.url().startsWith("data:") && !r.url().startsWith("blob:") && !(r.url().startsWith("file:") && r.isNavigationRequest()))
      page.problems.push(`request: ${r.url().slice(0, 200)}`);
  });
  await page.goto((report.url ?? `file://${report.file}`) + (options.path ?? (hash && "#" + hash)));
  await poll(page, () => document.documentElement.dataset.ready === "1", "the page");
  return page;
}

const drawn = (page, after = 0) => page.evaluate((ms) => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), ms)), after);

async function go(page, hash) {
  await page.evaluate((h) => { location.hash = h; }, hash);
  await drawn(page);
}

async function follow(page, link) {
  await page.locator("nav a", { hasText: link }).click();
  await drawn(page, 50);
}

const UNITS = ["KiB", "MiB", "GiB", "TiB"];
const fixed = (n, digits) => { // a tie to the even digit
  const scale = 10 ** digits, down = Math.floor(n * scale);
  return n * 2 ** (digits + 1) % 2 === 1 ? ((down + down % 2) / scale).toFixed(digits) : n.toFixed(digits);
};
function bytes(n) {
  if (n < 1024)
    return `${count(Math.round(n))} ${Math.round(n) === 1 ? "byte" : "bytes"}`;
  let unit = 0;
  for (n /= 1024; n >= 999.5 && unit < UNITS.length - 1; n /= 1024)
    unit++;
  return `${fixed(n, n < 99.95 ? 1 : 0)} ${UNITS[unit]}`;
}
function duration(ns) { // up to two minutes
  for (const [by, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]]) {
    const n = ns / by;
    if (n >= 0.9995)
      return `${fixed(n, n < 9.995 ? 2 : n < 99.95 ? 1 : 0)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}
const parse = (text) => { const [n, unit] = text.split(" "); return parseFloat(n.replaceAll(",", "")) * 1024 ** (UNITS.indexOf(unit) + 1); };
const count = (n) => n.toLocaleString("en-US");
// A thread as the page shows it.
const titleOf = (row) => row.name ? `${row.thread} (${row.name})` : String(row.thread);
const total = (page) => page.locator(".bar .total").innerText();
const rows = (page, n = 5) => page.evaluate((most) => [...document.querySelectorAll("#page tbody tr")].slice(0, most)
  .map((r) => [...r.cells].map((c) => c.innerText.trim())), n);

const tests = [];
const each = (name, run) => world.reports.forEach((r) => tests.push([`${r.name}: ${name}`, async () => {
  sharing = true;
  try {
    await run(r);
  } finally {
    sharing = false;
  }
}]));
const only = (which, name, run) => world.reports.filter((r) => r.name === which)
  .forEach((r) => tests.push([`${r.name}: ${name}`, () => run(r)]));

each("every page is drawn without a complaint or a request", async (r) => {
  const page = await open(r);
  for (const name of PAGES) {
    await go(page, `page=${name}`);
    assert.ok(await page.evaluate(() => document.querySelector("main#page").innerText.trim().length > 10), name);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("totals are those of mprof report", async (r) => {
  const page = await open(r), all = r.said[""];
  assert.equal(await total(page), bytes(all.peak_bytes));
  await go(page, "figure=calls");
  assert.equal(await total(page), count(all.total_blocks));
  await go(page, "figure=total");
  assert.equal(await total(page), bytes(r.said["hot --by function"].total.figures.total));
  await go(page, "figure=leaked");
  assert.equal(await total(page), bytes(r.said.leaks.total.figures.leaked));
  await page.close();
});

// Own figures belong to who asked, as in the view.
// A list of rows by function and file; all modules of Python have a function of one name.
const named = (list, name, place) => new Map(list.map((row) => [`${name(row)} ${(place(row) ?? "").replace(/:\d+$/, "").replace(/^.*\//, "")}`, row]));

each("functions have the figures of mprof report", async (r) => {
  const page = await open(r, "page=tables&figure=peak&sort=own"), said = named(r.said["peak --by function"].rows.slice(0, 5), (row) => row.function, (row) => row.file ?? row.module);
  const shown = named(await rows(page, 200), (row) => row[5], (row) => row[6]);
  for (const [name, row] of [...said].filter(([name, row]) => row.figures.peak > 0 && shown.has(name)))
    assert.equal(shown.get(name)[0], bytes(row.figures.peak), name);
  assert.ok([...said.keys()].some((name) => shown.has(name)) || !said.size);
  await page.close();
});

// What the command under a page prints, in figures.
const ran = (command) => JSON.parse(execFileSync("sh", ["-c", command.replace(/^mprof/, '"$MPROF"') + " --json"],
  { cwd: world.directory, env: { ...process.env, MPROF: world.mprof }, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }));

// Filters of all kinds, alone and combined, in the run and in a window.
each("the command under a page gives the page's total", async (r) => {
  const page = await open(r), d = await page.evaluate(() => ({ to: +document.querySelector("#timeline input").max,
    functions: [...document.querySelectorAll("#names-function option")].map((o) => o.value), modules: [...document.querySelectorAll("#names-module option")].map((o) => o.value) }));
  const middle = Math.floor(d.to / 2), name = encodeURIComponent((d.functions[1] ?? "main").replace(/[*?[\]\\]/g, "\\$&"));
  const window = d.to > 4 ? [`&from=${Math.floor(d.to / 4)}&to=${d.to - 1}`, `&to=${middle}`] : [];
  const asked = ["size=5-8", "life=11-64", "life=64-64", "life=31-63", "thread=1", "process=1", "process=2&thread=2", `function=${name}`, `without=${name}`,
    `module=${d.modules[0]}`, "module=libc*", "file=*.c&size=0-7", `function=*a*&without=${name}&size=0-10&process=1`];
  for (const figure of ["peak", "end", "kept", "total", "calls", "temporary"])
    for (const more of ["", ...window, ...asked.map((a, i) => `&${a}${(!/life/.test(a) || /total|calls|temporary/.test(figure)) && window.length ? window[i % 2] : ""}`)]) {
      // All of them for three programs, some for the others: each is a run of mprof.
      if (["c++", "threads", "processes"].includes(r.name) ? figure !== "peak" && (more + figure).length % 3 : (more + figure).length % 7)
        continue;
      await go(page, `page=tables&figure=${figure}${more}`);
      if (await page.locator("footer .note").innerText())
        continue;
      const command = await page.locator("footer code").innerText(), shown = await total(page);
      let said;
      try {
        said = ran(command).total.figures;
      } catch (error) { // mprof names the process or thread that is not there
        assert.match(command, /--(process|thread|function|module|file|without)/);
        assert.match(shown, /^0( bytes)?$/, command);
        continue;
      }
      assert.equal(shown, /calls|temporary/.test(figure) ? count(said[figure]) : bytes(figure === "total" ? said.total : said.peak), `${figure}${more}: ${command}`);
    }
  assert.deepEqual(page.problems, []);
  await page.close();
});

// What the page Run says, by title.
const facts = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#page dt")].map((dt) => [dt.innerText, dt.nextElementSibling.innerText])));

each("the page Run has the host, settings and libraries of mprof report", async (r) => {
  const page = await open(r, "page=run"), shown = await facts(page), said = r.said[""], programs = said.processes.flatMap((p) => p.programs);
  for (const [title, name] of [["Host", "host"], ["Kernel", "kernel"], ["Processors", "processors"], ["MPROF_CONF", "conf"], ["Allocator", "allocator"]]) {
    assert.ok(programs[0][name], name);
    assert.ok(shown[title].replace(/ \u2026|~/g, "").includes(String(programs[0][name]).replaceAll(world.directory, "")), `${title}: ${shown[title]}`);
  }
  assert.match(shown["Recorded by"], /^MODE=LogMmap INIT=LD_NEXT/);
  assert.equal(shown.Lost, "nothing");
  assert.ok(Math.abs(Date.parse(shown.Started) - Date.now()) < 3600e3, shown.Started);
  const libc = said.libraries.find((l) => /libc\.so\.6$/.test(l.path)), listed = await rows(page, 50);
  assert.ok(shown.Allocator.includes(libc.build_id));
  assert.equal(listed.length, Math.min(50, said.libraries.length));
  assert.ok(listed.some((row) => row[0] === libc.path && row[1] === libc.build_id));
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("windows add up to the run", async (r) => {
  const page = await open(r, "figure=calls");
  const points = +(await page.evaluate(() => document.querySelector("#timeline input").max)) + 1;
  if (points > 2) {
    const parts = [];
    for (const [from, to] of [[-1, Math.floor(points / 2)], [Math.floor(points / 2), points - 1]]) {
      await go(page, `figure=calls&from=${from}&to=${to}`);
      parts.push(+(await total(page)).replaceAll(",", ""));
    }
    assert.equal(parts[0] + parts[1], r.said[""].total_blocks);
  }
  await page.close();
});

each("a window that is drawn from the left end begins with the run", async (r) => {
  const page = await open(r, "page=tables&figure=calls"), box = await page.locator("#timeline canvas").boundingBox();
  await page.mouse.move(box.x + 1, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width - 1, box.y + 50, { steps: 3 });
  await page.mouse.up();
  assert.equal(await total(page), count(r.said[""].total_blocks));
  await page.close();
});

// A program that keeps 4 MiB by leap() at once, grows slowly, frees the 4 MiB, and keeps 2 MiB by hop().
if (world.jumps)
  tests.push(["what was live when its program ended was not freed by its functions", async () => {
    for (const file of world.jumps.slice(1)) {
      const page = await open({ file }, "page=jumps"), shown = await rows(page);
      assert.deepEqual(shown.filter((r) => r[0][0] == "\u2212").map((r) => r[3]), ["leap", "live when their program ended"]);
      await page.close();
    }
  }], ["a jump of the timeline leads to the call stacks that made it", async () => {
    const page = await open({ file: world.jumps[0] }, "page=jumps"), kib = (text) => parse(text.replace(/^[+\u2212]/, "")) / 1024;
    const shown = await rows(page);
    assert.deepEqual(shown.map((r) => r[0][0] + Math.round(kib(r[0]) / 1024)), ["+4", "\u22124", "+2"]);
    assert.deepEqual(shown.map((r) => r[3]), ["leap", "leap", "hop"]);
    for (const [row, mib] of [[0, 4], [2, 2]]) {
      await go(page, "page=jumps");
      await page.locator("#page tbody tr").nth(row).locator("button").first().click();
      const at = await page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
      assert.deepEqual([at.page, at.figure], ["flame", "kept"]);
      assert.equal(Math.round(kib(await total(page)) / 1024), mib);
      await go(page, new URLSearchParams({ ...at, page: "tables" }).toString());
      assert.equal((await rows(page, 1))[0][5], row ? "hop" : "leap");
    }
    await go(page, "page=jumps");
    await page.locator("#page tbody tr").nth(1).locator("button").first().click();
    assert.match(await page.locator(".change").innerText(), /\u2212(3\.\d|4\.0) MiB/);
    // A double click at the right end of the timeline: the last jump.
    await go(page, "page=overview");
    const box = await page.locator("#timeline canvas").boundingBox();
    await page.locator("#timeline canvas").dblclick({ position: { x: box.width - 4, y: box.height / 2 } });
    assert.match(await page.evaluate(() => location.hash), /page=flame&figure=kept/);
    assert.equal(Math.round(kib(await total(page)) / 1024), 2);
    // It was killed, so it might have freed what is left.
    await go(page, "page=leaks&figure=leaked");
    assert.match(await page.locator("#page p").first().innerText(), /^[\d,]+ blocks, \S+ MiB, were live at the end/);
    // Of large blocks, one is live at a time: no scale says so twice.
    await go(page, "page=sizes&curve=blocks&figure=calls&size=23-64");
    const unlike = (labels) => assert.deepEqual(labels, [...new Set(labels)]);
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#timeline button", { hasText: "SVG" }).click()]);
    unlike([...(await readFile(await file.path(), "utf8")).matchAll(/<text x="2"[^>]*>([^<]*)</g)].map((m) => m[1]));
    unlike(await page.evaluate(() => [...document.querySelectorAll(".by-size svg text[text-anchor=end]")].map((t) => t.textContent)));
    assert.match(await page.locator("#timeline .window").innerText(), /, without the filters: peak/);
    // Saved, a time is a time, and a part a percentage.
    await go(page, "page=jumps");
    const [saved] = await Promise.all([page.waitForEvent("download"), page.locator("#page button.save").click()]);
    const [head, row] = (await readFile(await saved.path(), "utf8")).split("\r\n").map((line) => line.split(","));
    assert.deepEqual(head, ["Change (bytes)", "Live after it (bytes)", "When (ns)", "Most of it", "%"]);
    assert.ok(+row[2] > 50e6 && +row[4] > 90 && +row[4] <= 100, row.join());
    assert.deepEqual(page.problems, []);
    await page.close();
  }]);

// ---- profiles: totals, no calls ----

const profile = (name, run) => world.profiles.forEach((r) => tests.push([`${r.name}: ${name}`, async () => {
  const page = await open(r);
  await run(r, page);
  assert.deepEqual(page.problems, []);
  await page.close();
}]));
const estimated = (r) => r.said[""].estimated;

profile("every page is drawn, and those that need calls say so and name the command", async (r, page) => {
  const told = {};
  for (const name of [...PAGES, "compare"]) {
    await go(page, `page=${name}`);
    const text = await page.evaluate(() => document.querySelector("main#page").innerText);
    assert.ok(text.trim().length > 10, name);
    told[name] = /(needs?|known only from) individual calls|Samples do not show|no individual calls/.test(text);
    if (told[name])
      assert.match(text, /mprof (record|profile) -- /, name);
  }
  assert.deepEqual(Object.keys(told).filter((name) => told[name]), ["jumps", "resident", "sizes", "lifetimes", "realloc", "threads", "heap"]);
  assert.equal(await page.locator("#timeline input[type=range]").count(), 0);
  assert.match(await page.locator("#timeline output.window").innerText(), /Totals have no windows/);
});

profile("figures, ranges and the command under them are those of mprof report", async (r, page) => {
  const all = r.said[""].total.figures, ranges = r.said[""].total.ranges;
  for (const [figure, value] of [["peak", "peak"], ["end", "live"], ["total", "total"], ["calls", "calls"], ["leaked", "leaked"], ["temporary", "temporary"], ["waste", "waste"]]) {
    if (/temporary|waste/.test(figure) && estimated(r))
      continue;
    await go(page, `page=tables&figure=${figure}`);
    const text = (n) => /calls|temporary/.test(figure) ? count(n) : bytes(n), shown = await total(page);
    assert.equal(shown, text(all[value]), figure);
    assert.equal(shown, text(ran(await page.locator("footer code").innerText()).total.figures[value]), figure);
    if (estimated(r) && all[value])
      assert.equal(await page.locator(".bar .range").innerText(), `estimate: ${text(ranges[value][0])} to ${text(ranges[value][1])}`);
  }
  await go(page, "page=tables&figure=total&function=pass");
  assert.equal(await total(page), bytes(ran(await page.locator("footer code").innerText()).total.figures.total));
});

profile("functions have the figures and ranges of mprof report", async (r, page) => {
  for (const [figure, value, view] of [["peak", "peak", "peak"], ["calls", "calls", "hot"], ["leaked", "leaked", "leaks"]]) {
    await go(page, `page=tables&figure=${figure}&sort=own`);
    const name = estimated(r) ? 5 : 4, text = (n) => figure === "calls" ? count(n) : bytes(n);
    const shown = new Map((await rows(page, 50)).map((row) => [row[name], row]));
    for (const row of r.said[`${view} --by function`].rows.filter((row) => row.figures[value])) {
      assert.equal(shown.get(row.function)?.[0], text(row.figures[value]), `${figure} ${row.function}`);
      if (estimated(r))
        assert.equal(shown.get(row.function)[2], row.ranges[value].map(text).join(" to "), `${figure} ${row.function}`);
    }
  }
  assert.ok(r.said["peak --by function"].rows.some((row) => row.function === "keep"));
});

profile("threads, sizes, processes and the curve are those of mprof report", async (r, page) => {
  await go(page, "page=threads");
  const threads = await rows(page, 50), said = r.said["hot --by thread"].rows;
  assert.equal(threads.length, said.length);
  for (const row of said)
    assert.deepEqual(threads.find((t) => t[0] === titleOf(row)).slice(1, 4), [count(row.figures.calls), bytes(row.figures.total), count(row.blocks.freed)]);
  await go(page, "page=processes");
  await go(page, "page=run");
  const program = r.said[""].processes[0].programs[0], run = await facts(page);
  assert.ok(program.kernel && run.Kernel === program.kernel && run.Host === program.host && /^MODE=/.test(run["Recorded by"]), JSON.stringify(run));
  assert.ok((await page.locator("#page .run").innerText()).includes(r.said[""].libraries.find((l) => /eight$/.test(l.path)).build_id));
  await go(page, "page=processes");
  assert.deepEqual((await rows(page, 1))[0].slice(5, 8), [count(r.said[""].total.figures.calls), bytes(r.said[""].total.figures.total), bytes(r.said[""].total.figures.peak)]);
  if (!estimated(r)) {
    await go(page, "page=sizes");
    const sizes = await rows(page, 70);
    assert.deepEqual(sizes.map((s) => s.slice(0, 2)), r.said[""].sizes.map((s) => [bytes(s.from), count(s.calls)]));
  }
  await go(page, "page=overview");
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#timeline button", { hasText: "JSON" }).click()]);
  const json = JSON.parse(await readFile(await file.path(), "utf8"));
  assert.deepEqual(json.layers[0].values, r.said[""].course.length ? r.said[""].course.map((s) => s.bytes) : json.layers[0].values);
  assert.ok(json.ns.length > 0);
});

profile("a finding leads to the call graph, a frame says how exact it is", async (r, page) => {
  for (const item of await page.locator("#page .findings li").all())
    assert.ok(await item.locator("button.show").count() <= 1, await item.innerText());
  await page.locator("#page .findings button.show").first().click();
  await poll(page, () => location.hash.includes("page=callers"), "the callers");
  assert.match(await page.locator("#page h2").first().innerText(), /keep/);
  await go(page, "page=flame");
  const box = await page.locator(".graph canvas").boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + 8);
  const tip = await page.locator(".tip").first().innerText();
  assert.match(tip, /^all/);
  assert.equal(/95 % confidence/.test(tip), estimated(r));
});

only("c++", "the leak's owner, the peak's owner and the hottest line in three clicks", async (r) => {
  const page = await open(r);
  await page.locator("#page .findings button.show").first().click();
  await poll(page, () => location.hash.includes("page=callers"), "the callers");
  assert.match(await page.locator("#page h2").first().innerText(), /index::add|read/);
  await follow(page, "Functions");
  await page.locator("#page input[type=checkbox]").first().check();
  assert.match((await rows(page, 1))[0].join(" "), /words\.cc:\d+/);
  await page.goBack();
  await page.close();
});

each("each finding leads to its evidence, with or without debug information", async (r) => {
  const page = await open(r, "page=overview"), findings = r.said[""].findings, show = page.locator("#page .findings button.show");
  assert.equal(await show.count(), findings.length);
  for (const [i, f] of findings.entries()) {
    await go(page, "page=overview");
    await show.nth(i).click();
    const to = { realloc: "realloc", threads: "threads", outside: "resident", retained: "resident", "stack-full": "stacks", stacks: "stacks", unjoined: "stacks", variables: "globals", time: "threads" }[f.finding];
    assert.match(await page.evaluate(() => location.hash), new RegExp(`page=${to ?? "callers"}`), f.text);
    if (!to)
      assert.equal(await page.locator("#page h2").first().innerText(), f.function, f.text);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("findings come before the figures of the run", async (r) => {
  const page = await open(r, "page=overview"), items = await page.locator("#page .findings li").allInnerTexts();
  const peak = items.findIndex((t) => /^At its peak/.test(t)), findings = r.said[""].findings;
  assert.ok(peak >= findings.length, `${peak} of ${findings.length}`);
  assert.ok(items.every((t) => !/^mprof .*:$/m.test(t)), "a text begins on a line of its own, not behind a command");
  assert.deepEqual(await page.locator("#page .findings > h2").allInnerTexts(), findings.length ? ["Findings", "The whole run"] : ["Findings"]);
  assert.equal(await page.locator(".numbers button", { hasText: "Never freed" }).locator("b").innerText(), bytes(r.said.leaks.total.figures.leaked));
  await page.close();
});

each("what was never freed is listed by function, processes below their parents", async (r) => {
  const page = await open(r, "page=leaks&figure=leaked"), kept = await page.locator("#page p").first().innerText(), { blocks, bytes: left } = r.said[""].never_freed;
  assert.ok(kept.startsWith(`${count(blocks)} block${blocks === 1 ? "" : "s"}, ${bytes(left)}, ${blocks === 1 ? "was" : "were"} never freed`), kept);
  const own = (await rows(page, 1))[0]?.[0], most = Math.max(0, ...r.said.leaks.rows.map((row) => row.figures.leaked));
  assert.ok(!most || parse(own) >= parse(bytes(most)) * 0.95, `${own} ${most}`);
  // The graph may show another figure; then it says which.
  const named = () => page.locator("#page h3", { hasText: /^Allocations$/ }).count();
  assert.equal(await named(), 0);
  await go(page, "page=leaks&figure=calls");
  assert.equal(await named(), 1);
  await go(page, "page=processes");
  const of = new Map(r.said[""].processes.map((p) => [p.process, p])), depth = (p) => p && of.get(p.parent) ? 1 + depth(of.get(p.parent)) : 0;
  const shown = await page.evaluate(() => [...document.querySelectorAll("#page tbody tr")].map((row) => [+row.cells[0].textContent.replaceAll(",", ""), parseFloat(row.querySelector(".indented").style.paddingLeft)]));
  assert.deepEqual(shown, shown.map(([process]) => [process, Math.min(12, depth(of.get(process)))]));
  shown.forEach(([process], i) => assert.ok(!i || !of.get(of.get(process).parent) || shown.slice(0, i).some((s) => s[0] === of.get(process).parent), String(process)));
  await page.close();
});

each("the memory of the machine and of the process is on the timeline", async (r) => {
  const page = await open(r, "page=run"), { least_available: least, processes } = r.said[""], memory = await facts(page);
  const saved = async (curve) => {
    await go(page, `page=tables&curve=${curve}`);
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#timeline button", { hasText: "JSON" }).click()]);
    return JSON.parse(await readFile(await file.path(), "utf8"));
  };
  const told = await saved("available"), values = told.layers[0].values;
  assert.equal(told.curve, "Available in the system");
  assert.ok(values.every((n) => n >= least.available_bytes && n <= least.total_bytes), `${Math.min(...values)} ${JSON.stringify(least)}`);
  assert.ok(least.swap_used_bytes <= least.swap_bytes && least.free_bytes <= least.total_bytes);
  assert.ok(memory.Memory.startsWith(`${bytes(least.total_bytes)}, at least ${bytes(least.available_bytes)} of it available`), memory.Memory);
  if (processes.length === 1 && processes[0].samples) { // known from the first sample to the end of the process
    const resident = (await saved("rss")).layers[0].values, first = resident.findIndex((n) => n > 0);
    assert.ok(first < 0 || resident.slice(first).every((n) => n > 0), resident.join(" "));
  }
  await page.close();
});

only("c++", "the table of functions can be searched", async (r) => {
  const page = await open(r, "page=tables&figure=total"), all = (await rows(page, 50)).length;
  await page.locator("#page").getByLabel("Search functions").fill("read");
  await drawn(page);
  const found = (await rows(page, 50)).map((row) => row.join(" "));
  assert.ok(found.length > 0 && found.length < all && found.every((row) => /read/i.test(row)), found.join("; "));
  assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  await page.close();
});

// Boxes beside the function in the middle, as [name, figure].
const boxes = (page, side) => page.evaluate((side) => {
  const all = [...document.querySelectorAll(".callgraph g[aria-label]")], at = (g) => g.querySelector("rect").x.baseVal.value;
  const xs = [...new Set(all.map(at))].sort((a, b) => a - b), middle = xs.indexOf(at(all.find((g) => g.getAttribute("role") === "img")));
  return all.filter((g) => at(g) === xs[middle + side]).map((g) => g.getAttribute("aria-label").match(/^(.*), (.*), [^,]*$/).slice(1));
}, side);

each("the call graph around a function is that of mprof report callers", async (r) => {
  const page = await open(r, "page=callers");
  if (r.function) {
    await page.locator("#page").getByLabel("Function", { exact: true }).fill(r.function);
    await page.keyboard.press("Enter");
    await poll(page, () => document.querySelector(".callgraph g[role=img]"), "the graph");
    const said = r.said.callers, total = said.total.peak;
    assert.deepEqual((await boxes(page, 0))[0], [r.function, bytes(total)]);
    for (const [side, rows] of [[-1, said.rows], [1, said.callees]]) {
      const shown = new Map(await boxes(page, side));
      for (const row of rows.filter((row) => row.depth === 2 && row.inclusive.peak >= total / 50).slice(0, 8))
        assert.equal(shown.get(row.function.startsWith("<") && row.file ? `${row.function} ${row.file.replace(/.*\//, "")}` : row.function), bytes(row.inclusive.peak), `${row.function} beside ${r.function}: ${[...shown]}`);
    }
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "the call graph moves by click and by key, and is saved", async (r) => {
  const page = await open(r, "page=callers"), middle = () => page.locator(".callgraph g[role=img]").getAttribute("aria-label");
  await poll(page, () => document.querySelector(".callgraph g[role=img]"), "the graph");
  assert.match(await middle(), /^index::add, /);
  await page.locator(".callgraph g[aria-label^='read, ']").click();
  await poll(page, () => document.activeElement.getAttribute("aria-label")?.startsWith("read, "), "the focus on read");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  await poll(page, () => document.activeElement.getAttribute("aria-label")?.startsWith("main, "), "the focus on main");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), /^read, /);
  await page.goBack();
  await poll(page, () => document.querySelector(".callgraph g[role=img]")?.getAttribute("aria-label").startsWith("read, "), "read again");
  await page.getByLabel("Calls away").selectOption("1");
  assert.match(await page.evaluate(() => location.hash), /levels=1/);
  for (const [button, begins] of [["Save SVG", "<svg"], ["Save PNG", "\x89PNG"]]) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator("button", { hasText: button }).click()]);
    assert.ok((await readFile(await file.path(), "latin1")).startsWith(begins), button);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

const sourceRows = (page) => page.evaluate(() => [...document.querySelectorAll(".source tbody tr:not(.gap)")]
  .map((r) => [...r.cells].map((c) => c.textContent)));
const note = (page) => page.locator("#page .note").allInnerTexts().then((t) => t.join(" "));

async function annotated(page, said, byLine) {
  const shown = new Map((await sourceRows(page)).map((row) => [+row[5], row])), sizes = {}, counts = new Map();
  for (const row of byLine.rows.filter((row) => /words\.cc$/.test(row.file)))
    counts.set(row.line, [count(row.figures.calls), count(row.blocks.freed)]);
  assert.ok(counts.size > 1);
  for (const row of said.rows[0].lines)
    sizes[row.line] = shown.get(row.line)[4];
  for (const line of said.rows[0].lines.filter((line) => line.inclusive.peak)) {
    const own = line.exclusive.peak ? bytes(line.exclusive.peak) : "";
    assert.deepEqual(shown.get(line.line), [own, bytes(line.inclusive.peak), ...(counts.get(line.line) ?? ["", ""]), sizes[line.line], String(line.line), line.source]);
  }
  assert.ok(Object.values(sizes).some((s) => /^\d.* \/ .* \/ .*(byte|KiB)/.test(s)), JSON.stringify(sizes));
  assert.equal(shown.get(1)[6], "// SPDX-License-Identifier: LGPL-3.0-or-later");
}

only("c++", "sources have the text and the figures of mprof report annotate; homes are hidden", async (r) => {
  const page = await open(r, "page=sources&full=1");
  await annotated(page, r.said.annotate, r.said.lines);
  assert.equal(await note(page), "");
  assert.equal(await page.locator("#page h2").innerText(), "~/words.cc");
  const text = await readFile(r.file, "utf8"), all = text + headOf(text), home = r.file.slice(0, r.file.lastIndexOf("/"));
  assert.equal(all.indexOf(home), -1, all.slice(all.indexOf(home) - 100, all.indexOf(home) + 100));
  await page.locator(".sources .table button.name", { hasText: /^dl-|libc-start|_start/ }).first().click();
  assert.match(await note(page), /cannot be shown: No such file/);
  await page.goBack();
  await page.locator(".source button.name", { hasText: "29" }).click();
  await poll(page, () => location.hash.includes("page=callers"), "the call graph");
  await page.locator("#page button.name", { hasText: "words.cc:29" }).click();
  assert.match(await page.locator(".source .chosen").innerText(), /all\.add\(word, n\)/);
  assert.deepEqual(page.problems, []);
  await page.close();
  const newer = await open({ file: r.file.replace(".html", "-newer.html") }, "page=sources");
  assert.match(await note(newer), /words\.cc was changed after the program ran/);
  await newer.close();
});

only("c", "sources stay out of a page unless asked for", async (r) => {
  const page = await open(r, "page=sources"), text = await readFile(r.file, "utf8"), all = text + headOf(text);
  assert.match(await note(page), /without source text.*--sources/);
  assert.ok((await sourceRows(page)).some((row) => row.some((cell) => /layout|main/.test(cell))));
  assert.ok(!all.includes("SPDX-License-Identifier: LGPL-3.0-or-later"));
  assert.deepEqual(page.problems, []);
  await page.close();
});

const head = (page) => page.evaluate(async () => {
  const bytes = Uint8Array.from(atob(document.getElementById("mprof-head").textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
});
const PARTS = ["live", "rounding", "gaps", "retained", "mapped", "mprof", "other", "files"];

// In a forked process, inherited blocks may have a part of these pages: that is other memory.
const underLive = (s, pages, forked) => {
  const sum = s.live + s.rounding + s.gaps;
  assert.ok(sum <= pages + Math.max(64, pages * 1e-6) && pages - sum <= (forked ? s.other + s.mprof : 0) + Math.max(64, pages * 1e-6), `under live blocks: ${sum} of ${pages}`);
};

each("resident memory adds up, with the figures of mprof report", async (r) => {
  const page = await open(r, "page=resident"), samples = (await head(page)).resident;
  const said = r.said[""].compactness.physical?.samples ?? [], unit = r.said[""].page_bytes;
  assert.equal(samples.length, said.length);
  samples.forEach((s, i) => {
    assert.deepEqual([s.process, s.at_ns, s.rss, s.live], [said[i].process, said[i].at_ns, said[i].rss_bytes, said[i].live_resident_bytes]);
    underLive(s, said[i].under_live_pages * unit, s.process > 1);
    assert.equal(PARTS.reduce((n, part) => n + s[part], 0), Math.max(s.rss, said[i].resident_pages * unit));
  });
  if (samples.length) {
    const most = samples.reduce((x, s) => s.rss > x.rss ? s : x), shown = new Map((await rows(page, 8)).map((row) => [row[0], row[1]]));
    assert.equal(shown.get("Live"), bytes(most.live));
    assert.equal(shown.get("Files"), bytes(most.files));
    assert.match(await page.locator("#timeline .legend").innerText(), /Retained/);
  } else {
    assert.match(await page.locator("#page").innerText(), /No sample/);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("resident", "mapped and retained pages are told apart", async (r) => {
  const page = await open(r, "page=resident"), last = (await head(page)).resident.at(-1);
  assert.equal(last.mapped, 8 << 20);
  assert.equal(last.live, r.said[""].live_bytes);
  assert.ok(Math.abs(last.retained - 2000 * 4016) < 256 << 10, `retained ${last.retained}`);
  await page.close();
});

const near = (a, b, what) => assert.ok(Math.abs(a - b) <= Math.max(64, b * 1e-6), `${what}: ${a}, expected ${b}`);

// A page belongs to the blocks on it, so what functions have adds up to the pages under live blocks.
each("resident pages belong to those whose blocks are on them", async (r) => {
  const page = await open(r, "page=resident"), all = await head(page), largest = all.largest;
  if (!largest) {
    assert.ok(!all.resident.length || all.resident.every((s) => !s.live));
    return;
  }
  const of = all.resident.find((s) => s.process === largest.process && s.at_ns === largest.at_ns);
  underLive(of, largest.bytes, of.process > 1);
  await go(page, "page=tables&figure=resident");
  // The sum of rounded shares may be on the other side of 3.25 MiB.
  assert.ok([0, -64, 64].map((more) => bytes(largest.bytes + more)).includes(await total(page)), `${await total(page)}: ${largest.bytes} bytes`);
  if (r.name === "resident")
    assert.deepEqual((await rows(page, 1))[0].filter((_, i) => i === 0 || i === 4), [bytes(largest.bytes), "main"]);
  const layers = async (hash) => {
    await go(page, hash);
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#timeline button", { hasText: "JSON" }).click()]);
    return JSON.parse(await readFile(await file.path(), "utf8")).layers;
  };
  const uses = await layers("page=resident"), owners = await layers("page=resident&whose=1"), at = (list, p) => list.reduce((n, l) => n + l.values[p], 0);
  assert.ok(owners.length > 6 && owners.length !== uses.length || owners[0].name !== uses[0].name);
  for (let p = 0; p < uses[0].values.length; p += 17)
    near(at(owners, p), at(uses, p), `point ${p}`);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "on a narrow screen names come first, and source lines are seen", async (r) => {
  const page = await open(r, "page=tables", { viewport: { width: 420, height: 800 } });
  const right = (selector) => page.evaluate((s) => Math.round(document.querySelector(s).getBoundingClientRect().right), selector);
  assert.equal((await rows(page, 1))[0][0], "index::add");
  assert.ok(await right("#page tbody td") < 420);
  await go(page, "page=sources");
  assert.ok(await page.evaluate(() => document.querySelector(".source tbody td:last-child").getBoundingClientRect().left < 300));
  await follow(page, "Never freed");
  assert.match(await page.evaluate(() => location.hash), /figure=leaked/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("python", "deep stacks scroll, and begin with the root", async (r) => {
  const page = await open(r, "page=flame"), seen = () => page.evaluate(() => { const b = document.querySelector(".deep"), c = b.firstChild;
    return { box: b.clientHeight, canvas: c.clientHeight, top: b.scrollTop }; });
  const first = await seen();
  assert.ok(first.canvas > first.box && first.box < 860, JSON.stringify(first));
  assert.equal(first.top, 0); // the root
  await go(page, "page=flame&icicle=0");
  const last = await seen();
  assert.ok(last.top + last.box >= last.canvas - 2, JSON.stringify(last));
  // What scrolls into view is drawn: frames at the lower end, none above the deepest one.
  const painted = (top) => page.evaluate((y) => new Promise((done) => {
    const b = document.querySelector(".deep"), c = b.querySelector("canvas");
    b.scrollTop = y;
    requestAnimationFrame(() => requestAnimationFrame(() => { // the first one has told the page
      const row = (at) => new Set(new Uint32Array(c.getContext("2d").getImageData(0, at, c.width, 1).data.buffer)).size > 1;
      done([row(4), row(c.height - 5)]);
    }));
  }), top);
  assert.deepEqual(await painted(1e6), [true, true]);
  assert.deepEqual(await painted(0), [false, true]);
  await page.close();
});

const table = (page, n) => page.evaluate((i) => [...document.querySelectorAll("#page table")[i].tBodies[0].rows]
  .map((row) => [...row.cells].map((c) => c.innerText.trim())), n);

each("stacks of threads are those of mprof report threads", async (r) => {
  const page = await open(r, "page=stacks"), said = r.said.threads.stacks, calls = new Map(r.said[""].threads.map((t) => [t.thread, t.events]));
  const known = (n, unsure) => n === null ? "-" : (unsure ? "\u2265 " : "") + bytes(n);
  // A thread that exec'd has a stack in each program.
  const shown = await table(page, 0);
  const row = (s) => [s.main && !s.name ? `${s.thread} (main)` : titleOf(s), String(s.tid), String(s.process), known(s.used_bytes, s.touched_bytes === null),
    known(s.limit_bytes), s.limit_bytes ? "of it" : "-", known(s.resident_bytes), known(s.deepest_bytes),
    s.deepest_at_ns === null ? "-" : duration(s.deepest_at_ns), calls.has(s.thread) ? count(calls.get(s.thread)) : "-"];
  assert.deepEqual(shown.map((r) => r.slice(0, 10).map((cell, i) => i === 5 && cell !== "-" ? "of it" : cell)).sort(), said.map(row).sort());
  const first = said.filter((s, i) => said.findIndex((x) => x.thread === s.thread) === i);
  // The curve: each step of it is an interval.
  assert.equal(await page.locator(".depths svg path title").count(), Math.min(7, said.filter((s) => s.intervals.length).length));
  for (const s of first.filter((x) => x.intervals.length > 3).slice(0, 2)) {
    await go(page, `page=stacks&thread=${s.thread}`);
    const of = said.filter((x) => x.thread === s.thread && x.intervals.length), [file] = await Promise.all([page.waitForEvent("download"), page.locator(".depths button", { hasText: "Save CSV" }).click()]);
    const saved = await readFile(await file.path(), "utf8");
    assert.deepEqual(saved.trim().split("\r\n").slice(1).sort(), of.flatMap((x) => x.intervals.map((i) => `${x.thread},${i.from_ns},${i.deepest_bytes}`)).sort());
    // As high as the greatest one, and as many heights as there are.
    const [drawn, grid] = await page.evaluate(() => [[...document.querySelectorAll(".depths svg path")].filter((p) => p.querySelector("title")).map((p) => p.getAttribute("d")),
      [...document.querySelectorAll(".depths svg path")].filter((p) => !p.querySelector("title")).map((p) => Number(/ ([\d.]+)H/.exec(p.getAttribute("d"))[1]))]);
    let top = 4;
    while (top < Math.max(...of.flatMap((x) => x.intervals.map((i) => i.deepest_bytes))))
      top *= 2;
    const heights = [...drawn[0].matchAll(/[M ].*? ([\d.]+)H|V([\d.]+)H/g)].map((m) => Number(m[1] ?? m[2])), ground = Math.max(...grid), above = Math.min(...grid);
    const longest = of.sort((a, b) => Math.max(...b.intervals.map((i) => i.deepest_bytes)) - Math.max(...a.intervals.map((i) => i.deepest_bytes)))[0];
    assert.equal(heights.length, longest.intervals.length);
    longest.intervals.forEach((x, i) => assert.ok(Math.abs(ground - heights[i] - x.deepest_bytes / top * (ground - above)) < 2, `${heights[i]} for ${x.deepest_bytes} of ${top}`));
  }
  for (const s of first.filter((x) => x.stack.length).slice(0, 3)) {
    await go(page, `page=stacks&thread=${s.thread}`);
    const known = s.functions.length > 0;
    // Frames of one line that follow each other are a row.
    const rows = [];
    for (const line of [...s.stack].reverse()) {
      const same = rows.at(-1)?.function === line.function && rows.at(-1).file === line.file && rows.at(-1).line === line.line && rows.at(-1).module === line.module;
      if (!same)
        rows.push({ ...line, frames: 0, all: 0 });
      rows.at(-1).frames++;
      rows.at(-1).all += line.frame_bytes ?? 0;
    }
    const cells = await table(page, known ? 2 : 1);
    const recurs = rows.some((line) => line.frames > 1);
    assert.deepEqual(cells.map((row) => row[0]), rows.map((line) => line.function).slice(0, 200));
    if (recurs)
      assert.deepEqual(cells.map((row) => row[2]), rows.map((line) => count(line.frames)).slice(0, 200));
    if (!known)
      continue;
    assert.deepEqual(cells.map((row) => row[recurs ? 3 : 2]), rows.map((line) => line.all ? bytes(line.all) : "-").slice(0, 200));
    const functions = (await table(page, 1)).map((row) => [row[0], row[2], row[3]]);
    assert.equal(functions.length, Math.min(20, s.functions.length));
    assert.deepEqual(functions.slice(0, 5).sort(), s.functions.slice(0, 5).map((f) => [bytes(f.bytes), count(f.frames), f.function]).sort());
  }
  assert.equal(await page.locator("footer code").innerText(), `mprof report threads ${said.length ? r.said[""].trace.replace(/.*\//, "").replace(/^(.*[ ].*)$/, "'$1'") : ""}`);
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("variables are those of mprof report globals", async (r) => {
  const page = await open(r, "page=globals"), said = r.said["globals --top 0"], text = await page.locator("#page").innerText();
  const base = (path) => path.replace(/.*\//, ""), known = (n, unsure) => n === null ? "-" : (unsure ? "\u2265 " : "") + bytes(n);
  assert.ok(text.includes(`${bytes(said.bytes)}, of which ${said.resident_at_least ? "at least " : ""}${bytes(said.resident_bytes)} were resident`), text.slice(0, 400));
  assert.deepEqual((await table(page, 0)).sort(), said.objects.map((o) => [base(o.object) + (o.stripped ? " (stripped)" : ""), count(o.variables), bytes(o.bytes),
    known(o.resident_bytes, o.resident_at_least), o.thread_local_bytes ? bytes(o.thread_local_bytes) : "-", o.thread_local_bytes ? count(o.threads) : "-"]).sort());
  const shown = (await table(page, 1)).slice(0, 50);
  assert.deepEqual(shown, said.rows.slice(0, shown.length).map((x) => [bytes(x.bytes), x.thread_local ? "per thread" : known(x.resident_bytes), x.name, base(x.object),
    x.file ? `${base(x.file)}:${x.line}` : "-"]));
  const more = said.rows.slice(1000);
  assert.equal(text.includes(`And ${count(more.length)} smaller`), more.length > 0);
  // The map has them all, in areas that add up to those of their objects.
  const areas = await page.evaluate(() => [...document.querySelectorAll(".treemap svg > rect")].map((r) => [r.textContent, r.width.baseVal.value * r.height.baseVal.value]));
  assert.deepEqual(areas.map((a) => a[0]).sort(), said.objects.filter((o) => o.bytes).map((o) => `${base(o.object)}: ${bytes(o.bytes)}`).sort());
  const largest = said.objects.reduce((x, o) => o.bytes > x.bytes ? o : x), sum = said.objects.reduce((n, o) => n + o.bytes, 0), area = areas.reduce((n, a) => n + a[1], 0);
  assert.ok(Math.abs(Math.max(...areas.map((a) => a[1])) / area - largest.bytes / sum) < 0.01);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c", "without call stacks, pages say how to get what they are about", async (r) => {
  const page = await open({ file: r.file.replace("r-c.html", "bare.html") }, "page=globals");
  assert.match(await page.locator("#page").innerText(), /recorded without call stacks[^]*mprof record, without --unwind none/);
  await go(page, "page=stacks");
  assert.match(await page.locator("#page").innerText(), /No call of thread \d+ \(main\) was recorded with its call stack/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("blocks that grew are those of mprof report realloc", async (r) => {
  const page = await open(r, "page=realloc"), said = r.said.realloc, told = (await head(page)).realloc, text = await page.locator("#page").innerText();
  for (const sum of ["chains", "steps", "copies", "copied_bytes"])
    assert.equal(told[sum], said[sum], sum);
  assert.ok(text.includes(said.chains ? `${count(said.chains)} blocks grew in ${count(said.steps)} steps` : "No block grew"), text);
  for (const sum of ["chains", "steps", "copied_bytes"])
    assert.ok(told.left_out || told.rows.reduce((n, row) => n + row[sum], 0) <= said[sum], sum);
  assert.ok(told.rows.every((row) => row.first_bytes <= row.largest_bytes && row.reserve_bytes <= row.largest_bytes));
  if (r.name === "c++") {
    const [row] = await rows(page, 1), best = said.rows[0];
    assert.deepEqual([0, 1, 2, 6, 7, 9, 10, 3].map((column) => row[column]), [bytes(best.saved_copied_bytes), count(best.saved_calls),
      bytes(best.reserve_bytes), count(best.chains), count(best.steps), bytes(best.largest_bytes), bytes(best.copied_bytes), best.function]);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "with the keyboard: pages, timeline, figure and filters, page; what was chosen keeps the focus", async (r) => {
  const page = await open(r, "page=overview&zoom=0"), where = () => page.evaluate(() => {
    const e = document.activeElement;
    return e.className === "skip" ? "skip" : ["nav", "#timeline", ".bar", "#page", "footer"].find((s) => e.closest(s)) ?? "body";
  }), order = [];
  assert.equal(await page.evaluate(() => document.querySelector("#page .findings").firstElementChild.innerText), "Findings");
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    if (order.at(-1) !== await where())
      order.push(await where());
  }
  assert.deepEqual(order, ["skip", "nav", "#timeline", ".bar", "#page"]);
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.closest("label")?.firstChild.textContent ?? document.activeElement.textContent);
  await page.locator(".skip").focus();
  await page.keyboard.press("Enter");
  assert.equal(await where(), "#page");
  await page.locator("nav a", { hasText: "Functions" }).focus();
  await page.keyboard.press("Enter");
  await poll(page, () => location.hash.includes("page=tables"), "the page");
  assert.equal(await focused(), "Functions");
  await page.locator(".bar select").first().focus();
  await page.keyboard.press("ArrowDown");
  assert.match(await page.evaluate(() => location.hash), /figure=end/);
  assert.equal(await focused(), "Figure ");
  await go(page, "page=flame");
  await page.locator(".graph canvas").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(await page.evaluate(() => location.hash), /zoom=/);
  assert.match(await focused(), /^Flame graph/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "the timeline is drawn again only when what it shows has changed", async (r) => {
  const page = await open(r, "page=flame"), red = (put) => page.evaluate((p) => {
    const g = document.querySelector("canvas.time").getContext("2d");
    if (p) {
      g.fillStyle = "#f00";
      g.fillRect(0, 0, 9, 9);
    }
    return g.getImageData(2, 2, 1, 1).data.slice(0, 3).join() === "255,0,0";
  }, put);
  for (const [hash, stays] of [["page=flame&zoom=3", true], ["page=tables&figure=calls", true], ["page=tables&from=3", false], ["page=tables&curve=calls", false], ["page=tables&size=5-9", false]]) {
    assert.ok(await red(true));
    await go(page, hash);
    assert.equal(await red(false), stays, hash);
    await go(page, "page=flame");
  }
  await red(true);
  await page.getByRole("button", { name: "Light or dark", exact: true }).click();
  assert.ok(!await red(false));
  await page.close();
});

only("c++", "the glossary is on the first page, and explains columns", async (r) => {
  const page = await open(r);
  await page.locator("#page .findings summary").click();
  assert.match(await page.locator("#page .findings details").innerText(), /Retained\s+Resident pages/);
  await go(page, "page=tables");
  assert.match(await page.locator("th button", { hasText: "With callees" }).getAttribute("title"), /^Own, and what/);
  await go(page, "page=resident");
  assert.match(await page.locator("#timeline .legend span", { hasText: "Gaps" }).getAttribute("title"), /freed blocks/);
  await page.close();
});

only("c++", "keys", async (r) => {
  const page = await open(r, "page=flame"), hash = () => page.evaluate(() => location.hash);
  await page.locator("body").press("2");
  assert.match(await hash(), /figure=end/);
  await page.locator("body").press("i");
  assert.match(await hash(), /inverted=1/);
  await page.locator("body").press("i");
  await page.locator("body").press("1");
  await page.locator(".graph canvas").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(await hash(), /zoom=\d+/);
  assert.match(await page.locator("[aria-live]").innerText(), /./);
  await page.keyboard.press("Escape");
  assert.doesNotMatch(await hash(), /zoom/);
  await page.locator("body").press("i"); // bottom-up, a frame's parents are what it calls
  await page.locator(".graph canvas").focus();
  await page.keyboard.press("ArrowDown");
  const callee = (await page.locator(".graph [aria-live]").textContent()).split("\n")[0];
  await page.keyboard.press("ArrowDown");
  const caller = (await page.locator(".graph [aria-live]").textContent()).split("\n")[0];
  await page.keyboard.press("Enter");
  assert.match(await hash(), /inverted=1.*zoom=\d+/);
  assert.equal(await page.locator(".graph details pre").textContent(), `${callee}\n${caller}`);
  await page.goBack();
  assert.equal(await page.locator(".graph details").count(), 0);
  await page.locator("body").press("i");
  await page.locator("body").press("/");
  await page.keyboard.type("index");
  await poll(page, () => / in matches/.test(document.querySelector(".found")?.textContent ?? ""), "the sum of matches");
  await page.keyboard.press("Escape");
  await page.locator("body").press("?");
  assert.ok(await page.locator("dialog").isVisible());
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("compiler", "bottom-up: a frame has a link, its callers, and matches that are too small to be drawn", async (r) => {
  const page = await open(r, "page=flame&figure=calls"), hash = () => page.evaluate(() => location.hash.slice(1));
  const stack = () => page.locator(".graph details pre").textContent();
  const inMatches = async (more) => { await go(page, `page=flame&figure=calls&search=xmalloc${more}`); return page.locator(".found").innerText(); };
  assert.equal(await inMatches("&inverted=1"), await inMatches(""));
  await go(page, "page=flame&figure=calls&inverted=1");
  await page.locator(".graph canvas").focus();
  for (let i = 0; i < 3; i++)
    await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const address = await hash(), callee = await stack();
  assert.equal(callee.split("\n").length, 3);
  await page.locator(".graph canvas").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.match(await stack(), /^(.*\n){3}./);
  assert.ok((await stack()).startsWith(callee));
  await page.goBack();
  assert.equal(await stack(), callee);
  await page.close();
  const again = await open(r, address);
  assert.equal(await again.locator(".graph details pre").textContent(), callee);
  await again.close();
});

only("c++", "keys for the chosen frame: only through it, without it, merged, its source", async (r) => {
  const page = await open(r, "page=flame&figure=peak&libraries=1"), hash = async () => decodeURIComponent(await page.evaluate(() => location.hash));
  const chips = () => page.locator(".chip").allTextContents(), graph = page.locator(".graph canvas"), whole = await total(page);
  const choose = async (name) => { // by the arrows, from the root
    await graph.focus();
    await page.keyboard.press("Home");
    for (let i = 0; i < 12 && !(await page.locator("[aria-live]").innerText()).startsWith(name); i++)
      await page.keyboard.press("ArrowDown");
    assert.match(await page.locator("[aria-live]").innerText(), new RegExp(`^${name}[^]* blocks? \\(`));
  };
  await choose("index::add");
  await page.keyboard.press("f");
  assert.deepEqual((await chips()).map((c) => c.trim()), ["function index::add \u00d7"]);
  const through = parse(await total(page));
  assert.ok(through < parse(whole));
  await page.locator(".chip").click();
  await choose("index::add");
  await page.keyboard.press("d");
  assert.match(await hash(), /without=index::add/);
  assert.ok(Math.abs(parse(await total(page)) + through - parse(whole)) < 0.16 * 1024 ** 2);
  await page.locator("body").press("u");
  assert.equal(await total(page), whole);
  await choose("read");
  await page.keyboard.press("m");
  assert.match(await hash(), /merged=read/);
  await choose("index::add"); // now a child of main
  assert.equal(await total(page), whole);
  await page.keyboard.press("S"); // may be forbidden, and then nothing happens
  await page.keyboard.press("s");
  assert.match(await hash(), /page=sources/);
  await go(page, "page=flame&libraries=1");
  await choose("index::add");
  await page.keyboard.press("C");
  assert.match(await hash(), /merged=\/words/);
  await go(page, "page=flame");
  await page.locator("body").press("r");
  assert.match(await hash(), /recursion=0/);
  await page.locator("body").press("t");
  assert.match(await hash(), /thread=1/);
  await page.locator("body").press("T");
  assert.doesNotMatch(await hash(), /thread=/);
  await graph.focus();
  await page.keyboard.press("Control+f");
  assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  const height = () => page.evaluate(() => document.querySelector(".graph .deep").scrollHeight);
  await go(page, "page=flame&libraries=1&share=0");
  const high = await height();
  await page.getByLabel("Minimum share of a frame").fill("9");
  assert.match(await hash(), /share=5/);
  assert.ok(await height() <= high);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("script", "the flame graph of a Python script has its functions, not the interpreter's around them", async (r) => {
  const page = await open(r, "page=tree"), shown = await page.locator("#page").innerText();
  assert.match(shown, /<module>/);
  assert.doesNotMatch(shown, /PyEval_Vector/);
  const line = r.said["peak --by function"].rows[0];
  assert.deepEqual([line.function, line.module], ["grow", "Python"]);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("python", "rows of the tree open and are walked by keys", async (r) => {
  const page = await open(r, "page=tree&figure=calls&libraries=1"), opened = () => page.locator("[role=treeitem][aria-expanded=true]").count();
  await page.locator(".tree .row").first().focus();
  await page.keyboard.press("ArrowLeft");
  assert.equal(await page.locator(".tree > [role=treeitem]").first().getAttribute("aria-expanded"), "false");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate(() => document.activeElement.closest("ul").getAttribute("role")), "group");
  await page.keyboard.press("Home");
  const before = await opened();
  await page.keyboard.press("*");
  assert.ok(await opened() > before);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "what is typed is a part of a name; names that are patterns match themselves", async (r) => {
  const page = await open(r, "page=tables&libraries=1"), whole = parse(await total(page));
  await page.locator(".filters summary").click();
  await page.getByLabel("Function", { exact: true }).fill("push");
  await page.keyboard.press("Enter");
  assert.match(decodeURIComponent(await page.evaluate(() => location.hash)), /function=\*push\*/);
  const part = parse(await total(page));
  assert.ok(part > 0 && part < whole);
  await go(page, "page=tables&libraries=1&function=*operator%5C%5B%5C%5D");
  const index = parse(await total(page));
  assert.ok(index > 0 && index < whole);
  assert.match(await page.locator("footer code").innerText(), /--function '\*operator\\\[\\\]'/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("curves: bands add up, and sums over time are those of mprof report", async (r) => {
  const page = await open(r), saved = async (curve, by, kind) => {
    await go(page, `curve=${curve}&band=${by}`);
    return page.evaluate((name) => { // Chromium asks before a page saves a dozen files
      const { createObjectURL } = URL, { click } = HTMLAnchorElement.prototype;
      let blob;
      URL.createObjectURL = (b) => { blob = b; return "#"; };
      HTMLAnchorElement.prototype.click = () => {};
      [...document.querySelectorAll("#timeline button")].find((b) => b.textContent === name).click();
      URL.createObjectURL = createObjectURL;
      HTMLAnchorElement.prototype.click = click;
      return blob.text();
    }, kind);
  }, csv = async (curve, by) => {
    const text = await saved(curve, by, "CSV");
    return text.trim().split("\r\n").slice(1).map((line) => line.split(",").map(Number));
  };
  const sum = (row) => row.slice(1).reduce((a, b) => a + b, 0), near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b)), `${what}: ${a} and ${b}`);
  const over = (rows) => rows.reduce((n, row, i) => n + sum(row) * Math.max(1e-9, row[0] - (i ? rows[i - 1][0] : 0)), 0);
  for (const curve of ["live", "blocks", "calls", "bytes", "temporary"]) {
    const whole = await csv(curve, "none");
    for (const by of curve === "live" || curve === "calls" || curve === "temporary" ? ["owner", "line", "module", "thread", "process", "size"] : ["owner"]) {
      const rows = await csv(curve, by);
      rows.forEach((row, i) => near(sum(row), sum(whole[i]), `${curve} by ${by} at ${row[0]}`));
    }
  }
  const told = JSON.parse(await saved("live", "owner", "JSON"));
  assert.deepEqual(told.ns.map((ns, i) => [ns / 1e9, ...told.layers.map((l) => l.values[i])]), await csv("live", "owner"));
  assert.deepEqual([told.curve, told.unit, told.per_second, told.divided_by], ["Live bytes", "bytes", false, "function"]);
  const figures = r.said["hot --by function"].total.figures;
  assert.equal(Math.max(...(await csv("live", "owner")).map(sum)), r.said[""].peak_bytes);
  near(over(await csv("calls", "none")), figures.calls, "calls");
  near(over(await csv("bytes", "none")), figures.total, "bytes");
  near(over(await csv("temporary", "none")), figures.temporary, "temporary");
  if (r.said[""].processes.length === 1 && r.said[""].processes[0].programs.length === 1)
    near(over(await csv("freed", "none")), figures.total - figures.live, "freed");
  if (r.name === "resident")
    assert.ok(Math.max(...(await csv("mapped", "none")).map(sum)) >= 8 << 20);
  // A filter is that of the curve, too.
  await go(page, "figure=calls&size=0-6");
  const small = +(await total(page)).replaceAll(",", "");
  near(over(await csv("calls&size=0-6", "none")), small, "small ones");
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "the chart tells what each band has under the pointer, and is saved", async (r) => {
  const page = await open(r), box = await page.locator("canvas.time").boundingBox();
  // How much of the run has these blocks depends on how long it takes to start and to end.
  const tips = [];
  for (let at = 2; at < 100; at += 2) {
    await page.mouse.move(box.x + box.width * at / 100, box.y + 40);
    tips.push(await page.locator(".tip").innerText());
  }
  assert.ok(tips.some((tip) => /[0-9] [mu]?s\n[^]*index::add: .* MiB\n[^]*together: .* MiB/.test(tip)), tips.join("\n\n"));
  await page.getByLabel("Curve").selectOption("calls");
  assert.match(await page.evaluate(() => location.hash), /curve=calls/);
  await page.getByLabel("Divided by").selectOption("size");
  assert.match(await page.locator("#timeline .legend").innerText(), /0 to 16/);
  await page.mouse.move(box.x + box.width * 0.8, box.y + 41);
  assert.match(await page.locator(".tip").innerText(), /\/s/);
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#timeline button", { hasText: "SVG" }).click()]);
  assert.match(await readFile(await file.path(), "utf8"), /^<svg[^]*<path fill="[^"]+" d="M0.0/);
  // The saved picture has the scale of the page: the curve's figures at the left, the times below.
  await page.getByLabel("Curve").selectOption("live");
  const [drawn] = await Promise.all([page.waitForEvent("download"), page.locator("#timeline button", { hasText: "SVG" }).click()]), picture = await readFile(await drawn.path(), "utf8");
  assert.ok((picture.match(/<text[^>]*>[\d.]+ [KM]iB</g) ?? []).length >= 2, picture.slice(-3000));
  assert.ok((picture.match(/text-anchor="middle"[^>]*>[\d.]+ [mu]?s</g) ?? []).length >= 2);
  assert.equal(/resident \(RSS\)/.test(picture), /resident \(RSS\)/.test(await page.locator("#timeline .legend").innerText()));
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("every figure of a function is that of mprof report", async (r) => {
  const page = await open(r, "page=tables&full=1&sort=calls"), shown = named(await rows(page, 200), (row) => row[0], (row) => row[1]), d = duration;
  const heads = await page.evaluate(() => [...document.querySelectorAll("#page thead th")].map((th) => th.innerText.trim()));
  const resident = heads.findIndex((h) => h.startsWith("Resident")); // no view has it
  let compared = 0;
  for (const [name, row] of [...named(r.said["hot --by function"].rows.slice(0, 5), (row) => row.function, (row) => row.file ?? row.module)].filter(([name]) => shown.has(name))) {
    const f = row.figures, freed = row.blocks.freed;
    assert.deepEqual(shown.get(name).filter((cell, i) => i > 1 && i !== resident), [count(f.calls), bytes(f.total), bytes(f.peak), bytes(f.leaked), count(f.temporary), bytes(f.waste), bytes(f.rss),
      bytes(row.sizes.min), bytes(f.total / f.calls), bytes(row.sizes.max), ...(freed ? [d(row.lifetimes_ns.min), d(f.lifetime / freed), d(row.lifetimes_ns.max)] : ["", "", ""])], row.function);
    compared++;
  }
  assert.ok(compared > 0);
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("the overview has the run's figures, and four lists that lead on", async (r) => {
  const page = await open(r), all = r.said[""], text = (await page.locator(".numbers").innerText()).replace(/\s+/g, " "), figures = r.said["hot --by function"].total.figures;
  for (const [name, value] of [["Peak", bytes(all.peak_bytes)], ["Allocated", bytes(figures.total)], ["Recycled", `${(figures.total / all.peak_bytes).toFixed(1)} times`],
    ["Allocations", count(all.total_blocks)], ["Mean size", bytes(figures.total / figures.calls)]])
    assert.ok(text.includes(`${name} ${value}`), `${name} ${value}: ${text}`);
  const first = await page.evaluate(() => [...document.querySelectorAll(".top")].map((s) => [s.querySelector("h2").innerText, s.querySelector("tr")?.cells[0].innerText, s.querySelector("tr")?.cells[2].innerText]));
  assert.deepEqual(first.map((f) => f[0]), ["Live at the peak", "Never freed", "Allocations", "Temporary"]);
  const hot = r.said["hot --by function"].rows[0];
  assert.equal(first[2][1], count(hot.figures.calls));
  await page.locator(".top h2 button").nth(2).click();
  assert.match(await page.evaluate(() => location.hash), /page=tables&figure=calls/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "resident memory says how much of it is mprof's own, in processes that ran then", async (r) => {
  const text = await readFile(r.file, "utf8"), file = join(world.directory, "own.html"), said = ", up to 3.0 MiB of it mprof's own";
  for (const [own, ended, words] of [[1000, false, ""], [3 * 2 ** 20, false, said], [3 * 2 ** 20, true, ""]]) {
    await writeFile(file, rewrite(text, (json) => json.replace(/"self_bytes":\d+/g, (_, at) => `"self_bytes":${at === json.indexOf('"self_bytes":') ? own : 0}`)
      .replace(/"end_ns":\d+/g, (was) => (ended ? '"end_ns":0' : was))));
    const page = await open({ ...r, file }), legend = await page.locator("#timeline .legend").innerText();
    assert.match(legend, new RegExp(`resident \\(RSS\\)${words}$`));
    const tile = await page.locator(".numbers [title*=resident]").getAttribute("title");
    assert.equal(tile.endsWith(words.replace(",", ";")) && tile.includes("own"), words !== "");
    await page.close();
  }
});

only("compiler", "in a small window, the link to resident memory is in reach", async (r) => {
  const file = join(world.directory, "small.html");
  await writeFile(file, rewrite(await readFile(r.file, "utf8"), (json) => json.replace(/"self_bytes":\d+/g, '"self_bytes":99000000')));
  const page = await open({ ...r, file }, "", { viewport: { width: 420, height: 600 } }), legend = page.locator("#timeline .legend");
  assert.match(await legend.innerText(), /mprof's own/);
  const edges = await legend.evaluate((e) => [e.querySelector("a"), e].map((x) => x.getBoundingClientRect().right));
  assert.ok(edges[0] <= edges[1], `${edges}`);
  await page.close();
});

each("sizes over time, pairs of realloc, calls of threads, suppressions", async (r) => {
  const page = await open(r, "page=sizes&figure=calls"), all = r.said[""], d = await page.evaluate(() => ({ to: +document.querySelector("#timeline input").max }));
  const titles = (where) => page.evaluate((w) => [...document.querySelectorAll(`${w} td[title]`)].map((c) => c.title), where);
  const n = (text) => +text.match(/([\d,]+) (allocation|call)/)[1].replaceAll(",", "");
  if (d.to > 0) {
    const cells = await titles(".heat.time");
    assert.equal(cells.reduce((sum, t) => sum + n(t), 0), all.total_blocks);
    await page.locator(".heat.time th button").last().click(); // the smallest size
    assert.match(await page.evaluate(() => location.hash), /size=\d+-\d+/);
    assert.match(await page.locator("#page h3", { hasText: "Functions that allocate blocks of" }).innerText(), /\d/);
    await go(page, "page=sizes&figure=peak"); // the columns have equal times
    const { times, end } = await page.evaluate(() => ({ end: document.querySelector(".heat.time tfoot .n").innerText,
      times: [...document.querySelectorAll(".heat.time td[title]")].map((c) => [c.cellIndex / (c.parentNode.cells.length - 1), c.title.split(":")[0]]) }));
    const ns = (text) => parseFloat(text) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[text.split(" ")[1]];
    for (const [until, time] of times)
      assert.ok(ns(time) <= ns(end) * until * 1.02, `${time} of ${end} is in the first ${until}`);
    if (r.name === "c++") { // blocks that were live when the window began are in its first column
      await go(page, `page=sizes&figure=peak&from=${Math.floor(d.to / 2)}&to=${Math.floor(d.to / 2) + 8}`);
      const on = await page.evaluate(() => [...document.querySelectorAll(".heat.time tbody tr")].flatMap((row) => [...row.cells].filter((c) => c.classList.contains("on")).map((c) => c.cellIndex)));
      assert.deepEqual([...new Set(on)].sort((x, y) => x - y), Array.from({ length: 8 }, (_, k) => k + 1));
      await go(page, "page=sizes&figure=peak");
    }
    const axis = await page.evaluate(() => [...document.querySelectorAll(".by-size svg > text[text-anchor=end]")].slice(1, 3).map((t) => t.textContent));
    assert.match(axis[1], /^(1|2|4|8|16|32|64|128|256|512)(\.0)? (bytes?|[KMGT]iB)$/, axis.join("; "));
  }
  await go(page, "page=realloc");
  const pairs = await titles(".pairs"), known = ["in_place", "moved"].flatMap((k) => Object.values(all.realloc[k])).reduce((a, b) => a + b, 0);
  assert.equal(pairs.reduce((sum, t) => sum + n(t), 0), known);
  assert.equal(all.realloc.pairs.reduce((sum, p) => sum + p.calls, 0), known);
  await go(page, "page=threads");
  const bars = await page.evaluate(() => [...document.querySelectorAll(".callbars:not(.by-thread *, .times *) .calls i")].map((i) => i.title));
  assert.equal(bars.reduce((sum, t) => sum + n(t), 0), all.threads.reduce((sum, t) => sum + Object.values(t.calls).reduce((a, b) => a + b, 0), 0));
  const times = await page.evaluate(() => [...document.querySelectorAll(".times .calls i")].map((i) => i.title));
  assert.deepEqual(times.sort(), all.threads.flatMap((t) => Object.entries(t.allocator_ns).map(([name, ns]) => `${name}: ${duration(ns)}`)).sort());
  assert.equal(times.length > 0, all.allocator_time !== null);
  await go(page, "page=leaks");
  const text = await page.locator("#page").innerText();
  for (const s of r.said.leaks.suppressed)
    assert.ok(text.includes(s.why ?? "suppressed by a file") && text.includes(bytes(s.bytes)), s.why);
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("bars of sizes, dots of realloc and bars of threads have the figures of mprof report", async (r) => {
  const page = await open(r, "page=sizes&figure=calls"), all = r.said[""], n = (text) => +text.replaceAll(",", "");
  const bars = (where) => page.evaluate((w) => [...document.querySelectorAll(`${w} g[aria-label]`)].map((g) => g.getAttribute("aria-label").split("\n").map((l) => l.match(/^[^]*: ([^:]*)$/)[1])), where);
  for (const [figure, of] of [["calls", (p) => count(p.count)], ["total", (p) => bytes(p.bytes)]]) {
    await go(page, `page=sizes&figure=${figure}`);
    const shown = await bars(".by-size");
    assert.deepEqual(shown.map((b) => b[0]).filter((b) => n(b) !== 0 && b !== "0 bytes"), all.size_powers.filter((p) => figure === "calls" ? p.count : p.bytes).map(of));
    if (figure === "calls")
      for (const [whole, ...parts] of shown)
        assert.equal(parts.reduce((sum, p) => sum + n(p), 0), n(whole));
  }
  const most = Math.max(...all.size_classes.map((c) => c.count));
  assert.ok((await page.evaluate(() => [...document.querySelectorAll(".exact-bars title")].map((t) => t.textContent))).some((t) => t.includes(`: ${count(most)} allocation`)));
  await page.locator(".by-size g[role=button]").last().focus();
  await page.keyboard.press("Enter");
  assert.match(await page.evaluate(() => location.hash), /size=\d+-\d+/);
  await go(page, "page=realloc");
  const dots = await page.evaluate(() => [...document.querySelectorAll(".resizes circle title")].map((t) => t.textContent));
  assert.deepEqual(dots.sort(), all.realloc.sizes.map((p) => `${count(p.calls)} ${p.calls === 1 ? "call" : "calls"} from ${count(p.from)} ${p.from === 1 ? "byte" : "bytes"} to ${count(p.to)} ${p.to === 1 ? "byte" : "bytes"}`).sort());
  await go(page, "page=threads&figure=total");
  const sums = () => page.evaluate(() => [...document.querySelectorAll(".by-thread tbody tr")].map((row) => [row.cells[0].innerText, row.cells[1].innerText]));
  if (all.processes.every((p) => p.programs.length === 1)) // exec makes another thread of it
    assert.deepEqual((await sums()).sort(), all.threads.filter((t) => t.total_bytes).map((t) => [titleOf(t), bytes(t.total_bytes)]).sort());
  const last = await page.evaluate(() => +document.querySelector("#timeline input").max);
  if (last > 2) { // it follows the window
    await go(page, `page=threads&figure=calls&from=${last >> 1}`);
    assert.equal((await sums()).reduce((sum, t) => sum + n(t[1]), 0), n(await total(page)));
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "pictures and tables can be saved", async (r) => {
  const page = await open(r, "page=flame");
  for (const [button, begins] of [["Save SVG", "<svg"], ["Save PNG", "\x89PNG"]]) {
    const [file] = await Promise.all([page.waitForEvent("download"), page.locator("button", { hasText: button }).click()]);
    assert.ok((await readFile(await file.path(), "latin1")).startsWith(begins), button);
  }
  await go(page, "page=tables");
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("button.save").click()]);
  assert.match(await readFile(await file.path(), "utf8"), /^Own \(bytes\),/);
  await page.close();
});

each("a saved table of functions has their parts in percent", async (r) => {
  const page = await open(r, "page=tables&figure=total");
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#page button.save").first().click()]);
  const [head, ...lines] = (await readFile(await file.path(), "utf8")).trim().split("\r\n").map((line) => line.split(","));
  assert.deepEqual(head.slice(0, 4), ["Own (bytes)", "%", "With callees (bytes)", "%"]);
  const all = lines.reduce((sum, line) => sum + +line[0], 0);
  for (const line of lines)
    assert.ok(Math.abs(+line[1] - 100 * line[0] / all) < 0.01, line.join());
  await page.close();
});

each("a saved table has numbers as they are shown, and its head shows the order", async (r) => {
  const page = await open(r, "page=threads"), known = r.said[""].threads.map((t) => t.thread).sort((a, b) => a - b);
  const of = page.locator("#page .table", { has: page.locator("th", { hasText: "First call" }) }), head = of.locator("th", { hasText: "Thread" });
  await head.locator("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  assert.equal(await of.locator("tbody td").first().innerText(), String(known[0]));
  const [file] = await Promise.all([page.waitForEvent("download"), of.locator("button.save").click()]);
  const saved = (await readFile(await file.path(), "utf8")).trim().split("\r\n").slice(1);
  assert.deepEqual(saved.map((line) => parseInt(line)), known);
  await page.close();
});

only("threads", "a thread by itself", async (r) => {
  const page = await open(r, "figure=calls"), threads = r.said[""].threads;
  let sum = 0;
  for (const t of threads) {
    await go(page, `figure=calls&thread=${t.thread}`);
    sum += +(await total(page)).replaceAll(",", "");
  }
  assert.equal(sum, r.said[""].total_blocks);
  const named = threads.find((t) => t.name), title = titleOf(named);
  await go(page, `figure=calls&thread=${named.thread}`);
  assert.ok((await page.locator(".chip").allTextContents()).some((chip) => chip.startsWith(`thread ${title}`)));
  assert.ok((await page.locator(".filters option").allTextContents()).includes(title));
  await page.close();
});

each("names fit into the boxes of the call graph", async (r) => {
  const page = await open(r, "page=callers");
  await poll(page, () => document.querySelector(".callgraph rect"), "the graph");
  const wide = await page.evaluate(() => [...document.querySelectorAll(".callgraph g[aria-label]")].map((g) =>
    [g.querySelector("text").getBBox().width - g.querySelector("rect").getBBox().width, g.querySelector("text").textContent]).filter((t) => t[0] > -8));
  assert.deepEqual(wide, []);
  await page.close();
});

only("hostile", "a long name does not widen a narrow page", async (r) => {
  const page = await open(r, "", { viewport: { width: 380, height: 800 } });
  for (const name of PAGES) {
    await go(page, `page=${name}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 380), name);
  }
  // At the bottom of the window, the text beside the pointer is above the pointer.
  await go(page, "page=flame");
  await page.evaluate(() => document.querySelector(".graph canvas").scrollIntoView({ block: "end" }));
  await drawn(page, 50);
  const box = await page.locator(".graph canvas").boundingBox();
  for (let y = 9; y < box.height; y += 18) {
    await page.mouse.move(box.x + 30, box.y + y);
    const bottom = await page.evaluate(() => document.querySelector(".tip").getBoundingClientRect().bottom);
    assert.ok(bottom <= 800, `${y}: ${bottom}`);
  }
  assert.match(await page.locator(".tip").textContent(), /of_a_template/);
  await page.close();
});

only("hostile", "names are text", async (r) => {
  const page = await open(r, "page=tables&libraries=1");
  assert.ok((await page.locator("#page").innerText()).includes("alert<...><...>&amp;'\""));
  assert.equal(await page.locator("#page b", { hasText: "&" }).count(), 0);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "the page below the curve fits into a low window", async (r) => {
  const page = await open(r, "page=flame", { viewport: { width: 800, height: 600 } }), box = await page.locator(".graph canvas").first().boundingBox();
  assert.ok(box.y < 450, `the graph begins at ${box.y}`);
  const y = (await page.locator("#app > .bar button").all()).slice(-2).map(async (b) => Math.round((await b.boundingBox()).y));
  assert.equal(await y[0], await y[1]);
  await page.close();
});

only("compiler", "in a low window, the legend begins with resident memory, which is far more than is live", async (r) => {
  const page = await open(r, "", { viewport: { width: 500, height: 600 } }), link = await page.locator("#timeline .legend a").boundingBox();
  assert.ok(link.x + link.width < 500, `the link ends at ${link.x + link.width}`);
  await page.close();
});

only("c", "narrow, dark, without JavaScript, on paper", async (r) => {
  let page = await open(r, "", { viewport: { width: 420, height: 800 }, colorScheme: "dark" });
  for (const name of PAGES) {
    await go(page, `page=${name}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= 420), `${name} is wider than the screen`);
  }
  await page.close();
  page = await open(r, "page=none", { viewport: { width: 420, height: 800 } });
  assert.equal(await page.locator("nav a[aria-current]").innerText(), "Overview");
  await page.close();
  // On paper tables keep their heads and names, and are dark on white.
  page = await open(r, "page=tables&function=*a*", { colorScheme: "dark" });
  await page.emulateMedia({ media: "print" });
  assert.match(await page.locator("#page table").innerText(), /Own[^]*Function[^]*main/);
  assert.match(await page.locator("div.bar").innerText(), /function \*a\*/);
  assert.equal(await page.locator(".filters").isVisible(), false);
  const ink = () => page.evaluate(() => getComputedStyle(document.body).color), dark = await ink();
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.notEqual(await ink(), dark);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await ink(), dark);
  await go(page, "page=overview");
  assert.match(await page.locator(".numbers").innerText(), /Peak/);
  await page.close();
  const context = await browser.newContext({ javaScriptEnabled: false });
  page = await context.newPage();
  await page.goto(`file://${r.file}`);
  assert.match(await page.locator("#findings").innerText(), /peak/);
  assert.ok(await page.locator("#curve svg path").count());
  await context.close();
});

each("the matrix of threads has the blocks that mprof report hands over", async (r) => {
  const page = await open(r, "page=threads"), said = r.said.threads, title = (n) => titleOf(said.threads.find((t) => t.thread === n));
  const text = await page.locator("#page").innerText();
  if (!said.handed_over.blocks)
    assert.match(text, /freed by the thread that allocated it/);
  else
    assert.ok(text.includes(`${count(said.handed_over.blocks)} blocks, ${bytes(said.handed_over.bytes)}, were freed by a thread other than`), text);
  const shown = await page.evaluate(() => [...document.querySelectorAll(".matrix td[title]:not([title=''])")].map((c) => c.title));
  for (const p of said.rows.slice(0, 5))
    assert.ok(shown.includes(`thread ${title(p.to_thread)} freed ${count(p.blocks)} blocks, ${bytes(p.bytes)}, of thread ${title(p.from_thread)}`), shown.join());
  assert.deepEqual(page.problems, []);
  await page.close();
});

// Pages of several processes say whose heap it is: that of the most calls.
const heapReady = (page) => poll(page, () => document.querySelector("#page .mprof-movie.mp-ready") !== null, "the heap");
const heapSays = (page) => page.locator("#page .mp-now").innerText();

each("the heap map shows the peak, and follows the window", async (r) => {
  const page = await open(r, "page=heap", {}), all = r.said[""].processes.filter((p) => p.events > 0);
  const most = all.reduce((x, p) => p.events > x.events ? p : x);
  await heapReady(page);
  await drawn(page, 50);
  // A block that another thread's realloc moves at the time of the peak is no block to the map, so it may lack these.
  const said = /(\S+ \S+) live in/.exec(await heapSays(page))[1];
  const moved = 256 * (most.threads - 1), low = Array.from({ length: moved + 1 }, (_, i) => bytes(most.peak_bytes - i));
  if (most.programs.length === 1)
    assert.ok(low.includes(said), `${said}, not ${bytes(most.peak_bytes)}`);
  assert.ok(await page.evaluate(() => {
    const c = document.querySelector("#page .mp-panel canvas"), p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
    return new Set(Array.from({ length: p.length / 4 }, (_, i) => p[4 * i] << 16 | p[4 * i + 1] << 8 | p[4 * i + 2])).size > 2;
  }), "a picture");
  // Another page and back: it is where it was left. At the end it has what was never freed.
  await page.locator("#page .mp-back").click();
  await drawn(page, 50);
  const left = await heapSays(page);
  await go(page, "page=flame");
  await go(page, "page=heap");
  await drawn(page, 50);
  assert.equal(await heapSays(page), left);
  await go(page, "page=heap&figure=end");
  await drawn(page, 50);
  if (all.length === 1 && most.programs.length === 1)
    assert.ok((await heapSays(page)).includes(`${bytes(r.said[""].never_freed.bytes)} live`), await heapSays(page));
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#page").getByRole("button", { name: "Save CSV" }).click()]);
  const lines = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
  assert.ok(lines.length > 2 && lines.every((line) => line.split(",").length === 7), lines[0]);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "the bad reserve and what changed between two builds in three clicks", async (r) => {
  const page = await open({ url: world.view.url }, "", { path: "0/" }), best = r.said.realloc.rows[0];
  await follow(page, "Realloc");
  const [row] = await rows(page, 1);
  assert.deepEqual([row[2], row[3]], [bytes(best.reserve_bytes), best.function]);
  await go(page, "page=overview");
  await page.locator("#page .findings li", { hasText: "reserving" }).locator("button.show").first().click();
  await poll(page, () => location.hash.includes("page=realloc"), "the page of the bad reserve");
  await follow(page, "Overview");
  await follow(page, "Compare");
  await page.getByLabel("Compare with").selectOption({ index: 1 });
  await poll(page, () => /before, /.test(document.querySelector(".change")?.textContent ?? "") && document.querySelector("#page th")?.textContent === "Change", "what changed");
  const changes = (await rows(page, Infinity)).map((row) => row[0]);
  assert.match(changes[0], /^[+\u2212]\d/);
  const [file] = await Promise.all([page.waitForEvent("download"), page.locator("#page button.save").first().click()]);
  const saved = (await readFile(await file.path(), "utf8")).trim().split("\r\n").slice(1).map((line) => parseInt(line));
  assert.deepEqual(saved.slice(0, changes.length).map(Math.sign), changes.map((text) => /^0/.test(text) ? 0 : text[0] === "+" ? 1 : -1));
  assert.ok(saved.some((n) => n < 0));
  await page.close();
});

each("exact sizes of realloc add up, and differences follow from them", async (r) => {
  const page = await open(r, "page=realloc"), { sizes, sizes_left_out: more, pairs } = r.said[""].realloc;
  assert.equal(sizes.reduce((n, p) => n + p.calls, 0) + more, pairs.reduce((n, p) => n + p.calls, 0));
  if (sizes.length) {
    const shown = await page.evaluate(() => [...document.querySelectorAll(".exact-sizes tbody")].map((b) => [...b.rows].map((row) => [...row.cells].map((c) => c.innerText.trim()))));
    assert.deepEqual(shown[0].slice(0, 1), [[count(sizes[0].calls), count(sizes[0].from), count(sizes[0].to)]]);
    const [calls, by] = shown[1][0], gap = +by.replace("\u2212", "-").replaceAll(",", "");
    assert.equal(sizes.filter((p) => p.to - p.from === gap).reduce((n, p) => n + p.calls, 0), +calls.replaceAll(",", ""));
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

// With so many call stacks that cells are not divided by thread, size and lifetime.
only("processes", "a coarse trace: filters that it cannot answer are not offered, and a link with one says so", async (r) => {
  const plain = await open(r, "page=tables"), all = await total(plain), file = r.file.replace(/\.html$/, "-coarse.html"), text = await readFile(r.file, "utf8");
  const thread = await plain.evaluate(() => [...document.querySelectorAll(".filters select option")].find((o) => /^[2-9]/.test(o.value)).value);
  await go(plain, `page=tables&process=${thread}`);
  assert.notEqual(await total(plain), all);
  assert.ok(await plain.locator(".filters label", { hasText: "Process" }).count() > 0);
  await writeFile(file, rewrite(text, (json) => {
    assert.equal(json.split('"coarse":false').length, 2);
    return json.replace('"coarse":false', '"coarse":true').replace('"merged_nodes":0', '"merged_nodes":1234');
  }));
  const page = await open({ ...r, file }, `page=tables&process=${thread}`, {});
  assert.equal(await total(page), all);
  assert.match(await page.locator("main .note").innerText(), /too many call stacks/);
  assert.equal(await plain.locator("footer .inexact").innerText(), "");
  assert.match(await page.locator("footer .inexact").innerText(), /merges 1,234 small nodes/);
  assert.match(await page.locator("footer code").innerText(), /^mprof report peak --by function \S+$/);
  assert.equal(await page.locator(".filters label", { hasText: /Process|Thread|Size|Lifetime/ }).count(), 0);
  assert.equal(await page.locator(".filters label", { hasText: "Function" }).count(), 1);
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("script", "CPython's loop is part of the function that it runs, and modules are told apart by their files", async (r) => {
  const page = await open(r, "page=tree"), names = () => page.evaluate(() => {
    for (let i = 0, closed; i < 60 && (closed = [...document.querySelectorAll('.tree [aria-expanded="false"] > .row')]).length; i++)
      closed.forEach((row) => row.click());
    return [...document.querySelectorAll(".tree .row b")].map((b) => b.innerText);
  });
  assert.ok(!(await names()).some((n) => /_PyEval_EvalFrame/.test(n)));
  await go(page, "page=tree&libraries=1");
  assert.ok((await names()).some((n) => /_PyEval_EvalFrame/.test(n)));
  // A package owns what it allocates without the program.
  await go(page, "page=tables");
  const finish = ran(await page.locator("footer code").innerText()).rows.find((row) => row.function === "finish");
  assert.ok(finish.figures.peak >= 9 * 70001);
  assert.deepEqual((await rows(page, 5000)).filter((row) => row[5] === "finish").map((row) => row[0]), [bytes(finish.figures.peak)]);
  await go(page, "page=overview&figure=calls");
  for (const name of (await page.locator("#timeline .legend span, .top td:last-child").allInnerTexts()).filter((n) => /^<module>/.test(n)))
    assert.match(name, /^<module> .*\.py$|^<module> </);
  // So does the command of their callers.
  await go(page, "page=tables&figure=calls");
  await page.locator("#page td button", { hasText: /^<module>/ }).first().click();
  await poll(page, () => document.querySelector(".callgraph g[role=img]"), "the graph");
  const callers = await page.locator("footer code").innerText(), graph = await page.locator(".callgraph g[role=img]").getAttribute("aria-label");
  assert.match(callers, /^mprof report callers '<module> \([^ ]+\)' --sort calls /);
  assert.equal(/, (.*), /.exec(graph)[1], count(ran(callers).total.calls), callers);
  // No function has changed by more than all of them.
  await go(page, "page=compare");
  const all = parse(/, \+?([\d.,]+ \w+)\.?$/.exec((await page.locator(".change strong").innerText()).replace(/^\+/, ", "))[1]);
  for (const row of await rows(page, 200))
    assert.ok(parse(row[3].replace(/^[+\u2212]/, "")) <= 1.01 * all + 100, row.join(" "));
  // What is left out with libraries folded changes no row of the script.
  const most = (await head(page)).columns.find((c) => c.name === "point.ns").count - 1;
  // When its lines run depends on how long Python takes to start.
  let folded = [], window = "";
  for (const [from, to] of [[1 / 4, 2 / 3], [1 / 2, 1], [0, 1 / 2], [0, 1]]) {
    window = `from=${Math.floor(most * from)}&to=${Math.floor(most * to)}`;
    await go(page, `page=compare&${window}`);
    folded = await rows(page, 200);
    if (folded.some((row) => /\.py:\d+$/.test(row[5])))
      break;
  }
  await go(page, `page=compare&libraries=1&${window}`);
  for (let more; await (more = page.locator("#page .table > button", { hasText: /^Show/ })).isVisible();)
    await more.click();
  const all_ = new Set((await rows(page, 5000)).map((row) => `${row[4]} ${row[3]}`));
  assert.ok(folded.some((row) => /\.py:\d+$/.test(row[5])));
  // Unfolded, a function that holds nothing itself has a row only if what it called changed.
  for (const row of folded.filter((r) => /\.py:\d+$/.test(r[5]) && r[3] !== "0 bytes"))
    assert.ok(all_.has(`${row[4]} ${row[3]}`), row.join(" "));
  assert.deepEqual(page.problems, []);
  await page.close();
});

// The interactions that profilers have in common; each by its key or its click.
only("c++", "the 25 interactions", async (r) => {
  const page = await open({ url: world.view.url }, "", { path: "0/#page=flame&libraries=1" }), hash = async () => decodeURIComponent(await page.evaluate(() => location.hash));
  const graph = page.locator(".graph canvas"), spoken = () => page.locator("#page [aria-live]").first().innerText(), body = page.locator("body"), done = [];
  const box = async () => { const b = await graph.boundingBox(); return { x: b.x + b.width / 3, y: b.y + 27 }; }; // the row below the root
  const it = async (number, what, test) => { try { assert.ok(await test()); done.push(number); } catch (error) { throw new Error(`${number} ${what}: ${error.message}`); } };
  const press = async (key, on = body) => { await on.press(key); return hash(); };
  await it(1, "zoom by a click, and by Enter", async () => {
    const { x, y } = await box();
    await page.mouse.click(x, y);
    const clicked = /zoom=\d+/.test(await hash());
    await press("Escape");
    await graph.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    return clicked && /zoom=\d+/.test(await hash());
  });
  await it(2, "what a frame is, under the pointer and for the chosen frame", async () => {
    const { x, y } = await box();
    await page.mouse.move(x, y);
    const tip = await page.locator(".tip").innerText();
    return /^main\n.*:\d+\n.* in [\d,]+ blocks? \(\S+ %\)/.test(tip) && /main/.test(await spoken());
  });
  await it(3, "all again", async () => !/zoom/.test(await press("Escape")) && !/zoom/.test(await press("0")));
  await it(4, "search, with the sum of matches", async () => {
    await body.press("/");
    await page.keyboard.type("add");
    const found = await page.locator(".found").innerText();
    await page.keyboard.press("Escape");
    await page.locator(".graph input[type=search]").fill("");
    await graph.focus();
    await page.keyboard.press("Control+f");
    return / % in matches/.test(found) && await page.evaluate(() => document.activeElement.type === "search");
  });
  await page.keyboard.press("Escape");
  await it(5, "the figure", async () => /figure=calls/.test(await press("5")) && !/figure/.test(await press("1")));
  await it(6, "a window", async () => {
    await page.getByLabel("End of the window").fill("10");
    const set = /to=10/.test(await hash());
    await page.getByRole("button", { name: "Whole run" }).click();
    return set && !/to=10/.test(await hash());
  });
  await it(7, "any column sorts a table, by a click and by Enter", async () => {
    await go(page, "page=tables");
    for (const [name, number] of [["With callees", true], ["Function", false]]) {
      const header = page.locator("#page th button", { hasText: name }).first();
      await header.focus();
      await page.keyboard.press("Enter");
      const order = () => page.locator("#page th", { hasText: name }).first().getAttribute("aria-sort");
      assert.equal(await order(), number ? "descending" : "ascending");
      await page.keyboard.press("Enter");
      assert.equal(await order(), number ? "ascending" : "descending");
    }
    return true;
  });
  await go(page, "page=flame&libraries=1");
  await it(8, "bottom-up", async () => /inverted=1/.test(await press("i")) && !/inverted/.test(await press("i")));
  await it(9, "icicle", async () => /icicle=0/.test(await press("v")) && !/icicle/.test(await press("v")));
  await it(10, "back and forward", async () => {
    const { x, y } = await box();
    await page.mouse.click(x, y);
    await page.goBack();
    const back = !/zoom/.test(await hash());
    await page.goForward();
    return back && /zoom/.test(await hash());
  });
  await press("Escape");
  await it(11, "library frames", async () => !/libraries=1/.test(await press("l")) && /libraries=1/.test(await press("l")));
  const choose = async () => { await graph.focus(); await page.keyboard.press("Home"); await page.keyboard.press("ArrowDown"); await page.keyboard.press("ArrowDown"); };
  await it(12, "callers and callees", async () => { await choose(); return /page=callers&.*of=\d+/.test(await press("c", graph)); });
  await page.goBack();
  await it(13, "the source line", async () => { await choose(); return /page=sources&.*of=\d+/.test(await press("s", graph)); });
  await page.goBack();
  await it(14, "threads", async () => /thread=1/.test(await press("t")) && !/thread=/.test(await press("T")));
  await it(15, "recursion", async () => /recursion=0/.test(await press("r")) && !/recursion/.test(await press("r")));
  await it(16, "only what goes through a function, or its subtree", async () => {
    await choose();
    const only_ = /function=/.test(await press("f", graph));
    await press("u");
    await choose();
    return only_ && /zoom=\d+/.test(await press("F", graph));
  });
  await press("Escape");
  await it(17, "drop, merge, merge a module", async () => {
    for (const [key, what] of [["d", /without=/], ["m", /merged=/], ["C", /merged=\//]]) {
      await choose();
      assert.match(await press(key, graph), what);
      await press("u");
    }
    return true;
  });
  await it(18, "a link shows the same", async () => {
    await go(page, "page=tables&figure=calls&sort=sum&thread=1");
    const other = await browser.newPage();
    await other.goto(page.url());
    await poll(other, () => document.documentElement.dataset.ready === "1", "the link");
    const same = await total(other) === await total(page) && await other.locator("#page").innerText() === await page.locator("#page").innerText();
    await other.close();
    return same;
  });
  await go(page, "page=flame&libraries=1");
  await it(19, "a least share", async () => { await page.getByLabel("Minimum share of a frame").fill("9"); return /share=5/.test(await hash()); });
  await go(page, "page=flame&libraries=1");
  await it(20, "from frame to frame", async () => {
    await choose();
    const first = await spoken();
    await page.keyboard.press("ArrowDown");
    const second = await spoken();
    await page.keyboard.press("Home");
    return first !== second && /^all/.test(await spoken());
  });
  await it(21, "copy a name, and a stack", async () => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const copied = () => page.evaluate(() => navigator.clipboard.readText());
    await choose();
    await page.keyboard.press("Control+c");
    const name = await copied();
    await page.keyboard.press("Shift+S");
    return /^\S+$/.test(name) && (await copied()).split("\n").length > 1;
  });
  await it(22, "open a tree", async () => {
    await go(page, "page=tree&libraries=1");
    const open_ = () => page.locator(".tree [aria-expanded=true]").count(), first = page.locator(".tree .row").first();
    await first.focus();
    await page.keyboard.press("ArrowLeft");
    const none = await open_();
    await page.keyboard.press("ArrowRight");
    const one = await open_();
    await page.keyboard.press("*");
    return one > none && await open_() > one;
  });
  await it(23, "compare, and swap", async () => {
    await go(page, "page=compare&with=1");
    await poll(page, () => document.querySelector(".change") !== null, "the other trace");
    await Promise.all([page.waitForURL(/\/1\/#/), body.press("x")]);
    await poll(page, () => document.documentElement.dataset.ready === "1" && document.querySelector(".change") !== null, "the swapped page");
    return /with=0/.test(await hash());
  });
  await page.goto(world.view.url + "0/#page=flame");
  await poll(page, () => document.documentElement.dataset.ready === "1", "the page");
  await it(24, "the list of keys", async () => { await body.press("?"); return page.locator("dialog").isVisible(); });
  await page.keyboard.press("Escape");
  await it(25, "pictures, figures, and the command", async () => {
    for (const [name, kind] of [["Save SVG", /svg/], ["Save PNG", /png/], ["CSV", /csv/]]) {
      const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name, exact: true }).click()]);
      assert.match(file.suggestedFilename(), kind);
    }
    return /^mprof report peak/.test(await page.locator("footer code").innerText());
  });
  assert.equal(done.length, 25);
  assert.deepEqual(page.problems, []);
  await page.close();
  assert.ok(r);
});

only("c++", "a search takes a regular expression", async (r) => {
  const page = await open(r, "page=tables"), names = async () => (await rows(page, 200)).map((row) => row[5]);
  const all = await names();
  await go(page, `page=tables&search=${encodeURIComponent("/^(read|main)$/")}`);
  const some = await names();
  assert.ok(some.length && some.length < all.length && some.every((n) => /^(read|main)$/.test(n)), String(some));
  // One that is no regular expression, as while it is typed, is text.
  await go(page, `page=tables&search=${encodeURIComponent("/read(")}`);
  assert.deepEqual(await names(), []);
  await go(page, `page=flame&search=${encodeURIComponent("/^(read|main)$")}`);
  assert.match(await page.locator(".found").innerText(), /^(100|>99|\d\d) % in matches$/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("more columns have the figures that they have alone", async (r) => {
  const page = await open(r, "page=tables&figure=total&sort=own"), alone = new Map((await rows(page, 50)).map((row) => [row.at(-2) + row.at(-1), row[0]]));
  await go(page, "page=tables&figure=calls&sort=own&also=total");
  const column = await page.evaluate(() => [...document.querySelectorAll("#page th")].findIndex((th) => th.innerText === "Allocated"));
  assert.ok(column > 0);
  for (const row of await rows(page, 50))
    if (alone.has(row.at(-2) + row.at(-1)))
      assert.equal(row[column], alone.get(row.at(-2) + row.at(-1)), row.at(-2));
  for (const inverted of r.name !== "c++" ? [] : ["", "&inverted=1"]) { // the outermost rows of the tree together are all
    await go(page, `page=tree&figure=calls&also=calls total${inverted}`);
    const first = await page.evaluate(() => [...document.querySelectorAll(".tree > li > .row")].map((row) => [...row.querySelectorAll(".n")].map((n) => n.innerText)));
    assert.ok(first.every((n) => n.length === 3), String(first[0]));
    await go(page, `page=tree&figure=total&also=calls${inverted}`);
    const other = await page.evaluate(() => [...document.querySelectorAll(".tree > li > .row")].map((row) => [...row.querySelectorAll(".n")].map((n) => n.innerText)));
    for (const [calls, , bytes_] of first.slice(0, 3))
      assert.ok(other.some((o) => o[0] === bytes_ && o[2] === calls), `${calls} ${bytes_}`);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

each("what changed in a window: live memory at both ends, as mprof report has it", async (r) => {
  const page = await open(r, "page=compare"), last = await page.evaluate(() => +document.querySelector("#timeline input").max);
  const text = () => page.locator(".change").innerText();
  assert.match(await text(), /^Live at the end: 0 bytes before, /);
  // There is no other figure to choose.
  const shown = await text();
  await go(page, "page=flame");
  assert.equal(await page.locator(".bar label", { hasText: /^Figure/ }).count(), 1);
  await go(page, "page=compare");
  assert.equal(await page.locator(".bar label", { hasText: /^Figure/ }).count(), 0);
  await page.keyboard.press("3");
  await go(page, "page=compare&figure=calls");
  assert.equal(await text(), shown);
  if (last > 4) {
    await go(page, `page=compare&from=${last >> 2}&to=${last >> 1}`);
    const [before, after] = await page.evaluate(() => [...document.querySelectorAll("#page section > p:last-child code")].map((c) => c.innerText));
    const said = /: (.*) before, (.*) after/.exec(await text());
    assert.equal(said[1], bytes(ran(before).moment_of_peak.bytes), before);
    assert.equal(said[2], bytes(ran(after).moment_of_peak.bytes), after);
    await go(page, `page=compare&from=${last >> 2}&to=${last >> 1}&size=5-10`);
    const some = await page.evaluate(() => document.querySelector("#page section > p:last-child code:last-child").innerText);
    assert.equal(/before, (.*) after/.exec(await text())[1], bytes(ran(some).total.figures.peak), some);
    await go(page, `page=compare&from=${last >> 2}&to=${last >> 1}&life=11-64`);
    assert.match(await page.locator("#page section > p").last().innerText(), /does not combine/);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("c++", "a line opens in an editor that the reader chose, and in no other", async (r) => {
  const page = await open({ url: world.view.url + "0/" }, "page=sources");
  await poll(page, () => document.querySelectorAll(".source tbody tr").length > 30, "the text");
  assert.equal(await page.locator("a.editor").count(), 0);
  for (const bad of ["javascript:alert(1)//{file}", "https://example.org/{file}", "no scheme"]) {
    await page.getByLabel("Editor").fill(bad);
    await page.getByLabel("Editor").press("Enter");
    await page.getByLabel("Editor").blur();
    assert.equal(await page.locator("a.editor").count(), 0, bad);
  }
  await page.getByLabel("Editor").fill("vscode://file/{file}:{line}");
  await page.getByLabel("Editor").blur();
  assert.match(await page.locator("a.editor").getAttribute("href"), /^vscode:\/\/file\/\/.*words\.cc:\d+$/);
  await page.reload();
  await poll(page, () => document.querySelector("a.editor") !== null, "the link, after the page was loaded again");
  await poll(page, () => document.querySelectorAll(".source tbody tr").length > 30, "the text");
  await page.getByLabel("Editor").fill("");
  await page.getByLabel("Editor").blur();
  await poll(page, () => document.querySelector("a.editor") === null, "no link");
  assert.deepEqual(page.problems, []);
  await page.close();
  assert.ok(r);
});

// The colour of a corner of a saved picture.
const corner = (page, file) => readFile(file, "base64").then((data) => page.evaluate(async (d) => {
  const image = new Image();
  image.src = "data:image/png;base64," + d;
  await image.decode();
  const c = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }), g = c.getContext("2d");
  // The lower right one: frames begin at the top.
  g.drawImage(image, 1 - image.width, 1 - image.height);
  return [...g.getImageData(0, 0, 1, 1).data];
}, data));

only("c++", "light and dark by a button, in saved pictures, too", async (r) => {
  const page = await open(r, "page=flame", { colorScheme: "light" }), saved = async (button) => {
    const [file] = await Promise.all([page.waitForEvent("download"), button.click()]);
    return file.path();
  };
  const button = (name) => page.getByRole("button", { name, exact: true });
  const pngs = ["Save PNG", "PNG"], svgs = ["Save SVG", "SVG"];
  // Chromium asks the user before a page saves more than ten files.
  for (const [dark, times, png, svg] of [[false, 0, pngs, svgs], [true, 1, pngs, svgs], [false, 1, ["Save PNG"], []]]) {
    for (let i = 0; i < times; i++)
      await button("Light or dark").click();
    for (const name of png) {
      const [red, green, blue, alpha] = await corner(page, await saved(button(name)));
      assert.equal(alpha, 255, name);
      assert.equal(red + green + blue < 200, dark, `${name}: ${red} ${green} ${blue}`);
    }
    for (const name of svg)
      assert.ok((await readFile(await saved(button(name)), "utf8")).includes(dark ? "#1d2126" : "#fff"), name);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

only("hostile", "pages of the whole run offer no figure or filter; without a search, / filters by function", async (r) => {
  const page = await open(r, "page=realloc"), choices = () => page.locator(".bar select, .bar input").count(), whole = page.getByRole("button", { name: "Whole run" });
  assert.equal(await choices(), 0);
  const text = await page.locator("#page").innerText();
  assert.ok(/The program did not call realloc/.test(text) && !/in place/.test(text), text);
  await go(page, "page=tables");
  assert.ok(await choices() > 4);
  await page.locator("body").press("/");
  assert.equal(await page.evaluate(() => document.activeElement.type), "search");
  await go(page, "page=lifetimes");
  await page.locator("body").press("/");
  assert.equal(await page.evaluate(() => document.activeElement.list?.id), "names-function");
  await go(page, "page=tables");
  assert.ok(!await whole.isVisible());
  await go(page, "page=tables&to=0");
  assert.ok(await whole.isVisible());
  await whole.click();
  assert.ok(!await whole.isVisible());
  assert.deepEqual(page.problems, []);
  await page.close();
});

const served = (name, run) => world.view && tests.push([`view: ${name}`, () => run(world.view)]);

served("every page is drawn without a complaint, and only its server is asked", async (v) => {
  const page = await open({ url: v.url + "0/" });
  for (const name of PAGES) {
    await go(page, `page=${name}`);
    assert.ok(await page.evaluate(() => document.querySelector("main#page").innerText.trim().length > 10), name);
  }
  await go(page, "page=tables");
  assert.equal(await total(page), bytes(v.peak));
  assert.deepEqual(page.problems, []);
  await page.close();
});

// A program that does a step for each line of its input, recorded by `mode`, and mprof view of it, and of `others`.
let runs = 0;

async function running(mode, run, others = []) {
  const file = join(world.directory, `steps-${++runs}.${mode}`), quiet = { stdio: ["pipe", "pipe", "ignore"] };
  const program = spawn(world.mprof, [mode, "-q", "-o", file, "--", world.steps], quiet), lines = createInterface(program.stdout)[Symbol.asyncIterator]();
  const step = async () => {
    program.stdin.write("\n");
    await lines.next();
  };
  await step();
  const server = spawn(world.mprof, ["view", file, ...others], quiet), said = createInterface(server.stdout)[Symbol.asyncIterator]();
  try {
    const url = (await said.next()).value;
    await run({ url, step, file, end: () => program.stdin.end() });
  } finally {
    program.stdin.end();
    server.kill();
  }
}

// Presses Refresh, or what else brings new figures, and waits for them.
async function renewed(page, press = () => page.getByRole("button", { name: "Refresh" }).click()) {
  await page.evaluate(() => document.querySelector("#page").dataset.old = "1");
  await press();
  await poll(page, () => !document.querySelector("#page").dataset.old, "new figures");
}

served("a profile of a running program has new figures, in the same state, and shows what changes", () => running("profile", async (r) => {
  const page = await open(r, "page=tables&figure=end&sort=own"), told = page.locator(".running");
  const own = () => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#page tbody tr")].map((r) => [r.cells[3].innerText.trim(), r.cells[0].innerText.trim()])));
  await page.getByLabel("New figures").selectOption("on request");
  assert.match(await told.innerText(), /^The program runs: figures of \d\d:\d\d:\d\d\./);
  assert.equal(await total(page), "1.0 MiB");
  await r.step();
  await renewed(page);
  assert.equal(await total(page), "2.5 MiB");
  assert.match(await page.locator("#run").innerText(), /2\.5 MiB live now/);
  assert.match(await page.evaluate(() => location.hash), /page=tables.*figure=end/);
  // The order of tables stays, also a reversed one, and where the address does not name its column.
  for (const [where, column] of [["page=tables&figure=end&sort=own", "Function"], ["page=run", "Path"]]) {
    await go(page, where);
    const head = page.locator("#page th", { hasText: column }).first(), order = () => head.getAttribute("aria-sort");
    for (let i = 0; i < 2; i++)
      await head.locator("button").click();
    assert.equal(await order(), "descending", `${column}: before`);
    await renewed(page);
    assert.equal(await order(), "descending", `${column}: after`);
  }
  // The call graph keeps its centre although lines have other numbers.
  await go(page, "page=callers&figure=end&of=1");
  const centre = await page.locator("#page h2").innerText();
  await page.getByRole("button", { name: "Show what changes from now on" }).click();
  assert.match(await page.locator(".change").innerText(), /^Live now: 2\.5 MiB before, 2\.5 MiB after, 0 bytes/);
  await r.step();
  await renewed(page, () => page.keyboard.press("R"));
  assert.match(await page.locator(".change").innerText(), /^Live now: 2\.5 MiB before, 3\.5 MiB after, \+1\.0 MiB/);
  assert.match(await page.locator("#page tbody tr").first().innerText(), /^\+1\.0 MiB\s.*keep/s);
  // Its own zoom and order stay.
  const first = () => page.locator("#page tbody tr").first().innerText(), zoomed = () => page.locator("#page .graph p[aria-live]").textContent();
  const graph = page.locator("#page .graph canvas"), heading = page.locator("#page thead").getByRole("button", { name: "Function" });
  await heading.click();
  await heading.click();
  const order = () => page.locator("#page th[aria-sort=descending]").innerText(), last = await first();
  assert.equal(await order(), "Function");
  await graph.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const drawn = () => graph.evaluate((c) => c.toDataURL());
  const zoom = await zoomed(), picture = await drawn();
  await renewed(page);
  assert.equal(await order(), "Function");
  assert.equal(await first(), last);
  await graph.focus();
  assert.equal(await drawn(), picture);
  assert.ok(zoom);
  await page.keyboard.press("Escape");
  assert.notEqual(await drawn(), picture);
  await page.goBack();
  await poll(page, () => !document.querySelector(".change"), "the call graph");
  assert.equal(await page.locator("#page h2").innerText(), centre);
  await page.goForward();
  // By itself; after the end of the program no more.
  await page.getByLabel("New figures").selectOption("every 2 s");
  await r.step();
  await poll(page, () => /\+2\.5 MiB/.test(document.querySelector(".change").innerText), "figures that come by themselves");
  r.end();
  await poll(page, () => document.querySelector(".running").innerText === "The program has ended.", "the end of the program");
  assert.match(await page.locator(".change").innerText(), /^Live at the end: |^Never freed: /);
  assert.deepEqual(page.problems, []);
  await page.close();
}));

served("new figures and Back keep the zoom of a bottom-up graph", () => running("profile", async (r) => {
  const page = await open(r, "page=flame&figure=end&inverted=1"), graph = page.locator("#page .graph canvas"), zoom = () => page.evaluate(() => new URLSearchParams(location.hash).get("zoom"));
  const stack = () => page.locator("#page .graph details pre").textContent();
  await page.getByLabel("New figures").selectOption("on request");
  await graph.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  const chosen = await stack(), number = await zoom();
  assert.match(chosen, /.\n./);
  assert.ok(number);
  await r.step();
  await renewed(page);
  assert.equal(await stack(), chosen);
  await page.keyboard.press("Escape");
  await poll(page, () => !document.querySelector("#page .graph details"), "the whole graph");
  await r.step();
  await renewed(page);
  await page.goBack();
  await poll(page, () => document.querySelector("#page .graph details"), "the zoom");
  assert.equal(await stack(), chosen);
  // Where other frames are asked for, it may have none.
  await page.getByLabel("Fold recursion").check();
  assert.equal(await zoom(), null);
  assert.deepEqual(page.problems, []);
  await page.close();
}));

served("new figures come with their findings, and keep what is open, chosen and in the history", () => running("profile", async (r) => {
  const page = await open(r, "figure=end"), findings = () => page.evaluate(() => document.querySelector("#page .findings").textContent);
  await page.getByLabel("New figures").selectOption("on request");
  await r.step();
  await r.step();
  const before = await findings();
  await renewed(page);
  assert.match(await page.locator("#curve figcaption").textContent(), /at most 3\.5 MiB/);
  assert.notEqual(await findings(), before);
  // The program grows older between the two: figures that come later may tell another growth, and other times.
  const timeless = (text) => text.replace(/[\d.,]+ (ns|us|ms|s|min|h)\b( \d+ s)?/g, "a time");
  let shown, told;
  for (let i = 0; i < 8 && (!i || shown !== told); i++) {
    if (i)
      await renewed(page);
    const fresh = await open(r, "figure=end");
    shown = timeless(await findings());
    told = timeless(await fresh.evaluate(() => document.querySelector("#page .findings").textContent));
    await fresh.close();
  }
  assert.equal(shown, told);
  // Only the words that change are read out.
  await page.evaluate(() => new MutationObserver(() => document.body.dataset.told = "1").observe(document.querySelector(".running [role=status]"), { childList: true, characterData: true, subtree: true }));
  await renewed(page);
  assert.equal(await page.evaluate(() => document.body.dataset.told), undefined);
  await page.emulateMedia({ media: "print" });
  assert.deepEqual(await page.locator(".running :is(button, select)").evaluateAll((list) => list.filter((e) => e.offsetParent).length), 0);
  await page.emulateMedia({ media: null });
  // The call tree, with a row that is closed and focused.
  await go(page, "page=tree&figure=end&libraries=1");
  await page.locator(".filters summary").click();
  const row = page.locator("[role=treeitem] > .row", { hasText: "main" }).first(), item = () => row.evaluate((e) => e.parentElement.getAttribute("aria-expanded"));
  await row.click();
  assert.equal(await item(), "false");
  await row.focus();
  await r.step();
  await renewed(page, () => page.keyboard.press("R"));
  assert.equal(await item(), "false");
  assert.ok(await page.evaluate(() => document.activeElement.matches(".row") && document.activeElement.textContent.includes("main")));
  assert.ok(await page.evaluate(() => document.querySelector("details.filters").open));
  assert.deepEqual(page.problems, []);
  await page.close();
}));

served("a page in the history names the same function after new figures", () => running("profile", async (r) => {
  const page = await open(r, "page=tables&figure=end"), heading = () => page.locator("#page h2").innerText();
  await page.getByLabel("New figures").selectOption("on request");
  await page.getByRole("button", { name: "keep", exact: true }).click();
  const centre = await heading();
  assert.match(centre, /keep/);
  await page.locator("nav a", { hasText: "Sizes" }).click();
  for (let i = 0; i < 4; i++)
    await r.step();
  await renewed(page);
  await page.goBack();
  await poll(page, () => /page=callers/.test(location.hash), "the call graph");
  await drawn(page);
  assert.equal(await heading(), centre);
  await page.close();
}));

served("without its file, a page says of when its figures are, and goes on when the file is there again", () => running("profile", async (r) => {
  const page = await open(r, "page=tables&figure=end"), told = () => page.locator(".running").innerText();
  await page.getByLabel("New figures").selectOption("on request");
  await rename(r.file, r.file + ".away");
  await page.getByRole("button", { name: "Refresh" }).click();
  await poll(page, () => /^These are the figures of/.test(document.querySelector(".running").innerText), "what is wrong");
  assert.match(await told(), /^These are the figures of \d\d:\d\d:\d\d: cannot open .*steps-\d+\.profile.*: No such file or directory\./);
  const again = await open(r, "page=tables&figure=end"); // the last page
  assert.equal(await total(again), "1.0 MiB");
  await again.close();
  await page.getByLabel("New figures").selectOption("every 2 s");
  await rename(r.file + ".away", r.file);
  await r.step();
  await poll(page, () => document.querySelector(".bar .total").innerText === "2.5 MiB", "figures that come by themselves");
  assert.match(await told(), /^The program runs/);
  await page.close();
}));

served("new figures of a profile disturb no question about another trace, and do not read it again", () => running("profile", async (r) => {
  const page = await open({ url: r.url + "0/" }, "page=tables&figure=end"), other = await open({ url: r.url + "1/" }, "figure=end");
  const status = await other.evaluate(async (live) => {
    await fetch("ask?id=77&kind=end&from=0&to=1000000000000");
    await fetch(live);
    for (;;) {
      const told = await (await fetch("answer?id=77")).json();
      if (!("percent" in told))
        return told.node ? "answered" : JSON.stringify(told);
    }
  }, r.url + "0/");
  assert.equal(status, "answered");
  await other.close();
  await page.getByLabel("New figures").selectOption("on request");
  await go(page, "page=compare&figure=end&with=1");
  await poll(page, () => document.querySelector(".change"), "the other trace");
  let read = 0;
  page.on("request", (q) => { read += q.url().endsWith("/1/"); });
  await r.step();
  await renewed(page);
  assert.ok(await page.locator(".change").isVisible());
  assert.equal(read, 0);
  await page.close();
}, [join(world.directory, "r-c++.log")]));

served("new figures leave no old ones in the browser's memory", () => running("profile", async (r) => {
  const page = await open(r, "page=flame&figure=end"), devtools = await page.context().newCDPSession(page);
  const canvases = async () => {
    await devtools.send("HeapProfiler.collectGarbage");
    const { result } = await devtools.send("Runtime.evaluate", { expression: "HTMLCanvasElement.prototype" });
    const { objects } = await devtools.send("Runtime.queryObjects", { prototypeObjectId: result.objectId });
    const n = await devtools.send("Runtime.callFunctionOn", { objectId: objects.objectId, functionDeclaration: "function() { return this.length; }", returnByValue: true });
    await devtools.send("Runtime.releaseObject", { objectId: objects.objectId });
    return n.result.value;
  };
  await page.getByLabel("New figures").selectOption("on request");
  await renewed(page);
  const before = await canvases();
  for (let i = 0; i < 8; i++)
    await renewed(page);
  await drawn(page, 200);
  const after = await canvases();
  assert.ok(after <= before + 4, `${before} canvases, then ${after}`);
  await page.close();
}));

served("a page of a program that mprof detached from does not say that the program ended", async () => {
  const file = join(world.directory, "attached.profile"), quiet = { stdio: ["pipe", "pipe", "ignore"] };
  const program = spawn(world.steps, [], quiet), lines = createInterface(program.stdout)[Symbol.asyncIterator]();
  program.stdin.write("\n");
  await lines.next();
  const attach = spawn(world.mprof, ["attach", "-o", file, String(program.pid)], { stdio: ["ignore", "ignore", "pipe"] });
  const told = createInterface(attach.stderr)[Symbol.asyncIterator](), first = (await told.next()).value ?? "";
  const server = /attached to process/.test(first) && spawn(world.mprof, ["view", file], quiet); // not where the kernel forbids it
  try {
    if (!server)
      return;
    const url = (await createInterface(server.stdout)[Symbol.asyncIterator]().next()).value, page = await open({ url }, "figure=end");
    await page.getByLabel("New figures").selectOption("on request");
    attach.kill("SIGINT");
    await new Promise((done) => attach.on("exit", done));
    await renewed(page);
    assert.equal(await page.locator(".running").innerText(), "mprof detached from the program.");
    await page.close();
  } finally {
    program.stdin.end();
    if (server)
      server.kill();
  }
});

served("an older page of a trace is told that its numbers are old", () => running("record", async (r) => {
  const page = await open(r, "figure=end"), other = await open(r, "figure=end");
  await other.close();
  await page.getByLabel("Exact start in seconds").fill("0");
  await page.getByLabel("Exact end in seconds").fill("3600");
  await page.getByRole("button", { name: "Show this window" }).click();
  await poll(page, () => /newer than this page/.test(document.getElementById("waiting").textContent), "the refusal");
  const told = await page.evaluate(async () => (await fetch("source?file=0&made=0")).json());
  assert.match(told.why, /newer than this page/);
  await page.close();
}));

served("a trace of a running program has new figures when it is loaded again", () => running("record", async (r) => {
  const page = await open(r, "figure=end");
  assert.equal(await total(page), "1.0 MiB");
  await r.step();
  await Promise.all([page.waitForEvent("load"), page.keyboard.press("R")]);
  await poll(page, () => document.documentElement.dataset.ready === "1", "another page");
  assert.equal(await total(page), "2.5 MiB");
  // The server answers from the new trace.
  await page.getByLabel("Exact start in seconds").fill("0");
  await page.getByLabel("Exact end in seconds").fill("3600");
  await page.getByRole("button", { name: "Show this window" }).click();
  await poll(page, () => document.getElementById("waiting").textContent === "", "the answer");
  assert.equal(await total(page), "2.5 MiB");
  await page.close();
}));

served("an exact window is answered by the trace, as mprof report does", async (v) => {
  const page = await open({ url: v.url + "0/" }, "figure=end");
  await page.getByLabel("Exact start in seconds").fill("0");
  await page.getByLabel("Exact end in seconds").fill(String(v.at_ns / 1e9));
  await page.getByRole("button", { name: "Show this window" }).click();
  const settled = () => poll(page, () => document.getElementById("waiting").textContent === "", "the answer");
  await settled();
  assert.equal(await total(page), bytes(v.at_bytes));
  assert.match(await page.evaluate(() => location.hash), /exact=0-\d+/);
  assert.match(await page.locator("footer code").innerText(), new RegExp(`report peak --at 0*${(v.at_ns / 1e9).toFixed(9).replace(/\.?0+$/, "")}0*s`));
  // Another figure of the same window; asked twice at once, the second counts.
  await go(page, `figure=total&exact=0-${v.at_ns}`);
  await go(page, `figure=calls&exact=0-${v.at_ns}`);
  await settled();
  assert.equal(await total(page), count(v.calls_until));
  await page.getByRole("button", { name: "Back to the sliders" }).click();
  assert.equal(await total(page), count(v.calls));
  await go(page, `figure=leaked&exact=0-${v.at_ns}`);
  assert.match(await page.locator("#waiting").innerText(), /known only for the whole run/);
  // What it does not answer does not have the figures of the question before.
  for (const asked of ["figure=temporary", "figure=end&life=11-64", "figure=leaked"]) {
    await go(page, asked);
    const whole = await total(page);
    await go(page, `figure=total&exact=0-${v.at_ns}`);
    await settled();
    await go(page, `${asked}&exact=0-${v.at_ns}`);
    assert.equal(await total(page), whole, asked);
    assert.match(await page.locator("#waiting").innerText(), /follows the sliders|whole run/);
  }
  assert.deepEqual(page.problems, []);
  await page.close();
});

served("the trace answers filters that the cells of a coarse one cannot", async (v) => {
  const page = await browser.newPage();
  page.problems = [];
  page.on("pageerror", (e) => page.problems.push(e.message));
  await page.route(/\/3\/$/, async (route) => {
    const response = await route.fetch(), text = await response.text();
    await route.fulfill({ response, body: rewrite(text, (json) => {
      assert.equal(json.split('"coarse":false').length, 2);
      return json.replace('"coarse":false', '"coarse":true');
    }) });
  });
  await page.goto(v.url + "3/#page=tables");
  await poll(page, () => document.documentElement.dataset.ready === "1", "the page");
  const all = await total(page), settled = () => poll(page, () => document.getElementById("waiting")?.textContent === "", "the answer");
  for (const filter of ["thread=1", "size=5-6"]) {
    await go(page, `page=tables&${filter}`);
    await poll(page, (was) => document.querySelector(".bar .total").innerText !== was, "another figure", all);
    await settled();
    const command = await page.locator("footer code").innerText();
    assert.equal(await total(page), bytes(ran(command).total.figures.peak), command);
    assert.equal(await page.locator("main .note").count(), 0);
    await go(page, "page=tables");
  }
  await go(page, "page=threads&thread=1");
  assert.match(await page.locator("#page").innerText(), /too many call stacks for what follows the sliders/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

served("filters of an exact window have the figures of the command under the page", async (v) => {
  for (const [trace, names] of [["0", ["index::add", "read", "words"]], ["3", ["work", "main", "ring"]]]) {
    const page = await open({ url: v.url }, "", { path: trace + "/" }), settled = () => poll(page, () => document.getElementById("waiting")?.textContent === "", "the answer");
    const end = Math.max(...(await head(page)).report.threads.map((t) => t.last_ns)), seen = {};
    for (const figure of ["peak", "end", "kept", "total", "calls"])
      for (const [i, filter] of ["", "thread=1", "thread=4", "size=5-7", "size=8-64&thread=1", `function=${names[0]}`, `without=${names[1]}`, `module=${names[2]}`, `module=libc*&size=4-9`].entries()) {
        const from = v.calls_ns[trace][i + 1], to = v.calls_ns[trace][10 + i]; // each has nearly half of the calls
        await go(page, `page=tables&figure=${figure}&exact=${from}-${to}&${filter}`);
        await settled();
        const command = await page.locator("footer code").innerText(), shown = await total(page);
        let said;
        try {
          said = ran(command).total.figures;
        } catch (error) { // mprof names the thread that is not there
          assert.ok(/--thread 4/.test(command) && trace === "0" && /^0( bytes)?$/.test(shown), command);
          continue;
        }
        assert.equal(shown, figure === "calls" ? count(said.calls) : bytes(figure === "total" ? said.total : said.peak), `${trace} ${figure} ${filter} ${from}-${to}: ${command}`);
        (seen[figure] ??= new Set()).add(shown);
        for (const other of i % 3 ? [] : ["flame", "tree"]) { // show the same answer
          await go(page, `page=${other}&figure=${figure}&exact=${from}-${to}&${filter}`);
          await settled();
          assert.equal(await total(page), shown, other);
        }
      }
    // How many differ depends on when the program made its calls: what is kept, most of all.
    const differ = Object.entries(seen).map(([figure, values]) => `${trace} ${figure}: ${[...values].join(", ")}`).join("; ");
    assert.ok(Object.values(seen).every((values) => values.size > 1), differ);
    assert.ok(Object.values(seen).reduce((sum, values) => sum + values.size, 0) > 10, differ);
    assert.equal(Object.keys(seen).length, 5);
    await go(page, `page=tables&figure=total&exact=0-${end}&life=11-64`);
    await poll(page, () => /Choose all lifetimes/.test(document.getElementById("waiting").textContent), "the refusal");
    for (const [name, note] of [["sizes", true], ["threads", true], ["flame", false]]) {
      await go(page, `page=${name}&exact=1-${end}`);
      assert.equal(/follow the sliders|follows the sliders/.test(await page.locator("#page").innerText()), note, name);
    }
    assert.deepEqual(page.problems, []);
    await page.close();
  }
});

served("what changed in an exact window: live memory at both ends, as mprof report has it", async (v) => {
  const page = await open({ url: v.url + "0/" }, "page=compare&figure=calls"), text = () => page.locator(".change").innerText();
  const end = Math.max(...(await head(page)).report.threads.map((t) => t.last_ns));
  let changed = 0;
  for (const [from, to] of [[0, Math.round(end / 3)], [Math.round(end / 3), Math.round(end * 2 / 3)], [Math.round(end / 2), end]]) {
    await go(page, `page=compare&figure=calls&exact=${from}-${to}`);
    await poll(page, () => document.querySelector(".change") && document.getElementById("waiting")?.textContent === "", "the answer");
    const [before, after] = (await page.locator("#page section > p:last-child code").allInnerTexts()).map((c, i) => i || from ? ran(c).moment_of_peak.bytes : 0);
    assert.ok((await text()).startsWith(`Live at the end: ${bytes(before)} before, ${bytes(after)} after`), await text());
    assert.equal(await page.locator(".bar label", { hasText: /^Figure/ }).count(), 0);
    changed += before !== after;
  }
  assert.ok(changed);
  assert.doesNotMatch(await page.locator("#page").innerText(), /sliders/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

served("source files that the trace names are shown, and no others", async (v) => {
  const page = await open({ url: v.url + "0/" }, "page=sources&full=1");
  await poll(page, () => document.querySelectorAll(".source tbody tr").length > 30, "the text");
  const { annotate, lines } = world.reports.find((r) => r.name === "c++").said;
  await annotated(page, annotate, lines);
  const status = (what) => page.evaluate((w) => fetch(w).then((r) => r.status), what);
  assert.equal(await status("source?file=0"), 200);
  assert.equal(await status("source?file=1000"), 400);
  assert.equal(await status("source?file=-1"), 400);
  assert.equal(await status("source?file=/etc/passwd"), 400);
  assert.equal(await status("source/etc/passwd"), 404);
  assert.deepEqual(page.problems.filter((p) => !/40[04]/.test(p)), []);
  await page.close();
});

served("heaps are made when they are asked for", async (v) => {
  const page = await open({ url: v.url + "0/" }, "page=heap");
  await heapReady(page);
  await drawn(page, 50);
  assert.ok((await heapSays(page)).includes(`${bytes(v.peak)} live`), await heapSays(page));
  const told = (what) => page.evaluate((w) => fetch(w).then(async (r) => [r.status, r.status === 200 ? await r.json() : null]), what);
  for (const bad of ["heap", "heap?process=0", "heap?process=-1", "heap?process=a"])
    assert.deepEqual(await told(bad), [400, null], bad);
  let [status, none] = await told("heap?process=7"), tries = 0;
  while (none.percent !== undefined && tries++ < 400)
    [status, none] = await told("heap?process=7");
  assert.equal(status, 200);
  assert.match(none.error, /process 7/);
  assert.deepEqual(page.problems.filter((p) => !/400/.test(p)), []);
  await page.close();
});

served("two traces are compared: the totals, a flame graph, functions", async (v) => {
  const page = await open({ url: v.url }, "", { path: "1/#page=compare&with=0" });
  await poll(page, () => document.querySelector(".change") !== null, "the other trace");
  const text = await page.locator(".change").innerText(), sign = v.other_peak >= v.peak ? "+" : "\u2212";
  assert.ok(text.startsWith(`Live at the peak: ${bytes(v.peak)} before, ${bytes(v.other_peak)} after, ` +
    `${sign}${bytes(Math.abs(v.other_peak - v.peak))}`), text);
  assert.ok(await page.evaluate(() => document.querySelector(".compare canvas").clientHeight > 20));
  // Compared with itself nothing has changed; figures of functions are those of each trace.
  const shown = await rows(page, 200);
  assert.ok(shown.length > 2);
  for (const [change, before, after] of shown.slice(0, 3))
    assert.equal(change.startsWith("+"), parse(after) > parse(before), `${before} ${after} ${change}`);
  await go(page, "page=compare&with=0&figure=calls");
  await poll(page, () => document.querySelector(".change").innerText.startsWith("Allocations"), "calls");
  assert.ok((await page.locator(".change").innerText()).includes(`${count(v.calls)} before`));
  assert.deepEqual(page.problems, []);
  await page.close();
});

served("several traces are listed, and no other page may ask", async (v) => {
  const page = await browser.newPage();
  await page.goto(v.url);
  await page.getByRole("link").nth(1).click();
  await poll(page, () => document.documentElement.dataset.ready === "1", "the second page");
  await page.close();
  const stranger = await browser.newPage();
  await stranger.goto("about:blank");
  const got = await stranger.evaluate((url) => fetch(url).then((r) => r.status, () => "refused"), v.url);
  assert.notEqual(got, 200);
  await stranger.close();
});

served("a profile has pages, and no window to ask for", async (v) => {
  const page = await open({ url: v.url }, "", { path: "2/#figure=total" }), said = world.profiles.find((p) => p.name === "profile")?.said[""];
  if (said)
    assert.equal(await total(page), bytes(said.total.figures.total));
  assert.equal(await page.locator(".exact").count(), 0);
  assert.equal(await page.evaluate(() => fetch("ask?id=1&kind=total").then((r) => r.status)), 400);
  assert.equal(await page.evaluate(() => fetch("heap?process=1").then((r) => r.status)), 404);
  await go(page, "page=stacks");
  assert.ok(await page.locator(".depths svg path title").count() > 0);
  await go(page, "page=compare&figure=total&with=0"); // with a trace
  await poll(page, () => document.querySelector("#page .change"), "the other trace");
  assert.match(await page.locator("#page .change").innerText(), /Allocated: .* before/);
  page.problems = page.problems.filter((p) => !/status of 40[04]/.test(p)); // asked for above
  assert.deepEqual(page.problems, []);
  await page.close();
});

const results = [];
for (const [name, run] of tests) {
  if (words.length && !words.some((w) => name.includes(w)))
    continue;
  try {
    await run();
    results.push([name, ""]);
  } catch (error) {
    results.push([name, String(error.message).split("\n").slice(0, 6).join(" | ")]);
  }
}
await browser.close();
console.log(JSON.stringify(results));
