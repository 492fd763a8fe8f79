// SPDX-License-Identifier: LGPL-3.0-or-later
// main.ts - the page: reads the data, keeps the state, draws what changed.
import { percent } from "../words";
import { Others } from "./compare";
import { load } from "./data";
import type { Data } from "./data";
import { download, el } from "./element";
import { Flame } from "./flame";
import { ask, frameTree, functionColor, functionKeys, isWhole, measures, nameOf, placeOf, stackOf } from "./model";
import type { Answer, Frame } from "./model";
import { figure, pages } from "./pages";
import type { View } from "./pages";
import { refusal, Server } from "./server";
import { residentLayers } from "./resident";
import { Texts } from "./sources";
import { fromHash, toHash } from "./state";
import type { State } from "./state";
import { Timeline } from "./timeline";
import type { Layer } from "./timeline";

const KEYS: [string, string][] = [
	["click, Enter", "zoom into a frame"], ["Esc, 0", "show all"], ["double click, c", "call graph around a function"],
	["/", "search"], ["1 to 9", "choose the figure"], ["i", "bottom-up"], ["v", "root on top"], ["l", "library frames"],
	["arrows, Home", "move from frame to frame"], ["s", "copy the stack"], ["Alt-Left", "back"], ["[ ]", "move the window"], ["w", "whole run"], ["?", "this list"],
];

class App {
	private s: State;
	private answer!: Answer;
	private server: Server;
	private others = new Others(() => this.show());
	private texts: Texts;
	private tips: HTMLElement;
	private asking = ""; // the question that the server has
	private waiting = ""; // what is said meanwhile
	private asked = "";
	private frames: Frame[] = [];
	private framed = ""; // the question that they answer
	private layers: Layer[] = [];
	private layered = "";
	private keys: Uint32Array;
	private lines: Uint32Array;
	private flame: Flame;
	private timeline: Timeline;
	private graph = el("div", { class: "graph" });
	private found = el("output", { class: "found" });
	private search = el("input", { type: "search", "aria-label": "Search functions", size: 24, autocomplete: "off",
		input: () => this.set({ search: this.search.value }, true) });
	private nav = el("nav", { "aria-label": "Pages" });
	private bar = el("div", { class: "bar", role: "toolbar", "aria-label": "Figure and filters" });
	private main = el("main", { id: "page", tabindex: -1 });
	private command = el("code");
	private help = el("dialog", { "aria-label": "Keys" }, el("dl", {}, ...KEYS.flatMap(([k, t]) => [el("dt", {}, k), el("dd", {}, t)])),
		el("form", { method: "dialog" }, el("button", {}, "Close")));

	constructor(private d: Data) {
		const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
		this.tips = tip;
		this.texts = new Texts(d, () => this.show());
		this.keys = functionKeys(d);
		this.lines = Uint32Array.from(d.line.line, (_, i) => i);
		this.s = fromHash(location.hash, d);
		this.flame = new Flame({ name: f => nameOf(d, f.line), color: f => this.color(f), tip: f => this.tip(f) }, tip);
		this.flame.onZoom = node => this.set({ zoom: node });
		this.flame.onOpen = f => this.set({ page: "callers", chosen: f.line });
		this.timeline = new Timeline(d);
		this.timeline.onWindow = (from, to) => this.set({ from, to, exact: null }, true);
		this.server = new Server(d);
		document.getElementById("plain")!.hidden = true;
		document.body.append(this.nav, el("div", { id: "app" }, this.timeline.root, this.bar, this.main,
			el("footer", {}, "The same as text: ", this.command)), tip, this.help);
		addEventListener("hashchange", () => {
			this.s = fromHash(location.hash, d);
			this.show();
		});
		addEventListener("keydown", e => this.key(e));
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
		this.show();
	}

	// quiet: no step in the browser's history, as while a slider moves.
	set(change: Partial<State>, quiet = false): void {
		this.s = { ...this.s, ...change };
		if (change.page || change.measure || change.inverted !== undefined || change.foldLibraries !== undefined)
			this.s.zoom = change.zoom ?? 0;
		const hash = "#" + toHash(this.s, this.d);
		if (quiet)
			history.replaceState(null, "", hash);
		else if (location.hash != hash)
			history.pushState(null, "", hash);
		this.show();
	}

	private color(f: Frame): string {
		return f.line ? functionColor(this.d, this.keys, f.line) : getComputedStyle(this.flame.canvas).getPropertyValue("--root");
	}

