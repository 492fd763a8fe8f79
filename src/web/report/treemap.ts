// SPDX-License-Identifier: LGPL-3.0-or-later
// treemap.ts - areas that are proportional to sizes, in groups: SVG that can be saved.
import { PART_COLORS, widthOf } from "./charts";
import { el } from "./element";
import { cut } from "./flame";
import { color, saveButtons, svg } from "./picture";

export interface Tile { name: string; title: string; weight: number; filled: number } // filled: the part of it that is in use
export interface Group { name: string; title: string; weight: number; tiles: Tile[] } // the tiles may weigh less

interface Box { x: number; y: number; width: number; height: number }

const HEIGHT = 240, HEAD = 15, GAP = 2;

// Divides the box among weights, largest first, in rows whose tiles are as square as they can be.
function divide(weights: number[], box: Box): Box[] {
	const out: Box[] = [], scale = box.width * box.height / (weights.reduce((x, y) => x + y, 0) || 1);
	let { x, y, width, height } = box;
	for (let i = 0; i < weights.length;) {
		const side = Math.max(Math.min(width, height), 1e-6), across = width >= height;
		let n = 0, sum = 0, worst = Infinity;
		for (; i + n < weights.length; n++) {
			const more = sum + weights[i + n] * scale, thick = more / side;
			const flat = Math.max(weights[i] * scale / thick / thick, thick * thick / (weights[i + n] * scale));
			if (flat > worst)
				break;
			worst = flat;
			sum = more;
		}
		const thick = sum / side;
		for (let at = 0; n; n--, i++) {
			const length = weights[i] * scale / thick;
			out.push(across ? { x, y: y + at, width: thick, height: length } : { x: x + at, y, width: length, height: thick });
			at += length;
		}
		if (across) {
			x += thick;
			width -= thick;
		} else {
			y += thick;
			height -= thick;
		}
	}
	return out;
}

const rect = (b: Box, more: { [name: string]: string | number }): SVGRectElement =>
	svg("rect", { x: b.x, y: b.y, width: Math.max(0, b.width), height: Math.max(0, b.height), ...more });

function picture(groups: Group[], said: string): SVGSVGElement {
	const width = widthOf(), root = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": said });
	const g = document.createElement("canvas").getContext("2d")!, ink = color("--ink");
	g.font = "11px system-ui, sans-serif";
	const label = (b: Box, text: string, fill: string) => b.width > 30 && b.height > 12 &&
		root.append(svg("text", { x: b.x + 3, y: b.y + 11, fill, "font-size": 11, "font-family": "system-ui, sans-serif", "pointer-events": "none" }, cut(g, text, b.width - 6)));
	const shown = groups.filter(x => x.weight > 0).sort((a, b) => b.weight - a.weight);
	divide(shown.map(x => x.weight), { x: 0, y: 0, width, height: HEIGHT }).forEach((b, i) => {
		const group = shown[i], inside = { x: b.x + GAP, y: b.y + HEAD, width: b.width - 2 * GAP, height: b.height - HEAD - GAP }, named = b.width > 30 && b.height > HEAD + 8;
		root.append(rect(b, { fill: color("--bg"), stroke: color("--card") }));
		root.lastElementChild!.append(svg("title", {}, group.title));
		if (named)
			label(b, group.name, ink);
		const tiles = group.tiles.filter(t => t.weight > 0), rest = group.weight - tiles.reduce((n, t) => n + t.weight, 0), fill = color(PART_COLORS[i] ?? "--others");
		divide([...tiles.map(t => t.weight), ...(rest > 0 ? [rest] : [])], named ? inside : b).forEach((box, k) => {
			const tile = tiles[k], used = tile ? box.height * tile.filled : 0;
			if (!tile || box.width < 0.5 || box.height < 0.5)
				return;
			root.append(svg("g", {}, svg("title", {}, tile.title), rect(box, { fill, "fill-opacity": 0.35, stroke: color("--card"), "stroke-width": 0.5 }),
				rect({ ...box, y: box.y + box.height - used, height: used }, { fill })));
			label(box, tile.name, used > box.height - 12 ? color("--flame-ink") : ink);
		});
	});
	return root;
}

export const treemap = (groups: Group[], said: string, name: string): HTMLElement => el("div", { class: "chart treemap" }, picture(groups, said),
	el("p", { class: "saves" }, ...saveButtons(() => picture(groups, said), name)));
