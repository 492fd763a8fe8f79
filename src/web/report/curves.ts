// SPDX-License-Identifier: LGPL-3.0-or-later
// curves.ts - what the timeline draws: a quantity over time, whole or divided into bands.
import { sizeName } from "./bar";
import { applyNames, isFiltered, labelOf, ownerNodes, placeOf, shortFile, threadTest, threadTitle } from "./model";
import type { Filter } from "./model";
import type { Data } from "./data";
import type { Layer } from "./timeline";

export interface Curve {
	key: string;
	title: string;
	unit: "bytes" | "count";
	rate?: boolean; // per second, from one point to the next
	point: string; // the column that has the whole of it; since the start for a rate
	cells?: "bytes" | "blocks" | "temporary"; // of cells that add up to it
	ended?: boolean; // when the blocks end, not when they begin
	help: string;
}

export const curves: Curve[] = [
	{ key: "live", title: "Live bytes", unit: "bytes", point: "live", cells: "bytes", help: "Requested bytes of live blocks" },
	{ key: "blocks", title: "Live blocks", unit: "count", point: "blocks", cells: "blocks", help: "Blocks that were allocated and not yet freed" },
	{ key: "calls", title: "Allocations per second", unit: "count", rate: true, point: "calls", cells: "blocks", help: "Calls that allocated a block" },
	{ key: "bytes", title: "Bytes per second", unit: "bytes", rate: true, point: "bytes", cells: "bytes", help: "Requested bytes of allocations" },
	{ key: "frees", title: "Frees per second", unit: "count", rate: true, point: "frees", help: "Blocks that were freed or reallocated" },
	{ key: "freed", title: "Bytes freed per second", unit: "bytes", rate: true, point: "freed", help: "Requested bytes of blocks that were freed or reallocated" },
	{ key: "temporary", title: "Temporary per second", unit: "count", rate: true, point: "temporary", cells: "temporary", ended: true, help: "Blocks that the same thread freed with its next call" },
	{ key: "rounding", title: "Rounding", unit: "bytes", point: "slack", help: "Usable bytes of live blocks beyond the requested ones" },
	{ key: "mapped", title: "Mapped by the program", unit: "bytes", point: "mapped", help: "Anonymous memory that the program, its libraries or its allocator mapped by mmap or brk" },
	{ key: "rss", title: "Resident", unit: "bytes", point: "rss", help: "Resident memory of all processes, from samples" },
	{ key: "available", title: "Available in the system", unit: "bytes", point: "available", help: "Memory of the machine that programs could still get, from samples" },
	{ key: "free", title: "Unused in the system", unit: "bytes", point: "free", help: "Memory of the machine that nothing used, not even caches of files, from samples" },
	{ key: "swapped", title: "Swap in use", unit: "bytes", point: "swapped", help: "Swap of the machine that is in use, from samples" },
	{ key: "virtual", title: "Virtual size", unit: "bytes", point: "virtual", help: "Address space of all processes, from samples" },
];

export const bands: [string, string][] = [["owner", "function"], ["line", "line"], ["module", "module"], ["thread", "thread"], ["process", "process"],
	["size", "size"], ["none", "nothing"]];

const COLORS = ["--s0", "--s1", "--s2", "--s3", "--s4", "--s5", "--s6"];

