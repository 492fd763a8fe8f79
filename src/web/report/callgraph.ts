// SPDX-License-Identifier: LGPL-3.0-or-later
// callgraph.ts - the page around one function: its callers on the left, what it calls on the right.
// A box at distance n counts stacks through it and the function, n calls apart, so the boxes of one
// column never count a block twice.
import { percent } from "../words";
import type { Data } from "./data";
import { column, el, shareColumn, sortable } from "./element";
import { cut } from "./flame";
import { functionColor, labelOf, nameOf, owned, EVENTS, PACKAGE, placeOf, table } from "./model";
import type { Answer } from "./model";
import { figure, place, textOf } from "./pages";
import type { View } from "./pages";
import { color, saveButtons, svg } from "./picture";

// ---- the figures ----

interface Box { key: number; line: number; level: number; sum: number; before: Map<Box, number> }

export interface Around {
	total: number; own: number;
	level: Map<number, Map<number, Box>>; // 0: the function itself; below: callers; above: what it calls
}

class Gather {
	readonly around: Around = { total: 0, own: 0, level: new Map() };
	private depth: Int32Array;
	private box: Box[] = [];
	constructor(private d: Data, private a: Answer, private keys: Uint32Array, private wanted: number, private levels: number) {
		this.depth = new Int32Array(d.head.nodes);
	}

	private at(level: number, line: number): Box {
		const boxes = this.around.level.get(level) ?? this.around.level.set(level, new Map()).get(level)!, key = this.keys[line];
		let box = boxes.get(key);
		if (!box)
			boxes.set(key, box = { key, line, level, sum: 0, before: new Map() });
		return box;
	}

	private link(left: Box, right: Box, n: number): void {
		right.before.set(left, (right.before.get(left) ?? 0) + n);
	}

	// A recursive function is one box.
	private outward(node: number, n: number, from: Box): void {
		const { d, keys } = this;
		for (let k = d.parent[node], level = -1, key = this.wanted, right = from; k && level >= -this.levels; k = d.parent[k]) {
			const line = d.lineOf[k];
			if (keys[line] == key)
				continue;
			const box = this.at(level--, line);
			key = keys[line];
			box.sum += n;
			this.link(box, right, n);
			right = box;
		}
	}

	private inward(node: number, from: Box): void {
		const { d, keys, a, depth, box } = this;
		depth[node] = 0;
		box[node] = from;
		this.around.own += a.own[node];
		for (let j = node + 1; j < d.end[node]; j++) {
			const up = d.parent[j], line = d.lineOf[j], same = keys[line] == keys[d.lineOf[up]];
			depth[j] = depth[up] + (same ? 0 : 1);
			box[j] = box[up];
			if (keys[line] == this.wanted)
				this.around.own += a.own[j];
			if (same || !a.sum[j] || depth[j] > this.levels)
				continue;
			box[j] = this.at(depth[j], line);
			box[j].sum += a.sum[j];
			this.link(box[up], box[j], a.sum[j]);
		}
	}

	run(): Around {
		const { d, keys, a, wanted } = this;
		for (let i = 1; i < d.head.nodes; ) {
			if (keys[d.lineOf[i]] != wanted || !a.sum[i]) {
				i++;
				continue;
			}
			const self = this.at(0, d.lineOf[i]);
			self.sum += a.sum[i];
			this.around.total += a.sum[i];
			this.outward(i, a.sum[i], self);
			this.inward(i, self);
			i = d.end[i]; // its callees are included
		}
		return this.around;
	}
}

export const around = (d: Data, a: Answer, keys: Uint32Array, wanted: number, levels: number): Around =>
	new Gather(d, a, keys, wanted, levels).run();

// ---- the picture ----

const ROW = 44, GAP = 12, WIDEST = 240, MOST = 14; // boxes of a column

interface Placed { box: Box; x: number; y: number; element: SVGGElement }

class Graph {
	readonly root = el("div", { class: "callgraph scroll" });
	picture = svg("svg");
	private placed = new Map<Box, Placed>();
	private columns: Placed[][] = [];

	constructor(private v: View, private around: Around) {
		let width = 0;
		new ResizeObserver(() => {
			if (this.root.clientWidth != width)
				this.draw(width = this.root.clientWidth);
		}).observe(this.root);
	}

