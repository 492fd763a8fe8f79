// SPDX-License-Identifier: LGPL-3.0-or-later
// timeline.ts - memory over time, and the two sliders that choose a window.
import { bytes, count, duration } from "../words";
import type { Data } from "./data";
import { el } from "./element";

export interface Layer { name: string; values: Float64Array; color: string; help?: string }

const HEIGHT = 110;
const DWARFS = 3; // resident memory that is this many times the live bytes would make their curve flat

export class Timeline {
	readonly root: HTMLElement;
	private canvas = el("canvas", { class: "time", "aria-hidden": "true" });
	private from: HTMLInputElement;
	private to: HTMLInputElement;
	private said = el("output", { class: "window" });
	private legend = el("div", { class: "legend" });
	private layers: Layer[] = [];
	private line = false; // draw resident memory as a line over the layers
	private drag = -1;
	onWindow: (from: number, to: number) => void = () => {};

	constructor(private d: Data) {
		const slider = (label: string) => el("input", { type: "range", min: -1, max: d.points - 1, step: 1,
			"aria-label": label, input: () => this.changed() });
		this.from = slider("Begin of the window");
		this.to = slider("End of the window");
		this.root = el("section", { id: "timeline", "aria-label": "Timeline" }, this.canvas,
			el("div", { class: "sliders" }, this.from, this.to), this.said, this.legend,
			el("button", { type: "button", click: () => this.onWindow(-1, d.points - 1) }, "Whole run"));
		new ResizeObserver(() => this.draw()).observe(this.canvas);
		this.canvas.addEventListener("pointerdown", e => {
			this.drag = this.pointAt(e);
			this.canvas.setPointerCapture(e.pointerId);
		});
		this.canvas.addEventListener("pointermove", e => {
			if (this.drag < 0)
				return;
			const p = this.pointAt(e), a = Math.min(p, this.drag), b = Math.max(p, this.drag);
			if (b > a)
				this.onWindow(a, b);
		});
		this.canvas.addEventListener("pointerup", () => this.drag = -1);
	}

	private changed(): void {
		let from = +this.from.value, to = Math.max(0, +this.to.value);
		if (from >= to)
			from = to - 1;
		this.onWindow(from, to);
	}

	private span(): [number, number] {
		const ns = this.d.point.ns;
		return [0, Math.max(1, ns[this.d.points - 1])];
	}

	private pointAt(e: PointerEvent): number {
		const r = this.canvas.getBoundingClientRect(), [begin, end] = this.span(), ns = this.d.point.ns;
		const t = begin + (e.clientX - r.left) / r.width * (end - begin);
		let low = 0, high = this.d.points - 1;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (ns[middle] < t) low = middle + 1; else high = middle;
		}
		return low;
	}

	// line: the layers are live memory, beside which resident memory is drawn as a line.
	show(from: number, to: number, layers: Layer[], line: boolean): void {
		const p = this.d.point, rss = Math.max(0, ...p.rss), live = Math.max(1, ...p.live);
		this.line = line && rss > 0 && rss <= DWARFS * live;
		this.from.value = String(from);
		this.to.value = String(to);
		this.layers = layers;
		let top = Math.max(from, 0);
		for (let i = top; i <= to; i++)
			if (p.live[i] > p.live[top])
				top = i;
		const begun = from < 0 ? { calls: 0, bytes: 0 } : { calls: p.calls[from], bytes: p.bytes[from] };
		this.said.textContent = `${duration(from < 0 ? 0 : p.ns[from])} to ${duration(p.ns[to])}: peak ${bytes(p.live[top])} in ` +
			`${count(p.blocks[top])} blocks at ${duration(p.ns[top])}; allocated ${bytes(p.bytes[to] - begun.bytes)} in ` +
			`${count(p.calls[to] - begun.calls)} calls`;
		this.legend.replaceChildren(...layers.map(l => {
			const swatch = el("i");
			swatch.style.background = l.color;
			return el("span", { title: l.help }, swatch, l.name);
		}), ...(this.line ? [el("span", {}, el("i", { class: "rss" }), "resident (RSS)")]
			: line && rss ? [el("span", {}, `resident up to ${bytes(rss)}: see `, el("a", { href: "#page=resident" }, "Resident memory"))] : []));
		this.draw();
	}

	private draw(): void {
		const c = this.canvas, width = c.clientWidth, ratio = devicePixelRatio || 1, d = this.d;
		if (!width || !d.points)
			return;
		c.style.height = HEIGHT + "px";
		c.width = width * ratio;
		c.height = HEIGHT * ratio;
		const g = c.getContext("2d")!, style = getComputedStyle(c), [begin, end] = this.span();
		let most = 1;
		for (let i = 0; i < d.points; i++)
			most = Math.max(most, this.line ? d.point.rss[i] : 0, this.layers.reduce((n, l) => n + l.values[i], 0));
		const x = (i: number) => (d.point.ns[i] - begin) / (end - begin) * width;
		const y = (n: number) => HEIGHT - 14 - n / most * (HEIGHT - 28);
		g.scale(ratio, ratio);
		const below = new Float64Array(d.points);
		for (const layer of this.layers) {
			g.beginPath();
			for (let i = 0; i < d.points; i++)
				g.lineTo(x(i), y(below[i] + layer.values[i]));
			for (let i = d.points - 1; i >= 0; i--)
				g.lineTo(x(i), y(below[i]));
			g.fillStyle = layer.color;
			g.fill();
			for (let i = 0; i < d.points; i++)
				below[i] += layer.values[i];
		}
		g.strokeStyle = style.getPropertyValue("--rss");
		g.lineWidth = 1.5;
		g.beginPath();
		for (let i = 0; i < d.points && this.line; i++)
			if (d.point.rss[i])
				g.lineTo(x(i), y(d.point.rss[i]));
		g.stroke();
		this.marks(g, style, x, width, most);
	}

	private marks(g: CanvasRenderingContext2D, style: CSSStyleDeclaration, x: (i: number) => number,
			width: number, most: number): void {
		const d = this.d, from = +this.from.value, to = +this.to.value, left = from < 0 ? 0 : x(from), right = x(to);
		g.fillStyle = style.getPropertyValue("--veil");
		g.fillRect(0, 0, left, HEIGHT);
		g.fillRect(right, 0, width - right, HEIGHT);
		g.fillStyle = style.getPropertyValue("--dim");
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "top";
		g.fillText(bytes(most), 2, 1);
		g.textBaseline = "bottom";
		g.fillText("0", 2, HEIGHT);
		g.textAlign = "right";
		g.fillText(duration(d.point.ns[d.points - 1]), width - 2, HEIGHT);
	}
}
