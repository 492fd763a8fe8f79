// SPDX-License-Identifier: LGPL-3.0-or-later
// server.ts - exact answers from `mprof view`, for windows that begin or end between two points.
import type { Answer, Question } from "./model";
import { applyNames, sumUp } from "./model";
import type { Data } from "./data";

export interface Exact { from: number; to: number } // ns since the start of the run, (from, to]

export interface Waiting { percent: number; error?: string }

const KINDS: { [measure: string]: string } = { peak: "peak", end: "end", kept: "kept", total: "total", calls: "total" };
const POLL = 10, POLL_MOST = 160; // ms until the first request, and longest interval

// Why the trace cannot answer this; "" if it can.
export function refusal(q: Question): string {
	if (!KINDS[q.measure.key])
		return `"${q.measure.title}" is known only for ${q.measure.value ? "the whole run" : "windows of the sliders"}.`;
	return q.filter.lifeFrom || q.filter.lifeTo < 64 ? "Choose all lifetimes for an exact window." : "";
}

function parameters(d: Data, q: Question, x: Exact, id: number): string {
	const p = new URLSearchParams({ id: String(id), made: String(d.head.made), kind: KINDS[q.measure.key], from: String(x.from), to: String(x.to) }), f = q.filter;
	if (f.process)
		p.set("process", String(f.process));
	if (f.thread)
		p.set("thread", String(f.thread));
	if (f.sizeFrom)
		p.set("size_from", String(2n ** BigInt(f.sizeFrom - 1)));
	if (f.sizeTo < 64)
		p.set("size_to", String(2n ** BigInt(f.sizeTo) - 1n));
	return p.toString();
}

interface Told { time_ns?: number; percent?: number; error?: string; cancelled?: boolean; node?: number[]; bytes?: number[]; blocks?: number[] }

export class Server {
	private id = 0;
	constructor(private d: Data) {}

	// Calls `waiting` until the answer arrives; null: a newer question replaced this one.
	async ask(q: Question, x: Exact, waiting: (w: Waiting) => void): Promise<Answer | null> {
		const id = this.id = Math.floor(Math.random() * 2 ** 52) + 1;
		const get = async (what: string): Promise<Told> => (await fetch(what)).json();
		const refused = (await get("ask?" + parameters(this.d, q, x, id))).error;
		if (refused) {
			waiting({ percent: 0, error: refused });
			return null;
		}
		for (let wait = POLL;; wait = Math.min(2 * wait, POLL_MOST)) {
			const told = await get("answer?id=" + id);
			if (id != this.id)
				return null;
			if (told.cancelled || told.error) {
				waiting({ percent: 0, error: told.error ?? "Another page made a different request." });
				return null;
			}
			if (told.node)
				return this.answer(q, told as Required<Told>);
			waiting({ percent: told.percent ?? 0 });
			await new Promise(done => setTimeout(done, wait));
		}
	}

	private answer(q: Question, told: Required<Told>): Answer {
		const own = new Float64Array(this.d.head.nodes), blocks = own.slice();
		told.node.forEach((node, i) => {
			blocks[node] = told.blocks[i];
			own[node] = q.measure.key == "calls" ? told.blocks[i] : told.bytes[i];
		});
		applyNames(this.d, q.filter, own, blocks);
		const sum = sumUp(this.d, own);
		return { own, blocks, sum, total: sum[0], at: told.time_ns, exact: true };
	}

	cancel(): void {
		this.id = 0;
	}
}
