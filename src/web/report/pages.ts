// SPDX-License-Identifier: LGPL-3.0-or-later
// pages.ts - the pages: each makes its elements from the state and the answer.
import { quote } from "./command";
import { bytes, count, duration, many, percent, were } from "../words";
import { sizeName } from "./bar";
import { callers } from "./callgraph";
import { barChart, PART_COLORS, partColor, partLegend, scatter } from "./charts";
import type { Bar } from "./charts";
import { compare } from "./compare";
import { grouping } from "./curves";
import type { Others } from "./compare";
import type { Marked } from "./live";
import type { Heap } from "./heap";
import type { Data } from "./data";
import { column, el, shareColumn, sortable } from "./element";
import { isEstimate, rangesBy } from "./estimate";
import type { Column } from "./element";
import { applyNames, ask, cellValues, eachCell, frameTree, fullTable, isFiltered, labelOf, leftTitle, measures, mergedLines, nameOf, owned, ownerNodes, ownMemory, placeOf, searchTest, shortFile, table, threadTest, threadTitle, topOwners } from "./model";
import type { Answer, Frame, FullRow, Measure, Row } from "./model";
import { jumps } from "./jumps";
import { globals, stacks } from "./outside";
import { resident } from "./resident";
import { sources } from "./sources";
import type { Texts } from "./sources";
import type { State } from "./state";
import { runPage, totalsRunPage } from "./run";
import * as totals from "./totals";

export interface View {
	d: Data;
	s: State;
	a: Answer;
	before: Answer | null; // of Compare, for an exact window: live memory at its start
	keys: Uint32Array; // functions
	lines: Uint32Array; // lines: their own number
	set(change: Partial<State>): void;
	flame(): HTMLElement; // the graph with its toolbar
	search: HTMLElement; // for pages without the graph
	texts: Texts; // of source files
	others: Others; // traces that are served beside this one
	heap: Heap;
	marked: Marked | null; // earlier figures to compare with
	mark: (() => void) | null; // marks those of now; null: the program has ended
	tip: HTMLElement; // beside the pointer
}

// Parts that have most, with the rest of them as the last one; how many there are depends on the colours.
export function topParts(weight: Map<number, number>, name: (part: number) => string): { names: string[]; index: Map<number, number>; rest: number } {
	const all = [...weight].filter(w => w[1] > 0).sort((x, y) => y[1] - x[1]), shown = all.slice(0, PART_COLORS.length);
	return { names: [...shown.map(p => name(p[0])), ...(all.length > shown.length ? ["others"] : [])], index: new Map(shown.map((p, i) => [p[0], i])), rest: shown.length };
}

export const textOf = (unit: string): (n: number) => string => unit == "bytes" ? bytes : unit == "ns" ? duration : count;

export const figure = (unit: string, n: number): string => textOf(unit)(n);

// The short location of a line, as a link to its source if that is known.
export const place = (v: View, line: number, text = placeOf(v.d, line)): Node => v.d.line.file[line]
	? el("button", { type: "button", class: "name", title: `Source: ${text}`, click: () => v.set({ page: "sources", chosen: line }) },
		shortFile(text))
	: el("span", {}, text);

export const owner = (v: View, line: number, text = nameOf(v.d, line)) => el("button", { type: "button", class: "name",
	title: "Its callers and callees", click: () => v.set({ page: "callers", chosen: line }) }, text);

// The function and the place of a row's line.
export const lineColumns = <R>(v: View, line: (r: R) => number, where = "Where"): Column<R>[] => [
	{ key: "name", title: "Function", text: r => nameOf(v.d, line(r)), node: r => owner(v, line(r)) },
	{ key: "place", title: where, text: r => placeOf(v.d, line(r)), node: r => place(v, line(r)) },
];

function rowColumns(v: View): Column<Row>[] {
	const ranges = rangesBy(v.d, v.s.measure, v.s.filter, v.s.byLine ? v.lines : v.keys, v.s.foldLibraries), unit = v.s.measure.unit, total = v.a.total || 1;
	const line = (r: Row) => r.only || r.line, where = (r: Row) => v.s.byLine || r.only ? placeOf(v.d, line(r)) : v.d.text[v.d.line.file[r.line]] || v.d.text[v.d.line.module[r.line]];
	return [
		column("own", "Own", textOf(unit), r => r.own, { share: r => r.own / total }),
		shareColumn("ownshare", r => r.own, () => total),
		...(ranges ? [{ key: "range", title: "95 % range", help: "95 % confidence interval of Own, which is an estimate from samples.",
			text: (r: Row) => ranges(r.key, r.own) }] : []),
		column("sum", "With callees", textOf(unit), r => r.sum),
		shareColumn("sumshare", r => r.sum, () => total),
		...(unit == "bytes" && !v.s.measure.value ? [column("blocks", "Blocks", count, (r: Row) => r.blocks)] : []),
		{ key: "name", title: "Function", text: r => nameOf(v.d, r.line), node: r => owner(v, r.line) },
		{ key: "place", title: v.s.byLine ? "Line" : "Where", text: where, node: r => place(v, line(r), where(r)) },
	];
}

// All figures, as MALT and DHAT list them; of the whole run, because cells do not have them.
function fullRows(v: View): HTMLElement {
	const { d, s } = v, wanted = searchTest(s.search);
	const rows = fullTable(d, s.filter, s.byLine ? v.lines : v.keys, s.foldLibraries).filter(r =>
		!wanted || wanted(nameOf(d, r.line)) || wanted(placeOf(d, r.line)));
	const of = (key: string, title: string, unit: string, value: (r: FullRow) => number): Column<FullRow> =>
		column(key, title, n => n < 0 ? "" : figure(unit, n), r => isFinite(value(r)) ? value(r) : -1, { unit: unit == "calls" ? undefined : unit });
	const own = (key: string, title: string, unit: string) => of(key, title, unit, r => r.own[key]);
	return sortable(rows, [
		...lineColumns<FullRow>(v, r => r.line, s.byLine ? "Line" : "Where"),
		own("calls", "Allocations", "calls"), own("total", "Allocated", "bytes"), own("peak", "At the peak", "bytes"), own("leaked", "Never freed", "bytes"),
		...(isEstimate(d) ? [] : [own("temporary", "Temporary", "calls"), own("waste", "Rounding", "bytes")]),
		...(d.head.totals ? [] : [own("rss", "At peak RSS", "bytes"), ...(d.own.resident ? [own("resident", "Resident", "bytes")] : [])]),
		of("sizeLeast", "Smallest size", "bytes", r => r.sizeLeast), of("sizeMean", "Mean size", "bytes", r => r.own.total / r.own.calls),
		of("sizeMost", "Largest size", "bytes", r => r.sizeMost), of("lifeLeast", "Shortest life", "ns", r => r.lifeLeast),
		of("lifeMean", "Mean life", "ns", r => r.own.freed ? r.own.lifetime / r.own.freed : NaN),
		of("lifeMost", "Longest life", "ns", r => isFinite(r.lifeLeast) ? r.lifeMost : NaN),
	], s.sort == "own" || s.sort == "sum" ? "calls" : s.sort, sort => v.set({ sort }), s.byLine ? "lines" : "functions");
}