	private draw(width: number): void {
		if (!width)
			return;
		const { v, around } = this, least = v.s.least / 100 * around.total, levels = [...around.level.keys()].sort((a, b) => a - b);
		const gap = width < 600 ? 26 : 52, dim = color("--dim");
		const wide = Math.max(96, Math.min(WIDEST, (width - gap * (levels.length - 1) - 4) / levels.length));
		const shown = levels.map(n => [...around.level.get(n)!.values()].filter(b => n == 0 || b.sum >= least)
			.sort((a, b) => b.sum - a.sum).slice(0, MOST));
		const rows = Math.max(...shown.map(s => s.length)), height = rows * (ROW + GAP) + 34;
		const full = levels.length * wide + gap * (levels.length - 1) + 4, g = el("canvas").getContext("2d")!;
		this.picture = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width: full, height, viewBox: `0 0 ${full} ${height}`,
			role: "group", "aria-label": "Call graph. Arrow keys move, Enter centres a function.",
			"font-family": "system-ui, sans-serif", "font-size": 12 });
		this.placed.clear();
		const lines = svg("g", { fill: "none", stroke: dim, "stroke-opacity": 0.55 });
		this.picture.append(lines);
		this.columns = shown.map((boxes, c) => {
			const x = 2 + c * (wide + gap), top = 24 + (rows - boxes.length) * (ROW + GAP) / 2;
			const title = levels[c] == 0 ? "" : levels[c] == -1 ? "called by" : levels[c] == 1 ? "calls" : "";
			this.picture.append(svg("text", { x, y: 14, fill: dim }, title));
			const rest = around.level.get(levels[c])!.size - boxes.length;
			if (rest)
				this.picture.append(svg("text", { x, y: top + boxes.length * (ROW + GAP) + 2, fill: dim, "font-size": 11 },
					`and ${rest} smaller ${rest == 1 ? "one" : "ones"}`));
			return boxes.map((box, r) => this.put(box, x, top + r * (ROW + GAP), wide, g));
		});
		for (const [box, p] of this.placed)
			for (const [left, n] of box.before) {
				const from = this.placed.get(left);
				if (from)
					lines.append(this.line(from.x + wide, from.y + ROW / 2, p.x, p.y + ROW / 2, n, left, box));
			}
		this.root.replaceChildren(this.picture);
		const middle = this.columns[levels.indexOf(0)]?.[0];
		this.root.scrollLeft = middle ? middle.x + wide / 2 - width / 2 : 0;
	}

	private line(x: number, y: number, toX: number, toY: number, n: number, from: Box, to: Box): SVGElement {
		const bend = (toX - x) / 2, unit = this.v.s.measure.unit;
		return svg("path", { d: `M${x} ${y}C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`,
			"stroke-width": (1 + 11 * n / (this.around.total || 1)).toFixed(1) },
			svg("title", {}, `${nameOf(this.v.d, from.line)} \u2192 ${nameOf(this.v.d, to.line)}: ${figure(unit, n)}`));
	}

	private put(box: Box, x: number, y: number, wide: number, g: CanvasRenderingContext2D): Placed {
		const { v } = this, { d } = v, self = box.level == 0, name = labelOf(d, box.line);
		g.font = `${self ? "600 " : ""}12px system-ui, sans-serif`;
		const says = `${figure(v.s.measure.unit, box.sum)}, ${percent(box.sum, this.around.total)}`;
		const element = svg("g", { tabindex: 0, role: self ? "img" : "button", "aria-label": `${name}, ${says}`, cursor: self ? null : "pointer" },
			svg("title", {}, `${name}\n${placeOf(d, box.line)}\n${says} of what passes through ${nameOf(d, v.s.chosen)}`),
			svg("rect", { x, y, width: wide, height: ROW, rx: 4, fill: functionColor(d, v.keys, box.line),
				stroke: color("--accent"), "stroke-width": self ? 2.5 : 0 }),
			svg("text", { x: x + 7, y: y + 18, fill: color("--flame-ink"), "font-weight": self ? 600 : null }, cut(g, name, wide - 16)),
			svg("text", { x: x + 7, y: y + 35, fill: color("--flame-ink"), "font-size": 11 }, says));
		const p = { box, x, y, element };
		if (!self)
			element.addEventListener("click", () => this.choose(box));
		element.addEventListener("keydown", e => this.key(e, p));
		this.placed.set(box, p);
		this.picture.append(element);
		return p;
	}

	private choose(box: Box): void {
		if (box.level == 0)
			return;
		this.v.set({ page: "callers", chosen: box.line });
		requestAnimationFrame(() => requestAnimationFrame(() => // drawn when its width is known
			document.querySelector<SVGGElement>(".callgraph g[role=img]")?.focus()));
	}

	private key(e: KeyboardEvent, p: Placed): void {
		const c = this.columns.findIndex(k => k.includes(p)), r = this.columns[c].indexOf(p);
		const strongest = (column: Placed[] | undefined, n: (q: Placed) => number) =>
			column?.reduce((best, q) => n(q) > n(best) ? q : best, column[0]);
		let to: Placed | undefined;
		if (e.key == "Enter" || e.key == " ") this.choose(p.box);
		else if (e.key == "ArrowUp") to = this.columns[c][r - 1];
		else if (e.key == "ArrowDown") to = this.columns[c][r + 1];
		else if (e.key == "ArrowLeft") to = strongest(this.columns[c - 1], q => p.box.before.get(q.box) ?? 0);
		else if (e.key == "ArrowRight") to = strongest(this.columns[c + 1], q => q.box.before.get(p.box) ?? 0);
		else return;
		e.preventDefault();
		e.stopPropagation();
		to?.element.focus();
	}
}

