// SPDX-License-Identifier: LGPL-3.0-or-later
// main.ts - the page: reads the data, keeps the state, redraws what changed.
import { count, many, percent } from "../words";
import { Allocators } from "./allocators";
import { Bar } from "./bar";
import { command, noCommand } from "./command";
import { centre } from "./callgraph";
import { askBefore, figured, isInTime, Others, unseen } from "./compare";
import { curves, layersOf } from "./curves";
import type { Curve } from "./curves";
import { load } from "./data";
import { anchor, anchored, Live } from "./live";
import type { Anchor } from "./live";
import type { Data } from "./data";
import { download, el } from "./element";
import { openInEditor } from "./editor";
import { errorsOf, rangeText } from "./estimate";
import { Flame } from "./flame";
import { Heap } from "./heap";
import { jumpAt, stacksOf } from "./jumps";
import { keepLook } from "./look";
import { ask, chooseMeasures, frameAt, frameTree, functionColor, functionKeys, isFiltered, isWhole, labelOf, lacking, literal, matchingShare, measures, mergedLines, nameOf, numberOfPlace, placeOf, placeOfNumber, searchTest, stackOf, wholeFilter, withoutBlocks } from "./model";
import type { Answer, Filter, Frame, TreeOptions } from "./model";
import { figure, pages } from "./pages";
import type { View } from "./pages";
import { quote } from "./command";
import { refusal, Server } from "./server";
import type { Waiting } from "./server";
import { residentLayers } from "./resident";
import { Texts } from "./sources";
import { fromHash, MARKED, SHARES, toHash } from "./state";
import type { State } from "./state";
import { Timeline } from "./timeline";
import type { Layer } from "./timeline";

const KEYS: [string, string][] = [
	["click, Enter, F", "zoom into a frame"], ["Esc, 0", "show all"], ["arrows, Home", "move from frame to frame"],
	["double click, c", "call graph around the frame's function"], ["s, e", "its source line, here and in an editor (chosen on the page Sources)"], ["f", "only stacks through it"],
	["d", "no stacks through it"], ["m, C", "merge it, or its whole module, into its callers"], ["Ctrl-C, S", "copy its name, its stack"],
	["/, Ctrl-F", "search; on pages without a search field, filter by function"], ["1 to 9", "choose the figure"], ["i", "bottom-up"], ["v", "root on top"], ["l", "library frames"], ["r", "fold recursion"],
	["t, T", "next thread, previous thread"], ["x", "swap the two traces that are compared"], ["*", "expand everything below a row of the tree"],
	["Alt-Left", "back"], ["R", "new figures, while the program runs"], ["[ ]", "move the window"], ["w", "whole run"], ["u", "remove all filters"], ["?", "this list"],
];

const DRAWN = 0.0001; // of the width: half a pixel of 5,000

// What the graph's frames depend on, beside the answer to its question.
const form = (s: State): unknown[] => [s.inverted, s.foldLibraries, s.foldRecursion, s.share, s.merged];

class App {
	private s: State;
	private answer!: Answer;
	private before: Answer | null = null; // asked with it, for Compare
	private server: Server;
	private others: Others;
	private texts: Texts;
	private heap: Heap;
	private tips: HTMLElement;
	private asking = ""; // the question that the server has
	private waiting = ""; // what is said meanwhile
	private asked = "";
	private frames: Frame[] = [];
	private framed = ""; // the question that they answer
	private options: TreeOptions = { inverted: false, foldLibraries: true, least: 0 };
	private layers: Layer[] = [];
	private layered = "";
	private keys: Uint32Array;
	private colors: string[] = []; // of lines
	private lines: Uint32Array;
	private flame: Flame;
	private timeline: Timeline;
	private graph = el("div", { class: "graph" });
	private chosenStack = el("div");
	private found = el("output", { class: "found" });
	private search = el("input", { type: "search", "aria-label": "Search functions", placeholder: "Search or /regexp/", title: "Part of a name, or a regular expression between slashes (/)", size: 16, autocomplete: "off",
		input: () => this.set({ search: this.search.value }, true) });
	private nav = el("nav", { "aria-label": "Pages" });
	private bar: Bar;
	private main = el("main", { id: "page", tabindex: -1 });
	private command = el("code");
	private uncommanded = el("span", { class: "note" });
	private inexact = el("span", { class: "inexact" });
	private footer = el("footer", {}, "As text: ", this.command, " ", this.uncommanded, " ", this.inexact);
	private help = el("dialog", { "aria-label": "Keys" }, el("dl", {}, ...KEYS.flatMap(([k, t]) => [el("dt", {}, k), el("dd", {}, t)])),
		el("form", { method: "dialog" }, el("button", {}, "Close")));

