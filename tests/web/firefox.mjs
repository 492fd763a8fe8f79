// SPDX-License-Identifier: LGPL-3.0-or-later
//
// firefox.mjs FIREFOX WORLD.json [WORD...] - opens the reports that WORLD.json names in Firefox, by
// WebDriver BiDi, visits every page and collects what the console says.  (playwright-core drives a
// Firefox of its own only, not a distribution's.)  Prints an array of [test, what was wrong or ""].
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import bundle from "playwright-core/lib/utilsBundle"; // node has a WebSocket since version 22 only

const WebSocket = globalThis.WebSocket ?? bundle.ws;

const [executable, worldFile, ...words] = process.argv.slice(2);
const world = JSON.parse(await readFile(worldFile, "utf8"));
const PAGES = ["overview", "flame", "tables", "tree", "callers", "sources", "resident", "stacks", "globals", "leaks", "sizes", "lifetimes", "realloc",
  "threads", "processes", "run"];
const profile = await mkdtemp(join(tmpdir(), "mprof-firefox-"));
const firefox = spawn(executable, ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0", "about:blank"],
  { stdio: ["ignore", "ignore", "pipe"], env: { ...process.env, HOME: profile } });

const address = await new Promise((found, failed) => {
  let text = "";
  firefox.stderr.on("data", (part) => {
    text += part;
    const at = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(text);
    if (at)
      found(at[1]);
  });
  firefox.on("exit", (status) => failed(new Error(`Firefox ended with ${status}: ${text.slice(-300)}`)));
  setTimeout(() => failed(new Error(`Firefox does not listen: ${text.slice(-300)}`)), 120000); // the machine may be slow
});
const socket = new WebSocket(address + "/session"), waiting = new Map();
await new Promise((done) => { socket.onopen = done; });
let number = 0, problems = [];
socket.onmessage = (message) => {
  const told = JSON.parse(message.data);
  if (told.id) {
    const [done, failed] = waiting.get(told.id);
    waiting.delete(told.id);
    return told.type === "error" ? failed(new Error(told.message)) : done(told.result);
  }
  if (told.method === "log.entryAdded" && told.params.level !== "debug")
    problems.push(`${told.params.level}: ${told.params.text}`);
  else if (told.method === "network.beforeRequestSent" && !/^(file|data|blob|about):/.test(told.params.request.url))
    problems.push(`request: ${told.params.request.url}`);
};
const send = (method, params) => new Promise((done, failed) => {
  waiting.set(++number, [done, failed]);
  socket.send(JSON.stringify({ id: number, method, params }));
});

await send("session.new", { capabilities: {} });
await send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
const { contexts } = await send("browsingContext.getTree", {}), context = contexts[0].context;
const evaluate = async (expression) => {
  const told = await send("script.evaluate", { expression, target: { context }, awaitPromise: true });
  return told.type === "success" ? told.result.value : `error: ${told.exceptionDetails.text}`;
};

const results = [];
for (const report of world.reports) {
  const name = `${report.name}: every page is drawn in Firefox without a complaint or a request`;
  if (words.length && !words.some((word) => name.includes(word)))
    continue;
  problems = [];
  await send("browsingContext.navigate", { context, url: `file://${report.file}`, wait: "complete" });
  let ready = false;
  for (let i = 0; i < 2400 && !ready; i++) { // a minute or more
    ready = await evaluate("document.documentElement.dataset.ready === '1'");
    await new Promise((done) => setTimeout(done, 25));
  }
  if (!ready)
    problems.push("the page does not become ready");
  for (const page of PAGES) {
    const length = await evaluate(`new Promise((done) => { location.hash = "page=${page}";
      setTimeout(() => done(document.querySelector("main#page").innerText.trim().length), 40); })`);
    if (!(length > 10))
      problems.push(`${page}: ${length}`);
  }
  results.push([name, problems.join(" | ").slice(0, 500)]);
}
socket.close();
firefox.kill();
await new Promise((done) => firefox.exitCode === null ? firefox.on("exit", done) : done());
await rm(profile, { recursive: true, force: true });
console.log(JSON.stringify(results));
process.exit(0);
