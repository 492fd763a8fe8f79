// SPDX-License-Identifier: LGPL-3.0-or-later
// model.ts - the question that all pages answer: a window of time, filters, and a figure, which
// give one number for each node of the tree.
import { bytes } from "../words";
import type { Data } from "./data";

// What a figure counts in the window (from, to], and whether it comes from cells or the run's figures.
export interface Measure {
	key: string; // in the address and for keys 1 to 9
	title: string;
	help: string;
	unit: "bytes" | "calls" | "blocks" | "ns";
	view: string; // of mprof report, which shows the same
	sort: string; // and the figure's name there
	sorted?: boolean; // not the view's default
	value?: string; // of head.values: known for the whole run only
}

const ALL: Measure[] = [
	{ key: "peak", title: "Live at the peak", unit: "bytes", view: "peak", sort: "peak",
		help: "Requested bytes that were live at the peak of the window." },
	{ key: "end", title: "Live at the end", unit: "bytes", view: "peak", sort: "peak",
		help: "Requested bytes that are live at the end of the window, including those allocated before it." },
	{ key: "kept", title: "Allocated and kept", unit: "bytes", view: "peak", sort: "peak",
		help: "Requested bytes that were allocated in the window and still live at its end." },
	{ key: "total", title: "Allocated", unit: "bytes", view: "hot", sort: "total", sorted: true,
		help: "Requested bytes of all allocations in the window." },
	{ key: "calls", title: "Allocations", unit: "calls", view: "hot", sort: "calls",
		help: "Allocations in the window." },
	{ key: "leaked", title: "Never freed", unit: "bytes", view: "leaks", sort: "leaked", value: "leaked",
		help: "Requested bytes that were never freed, without blocks that libraries keep on purpose." },
	{ key: "unreachable", title: "Unreachable", unit: "bytes", view: "leaks", sort: "unreachable", sorted: true, value: "unreachable",
		help: "Of the bytes that were never freed, those that no pointer led to when their process ended (record --reach)." },
	{ key: "temporary", title: "Temporary", unit: "calls", view: "temporary", sort: "temporary",
		help: "Allocations that the same thread freed with its next call." },
	{ key: "waste", title: "Rounding", unit: "bytes", view: "waste", sort: "waste", value: "waste",
		help: "Usable bytes beyond the requested ones, of all allocations." },
	{ key: "rss", title: "Live at peak RSS", unit: "bytes", view: "peak-rss", sort: "rss", value: "rss",
		help: "Requested bytes that were live when the process was largest." },
	{ key: "resident", title: "Resident", unit: "bytes", view: "peak-rss", sort: "rss", value: "resident",
		help: "Bytes of the pages that were in memory in the sample with the largest resident size: each page is divided among the live blocks on it, so rounding and gaps are part of it." },
];

export let measures = ALL; // that the page has

// The figures of a profile, for its whole run.
const TOTALS: { [key: string]: Partial<Measure> & { value: string } } = {
	peak: { value: "peak", help: "Requested bytes that were live at the peak of the run." },
	end: { value: "live", view: "hot", sort: "live", sorted: true, help: "Requested bytes that were never freed, including those that libraries keep on purpose." },
	total: { value: "total", help: "Requested bytes of all allocations." },
	calls: { value: "calls", help: "Allocations." },
	leaked: { value: "leaked" },
	temporary: { value: "temporary" },
	waste: { value: "waste" },
};

const SAMPLES_LACK = ["temporary", "waste"];

// Call first.
export function chooseMeasures(d: Data): void {
	measures = ALL.filter(m => m.key == "unreachable" ? d.own.unreachable.some(n => n > 0) : m.key != "resident" || d.own.resident);
	if (d.head.totals)
		measures = measures.filter(m => TOTALS[m.key] && !(d.head.report.estimated && SAMPLES_LACK.includes(m.key))).map(m => ({ ...m, ...TOTALS[m.key] }));
	if (d.head.live)
		measures = measures.map(m => ({ ...m, title: NOW[m.key] ?? m.title }));
}

const NOW: { [key: string]: string } = { end: "Live now", leaked: "Not freed yet" }; // while the program runs

// The title of blocks that were not freed.
export const leftTitle = (d: Data): string => d.head.live ? "Live now" : d.head.left_open ? "Live at the end" : "Never freed";

export interface Filter {
	process: number; thread: number; // 0: all
	sizeFrom: number; sizeTo: number; // classes, inclusive
	lifeFrom: number; lifeTo: number; // classes; never freed counts as longest
	function: string; file: string; module: string; // patterns as of mprof report --function ..., "" all
	without: string; // excludes stacks with a matching function
}

