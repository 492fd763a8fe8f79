// SPDX-License-Identifier: LGPL-3.0-or-later
// resident.ts - the page Resident memory: what the pages in memory were used for, whenever
// they were sampled.  Its bands add up to the resident size.
import { bytes, duration, percent } from "../words";
import type { Data } from "./data";
import { el, meaning, sortable } from "./element";
import type { Column } from "./element";
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

// The last sample of each process at each point, added up.  Before its first sample a process has its first.
export function residentLayers(d: Data): Layer[] {
	const style = getComputedStyle(document.body), ends = new Map<number, [number, number]>();
	for (const p of d.head.report.processes)
		ends.set(p.process, [p.start_ns ?? 0, p.end_ns ?? Infinity]);
	const layers = parts.map(part => ({ name: part.title, help: meaning(part.title), color: style.getPropertyValue(part.color), values: new Float64Array(d.points + 1) }));
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
				parts.forEach((part, i) => layers[i].values[p] += s[part.key]);
		}
	}
	return layers;
}

const sum = (s: Sample) => parts.reduce((n, part) => n + s[part.key], 0);

export function resident(v: View): HTMLElement {
	const all = v.d.head.resident;
	if (!all.length)
		return el("section", {}, el("h2", {}, "Resident memory"), el("p", {},
			"No sample of resident pages was taken in this run, so what they were used for is unknown."));
	const most = all.reduce((x, s) => s.rss > x.rss ? s : x, all[0]), total = sum(most);
	const columns: Column<Sample>[] = [
		{ key: "at", title: "Time", number: true, text: s => duration(s.at_ns), value: s => -s.at_ns },
		{ key: "process", title: "Process", number: true, text: s => String(s.process), value: s => -s.process },
		{ key: "rss", title: "Resident", number: true, text: s => bytes(s.rss), value: s => s.rss, share: s => s.rss / most.rss },
		...parts.map(part => ({ key: part.key, title: part.title, number: true,
			text: (s: Sample) => bytes(s[part.key]), value: (s: Sample) => s[part.key] })),
	];
	return el("section", { class: "resident" }, el("h2", {}, "Resident memory"),
		el("p", {}, `Process ${most.process} had ${bytes(most.rss)} in memory ${duration(most.at_ns)} after the start, the most of ` +
			`${all.length == 1 ? "one sample" : all.length + " samples"}. The chart above shows the last sample before each moment.`),
		sortable(parts, [
			{ key: "part", title: "Part", text: part => part.title },
			{ key: "bytes", title: "Bytes", number: true, text: part => bytes(most[part.key]), value: part => most[part.key], share: part => most[part.key] / total },
			{ key: "share", title: "%", number: true, text: part => percent(most[part.key], total), value: part => most[part.key] },
			{ key: "help", title: "What it is", text: part => meaning(part.title) ?? "" },
		], "bytes", () => {}, "resident-parts"),
		el("h3", {}, "All samples"), sortable(all, columns, columns.some(c => c.key == v.s.sort) ? v.s.sort : "at", sort => v.set({ sort }), "resident"));
}
