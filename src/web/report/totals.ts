// SPDX-License-Identifier: LGPL-3.0-or-later
// totals.ts - the pages of a profile, which has totals and no calls: those that differ from the
// pages of a trace, and the notice in place of pages that need calls.
import { bytes, count, duration, many, percent, were } from "../words";
import { quote } from "./command";
import { column, el, shareColumn, sortable } from "./element";
import { isEstimate } from "./estimate";
import { fullTable, leftTitle, measures, threadTitle } from "./model";
import type { Column } from "./element";
import type { Measure } from "./model";
import { flameTitle, left, lineColumns, processColumns, processRss, processTree, suppressed } from "./pages";
import type { View } from "./pages";
import type { State } from "./state";

const record = (v: View): HTMLElement => el("code", {}, `mprof record -- ${v.d.head.command}`);

// In place of a page that needs individual calls.
export const needsCalls = (title: string, what: string) => (v: View): HTMLElement => el("section", {}, el("h2", {}, title),
	el("p", { class: "needs-calls" }, `This file contains totals of the whole run but no individual calls, so ${what} unknown. To see it: `, v.d.head.beside
		? el("code", {}, `mprof report --html FILE ${quote(v.d.head.trace)}`) : record(v)));

const notSampled = (v: View, title: string, what: string): HTMLElement => el("section", {}, el("h2", {}, title),
	el("p", { class: "needs-calls" }, `Samples do not show ${what}. For exact totals: `, el("code", {}, `mprof profile -- ${v.d.head.command}`)));

// Figures of the whole run.
export function numbers(v: View): HTMLElement {
	const { d } = v, r = d.head.report, t = r.total, about = isEstimate(d) ? "\u2248 " : "", seconds = d.point.ns[d.points - 1] / 1e9;
	const rss = Math.max(0, ...d.point.rss), measure = (key: string): Partial<State> => ({ measure: measures.find(m => m.key == key) ?? measures[0] });
	const list: [string, string, string, Partial<State>][] = [
		["Peak", about + bytes(r.peak.bytes), "Most live requested bytes" + (r.peak.process ? `, of process ${r.peak.process}` : ""), measure("peak")],
		["Allocated", about + bytes(t.figures.total), "Requested bytes of all allocations", measure("total")],
		["Recycled", r.peak.bytes ? about + (t.figures.total / r.peak.bytes).toFixed(1) + " times" : "-", "Allocated bytes for each byte of the peak", { page: "lifetimes" }],
		["Allocations", about + count(t.figures.calls), "Calls that allocated a block", measure("calls")],
		...(seconds > 0 ? [["Allocations/s", about + count(t.figures.calls / seconds), "Allocations per second, on average", { curve: "calls" }] as [string, string, string, Partial<State>]] : []),
		[leftTitle(d), about + bytes(t.figures.leaked), "Without what libraries keep on purpose", measure("leaked")],
		...(isEstimate(d) ? [] : [["Temporary", percent(t.figures.temporary, t.figures.calls), "Allocations that the same thread freed with its next call",
			measure("temporary")] as [string, string, string, Partial<State>]]),
		["Mean size", about + bytes(t.sizes.mean), "Requested bytes of an allocation", { page: "sizes" }],
		...(rss ? [["Resident (RSS)", bytes(rss), "Most memory in use, at the end of a step of the timeline", { curve: "rss" }] as [string, string, string, Partial<State>]] : []),
	];
	return el("section", { class: "numbers" }, ...list.map(([name, value, help, change]) =>
		el("button", { type: "button", title: help, click: () => v.set(change) }, el("small", {}, name), el("b", {}, value))));
}

interface SizeRow { from: number; calls: number; freed: number }

export function sizes(v: View): HTMLElement {
	const r = v.d.head.report, list = r.sizes as SizeRow[], most = Math.max(1, ...list.map(s => s.calls));
	if (isEstimate(v.d))
		return notSampled(v, "Sizes", "how many blocks had each size");
	return el("section", {}, el("h2", {}, "Sizes"), el("p", {}, `From ${bytes(r.total.sizes.min)} to ${bytes(r.total.sizes.max)}, ${bytes(r.total.sizes.mean)} on average. ` +
		"The page Functions has the sizes of each function (Every figure)."),
		sortable(list, [
			column("from", "From", bytes, s => s.from, { upward: true }),
			column("count", "Allocations", count, s => s.calls, { share: s => s.calls / most }),
			shareColumn("share", s => s.calls, () => r.total.figures.calls),
			column("live", "Never freed", count, s => Math.max(0, s.calls - s.freed)),
		], "from", null, "sizes"),
		el("p", {}, "Sizes over time and by lifetime are known only from individual calls: ", record(v)));
}

export function lifetimes(v: View): HTMLElement {
	const { d, s } = v, t = d.head.report.total, l = t.lifetimes_ns, rows = fullTable(d, s.filter, v.keys, s.foldLibraries).filter(r => r.own.freed > 0);
	const mean = (r: typeof rows[0]) => r.own.lifetime / r.own.freed, most = Math.max(1, ...rows.map(mean));
	return el("section", {}, el("h2", {}, "Lifetimes"), el("p", {}, l ? `${many(t.blocks.freed, "block")} ${were(t.blocks.freed)} freed. They lived ${duration(l.mean)} on average` +
		(l.max && !isEstimate(d) ? `, from ${duration(l.min)} to ${duration(l.max)}.` : ".") : "No block was freed."),
		rows.length > 0 && sortable(rows, [
			column("mean", "Mean life", duration, mean, { share: r => mean(r) / most }),
			column("freed", "Freed", count, r => r.own.freed),
			column("calls", "Allocations", count, r => r.own.calls),
			...lineColumns<typeof rows[0]>(v, r => r.line),
		], "freed", null, "lifetimes"),
		el("p", {}, "The distribution of lifetimes needs individual calls: ", record(v)));
}

