// SPDX-License-Identifier: LGPL-3.0-or-later
// live.ts - a page of `mprof view` whose program still runs: new figures from time to time, and what
// has changed since a moment that is marked.
import { load } from "./data";
import type { Data } from "./data";
import { el } from "./element";
import { measures, numberOfPlace, placeOfNumber, stackOf } from "./model";
import type { State } from "./state";

const EVERY: [number, string][] = [[0, "on request"], [2, "every 2 s"], [5, "every 5 s"], [10, "every 10 s"], [60, "every minute"]];
const REST = 10; // server and page then rest at least this many times as long as new figures took
const USED = 15000; // ms

export interface Marked { d: Data; when: string }

// The page that the server makes now: its data, and its heading and findings in place of the old ones.
async function fresh(): Promise<Data> {
	const answer = await fetch(location.pathname + "?new=1", { cache: "no-store" }).catch(() => { throw new Error("mprof view does not answer"); });
	if (!answer.ok)
		throw new Error(await answer.text());
	const page = new DOMParser().parseFromString(await answer.text(), "text/html"), d = await load(page);
	for (const id of ["run", "plain"])
		document.getElementById(id)!.replaceWith(document.adoptNode(page.getElementById(id)!));
	return d;
}

const clock = (): string => new Date().toLocaleTimeString("en-GB");

// What outlives the figures of a page.
export class Live {
	marked: Marked | null = null;
	private when = clock();
	private timer = 0;
	private took = 0; // ms
	private busy = false;
	private used = -USED; // when a key or button was pressed last, ms
	private held = false; // is a button?
	private said = el("span", { role: "status" });
	private of = el("span"); // not read out each time
	private every = 5; // s; 0: on request
	private d: Data | null = null; // what is shown
	readonly root = el("div", { class: "running" });

	constructor(private replace: (d: Data) => void, private mark: () => void) {
		for (const event of ["pointerdown", "keydown", "change"])
			addEventListener(event, () => this.used = performance.now(), { capture: true });
		for (const [event, held] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]] as const)
			addEventListener(event, () => this.held = held, { capture: true });
	}

	// The figures are new.
	show(d: Data): void {
		this.d = d;
		this.wait();
		if (!d.head.live) {
			this.root.hidden = !this.root.childElementCount;
			this.say((d.head.report.processes as any[]).some(p => p.detached) ? "mprof detached from the program." : "The program has ended.", "");
			this.root.replaceChildren(this.said);
			return;
		}
		this.say("The program runs", `: figures of ${this.when}.`);
		if (!this.root.childElementCount)
			this.root.append(el("span", {}, this.said, this.of), el("button", { type: "button", title: "Show new figures (R)", click: () => this.renew() }, "Refresh"),
				...(d.head.totals ? [el("select", { "aria-label": "New figures", change: (e: Event) => this.choose(+(e.target as HTMLSelectElement).value) },
					...EVERY.map(([s, name]) => el("option", { value: s, selected: s == this.every }, name))),
				el("button", { type: "button", title: "Compare later figures with these", click: () => this.now() }, "Show what changes from now on")] : []));
	}

	private say(text: string, of: string): void {
		if (this.said.textContent != text)
			this.said.textContent = text;
		this.of.textContent = of;
	}

	private choose(every: number): void {
		this.every = every;
		this.used = -USED;
		this.wait();
	}

	// An uncompressed trace is read from its start for new figures, so only on request.
	private wait(): void {
		clearTimeout(this.timer);
		if (this.every && this.d!.head.live && this.d!.head.totals)
			this.timer = setTimeout(() => this.tick(), Math.max(1000 * this.every, REST * this.took));
	}

	// Not while the page is hidden, or a user types, chooses, selects or moves in a graph: an open list
	// would close, and what is selected or not yet applied would be lost.
	private tick(): void {
		const at = document.activeElement, lately = performance.now() - this.used < USED;
		const typed = at instanceof HTMLInputElement && at.type == "text" && at.value != at.defaultValue;
		const busy = lately && (/^(INPUT|SELECT|TEXTAREA|CANVAS)$/.test(at?.tagName ?? "") || getSelection()?.type == "Range");
		if (document.hidden || document.querySelector("dialog[open]") || this.held || typed || busy)
			this.wait();
		else
			this.renew();
	}

	async renew(): Promise<void> {
		if (!this.d?.head.live || this.busy)
			return;
		if (!this.d.head.totals)
			return location.reload();
		clearTimeout(this.timer);
		this.busy = true;
		const from = performance.now();
		try {
			const d = await fresh();
			this.when = clock();
			this.took = performance.now() - from;
			this.replace(d);
		} catch (error) {
			this.say(`These are the figures of ${this.when}: ${(error as Error).message}.`, "");
			this.wait();
		}
		this.busy = false;
	}

	// Compares with what is shown.
	now(): void {
		this.marked = { d: this.d!, when: this.when };
		this.mark();
	}
}

// ---- the same state for other figures ----

// What a state says by numbers that other figures of the same program do not share.  The browser's
// history keeps it beside the address.
export interface Anchor {
	chosen: string;
	zoom: string[]; // the nodes of its path; bottom-up, of the path of its leaf
	outer: number; // bottom-up: how many of them, from the first, its other node has
	from: number; to: number; // ns; -1: from the start, to the end
}

const placeKey = (d: Data, line: number): string =>
	[d.text[d.line.function[line]], d.text[d.line.file[line]], d.line.line[line], d.text[d.line.module[line]]].join("\0");

export function anchor(s: State, d: Data): Anchor {
	const place = s.inverted ? placeOfNumber(s.zoom) : null, path = (node: number) => stackOf(d, node).map(n => placeKey(d, d.lineOf[n]));
	return { chosen: s.chosen ? placeKey(d, s.chosen) : "", zoom: path(s.inverted ? place?.leaf ?? 0 : s.zoom), outer: place ? stackOf(d, place.node).length : 0, from: s.from < 0 ? -1 : d.point.ns[s.from], to: s.to == d.points - 1 ? -1 : d.point.ns[s.to] };
}

function lineOf(d: Data, key: string): number {
	for (let i = 1; key && i < d.line.line.length; i++)
		if (placeKey(d, i) == key)
			return i;
	return 0;
}

// The node with this path, or as much of it as there is.
function nodeOf(d: Data, path: string[]): number {
	let node = 0;
	for (const key of path) {
		let i = node + 1;
		while (i < d.end[node] && placeKey(d, d.lineOf[i]) != key)
			i = d.end[i];
		if (i >= d.end[node])
			break;
		node = i;
	}
	return node;
}

// The place of a bottom-up frame, or 0.
function placeAt(d: Data, path: string[], outer: number): number {
	const stack = stackOf(d, nodeOf(d, path));
	return outer && stack.length == path.length ? numberOfPlace({ leaf: stack[stack.length - 1], node: stack[outer - 1] }) : 0;
}

export function anchored(s: State, a: Anchor, d: Data): State {
	const point = (ns: number) => {
		const i = d.point.ns.findIndex(n => n >= ns);
		return i < 0 ? d.points - 1 : i;
	};
	const to = a.to < 0 ? d.points - 1 : point(a.to);
	return { ...s, measure: measures.find(m => m.key == s.measure.key) ?? measures[0], to, from: a.from < 0 ? -1 : Math.min(point(a.from), to - 1),
		zoom: s.inverted ? placeAt(d, a.zoom, a.outer) : nodeOf(d, a.zoom), chosen: lineOf(d, a.chosen) };
}
