// SPDX-License-Identifier: LGPL-3.0-or-later
// resident.ts - the page Resident memory: what the pages in memory were used for, whenever
// they were sampled.  Its bands add up to the resident size.
import { bytes, duration } from "../words";
import type { Data } from "./data";
import { column, el, meaning, shareColumn, sortable } from "./element";
import type { Column } from "./element";
import { ask, measures, labelOf, ownerNodes } from "./model";
import { functionRows } from "./pages";
import type { View } from "./pages";
import type { Layer } from "./timeline";

export interface Sample {
	process: number; at_ns: number; rss: number;
	live: number; rounding: number; gaps: number; retained: number; mapped: number; mprof: number; other: number; files: number;
}

type Part = "live" | "rounding" | "gaps" | "retained" | "mapped" | "mprof" | "other" | "files";

// The glossary explains the titles.
export const parts: { key: Part; title: string; color: string }[] = [
	{ key: "live", title: "Live", color: "--s0" }, { key: "rounding", title: "Rounding", color: "--s4" },
	{ key: "gaps", title: "Gaps", color: "--s5" }, { key: "retained", title: "Retained", color: "--s3" },
	{ key: "mapped", title: "Mapped", color: "--s2" }, { key: "mprof", title: "mprof, at most", color: "--s6" },
	{ key: "other", title: "Stacks and other memory", color: "--others" }, { key: "files", title: "Files", color: "--s1" },
];

// Pages under live blocks, by the functions that allocated most of them; and the other parts.
function owners(d: Data, keys: Uint32Array): { parts: { title: string; color: string }[]; of: Map<Sample, Float64Array> } {
	const c = d.share, owner = ownerNodes(d, true), weight = new Map<number, number>(), key = (node: number) => node ? keys[d.lineOf[owner[node]]] : 0;
	c.node.forEach((node, i) => weight.set(key(node), (weight.get(key(node)) ?? 0) + c.bytes[i]));
	const best = [...weight].filter(w => w[0]).sort((a, b) => b[1] - a[1]).slice(0, OWNERS).map(w => w[0]), index = new Map(best.map((b, i) => [b, i]));
	const rest = parts.slice(UNDER_LIVE), of = new Map<Sample, Float64Array>();
	for (const s of d.head.resident)
		of.set(s, Float64Array.from([...best.map(() => 0), 0, ...rest.map(part => s[part.key])]));
	c.node.forEach((node, i) => of.get(d.head.resident[c.sample[i]])![index.get(key(node)) ?? best.length] += c.bytes[i]);
	// Here a page belongs to the live blocks on it; without owners, the bytes of inherited blocks on it are other memory.
	for (const [s, values] of of) {
		let inherited = values.subarray(0, best.length + 1).reduce((n, x) => n + x, 0) - s.live - s.rounding - s.gaps;
		for (const key of ["other", "mprof"]) {
			const at = best.length + 1 + rest.findIndex(part => part.key == key), less = Math.max(0, Math.min(inherited, values[at]));
			values[at] -= less;
			inherited -= less;
		}
	}
	return { parts: [...best.map((b, i) => ({ title: labelOf(d, b), color: "--s" + i })), { title: "Live blocks of others", color: "--s6" },
		...rest.map((part, i) => ({ title: part.title, color: GREYS[i] }))], of };
}

const OWNERS = 6, UNDER_LIVE = 3; // live, rounding, gaps
const GREYS = ["--g0", "--g1", "--g2", "--g3", "--g4"];

