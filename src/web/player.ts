// SPDX-License-Identifier: LGPL-3.0-or-later
// player.ts - a movie with its controls: time, colours, keys.

import { Chart } from "./chart";
import { Colours, KINDS, Kind } from "./colours";
import { MovieData, Site, unpack } from "./data";
import { Film } from "./film";
import { drawLegend } from "./legend";
import { MARKUP, icon } from "./markup";
import { Pages } from "./pages";
import { Panel } from "./panel";
import { Stage } from "./stage";
import { bytes, duration, many } from "./words";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8];
export const FILMS = ["#3b82f6", "#f97316", "#10b981", "#d946ef", "#eab308", "#06b6d4", "#ef4444",
	"#84cc16", "#8b5cf6", "#f472b6"];

export class Player {
	private films: Film[] = [];
	private sites: Site[] = [];
	private stage: Stage;
	private pages!: Pages;
	private colours!: Colours;
	private chart!: Chart;
	private kind: Kind = "occupancy";
	private frame = 0;
	private frames = 1;
	private playing = false;
	private speed = 1;
	private owed = 0; // fraction of a frame not shown yet
	private before = 0;
	private pins = false;
	private asked = false; // a drawing is scheduled

	private constructor(private root: HTMLElement, private data: MovieData) {
		root.innerHTML = MARKUP;
		this.stage = new Stage(this.get("panels"));
	}

