// SPDX-License-Identifier: LGPL-3.0-or-later
// jumps.ts - where live bytes rose or fell within a short time, and which calls did it.
import { bytes, count, duration } from "../words";
import type { Data } from "./data";
import { column, el, shareColumn, sortable } from "./element";
import { measures, labelOf, ownerNodes } from "./model";
import type { View } from "./pages";
import type { State } from "./state";

// From point to point of the timeline (from -1: the start); the change is negative if they fell.
export interface Jump { from: number; to: number; change: number }

const PARTS = 50; // a jump takes at most this part of the points of the timeline
const LEAST = 0.05; // of the peak: smaller changes do not count
const FLAT = 0.02; // of a jump: steps at its ends that change less are not part of it
const MOST = 20;

export function jumpsOf(d: Data): Jump[] {
	const live = (p: number) => p < 0 ? 0 : d.point.live[p], reach = Math.ceil(d.points / PARTS);
	const least = LEAST * Math.max(1, ...d.point.live), all: Jump[] = [], found: Jump[] = [];
	for (let from = -1; from < d.points - 1; from++) {
		const end = Math.min(d.points - 1, from + reach);
		let up = from + 1, down = from + 1;
		for (let to = from + 2; to <= end; to++) {
			if (live(to) > live(up))
				up = to;
			if (live(to) < live(down))
				down = to;
		}
		for (const to of [up, down])
			if (Math.abs(live(to) - live(from)) >= least)
				all.push({ from, to, change: live(to) - live(from) });
	}
	all.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || (a.to - a.from) - (b.to - b.from));
	for (const j of all) {
		if (found.length < MOST && found.every(f => j.to <= f.from || j.from >= f.to))
			found.push(j);
	}
	const flat = (a: number, b: number, j: Jump) => Math.abs(live(b) - live(a)) < FLAT * Math.abs(j.change);
	for (const j of found) {
		while (j.to - j.from > 1 && flat(j.from, j.from + 1, j))
			j.from++;
		while (j.to - j.from > 1 && flat(j.to - 1, j.to, j))
			j.to--;
		j.change = live(j.to) - live(j.from);
	}
	return found;
}

// The jump at a point of the timeline, or the nearest one.
export function jumpAt(d: Data, point: number): Jump | undefined {
	const away = (j: Jump) => Math.max(0, j.from + 1 - point, point - j.to);
	return jumpsOf(d).sort((a, b) => away(a) - away(b))[0];
}

// What shows its stacks: of a rise, those of the blocks that it added; of a fall, what changed.
export const stacksOf = (j: Jump): Partial<State> => ({ from: j.from, to: j.to, exact: null, ...(j.change > 0
	? { page: "flame", measure: measures.find(m => m.key == "kept") ?? measures[0] } : { page: "compare", with: -1 }) });

// Whose blocks most of it was; line -1: most were live when their program ended, by exec or with its process.
interface Row extends Jump { line: number; bytes: number; all: number }

// The blocks that a rise added and kept, or that a fall ended, by function.
function rowsOf(v: View, jumps: Jump[]): Row[] {
	const { d } = v, { node, birth, death, life } = d.cell, owner = ownerNodes(d, v.s.foldLibraries);
	return jumps.map(j => {
		const sums = new Map<number, number>();
		let all = 0;
		for (let i = 0; i < d.cells; i++) {
			if (j.change > 0 ? birth[i] <= j.from || birth[i] > j.to || death[i] <= j.to : birth[i] > j.from || death[i] <= j.from || death[i] > j.to)
				continue;
			const key = j.change < 0 && life[i] >= d.head.never_freed ? -1 : v.keys[d.lineOf[owner[node[i]]]];
			sums.set(key, (sums.get(key) ?? 0) + d.cell.bytes[i]);
			all += d.cell.bytes[i];
		}
		const [line, most] = (sums.get(-1) ?? 0) * 2 > all ? [-1, sums.get(-1)!] : [...sums].filter(s => s[0] >= 0).sort((a, b) => b[1] - a[1])[0] ?? [0, 0];
		return { ...j, line, bytes: most, all };
	});
}

// A short time within a long run has the same words at both ends.
function when(from: number, to: number): string {
	const [a, b] = [duration(from), duration(to)];
	return a == b ? `${a}, within ${duration(to - from)}` : `${a} to ${b}`;
}

export function jumps(v: View): HTMLElement {
	const { d } = v, rows = rowsOf(v, jumpsOf(d)), ns = (p: number) => p < 0 ? 0 : d.point.ns[p], steps = Math.ceil(d.points / PARTS);
	const largest = Math.max(1, ...rows.map(r => Math.abs(r.change))), most = (r: Row) => r.line < 0 ? "live when their program ended" : r.line ? labelOf(d, r.line) : "no stack", open = (r: Row, text: string, title: string) =>
		el("button", { type: "button", class: "name", title, click: () => v.set(stacksOf(r)) }, text);
	return el("section", { class: "jumps" }, el("h2", {}, "Jumps"),
		el("p", {}, `Where live bytes rose or fell by at least ${100 * LEAST} % of the peak within ${count(steps)} of the ${count(d.points)} steps of the timeline. ` +
			"A click shows the call stacks: of a rise, those whose blocks it added; of a fall, those whose blocks ended. Double-click the timeline to do the same for the nearest jump."),
		rows.length ? sortable(rows, [
			column("change", "Change", n => (n > 0 ? "+" : "\u2212") + bytes(Math.abs(n)), r => r.change, { unit: "bytes", weight: r => Math.abs(r.change), share: r => Math.abs(r.change) / largest }),
			column("after", "Live after it", bytes, r => d.point.live[r.to]),
			{ key: "when", title: "When", text: r => when(ns(r.from), ns(r.to)), unit: "ns", value: r => ns(r.from),
				node: r => open(r, when(ns(r.from), ns(r.to)), "The call stacks of this change") },
			{ key: "most", title: "Most of it", text: most, node: r => open(r, most(r), "The call stacks of this change") },
			shareColumn("share", r => r.bytes, r => r.all),
		], "change", null, "jumps") : el("p", {}, "Live bytes never changed that fast: they rose and fell step by step."));
}