export interface Question {
	measure: Measure;
	from: number; // point; -1: before the first one
	to: number; // point
	filter: Filter;
	foldLibraries: boolean;
}

export const wholeFilter = (): Filter =>
	({ process: 0, thread: 0, sizeFrom: 0, sizeTo: 64, lifeFrom: 0, lifeTo: 64, function: "", file: "", module: "", without: "" });

export const isWhole = (d: Data, q: Question): boolean =>
	q.from < 0 && q.to == d.points - 1 && q.filter.process == 0 && q.filter.thread == 0 && q.filter.sizeFrom == 0 && q.filter.sizeTo >= 64 &&
	q.filter.lifeFrom == 0 && q.filter.lifeTo >= 64;

const ofBlocks = (f: Filter): boolean => !!(f.process || f.thread || f.sizeFrom || f.sizeTo < 64 || f.lifeFrom || f.lifeTo < 64);

export const isFiltered = (f: Filter): boolean => ofBlocks(f) || !!(f.function || f.file || f.module || f.without);

// Filters of blocks that the cells of a coarse trace cannot answer.
export const lacking = (d: Data, q: Question): boolean => d.head.coarse && ofBlocks(q.filter);

export const withoutBlocks = (f: Filter): Filter => ({ ...f, process: 0, thread: 0, sizeFrom: 0, sizeTo: 64, lifeFrom: 0, lifeTo: 64 });

// The point of most live bytes in the window.
export function peakPoint(d: Data, from: number, to: number): number {
	let best = Math.max(from, 0);
	for (let p = best; p <= to; p++)
		if (d.point.live[p] > d.point.live[best])
			best = p;
	return best;
}

export interface Answer {
	own: Float64Array; // by node
	blocks: Float64Array; // the same in blocks, if from cells; else like own
	sum: Float64Array; // own and below
	total: number;
	most?: boolean; // combine nodes by the maximum, not the sum
	at?: number; // ns: the peak of a window that the server answered
	exact: boolean; // false: the figure is of the whole run, regardless of window and filters
}

// Which cells count: a test of allocation and free times for the measure.
function test(d: Data, q: Question): (birth: number, death: number) => boolean {
	const { from, to } = q, peak = peakPoint(d, from, to);
	switch (q.measure.key) {
	case "peak": return (birth, death) => birth <= peak && death > peak;
	case "end": return (birth, death) => birth <= to && death > to;
	case "kept": return (birth, death) => birth > from && birth <= to && death > to;
	default: return (birth, _) => birth > from && birth <= to;
	}
}

// Cells that pass the measure, the window and all filters except names.
export function eachCell(d: Data, q: Question, take: (cell: number) => void): void {
	const { birth, death, thread, size, life } = d.cell, counts = test(d, q), f = q.filter, never = d.head.never_freed, runs = threadTest(d, f);
	for (let i = 0; i < d.cells; i++) {
		if (!counts(birth[i], death[i]) || !runs(thread[i]) || size[i] < f.sizeFrom || size[i] > f.sizeTo)
			continue;
		const class_ = life[i] >= never ? 64 : life[i];
		if (class_ >= f.lifeFrom && class_ <= f.lifeTo)
			take(i);
	}
}

// What a measure counts of a cell.
export const cellValues = (d: Data, m: Measure): Float64Array => m.key == "temporary" ? d.cell.temporary : m.key == "calls" ? d.cell.blocks : d.cell.bytes;

function fromCells(d: Data, q: Question, own: Float64Array, blocks: Float64Array): void {
	const { node } = d.cell, value = cellValues(d, q.measure);
	eachCell(d, q, i => {
		own[node[i]] += value[i];
		blocks[node[i]] += d.cell.blocks[i];
	});
}

const titles = new WeakMap<Data, Map<number, string>>();

// "3 (io-worker)", or "3" for a thread that the program gave no name.
export function threadTitle(d: Data, thread: number): string {
	let of = titles.get(d);
	if (!of) {
		const rows = (d.head.threads ?? d.head.report.threads ?? []) as { thread: number; name: string | null }[];
		titles.set(d, of = new Map(rows.filter(r => r.name).map(r => [r.thread, `${r.thread} (${r.name})`])));
	}
	return of.get(thread) ?? String(thread);
}

