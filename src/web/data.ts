// SPDX-License-Identifier: LGPL-3.0-or-later
// data.ts - types of a movie's data (README.md), and unpacking it.

export const PAGE = 4096;

export interface FilmData {
	name: string;
	frames: number;
	pages: number; // of all spans
	changed: number; // pages in `changes`, over all frames
	residency: boolean; // are the states 1 and 2 distinguished?
	left_out: boolean; // are some blocks too far away, or too large, to be drawn?
	spans: [string, number][]; // address in hexadecimal, pages; rising
	points: number;
	frame: string;
	point: string;
	changes: string;
	state: string;
	live: string;
	blocks?: string;
	owner?: string;
	size?: string;
	thread?: string;
	site?: string;
}

export interface MovieData {
	format: 1;
	title: string;
	note: string;
	ops: number;
	ns: number; // of the recorded run; 0: unknown
	begin_ns: number; // of the first call, since the start of the run; 0: unknown
	fps: number;
	by: string;
	peak_op: number; // -1: unknown
	peak_bytes: number;
	left_out: string; // a sentence, or ""
	threads: string[]; // by index: number in the trace, and name
	sites: string; // packed JSON: Site[]; [0] is "unknown"
	colours: { [name: string]: string[] };
	sizes: number[]; // the greatest size of each class but the last
	films: FilmData[];
}

/** The number of a thread in the trace, from 1, and its name if it has one. */
export function threadTitle(data: MovieData, index: number): string {
	return data.threads[index] ?? String(index + 1);
}

/** Functions from the allocating one outward, and the module of the first. */
export interface Site {
	path: string[];
	module: string;
}

type Deflate = { DecompressionStream?: new (format: string) => TransformStream };

export function canUnpack(): boolean {
	return (globalThis as unknown as Deflate).DecompressionStream !== undefined;
}

/** base64 of zlib. */
export async function unpack(text: string | undefined): Promise<Uint8Array> {
	if (!text)
		return new Uint8Array(0);
	const raw = atob(text);
	const bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		bytes[i] = raw.charCodeAt(i);
	const Stream = (globalThis as unknown as Deflate).DecompressionStream!;
	const out = new Blob([bytes]).stream().pipeThrough(new Stream("deflate"));
	return new Uint8Array(await new Response(out).arrayBuffer());
}

/** Numbers with 7 bits per byte, low bits first; the top bit means that more follow. */
export class Numbers {
	private at = 0;
	constructor(private bytes: Uint8Array) {}

	next(): number {
		let byte = this.bytes[this.at++];
		let value = byte & 127;
		for (let unit = 128; byte > 127; unit *= 128) {
			byte = this.bytes[this.at++];
			value += (byte & 127) * unit;
		}
		return value;
	}
}
