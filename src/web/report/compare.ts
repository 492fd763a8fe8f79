// SPDX-License-Identifier: LGPL-3.0-or-later
// compare.ts - what changed: from the start of the window to its end, or from another trace of
// `mprof view` to this one: a flame graph whose colours show what grew, and functions by change.
// Traces are compared over the whole run, for the figure that is chosen; the ends of a window, for
// live memory.
import { commandAt, quote } from "./command";
import { duration, percent } from "../words";
import { load } from "./data";
import type { Data } from "./data";
import { column, el, sortable } from "./element";
import type { Sorting } from "./element";
import { Flame } from "./flame";
import { arrange, ask, frameTree, functionKeys, isWhole, labelOf, measures, nameOf, owned, placeOf, shortFile, table, wholeFilter } from "./model";
import type { Answer, Frame, Measure } from "./model";
import { figure, textOf } from "./pages";
import type { View } from "./pages";
import type { Server, Waiting } from "./server";
import { MARKED } from "./state";
import type { State } from "./state";

// ---- the other trace ----

// What the page shows that is not part of its State.  It outlives new figures.
interface Look {
	sort: Sorting;
	of: string; // the graph that has the zoom
	zoom: string[]; // the path of its frame
}

export const unseen = (): Look => ({ sort: { key: "change" }, of: "", zoom: [] });

export class Others {
	look = unseen();
	private known = new Map<number, Data | string>();
	private old = new Set<number>(); // of programs that run, and those that could not be read
	private changed: () => void = () => {};

	// For new figures of this trace: those of others are read again when they are next needed, and shown until then.
	renew(changed: () => void): void {
		this.changed = changed;
		for (const [index, d] of this.known)
			if (typeof d == "string" ? d : d.head.live)
				this.old.add(index);
	}

	// Its data, the reason why they are missing, or null while they load.
	get(index: number): Data | string | null {
		const known = this.known.get(index);
		if (known === undefined || this.old.delete(index)) {
			this.known.set(index, known ?? "");
			this.fetch(index).then(d => d, error => `The other trace cannot be read: ${error}`).then(d => {
				this.known.set(index, d);
				this.changed();
			});
		}
		return known || null;
	}

	private async fetch(index: number): Promise<Data> {
		const answer = await fetch(`../${index}/`);
		return load(new DOMParser().parseFromString(await answer.text(), "text/html"));
	}
}

// ---- two trees as one ----

interface Pair { name: string; place: string; before: number; after: number; ownBefore: number; ownAfter: number }

// As functionKeys() has it, for two traces.
const keyOf = (d: Data, line: number) => [nameOf(d, line), d.text[d.line.module[line]], shortFile(d.text[d.line.file[line]] ?? "")].join("\0");

class Merged {
	pairs: Pair[] = [{ name: "all", place: "", before: 0, after: 0, ownBefore: 0, ownAfter: 0 }];
	private frames: Frame[] = [{ line: 0, key: 0, sum: 0, own: 0, blocks: 0, parent: 0, child: 0, children: 0, depth: 0, node: 0 }];
	private index = new Map<number, number>(); // by parent and number of the key
	private number = new Map<string, number>(); // of keys, from 1

	// Frames come with parents first.
	add(d: Data, from: Frame[], before: boolean): void {
		const keys = functionKeys(d), number = new Map<number, number>(); // of these
		const numberOf = (line: number): number => {
			const text = keyOf(d, line), known = this.number.get(text) ?? this.number.size + 1;
			this.number.set(text, known);
			number.set(keys[line], known);
			return known;
		};
		const at = new Uint32Array(from.length);
		from.forEach((f, i) => {
			if (i)
				at[i] = this.child(at[f.parent], d, f.line, number.get(keys[f.line]) ?? numberOf(f.line));
			const pair = this.pairs[at[i]], own = f.sum - this.below(from, f);
			if (before) {
				pair.before += f.sum;
				pair.ownBefore += own;
			} else {
				pair.after += f.sum;
				pair.ownAfter += own;
			}
		});
	}

	private below(from: Frame[], f: Frame): number {
		let sum = 0;
		for (let k = f.child; k < f.child + f.children; k++)
			sum += from[k].sum;
		return sum;
	}

	private child(parent: number, d: Data, line: number, number: number): number {
		const key = parent * 2 ** 24 + number;
		let i = this.index.get(key);
		if (i === undefined) {
			this.index.set(key, i = this.frames.length);
			this.frames.push({ line: i, key: i, sum: 0, own: 0, blocks: 0, parent, child: 0, children: 0,
				depth: this.frames[parent].depth + 1, node: i });
			this.pairs.push({ name: labelOf(d, line), place: placeOf(d, line), before: 0, after: 0, ownBefore: 0, ownAfter: 0 });
		}
		return i;
	}