// Does a thread belong to the chosen thread and process?
export function threadTest(d: Data, f: Filter): (thread: number) => boolean {
	const { thread, process } = f;
	if (!process)
		return n => !thread || n == thread;
	const ours = new Set<number>();
	d.thread.number.forEach((n, i) => d.thread.process[i] == process && (!thread || n == thread) && ours.add(n));
	return n => ours.has(n);
}

// Like fnmatch(3) without flags.
export function glob(pattern: string): (name: string) => boolean {
	let regexp = "";
	for (let i = 0; i < pattern.length; i++) {
		const c = pattern[i], set = c == "[" ? /^\[[!^]?\]?[^\]]*\]/.exec(pattern.slice(i)) : null;
		if (set) {
			const negated = /[!^]/.test(set[0][1]), body = set[0].slice(negated ? 2 : 1, -1);
			regexp += `[${negated ? "^" : ""}${body.replace(/[\\\]^[]/g, "\\$&")}]`;
			i += set[0].length - 1;
		} else if (c == "*") {
			regexp += ".*";
		} else if (c == "?") {
			regexp += ".";
		} else {
			regexp += (c == "\\" && i + 1 < pattern.length ? pattern[++i] : c).replace(/[\\^$.|?*+()[\]{}/-]/g, "\\$&");
		}
	}
	let compiled: RegExp;
	try {
		compiled = new RegExp(`^${regexp}$`, "su");
	} catch {
		return name => name == pattern; // as [z-a] is none
	}
	return name => compiled.test(name);
}

// Input of a search field: a part of a name, or a regular expression between slashes.
export function searchTest(text: string): ((name: string) => boolean) | null {
	if (!text)
		return null;
	const typed = /^\/(.+?)\/?$/s.exec(text);
	try {
		const compiled = typed && new RegExp(typed[1], "iu");
		if (compiled)
			return name => compiled.test(name);
	} catch {
		// incomplete: search for the text itself
	}
	const wanted = text.toLowerCase();
	return name => name.toLowerCase().includes(wanted);
}

// The name as a pattern that matches only this name.
export const literal = (name: string): string => name.replace(/[*?[\]\\]/g, "\\$&");

// With and without the parameters of a function, as mprof report compares names.
export function functionTest(pattern: string): (name: string) => boolean {
	const matches = glob(pattern);
	return name => {
		if (name == pattern || matches(name))
			return true;
		let at = name.indexOf("(");
		while (at >= 0 && (at == 0 || name[at - 1] == ":"))
			at = name.indexOf("(", at + 1);
		return at >= 0 && matches(name.slice(0, at));
	};
}

// A pattern without a slash is compared with the last part of a path.
export function fileTest(pattern: string): (path: string) => boolean {
	const matches = glob(pattern), whole = pattern.includes("/");
	return path => matches(whole ? path : path.slice(path.lastIndexOf("/") + 1));
}

// Which lines match, by line; texts are tested once.
export function linesThat(d: Data, of: Uint32Array, test: (text: string) => boolean): Uint8Array {
	const known = new Map<number, boolean>();
	return Uint8Array.from(of, (text, i) => {
		let yes = known.get(text);
		if (yes === undefined)
			known.set(text, yes = test(d.text[text]));
		return +(i > 0 && yes);
	});
}

// Nodes with a matching line in their stack.
function nodesThrough(d: Data, lines: Uint8Array): Uint8Array {
	const inside = new Uint8Array(d.head.nodes);
	for (let i = 1; i < inside.length; i++)
		inside[i] |= lines[d.lineOf[i]] | inside[d.parent[i]];
	return inside;
}

// Clears nodes whose stacks do not pass the filters by name.
export function applyNames(d: Data, f: Filter, own: Float64Array, blocks: Float64Array): void {
	const l = d.line, drop = (nodes: Uint8Array, when: number) => {
		for (let i = 0; i < own.length; i++)
			if (nodes[i] == when)
				own[i] = blocks[i] = 0;
	};
	if (f.function)
		drop(nodesThrough(d, linesThat(d, l.function, functionTest(f.function))), 0);
	if (f.file)
		drop(nodesThrough(d, linesThat(d, l.file, fileTest(f.file))), 0);
	if (f.module)
		drop(nodesThrough(d, linesThat(d, l.module, fileTest(f.module))), 0);
	if (f.without)
		drop(nodesThrough(d, linesThat(d, l.function, functionTest(f.without))), 1);
}

export function sumUp(d: Data, own: Float64Array): Float64Array {
	const sum = own.slice();
	for (let i = sum.length - 1; i > 0; i--)
		sum[d.parent[i]] += sum[i];
	return sum;
}

