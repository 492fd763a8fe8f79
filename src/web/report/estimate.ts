// SPDX-License-Identifier: LGPL-3.0-or-later
// estimate.ts - the accuracy of figures that are estimated from samples: the ranges of
// profile/estimate.h, which `mprof report` prints.
import { figure } from "./pages";
import { applyNames, ownerNodes } from "./model";
import type { Data } from "./data";
import type { Answer, Filter, Measure } from "./model";

const Z = 1.96; // 95 of 100
const SCALE = 1024; // of the columns
const PARTS = ["samples", "calls", "bytes", "live_bytes", "heaviest_calls", "heaviest_bytes"] as const;
const TOTAL = PARTS.length; // the part after them: all bytes

export const isEstimate = (d: Data): boolean => !!d.head.totals && d.head.report.estimated;

// What a range is computed from, as further figures of nodes; undefined: figures are exact.
export function errorsOf(d: Data, f: Filter): Answer[] | undefined {
	if (!isEstimate(d))
		return undefined;
	return [...PARTS.map(name => d.error[name].map(n => n / SCALE)), d.own.total.slice()].map((own, i) => {
		applyNames(d, f, own, own);
		return { own, blocks: own, sum: own, total: 0, exact: true, most: i < TOTAL && PARTS[i].startsWith("heaviest") };
	});
}

function add(to: number[], errors: Answer[], node: number): void {
	errors.forEach((e, k) => to[k] = e.most ? Math.max(to[k], e.own[node]) : to[k] + e.own[node]);
}

// The smallest plausible mean of a Poisson count, given the greatest of n observations.
function meanOfGreatest(greatest: number, n: number): number {
	const most = Math.log(n / 0.025);
	let low = 0, high = greatest;
	for (let i = 0; i < 60; i++) {
		const mean = (low + high) / 2;
		if (mean - greatest + greatest * Math.log(greatest / mean) > most)
			low = mean;
		else
			high = mean;
	}
	return low;
}

// The 95 % range of a figure, with parts from errorsOf; null: unknown.
export function rangeOf(d: Data, m: Measure, n: number, parts: number[]): [number, number] | null {
	const [samples, calls, all, live, heaviestCalls, heaviestBytes] = parts;
	const byCalls = m.key == "calls";
	if (!samples || (d.head.by_calls && !byCalls) || m.unit == "ns" || m.key == "temporary")
		return null;
	const variance = byCalls ? calls : m.key == "total" ? all : m.key == "peak" ? parts[TOTAL] ? all * n / parts[TOTAL] : 0 : live;
	const w = byCalls ? heaviestCalls : heaviestBytes, centre = n + Z * Z * w / 2, half = Z * Math.sqrt(variance + Z * Z * w * w / 4);
	const unit = m.key == "peak" && n > 0 ? variance / n : 0;
	const low = unit > 0 ? Math.min(centre - half, unit * meanOfGreatest(n / unit, samples)) : centre - half;
	return [Math.max(0, Math.floor(low)), Math.floor(centre + half)];
}

export function rangeText(d: Data, m: Measure, n: number, parts: number[]): string {
	const range = n ? rangeOf(d, m, n, parts) : null;
	return range ? `${figure(m.unit, range[0])} to ${figure(m.unit, range[1])}` : n ? "unknown" : "";
}

// The range of everything that passes the filters.
export function totalRange(d: Data, m: Measure, f: Filter, total: number): string {
	const errors = errorsOf(d, f), parts: number[] = Array(TOTAL + 1).fill(0);
	if (!errors)
		return "";
	for (let i = 0; i < d.head.nodes; i++)
		add(parts, errors, i);
	return rangeText(d, m, total, parts);
}

// Ranges of own figures, by function or line; library code is part of its owner.
export function rangesBy(d: Data, m: Measure, f: Filter, keyOf: Uint32Array, foldLibraries: boolean): ((key: number, n: number) => string) | null {
	const errors = errorsOf(d, f), rows = new Map<number, number[]>(), owner = ownerNodes(d, foldLibraries);
	if (!errors)
		return null;
	for (let i = 1; i < d.head.nodes; i++) {
		const key = keyOf[d.lineOf[owner[i]]];
		add(rows.get(key) ?? rows.set(key, Array(TOTAL + 1).fill(0)).get(key)!, errors, i);
	}
	return (key, n) => rows.has(key) ? rangeText(d, m, n, rows.get(key)!) : "";
}