// The sum of the last samples of all processes at each point; before its first sample, a process counts with that one.
export function residentLayers(d: Data, whose: boolean, keys: Uint32Array): Layer[] {
	const by = whose && d.own.resident ? owners(d, keys) : null;
	const shown = by?.parts ?? parts, values = (s: Sample) => by?.of.get(s) ?? parts.map(part => s[part.key]);
	const style = getComputedStyle(document.body), ends = new Map<number, [number, number]>();
	for (const p of d.head.report.processes)
		ends.set(p.process, [p.start_ns ?? 0, p.end_ns ?? Infinity]);
	const layers = shown.map(part => ({ name: part.title, help: meaning(part.title), color: style.getPropertyValue(part.color), values: new Float64Array(d.points + 1) }));
	const last = new Map<number, Sample>(), first = new Map<number, Sample>();
	for (const sample of d.head.resident)
		if (!first.has(sample.process))
			first.set(sample.process, sample);
	for (let p = 0, next = 0; p < d.points; p++) {
		const now = d.point.ns[p];
		for (; next < d.head.resident.length && d.head.resident[next].at_ns <= now; next++)
			last.set(d.head.resident[next].process, d.head.resident[next]);
		for (const [process, sample] of first) {
			const [start, end] = ends.get(process) ?? [0, Infinity], s = last.get(process) ?? sample;
			if (now >= start && (now <= end || p == d.points - 1 && end == Infinity))
				values(s).forEach((n, i) => layers[i].values[p] += n);
		}
	}
	return layers;
}

// Whose blocks are on the pages, where the trace has samples of pages.
function whoseMemory(v: View): (HTMLElement | string)[] {
	const { d, s } = v, measure = measures.find(m => m.key == "resident"), largest = d.head.largest;
	if (!measure || !largest)
		return [];
	const view = { ...v, s: { ...s, measure }, a: ask(d, { ...s, measure }) };
	return [el("h3", {}, `Functions whose blocks were on ${bytes(largest.bytes)} of it`),
		el("p", {}, "A page is divided among the live blocks on it, so each function's part includes rounding and gaps. As a flame graph: ",
			el("button", { type: "button", class: "chip", click: () => v.set({ page: "flame", measure }) }, "Resident")),
		el("div", { class: "bar2" }, el("label", {}, el("input", { type: "checkbox", checked: s.whose, change: (e: Event) => v.set({ whose: (e.target as HTMLInputElement).checked }) }),
			" Divide the chart by function")),
		functionRows(view, 12)];
}

const sum = (s: Sample) => parts.reduce((n, part) => n + s[part.key], 0);

export function resident(v: View): HTMLElement {
	const all = v.d.head.resident;
	if (!all.length)
		return el("section", {}, el("h2", {}, "Resident memory"), el("p", {},
			v.d.head.report.kept_from_ns || v.d.head.report.reduced_stacks ? "Resident pages may have blocks whose calls are not in this trace, so what they were used for is unknown."
				: "No sample of resident pages was taken in this run, so what they were used for is unknown."));
	const most = all.reduce((x, s) => s.rss > x.rss ? s : x, all[0]), total = sum(most);
	const columns: Column<Sample>[] = [
		column("at", "Time", duration, s => s.at_ns, { upward: true }),
		column("process", "Process", String, s => s.process, { upward: true }),
		column("rss", "Resident", bytes, s => s.rss, { share: s => s.rss / most.rss }),
		...parts.map(part => column(part.key, part.title, bytes, (s: Sample) => s[part.key])),
	];
	return el("section", { class: "resident" }, el("h2", {}, "Resident memory"),
		el("p", {}, `Process ${most.process} had ${bytes(most.rss)} resident ${duration(most.at_ns)} after the start, the most of ` +
			`${all.length == 1 ? "one sample" : all.length + " samples"}. The chart above shows the last sample before each point in time.`),
		sortable(parts, [
			{ key: "part", title: "Part", text: part => part.title },
			column("bytes", "Bytes", bytes, part => most[part.key], { share: part => most[part.key] / total }),
			shareColumn("share", part => most[part.key], () => total),
			{ key: "help", title: "Use", text: part => meaning(part.title) ?? "" },
		], "bytes", null, "resident-parts"),
		...whoseMemory(v), el("h3", {}, "All samples"), sortable(all, columns, columns.some(c => c.key == v.s.sort) ? v.s.sort : "at", sort => v.set({ sort }), "resident"));
}