export function ask(d: Data, q: Question): Answer {
	const n = d.head.nodes, own = new Float64Array(n), blocks = new Float64Array(n), value = q.measure.value ?? (d.head.totals ? TOTALS[q.measure.key]?.value : undefined);
	if (value) {
		own.set(d.own[value]);
		blocks.set(d.own[value]);
	} else if (!d.head.totals) {
		fromCells(d, q, own, blocks);
	}
	applyNames(d, q.filter, own, blocks);
	const sum = sumUp(d, own);
	return { own, blocks, sum, total: sum[0], exact: !value || isWhole(d, q) };
}

// The owner of each node's figures: with libraries folded, the nearest caller outside them, if there is one.
export const ownerNodes = (d: Data, foldLibraries: boolean): Uint32Array => foldLibraries ? outsideNodes(d) : Uint32Array.from(d.parent, (_, i) => i);

// Every figure of the whole run, by function or by line.
export interface FullRow { key: number; line: number; own: { [value: string]: number }; sizeLeast: number; sizeMost: number; lifeLeast: number; lifeMost: number }

export function fullTable(d: Data, f: Filter, keyOf: Uint32Array, foldLibraries: boolean): FullRow[] {
	const owner = ownerNodes(d, foldLibraries), rows: FullRow[] = [], known = new Map<number, number>(), through = new Float64Array(d.head.nodes).fill(1);
	const values = Object.keys(d.own).filter(name => name != "local"), e = d.extreme, rowOf = new Int32Array(d.head.nodes).fill(-1);
	applyNames(d, f, through, through);
	for (let i = 1; i < owner.length; i++) {
		if (!through[i] || !d.own.calls[i])
			continue;
		const line = d.lineOf[owner[i]], key = keyOf[line], at = rowOf[i] = known.get(key) ?? rows.length;
		if (at == rows.length) {
			known.set(key, at);
			rows.push({ key, line, own: {}, sizeLeast: Infinity, sizeMost: 0, lifeLeast: Infinity, lifeMost: 0 });
		}
		const r = rows[at];
		r.sizeLeast = Math.min(r.sizeLeast, e.size_least[i] - 1);
		r.sizeMost = Math.max(r.sizeMost, e.size_most[i] - 1);
		if (e.life_least[i]) {
			r.lifeLeast = Math.min(r.lifeLeast, e.life_least[i] - 1);
			r.lifeMost = Math.max(r.lifeMost, e.life_most[i] - 1);
		}
	}
	for (const v of values) {
		const sum = new Float64Array(rows.length), own = d.own[v];
		for (let i = 1; i < rowOf.length; i++)
			if (rowOf[i] >= 0)
				sum[rowOf[i]] += own[i];
		rows.forEach((r, k) => r.own[v] = sum[k]);
	}
	return rows;
}

// line.library
export const PACKAGE = 2, WRAPPER = 3, EVENTS = 4;

// Is a node code that allocates on behalf of others?  What a wrapper calls is part of it.
const ofLibrary = (d: Data, node: number): boolean => d.line.library[d.lineOf[node]] > 0 || d.line.library[d.lineOf[d.parent[node]]] == WRAPPER;

const outside = new WeakMap<Data, Uint32Array>();

// The nearest node outside libraries above each node or at it; if there is none, or a function that
// waits for events is between them, the nearest one of a package, else the node itself.
function outsideNodes(d: Data): Uint32Array {
	let to = outside.get(d);
	if (to)
		return to;
	to = new Uint32Array(d.head.nodes);
	const inPackage = new Uint32Array(to.length), inEvents = new Uint8Array(to.length);
	for (let i = 1; i < to.length; i++) {
		const kind = d.line.library[d.lineOf[i]], above = d.parent[i];
		to[i] = ofLibrary(d, i) ? to[above] : i;
		inPackage[i] = kind == PACKAGE || kind == EVENTS ? i : inPackage[above];
		inEvents[i] = kind == EVENTS ? 1 : ofLibrary(d, i) ? inEvents[above] : 0;
	}
	for (let i = 1; i < to.length; i++)
		to[i] = inEvents[i] ? inPackage[i] : to[i] || inPackage[i] || i;
	outside.set(d, to);
	return to;
}

// Figures of library code belong to their owner outside libraries.
export function owned(d: Data, a: Answer, foldLibraries: boolean): Answer {
	if (!foldLibraries)
		return a;
	const own = new Float64Array(a.own.length), blocks = new Float64Array(own.length), to = outsideNodes(d);
	for (let i = 0; i < own.length; i++) {
		own[to[i]] += a.own[i];
		blocks[to[i]] += a.blocks[i];
	}
	return { ...a, own, blocks, sum: sumUp(d, own) };
}

