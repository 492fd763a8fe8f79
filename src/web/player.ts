// SPDX-License-Identifier: LGPL-3.0-or-later
// player.ts - a movie with its controls.

import { Chart } from "./chart";
import { Colours, KINDS, Kind, Legend } from "./colours";
import { MovieData, Site, unpack } from "./data";
import { Film } from "./film";
import { Layout } from "./layout";
import { Panel, View } from "./panel";
import { Tip, facts } from "./tip";
import { bytes, count, duration } from "./words";

const COLUMNS = [32, 64, 128, 256, 512]; // so that 2 MiB are whole rows
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
const FILMS = ["#3b82f6", "#f97316", "#10b981", "#d946ef", "#eab308", "#06b6d4", "#ef4444",
	"#84cc16", "#8b5cf6", "#f472b6"];
const GAP = 14; // CSS pixels between panels

const KEYS: [string, string][] = [
	["Space", "play or pause"], ["← →", "a frame back or on (in a map: , and .)"],
	["Home End", "first or last frame"], ["p", "the peak"], ["[ ]", "slower or faster"],
	["c", "next colour"], ["x", "mark pinned pages"], ["+ − 0", "closer, farther, all of it"],
	["1 … 9", "an allocator on or off"], ["arrows in a map", "from page to page"],
	["wheel, drag", "zoom and pan; double click: all of it"],
];

const MARKUP = `
<header>
	<h2></h2><p class="mp-about"></p><p class="mp-left-out" role="note" hidden></p>
</header>
<div class="mp-bar" role="toolbar" aria-label="Player">
	<button type="button" class="mp-first" title="First frame (Home)" aria-label="First frame"></button>
	<button type="button" class="mp-back" title="A frame back (←)" aria-label="A frame back"></button>
	<button type="button" class="mp-play" title="Play (Space)" aria-label="Play"></button>
	<button type="button" class="mp-on" title="A frame on (→)" aria-label="A frame on"></button>
	<button type="button" class="mp-last" title="Last frame (End)" aria-label="Last frame"></button>
	<button type="button" class="mp-peak mp-word" title="The frame with most bytes alive (p)">Peak</button>
	<label>Speed <select class="mp-speed"></select></label>
	<label>Colour <select class="mp-kind"></select></label>
	<label class="mp-check"><input type="checkbox" class="mp-pins"> Pinned pages</label>
	<span class="mp-zoom">
		<button type="button" class="mp-out" title="Farther (-)" aria-label="Farther"></button>
		<button type="button" class="mp-fit mp-word" title="All of it (0)">Fit</button>
		<button type="button" class="mp-in" title="Closer (+)" aria-label="Closer"></button>
	</span>
	<label>Find <input type="text" class="mp-find" size="14" placeholder="0x…" spellcheck="false"
		title="The page that has an address (Enter)" autocomplete="off"></label>
	<span class="mp-space"></span>
	<span class="mp-films" role="group" aria-label="Allocators"></span>
	<button type="button" class="mp-theme" title="Light or dark" aria-label="Light or dark"></button>
	<button type="button" class="mp-help mp-word" title="Keys (?)" aria-label="Keys" aria-expanded="false">?</button>
</div>
<div class="mp-keys" hidden><dl></dl></div>
<div class="mp-legend" aria-label="Legend"></div>
<div class="mp-panels"></div>
<div class="mp-time">
	<output class="mp-now"></output>
	<input type="range" class="mp-frame" min="0" step="1" aria-label="Frame">
</div>
<div class="mp-chart-box"></div>
<div class="mp-lines"></div>`;

const ICONS: { [name: string]: string } = {
	first: "M6 5v14M19 5l-10 7 10 7z", back: "M16 5l-10 7 10 7z", play: "M7 4l13 8-13 8z",
	pause: "M7 5h3.5v14H7zM13.5 5H17v14h-3.5z", on: "M8 5l10 7-10 7z",
	last: "M18 5v14M5 5l10 7-10 7z", in: "M12 5v14M5 12h14", out: "M5 12h14",
	theme: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
};