	private tip(f: Frame): string {
		const unit = this.s.measure.unit, total = this.frames[0]?.sum || 1;
		return `${nameOf(this.d, f.line)}\n${placeOf(this.d, f.line)}\n${figure(unit, f.sum)} (${percent(f.sum, total)})` +
			(f.own && f.own != f.sum ? `, ${figure(unit, f.own)} of its own` : "");
	}

	// ---- what is shown ----

	private view(): View {
		return { d: this.d, s: this.s, a: this.answer, keys: this.keys, lines: this.lines,
			set: c => this.set(c), flame: () => this.graph, texts: this.texts, others: this.others, tip: this.tips };
	}

	private show(): void {
		const { s, d } = this, question = JSON.stringify([s.measure.key, s.from, s.to, s.filter, s.exact]);
		if (s.exact && question != this.asked)
			this.askServer(question);
		else if (!s.exact)
			this.server.cancel(), this.asking = this.waiting = "";
		if (question != this.asked && (!s.exact || !this.answer)) {
			this.answer = ask(d, s);
			this.asked = question;
		}
		this.makeLayers();
		const resident = s.page == "resident" && d.head.resident.length > 0;
		this.timeline.show(s.from, s.to, resident ? residentLayers(d) : this.layers, !resident);
		this.showNav();
		this.showBar();
		this.showGraph();
		const page = pages.find(p => p.key == s.page) ?? pages[0], focus = document.activeElement == this.search;
		this.main.replaceChildren(page.make(this.view()));
		if (page.whole && !isWhole(d, s))
			this.main.prepend(el("p", { class: "note" }, "This page is about the whole run, whatever window and filters say."));
		if (!this.answer.exact && !page.whole)
			this.main.prepend(el("p", { class: "note" }, `"${s.measure.title}" is known of the whole run only.`));
		if (focus)
			this.search.focus();
		this.command.textContent = this.asCommand();
		this.flame.draw();
	}

	// Until the trace has told, the page shows what it knew before.
	private async askServer(question: string): Promise<void> {
		const { s } = this, x = s.exact!, no = refusal(s);
		if (question == this.asking)
			return;
		this.asking = question;
		this.waiting = no || "Reading the trace";
		if (no)
			return;
		try {
			const answer = await this.server.ask(s, x, w => this.said(question, w.error ?? `Reading the trace: ${w.percent} %`));
			if (!answer || this.asking != question)
				return;
			this.answer = answer;
			this.asked = question;
			this.waiting = "";
			this.show();
		} catch (error) {
			this.said(question, `mprof view does not answer: ${error}`);
		}
	}

	private said(question: string, text: string): void {
		if (this.asking != question)
			return;
		this.waiting = text;
		document.getElementById("waiting")!.textContent = text;
	}

	// Begin and end of a window in seconds, for the trace itself to answer.
	private exactWindow(): HTMLElement {
		const { s, d } = this, x = s.exact, at = (n: number) => n < 0 ? 0 : d.point.ns[n];
		const field = (label: string, ns: number) => el("input", { type: "number", step: "any", min: 0, size: 10, "aria-label": label,
			value: (ns / 1e9).toString() });
		const from = field("Exact begin in seconds", x ? x.from : at(s.from)), to = field("Exact end in seconds", x ? x.to : at(s.to));
		const ask = () => {
			const a = Math.round(+from.value * 1e9), b = Math.round(+to.value * 1e9);
			if (a >= 0 && b > a)
				this.set({ exact: { from: a, to: b } });
		};
		return el("form", { class: "exact", submit: (e: Event) => { e.preventDefault(); ask(); } }, "Exact window: ", from, " s to ", to, " s ",
			el("button", {}, "Ask the trace"), x && el("button", { type: "button", click: () => this.set({ exact: null }) }, "Back to the sliders"),
			el("output", { id: "waiting", role: "status" }, this.waiting));
	}

	private showNav(): void {
		let group = "";
		this.nav.replaceChildren(...pages.filter(p => !p.several || this.d.head.traces).flatMap(p => {
			const link = el("a", { href: "#" + toHash({ ...this.s, page: p.key, zoom: 0 }, this.d),
				"aria-current": p.key == this.s.page ? "page" : null }, p.title);
			const head = p.group != group && p.group ? [el("h2", {}, p.group)] : [];
			group = p.group;
			return [...head, link];
		}));
		if (this.nav.scrollWidth > this.nav.clientWidth) // a strip, on narrow screens
			this.nav.scrollLeft = this.nav.querySelector<HTMLElement>("[aria-current]")!.offsetLeft - 60;
	}

