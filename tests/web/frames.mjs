// SPDX-License-Identifier: LGPL-3.0-or-later
// frames.mjs MODEL.mjs - are frames of random trees what a walk of each stack finds?  Prints what is wrong.

const { frameAt, frameTree, matchingShare, numberOfPlace, placeOfNumber } = await import(process.argv[2]);

let seed = 1;
const random = (n) => (seed = (seed * 48271) % 2147483647) % n;

function tree(nodes, lines) {
  const d = { head: { nodes }, parent: [0], lineOf: [0], line: { line: [0], library: [0], function: [0], module: [0], file: [0] }, text: [""] };
  for (let i = 1; i < lines; i++) {
    d.line.line.push(i);
    d.line.library.push(random(3) === 0 ? 1 : 0);
    d.line.function.push(i);
    d.line.module.push(0);
    d.line.file.push(0);
    d.text.push(`f${i}`);
  }
  for (let i = 1; i < nodes; i++) {
    d.parent.push(random(i));
    d.lineOf.push(1 + random(lines - 1));
  }
  return d;
}

// The same frames, one stack after the other: each is a path of keys from the root.
function walked(d, a, keys, o) {
  const frames = new Map([["", { sum: 0, own: 0 }]]);
  const library = (k) => o.foldLibraries && k > 0 && d.line.library[d.lineOf[k]] > 0;
  for (let i = 0; i < d.head.nodes; i++) {
    if (!a.own[i])
      continue;
    let path = [];
    const seen = new Set();
    frames.get("").sum += a.own[i];
    for (let k = i; k > 0; k = d.parent[k]) {
      const key = keys[d.lineOf[k]], at = o.foldRecursion ? path.indexOf(key) : -1;
      if (at >= 0) {
        path = path.slice(0, at + 1);
        continue;
      }
      if (path.at(-1) === key || (library(k) && library(d.parent[k])) || o.merged?.[d.lineOf[k]])
        continue;
      path = [...path, key];
      const name = path.join(" "), f = frames.get(name) ?? { sum: 0, own: 0 };
      frames.set(name, f);
      if (seen.has(name))
        continue;
      seen.add(name);
      f.sum += a.own[i];
      f.own += path.length === 1 ? a.own[i] : 0;
    }
  }
  const limit = frames.get("").sum * o.least;
  return [...frames].filter(([name, f]) => name === "" || (f.sum > 0 && f.sum >= limit))
    .map(([name, f]) => `${name}: ${f.sum} ${f.own}`).sort();
}

const pathIn = (frames) => (f) => {
  let names = "";
  for (; f !== frames[0]; f = frames[f.parent])
    names = `${f.key} ${names}`;
  return names.trim();
};

// Has the graph of one frame all that is drawn below it, although it leaves out the others?
function zoomed(d, a, keys, o, frames) {
  const path = pathIn(frames), into = frames[random(frames.length)], name = path(into), drawn = [0, 0.05, 0.5][random(3)];
  const focus = placeOfNumber(numberOfPlace(into)), some = frameTree(d, a, keys, { ...o, focus, drawn });
  const pathOf = pathIn(some), all = new Map(some.map((f) => [pathOf(f), f]));
  if (pathOf(some[frameAt(d, some, keys, o, focus)]) !== name)
    return `"${name}" is not found`;
  for (const f of frames) {
    const at = path(f), same = all.get(at);
    if ((at === name || !name || at.startsWith(name + " ")) && f.sum >= drawn * into.sum && !(same && same.sum === f.sum && same.own === f.own))
      return `"${at}" in "${name}" is ${same?.sum} instead of ${f.sum}`;
  }
  return "";
}

// With recursion folded, a stack may be in several frames that match.
function searched(d, a, keys, o) {
  if (o.foldRecursion)
    return "";
  const wanted = `f${1 + random(d.text.length - 1)}`, all = frameTree(d, a, keys, { ...o, least: 0 });
  const sum = (i) => (i && d.text[all[i].line] === wanted ? all[i].sum
    : Array.from({ length: all[i].children }, (_, k) => sum(all[i].child + k)).reduce((x, y) => x + y, 0));
  const share = matchingShare(d, { ...a, total: all[0].sum }, o, (name) => name === wanted), right = sum(0) / (all[0].sum || 1);
  return Math.abs(share - right) < 1e-9 ? "" : `${wanted} is in ${share} instead of ${right}`;
}

for (let n = 0; n < 400; n++) {
  const d = tree(2 + random(200), 3 + random(12)), own = d.parent.map((_, i) => (i && random(2) ? random(100) : 0));
  const keys = Uint32Array.from(d.line.line), a = { own, blocks: own, sum: own, total: 0, exact: true };
  const o = { inverted: true, foldLibraries: random(2) > 0, foldRecursion: random(2) > 0, least: [0, 0.01, 0.2][random(3)],
    merged: random(2) ? Uint8Array.from(d.line.line, () => +(random(5) === 0)) : undefined };
  const frames = frameTree(d, a, keys, o), path = pathIn(frames);
  const found = frames.map((f) => `${path(f)}: ${f.sum} ${f.own}`).sort(), right = walked(d, a, keys, o);
  if (found.join("\n") !== right.join("\n")) {
    console.log(`tree ${n} with ${JSON.stringify(o)}: ${found.length} frames instead of ${right.length}`);
    break;
  }
  const wrong = zoomed(d, a, keys, o, frames) || searched(d, a, keys, o);
  if (wrong) {
    console.log(`tree ${n} with ${JSON.stringify(o)}: ${wrong}`);
    break;
  }
}
