// SPDX-License-Identifier: LGPL-3.0-or-later
// main.ts - opens every movie of the page: <div class="mprof-movie"> holds a
// <script type="application/json"> with its data.

import { MovieData, canUnpack } from "./data";
import style from "./movie.css";
import { Player } from "./player";

function say(root: HTMLElement, text: string): void {
	const p = document.createElement("p");
	p.className = "mp-problem";
	p.setAttribute("role", "alert");
	p.textContent = text;
	root.replaceChildren(p);
}

async function open(root: HTMLElement): Promise<void> {
	const script = root.querySelector("script[type='application/json']");
	if (!script || root.dataset.opened)
		return;
	root.dataset.opened = "1";
	if (!canUnpack()) {
		say(root, "This browser cannot unpack the movie: it requires Chromium 80, Firefox 113, " +
			"Safari 16.4 or newer.");
		return;
	}
	try {
		const data = JSON.parse(script.textContent!) as MovieData;
		if (data.format !== 1)
			throw new Error(`format ${data.format} is unknown`);
		await Player.open(root, data);
	} catch (e) {
		say(root, `The movie cannot be shown: ${(e as Error).message}`);
		throw e;
	}
}

function start(): void {
	const sheet = document.createElement("style");
	sheet.textContent = style;
	document.head.append(sheet);
	document.querySelectorAll<HTMLElement>(".mprof-movie").forEach((root) => void open(root));
}

if (document.readyState === "loading")
	document.addEventListener("DOMContentLoaded", start);
else
	start();
