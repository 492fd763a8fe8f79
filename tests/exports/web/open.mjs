// SPDX-License-Identifier: LGPL-3.0-or-later
//
// open.mjs CHROMIUM SPEEDSCOPE FILE... - opens each FILE in speedscope in a browser and prints what
// it shows, as one JSON array of { title, profile, rows, exported, errors }: the tab's title, the
// name of the profile on view, the rows of its table of functions as [total, self, name], and what
// speedscope's own export says that it read.
import { readFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const [executablePath, root, ...files] = process.argv.slice(2);
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

async function serve(request, response) {
  const name = new URL(request.url, "http://here").pathname;
  try {
    const file = path.join(root, name === "/" ? "index.html" : name);
    response.setHeader("content-type", types[path.extname(file)] ?? "application/octet-stream");
    response.end(await readFile(file));
  } catch {
    response.writeHead(404).end();
  }
}

async function look(browser, url, file) {
  // So tall that the table has all its rows: it draws only those in view.
  const page = await browser.newPage({ viewport: { width: 1400, height: 6000 } });
  page.setDefaultTimeout(120000); // the machine may be slow
  const errors = [];
  page.on("pageerror", (error) => errors.push(String(error)));
  await page.goto(url);
  await page.setInputFiles("input[type=file]", file);
  await page.waitForFunction(() => document.title !== "speedscope");
  await page.keyboard.press("3");
  // Its rows are drawn after its head.
  await page.waitForFunction(() => [...document.querySelectorAll("tr")].some((row) => row.innerText.includes("%")));
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  const rows = await page.$$eval("table tr", (found) =>
    found.map((row) => [...row.querySelectorAll("td")].map((cell) => cell.innerText.trim())));
  const text = await page.evaluate(() => document.body.innerText);
  const waiting = page.waitForEvent("download");
  await page.keyboard.press("Control+s");
  const exported = JSON.parse(await readFile(await (await waiting).path(), "utf8"));
  const title = await page.title();
  await page.close();
  return { title, text, rows: rows.filter((row) => row.length >= 3).map((row) => row.slice(-3)), exported, errors };
}

const server = http.createServer(serve);
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120000 });
const seen = [];
for (const file of files)
  seen.push(await look(browser, `http://127.0.0.1:${server.address().port}/`, file));
await browser.close();
server.close();
console.log(JSON.stringify(seen));
