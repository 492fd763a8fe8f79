// SPDX-License-Identifier: LGPL-3.0-or-later
//
// dhat.mjs CHROMIUM DH_VIEW FILE - opens FILE in Valgrind's dh_view.html and prints what it shows, as
// JSON: { errors, metrics: { LABEL: text } }, of each metric that can be sorted by.
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, viewer, file] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120000 });
const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
page.setDefaultTimeout(120000); // the machine may be slow
const errors = [];
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (line) => line.type() === "error" && errors.push(line.text()));
await page.goto(pathToFileURL(viewer).href);
await page.setInputFiles("input[type=file]", file);
await page.waitForFunction(() => !document.body.innerText.includes("Load a DHAT data file"));
const metrics = {};
const labels = await page.$$eval("select option", (all) =>
  all.map((one) => [one.value, one.label, one.disabled]));
for (const [value, label, disabled] of labels) {
  if (disabled) continue;
  await page.selectOption("select", value);
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
  metrics[label] = await page.evaluate(() => document.body.innerText);
}
await browser.close();
console.log(JSON.stringify({ errors, metrics }));