// Further figures beside the chosen one, in tables and the call tree; of an exact window only that is known.
const alsoMeasures = (v: View): Measure[] => v.s.exact ? [] : measures.filter(m => v.s.also.includes(m.key) && m.key != v.s.measure.key);

function alsoColumns(v: View): Column<Row>[] {
	return alsoMeasures(v).map(m => {
		const a = owned(v.d, ask(v.d, { ...v.s, measure: m }), v.s.foldLibraries), rows = new Map(table(v.d, a, v.s.byLine ? v.lines : v.keys).map(r => [r.key, r]));
		return column("also-" + m.key, m.title, textOf(m.unit), (r: Row) => rows.get(r.key)?.own ?? 0, { help: m.help });
	});
}

const chooseAlso = (v: View): HTMLElement => el("details", { class: "also", open: v.s.also.length > 0 }, el("summary", {}, "Columns"),
	el("div", {}, ...measures.map(m => el("label", { title: m.help }, el("input", { type: "checkbox", checked: m == v.s.measure || v.s.also.includes(m.key),
		disabled: m == v.s.measure, change: (e: Event) => v.set({ also: measures.map(o => o.key).filter(key =>
			key == m.key ? (e.target as HTMLInputElement).checked : v.s.also.includes(key)) }) }), " " + m.title))));

const check = (v: View, label: string, key: "byLine" | "full" | "inverted"): HTMLElement => el("label", {}, el("input", { type: "checkbox", checked: v.s[key],
	change: (e: Event) => v.set({ [key]: (e.target as HTMLInputElement).checked }) }), " " + label);

export const everyFigure = (v: View): HTMLElement => check(v, "Every figure, of the whole run", "full");

function tables(v: View): HTMLElement {
	return el("section", {}, el("h2", {}, v.s.byLine ? "Lines" : "Functions"),
		el("div", { class: "bar2" }, v.search, check(v, "By line", "byLine"), everyFigure(v), !v.s.full && chooseAlso(v)),
		v.s.full ? fullRows(v) : functionRows(v));
}

// Functions or lines by the chosen figure.
export function functionRows(v: View, most = Infinity): HTMLElement {
	const wanted = searchTest(v.s.search), a = owned(v.d, v.a, v.s.foldLibraries);
	const rows = table(v.d, a, v.s.byLine ? v.lines : v.keys).filter(r =>
		(!v.s.foldLibraries || !v.d.line.library[r.line] || r.own > 0) &&
		(!wanted || wanted(nameOf(v.d, r.line)) || wanted(placeOf(v.d, r.line))));
	const also = alsoColumns(v);
	return sortable(most < rows.length ? rows.sort((x, y) => y.own - x.own).slice(0, most) : rows, [...rowColumns(v).slice(0, -2), ...also, ...rowColumns(v).slice(-2)], v.s.sort, sort => v.set({ sort }), "functions");
}

function treeRow(v: View, frames: Frame[], i: number, total: number): HTMLElement {
	const f = frames[i], kids = el("ul", { role: "group" }), item = el("li", { role: "treeitem" });
	const row = el("div", { class: "row" }, el("span", { class: "n" }, figure(v.s.measure.unit, f.sum)),
		el("span", { class: "n" }, percent(f.sum, total)), ...alsoMeasures(v).map((m, k) => el("span", { class: "n", title: m.title }, figure(m.unit, f.also?.[k] ?? 0))), el("b", {}, nameOf(v.d, f.line)), " ",
		el("small", {}, placeOf(v.d, f.line)));
	item.append(row);
	row.style.setProperty("--depth", String(f.depth));
	row.tabIndex = 0;
	if (!f.children)
		return item;
	item.setAttribute("aria-expanded", "false");
	const open = (on: boolean) => {
		item.setAttribute("aria-expanded", String(on));
		if (on && !kids.children.length)
			for (let k = f.child; k < f.child + f.children; k++)
				kids.append(treeRow(v, frames, k, total));
		kids.hidden = !on;
	};
	row.addEventListener("click", () => open(item.getAttribute("aria-expanded") == "false"));
	row.addEventListener("keydown", e => {
		if (e.key == "ArrowRight" || e.key == "ArrowLeft" || e.key == "Enter")
			open(e.key == "Enter" ? item.getAttribute("aria-expanded") == "false" : e.key == "ArrowRight");
		else if (e.key == "*")
			openAll(item);
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	});
	item.append(kids);
	kids.hidden = true;
	// The heaviest path is open while it is more than half of its caller.
	if (f.sum > 0.5 * total)
		open(true);
	return item;
}

const ALL = 2000; // rows that one key opens

// A row, and those below it, the rows near it first.
function openAll(item: Element): void {
	const list = [item];
	for (let i = 0; i < list.length && list.length < ALL; i++) {
		if (list[i].getAttribute("aria-expanded") == "false")
			list[i].querySelector<HTMLElement>(":scope > .row")!.click();
		list.push(...list[i].querySelectorAll(":scope > ul > li[aria-expanded]"));
	}
}