	private parts: HTMLElement[]; // of the document
	private gone = new AbortController(); // ends what would outlive this object

	// last: the same program before.
	constructor(private d: Data, private live: Live, last?: App) {
		const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
		this.tips = tip;
		this.others = last ? last.others : new Others();
		this.others.renew(() => this.show());
		this.texts = last ? last.texts : new Texts();
		this.texts.renew(d, () => this.show());
		this.heap = new Heap(d, () => this.show());
		this.keys = functionKeys(d);
		this.lines = Uint32Array.from(d.line.line, (_, i) => i);
		chooseMeasures(d);
		this.s = last ? this.answerable(anchored(last.s, anchor(last.s, last.d), d)) : this.linked();
		this.flame = new Flame({ name: f => labelOf(d, f.line), color: f => this.color(f), tip: f => this.tip(f) }, tip);
		this.flame.onZoom = frame => this.set({ zoom: this.s.inverted ? numberOfPlace(this.frames[frame]) : this.frames[frame].node });
		this.flame.onKey = (key, f) => this.frameKey(key, f);
		this.flame.onOpen = f => this.set({ page: "callers", chosen: f.line });
		this.bar = new Bar(d, c => this.set(c), () => this.help.showModal(), () => theme());
		this.timeline = new Timeline(d, tip);
		this.timeline.onCurve = (curve, band) => this.set({ curve, band });
		this.timeline.onWindow = (from, to) => this.set({ from, to, exact: null }, true);
		this.timeline.onJump = point => {
			const jump = jumpAt(d, point);
			if (jump)
				this.set(stacksOf(jump));
		};
		this.server = new Server(d);
		document.getElementById("plain")!.hidden = true;
		this.parts = [el("button", { type: "button", class: "skip", click: () => this.main.focus() }, "Skip to the page"), this.nav,
			el("div", { id: "app" }, live.root, this.timeline.root, this.bar.root, this.main, this.footer), tip, this.help];
		document.body.append(...this.parts);
		const signal = this.gone.signal;
		addEventListener("hashchange", () => {
			const before = this.s;
			this.s = this.linked();
			history.replaceState(this.noted(), "");
			this.changed(before);
		}, { signal });
		history.replaceState(this.noted(), "", last ? this.address() : undefined);
		addEventListener("keydown", e => this.key(e), { signal });
		const recolour = () => { this.layered = ""; this.show(); };
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour, { signal });
		addEventListener("mp-theme", recolour, { signal });
		addEventListener("beforeprint", () => { // paper is white
			const before = document.documentElement.dataset.mpTheme;
			addEventListener("afterprint", () => use(before), { once: true });
			use("light");
		}, { signal });
		live.show(d);
		this.show();
	}

	// Later figures of the same program, with the same state.
	replace(d: Data): App {
		const had = document.activeElement, key = focusKey(had), look = keepLook();
		this.gone.abort();
		this.server.cancel();
		for (const part of this.parts)
			part.remove();
		chooseMeasures(d);
		const next = new App(d, this.live, this);
		if (had instanceof HTMLElement && had.isConnected)
			had.focus({ preventScroll: true });
		else
			next.focusOn(had, key);
		look();
		return next;
	}

	private focusOn(had: Element | null, key: string): void {
		if (key)
			[...document.querySelectorAll<HTMLElement>(had!.tagName)].find(e => focusKey(e) == key)?.focus({ preventScroll: true });
	}

	// What the address says; an unknown page is the first one.
	private linked(): State {
		const s = fromHash(location.hash, this.d), noted = history.state as Anchor | null;
		return this.answerable({ ...noted ? anchored(s, noted, this.d) : s, page: pages.some(p => p.key == s.page) ? s.page : pages[0].key });
	}

	// The trace answers what the cells of the page cannot.
	private answerable(s: State): State {
		const { d } = this, at = (n: number) => n < 0 ? 0 : d.point.ns[n];
		return d.head.served && !s.exact && lacking(d, s) && !refusal(figured(s, d)) ? { ...s, exact: { from: at(s.from), to: at(s.to) } } : s;
	}

	// Why the trace cannot answer the exact window; "" if it can, or there is none.
	private refused(): string {
		const why = this.s.exact ? refusal(figured(this.s, this.d)) : "";
		return why && !this.s.measure.value ? why + " What is shown follows the sliders." : why;
	}

	// The question that cells answer; filters that they cannot are left out.
	private answered(): State {
		const { d } = this, s = this.refused() ? { ...this.s, exact: null } : this.s;
		return lacking(d, s) ? { ...s, filter: withoutBlocks(s.filter) } : s;
	}

	private address(): string {
		return "#" + toHash(this.s, this.d);
	}

	// While the program runs: what names the same in later figures.
	private noted(): Anchor | null {
		return this.d.head.live ? anchor(this.s, this.d) : history.state;
	}

	// quiet: adds nothing to the browser's history, for example while a slider moves.
	set(change: Partial<State>, quiet = false): void {
		const before = this.s;
		this.s = this.answerable({ ...this.s, ...change });
		if (change.page || change.measure || change.inverted !== undefined || change.foldLibraries !== undefined ||
				(this.s.inverted && this.framesOf(this.s) != this.framesOf(before))) // nothing may allocate at its place then
			this.s.zoom = change.zoom ?? 0;
		if (change.page)
			this.others.look = unseen();
		const hash = this.address(), noted = this.d.head.live ? anchor(this.s, this.d) : null;
		if (quiet)
			history.replaceState(noted, "", hash);
		else if (location.hash != hash)
			history.pushState(noted, "", hash);
		this.changed(before);
	}

	private question(s: State): string {
		return JSON.stringify([s.measure.key, s.from, s.to, s.filter, s.exact, isInTime(s, this.d)]);
	}

	private framesOf(s: State): string {
		return this.question(s) + JSON.stringify(form(s));
	}

	// A zoom changes nothing but the graph.
	private changed(before: State): void {
		const { s, d } = this, rest = (s: State) => toHash({ ...s, zoom: 0 }, d);
		if (s.zoom == before.zoom || !this.graph.isConnected || rest(s) != rest(before))
			return this.show();
		this.makeFrames();
		this.flame.show(this.frames, this.zoomed());
		this.flame.reveal();
		this.showStack();
	}

	private color(f: Frame): string {
		return f.line ? this.colors[f.line] ??= functionColor(this.d, this.keys, f.line) : getComputedStyle(this.flame.canvas).getPropertyValue("--root");
	}

	private tip(f: Frame): string {
		const unit = this.s.measure.unit, total = this.frames[0]?.sum || 1;
		return `${nameOf(this.d, f.line)}\n${f.line ? placeOf(this.d, f.line) + "\n" : ""}${figure(unit, f.sum)}${unit == "bytes" && !this.s.measure.value && f.blocks ? ` in ${many(f.blocks, "block")}` : ""} (${percent(f.sum, total)})` +
			(f.own && f.own != f.sum ? `, ${figure(unit, f.own)} of its own` : "") +
			(f.also ? `\nestimate: ${rangeText(this.d, this.s.measure, f.sum, f.also)} (95 % confidence)` : "");
	}

	// ---- what is shown ----

	private view(): View {
		const page = pages.find(p => p.key == this.s.page);
		return { d: this.d, s: page?.whole ? this.s : this.answered(), a: this.answer, before: this.before, keys: this.keys, lines: this.lines,
			set: c => this.set(c), flame: () => this.showGraph(), search: this.search, texts: this.texts, others: this.others, heap: this.heap,
			marked: this.live.marked, mark: this.d.head.live && this.d.head.totals ? () => this.live.now() : null, tip: this.tips };
	}

	private show(): void {
		if (this.gone.signal.aborted) // an answer came late
			return;
		const had = document.activeElement, key = focusKey(had);
		this.draw();
		if (had instanceof HTMLElement && had.isConnected)
			had.focus({ preventScroll: true });
		else
			this.focusOn(had, key);
	}

	private draw(): void {
		const { d } = this, page = pages.find(p => p.key == this.s.page) ?? pages[0], s = figured(this.s.exact && !this.refused() ? this.s : this.answered(), d);
		const question = this.question(s);
		if (s.exact && question != this.asked)
			this.askServer(question);
		else if (!s.exact)
			this.server.cancel(), this.asking = "", this.waiting = this.refused();
		if (question != this.asked && (!s.exact || !this.answer)) {
			this.answer = ask(d, s);
			this.before = null;
			this.asked = question;
		}
		const resident = s.page == "resident" && d.head.resident.length > 0, curve = resident ? null : curves.find(c => c.key == s.curve) ?? curves[0];
		this.makeLayers(curve);
		this.timeline.show(s.from, s.to, this.layers, curve, s.band, isFiltered(s.filter));
		this.showNav();
		this.bar.show(figured(this.s, d), this.answer, d.head.served && !d.head.totals && !page.whole ? this.exactWindow() : null, !!page.whole, !isInTime(this.s, d));
		this.search.value = s.search;
		this.main.replaceChildren((d.head.totals && page.totals || page.make)(this.view()));
		if (lacking(d, this.s) && !page.whole && (!s.exact || page.sliders))
			this.main.prepend(el("p", { class: "note" }, `This trace has too many call stacks for ${s.exact ? "what follows the sliders here" : "this page"} to follow filters by process, thread, size and lifetime`,
				...(d.head.served ? ["."] : [": ", el("code", {}, `mprof view ${quote(d.head.trace)}`), " does."])));
		if (page.whole && !isWhole(d, this.s))
			this.main.prepend(el("p", { class: "note" }, `${page.follows ? `Except for ${page.follows}, this` : "This"} page covers the whole run, regardless of window and filters.`));
		if (s.exact && page.sliders)
			this.main.prepend(el("p", { class: "note" }, page.sliders));
		if (!this.answer.exact && !page.whole)
			this.main.prepend(el("p", { class: "note" }, `"${s.measure.title}" is known only for the whole run.`));
		this.command.textContent = command(s.page == "callers" ? { ...s, chosen: centre(this.view()) } : s, d, this.answer);
		this.uncommanded.textContent = noCommand(s, d);
		this.inexact.textContent = d.head.merged_nodes && !page.whole
			? `This page merges ${count(d.head.merged_nodes)} small nodes of the call tree into their callers, so the figures of a function may differ from the command's.` : "";
		this.footer.hidden = !this.command.textContent && !this.uncommanded.textContent;
		this.flame.draw();
		this.flame.reveal();
	}

	// Until the answer arrives, the page shows the previous figures.
	private async askServer(question: string): Promise<void> {
		const s = figured(this.s, this.d), x = s.exact!, said = (w: Waiting) => this.said(question, w.error ?? `Reading the trace: ${w.percent} %`);
		if (question == this.asking)
			return;
		this.asking = question;
		this.waiting = "Reading the trace";
		try {
			const answer = await this.server.ask(s, x, said), before = answer && isInTime(s, this.d) ? await askBefore(this.server, this.d, s, said) : null;
			if (!answer || (!before && isInTime(s, this.d)) || this.asking != question)
				return;
			this.answer = answer;
			this.before = before;
			this.asked = question;
			this.waiting = "";
			this.show();
		} catch (error) {
			this.said(question, `mprof view did not answer: ${error}`);
		}
	}

	private said(question: string, text: string): void {
		if (this.asking != question)
			return;
		this.waiting = text;
		const output = document.getElementById("waiting"); // not on pages of the whole run
		if (output)
			output.textContent = text;
	}

	// Fields for the start and end of a window in seconds, answered from the trace.
	private exactWindow(): HTMLElement {
		const { s, d } = this, x = s.exact, at = (n: number) => n < 0 ? 0 : d.point.ns[n];
		const field = (label: string, ns: number) => el("input", { type: "number", step: "any", min: 0, size: 10, "aria-label": label,
			value: (ns / 1e9).toString() });
		const from = field("Exact start in seconds", x ? x.from : at(s.from)), to = field("Exact end in seconds", x ? x.to : at(s.to));
		const ask = () => {
			const a = Math.round(+from.value * 1e9), b = Math.round(+to.value * 1e9);
			if (a >= 0 && b > a)
				this.set({ exact: { from: a, to: b } });
		};
		return el("form", { class: "exact", submit: (e: Event) => { e.preventDefault(); ask(); } }, "Exact window: ", from, " s to ", to, " s ",
			el("button", {}, "Show this window"), x && el("button", { type: "button", click: () => this.set({ exact: null }) }, "Back to the sliders"),
			el("output", { id: "waiting", role: "status" }, this.waiting));
	}

	private showNav(): void {
		let group = "";
		this.nav.replaceChildren(...pages.flatMap(p => {
			const link = el("a", { href: "#" + toHash({ ...this.s, page: p.key, zoom: 0, measure: measures.find(m => m.key == p.measure) ?? this.s.measure }, this.d),
				"aria-current": p.key == this.s.page ? "page" : null }, p.title);
			const head = p.group != group && p.group ? [el("h2", {}, p.group)] : [];
			group = p.group;
			return [...head, link];
		}));
		if (this.nav.scrollWidth > this.nav.clientWidth) // a strip, on narrow screens
			this.nav.scrollLeft = this.nav.querySelector<HTMLElement>("[aria-current]")!.offsetLeft - 60;
	}

	// Bottom-up, stacks have many times as many frames as nodes, and most are too small to be drawn.
	private makeFrames(): void {
		const { s, d } = this, framed = JSON.stringify([this.asked, form(s), s.inverted && s.zoom]);
		if (framed == this.framed)
			return;
		this.framed = framed;
		this.options = { inverted: s.inverted, foldLibraries: s.foldLibraries, least: s.share / 100,
			foldRecursion: s.foldRecursion, merged: mergedLines(d, s.merged), also: errorsOf(d, s.filter), focus: s.inverted ? placeOfNumber(s.zoom) : null, drawn: DRAWN };
		this.frames = frameTree(d, this.answer, this.keys, this.options);
	}

	// The graph with its toolbar, for the page that has it: others need no frames.
	private showGraph(): HTMLElement {
		const { s, d, flame } = this;
		this.makeFrames();
		flame.search = s.search;
		flame.icicle = s.icicle;
		const check = (label: string, key: "inverted" | "icicle" | "foldRecursion", title: string) => el("label", { title }, el("input", { type: "checkbox",
			checked: s[key], change: () => this.set({ [key]: !this.s[key] }) }), " " + label);
		flame.set(this.frames, 0);
		flame.set(this.frames, this.zoomed());
		const wanted = s.inverted ? searchTest(s.search) : null;
		this.found.textContent = s.search ? `${percent(wanted ? matchingShare(d, this.answer, this.options, wanted) : flame.matches, 1)} in matches` : "";
		this.graph.replaceChildren(el("div", { class: "bar2" }, this.search, this.found,
			check("Bottom-up", "inverted", "Allocating functions first (i)"), check("Root on top", "icicle", "Callers above what they call, or below it (v)"),
			check("Fold recursion", "foldRecursion", "Recursive calls of a function are one frame (r)"),
			el("label", { title: "Frames with a smaller share are left out" }, "At least ", el("input", { type: "range", min: 0, max: SHARES.length - 1, step: 1,
				value: SHARES.indexOf(s.share), "aria-label": "Minimum share of a frame", change: (e: Event) => this.set({ share: SHARES[+(e.target as HTMLInputElement).value] }) }),
				` ${s.share} %`),
			el("button", { type: "button", click: () => flame.zoomTo(0) }, "Show all"),
			el("span", { class: "saves" },
				el("button", { type: "button", click: () => download("flame.svg", "image/svg+xml", flame.svg(s.measure.title)) }, "Save SVG"),
				el("button", { type: "button", click: () => flame.png(b => b && download("flame.png", "image/png", b)) }, "Save PNG"))),
			flame.live, flame.box, this.chosenStack);
		this.showStack();
		return this.graph;
	}

	// The frame that fills the graph.
	private zoomed(): number {
		const { zoom, inverted } = this.s;
		return inverted ? frameAt(this.d, this.frames, this.keys, this.options, placeOfNumber(zoom)) : this.flame.find(zoom);
	}

	// The stack of a frame, as text to copy, innermost function first; bottom-up, frames are the callers of their parents.
	private stackText(f: Frame): string {
		if (!this.s.inverted)
			return stackOf(this.d, f.node).map(n => nameOf(this.d, this.d.lineOf[n])).reverse().join("\n");
		const names: string[] = [];
		for (; f.line; f = this.frames[f.parent])
			names.unshift(nameOf(this.d, f.line));
		return names.join("\n");
	}

	private showStack(): void {
		const i = this.zoomed();
		this.chosenStack.replaceChildren(i ? el("details", {}, el("summary", {}, "Stack of the selected frame"), el("pre", {}, this.stackText(this.frames[i]))) : "");
	}

	// curve: null for resident memory by its parts.
	private makeLayers(curve: Curve | null): void {
		const { d, s } = this, filter = lacking(d, s) ? withoutBlocks(s.filter) : s.filter, question = JSON.stringify(curve ? [curve.key, s.band, filter] : s.whose);
		if (question == this.layered || !d.points)
			return;
		this.layered = question;
		this.layers = curve ? layersOf(d, curve, s.band, filter, this.keys) : residentLayers(d, s.whose, this.keys);
	}

	// Applies a key to the chosen frame of the graph; false: it has no meaning there.
	private frameKey(key: string, f: Frame): boolean {
		const { s, d } = this, name = nameOf(d, f.line), filter = (change: Partial<Filter>) => this.set({ filter: { ...s.filter, ...change }, zoom: 0 });
		const merge = (what: string) => this.set({ merged: [...s.merged.filter(m => m != what), what] });
		if (key == "copy")
			copy(name);
		else if (key == "search")
			this.search.focus();
		else if (key == "S")
			copy(this.stackText(f));
		else if (!f.line)
			return false;
		else if (key == "s" && d.line.file[f.line])
			this.set({ page: "sources", chosen: f.line });
		else if (key == "e")
			return openInEditor(d.text[d.line.file[f.line]], d.line.line[f.line]);
		else if (key == "f")
			filter({ function: literal(name) });
		else if (key == "d")
			filter({ without: literal(name) });
		else if (key == "m")
			merge(name);
		else if (key == "C")
			merge("/" + d.text[d.line.module[f.line]].replace(/.*\//, ""));
		else
			return false;
		return true;
	}

	// Through the threads of the chosen process, with "all" between the last and the first.
	private nextThread(step: number): void {
		const { d } = this, f = this.s.filter;
		const all = [0, ...[...d.thread.number].filter((_, i) => !f.process || d.thread.process[i] == f.process).sort((a, b) => a - b)];
		this.set({ filter: { ...f, thread: all[(Math.max(0, all.indexOf(f.thread)) + step + all.length) % all.length] } });
	}

	private key(e: KeyboardEvent): void {
		const target = e.target as HTMLElement;
		if (e.defaultPrevented) // by an element of the page
			return;
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
		if (n >= 1 && n <= measures.length) isInTime(s, d) || this.set({ measure: measures[n - 1] });
		else if (e.key == "/") this.search.isConnected ? this.search.focus() : this.bar.search();
		else if (e.key == "i") this.set({ inverted: !s.inverted });
		else if (e.key == "v") this.set({ icicle: !s.icicle });
		else if (e.key == "l") this.set({ foldLibraries: !s.foldLibraries });
		else if (e.key == "Escape" || e.key == "0") this.set({ zoom: 0 });
		else if (e.key == "[") move(-Math.ceil(width / 4));
		else if (e.key == "]") move(Math.ceil(width / 4));
		else if (e.key == "w") this.set({ from: -1, to: d.points - 1 });
		else if (e.key == "R") this.live.renew();
		else if (e.key == "r") this.set({ foldRecursion: !s.foldRecursion });
		else if (e.key == "t") this.nextThread(1);
		else if (e.key == "T") this.nextThread(-1);
		else if (e.key == "u") this.set({ filter: wholeFilter(), merged: [] });
		else if (e.key == "x" && s.page == "compare" && s.with >= 0) location.href = swapped(s, d);
		else if (e.key == "?") this.help.showModal();
		else return;
		e.preventDefault();
	}
}

// What tells an element from the others with its tag, before and after it was made anew.
const focusKey = (e: Element | null): string => e && e != document.body
	? [e.tagName, e.getAttribute("aria-label") ?? e.closest("label")?.firstChild?.textContent ?? e.textContent, e.closest("section, nav, .bar")?.className].join(" ") : "";

// Switches between light and dark, regardless of the system's setting.
function theme(): void {
	const chosen = document.documentElement.dataset.mpTheme, dark = chosen ? chosen == "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
	use(dark ? "light" : "dark");
}

// undefined: the system's.
function use(theme: string | undefined): void {
	if (theme)
		document.documentElement.dataset.mpTheme = theme;
	else
		delete document.documentElement.dataset.mpTheme;
	dispatchEvent(new Event("mp-theme"));
}

const copy = (text: string): void => void navigator.clipboard?.writeText(text).catch(() => {}); // it may be forbidden

// The page of the other trace, compared with this one.
const swapped = (s: State, d: Data): string => `../${s.with}/#${toHash({ ...s, with: d.head.index!, zoom: 0, chosen: 0, from: -1, to: d.points - 1 }, d)}`;

function start(): Promise<void> {
	if (document.getElementById("plain")!.dataset.pages == "allocators")
		return Promise.resolve(void new Allocators(theme));
	return load().then(d => {
		if (d.head.format != 1)
			throw new Error(`format ${d.head.format}`);
		let app: App | undefined;
		const live = new Live(d => app = app!.replace(d), () => app!.set({ page: "compare", with: MARKED, measure: measures.find(m => m.key == "end") ?? measures[0] }));
		app = new App(d, live);
	});
}

start().then(() => {
	document.documentElement.dataset.ready = "1";
}).catch(error => {
	document.getElementById("plain")!.prepend(el("p", { class: "note" }, `The data of this page cannot be read: ${error}`));
});
