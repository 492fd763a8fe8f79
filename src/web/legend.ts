// SPDX-License-Identifier: LGPL-3.0-or-later
// legend.ts - the meaning of the visible colours.

import { Colours, Kind } from "./colours";

function span(to: HTMLElement, name: string, text: string, colour = ""): HTMLElement {
	const out = document.createElement("span");
	out.className = name;
	out.textContent = text;
	if (colour) {
		const box = document.createElement("i");
		box.style.background = colour;
		out.prepend(box);
	}
	to.append(out);
	return out;
}

export function drawLegend(to: HTMLElement, colours: Colours, kind: Kind, pins: boolean): void {
	const said = colours.legend(kind);
	to.replaceChildren();
	span(to, "mp-legend-title", said.title);
	if (said.ramp) {
		span(to, "mp-end", said.ramp.from);
		span(to, "mp-ramp", "").style.background =
			`linear-gradient(to right, ${said.ramp.colours.join(", ")})`;
		span(to, "mp-end", said.ramp.to);
	}
	for (const s of said.swatches)
		span(to, "mp-swatch", s.label, s.colour);
	if (pins)
		span(to, "mp-swatch", "pinned by fewer than 64 bytes", colours.pin);
}