	static async open(root: HTMLElement, data: MovieData): Promise<Player> {
		const p = new Player(root, data);
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

	/** Is it alone in the document?  Otherwise keys and wheel may be meant for other elements. */
	private get alone(): boolean {
		return document.body.querySelectorAll(":scope > :not(script)").length === 1;
	}

	// ---- parts ----

	private get<T extends HTMLElement>(name: string): T {
		return this.root.querySelector<T>(`.mp-${name}`)!;
	}

	private about(): void {
		const { data } = this;
		const said = [many(data.ops, "call")];
		if (data.ns)
			said.push(`${duration(data.ns)} when it was recorded`);
		if (data.peak_bytes)
			said.push(`at most ${bytes(data.peak_bytes)} live`);
		if (data.note)
			said.push(data.note);
		this.root.querySelector("h2")!.textContent = data.title;
		this.get("about").textContent = said.join(" · ");
		this.get("left-out").textContent = data.left_out;
		this.get("left-out").hidden = !data.left_out;
	}

	private build(): void {
		const { data } = this;
		this.pages = new Pages(this.stage, data, this.sites, () => this.draw(),
			(panel) => this.seek(panel.film), this.alone);
		this.dye();
		for (const speed of SPEEDS)
			this.get("speed").append(new Option(`${speed} ×`, String(speed), false, speed === 1));
		this.kind = KINDS.find((k) => k === data.by && this.colours.has(k)) ?? "occupancy";
		for (const kind of KINDS) {
			const option = new Option(kind, kind, false, kind === this.kind);
			option.disabled = !this.colours.has(kind);
			this.get("kind").append(option);
		}
		this.films.forEach((film, i) => this.addFilm(film, i));
		this.get("films").hidden = this.films.length < 2;
		this.get("peak").hidden = data.peak_op < 0;
		this.get<HTMLInputElement>("frame").max = String(this.frames - 1);
		this.chart = new Chart(this.films, this.films.map((_, i) => FILMS[i % FILMS.length]),
			data.ops);
		this.get("chart-box").append(this.chart.canvas);
		this.root.append(this.pages.tip.box, this.pages.tip.spoken);
		this.legend();
	}

	private addFilm(film: Film, i: number): void {
		const colour = FILMS[i % FILMS.length];
		const panel = new Panel(film, i, colour);
		this.stage.add(panel);
		this.pages.listen(panel);
		const label = document.createElement("label");
		label.className = "mp-check";
		label.innerHTML = `<input type="checkbox" checked><i></i><span></span>`;
		label.querySelector("i")!.style.background = colour;
		label.querySelector("span")!.textContent = film.name;
		if (i < 9)
			label.title = `Show or hide (${i + 1})`;
		label.querySelector("input")!.addEventListener("change", () => this.toggle(i));
		this.get("films").append(label);
	}

	/** Applies the colours of the theme. */
	private dye(): void {
		this.colours = new Colours(this.data, this.films, this.sites, this.isDark());
	}

	private legend(): void {
		drawLegend(this.get("legend"), this.colours, this.kind, this.pins);
	}

	/** Gives the panels the remaining height. */
	arrange(): void {
		if (!this.root.isConnected)
			return;
		this.chart.size(this.get("chart-box").clientWidth, 170);
		const root = this.root.getBoundingClientRect();
		const panels = this.get("panels").getBoundingClientRect();
		const below = this.get("lines").getBoundingClientRect().bottom - panels.bottom;
		const others = panels.top - root.top + below + 16;
		this.stage.arrange(Math.max(280, window.innerHeight - others));
		this.draw();
	}

	// ---- time ----

	private peakFrame(): number {
		return this.data.peak_op >= 0 ? this.films[0].frameAt(this.data.peak_op + 1) : 0;
	}

	/** The frame at a time of the run; -1: at the peak. */
	seekTime(ns: number): void {
		const { ns: at } = this.films[0].figures;
		let frame = 0;
		while (frame + 1 < this.frames && at[frame + 1] + this.data.begin_ns <= ns)
			frame++;
		this.pausedGoto(ns < 0 ? this.peakFrame() : frame);
	}

	/** The figures of each frame of the first film, with a line of titles. */
	table(): (string | number)[][] {
		const f = this.films[0].figures;
		return [["calls", "seconds", "requested bytes", "usable bytes", "blocks", "pages with a live byte", "resident bytes"],
			...Array.from({ length: this.frames }, (_, i) => [f.op[i], (f.ns[i] + this.data.begin_ns) / 1e9, f.requested[i], f.usable[i], f.blocks[i], f.pages[i], f.resident[i]])];
	}

	private goto(frame: number): void {
		this.frame = Math.max(0, Math.min(this.frames - 1, frame));
		this.draw();
	}

	private pausedGoto(frame: number): void {
		this.play(false);
		this.goto(frame);
	}

	/** Frames are those of the first film; others show their state after the same number of calls. */
	private seek(film: Film): void {
		const first = this.films[0];
		film.seek(film === first ? this.frame : film.frameAt(first.figures.op[this.frame]));
	}

	play(on: boolean): void {
		if (on && this.frame === this.frames - 1)
			this.goto(0);
		if (on === this.playing)
			return;
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

	/** Draws once for any number of requests. */
	private draw(): void {
		if (this.asked || !this.root.isConnected)
			return;
		this.asked = true;
		requestAnimationFrame(() => {
			this.asked = false;
			this.drawNow();
		});
	}

	private drawNow(): void {
		const { stage } = this;
		for (const p of stage.visible) {
			this.seek(p.film);
			p.draw(this.colours, this.kind, stage.view, this.pins);
		}
		this.chart.draw(stage.shown, this.films[0].figures.op[this.frame]);
		this.now();
		this.pages.refresh();
	}

	private now(): void {
		const range = this.get<HTMLInputElement>("frame");
		const f = this.films[0].figures, i = this.frame;
		const said = [`frame ${i + 1} of ${this.frames}`, many(f.op[i], "call")];
		if (this.data.ns && f.ns[i])
			said.push(duration(f.ns[i]));
		said.push(`${bytes(f.requested[i])} live in ${many(f.blocks[i], "block")}`);
		range.value = String(i);
		range.setAttribute("aria-valuetext", said.slice(0, 2).join(", "));
		this.get("now").textContent = said.join(" · ");
	}

	// ---- controls ----

	private toggle(i: number): void {
		if (i >= this.films.length)
			return;
		this.stage.shown[i] = !this.stage.shown[i];
		this.get("films").querySelectorAll("input")[i].checked = this.stage.shown[i];
		this.arrange();
	}

	private zoom(factor: number): void {
		this.stage.zoom(factor);
		this.draw();
	}

	private fit(): void {
		this.stage.fit();
		this.draw();
	}

	private setKind(kind: Kind): void {
		this.kind = kind;
		this.get<HTMLSelectElement>("kind").value = kind;
		this.legend();
		this.arrange();
	}

	private nextKind(): void {
		const kinds = KINDS.filter((k) => this.colours.has(k));
		this.setKind(kinds[(kinds.indexOf(this.kind) + 1) % kinds.length]);
	}

	private setPins(on: boolean): void {
		this.pins = on;
		this.get<HTMLInputElement>("pins").checked = on;
		this.legend();
		this.arrange();
	}

	private faster(by: number): void {
		const select = this.get<HTMLSelectElement>("speed");
		select.selectedIndex = Math.max(0, Math.min(SPEEDS.length - 1, select.selectedIndex + by));
		this.speed = SPEEDS[select.selectedIndex];
	}

	private isDark(): boolean {
		return getComputedStyle(this.root).getPropertyValue("--mp-theme").trim() === "dark";
	}

	private themeChanged(): void {
		this.dye();
		this.legend();
		this.draw();
	}

	private help(): void {
		const box = this.get("keys");
		box.hidden = !box.hidden;
		this.get("help").setAttribute("aria-expanded", String(!box.hidden));
		this.arrange();
	}

	private readonly keys: { [key: string]: () => void } = {
		" ": () => this.play(!this.playing),
		k: () => this.play(!this.playing),
		ArrowLeft: () => this.pausedGoto(this.frame - 1),
		",": () => this.pausedGoto(this.frame - 1),
		ArrowRight: () => this.pausedGoto(this.frame + 1),
		".": () => this.pausedGoto(this.frame + 1),
		Home: () => this.pausedGoto(0),
		End: () => this.pausedGoto(this.frames - 1),
		p: () => this.pausedGoto(this.peakFrame()),
		"[": () => this.faster(-1),
		"]": () => this.faster(1),
		c: () => this.nextKind(),
		x: () => this.setPins(!this.pins),
		"+": () => this.zoom(1.4),
		"=": () => this.zoom(1.4),
		"-": () => this.zoom(1 / 1.4),
		"0": () => this.fit(),
		"?": () => this.help(),
		Escape: () => this.pages.hide(),
	};

	private key(e: KeyboardEvent): void {
		const target = e.target as HTMLElement;
		if (e.ctrlKey || e.altKey || e.metaKey || target.closest("select, input[type=text]"))
			return;
		const pressed = e.key === " " && target.closest("button, input[type=checkbox]");
		const action = /^[1-9]$/.test(e.key) ? () => this.toggle(Number(e.key) - 1) :
			this.keys[e.key];
		if (!action || pressed)
			return;
		e.preventDefault();
		action();
	}

	private listen(): void {
		const click = (name: string, f: () => void) => this.get(name).addEventListener("click", f);
		click("first", this.keys.Home);
		click("back", this.keys.ArrowLeft);
		click("play", this.keys[" "]);
		click("on", this.keys.ArrowRight);
		click("last", this.keys.End);
		click("peak", this.keys.p);
		click("in", this.keys["+"]);
		click("out", this.keys["-"]);
		click("fit", this.keys["0"]);
		click("help", this.keys["?"]);
		click("theme", () => {
			document.documentElement.dataset.mpTheme = this.isDark() ? "light" : "dark";
			window.dispatchEvent(new Event("mp-theme"));
		});
		this.listenInputs();
		this.listenChart();
		this.root.addEventListener("keydown", (e) => this.key(e));
		if (this.alone)
			document.addEventListener("keydown", (e) => {
				if (e.target === document.body)
					this.key(e);
			});
		window.addEventListener("resize", () => this.arrange());
		window.addEventListener("mp-theme", () => this.themeChanged());
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change",
			() => this.themeChanged());
	}

	private listenInputs(): void {
		const range = this.get<HTMLInputElement>("frame");
		range.addEventListener("input", () => this.pausedGoto(Number(range.value)));
		const kind = this.get<HTMLSelectElement>("kind");
		kind.addEventListener("change", () => this.setKind(kind.value as Kind));
		const speed = this.get<HTMLSelectElement>("speed");
		speed.addEventListener("change", () => { this.speed = Number(speed.value); });
		const pins = this.get<HTMLInputElement>("pins");
		pins.addEventListener("change", () => this.setPins(pins.checked));
		const find = this.get<HTMLInputElement>("find");
		find.addEventListener("keydown", (e) => {
			if (e.key === "Enter")
				find.setAttribute("aria-invalid", String(!this.pages.find(find.value)));
		});
	}

	private listenChart(): void {
		const { canvas } = this.chart;
		const seek = (e: PointerEvent) =>
			this.pausedGoto(this.films[0].frameAt(this.chart.opAt(e.offsetX)));
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