// The n functions with most of their own, with libraries folded.
export function topOwners(d: Data, a: Answer, keys: Uint32Array, n: number): { line: number; own: number }[] {
	const own = new Float64Array(keys.length), to = outsideNodes(d);
	for (let i = 1; i < a.own.length; i++)
		own[keys[d.lineOf[to[i]]]] += a.own[i];
	return Array.from(own, (own, line) => ({ own, line })).filter(r => r.own > 0).sort((x, y) => y.own - x.own).slice(0, n);
}

// ---- the tree that is drawn: functions, with libraries folded away or not, either way up ----

export interface Frame {
	line: number; // index of data.line, 0 for the root
	key: number; // equal for frames of one function and module
	sum: number;
	own: number;
	blocks: number; // own and below
	parent: number;
	child: number; // first of the children, which are adjacent; 0: none
	children: number;
	depth: number;
	node: number; // of data: the heaviest one of the frame
	leaf?: number; // bottom-up: a node that allocates there, whose stack leads to the frame
	also?: number[]; // figures of TreeOptions.also, own and below
}

// The last part of a path; of pkg/__init__.py both (sym_file in src/mprof/sym/sym.h).
export const shortFile = (path: string): string => path.replace(/^.*\/(?=[^/]+\/__(?:init|main)__\.py(?::\d+)?$)|^.*\//, "");

const keysOf = new WeakMap<Data, Uint32Array>();

// Number of each line's function, module and file: LINE_FUNCTION in src/mprof/pass/interner.h.
export function functionKeys(d: Data): Uint32Array {
	const known = keysOf.get(d);
	if (known)
		return known;
	const keys = new Uint32Array(d.line.line.length), seen = new Map<string, number>(), short = new Map<number, string>();
	for (let i = 1; i < keys.length; i++) {
		const file = d.line.file[i], base = short.get(file) ?? short.set(file, shortFile(d.text[file] ?? "")).get(file)!;
		const key = `${d.line.function[i]} ${d.line.module[i]} ${base}`;
		keys[i] = seen.get(key) ?? seen.set(key, i).get(key)!;
	}
	keysOf.set(d, keys);
	return keys;
}

export interface TreeOptions {
	inverted: boolean; foldLibraries: boolean; least: number;
	foldRecursion?: boolean; // a recursive function is one frame
	merged?: Uint8Array; // by line: part of their callers
	also?: Answer[]; // further figures of each frame
	// Bottom-up, without foldRecursion: only frames of this place are wanted, and only those with this share of it.
	focus?: Place | null; drawn?: number;
}

// A frame of a bottom-up tree: both nodes are on one stack.
export interface Place { leaf: number; node: number }

const NODES = 2 ** 22; // more than a page has

export const placeOfNumber = (n: number): Place | null => n ? { leaf: Math.floor(n / NODES), node: n % NODES } : null;
export const numberOfPlace = (f: { leaf?: number; node: number }): number => f.leaf === undefined ? 0 : f.leaf * NODES + f.node;

class Builder {
	frames: Frame[] = [];
	private slots = new Int32Array(4096); // frames by parent and key: open addressing, at most half full; 0 = empty
	constructor() {
		this.add(0, 0, 0, 0, 0);
	}
	private slot(parent: number, key: number): number {
		const { frames, slots } = this, mask = slots.length - 1;
		let at = (Math.imul(parent, 0x9e3779b1) ^ Math.imul(key, 0x85ebca6b)) >>> 0;
		for (at = (at ^ at >>> 15) & mask; slots[at] && (frames[slots[at]].parent != parent || frames[slots[at]].key != key); at = (at + 1) & mask)
			;
		return at;
	}
	private grow(): void {
		this.slots = new Int32Array(2 * this.slots.length);
		for (let i = 1; i < this.frames.length; i++)
			this.slots[this.slot(this.frames[i].parent, this.frames[i].key)] = i;
	}
	private add(parent: number, key: number, line: number, depth: number, node: number): number {
		this.frames.push({ line, key, sum: 0, own: 0, blocks: 0, parent, child: 0, children: 0, depth, node });
		return this.frames.length - 1;
	}
	// The frame of a function at or above this one; -1: none.
	above(frame: number, key: number): number {
		for (; frame; frame = this.frames[frame].parent)
			if (this.frames[frame].key == key)
				return frame;
		return -1;
	}
	child(parent: number, key: number, line: number, node: number, leaf?: number): number {
		const at = this.slot(parent, key), known = this.slots[at];
		if (known)
			return known;
		const i = this.slots[at] = this.add(parent, key, line, this.frames[parent].depth + 1, node);
		this.frames[i].leaf = leaf;
		if (2 * i >= this.slots.length)
			this.grow();
		return i;
	}
}

// Children by falling sum, adjacent, so that drawing walks an array.  Takes the frames, whose callers come first, and those
// that are not smaller than limit.
export function arrange(from: Frame[], limit: number): Frame[] {
	const kept = (f: Frame) => f.sum > 0 && f.sum >= limit;
	const begin = new Int32Array(from.length + 1), list = new Int32Array(from.length), out = [from[0]], old = [0];
	for (let i = 1; i < from.length; i++)
		begin[from[i].parent + 1] += +kept(from[i]);
	for (let i = 0; i < from.length; i++)
		begin[i + 1] += begin[i];
	const end = begin.slice();
	for (let i = 1; i < from.length; i++)
		if (kept(from[i]))
			list[end[from[i].parent]++] = i;
	for (let i = 0; i < out.length; i++) {
		const f = out[i], kids = list.subarray(begin[old[i]], end[old[i]]);
		if (kids.length > 1)
			kids.sort((a, b) => from[b].sum - from[a].sum);
		f.child = kids.length ? out.length : 0;
		f.children = kids.length;
		for (const k of kids) {
			from[k].parent = i;
			out.push(from[k]);
			old.push(k);
		}
	}
	return out;
}

// CPython's loop: what a function of a script calls is called by it.
const LOOP = /^_PyEval_EvalFrame(Default)?(\.|$)/;

function loopLines(d: Data): Uint8Array {
	return Uint8Array.from(d.line.line, (_, i) => +(d.line.library[i] > 0 && LOOP.test(nameOf(d, i))));
}

// With foldLibraries, consecutive library frames are one, named by the function that the program called.
export function frameTree(d: Data, a: Answer, keys: Uint32Array, o: TreeOptions): Frame[] {
	const b = new Builder(), n = d.head.nodes, at = new Uint32Array(n), library = (line: number) =>
		o.foldLibraries && d.line.library[line] > 0, { merged, inLibrary } = shows(d, o);
	const also = o.also ?? [], put = (to: Frame, values: (k: number) => number) =>
		(to.also ??= also.map(() => 0)).forEach((n, k, all) => all[k] = also[k].most ? Math.max(n, values(k)) : n + values(k));
	const add = (f: number, i: number) => also.length && put(b.frames[f], k => also[k].own[i]);
	if (!o.inverted) {
		for (let i = 1; i < n; i++) {
			const above = at[d.parent[i]], key = keys[d.lineOf[i]];
			if (!(a.sum[i] || also.some(x => x.sum[i])) || merged(d.lineOf[i])) {
				at[i] = above;
				continue;
			}
			const again = o.foldRecursion ? b.above(above, key) : -1;
			at[i] = again >= 0 ? again : b.frames[above].key == key || (inLibrary(i) && library(b.frames[above].line))
				? above : b.child(above, key, d.lineOf[i], i);
		}
		for (let i = 0; i < n; i++) {
			b.frames[at[i]].own += a.own[i];
			b.frames[at[i]].blocks += a.blocks[i];
			add(at[i], i);
		}
		for (let i = b.frames.length - 1; i >= 0; i--) {
			b.frames[i].sum += b.frames[i].own;
			if (i) {
				b.frames[b.frames[i].parent].sum += b.frames[i].sum;
				b.frames[b.frames[i].parent].blocks += b.frames[i].blocks;
				if (b.frames[i].also)
					put(b.frames[b.frames[i].parent], k => b.frames[i].also![k]);
			}
		}
		return arrange(b.frames, b.frames[0].sum * o.least);
	}
	return arrange(b.frames, invert(d, a, keys, o, b, { merged, inLibrary, add }));
}

// Which nodes have frames of their own, apart from recursion.
interface Shows { merged(line: number): boolean; inLibrary(node: number): boolean }

const hides = (d: Data, is: Shows, k: number): boolean => is.merged(d.lineOf[k]) || (is.inLibrary(k) && is.inLibrary(d.parent[k]));

// The keys of a frame and of those above it in a bottom-up tree.
function pathTo(d: Data, keys: Uint32Array, o: TreeOptions, is: Shows, to: Place): number[] {
	let path: number[] = [];
	for (let k = to.leaf; k > 0; k = d.parent[k]) {
		const key = keys[d.lineOf[k]], again = o.foldRecursion ? path.indexOf(key) : -1;
		if (again >= 0)
			path = path.slice(0, again + 1);
		else if (!hides(d, is, k) && path[path.length - 1] != key)
			path.push(key);
		if (k == to.node)
			return path;
	}
	return [];
}

// Fills the frames from allocating functions outward.  Returns the least sum of those that are wanted.
function invert(d: Data, a: Answer, keys: Uint32Array, o: TreeOptions, b: Builder, is: Shows & { add(frame: number, node: number): void }): number {
	const node: number[] = [], whole = b.frames[0], last: number[] = []; // last: by frame, the last node that was added
	let f = 0;
	// Goes to the next node with a frame of its own, below frame f.
	const outward = (k: number): number => {
		for (; k > 0; k = d.parent[k]) {
			const key = keys[d.lineOf[k]], again = o.foldRecursion ? b.above(f, key) : -1;
			if (again >= 0)
				f = again;
			else if (b.frames[f].key != key && !hides(d, is, k))
				break;
		}
		return k;
	};
	const enter = (i: number, k: number): void => {
		f = b.child(f, keys[d.lineOf[k]], d.lineOf[k], k, i);
		if (last[f] == i) // functions that call each other pass a folded frame twice
			return;
		last[f] = i;
		b.frames[f].sum += a.own[i];
		b.frames[f].blocks += a.blocks[i];
		is.add(f, i);
		if (b.frames[f].depth == 1)
			b.frames[f].own += a.own[i];
	};
	for (let i = 0; i < d.head.nodes; i++)
		if (a.own[i] || o.also?.some(x => x.own[i])) {
			node.push(i);
			whole.sum += a.own[i];
		}
	if (o.foldRecursion) {
		for (const i of node) {
			f = 0;
			for (let k = outward(i); k > 0; k = outward(d.parent[k]))
				enter(i, k);
		}
		return whole.sum * o.least;
	}
	// All stacks go one frame further in each round: a frame's sum is then complete, and one that is not drawn need not
	// be followed.
	const next = Int32Array.from(node), frame = new Int32Array(node.length), path = o.focus && a.own[o.focus.leaf] ? pathTo(d, keys, o, is, o.focus) : [];
	let limit = whole.sum * Math.max(o.least, path.length ? 0 : o.drawn ?? 0);
	for (let count = node.length, going = 0, depth = 1, at = 0; count; count = going, going = 0, depth++) {
		for (let j = 0; j < count; j++) {
			f = frame[j];
			const k = outward(next[j]);
			if (k > 0)
				enter(node[j], k);
			next[j] = k > 0 ? d.parent[k] : 0;
			frame[j] = f;
		}
		const toFocus = depth <= path.length;
		if (toFocus)
			at = b.child(at, path[depth - 1], 0, 0); // it exists
		if (depth == path.length)
			limit = Math.max(limit, b.frames[at].sum * (o.drawn ?? 0));
		for (let j = 0; j < count; j++)
			if (next[j] > 0 && (toFocus ? frame[j] == at : b.frames[frame[j]].sum >= limit)) {
				node[going] = node[j];
				next[going] = next[j];
				frame[going++] = frame[j];
			}
	}
	return limit;
}

// The options that say which nodes have frames.
function shows(d: Data, o: { foldLibraries: boolean; merged?: Uint8Array }): Shows {
	const loop = o.foldLibraries ? loopLines(d) : undefined;
	return { merged: line => (o.merged !== undefined && o.merged[line] == 1) || loop?.[line] == 1, inLibrary: node => o.foldLibraries && ofLibrary(d, node) };
}

// The frame at a place of a bottom-up tree, or the root.
export function frameAt(d: Data, frames: Frame[], keys: Uint32Array, o: TreeOptions, to: Place | null): number {
	let at = 0;
	for (const key of to ? pathTo(d, keys, o, shows(d, o), to) : []) {
		const f = frames[at], end = f.child + f.children;
		let k = f.child;
		while (k < end && frames[k].key != key)
			k++;
		if (k == end)
			return 0;
		at = k;
	}
	return at;
}

// The share of stacks with a frame whose name matches, among them those whose frames are too small for a bottom-up tree.
export function matchingShare(d: Data, a: Answer, o: TreeOptions, wanted: (name: string) => boolean): number {
	const is = shows(d, o), matches = Uint8Array.from(d.line.line, (_, line) => +(line > 0 && wanted(labelOf(d, line)))), hit = new Uint8Array(d.head.nodes);
	let sum = 0;
	for (let i = 1; i < hit.length; i++) {
		hit[i] = hit[d.parent[i]] || (matches[d.lineOf[i]] && !hides(d, is, i) ? 1 : 0);
		sum += hit[i] ? a.own[i] : 0;
	}
	return sum / (a.total || 1);
}

// Lines whose frames are part of their callers: names of functions, and "/" before names of modules.
export function mergedLines(d: Data, names: string[]): Uint8Array | undefined {
	if (!names.length)
		return undefined;
	const wanted = new Set(names);
	return Uint8Array.from(d.line.line, (_, i) => +(i > 0 && (wanted.has(nameOf(d, i)) ||
		wanted.has("/" + d.text[d.line.module[i]].replace(/.*\//, "")))));
}

// Says how much of the most resident memory of a window was mprof's own, in the processes that ran then, if that is much:
// see OWN_LEAST in print/screen_figures.c.
export function ownMemory(d: Data, from: number, to: number): string {
	const { rss, ns } = d.point, { processes, course_process } = d.head.report;
	let top = Math.max(from, 0), own = 0;
	for (let i = top; i <= to; i++)
		if (rss[i] > rss[top])
			top = i;
	for (const p of processes)
		if (course_process ? p.process == course_process : (p.start_ns ?? 0) <= ns[top] && ns[top] <= (p.end_ns ?? Infinity))
			own += p.self_bytes;
	return own >= 2 ** 20 && own >= rss[top] / 16 ? `up to ${bytes(Math.min(own, rss[top]))} of it mprof's own` : "";
}

// ---- tables ----

export interface Row {
	key: number; // function or line
	line: number;
	sum: number; own: number; blocks: number;
	node: number;
	only: number; // the line that has all of own; 0: several have, or none
}

// By function or by line; a function that calls itself counts once.
export function table(d: Data, a: Answer, keyOf: Uint32Array): Row[] {
	const rows: Row[] = [], n = d.head.nodes, most = keyOf.reduce((x, y) => Math.max(x, y), 0) + 1, at: (Row | undefined)[] = new Array(most).fill(undefined);
	const open = new Uint32Array(most), stack: number[] = []; // open, at: by key
	for (let i = 1; i < n; i++) {
		while (stack.length && d.end[stack[stack.length - 1]] <= i)
			open[keyOf[d.lineOf[stack.pop()!]]]--;
		const key = keyOf[d.lineOf[i]], times = open[key]++;
		stack.push(i);
		if (!a.sum[i])
			continue;
		let row = at[key];
		if (!row)
			rows.push(row = at[key] = { key, line: d.lineOf[i], sum: 0, own: 0, blocks: 0, node: i, only: 0 });
		if (a.own[i] && row.only != d.lineOf[i])
			row.only = row.own ? 0 : d.lineOf[i];
		row.own += a.own[i];
		row.blocks += a.blocks[i];
		if (!times)
			row.sum += a.sum[i];
		if (a.sum[i] > a.sum[row.node])
			row.node = i;
	}
	return rows;
}

// The program's own modules have warm colours, libraries cold ones, with a shade for each function.
export function functionColor(d: Data, keys: Uint32Array, line: number): string {
	const spread = (keys[line] * 2654435761 >>> 24) / 255;
	return d.line.library[line] ? `hsl(${205 + 25 * spread} 35% ${68 + 8 * spread}%)` : `hsl(${18 + 30 * spread} 75% ${66 + 8 * spread}%)`;
}

export function nameOf(d: Data, line: number): string {
	return line ? d.text[d.line.function[line]] : "all";
}

// For places that show no file: every Python file has a "<module>", and may have a "<lambda>".
export function labelOf(d: Data, line: number): string {
	const name = nameOf(d, line), file = d.text[d.line.file[line]];
	return name.startsWith("<") && file ? `${name} ${shortFile(file)}` : name;
}

export function placeOf(d: Data, line: number): string {
	const file = d.text[d.line.file[line]], number = d.line.line[line];
	return file ? file + (number ? ":" + number : "") : d.text[d.line.module[line]] ?? "";
}

// The stack of a node, outermost first.
export function stackOf(d: Data, node: number): number[] {
	const path: number[] = [];
	for (; node; node = d.parent[node])
		path.push(node);
	return path.reverse();
}
