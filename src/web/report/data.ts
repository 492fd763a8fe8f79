// SPDX-License-Identifier: LGPL-3.0-or-later
// data.ts - the page's data, unpacked into typed arrays.  README.md is the format.

import type { StackUse, Variables } from "./outside";
import type { Sample } from "./resident";

export interface Value { name: string; unit: "bytes" | "calls" | "ns"; help: string }

// Blocks of one stack that grew step by step; sizes are the smallest first and the largest one.
export interface Growth {
	node: number; chains: number; steps: number; copies: number; moved: number; copied_bytes: number; longest: number;
	first_bytes: number; largest_bytes: number; reserve_bytes: number; saved_calls: number; saved_copied_bytes: number; spare_bytes: number;
}

export interface Head {
	format: number;
	command: string;
	trace: string;
	nodes: number;
	merged_nodes: number;
	coarse: boolean;
	totals?: boolean; // of a profile: no cells, and own.* is all there is
	beside?: boolean; // those of a trace (--totals)
	by_calls?: boolean; // sampled by calls: only their number has a range
	threads?: unknown[]; // of a profile: rows of mprof report hot --by thread --json
	processes?: unknown[]; // and --by process
	cross_frees?: { pairs: [number, number, number, number][]; blocks: number; bytes: number; left_out_blocks: number };
	realloc: { chains: number; steps: number; copies: number; copied_bytes: number; left_out: number; rows: Growth[] }; // not of a profile
	suppressed: { pattern: string; why: string; blocks: number; bytes: number }[];
	resident: Sample[]; // by time
	largest?: { process: number; at_ns: number; rss: number; bytes: number }; // the sample of own.resident
	stacks: { rows: StackUse[]; left_out: number }; // most used first
	variables: Variables; // without those in columns
	served: boolean; // by mprof view, which answers requests
	live: boolean; // and the program still runs
	made: number; // how often it made the page before
	sources: boolean; // their text is in the page
	heap?: number; // the process whose heap is in the page
	traces?: string[]; // that it serves, if several; this one is number index
	index?: number;
	left_open: boolean; // the program might have freed the blocks that were left
	never_freed: number;
	taken_by_exec: number;
	values: Value[];
	columns: { name: string; count: number }[];
	report: any; // mprof report --json: mprof-json(5)
}

export interface Data {
	head: Head;
	text: string[]; // [0] is ""
	line: { function: Uint32Array; file: Uint32Array; line: Uint32Array; module: Uint32Array; library: Uint8Array };
	source: { file: Uint32Array; text: Uint32Array; why: Uint32Array; change: Uint32Array }; // numbers of texts
	thread: { number: Uint32Array; process: Uint32Array }; // by number in the run
	// Call stacks of head.stacks.rows: lengths, and lines outermost first, with the bytes of their frames.
	interval: { count: Uint32Array; ns: Float64Array; deepest: Float64Array };
	deepest: { lines: Uint32Array; asked: Uint32Array; line: Uint32Array; bytes: Float64Array };
	variable: { [column: string]: Float64Array }; // largest first; resident plus 1, 0: unknown
	parent: Uint32Array; // of each node; the root's is 0
	end: Uint32Array; // node + 1 + nodes below it: the subtree is [node, end)
	depth: Uint16Array;
	lineOf: Uint32Array; // of each node, index of line; the root's is 0 (none)
	own: { [value: string]: Float64Array };
	extreme: { [name: string]: Float64Array }; // size_least, size_most, life_least, life_most of each node, plus 1; 0: no block
	share: { sample: Uint32Array; node: Uint32Array; bytes: Float64Array }; // of samples: resident pages under live blocks; node 0: the rest
	error: { [name: string]: Float64Array }; // of estimates (estimate.ts)
	point: { [name: string]: Float64Array };
	points: number;
	cell: {
		node: Uint32Array; birth: Uint16Array; death: Uint16Array; thread: Uint32Array;
		size: Uint8Array; life: Uint8Array; blocks: Float64Array; bytes: Float64Array; temporary: Float64Array;
	};
	cells: number;
}

// In every browser since 2023, but missing in the types of older compilers.
declare const DecompressionStream: { new(format: string): { readable: ReadableStream; writable: WritableStream } };