// Moves between visible rows.
function walkTree(e: KeyboardEvent): void {
	if (!/^(ArrowUp|ArrowDown|Home|End)$/.test(e.key))
		return;
	const rows = [...(e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>(".row")].filter(r => r.offsetParent);
	const at = rows.indexOf(document.activeElement as HTMLElement);
	rows[e.key == "Home" ? 0 : e.key == "End" ? rows.length - 1 : Math.max(0, Math.min(rows.length - 1, at + (e.key == "ArrowUp" ? -1 : 1)))]?.focus();
	e.preventDefault();
}

function tree(v: View): HTMLElement {
	const also = alsoMeasures(v), frames = frameTree(v.d, v.a, v.keys, { also: also.map(measure => ask(v.d, { ...v.s, measure })), inverted: v.s.inverted, foldLibraries: v.s.foldLibraries, least: Math.max(0.0005, v.s.share / 100),
		foldRecursion: v.s.foldRecursion, merged: mergedLines(v.d, v.s.merged) });
	const list = el("ul", { role: "tree", class: "tree", keydown: walkTree });
	for (let k = frames[0].child; k < frames[0].child + frames[0].children; k++)
		list.append(treeRow(v, frames, k, v.a.total || 1));
	return el("section", {}, el("h2", {}, v.s.inverted ? "Call tree, bottom-up" : "Call tree, top-down"),
		el("div", { class: "bar2" }, check(v, "Bottom-up", "inverted"), chooseAlso(v)),
		el("div", { class: "row titles" }, el("span", { class: "n" }, v.s.measure.title), el("span", { class: "n" }, "%"),
			...also.map(m => el("span", { class: "n" }, m.title))), list);
}

function histogram(rows: { from: number; count: number; bytes?: number }[], label: (n: number) => string, what: string): HTMLElement {
	const most = Math.max(1, ...rows.map(r => r.count));
	return sortable(rows, [
		column("from", what, label, r => r.from, { upward: true }),
		column("count", "Blocks", count, r => r.count, { share: r => r.count / most }),
		...(rows[0]?.bytes !== undefined ? [column("bytes", "Bytes", bytes, (r: any) => r.bytes)] : []),
	], "from", null, what.toLowerCase());
}

// Each row is a size; `all` are the blocks of all sizes.
const sizeColumns = (all: number): Column<any>[] => [
	column("size", "Size", count, c => c.size, { upward: true }),
	column("count", "Blocks", count, c => c.count, { share: c => c.count / (all || 1) }),
	column("bytes", "Bytes", bytes, c => c.bytes),
];

// Filters by one class of sizes or lifetimes.
const only = (v: View, change: Partial<State["filter"]>) => v.set({ filter: { ...v.s.filter, ...change } });

function sizes(v: View): HTMLElement {
	const r = v.d.head.report, f = v.s.filter, chosen = f.sizeFrom > 0 || f.sizeTo < 64;
	return el("section", {}, el("h2", {}, "Sizes"), sizesByFunction(v), sizesOverTime(v), heat(v),
		el("h3", {}, chosen ? `Functions that allocate blocks of ${sizeName(f.sizeFrom, f.sizeTo)}` : "Click a size above to see which functions allocate it"), functionRows(v, 20),
		el("h3", {}, "The whole run"), el("p", {}, `Rounding cost ${bytes(r.waste_bytes_at_peak)} at the peak.`),
		r.size_classes.length > 0 && exactSizes(v), el("div", { class: "two" }, el("div", {}, el("h3", {}, "Most frequent sizes"), sortable(r.size_classes as any[], [
			...sizeColumns(r.total_blocks), column("waste", "Rounding", bytes, c => c.waste_bytes),
		], "count", null, "sizes", 25)),
		el("div", {}, el("h3", {}, "Powers of two"), histogram(r.size_powers, bytes, "From"))));
}

// Blocks by size and function: in the window, of the blocks that pass the filters.
function sizesByFunction(v: View): HTMLElement {
	const { d, s } = v, m = s.measure.value ? measureOf("calls") : s.measure, value = cellValues(d, m), c = d.cell, q = { ...s, measure: m };
	if (d.head.coarse)
		return el("p", {}, "This trace has too many call stacks to divide sizes by function.");
	const group = grouping(d, "owner", v.keys), through = new Float64Array(d.head.nodes).fill(1), sum = new Map<number, Float64Array>(); // of each group, by size
	applyNames(d, s.filter, through, through);
	let low = 65, high = -1;
	eachCell(d, q, i => {
		if (!through[c.node[i]] || !value[i])
			return;
		const g = group.of(i), of = sum.get(g) ?? sum.set(g, new Float64Array(65)).get(g)!;
		of[c.size[i]] += value[i];
		low = Math.min(low, c.size[i]);
		high = Math.max(high, c.size[i]);
	});
	if (high < 0)
		return el("p", {}, "Nothing in this window passes the filters.");
	const by = new Map([...sum].map(([g, of]) => [g, of.reduce((x, y) => x + y)]));
	const { names, index, rest } = topParts(by, group.name), text = (n: number) => figure(m.unit, n);
	const bars = Array.from({ length: high - low + 1 }, (_, i): Bar => {
		const size = low + i, parts = names.map(() => 0);
		for (const g of by.keys())
			parts[index.get(g) ?? rest] += sum.get(g)![size];
		const all = parts.reduce((x, y) => x + y, 0);
		return { label: shortBytes(size ? 2 ** (size - 1) : 0), parts, click: () => only(v, { sizeFrom: size, sizeTo: size }),
			title: [`${sizeName(size, size)}: ${text(all)}`, ...names.map((n, k) => parts[k] ? `${n}: ${text(parts[k])}` : "").filter(t => t)].join("\n") };
	});
	const title = `${m.title}, by size and function`;
	return el("div", { class: "by-size" }, el("h3", {}, title), barChart({ name: "sizes", said: title, parts: names, bars, value: m.unit == "bytes" ? bytes : text, what: "Size from" }));
}

// For axes: "64", "4K".
const shortBytes = (n: number) => bytes(n).replace(/ bytes?/, "").replace(/\.0/, "").replace(/ ([KMGT])iB/, "$1");

// The most frequent sizes of the whole run, least first.
function exactSizes(v: View): HTMLElement {
	const all = (v.d.head.report.size_classes as { size: number; count: number; bytes: number }[]).slice()
		.sort((a, b) => b.count - a.count).slice(0, BARS).sort((a, b) => a.size - b.size);
	return el("div", { class: "exact-bars" }, barChart({ name: "frequent-sizes", said: "Allocations of the most frequent sizes", parts: ["Allocations"], value: count, what: "Size in bytes",
		bars: all.map(c => ({ label: String(c.size), parts: [c.count], title: `${count(c.size)} bytes: ${many(c.count, "allocation")}, ${bytes(c.bytes)}` })) }));
}

const BARS = 40;

const STEPS = 32; // of time

// Sizes against time: live bytes where they are highest, or allocations, of the blocks that pass the filters.
function sizesOverTime(v: View): HTMLElement {
	const { d, s } = v, c = d.cell, f = s.filter, live = s.measure.unit == "bytes", first = Math.max(0, s.from + 1), points = s.to - first + 1;
	if (d.head.coarse || points < 1)
		return el("p", {}, d.head.coarse ? "This trace has too many call stacks for maps of sizes." : "Nothing was allocated in this window.");
	// Steps have equal times, unlike the intervals between points.
	const begins = first ? d.point.ns[first - 1] : 0, lasts = d.point.ns[s.to] - begins || 1;
	const steps = Math.min(STEPS, points), stepOf = Int32Array.from(d.point.ns, ns => Math.min(steps - 1, Math.floor((ns - begins) * steps / lasts))), step = (p: number) => stepOf[p];
	const begin = new Array<number>(steps + 1).fill(s.to + 1), runs = threadTest(d, f), through = new Float64Array(d.head.nodes).fill(1);
	for (let p = s.to, k = steps; k-- > 0; begin[k] = p + 1)
		while (p >= first && step(p) >= k)
			p--;
	applyNames(d, f, through, through);
	// The point with most live bytes of each step, or the last one before it; a rate covers all points.
	const moment = Array.from({ length: steps }, (_, k) => {
		let top = begin[k] < begin[k + 1] ? begin[k] : begin[k] - 1;
		for (let p = top; p < begin[k + 1]; p++)
			if (d.point.live[p] > d.point.live[top])
				top = p;
		return top;
	});
	const reach = Int32Array.from({ length: d.points + 1 }, (_, p) => moment.filter(m => m < p).length); // the first step whose moment is at a point or later
	const n = new Float64Array(66 * STEPS), row = STEPS + 1, change = new Float64Array(66 * row); // live bytes, from one step to the next
	let most = 0, low = 65, high = 0;
	for (let i = 0; i < d.cells; i++) {
		if (!through[c.node[i]] || !runs(c.thread[i]))
			continue;
		if (c.birth[i] > s.to || (!live && c.birth[i] < first))
			continue;
		if (!live)
			n[c.size[i] * STEPS + step(c.birth[i])] += c.blocks[i];
		else if (reach[c.birth[i]] < reach[c.death[i]]) {
			change[c.size[i] * row + reach[c.birth[i]]] += c.bytes[i];
			change[c.size[i] * row + reach[c.death[i]]] -= c.bytes[i];
		}
	}
	for (let size = 0; size < 66; size++)
		for (let k = 0, sum = 0; k < steps; k++) {
			sum += change[size * row + k];
			n[size * STEPS + k] += sum;
			if (n[size * STEPS + k]) {
				most = Math.max(most, n[size * STEPS + k]);
				low = Math.min(low, size);
				high = Math.max(high, size);
			}
		}
	if (!most)
		return el("p", {}, "Nothing was live in this window.");
	const body = el("tbody");
	for (let size = high; size >= low; size--) {
		const row = el("tr", {}, el("th", { scope: "row" }, sizeButton(v, size)));
		for (let k = 0; k < steps; k++) {
			const value = n[size * STEPS + k], what = live ? bytes(value) : many(value, "allocation");
			const cell = el("td", { title: value ? `${duration(d.point.ns[moment[k]])}: ${what} of ${sizeName(size, size)}` : null, class: value ? "on" : null, click: () =>
				v.set({ from: Math.min(begin[k], moment[k]) - 1, to: Math.max(begin[k + 1] - 1, moment[k]), filter: { ...f, sizeFrom: size, sizeTo: size } }) });
			if (value)
				paint(cell, value, most, 10, 95);
			row.append(cell);
		}
		body.append(row);
	}
	const foot = el("tr", {}, el("th", {}, ""), el("td", { colspan: Math.ceil(steps / 2), class: "begin" }, begins ? duration(begins) : "0"),
		el("td", { colspan: Math.floor(steps / 2) || 1, class: "n" }, duration(d.point.ns[s.to])));
	return el("div", {}, el("h3", {}, live ? "Live bytes of each size over time" : "Allocations of each size over time"),
		el("div", { class: "scroll" }, el("table", { class: "heat time" }, body, el("tfoot", {}, foot))));
}

// Colours a cell of a table by its figure, from `least` percent of the colour to `full`.
function paint(cell: HTMLElement, n: number, most: number, least = 8, full = 80): void {
	cell.style.background = `color-mix(in srgb, var(--heat) ${Math.round(least + (full - least) * Math.log1p(n) / Math.log1p(most))}%, transparent)`;
}

const sizeButton = (v: View, size: number) => el("button", { type: "button", class: "name", title: `Only blocks of ${sizeName(size, size)}`,
	click: () => only(v, { sizeFrom: size, sizeTo: size }) }, bytes(size ? 2 ** (size - 1) : 0));

const LABELS = 16; // that fit beside each other

// Size against lifetime, of the window and the filters.
function heat(v: View): HTMLElement {
	const { d, s } = v, c = d.cell, n = new Float64Array(66 * 66), f = s.filter;
	const runs = threadTest(d, f), through = new Float64Array(d.head.nodes).fill(1);
	applyNames(d, f, through, through);
	let most = 0, sizeTop = 0, sizeLow = 64, lifeTop = 0, lifeLow = 64;
	for (let i = 0; i < d.cells; i++) {
		if (c.birth[i] <= s.from || c.birth[i] > s.to || !runs(c.thread[i]) || !through[c.node[i]])
			continue;
		const life = c.life[i] >= d.head.never_freed ? 65 : c.life[i], at = c.size[i] * 66 + life;
		n[at] += c.blocks[i];
		most = Math.max(most, n[at]);
		sizeTop = Math.max(sizeTop, c.size[i]);
		sizeLow = Math.min(sizeLow, c.size[i]);
		if (life < 65) {
			lifeTop = Math.max(lifeTop, life);
			lifeLow = Math.min(lifeLow, life);
		}
	}
	if (d.head.coarse || !most)
		return el("p", {}, d.head.coarse ? "This trace has too many call stacks for a map of sizes and lifetimes." : "No block was allocated in this window.");
	const lifeName = (l: number) => l == 65 ? "kept" : l ? duration(2 ** (l - 1)) : "0", head = el("tr", {}, el("th", {}, "size from"));
	const columns = [...Array.from({ length: Math.max(0, lifeTop - lifeLow + 1) }, (_, i) => lifeLow + i), 65];
	const each = Math.ceil(columns.length / LABELS); // columns that share a label
	for (let i = 0; i < columns.length; i += each)
		head.append(el("th", { scope: "colgroup", colspan: Math.min(each, columns.length - i) }, lifeName(columns[i])));
	const body = el("tbody");
	for (let size = sizeTop; size >= sizeLow; size--) {
		const row = el("tr", {}, el("th", { scope: "row" }, sizeButton(v, size)));
		for (const l of columns) {
			const k = n[size * 66 + l], cell = el("td", { title: `${many(k, "block")} of ${sizeName(size, size)}, ${l == 65 ? "kept" : `lifetime from ${lifeName(l)}`}`, class: k ? "on" : null, click: () =>
				only(v, { sizeFrom: size, sizeTo: size, lifeFrom: Math.min(l, 64), lifeTo: Math.min(l, 64) }) }, k ? short(k) : "");
			if (k)
				paint(cell, k, most);
			row.append(cell);
		}
		body.append(row);
	}
	return el("div", {}, el("h3", {}, "Sizes against lifetimes, in this window"),
		el("div", { class: "scroll" }, el("table", { class: "heat" }, el("thead", {}, head), body)));
}

const short = (n: number) => n < 1000 ? String(n) : n < 1e6 ? Math.round(n / 1000) + "k" : Math.round(n / 1e6) + "M";

function lifetimes(v: View): HTMLElement {
	const l = v.d.head.report.lifetimes;
	return el("section", {}, el("h2", {}, "Lifetimes"), el("p", {}, `${many(l.blocks, "block")} ${were(l.blocks)} freed: ${percent(l.under_1us, l.blocks)} within 1 us, ` +
		`${percent(l.under_1ms, l.blocks)} within 1 ms; ${percent(l.freed_by_other_thread, l.blocks)} by another thread. The longest lived ${duration(l.max_ns)}.`),
		histogram(l.histogram_ns, duration, "From"), heat(v));
}

function realloc(v: View): HTMLElement {
	const r = v.d.head.report.realloc, g = v.d.head.realloc, kinds = ["grew", "shrank", "same"], most = Math.max(1, ...g.rows.map(c => c.saved_copied_bytes));
	// The line of the program whose blocks grow.
	const owners = ownerNodes(v.d, true), grower = (node: number) => v.d.lineOf[owners[node]];
	return el("section", {}, el("h2", {}, "Realloc"),
		el("p", {}, g.chains ? `${many(g.chains, "block")} grew in ${many(g.steps, "step")}, which copied at most ${bytes(g.copied_bytes)}` +
			(g.copies ? `; ${count(g.copies)} of the steps ${were(g.copies)} a new block, a copy and a free, as std::vector grows.` : ".") : "No block grew step by step."),
		!!g.rows.length && sortable(g.rows, [
			column("saves", "Reserve saves", bytes, c => c.saved_copied_bytes, { help: "Bytes that need not be copied if the first request has the size under Reserve.", share: c => c.saved_copied_bytes / most }),
			column("calls", "Calls saved", count, c => c.saved_calls),
			column("reserve", "Reserve", bytes, c => c.reserve_bytes),
			...lineColumns<typeof g.rows[0]>(v, c => grower(c.node)),
			column("spare", "Unused", bytes, c => c.spare_bytes, { help: "Bytes that a block would then leave unused, on average." }),
			column("chains", "Blocks", count, c => c.chains),
			column("steps", "Steps", count, c => c.steps),
			column("first", "From", bytes, c => c.first_bytes, { help: "Smallest first size." }),
			column("largest", "To", bytes, c => c.largest_bytes, { help: "Largest last size." }),
			column("copied", "Copied", bytes, c => c.copied_bytes, { help: "At most: an allocator may move a block without copying it." }),
		], v.s.sort == "own" ? "saves" : v.s.sort, sort => v.set({ sort }), "growth", 25),
		g.left_out > 0 && el("p", {}, `${many(g.left_out, "more call stack")} ${g.left_out == 1 ? "saves" : "save"} less.`),
		el("h3", {}, "Calls of realloc"), el("p", {}, r.calls ? `${many(r.calls, "call")}; at most ${bytes(r.copied_bytes)} copied.` : "The program did not call realloc."),
		r.calls > 0 && sortable(["in_place", "moved"], [
			{ key: "what", title: "Block", text: k => k == "moved" ? "moved" : "in place" },
			...kinds.map(kind => column(kind, kind, count, (k: string) => r[k][kind])),
		], "what", null, "realloc"), resizeDots(r.sizes, r.sizes_left_out), resizePairs(r.pairs), exactResizes(r.sizes, r.sizes_left_out));
}

interface Resize { from: number; to: number; calls: number }

// Each pair of an old and a new size is a dot: above the line blocks grow, below it they shrink.
function resizeDots(sizes: Resize[], more: number): HTMLElement | null {
	return sizes.length ? el("div", { class: "resizes" }, el("h3", {}, "Old size against new size"), scatter(sizes.map(p => ({ x: p.from, y: p.to, weight: p.calls,
		title: `${many(p.calls, "call")} from ${many(p.from, "byte")} to ${many(p.to, "byte")}` })), shortBytes, "old size \u2192", "new size \u2192",
		"Old sizes against new sizes of realloc; the table below has the same figures", "realloc"),
		el("p", {}, "The size of a dot shows the number of its calls. Above the dashed line blocks grow, below it they shrink." + (more ? ` ${many(more, "call")} of other sizes have no dot.` : ""))) : null;
}

// Which sizes follow each other, and by how much blocks grow or shrink.
function exactResizes(sizes: Resize[], more: number): HTMLElement | null {
	if (!sizes.length)
		return null;
	const gaps = new Map<number, number>(), all = sizes.reduce((n, p) => n + p.calls, 0) + more;
	for (const p of sizes)
		gaps.set(p.to - p.from, (gaps.get(p.to - p.from) ?? 0) + p.calls);
	const by = (n: number) => (n > 0 ? "+" : n < 0 ? "\u2212" : "") + count(Math.abs(n)), calls = <R extends { calls: number }>(): Column<R> =>
		column("calls", "Calls", count, r => r.calls, { share: r => r.calls / all });
	return el("div", { class: "two exact-sizes" }, el("div", {}, el("h3", {}, "Most frequent sizes, in bytes"), sortable(sizes, [calls<Resize>(),
		column("from", "From", count, p => p.from), column("to", "To", count, p => p.to),
	], "calls", null, "realloc-sizes", 20)), el("div", {}, el("h3", {}, "Most frequent differences, in bytes"),
		sortable([...gaps].map(([gap, n]) => ({ gap, calls: n })), [calls<{ gap: number; calls: number }>(),
			column("gap", "Difference", by, g => g.gap)], "calls", null, "realloc-differences", 20),
		more > 0 && el("p", {}, `${many(more, "call")} of other sizes.`)));
}

// Old sizes are rows, new ones columns: below the diagonal blocks shrink, above it they grow.
function resizePairs(pairs: { from: number; to: number; calls: number }[]): HTMLElement | null {
	if (!pairs.length)
		return null;
	const sizes = [...new Set(pairs.flatMap(p => [p.from, p.to]))].sort((a, b) => a - b), most = Math.max(...pairs.map(p => p.calls));
	const at = new Map(pairs.map(p => [p.from + ">" + p.to, p.calls])), body = el("tbody");
	for (const from of sizes) {
		const row = el("tr", {}, el("th", { scope: "row" }, bytes(from)));
		for (const to of sizes) {
			const n = at.get(from + ">" + to) ?? 0, cell = el("td", { title: n ? `${many(n, "call")} from ${bytes(from)} or more to ${bytes(to)} or more` : null }, n ? short(n) : "");
			if (n)
				paint(cell, n, most);
			row.append(cell);
		}
		body.append(row);
	}
	return el("div", { class: "pairs" }, el("h3", {}, "Old and new sizes"), el("div", { class: "scroll" }, el("table", { class: "heat" }, el("thead", {},
		el("tr", {}, el("th", {}, "from \u2193, to \u2192"), ...sizes.map(to => el("th", { scope: "col" }, bytes(to))))), body)));
}

// Blocks that libraries keep on purpose, which are not leaks.
export function suppressed(v: View): HTMLElement {
	const list = v.d.head.suppressed;
	return el("div", {}, el("h3", {}, "Suppressed"), list.length ? sortable(list, [
		column("bytes", "Bytes", bytes, s => s.bytes),
		column("blocks", "Blocks", count, s => s.blocks),
		{ key: "why", title: "Why", text: s => s.why || "suppressed by a file" },
		{ key: "pattern", title: "Pattern", text: s => s.pattern },
	], "bytes", null, "suppressed") : el("p", {}, "Nothing was suppressed."),
		el("p", {}, "To leave out more: ", el("code", {}, `mprof report leaks --suppressions FILE ${quote(v.d.head.trace)}`)));
}

// On a page about one figure, whose graph shows another one that was chosen: its name.
export function flameTitle(v: View, key: string): HTMLElement | false {
	return v.s.measure.key != key && el("h3", {}, v.s.measure.title);
}

// What became of the blocks that are left: a program that was killed, or still runs, might have freed them.
export const left = (d: Data, blocks: number): string => `${were(blocks)} ${leftTitle(d).toLowerCase()}`;

function leaks(v: View): HTMLElement {
	const n = v.d.head.report.never_freed, kept = v.d.head.suppressed.reduce((sum, s) => sum + s.bytes, 0);
	return el("section", {}, el("h2", {}, "Never freed"), el("p", {}, `${many(n.blocks, "block")}, ${bytes(n.bytes)}, ${left(v.d, n.blocks)}` +
		(kept ? `; libraries keep ${bytes(kept)} of them on purpose.` : ".")), flameTitle(v, "leaked"), v.flame(), el("h3", {}, `${v.s.measure.title}, by function`), functionRows(v, 20),
		el("h3", {}, "Sizes of the blocks that were never freed"), sortable(n.size_classes as any[], sizeColumns(n.blocks), "bytes", null, "never-freed", 25), suppressed(v));
}

// A bar in proportion to the thread's figure, divided as in the legend.
function threadBar(parts: number[], names: string[], most: number, text: (n: number) => string): HTMLElement {
	const bar = el("div", { class: "calls" }), sum = parts.reduce((x, y) => x + y, 0);
	bar.style.width = 100 * sum / (most || 1) + "%";
	names.forEach((name, i) => {
		if (!parts[i])
			return;
		const part = el("i", { title: `${name}: ${text(parts[i])}` });
		part.style.flexGrow = String(parts[i]);
		part.style.background = partColor(i);
		bar.append(part);
	});
	return bar;
}

interface ThreadParts { thread: number; parts: number[]; sum: number }

function threadBars(d: Data, title: string, names: string[], list: ThreadParts[], text: (n: number) => string, name: string): HTMLElement {
	const most = Math.max(...list.map(t => t.sum));
	return el("div", { class: "callbars" }, el("h3", {}, title), partLegend(names.map((n, i) => `${n} ${text(list.reduce((x, t) => x + t.parts[i], 0))}`)), sortable(list, [
		column("thread", "Thread", n => n ? threadTitle(d, n) : "-", t => t.thread, { upward: true }),
		column("sum", "All", text, t => t.sum),
		{ key: "bar", title: "By function", text: t => names.map((n, i) => t.parts[i] ? `${n} ${text(t.parts[i])}` : "").filter(x => x).join(", "), node: t => threadBar(t.parts, names, most, text) },
	], "sum", null, name));
}

// Calls by allocation function, in the whole run.
function callBars(v: View, list: any[]): HTMLElement {
	const sums = new Map<string, number>();
	for (const t of list)
		for (const [name, n] of Object.entries(t.calls as { [name: string]: number }))
			if (n)
				sums.set(name, (sums.get(name) ?? 0) + n);
	const names = [...sums].sort((a, b) => b[1] - a[1]).map(n => n[0]);
	return threadBars(v.d, "Calls of the allocation interface, in the whole run", names, list.map(t => ({ thread: t.thread, sum: t.events, parts: names.map(n => t.calls[n]) })), n => many(n, "call"), "calls");
}

// Time in the allocator, estimated from calls that were timed.
function timeBars(v: View, list: any[]): HTMLElement | null {
	const all = v.d.head.report.allocator_time;
	if (!all)
		return null;
	const of = [...all.functions].sort((a: any, b: any) => b.ns - a.ns), names = of.map((f: any) => f.function as string);
	const about = `About ${duration(all.ns)} \u00b1 ${duration(all.error_ns)}` + (all.cpu_ns ? `, ${percent(all.ns, all.cpu_ns)} of the CPU time with recording (${duration(all.cpu_ns)})` : "") +
		`, estimated from ${many(all.timed_calls, "timed call")}. A call: ${of.map((f: any) => `${f.function} ${duration(f.call_ns)}`).join(", ")}.`;
	return el("div", { class: "times" }, threadBars(v.d, "Time in the allocator, in the whole run", names, list.map(t => {
		const parts = names.map(n => t.allocator_ns[n] ?? 0);
		return { thread: t.thread, parts, sum: parts.reduce((x, y) => x + y, 0) };
	}), duration, "allocator-time"), el("p", {}, about));
}

// The chosen figure by function of the program, in the window, of the blocks that pass the filters.
function ownerBars(v: View): HTMLElement {
	const { d, s } = v, m = s.measure.value ? measureOf("calls") : s.measure, value = cellValues(d, m), c = d.cell, title = `${m.title}, by thread and function`;
	if (d.head.coarse)
		return el("p", {}, "This trace has too many call stacks to divide what threads allocate by function.");
	const group = grouping(d, "owner", v.keys), through = new Float64Array(d.head.nodes).fill(1), by = new Map<number, number>(), threads = new Map<number, Map<number, number>>();
	applyNames(d, s.filter, through, through);
	eachCell(d, { ...s, measure: m }, i => {
		if (!through[c.node[i]] || !value[i])
			return;
		const g = group.of(i), of = threads.get(c.thread[i]) ?? threads.set(c.thread[i], new Map()).get(c.thread[i])!;
		by.set(g, (by.get(g) ?? 0) + value[i]);
		of.set(g, (of.get(g) ?? 0) + value[i]);
	});
	if (!threads.size)
		return el("p", {}, "Nothing in this window passes the filters.");
	const { names, index, rest } = topParts(by, group.name);
	return el("div", { class: "by-thread" }, threadBars(d, title, names, [...threads].map(([thread, of]) => {
		const parts = names.map(() => 0);
		for (const [g, n] of of)
			parts[index.get(g) ?? rest] += n;
		return { thread, parts, sum: parts.reduce((x, y) => x + y, 0) };
	}), n => figure(m.unit, n), "threads-by-function"));
}

function threads(v: View): HTMLElement {
	const list = v.d.head.report.threads as any[] | undefined;
	if (!list)
		return el("section", {}, el("h2", {}, "Threads"), el("p", {}, "There are too many to list here: see mprof report --json."));
	return el("section", {}, el("h2", {}, "Threads"), ownerBars(v), el("h3", {}, "The whole run"), sortable(list, [
		column("thread", "Thread", n => threadTitle(v.d, n), t => t.thread, { upward: true,
			node: t => el("button", { type: "button", class: "name", title: "Show only what it allocated",
				click: () => v.set({ page: "flame", filter: { ...v.s.filter, thread: t.thread } }) }, threadTitle(v.d, t.thread)) }),
		column("process", "Process", count, t => t.process, { upward: true }),
		column("events", "Calls", count, t => t.events),
		column("bytes", "Allocated", bytes, t => t.total_bytes),
		column("free", "Frees", count, t => t.calls.free),
		column("first", "First call", duration, t => t.first_ns, { upward: true }),
		column("last", "Last call", duration, t => t.last_ns),
	], v.s.sort == "own" ? "bytes" : v.s.sort, sort => v.set({ sort }), "threads"),
		callBars(v, list), timeBars(v, list), matrix(v),
		!!v.d.head.cross_frees?.blocks && el("p", {}, el("code", {}, `mprof report threads ${quote(v.d.head.trace)}`), " names the functions whose blocks other threads free."));
}

const MATRIX = 16; // threads

// Blocks freed by other threads: producers are rows, consumers columns.
function matrix(v: View): HTMLElement {
	const h = v.d.head.cross_frees;
	if (!h?.blocks)
		return el("p", {}, "Every freed block was freed by the thread that allocated it.");
	const weight = new Map<number, number>(), at = new Map<string, [number, number]>();
	for (const [from, to, blocks, size] of h.pairs) {
		at.set(from + ">" + to, [blocks, size]);
		for (const thread of [from, to])
			weight.set(thread, (weight.get(thread) ?? 0) + size);
	}
	const shown = [...weight].sort((a, b) => b[1] - a[1]).slice(0, MATRIX).map(w => w[0]).sort((a, b) => a - b);
	const most = Math.max(1, ...h.pairs.map(p => p[3])), head = el("tr", {}, el("th", {}, "allocated by \u2193, freed by \u2192"));
	for (const to of shown)
		head.append(el("th", { scope: "col" }, threadTitle(v.d, to)));
	const body = el("tbody");
	let inside = 0;
	for (const from of shown) {
		const row = el("tr", {}, el("th", { scope: "row" }, threadTitle(v.d, from)));
		for (const to of shown) {
			const [blocks, size] = at.get(from + ">" + to) ?? [0, 0];
			const cell = el("td", { title: blocks ? `thread ${threadTitle(v.d, to)} freed ${many(blocks, "block")}, ${bytes(size)}, of thread ${threadTitle(v.d, from)}` : "" },
				blocks ? bytes(size) : "");
			inside += blocks;
			if (blocks)
				paint(cell, size, most);
			row.append(cell);
		}
		body.append(row);
	}
	return el("div", { class: "matrix" }, el("h3", {}, "Blocks freed by other threads"),
		el("p", {}, `${many(h.blocks, "block")}, ${bytes(h.bytes)}, ${were(h.blocks)} freed by a thread other than the one that allocated them` +
			(inside < h.blocks ? `; ${count(h.blocks - inside)} of them by threads that are not shown.` : ".")),
		el("div", { class: "scroll" }, el("table", { class: "heat" }, el("thead", {}, head), body)));
}

function indented(text: string, depth: number): HTMLElement {
	const e = el("span", { class: "indented" }, text);
	e.style.paddingLeft = Math.min(depth, 12) + "em";
	return e;
}

// All processes, even those without allocations, each below its parent.
export function processTree(v: View): any[] {
	const list = v.d.head.report.processes as any[], of = new Map<number, any[]>(), known = new Set(list.map(p => p.process)), rows: any[] = [];
	for (const p of list) {
		const parent = known.has(p.parent) && p.parent != p.process ? p.parent : 0;
		of.set(parent, [...of.get(parent) ?? [], p]);
	}
	const add = (parent: number, depth: number) => of.get(parent)?.forEach(p => {
		rows.push({ ...p, depth });
		add(p.process, depth + 1);
	});
	add(0, 0);
	return rows;
}

export const processColumns = (): Column<any>[] => [
	column("process", "No.", count, p => p.process, { upward: true }),
	column("pid", "Pid", String, p => p.pid, { upward: true }),
	column("parent", "Parent", n => n ? String(n) : "", p => p.parent, { upward: true }),
	{ key: "command", title: "Command", text: p => p.command ?? "", node: p => indented(p.command ?? "", p.depth) },
	{ key: "end", title: "End", text: p => p.end == "killed" ? `signal ${p.signal}` : p.end == "exited" ? `status ${p.status}` : p.end ?? "" },
];

export const processRss = (): Column<any> => column("rss", "Peak RSS", n => n ? bytes(n) : "", p => p.peak_rss_bytes ?? 0);

function processes(v: View): HTMLElement {
	return el("section", {}, el("h2", {}, "Processes"), sortable(processTree(v), [
		...processColumns(),
		column("events", "Calls", count, p => p.events),
		column("peak", "Peak", bytes, p => p.peak_bytes),
		column("left", "Never freed", bytes, p => p.live_bytes),
		processRss(),
	], v.s.sort == "own" ? "" : v.s.sort, sort => v.set({ sort }), "processes"));
}

function flamePage(v: View): HTMLElement {
	return el("section", {}, el("h2", {}, v.s.measure.title, el("small", {}, " ", v.s.measure.help)), v.flame());
}

// The figure of each kind of finding about a function, and the page of the others.
const FIGURES: { [finding: string]: string } = { peak: "peak", leak: "leaked", hot: "calls", total: "total", temporary: "temporary", waste: "waste" };
const PAGES: { [finding: string]: string } = { realloc: "realloc", threads: "threads", outside: "resident", retained: "resident", "stack-full": "stacks", stacks: "stacks", unjoined: "stacks", variables: "globals", time: "threads" };

function evidence(v: View, f: { finding: string; function?: string; line?: number | null }): Partial<State> | null {
	if (PAGES[f.finding])
		return { page: PAGES[f.finding] };
	const chosen = v.d.line.line.findIndex((n, i) => i > 0 && n == (f.line ?? 0) && nameOf(v.d, i) == f.function);
	return chosen > 0 ? { page: "callers", chosen, measure: measureOf(FIGURES[f.finding]) } : null;
}

// Findings are in the page already; this adds links to their evidence.
function overview(v: View): HTMLElement {
	const findings = document.getElementById("findings")!.cloneNode(true) as HTMLElement, list = v.d.head.report.findings as any[];
	findings.id = "";
	for (const item of findings.querySelectorAll("li")) {
		const f = list?.find(f => item.textContent!.startsWith(f.text.slice(0, 60))), change = f && evidence(v, f);
		if (!change)
			continue;
		const button = el("button", { type: "button", class: "show", title: f.function ? `What the report says about ${f.function}` : null, click: () => v.set(change) }, "Show"), command = item.querySelector("br");
		command ? command.before(button) : item.append(button);
	}
	if (v.d.head.totals)
		showFirst(v, findings);
	const glossary = findings.querySelector("#glossary");
	glossary?.removeAttribute("id");
	findings.className = "findings";
	return el("div", {}, v.d.head.totals ? totals.numbers(v) : numbers(v), el("div", { class: "overview" }, findings, el("div", {}, el("section", {}, el("h2", {}, v.s.measure.title), v.flame()), tops(v))));
}

// Other findings of a profile name the first function of a figure.
function showFirst(v: View, findings: HTMLElement): void {
	for (const code of findings.querySelectorAll("li code")) {
		const measure = totals.measureOfView(/^mprof report (?:--totals )?(\w+)/.exec(code.textContent!)?.[1] ?? "");
		const rows = measure ? table(v.d, owned(v.d, ask(v.d, { ...v.s, measure }), true), v.keys).filter(r => r.own > 0) : [];
		if (measure && rows.length && !code.closest("li")!.querySelector(".show"))
			code.after(" ", el("button", { type: "button", class: "show", click: () => v.set({ page: "callers", measure,
				chosen: rows.reduce((x, r) => r.own > x.own ? r : x).line }) }, "Show"));
	}
}

// Figures of the window, except what was never freed.
function numbers(v: View): HTMLElement {
	const { d, s } = v, p = d.point, before = (column: string) => s.from < 0 ? 0 : p[column][s.from], since = (column: string) => p[column][s.to] - before(column);
	let peak = 0, rss = 0;
	for (let i = Math.max(0, s.from); i <= s.to; i++) {
		peak = Math.max(peak, p.live[i]);
		rss = Math.max(rss, p.rss[i]);
	}
	const { kept_from_ns, kept_until_ns } = d.head.report; // the trace has only the calls in between
	const took = (Math.min(p.ns[s.to], kept_until_ns || Infinity) - Math.max(s.from < 0 ? 0 : p.ns[s.from], kept_from_ns)) / 1e9, rate = took > 0 ? 1 / took : 1e9, list: [string, string, string, Partial<State> | null][] = [
		["Peak", bytes(peak), "Most requested bytes that were live in the heap", { measure: measureOf("peak") }],
		[leftTitle(d), bytes(d.own.leaked.reduce((x, n) => x + n, 0)), "Of the whole run, without what libraries keep on purpose", { page: "leaks", measure: measureOf("leaked") }],
		["Allocated", bytes(since("bytes")), "Requested bytes of all allocations", { measure: measureOf("total") }],
		["Recycled", peak ? (since("bytes") / peak).toFixed(1) + " times" : "-", "Allocated bytes for each byte of the peak: how often memory was used again", { page: "lifetimes" }],
		["Allocations", count(since("calls")), "Calls that allocated a block", { measure: measureOf("calls") }],
		["Allocations/s", count(since("calls") * rate), "Allocations per second, on average", { curve: "calls" }],
		["Bytes/s", bytes(since("bytes") * rate), "Requested bytes per second, on average", { curve: "bytes" }],
		["Temporary", percent(since("temporary"), since("calls")), "Allocations that the same thread freed with its next call", { measure: measureOf("temporary") }],
		["Mean size", bytes(since("bytes") / (since("calls") || 1)), "Requested bytes of an allocation", { page: "sizes" }],
		...(rss ? [["Resident (RSS)", bytes(rss), ["Most resident memory of all processes, with stacks, code and files, by samples", ownMemory(d, s.from, s.to)].filter(t => t).join("; "), { page: "resident" }] as [string, string, string, Partial<State>]] : []),
	];
	const leaks = (d.head.report.findings as any[] | undefined)?.some(f => f.finding == "leak");
	return el("section", { class: "numbers" }, ...list.map(([name, value, help, change]) =>
		el("button", { type: "button", title: help, class: leaks && /^(Never|Live)/.test(name) ? "bad" : null, click: () => v.set(change!) }, el("small", {}, name), el("b", {}, value))),
		isFiltered(s.filter) && el("small", {}, "These are figures of all blocks: filters do not change them."));
}

const TOP = 5;

// The first functions of four lists, for the window and the filters.
function tops(v: View): HTMLElement {
	return el("div", { class: "tops" }, ...["peak", "leaked", "calls", "temporary"].filter(key => measures.some(m => m.key == key)).map(key => {
		const measure = measureOf(key), a = measure == v.s.measure && !v.s.exact ? v.a : ask(v.d, { ...v.s, measure });
		const rows = topOwners(v.d, a, v.keys, TOP);
		return el("section", { class: "top" }, el("h2", {}, el("button", { type: "button", class: "name", click: () => v.set({ page: "tables", measure }) }, measure.title)),
			rows.length ? el("table", {}, el("tbody", {}, ...rows.map(r => el("tr", {}, el("td", { class: "n" }, figure(measure.unit, r.own)),
				el("td", { class: "n" }, percent(r.own, a.total)), el("td", {}, owner(v, r.line, labelOf(v.d, r.line))))))) : el("p", {}, key == "leaked" && v.d.head.suppressed.length ? "Nothing but what libraries keep on purpose." : "Nothing."));
	}));
}

const measureOf = (key: string) => measures.find(m => m.key == key) ?? measures[0];

const AS_SLIDERS = "This page follows the sliders, not the exact window.";

export const pages: { key: string; title: string; group: string; make(v: View): HTMLElement; whole?: boolean;
	follows?: string; // what follows the window on a page of the whole run
	sliders?: string; // note for an exact window: what follows the sliders
	measure?: string; // that the page begins with
	totals?(v: View): HTMLElement /* of a profile */ }[] = [
	{ key: "overview", title: "Overview", group: "", sliders: "Figures and lists of functions on this page follow the sliders; the flame graph is of the exact window.", make: overview },
	{ key: "flame", title: "Flame graph", group: "Code", make: flamePage },
	{ key: "tables", title: "Functions", group: "Code", make: tables },
	{ key: "tree", title: "Call tree", group: "Code", make: tree },
	{ key: "callers", title: "Call graph", group: "Code", make: callers },
	{ key: "sources", title: "Sources", group: "Code", make: sources },
	{ key: "compare", title: "Compare", group: "Code", make: compare },
	{ key: "jumps", title: "Jumps", group: "Memory", make: jumps, whole: true, totals: totals.needsCalls("Jumps", "when memory jumped, and by which calls, is") },
	{ key: "resident", title: "Resident memory", group: "Memory", make: resident, whole: true,
		totals: totals.needsCalls("Resident memory", "the use of resident pages is") },
	{ key: "stacks", title: "Thread stacks", group: "Memory", make: stacks, whole: true, follows: "the depth over time" },
	{ key: "globals", title: "Global variables", group: "Memory", make: globals, whole: true },
	{ key: "leaks", title: "Never freed", group: "Blocks", make: leaks, measure: "leaked", totals: totals.leaks },
	{ key: "sizes", title: "Sizes", group: "Blocks", sliders: "Charts and maps on this page follow the sliders; the functions are those of the exact window.", make: sizes, totals: totals.sizes },
	{ key: "lifetimes", title: "Lifetimes", group: "Blocks", sliders: AS_SLIDERS, make: lifetimes, totals: totals.lifetimes },
	{ key: "realloc", title: "Realloc", group: "Blocks", make: realloc, whole: true, totals: totals.realloc },
	{ key: "threads", title: "Threads", group: "Run", sliders: AS_SLIDERS, make: threads, totals: totals.threads },
	{ key: "processes", title: "Processes", group: "Run", make: processes, whole: true, totals: totals.processes },
	{ key: "heap", title: "Heap map", group: "Run", sliders: AS_SLIDERS, make: v => v.heap.page(v), totals: totals.needsCalls("Heap map", "the location of blocks is") },
	{ key: "run", title: "Run", group: "Run", make: runPage, whole: true, totals: totalsRunPage },
];
