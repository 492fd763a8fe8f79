// SPDX-License-Identifier: LGPL-3.0-or-later
// format.mjs WORDS.mjs FORMAT.tsv - do figures in pages read as everywhere?  Prints what is wrong.

import { readFileSync } from "node:fs";

const words = await import(process.argv[2]);

for (const line of readFileSync(process.argv[3], "utf8").split("\n")) {
  if (!line || line.startsWith("#"))
    continue;
  const [kind, ...rest] = line.split("\t");
  const text = rest.pop();
  const said = words[kind](...rest.map(Number));
  if (said !== text)
    console.log(`${kind}(${rest}) is '${said}' instead of '${text}'`);
}
