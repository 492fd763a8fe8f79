// SPDX-License-Identifier: LGPL-3.0-or-later
// film.ts - one allocator's heap at any frame.
//
// A frame is stored as its changes from the previous one, with a copy of all pages
// every KEY frames, so that any frame is at most KEY steps away.

import { FilmData, Numbers, unpack } from "./data";

const KEY = 32;
const LOOKS = 32; // frames that are sampled for the owners' shares of the film

export const enum State {
	ABSENT = 0, // not the allocator's memory
	MAPPED = 1, // address space without memory
	RESIDENT = 2,
	UNKNOWN = 3, // residency was not sampled
}

/** One array for each figure, by frame.  In bytes unless noted. */
const FIGURES = ["op", "ns", "requested", "usable", "blocks", "pages", "pinned", "retained",
	"resident"] as const;
// op: calls before it.  pages: with at least one live byte.  pinned: of these, with less than 64.
// retained: pages resident without a live byte.  resident: 0 if not sampled.
export type Figures = { [K in (typeof FIGURES)[number]]: Float64Array };

/** The same by point of a curve; points are closer together than frames. */
const CURVES = ["op", "requested", "usable", "resident"] as const;
export type Curves = { [K in (typeof CURVES)[number]]: Float64Array };

/** The contents of every page. */
class Pages {
	state: Uint8Array;
	live: Uint16Array; // bytes
	blocks: Uint16Array;
	owner: Uint32Array; // index of Owners: the block with most bytes here; 0: none

	constructor(count: number) {
		this.state = new Uint8Array(count);
		this.live = new Uint16Array(count);
		this.blocks = new Uint16Array(count);
		this.owner = new Uint32Array(count);
	}
	set(from: Pages): void {
		this.state.set(from.state);
		this.live.set(from.live);
		this.blocks.set(from.blocks);
		this.owner.set(from.owner);
	}
}

/** Blocks that had most bytes of a page in a frame; [0]: none. */
export interface Owners {
	size: Float64Array;
	birth: Float64Array; // op
	thread: Uint32Array;
	site: Uint32Array;
}

/** Doubles, little-endian, one column after the other. */
function columns<K extends string>(raw: Uint8Array, names: readonly K[], rows: number):
	{ [N in K]: Float64Array } {
	const out = {} as { [N in K]: Float64Array };
	names.forEach((name, i) => {
		out[name] = new Float64Array(raw.slice(i * rows * 8, (i + 1) * rows * 8).buffer);
	});
	return out;
}

export class Film {
	readonly name: string;
	readonly version: string; // of the allocator, which stands behind two blanks; or ""
	readonly frames: number;
	readonly now: Pages;
	figures!: Figures;
	curves!: Curves;
	owners!: Owners;
	hasBlocks: boolean;
	hasOwners: boolean;
	manyThreads = false;
	frame = -1;
	private first!: Uint32Array; // by frame: index of its first change
	private page!: Uint32Array;
	private to!: Pages; // by change
	private keys: Pages[] = [];
	/** By owner: its pages, summed over LOOKS frames of the film. */
	weight!: Float64Array;

	private constructor(readonly data: FilmData) {
		[this.name, this.version] = (data.name + "  ").split("  ");
		this.frames = data.frames;
		this.now = new Pages(data.pages);
		this.hasBlocks = data.blocks !== undefined;
		this.hasOwners = data.owner !== undefined;
	}

	static async open(data: FilmData): Promise<Film> {
		const f = new Film(data);
		const names = ["frame", "point", "changes", "state", "live", "blocks", "owner", "size", "thread",
			"site"] as const;
		const raw = await Promise.all(names.map((n) => unpack(data[n])));
		f.figures = columns(raw[0], FIGURES, data.frames);
		f.curves = columns(raw[1], CURVES, data.points);
		f.readChanges(raw[2]);
		f.readPages(raw[3], raw[4], raw[5]);
		if (f.hasOwners)
			f.readOwners(raw[6], raw[7], raw[8], raw[9]);
		else
			f.owners = { size: new Float64Array(1), birth: new Float64Array(1),
				thread: new Uint32Array(1), site: new Uint32Array(1) };
		f.makeKeys();
		return f;
	}

