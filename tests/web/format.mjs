// SPDX-License-Identifier: LGPL-3.0-or-later
// format.mjs WORDS.mjs FORMAT.tsv - do figures in pages read as everywhere?  Prints what is wrong.

import { readFileSync } from "node:fs";

const words = await import(process.argv[2]);

// Steps of a scale of time, in seconds, and their names.
for (const [least, step, text] of [[0.003, 0.005, "5.00 ms"], [2.4, 5, "5.00 s"], [11, 15, "15.0 s"],
  [40, 60, "60.0 s"], [70, 120, "2 min"], [130, 300, "5 min"], [1000, 1800, "30 min"], [3000, 3600, "60 min"],
  [3700, 7200, "2 h"], [8000, 10800, "3 h"], [30000, 43200, "12 h"], [100000, 172800, "48 h"]]) {
  const ns = words.roundUpTime(least * 1e9);
  if (Math.abs(ns - step * 1e9) > 1 || words.roundTime(ns) !== text)
    console.log(`a step of ${least} s is ${ns / 1e9} s, '${words.roundTime(ns)}', instead of ${step} s, '${text}'`);
}

for (const line of readFileSync(process.argv[3], "utf8").split("\n")) {
  if (!line || line.startsWith("#"))
    continue;
  const [kind, ...rest] = line.split("\t");
  const text = rest.pop();
  const said = words[kind](...rest.map(Number));
  if (said !== text)
    console.log(`${kind}(${rest}) is '${said}' instead of '${text}'`);
}