async function inflate(base64: string): Promise<Uint8Array> {
	const from = (Uint8Array as any).fromBase64;
	const packed: Uint8Array = from ? from.call(Uint8Array, base64.trim())
		: Uint8Array.from(atob(base64.trim()), c => c.charCodeAt(0));
	const stream = new Blob([packed as BlobPart]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Reader {
	private at = 0;
	constructor(private bytes: Uint8Array) {}

	// Numbers below 2^53; larger ones lose their low digits.
	numbers<T extends { [i: number]: number }>(to: T, count: number): T {
		const bytes = this.bytes;
		let at = this.at;
		for (let i = 0; i < count; i++) {
			let b = bytes[at++], n = b & 127;
			for (let scale = 128; b & 128; scale *= 128) {
				b = bytes[at++];
				n += (b & 127) * scale;
			}
			to[i] = n;
		}
		this.at = at;
		return to;
	}

	texts(count: number): string[] {
		const lengths = this.numbers(new Uint32Array(count), count), decoder = new TextDecoder();
		return ["", ...Array.from(lengths, n => decoder.decode(this.bytes.subarray(this.at, this.at += n)))];
	}
}

// Depths are stored as levels up; the order of nodes gives the tree.
function shape(data: Data, up: Uint32Array): void {
	const n = data.head.nodes, path: number[] = [0];
	for (let i = 1; i < n; i++) {
		const depth = data.depth[i - 1] + 1 - up[i - 1];
		data.depth[i] = depth;
		data.parent[i] = path[depth - 1];
		path[depth] = i;
	}
	for (let i = 0; i < n; i++)
		data.end[i] = i + 1;
	for (let i = n - 1; i > 0; i--)
		if (data.end[i] > data.end[data.parent[i]])
			data.end[data.parent[i]] = data.end[i];
}

// Differences become numbers.
function addUp(data: Data): void {
	const c = data.cell;
	let node = 0, birth = 0;
	for (let i = 0; i < data.cells; i++) {
		if (c.node[i])
			birth = 0;
		node = c.node[i] += node;
		birth = c.birth[i] += birth;
		c.death[i] += birth;
	}
}

const VARIABLE = ["name", "object", "file", "line", "bytes", "resident", "thread"]; // names of texts are numbers

export async function load(document: Document = globalThis.document): Promise<Data> {
	const head = JSON.parse(new TextDecoder().decode(await inflate(document.getElementById("mprof-head")!.textContent!))) as Head;
	const reader = new Reader(await inflate(document.getElementById("mprof-data")!.textContent!));
	const n = head.nodes, count = new Map(head.columns.map(c => [c.name, c.count]));
	const lines = count.get("line.function")!, cells = count.get("cell.node")!, files = count.get("source.file") ?? 0, points = count.get("point.ns")!;
	const shares = count.get("share.node") ?? 0, threads = count.get("thread.number") ?? 0;
	const data: Data = {
		share: { sample: new Uint32Array(shares), node: new Uint32Array(shares), bytes: new Float64Array(shares) },
		head, text: [], points, cells, own: {}, extreme: {}, error: {}, point: {},
		variable: Object.fromEntries(VARIABLE.map(name => [name, new Float64Array(count.get("variable." + name) ?? 0)])),
		interval: { count: new Uint32Array(count.get("interval.count") ?? 0), ns: new Float64Array(count.get("interval.ns") ?? 0),
			deepest: new Float64Array(count.get("interval.ns") ?? 0) },
		deepest: { lines: new Uint32Array(count.get("deepest.lines") ?? 0), asked: new Uint32Array(count.get("deepest.lines") ?? 0), line: new Uint32Array(count.get("deepest.line") ?? 0),
			bytes: new Float64Array(count.get("deepest.bytes") ?? 0) },
		line: {
			function: new Uint32Array(lines + 1), file: new Uint32Array(lines + 1), line: new Uint32Array(lines + 1),
			module: new Uint32Array(lines + 1), library: new Uint8Array(lines + 1),
		},
		source: { file: new Uint32Array(files), text: new Uint32Array(files), why: new Uint32Array(files), change: new Uint32Array(files) },
		thread: { number: new Uint32Array(threads), process: new Uint32Array(threads) },
		parent: new Uint32Array(n), end: new Uint32Array(n), depth: new Uint16Array(n), lineOf: new Uint32Array(n),
		cell: {
			node: new Uint32Array(cells), birth: new Uint16Array(cells), death: new Uint16Array(cells),
			thread: new Uint32Array(cells), size: new Uint8Array(cells), life: new Uint8Array(cells),
			blocks: new Float64Array(cells), bytes: new Float64Array(cells), temporary: new Float64Array(cells),
		},
	};
	const up = new Uint32Array(n), c = data.cell;
	const to: { [name: string]: any } = {
		"node.up": up, "node.line": data.lineOf.subarray(1),
		"share.sample": data.share.sample, "share.node": data.share.node, "share.bytes": data.share.bytes,
		"interval.count": data.interval.count, "interval.ns": data.interval.ns, "interval.deepest": data.interval.deepest,
		"deepest.lines": data.deepest.lines, "deepest.asked": data.deepest.asked, "deepest.line": data.deepest.line, "deepest.bytes": data.deepest.bytes,
		"thread.number": data.thread.number, "thread.process": data.thread.process,
		"cell.node": c.node, "cell.birth": c.birth, "cell.life": c.death, "cell.thread": c.thread,
		"cell.size_class": c.size, "cell.life_class": c.life, "cell.blocks": c.blocks, "cell.bytes": c.bytes, "cell.temporary": c.temporary,
	};
	for (const name of ["function", "file", "line", "module", "library"] as const)
		to["line." + name] = data.line[name].subarray(1);
	for (const name of ["file", "text", "why", "change"] as const)
		to["source." + name] = data.source[name];
	for (const name of VARIABLE)
		to["variable." + name] = data.variable[name];
	for (const column of head.columns) {
		const [group, name] = column.name.split(".");
		if (column.name == "text.bytes")
			data.text = reader.texts(column.count);
		else if (group == "own" || group == "extreme" || group == "error")
			data[group][name] = reader.numbers(new Float64Array(column.count), column.count);
		else if (group == "point")
			data.point[name] = reader.numbers(new Float64Array(column.count), column.count);
		else
			reader.numbers(to[column.name] ?? [], column.count); // a column of a later version
	}
	shape(data, up);
	addUp(data);
	return data;
}
