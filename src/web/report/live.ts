// SPDX-License-Identifier: LGPL-3.0-or-later
// live.ts - a page of `mprof view` whose program still runs: new figures from time to time, and what
// has changed since a moment that is marked.
import { load } from "./data";
import type { Data } from "./data";
import { el } from "./element";
import { measures } from "./model";
import type { State } from "./state";

const EVERY: [number, string][] = [[0, "on request"], [2, "every 2 s"], [5, "every 5 s"], [10, "every 10 s"], [60, "every minute"]];
const REST = 10; // server and page then rest at least this many times as long as new figures took
const USED = 15000; // ms

export interface Marked { d: Data; when: string }

// The page that the server makes now: its data, and its heading in place of the old one.
async function fresh(): Promise<Data> {
	const answer = await fetch(location.pathname, { cache: "no-store" });
	if (!answer.ok)
		throw new Error(`status ${answer.status}`);
	const page = new DOMParser().parseFromString(await answer.text(), "text/html"), d = await load(page);
	document.getElementById("run")!.replaceWith(document.adoptNode(page.getElementById("run")!));
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
	private said = el("span", { role: "status" });
	private every = 5; // s; 0: on request
	private d: Data | null = null; // what is shown
	readonly root = el("div", { class: "running" });

	constructor(private replace: (d: Data) => void, private mark: () => void) {
		for (const event of ["pointerdown", "keydown", "change"])
			addEventListener(event, () => this.used = performance.now(), { capture: true });
	}

	// The figures are new.
	show(d: Data): void {
		this.d = d;
		this.wait();
		if (!d.head.live) {
			this.root.hidden = !this.root.childElementCount;
			this.said.textContent = "The program has ended.";
			this.root.replaceChildren(this.said);
			return;
		}
		this.said.textContent = `The program runs: figures of ${this.when}.`;
		if (!this.root.childElementCount)
			this.root.append(this.said, el("button", { type: "button", title: "Show new figures (R)", click: () => this.renew() }, "Refresh"),
				...(d.head.totals ? [el("select", { "aria-label": "New figures", change: (e: Event) => this.choose(+(e.target as HTMLSelectElement).value) },
					...EVERY.map(([s, name]) => el("option", { value: s, selected: s == this.every }, name))),
				el("button", { type: "button", title: "Compare later figures with these", click: () => this.now() }, "Show what changes from now on")] : []));
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

	// Not while the page is hidden, or a user types or chooses: an open list would close.
	private tick(): void {
		const busy = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "") && performance.now() - this.used < USED;
		if (document.hidden || document.querySelector("dialog[open]") || busy)
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
			this.said.textContent = `These are the figures of ${this.when}: mprof view did not answer (${error}).`;
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

const placeKey = (d: Data, line: number): string =>
	[d.text[d.line.function[line]], d.text[d.line.file[line]], d.line.line[line], d.text[d.line.module[line]]].join("\0");

function lineIn(to: Data, from: Data, line: number): number {
	const key = placeKey(from, line);
	for (let i = 1; line && i < to.line.line.length; i++)
		if (placeKey(to, i) == key)
			return i;
	return 0;
}

// The node with the same path, or as much of it as there is.
function nodeIn(to: Data, from: Data, node: number): number {
	if (!node)
		return 0;
	const above = nodeIn(to, from, from.parent[node]), key = placeKey(from, from.lineOf[node]);
	for (let i = above + 1; i < to.end[above]; i = to.end[i])
		if (placeKey(to, to.lineOf[i]) == key)
			return i;
	return above;
}

export function carry(s: State, from: Data, to: Data): State {
	const point = (n: number) => {
		let i = 0;
		while (i < to.points - 1 && to.point.ns[i] < from.point.ns[n])
			i++;
		return i;
	};
	const end = s.to == from.points - 1 ? to.points - 1 : point(s.to);
	return { ...s, measure: measures.find(m => m.key == s.measure.key) ?? measures[0], to: end, from: s.from < 0 ? -1 : Math.min(point(s.from), end - 1),
		zoom: s.inverted ? 0 : nodeIn(to, from, s.zoom), chosen: lineIn(to, from, s.chosen) };
}
