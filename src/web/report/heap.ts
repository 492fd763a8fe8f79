// SPDX-License-Identifier: LGPL-3.0-or-later
// heap.ts - the page with the map of the heap: the player of `mprof movie`, at the time that the
// other pages show.  The data are in the file, or mprof view makes them on request.
import type { MovieData } from "../data";
import { Player } from "../player";
import { quote } from "./command";
import type { Data } from "./data";
import { download, el } from "./element";
import { peakPoint } from "./model";
import type { View } from "./pages";
import type { State } from "./state";

const POLL = 150; // ms

export class Heap {
	private root = el("div", { class: "mprof-movie" });
	private player: Player | null = null;
	private process = 0; // whose heap is shown or requested
	private said = ""; // why no player is shown
	private moment = NaN; // last time sent to the player, which the user may move
	constructor(private d: Data, private changed: () => void) {}

	// Processes with calls in the trace.
	get processes(): { process: number; command: string }[] {
		return this.d.head.report.processes.filter((p: any) => p.events > 0);
	}

	private chosen(s: State): number {
		const all = this.d.head.report.processes.filter((p: any) => p.events > 0) as any[];
		if (!this.d.head.served)
			return this.d.head.heap ?? 0;
		return s.filter.process || all.reduce((x, p) => p.events > x.events ? p : x, all[0] ?? { process: 0, events: 0 }).process;
	}

	private async data(process: number): Promise<MovieData | null> {
		if (!this.d.head.served)
			return JSON.parse(document.getElementById("mprof-heap")!.textContent!);
		for (;;) {
			const told = await (await fetch(`heap?process=${process}`)).json();
			if (this.process != process)
				return null;
			if (told.error)
				throw new Error(told.error);
			if (told.format)
				return told;
			this.say(`Reading the trace: ${told.percent ?? 0} %`);
			await new Promise(done => setTimeout(done, POLL));
		}
	}

	private say(text: string): void {
		this.said = text;
		const status = document.getElementById("heap-status");
		if (status)
			status.textContent = text;
	}

	private async open(process: number): Promise<void> {
		this.process = process;
		this.player?.play(false);
		this.player = null;
		this.moment = NaN;
		this.root = el("div", { class: "mprof-movie" });
		this.say("Reading the trace \u2026");
		try {
			const data = await this.data(process);
			if (!data || this.process != process)
				return;
			this.player = await Player.open(this.root, data);
			this.say("");
		} catch (error) {
			this.say(`The heap cannot be shown: ${(error as Error).message}`);
		}
		this.changed();
	}

	// Moves to the time of the figure: the peak of the window, or its end.
	private follow(s: State): void {
		const last = this.d.points - 1, end = s.measure.key == "end" || s.measure.key == "kept";
		// For the whole run, the process's own peak, which may differ from the peak of all.
		const at = end ? (s.to == last ? Infinity : this.d.point.ns[s.to])
			: s.from < 0 && s.to == last ? -1 : this.d.point.ns[peakPoint(this.d, s.from, s.to)];
		if (at != this.moment)
			this.player!.seekTime(this.moment = at);
	}

	page(v: View): HTMLElement {
		const { d, s } = v, process = this.chosen(s), head = el("h2", {}, "Heap map");
		if (!process)
			return el("section", {}, head, el("p", {}, d.head.report.total_blocks ? "This page was written without a heap map." : "No block was allocated."));
		if (process != this.process)
			void this.open(process);
		requestAnimationFrame(() => {
			if (!this.player || !this.root.isConnected)
				return;
			this.player.arrange();
			this.follow(s);
		});
		const of = this.processes.find(p => p.process == process), several = this.processes.length > 1;
		return el("section", { class: "heap" }, head,
			el("p", {}, "Each square is a page of 4 KiB that contained a block at some time. The map starts at the time that the chosen figure refers to, and can be played from there."),
			several && el("p", {}, `Process ${process}: `, el("code", {}, of?.command ?? ""), d.head.served ? "" :
				". This file contains the heap of the process with the most calls; mprof view shows any process."),
			several && d.head.served && el("label", {}, "Process ", el("select", { change: (e: Event) =>
				v.set({ filter: { ...s.filter, process: +(e.target as HTMLSelectElement).value, thread: 0 } }) },
				...this.processes.map(p => el("option", { value: p.process, selected: p.process == process }, `${p.process}: ${p.command}`.slice(0, 60))))),
			el("p", { id: "heap-status", role: "status" }, this.said), this.player ? this.root : "",
			this.player && el("p", { class: "saves" }, el("button", { type: "button", click: () => this.savePng() }, "Save PNG"),
				el("button", { type: "button", click: () => download("heap.csv", "text/csv", this.csv()) }, "Save CSV")),
			el("p", {}, el("code", {}, `mprof movie${several ? ` --process ${process}` : ""} ${quote(d.head.trace)}`)));
	}

	private savePng(): void {
		this.root.querySelector<HTMLCanvasElement>(".mp-panel canvas")!.toBlob(b => b && download("heap.png", "image/png", b));
	}

	private csv(): string {
		return this.player!.table().map(row => row.join(",")).join("\r\n") + "\r\n";
	}
}