function icon(name: string): string {
	return `<svg viewBox="0 0 24 24" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;
}

export class Player {
	private films: Film[] = [];
	private panels: Panel[] = [];
	private shown: boolean[] = [];
	private sites: Site[] = [];
	private colours!: Colours;
	private chart!: Chart;
	private tip = new Tip();
	private kind: Kind = "occupancy";
	private view: View = { scale: 1, x: 0, y: 0 };
	private fitted = true;
	private frame = 0;
	private frames = 1;
	private playing = false;
	private speed = 1;
	private owed = 0; // parts of a frame that playing has not shown yet
	private before = 0;
	private pins = false;
	private drawn = false; // is a drawing under way?

	private constructor(private root: HTMLElement, private data: MovieData) {}

	static async open(root: HTMLElement, data: MovieData): Promise<Player> {
		const p = new Player(root, data);
		root.innerHTML = MARKUP;
		p.about();
		for (const film of data.films)
			p.films.push(await Film.open(film));
		const packed = await unpack(data.sites);
		p.sites = packed.length ? JSON.parse(new TextDecoder().decode(packed)) : [];
		p.frames = p.films[0].frames;
		p.build();
		p.listen();
		p.arrange();
		p.goto(p.peakFrame());
		root.classList.add("mp-ready");
		return p;
	}

	// ---- parts ----

	private get<T extends HTMLElement>(name: string): T {
		return this.root.querySelector<T>(`.mp-${name}`)!;
	}

	private about(): void {
		const { data } = this;
		const said = [`${count(data.ops)} calls`];
		if (data.ns)
			said.push(`${duration(data.ns)} when it was recorded`);
		if (data.peak_bytes)
			said.push(`at most ${bytes(data.peak_bytes)} alive`);
		if (data.note)
			said.push(data.note);
		this.root.querySelector("h2")!.textContent = data.title;
		this.get("about").textContent = said.join(" · ");
		this.get("left-out").textContent = data.left_out;
		this.get("left-out").hidden = !data.left_out;
	}

	private build(): void {
		const { data } = this;
		this.colours = new Colours(data, this.films, this.sites);
		for (const name of ["first", "back", "play", "on", "last", "in", "out", "theme"])
			this.get(name).innerHTML = icon(name);
		for (const speed of SPEEDS)
			this.get("speed").append(new Option(`${speed} ×`, String(speed), false, speed === 1));
		this.kind = KINDS.find((k) => k === data.by && this.colours.has(k)) ?? "occupancy";
		for (const kind of KINDS) {
			const option = new Option(kind, kind, false, kind === this.kind);
			option.disabled = !this.colours.has(kind);
			this.get("kind").append(option);
		}
		for (const [key, what] of KEYS)
			this.get("keys").firstElementChild!.insertAdjacentHTML("beforeend",
				`<dt>${key}</dt><dd>${what}</dd>`);
		this.films.forEach((film, i) => this.addFilm(film, i));
		this.get("films").hidden = this.films.length < 2;
		this.get("peak").hidden = data.peak_op < 0;
		this.get<HTMLInputElement>("frame").max = String(this.frames - 1);
		this.chart = new Chart(this.films, this.films.map((_, i) => FILMS[i % FILMS.length]),
			data.ops);
		this.get("chart-box").append(this.chart.canvas);
		this.root.append(this.tip.box, this.tip.spoken);
		this.legend();
		this.lines();
	}

	private addFilm(film: Film, i: number): void {
		const colour = FILMS[i % FILMS.length];
		const panel = new Panel(film, i, colour);
		this.panels.push(panel);
		this.shown.push(true);
		this.get("panels").append(panel.root);
		const label = document.createElement("label");
		label.className = "mp-check";
		label.innerHTML = `<input type="checkbox" checked><i></i><span></span>`;
		label.querySelector("i")!.style.background = colour;
		label.querySelector("span")!.textContent = film.name;
		if (i < 9)
			label.title = `On or off (${i + 1})`;
		label.querySelector("input")!.addEventListener("change", () => this.toggle(i));
		this.get("films").append(label);
		this.listenPanel(panel);
	}

	private legend(): void {
		const said: Legend = this.colours.legend(this.kind), to = this.get("legend");
		to.replaceChildren();
		const add = (name: string, text: string, colour = ""): HTMLElement => {
			const span = document.createElement("span");
			span.className = name;
			span.textContent = text;
			if (colour) {
				const box = document.createElement("i");
				box.style.background = colour;
				span.prepend(box);
			}
			to.append(span);
			return span;
		};
		add("mp-legend-title", said.title);
		if (said.ramp) {
			add("mp-end", said.ramp.from);
			add("mp-ramp", "").style.background =
				`linear-gradient(to right, ${said.ramp.colours.join(", ")})`;
			add("mp-end", said.ramp.to);
		}
		for (const s of said.swatches)
			add("mp-swatch", s.label, s.colour);
		if (this.pins)
			add("mp-swatch", "held by less than 64 bytes", this.colours.pin);
	}

	/** What the curves are. */
	private lines(): void {
		this.get("lines").innerHTML = `<span><i class="mp-key-area"></i>asked for</span>
			<span><i class="mp-key-dash"></i>usable</span>
			<span><i class="mp-key-line"></i>resident</span>`;
	}

	// ---- size and view ----

	/** Panels as large as they can be, all with pages of one size. */
	private arrange(): void {
		const panels = this.panels.filter((p) => this.shown[p.index]);
		const width = this.get("panels").clientWidth;
		const height = Math.max(280, window.innerHeight - this.otherHeight());
		for (const p of this.panels)
			p.root.hidden = !this.shown[p.index];
		this.chart.size(this.get("chart-box").clientWidth, 170);
		if (panels.length) {
			const best = this.best(panels, width, height);
			this.get("panels").style.gridTemplateColumns = `repeat(${best.across}, 1fr)`;
			for (const p of panels) {
				p.arrange(best.columns);
				p.size(best.width, best.height);
			}
		}
		if (this.fitted)
			this.fit();
		this.draw();
	}

	/** What stands above and below the panels. */
	private otherHeight(): number {
		const root = this.root.getBoundingClientRect();
		const panels = this.get("panels").getBoundingClientRect();
		const below = this.get("lines").getBoundingClientRect().bottom - panels.bottom;
		return panels.top - root.top + below + 16;
	}

	/** Side by side is better to compare: one above the other must give more than that. */
	private best(panels: Panel[], width: number, height: number) {
		const rows = new Map(COLUMNS.map((c) =>
			[c, Math.max(...panels.map((p) => new Layout(p.film.data, c).rows))]));
		let best = { worth: 0, scale: 0, columns: 64, across: 1, width: 1, height: 1 };
		for (let across = 1; across <= panels.length; across++) {
			const down = Math.ceil(panels.length / across);
			const w = Math.floor((width - GAP * (across - 1)) / across);
			const h = Math.max(140, Math.floor((height - 58 * down) / down));
			for (const columns of COLUMNS) {
				const scale = Math.min(w / columns, h / rows.get(columns)!, 24);
				const worth = scale * (1 + 0.5 * (across - 1) / panels.length);
				if (worth > best.worth * 1.02)
					best = { worth, scale, columns, across, width: w,
						height: Math.max(90, Math.min(h,
							Math.ceil(scale * rows.get(columns)!))) };
			}
		}
		return best;
	}

	private fit(): void {
		const some = this.panels.filter((p) => this.shown[p.index]);
		if (!some.length)
			return;
		const rows = Math.max(...some.map((p) => p.layout.rows));
		const { width, height, layout } = some[0];
		const scale = Math.min(width / layout.columns, height / rows, 24);
		this.view = { scale, x: Math.max(0, (width - scale * layout.columns) / 2), y: 0 };
		this.fitted = true;
		this.draw();
	}

	/** x, y: the point of a panel that stays where it is. */
	private zoom(factor: number, x?: number, y?: number): void {
		const p = this.panels.find((q) => this.shown[q.index]);
		if (!p)
			return;
		const { view } = this;
		const scale = Math.max(0.05, Math.min(96, view.scale * factor));
		x = x ?? p.width / 2;
		y = y ?? p.height / 2;
		view.x = x - (x - view.x) * scale / view.scale;
		view.y = y - (y - view.y) * scale / view.scale;
		view.scale = scale;
		this.fitted = false;
		this.draw();
	}

	// ---- time ----

	private peakFrame(): number {
		const f = this.films[0];
		return f && this.data.peak_op >= 0 ? f.frameAt(this.data.peak_op + 1) : 0;
	}

	private goto(frame: number): void {
		this.frame = Math.max(0, Math.min(this.frames - 1, frame));
		this.draw();
	}

	/** Frames are those of the first film; others show what they have at its calls. */
	private seek(film: Film): void {
		const first = this.films[0];
		film.seek(film === first ? this.frame : film.frameAt(first.figures.op[this.frame]));
	}

	private play(on: boolean): void {
		if (on && this.frame === this.frames - 1)
			this.goto(0);
		this.playing = on;
		this.owed = 0;
		this.before = performance.now();
		const button = this.get("play");
		button.innerHTML = icon(on ? "pause" : "play");
		button.title = on ? "Pause (Space)" : "Play (Space)";
		button.setAttribute("aria-label", on ? "Pause" : "Play");
		if (on)
			requestAnimationFrame((now) => this.tick(now));
	}

	private tick(now: number): void {
		if (!this.playing)
			return;
		this.owed += Math.max(0, now - this.before) / 1000 * this.data.fps * this.speed;
		this.before = now;
		const whole = Math.floor(this.owed);
		this.owed -= whole;
		if (whole)
			this.goto(this.frame + whole);
		if (this.frame === this.frames - 1)
			this.play(false);
		else
			requestAnimationFrame((t) => this.tick(t));
	}

	// ---- drawing ----

	private draw(): void {
		if (this.drawn)
			return;
		this.drawn = true;
		requestAnimationFrame(() => {
			this.drawn = false;
			this.drawNow();
		});
	}

	private drawNow(): void {
		let op = 0, ns = 0;
		for (const p of this.panels) {
			if (!this.shown[p.index])
				continue;
			this.seek(p.film);
			p.draw(this.colours, this.kind, this.view, this.pins);
			op = p.film.figures.op[p.film.frame];
			ns = p.film.figures.ns[p.film.frame];
		}
		this.chart.draw(this.shown, op);
		this.now(op, ns);
		const panel = this.panels.find((p) => p.page >= 0 && this.shown[p.index]);
		if (panel && !this.tip.box.hidden)
			this.tellPage(panel);
	}

	private now(op: number, ns: number): void {
		const p = this.panels.find((q) => this.shown[q.index]);
		const range = this.get<HTMLInputElement>("frame");
		const said = [`frame ${this.frame + 1} of ${this.frames}`, `${count(op)} calls`];
		if (this.data.ns && ns)
			said.push(duration(ns));
		if (p) {
			const f = p.film.figures, i = p.film.frame;
			said.push(`${bytes(f.requested[i])} asked for in ${count(f.blocks[i])} blocks`);
		}
		range.value = String(this.frame);
		range.setAttribute("aria-valuetext", said.slice(0, 2).join(", "));
		this.get("now").textContent = said.join(" · ");
		this.root.dataset.frame = String(this.frame);
	}

	// ---- pages under a pointer or the keyboard ----

	private pointer = { x: 0, y: 0 };

	private tellPage(panel: Panel): void {
		this.tip.show(panel.film.name, this.factsOf(panel), this.pointer.x, this.pointer.y);
	}

	private factsOf(panel: Panel) {
		return facts(panel.film, panel.layout, panel.page, this.data, this.sites);
	}

	private choose(panel: Panel, page: number): void {
		for (const p of this.panels)
			p.page = p === panel ? page : -1;
		this.draw();
	}

	private listenPanel(panel: Panel): void {
		const { canvas } = panel;
		let drag: { x: number; y: number } | null = null;
		canvas.addEventListener("pointerdown", (e) => {
			drag = { x: e.clientX, y: e.clientY };
			canvas.setPointerCapture(e.pointerId);
		});
		canvas.addEventListener("pointerup", () => { drag = null; });
		canvas.addEventListener("pointercancel", () => { drag = null; });
		canvas.addEventListener("pointermove", (e) => {
			this.pointer = { x: e.clientX, y: e.clientY };
			if (drag) {
				this.view.x += e.clientX - drag.x;
				this.view.y += e.clientY - drag.y;
				drag = { x: e.clientX, y: e.clientY };
				this.fitted = false;
				this.tip.hide();
				this.draw();
				return;
			}
			const page = panel.pageAt(e.offsetX, e.offsetY, this.view);
			this.choose(panel, page);
			if (page < 0)
				this.tip.hide();
			else
				this.tellPage(panel);
		});
		canvas.addEventListener("pointerleave", () => {
			this.tip.hide();
			this.choose(panel, -1);
		});
		canvas.addEventListener("wheel", (e) => {
			e.preventDefault();
			this.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)), e.offsetX, e.offsetY);
		}, { passive: false });
		canvas.addEventListener("dblclick", () => this.fit());
		canvas.addEventListener("keydown", (e) => this.panelKey(panel, e));
	}

	/** The arrow keys of a map: from page to page. */
	private panelKey(panel: Panel, e: KeyboardEvent): void {
		const step: { [key: string]: number } = { ArrowLeft: -1, ArrowRight: 1,
			ArrowUp: -panel.layout.columns, ArrowDown: panel.layout.columns };
		if (!(e.key in step) || e.ctrlKey || e.altKey || e.metaKey)
			return;
		e.preventDefault();
		e.stopPropagation();
		const last = panel.layout.pages - 1;
		if (last < 0)
			return;
		const page = panel.page < 0 ? 0 : Math.max(0, Math.min(last, panel.page + step[e.key]));
		this.goToPage(panel, page);
	}

	/** The page that has an address: in the first film that has one. */
	private find(text: string): void {
		const hex = text.trim().replace(/^0x/i, "");
		const address = /^[0-9a-f]{1,16}$/i.test(hex) ? BigInt("0x" + hex) : -1n;
		const panel = this.panels.find((p) => this.shown[p.index] && p.layout.pageOf(address) >= 0);
		this.get("find").setAttribute("aria-invalid", String(!panel));
		if (!panel) {
			this.tip.hide();
			this.tip.spoken.textContent = "No film has this address";
			return;
		}
		if (this.view.scale < 12)
			this.zoom(12 / this.view.scale);
		this.goToPage(panel, panel.layout.pageOf(address));
	}

	private goToPage(panel: Panel, page: number): void {
		this.choose(panel, page);
		this.reveal(panel, page);
		const box = panel.canvas.getBoundingClientRect();
		const [x, y] = panel.pointOf(page, this.view);
		this.pointer = { x: box.left + x + this.view.scale, y: box.top + y + this.view.scale };
		this.seek(panel.film);
		this.tellPage(panel);
		this.tip.say(panel.film.name, this.factsOf(panel));
	}

	/** Pans so that the page can be seen. */
	private reveal(panel: Panel, page: number): void {
		const [x, y] = panel.pointOf(page, this.view), s = this.view.scale;
		this.view.x -= Math.max(0, x + s - panel.width) + Math.min(0, x);
		this.view.y -= Math.max(0, y + s - panel.height) + Math.min(0, y);
	}

	// ---- controls ----

	private toggle(i: number): void {
		if (i >= this.films.length)
			return;
		this.shown[i] = !this.shown[i];
		this.get("films").querySelectorAll("input")[i].checked = this.shown[i];
		this.arrange();
	}

	private setKind(kind: Kind): void {
		this.kind = kind;
		this.get<HTMLSelectElement>("kind").value = kind;
		this.legend();
		this.draw();
	}

	private nextKind(): void {
		const kinds = KINDS.filter((k) => this.colours.has(k));
		this.setKind(kinds[(kinds.indexOf(this.kind) + 1) % kinds.length]);
	}

	private setPins(on: boolean): void {
		this.pins = on;
		this.get<HTMLInputElement>("pins").checked = on;
		this.legend();
		this.draw();
	}

	private faster(by: number): void {
		const select = this.get<HTMLSelectElement>("speed");
		select.selectedIndex = Math.max(0, Math.min(SPEEDS.length - 1, select.selectedIndex + by));
		this.speed = SPEEDS[select.selectedIndex];
	}

	private theme(): void {
		const dark = getComputedStyle(this.root).getPropertyValue("--mp-theme").trim() === "dark";
		document.documentElement.dataset.mpTheme = dark ? "light" : "dark";
		this.draw();
	}

	private help(): void {
		const box = this.get("keys");
		box.hidden = !box.hidden;
		this.get("help").setAttribute("aria-expanded", String(!box.hidden));
		this.arrange();
	}

	private key(e: KeyboardEvent): void {
		const target = e.target as HTMLElement;
		if (e.ctrlKey || e.altKey || e.metaKey || target.closest("select, input[type=text]"))
			return;
		const checks = target.closest("button, input[type=checkbox]");
		const actions: { [key: string]: () => void } = {
			" ": () => this.play(!this.playing), k: () => this.play(!this.playing),
			ArrowLeft: () => this.pausedGoto(this.frame - 1), ",": () => this.pausedGoto(this.frame - 1),
			ArrowRight: () => this.pausedGoto(this.frame + 1), ".": () => this.pausedGoto(this.frame + 1),
			Home: () => this.pausedGoto(0), End: () => this.pausedGoto(this.frames - 1),
			p: () => this.pausedGoto(this.peakFrame()),
			"[": () => this.faster(-1), "]": () => this.faster(1), c: () => this.nextKind(),
			x: () => this.setPins(!this.pins), "+": () => this.zoom(1.4), "=": () => this.zoom(1.4),
			"-": () => this.zoom(1 / 1.4), "0": () => this.fit(), "?": () => this.help(),
			Escape: () => this.tip.hide(),
		};
		const action = /^[1-9]$/.test(e.key) ? () => this.toggle(Number(e.key) - 1) : actions[e.key];
		if (!action || e.key === " " && checks)
			return;
		e.preventDefault();
		action();
	}

	private pausedGoto(frame: number): void {
		this.play(false);
		this.goto(frame);
	}

	private listen(): void {
		const click = (name: string, f: () => void) => this.get(name).addEventListener("click", f);
		click("first", () => this.pausedGoto(0));
		click("back", () => this.pausedGoto(this.frame - 1));
		click("play", () => this.play(!this.playing));
		click("on", () => this.pausedGoto(this.frame + 1));
		click("last", () => this.pausedGoto(this.frames - 1));
		click("peak", () => this.pausedGoto(this.peakFrame()));
		click("in", () => this.zoom(1.4));
		click("out", () => this.zoom(1 / 1.4));
		click("fit", () => this.fit());
		click("theme", () => this.theme());
		click("help", () => this.help());
		const range = this.get<HTMLInputElement>("frame");
		range.addEventListener("input", () => this.pausedGoto(Number(range.value)));
		const kind = this.get<HTMLSelectElement>("kind");
		kind.addEventListener("change", () => this.setKind(kind.value as Kind));
		const speed = this.get<HTMLSelectElement>("speed");
		speed.addEventListener("change", () => { this.speed = Number(speed.value); });
		const pins = this.get<HTMLInputElement>("pins");
		pins.addEventListener("change", () => this.setPins(pins.checked));
		this.root.addEventListener("keydown", (e) => this.key(e));
		document.addEventListener("keydown", (e) => {
			if (e.target === document.body)
				this.key(e);
		});
		const find = this.get<HTMLInputElement>("find");
		find.addEventListener("keydown", (e) => {
			if (e.key === "Enter")
				this.find(find.value);
		});
		this.listenChart();
		window.addEventListener("resize", () => this.arrange());
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
	}

	private listenChart(): void {
		const { canvas } = this.chart;
		const seek = (e: PointerEvent) => {
			if (this.films.length)
				this.pausedGoto(this.films[0].frameAt(this.chart.opAt(e.offsetX)));
		};
		canvas.addEventListener("pointerdown", (e) => {
			canvas.setPointerCapture(e.pointerId);
			seek(e);
		});
		canvas.addEventListener("pointermove", (e) => {
			if (e.buttons & 1)
				seek(e);
		});
	}
}