// The band of each cell, and the names of bands.
export function grouping(d: Data, band: string, keys: Uint32Array): { of: (cell: number) => number; name: (group: number) => string } {
	const c = d.cell;
	if (band == "thread")
		return { of: i => c.thread[i], name: n => n ? `thread ${threadTitle(d, n)}` : "threads not distinguished" };
	if (band == "process") {
		const process = new Map([...d.thread.number].map((n, i) => [n, d.thread.process[i]]));
		return { of: i => process.get(c.thread[i]) ?? 0, name: n => n ? `process ${n}` : "processes not distinguished" };
	}
	if (band == "size")
		return { of: i => c.size[i] <= 4 ? 4 : Math.ceil(c.size[i] / 2) * 2, name: n => n <= 4 ? sizeName(0, 4) : sizeName(n - 1, n) };
	if (band == "none")
		return { of: () => 1, name: () => "all" };
	// The owner of a node: the nearest outer line that is not a library's.
	const owner = ownerNodes(d, true).map(node => d.lineOf[node]);
	if (band == "module") {
		const base = (n: number) => d.text[n].replace(/.*\//, "");
		return { of: i => d.line.module[owner[c.node[i]]], name: n => n ? base(n) : "no stack" };
	}
	return band == "line"
		? { of: i => owner[c.node[i]], name: n => n ? shortFile(placeOf(d, n)) : "no stack" }
		: { of: i => keys[owner[c.node[i]]], name: n => n ? labelOf(d, n) : "no stack" };
}

function perSecond(d: Data, values: Float64Array): void {
	const ns = d.point.ns;
	for (let p = d.points - 1; p >= 0; p--)
		values[p] *= 1e9 / Math.max(1, ns[p] - (p ? ns[p - 1] : 0));
}

// The column of the curve; a rate applies to the interval before each point.
function whole(d: Data, curve: Curve): Float64Array {
	const values = new Float64Array(d.points + 1), from = d.point[curve.point];
	for (let p = 0; p < d.points; p++)
		values[p] = curve.rate ? from[p] - (p ? from[p - 1] : 0) : from[p];
	if (curve.rate)
		perSecond(d, values);
	return values;
}

// Bands of the blocks that pass the filters, the largest at the bottom, the others on top of them.
export function layersOf(d: Data, curve: Curve, band: string, f: Filter, keys: Uint32Array): Layer[] {
	const style = getComputedStyle(document.body), color = (name: string) => style.getPropertyValue(name);
	if (!curve.cells || d.head.totals || (band == "none" && !isFiltered(f)))
		return [{ name: curve.title, help: curve.help, color: color("--s1"), values: whole(d, curve) }];
	const c = d.cell, value = c[curve.cells], group = grouping(d, band, keys), runs = threadTest(d, f), never = d.head.never_freed;
	const through = new Float64Array(d.head.nodes).fill(1), weight = new Map<number, number>(), passing = new Uint8Array(d.cells);
	applyNames(d, f, through, through);
	let top = 0;
	for (let p = 1; p < d.points; p++)
		if (d.point[curve.point][p] > d.point[curve.point][top])
			top = p;
	for (let i = 0; i < d.cells; i++) {
		const life = c.life[i] >= never ? 64 : c.life[i];
		passing[i] = +(through[c.node[i]] > 0 && runs(c.thread[i]) && c.size[i] >= f.sizeFrom && c.size[i] <= f.sizeTo && life >= f.lifeFrom && life <= f.lifeTo);
		if (passing[i] && (curve.rate || (c.birth[i] <= top && c.death[i] > top)))
			weight.set(group.of(i), (weight.get(group.of(i)) ?? 0) + value[i]);
	}
	const best = [...weight].sort((a, b) => b[1] - a[1]).slice(0, COLORS.length).map(b => b[0]), index = new Map(best.map((b, i) => [b, i]));
	const layers: Layer[] = [...best.map((b, i) => ({ name: group.name(b), color: color(COLORS[i]), values: new Float64Array(d.points + 1) })),
		{ name: "others", color: color("--others"), values: new Float64Array(d.points + 1) }];
	for (let i = 0; i < d.cells; i++) {
		if (!passing[i])
			continue;
		const values = layers[index.get(group.of(i)) ?? best.length].values;
		values[curve.ended ? Math.min(c.death[i], d.points) : c.birth[i]] += value[i];
		if (!curve.rate)
			values[Math.min(c.death[i], d.points)] -= value[i];
	}
	for (const l of layers)
		if (curve.rate)
			perSecond(d, l.values);
		else
			for (let p = 1; p < d.points; p++)
				l.values[p] += l.values[p - 1];
	return layers.filter((l, i) => i < best.length || l.values.some((n, p) => p < d.points && n > 0));
}