	seek(frame: number): void {
		if (frame === this.frame)
			return;
		const key = Math.floor(frame / KEY);
		if (frame < this.frame || this.frame < 0 || key > Math.floor(this.frame / KEY)) {
			this.now.set(this.keys[key]);
			this.frame = key * KEY;
		}
		while (this.frame < frame)
			this.step(++this.frame);
	}

	/** The last frame after at most `op` calls. */
	frameAt(op: number): number {
		let low = 0, high = this.frames - 1;
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (this.figures.op[middle] <= op)
				low = middle;
			else
				high = middle - 1;
		}
		return low;
	}

	private step(frame: number): void {
		const { page, to, now } = this;
		for (let i = this.first[frame]; i < this.first[frame + 1]; i++) {
			const p = page[i];
			now.state[p] = to.state[i];
			now.live[p] = to.live[i];
			now.blocks[p] = to.blocks[i];
			now.owner[p] = to.owner[i];
		}
	}

	private readChanges(raw: Uint8Array): void {
		const numbers = new Numbers(raw);
		this.first = new Uint32Array(this.frames + 1);
		this.page = new Uint32Array(this.data.changed);
		let n = 0;
		for (let frame = 0; frame < this.frames; frame++) {
			this.first[frame] = n;
			let p = 0;
			for (let runs = numbers.next(); runs > 0; runs--) {
				p += numbers.next();
				for (let length = numbers.next(); length > 0; length--)
					this.page[n++] = p++;
			}
		}
		this.first[this.frames] = n;
	}

	private readPages(state: Uint8Array, live: Uint8Array, blocks: Uint8Array): void {
		const n = this.page.length;
		const lives = new Numbers(live), counts = new Numbers(blocks);
		this.to = new Pages(n);
		for (let i = 0; i < n; i++) {
			this.to.state[i] = state[i];
			this.to.live[i] = lives.next();
			if (this.hasBlocks)
				this.to.blocks[i] = counts.next();
		}
	}

	private readOwners(owner: Uint8Array, size: Uint8Array, thread: Uint8Array,
			   site: Uint8Array): void {
		const codes = new Numbers(owner), ages: number[] = [0];
		const held = new Uint32Array(this.data.pages);
		for (let frame = 0, i = 0; frame < this.frames; frame++) {
			const op = this.figures.op[frame];
			for (let before = 0; i < this.first[frame + 1]; i++) {
				const code = codes.next(), p = this.page[i];
				if (code === 0)
					held[p] = 0;
				else if (code === 2)
					held[p] = before;
				else if (code > 2)
					held[p] = ages.push(op - (code - 3)) - 1;
				before = held[p];
				this.to.owner[i] = before;
			}
		}
		const n = ages.length;
		const sizes = new Numbers(size), threads = new Numbers(thread), sites = new Numbers(site);
		this.owners = { size: new Float64Array(n), birth: Float64Array.from(ages),
			thread: new Uint32Array(n), site: new Uint32Array(n) };
		for (let k = 1; k < n; k++) {
			this.owners.size[k] = sizes.next();
			this.owners.thread[k] = threads.next();
			this.owners.site[k] = sites.next();
			this.manyThreads = this.manyThreads || this.owners.thread[k] > 0;
		}
	}

	private makeKeys(): void {
		const every = Math.ceil(this.frames / LOOKS);
		this.weight = new Float64Array(this.owners.size.length);
		for (let frame = 0; frame < this.frames; frame++) {
			this.step(frame);
			if (frame % KEY === 0) {
				const key = new Pages(this.data.pages);
				key.set(this.now);
				this.keys.push(key);
			}
			if ((this.frames - 1 - frame) % every === 0)
				this.weigh();
		}
		this.frame = this.frames - 1;
	}

	private weigh(): void {
		const { live, owner } = this.now;
		for (let p = 0; p < owner.length; p++)
			if (live[p])
				this.weight[owner[p]]++;
	}
}