	private showBar(): void {
		const { s, d } = this, f = s.filter, threads = (d.head.report.threads ?? []) as { thread: number }[];
		const choose = (label: string, options: [string, string][], value: string, change: (v: string) => void) =>
			el("label", {}, label + " ", el("select", { change: (e: Event) => change((e.target as HTMLSelectElement).value) },
				...options.map(([v, t]) => el("option", { value: v, selected: v == value }, t))));
		const power = (n: number) => n < 1 ? "0" : n <= 10 ? String(2 ** (n - 1)) : n <= 20 ? 2 ** (n - 11) + " KiB" : 2 ** (n - 21) + " MiB";
		const sizes: [string, string][] = [["0-64", "all"], ...[[0, 7], [8, 10], [11, 12], [13, 16], [17, 20], [21, 64]].map(([a, b]) =>
			[`${a}-${b}`, b == 64 ? `${power(a)} and more` : `${power(a)} to ${power(b + 1)}`] as [string, string])];
		const lives: [string, string][] = [["0-64", "all"], ["0-10", "up to 1 us"], ["11-20", "1 us to 1 ms"],
			["21-30", "1 ms to 1 s"], ["31-63", "over 1 s"], ["64-64", "never freed"]];
		const range = (v: string) => v.split("-").map(Number);
		this.bar.replaceChildren(
			choose("Figure", measures.map((m, i) => [m.key, `${m.title} (${i + 1})`]), s.measure.key,
				v => this.set({ measure: measures.find(m => m.key == v)! })),
			choose("Thread", [["0", "all"], ...threads.slice(0, 500).map(t => [String(t.thread), String(t.thread)] as [string, string])],
				String(f.thread), v => this.set({ filter: { ...f, thread: +v } })),
			choose("Size", sizes, f.sizeFrom + "-" + f.sizeTo, v => this.set({ filter: { ...f, sizeFrom: range(v)[0], sizeTo: range(v)[1] } })),
			choose("Lifetime", lives, f.lifeFrom + "-" + f.lifeTo, v => this.set({ filter: { ...f, lifeFrom: range(v)[0], lifeTo: range(v)[1] } })),
			el("label", {}, "Through ", el("input", { type: "text", value: f.text, size: 14, "aria-label": "Only stacks below a function, file or module",
				title: "Only stacks at or below a function, file or module with this in its name",
				change: (e: Event) => this.set({ filter: { ...f, text: (e.target as HTMLInputElement).value } }) })),
			el("label", { title: "Show frames of libraries and containers (l)" }, el("input", { type: "checkbox", checked: !s.foldLibraries,
				change: () => this.set({ foldLibraries: !this.s.foldLibraries }) }), " Library frames"),
			el("strong", { class: "total" }, figure(s.measure.unit, this.answer.total)),
			el("button", { type: "button", "aria-label": "Keys", click: () => this.help.showModal() }, "?"));
		if (d.head.served)
			this.bar.append(this.exactWindow());
	}

	private showGraph(): void {
		const { s, d, flame } = this;
		const framed = this.asked + s.inverted + s.foldLibraries;
		if (framed != this.framed)
			this.frames = frameTree(d, this.answer, this.keys, { inverted: s.inverted, foldLibraries: s.foldLibraries, least: 0 });
		this.framed = framed;
		this.search.value = s.search;
		flame.search = s.search;
		flame.icicle = s.icicle;
		const check = (label: string, key: "inverted" | "icicle", title: string) => el("label", { title }, el("input", { type: "checkbox",
			checked: s[key], change: () => this.set({ [key]: !this.s[key] }) }), " " + label);
		flame.show(this.frames, s.inverted ? 0 : flame.find(s.zoom));
		this.found.textContent = s.search ? `${percent(flame.matches, 1)} in matches` : "";
		this.graph.replaceChildren(el("div", { class: "bar2" }, this.search, this.found,
			check("Bottom-up", "inverted", "Allocating functions first (i)"), check("Root on top", "icicle", "Icicle instead of flame (v)"),
			el("button", { type: "button", click: () => flame.zoomTo(0) }, "Show all"),
			el("button", { type: "button", click: () => download("flame.svg", "image/svg+xml", flame.svg(s.measure.title)) }, "Save SVG"),
			el("button", { type: "button", click: () => flame.canvas.toBlob(b => b && download("flame.png", "image/png", b)) }, "Save PNG")),
			flame.live, flame.canvas, this.stack() ?? "");
	}

	// The stack above the zoomed frame, as text to copy.
	private stackText(): string {
		return stackOf(this.d, this.s.zoom).map(n => nameOf(this.d, this.d.lineOf[n])).reverse().join("\n");
	}