export function realloc(v: View): HTMLElement {
	const r = v.d.head.report, a = r.total.reallocs, grown = r.realloc_grown_bytes;
	if (isEstimate(v.d))
		return notSampled(v, "Realloc", "what realloc did");
	return el("section", {}, el("h2", {}, "Realloc"), el("p", {}, a.calls ? `${many(a.calls, "block")} reallocated, of which ${count(a.moved)} moved; at most ${bytes(a.copied_bytes)} copied. ` +
		`They ${grown < 0 ? "shrank" : "grew"} by ${bytes(Math.abs(grown))}.` : "No block was reallocated."),
		el("p", {}, "Which blocks grew step by step, and what to reserve, is known only from individual calls: ", record(v)));
}

export function leaks(v: View): HTMLElement {
	const { d } = v, t = d.head.report.total, about = isEstimate(d) ? "About " : "";
	return el("section", {}, el("h2", {}, "Never freed"), el("p", {}, `${about}${many(t.blocks.live, "block")}, ${bytes(t.figures.live)}, ${left(d, t.blocks.live)}` +
		(t.figures.live > t.figures.leaked ? `; libraries keep ${bytes(t.figures.live - t.figures.leaked)} of them on purpose.` : ".")), flameTitle(v, "leaked"), v.flame(), suppressed(v));
}

export function threads(v: View): HTMLElement {
	const { d } = v, list = d.head.threads as any[] | undefined;
	if (!list)
		return el("section", {}, el("h2", {}, "Threads"), el("p", {}, "There are too many to list here: ", el("code", {}, `mprof report hot --by thread ${quote(d.head.trace)}`)));
	const most = Math.max(1, ...list.map(t => t.figures.calls));
	return el("section", {}, el("h2", {}, "Threads"), isEstimate(d) && el("p", {}, "Estimates from samples."), sortable(list, [
		column("thread", "Thread", n => threadTitle(d, n), t => t.thread, { upward: true }),
		column("calls", "Allocations", count, t => t.figures.calls, { share: t => t.figures.calls / most }),
		column("bytes", "Allocated", bytes, t => t.figures.total),
		column("freed", "Freed", count, t => t.blocks.freed, { help: "Blocks that this thread freed, including those of other threads." }),
		...(isEstimate(d) ? [] : [column("temporary", "Temporary", count, (t: any) => t.figures.temporary)]),
		column("sites", "Call stacks", count, t => t.sites),
	], v.s.sort == "own" ? "calls" : v.s.sort, sort => v.set({ sort }), "threads"),
		el("p", {}, "Blocks freed by other threads, and what each thread allocates by function, are known only from individual calls: ", record(v)));
}

// The ranks of a parallel program, or its hosts.
function ranks(v: View): HTMLElement | false {
	const list = v.d.head.report.ranks as any[], most = Math.max(1, ...list.map(r => r.peak_bytes));
	return list.length > 0 && el("div", {}, el("h3", {}, list.some(r => r.rank !== null) ? "Ranks" : "Hosts"), sortable(list, [
		column("rank", "Rank", String, r => r.rank === null ? null : Number(r.rank), { upward: true }),
		{ key: "host", title: "Host", text: r => r.host ?? "-" },
		column("processes", "Processes", count, r => r.processes),
		column("calls", "Allocations", count, r => r.calls),
		column("bytes", "Allocated", bytes, r => r.bytes),
		column("peak", "Peak", bytes, r => r.peak_bytes, { text: r => bytes(r.peak_bytes) + (r.outlier ? " (stands out)" : ""), share: r => r.peak_bytes / most }),
		column("left", "Never freed", bytes, r => r.never_freed_bytes),
		column("process", "Largest process", count, r => r.largest_process, { upward: true }),
	], "rank", null, "ranks"));
}

export function processes(v: View): HTMLElement {
	const { d } = v, by = new Map((d.head.processes as any[] ?? []).map(p => [p.process, p])), figures = (p: any) => by.get(p.process)?.figures ?? {};
	const figure = (key: string, title: string, text: (n: number) => string, figureOf: string): Column<any> =>
		column(key, title, text, p => figures(p)[figureOf] ?? 0);
	return el("section", {}, el("h2", {}, "Processes"), sortable(processTree(v), [
		...processColumns(), figure("calls", "Allocations", count, "calls"), figure("bytes", "Allocated", bytes, "total"),
		figure("peak", "Own peak", bytes, "peak"), figure("left", "Never freed", bytes, "live"),
		processRss(),
	], v.s.sort == "own" ? "" : v.s.sort, sort => v.set({ sort }), "processes"), ranks(v));
}

// The main figure of a view of mprof report.
export const measureOfView = (view: string): Measure | undefined => {
	const key = ({ peak: "peak", leaks: "leaked", hot: "calls", temporary: "temporary" } as { [view: string]: string })[view];
	return measures.find(m => m.key == key);
};
