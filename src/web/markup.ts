// SPDX-License-Identifier: LGPL-3.0-or-later
// markup.ts - the elements of a player, and the list of its keys.

const KEYS: [string, string][] = [
	["Space", "play or pause"], ["← →", "previous or next frame (in a map: , and .)"],
	["Home End", "first or last frame"], ["p", "the peak"], ["[ ]", "slower or faster"],
	["c", "next colour"], ["x", "mark pinned pages"], ["+ − 0", "zoom in, zoom out, show all"],
	["1 … 9", "show or hide an allocator"], ["arrows in a map", "move from page to page"],
	["wheel, drag", "zoom (on a page with other content: with Ctrl, or after a click) and pan; double click: show all"],
];

const ICONS = {
	first: "M6 5v14M19 5l-10 7 10 7z", back: "M16 5l-10 7 10 7z", play: "M7 4l13 8-13 8z",
	pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z", on: "M8 5l10 7-10 7z",
	last: "M18 5v14M5 5l10 7-10 7z", in: "M12 5v14M5 12h14", out: "M5 12h14",
	theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
};

export function icon(name: keyof typeof ICONS): string {
	return `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;
}

function button(name: keyof typeof ICONS, label: string, key = ""): string {
	return `<button type="button" class="mp-${name}" title="${label}${key && ` (${key})`}"
		aria-label="${label}">${icon(name)}</button>`;
}

function word(name: string, text: string, title: string, more = ""): string {
	return `<button type="button" class="mp-${name} mp-word" title="${title}" ${more}>${text}</button>`;
}

export const MARKUP = `
<header>
	<h2></h2><p class="mp-about"></p><p class="mp-left-out" role="note" hidden></p>
</header>
<div class="mp-bar" role="toolbar" aria-label="Player">
	${button("first", "First frame", "Home")}
	${button("back", "Previous frame", "←")}
	${button("play", "Play", "Space")}
	${button("on", "Next frame", "→")}
	${button("last", "Last frame", "End")}
	${word("peak", "Peak", "The frame with the most live bytes (p)")}
	<label>Speed <select class="mp-speed"></select></label>
	<label>Colour <select class="mp-kind"></select></label>
	<label class="mp-check" title="Pages pinned by fewer than 64 bytes (x)"><input type="checkbox" class="mp-pins"> Pins</label>
	<span class="mp-zoom">
		${button("out", "Farther", "-")}
		${word("fit", "Fit", "Show all (0)")}
		${button("in", "Closer", "+")}
	</span>
	<label>Find <input type="text" class="mp-find" size="10" placeholder="0x…" spellcheck="false"
		title="The page that contains an address (Enter)" autocomplete="off"></label>
	<span class="mp-space"></span>
	<span class="mp-films" role="group" aria-label="Allocators"></span>
	<span class="mp-end-bar">
		${button("theme", "Light or dark")}
		${word("help", "?", "Keys (?)", `aria-label="Keys" aria-expanded="false"`)}
	</span>
</div>
<div class="mp-keys" hidden>
	<dl>${KEYS.map(([key, what]) => `<dt>${key}</dt><dd>${what}</dd>`).join("")}</dl>
</div>
<div class="mp-legend" aria-label="Legend"></div>
<div class="mp-panels"></div>
<div class="mp-time">
	<output class="mp-now"></output>
	<input type="range" class="mp-frame" min="0" step="1" aria-label="Frame">
</div>
<div class="mp-chart-box"></div>
<div class="mp-lines">
	<span><i class="mp-key-area"></i>live bytes, as requested</span>
	<span><i class="mp-key-dash"></i>usable</span>
	<span><i class="mp-key-line"></i>resident</span>
</div>`;