	private stack(): HTMLElement | null {
		return this.s.zoom ? el("details", {}, el("summary", {}, "Stack of the chosen frame"), el("pre", {}, this.stackText())) : null;
	}

	// Live memory by owner: the five that hold most at the peak, and the others.
	private makeLayers(): void {
		const { d } = this, question = String(this.s.foldLibraries);
		if (question == this.layered || !d.points)
			return;
		this.layered = question;
		const owner = new Uint32Array(d.head.nodes), weight = new Map<number, number>();
		for (let i = 1; i < owner.length; i++) {
			const line = d.lineOf[i];
			owner[i] = d.line.library[line] && owner[d.parent[i]] ? owner[d.parent[i]] : this.keys[line];
			weight.set(owner[i], (weight.get(owner[i]) ?? 0) + d.own.peak[i]);
		}
		const best = [...weight].sort((a, b) => b[1] - a[1]).slice(0, 5).filter(b => b[1] > 0).map(b => b[0]);
		const names = [...best.map(b => nameOf(d, b)), "others"], colors = ["--s0", "--s1", "--s2", "--s3", "--s4"];
		const style = getComputedStyle(document.body), index = new Map(best.map((b, i) => [b, i]));
		this.layers = names.map((name, i) => ({ name, values: new Float64Array(d.points + 1),
			color: style.getPropertyValue(i < best.length ? colors[i] : "--others") }));
		const c = d.cell;
		for (let i = 0; i < d.cells; i++) {
			const values = this.layers[index.get(owner[c.node[i]]) ?? best.length].values;
			values[c.birth[i]] += c.bytes[i];
			values[Math.min(c.death[i], d.points)] -= c.bytes[i];
		}
		for (const l of this.layers)
			for (let p = 1; p < d.points; p++)
				l.values[p] += l.values[p - 1];
	}

	private asCommand(): string {
		const { s, d } = this, f = s.filter, words = ["mprof", s.measure.command], seconds = (ns: number) => (ns / 1e9).toFixed(9) + "s";
		if (f.thread)
			words.push(`--thread ${f.thread}`);
		if (f.sizeFrom || f.sizeTo < 64)
			words.push(`--size ${f.sizeFrom ? 2 ** (f.sizeFrom - 1) : 0}..${f.sizeTo < 64 ? 2 ** f.sizeTo - 1 : ""}`);
		if (f.text)
			words.push(`--function '*${f.text}*'`);
		if (s.exact && s.measure.key == "end")
			words.splice(1, 1, `report peak --at ${seconds(s.exact.to)}`);
		else if (s.exact)
			words.push(`--time ${seconds(s.exact.from)}..${seconds(s.exact.to)}`);
		else if (s.from >= 0 || s.to < d.points - 1)
			words.push(`--time ${(s.from < 0 ? 0 : d.point.ns[s.from] / 1e9).toFixed(6)}s..${(d.point.ns[s.to] / 1e9).toFixed(6)}s`);
		return [...words, d.head.trace].join(" ");
	}

	private key(e: KeyboardEvent): void {
		const target = e.target as HTMLElement;
		if (e.ctrlKey || e.metaKey || e.altKey || this.help.open || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) {
			if (e.key == "Escape")
				target.blur();
			return;
		}
		const { s, d } = this, width = s.to - s.from, move = (n: number) => {
			const from = Math.max(-1, Math.min(d.points - 1 - width, s.from + n));
			this.set({ from, to: from + width }, true);
		};
		const n = Number(e.key);
		if (n >= 1 && n <= measures.length) this.set({ measure: measures[n - 1] });
		else if (e.key == "/") this.search.focus();
		else if (e.key == "i") this.set({ inverted: !s.inverted });
		else if (e.key == "v") this.set({ icicle: !s.icicle });
		else if (e.key == "l") this.set({ foldLibraries: !s.foldLibraries });
		else if (e.key == "Escape" || e.key == "0") this.set({ zoom: 0 });
		else if (e.key == "[") move(-Math.ceil(width / 4));
		else if (e.key == "]") move(Math.ceil(width / 4));
		else if (e.key == "w") this.set({ from: -1, to: d.points - 1 });
		else if (e.key == "s") navigator.clipboard?.writeText(this.stackText());
		else if (e.key == "?") this.help.showModal();
		else return;
		e.preventDefault();
	}
}

load().then(d => {
	if (d.head.format != 1)
		throw new Error(`format ${d.head.format}`);
	new App(d);
	document.documentElement.dataset.ready = "1";
}).catch(error => {
	document.getElementById("plain")!.prepend(el("p", { class: "note" }, `The data of this page cannot be read: ${error}`));
});