	// As wide as the larger of both, so that what disappeared is visible.
	tree(): Frame[] {
		this.frames.forEach((f, i) => f.sum = f.own = Math.max(this.pairs[i].ownBefore, this.pairs[i].ownAfter));
		for (let i = this.frames.length - 1; i > 0; i--)
			this.frames[this.frames[i].parent].sum += this.frames[i].sum;
		return arrange(this.frames, 0);
	}
}

// The frame with this path, or as much of it as there is.
function follow(frames: Frame[], path: string[], key: (i: number) => string): number {
	let at = 0;
	for (const name of path) {
		const end = frames[at].child + frames[at].children;
		let i = frames[at].child;
		while (i < end && key(i) != name)
			i++;
		if (i == end)
			break;
		at = i;
	}
	return at;
}

const signed = (unit: string, n: number) => (n > 0 ? "+" : n < 0 ? "\u2212" : "") + figure(unit, Math.abs(n));

function color(p: Pair): string {
	const most = Math.max(p.before, p.after), share = most ? Math.abs(p.after - p.before) / most : 0;
	return share < 0.001 ? "hsl(0 0% 84%)" : `hsl(${p.after > p.before ? 8 : 212} ${40 + 40 * share}% ${86 - 20 * share}%)`;
}

// ---- functions ----

interface Change { name: string; place: string; line: number; library: boolean; before: number; after: number; sumBefore: number; sumAfter: number }

function changes(foldLibraries: boolean, sides: [Data, Answer, boolean][]): Change[] {
	const rows = new Map<string, Change>();
	for (const [d, a, before] of sides)
		for (const r of table(d, owned(d, a, foldLibraries), functionKeys(d))) {
			const key = keyOf(d, r.line);
			let row = rows.get(key);
			if (!row)
				rows.set(key, row = { name: nameOf(d, r.line), place: placeOf(d, r.line), line: 0, library: d.line.library[r.line] > 0, before: 0, after: 0, sumBefore: 0, sumAfter: 0 });
			if (!before)
				row.line = r.line;
			row[before ? "before" : "after"] += r.own;
			row[before ? "sumBefore" : "sumAfter"] += r.sum;
		}
	return [...rows.values()].filter(r => r.before || r.after || (r.sumBefore != r.sumAfter && !(foldLibraries && r.library)));
}

// ---- the page ----

const whole = (d: Data, measure: Measure): Answer =>
	ask(d, { measure, from: -1, to: d.points - 1, filter: wholeFilter(), foldLibraries: false });

function graph(v: View, other: Data, mine: Answer, theirs: Answer, tip: HTMLElement): HTMLElement {
	const { s } = v, unit = s.measure.unit, merged = new Merged(), options = { inverted: s.inverted, foldLibraries: s.foldLibraries, least: 0 };
	merged.add(other, frameTree(other, theirs, functionKeys(other), options), true);
	merged.add(v.d, frameTree(v.d, mine, v.keys, options), false);
	const pair = (f: Frame) => merged.pairs[f.node];
	const flame = new Flame({ name: f => pair(f).name, color: f => color(pair(f)),
		tip: f => `${pair(f).name}\n${pair(f).place}\n${signed(unit, pair(f).after - pair(f).before)}: ` +
			`${figure(unit, pair(f).before)} before, ${figure(unit, pair(f).after)} after` }, tip);
	flame.icicle = s.icicle;
	const frames = merged.tree(), { look } = v.others, of = JSON.stringify([s.with, s.measure.key, options]);
	const key = (i: number) => pair(frames[i]).name + "\0" + pair(frames[i]).place;
	flame.onZoom = frame => {
		look.zoom = [];
		for (let i = frame; i; i = frames[i].parent)
			look.zoom.unshift(key(i));
		flame.show(frames, frame);
	};
	if (look.of != of)
		Object.assign(look, { of, zoom: [] });
	flame.show(frames, follow(frames, look.zoom, key));
	requestAnimationFrame(() => flame.reveal());
	return el("div", { class: "graph" }, el("p", {}, el("span", { class: "grew" }, "Red grew"), ", ", el("span", { class: "shrank" }, "blue shrank"),
		"; the width of a frame is the larger of the two values."), flame.live, flame.box);
}

const live = () => measures.find(m => m.key == "end")!;

function nothing(d: Data): Answer {
	const none = new Float64Array(d.head.nodes);
	return { own: none, blocks: none, sum: none, total: 0, exact: true };
}

// Live memory at one end of the window, of the blocks that pass the filters.
const liveAt = (v: View, point: number): Answer => point >= 0 ? ask(v.d, { ...v.s, measure: live(), from: -1, to: point }) : nothing(v.d);

const otherTrace = (s: State, d: Data): boolean => s.with >= 0 && s.with < (d.head.traces ?? []).length && s.with != d.head.index;

// Does the page compare the two ends of the window?  Only live memory is known there.
export const isInTime = (s: State, d: Data): boolean => s.page == "compare" && !d.head.totals && !otherTrace(s, d);

// Returns the state with the figure of live memory if it does.
export const figured = (s: State, d: Data): State => isInTime(s, d) ? { ...s, measure: live() } : s;