// ---- the page ----

// Any function of the program, by its name.
function chooser(v: View, a: Answer): HTMLElement {
	const { d } = v, rows = table(d, a, v.keys).filter(r => r.sum).sort((x, y) => y.sum - x.sum).slice(0, 1000);
	const byName = new Map(rows.reverse().map(r => [nameOf(d, r.line), r.line] as const));
	return el("label", {}, "Function ", el("input", { type: "text", list: "functions", size: 28, value: nameOf(d, v.s.chosen), autocomplete: "off",
		change: (e: Event) => {
			const line = byName.get((e.target as HTMLInputElement).value);
			if (line)
				v.set({ chosen: line });
		} }), el("datalist", { id: "functions" }, ...[...byName.keys()].reverse().map(n => el("option", { value: n }))));
}

const select = (label: string, title: string, options: [number, string][], value: number, change: (n: number) => void) =>
	el("label", { title }, label + " ", el("select", { change: (e: Event) => change(+(e.target as HTMLSelectElement).value) },
		...options.map(([n, text]) => el("option", { value: n, selected: n == value }, text))));

function neighbours(v: View, title: string, boxes: Map<number, Box> | undefined, total: number, own: number): HTMLElement {
	const { d, s } = v, unit = s.measure.unit;
	const rows = [...(boxes?.values() ?? [])].map(b => ({ name: nameOf(d, b.line), line: b.line, sum: b.sum }));
	if (own)
		rows.push({ name: "(itself)", line: 0, sum: own });
	return el("div", {}, el("h3", {}, title), sortable(rows, [
		column("n", s.measure.title, textOf(unit), r => r.sum, { share: r => r.sum / (total || 1) }),
		shareColumn("share", r => r.sum, () => total),
		{ key: "name", title: "Function", text: r => r.name, node: r => r.line ? el("button", { type: "button", class: "name",
			click: () => v.set({ chosen: r.line }) }, r.name) : el("span", {}, r.name) },
	], "n", null, title.toLowerCase()));
}

// A line of the function in the centre: the chosen one, or the one that allocates most; 0: nothing is allocated.
export const centre = (v: View): number => v.s.chosen ||
	table(v.d, owned(v.d, v.a, v.s.foldLibraries), v.keys).reduce((x, r) => r.own > x.own ? r : x, { own: 0, line: 0 }).line;

export function callers(v: View): HTMLElement {
	const { d, s } = v, a = owned(d, v.a, s.foldLibraries), line = centre(v), unit = s.measure.unit;
	if (!line)
		return el("section", {}, el("h2", {}, "Call graph"), el("p", {}, "No function allocated anything in this window that passes the filters."));
	v = { ...v, s: { ...s, chosen: line } };
	// A function of a hidden library can still be chosen, and one that only a wrapper calls; one of a package may be an owner.
	const has = (of: Float64Array) => of.some((n, i) => n > 0 && v.keys[d.lineOf[i]] == v.keys[line]), library = d.line.library[line];
	const figures = s.foldLibraries && !(library ? (library == PACKAGE || library == EVENTS) && has(a.own) : has(a.sum)) ? v.a : a;
	const all = around(d, figures, v.keys, v.keys[line], s.levels);
	const graph = new Graph(v, all);
	return el("section", {}, el("h2", {}, nameOf(d, line)), el("p", {}, place(v, line), " ", figure(unit, all.total), " with callees", s.measure.unit == "bytes" || unit == "calls" ? `, ${figure(unit, all.own)} of its own.` : "."),
		el("div", { class: "bar2" }, chooser(v, a),
			select("Calls away", "Number of calls shown to each side", [[1, "1"], [2, "2"], [3, "3"], [4, "4"], [64, "all"]], s.levels,
				n => v.set({ levels: n })),
			select("Leave out below", "Smaller boxes are left out, but counted", [[0, "nothing"], [1, "1 %"], [2, "2 %"], [5, "5 %"], [10, "10 %"]],
				s.least, n => v.set({ least: n })),
			...saveButtons(() => graph.picture, "callgraph")),
		all.total ? graph.root : el("p", { class: "note" }, "Nothing in this window that passes the filters was allocated through this function."),
		el("div", { class: "two" }, neighbours(v, "Called by", all.level.get(-1), all.total, 0),
			neighbours(v, "Calls", all.level.get(1), all.total, all.own)));
}