// Live memory at the start of an exact window.
export const askBefore = async (server: Server, d: Data, s: State, waiting: (w: Waiting) => void): Promise<Answer | null> =>
	s.exact!.from > 0 ? server.ask(s, { from: 0, to: s.exact!.from }, waiting) : nothing(d);

export function compare(v: View): HTMLElement {
	const { d, names } = { d: v.d, names: v.d.head.traces ?? [] }, marked = v.s.with == MARKED ? v.marked : null, traces = otherTrace(v.s, d) || !!marked;
	if (d.head.totals && !traces)
		return el("section", {}, el("h2", {}, "What changed"),
			v.mark && el("p", {}, el("button", { type: "button", click: v.mark }, "Compare later figures with these")),
			el("p", {}, "Totals cover the whole run, so they can only be compared with another run: ",
			names.length > 1 ? el("span", {}, ...names.map((n, i) => i == d.head.index ? "" : el("button", { type: "button", class: "chip", click: () => v.set({ with: i }) }, n)))
				: el("code", {}, `mprof view --diff BEFORE ${quote(d.head.trace)}`)));
	const s = figured(v.s, d), unit = s.measure.unit, at = (point: number) => point < 0 ? 0 : d.point.ns[point], [from, to] = s.exact ? [s.exact.from, s.exact.to] : [at(s.from), at(s.to)];
	const choose = el("select", { "aria-label": "Compare with", change: (e: Event) => v.set({ with: +(e.target as HTMLSelectElement).value }) },
		!d.head.totals && el("option", { value: -1 }, "the start of the window"),
		v.marked && el("option", { value: MARKED, selected: !!marked }, `its figures of ${v.marked.when}`),
		...names.map((n, i) => i == d.head.index ? null : el("option", { value: i, selected: i == s.with }, n)));
	const head = [el("h2", {}, "What changed"), el("p", {}, traces ? `${d.head.trace}, compared with ` : `Live memory at ${duration(to)}, the end of the window, compared with `,
		names.length > 1 ? choose : marked ? `its figures of ${marked.when}` : "its start", traces ? "." : ` at ${duration(from)}.${s.exact ? "" : " The two sliders choose both."}`)];
	const other = marked ? marked.d : traces ? v.others.get(s.with) : d;
	if (other === null || typeof other == "string")
		return el("section", {}, ...head, el("p", { role: "status" }, other ?? "Reading the other trace \u2026"));
	if (!traces && s.exact && !v.before)
		return el("section", {}, ...head);
	const mine = traces ? whole(d, s.measure) : s.exact ? v.a : liveAt(v, s.to), theirs = traces ? whole(other, s.measure) : v.before ?? liveAt(v, s.from), delta = mine.total - theirs.total, begin = commandAt(s, d, from);
	return el("section", { class: "compare" }, ...head,
		traces && !d.head.totals && !isWhole(d, s) && el("p", { class: "note" }, "Traces are compared over the whole run, regardless of window and filters."),
		el("p", { class: "change" }, `${s.measure.title}: ${figure(unit, theirs.total)} before, ${figure(unit, mine.total)} after, `,
			el("strong", {}, signed(unit, delta)), theirs.total ? ` (${percent(Math.abs(delta), theirs.total)}).` : "."),
		names.length < 2 && !marked && el("p", { class: "other-run" }, "To compare with another run, for example of an earlier build: ", el("code", {}, `mprof view --diff BEFORE ${quote(d.head.trace)}`)),
		graph({ ...v, s }, other, mine, theirs, v.tip),
		sortable(changes(s.foldLibraries, [[other, theirs, true], [d, mine, false]]), [
			column("change", "Change", n => signed(unit, n), r => r.after - r.before, { weight: r => Math.abs(r.after - r.before) }),
			column("before", "Own before", textOf(unit), r => r.before),
			column("after", "Own after", textOf(unit), r => r.after),
			column("callees", "Change with callees", n => signed(unit, n), r => r.sumAfter - r.sumBefore, { weight: r => Math.abs(r.sumAfter - r.sumBefore) }),
			{ key: "name", title: "Function", text: r => r.name, node: r => r.line ? el("button", { type: "button", class: "name",
				title: "Its callers and callees", click: () => v.set({ page: "callers", chosen: r.line }) }, r.name) : el("span", {}, r.name) },
			{ key: "place", title: "Where", text: r => shortFile(r.place) },
		], v.others.look.sort, null, "changes"),
		el("p", {}, ...(marked ? ["As text: ", el("code", {}, `mprof ctl ${d.head.report.processes[0]?.pid ?? "PID"} dump`), ", later again, then mprof diff of both dumps."] : traces ? [el("code", {}, `mprof diff ${quote(names[s.with])} ${quote(d.head.trace)}`)]
			: begin.why ? [begin.why] : [el("code", {}, begin.command), " ", el("code", {}, commandAt(s, d, to).command)])));
}
