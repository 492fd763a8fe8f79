// SPDX-License-Identifier: LGPL-3.0-or-later
// timeline.ts - memory over time, and the two sliders that select a window.
import { bytes, count, duration, many, roundTime, roundUp, roundUpTime } from "../words";
import { bands, curves } from "./curves";
import type { Curve } from "./curves";
import { ownMemory } from "./model";
import type { Data } from "./data";
import { download, el, pointOut, quoteCsv } from "./element";
import { svg } from "./picture";

export interface Layer { name: string; values: Float64Array; color: string; help?: string }

const LINES = 4; // at most, at round values,
const APART = 22; // and this many pixels apart
const END = 4; // pixels that belong to the first or the last point, which are hard to hit
const DWARFS = 3; // more resident than live bytes by this factor would flatten the live curve

export class Timeline {
	readonly root: HTMLElement;
	private canvas = el("canvas", { class: "time", "aria-hidden": "true" });
	private from: HTMLInputElement;
	private to: HTMLInputElement;
	private said = el("output", { class: "window" });
	private legend = el("div", { class: "legend" });
	private layers: Layer[] = [];
	private curve: Curve | null = null; // the quantity of the layers; null: resident memory by its parts
	private choices = el("div", { class: "bar2" });
	private all = el("button", { type: "button", click: () => this.onWindow(-1, this.d.points - 1) }, "Whole run");
	private line = false; // draw resident memory as a line over the layers
	private drag = -1;
	private height = 1; // of the canvas: that of the style sheet
	private shown: unknown[] = []; // the arguments of show()
	onWindow: (from: number, to: number) => void = () => {};
	onJump: (point: number) => void = () => {};
	onCurve: (curve: string, band: string) => void = () => {};

	constructor(private d: Data, private tip: HTMLElement) {
		const slider = (label: string) => el("input", { type: "range", min: -1, max: d.points - 1, step: 1,
			"aria-label": label, input: () => this.changed() });
		this.from = slider("Start of the window");
		this.to = slider("End of the window");
		this.root = el("section", { id: "timeline", "aria-label": "Timeline" }, this.choices, this.canvas,
			...(d.head.totals ? [] : [el("div", { class: "sliders" }, this.from, this.to)]), this.said, this.legend, ...(d.head.totals ? [] : [this.all]));
		new ResizeObserver(() => this.draw()).observe(this.canvas);
		this.canvas.addEventListener("pointerdown", e => {
			if (d.head.totals)
				return;
			this.drag = this.pointAt(e);
			this.canvas.setPointerCapture(e.pointerId);
		});
		this.canvas.addEventListener("pointermove", e => {
			if (this.drag < 0)
				return this.point(e);
			const p = this.pointAt(e), a = Math.min(p, this.drag), b = Math.max(p, this.drag);
			if (b > a)
				this.onWindow(a || -1, b); // from the left end: all that came before, too
		});
		this.canvas.addEventListener("pointerup", () => this.drag = -1);
		this.canvas.addEventListener("dblclick", e => !d.head.totals && this.onJump(this.pointAt(e)));
		this.canvas.addEventListener("pointerleave", () => this.tip.hidden = true);
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

	private pointAt(e: MouseEvent): number {
		const r = this.canvas.getBoundingClientRect(), [begin, end] = this.span(), ns = this.d.point.ns, x = e.clientX - r.left;
		const t = x < END ? begin : x > r.width - END ? end : begin + x / r.width * (end - begin);
		let low = 0, high = this.d.points - 1;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (ns[middle] < t) low = middle + 1; else high = middle;
		}
		return low;
	}

	private value(n: number): string {
		return (this.curve?.unit == "count" ? count(n) : bytes(n)) + (this.curve?.rate ? "/s" : "");
	}

	// Shows the value of every layer at the point under the pointer.
	private point(e: PointerEvent): void {
		const p = this.pointAt(e), d = this.d, all = this.layers.reduce((n, l) => n + l.values[p], 0);
		pointOut(this.tip, e, [duration(d.point.ns[p]), ...[...this.layers].reverse().filter(l => l.values[p] > 0).map(l => `${l.name}: ${this.value(l.values[p])}`),
			...(this.layers.length > 1 ? [`together: ${this.value(all)}`] : []), ...(d.point.rss[p] ? [`resident: ${bytes(d.point.rss[p])}`] : []), ...this.grown(p)].join("\n"));
	}

	// For a step of a profile: the stack that allocated when most bytes were live.
	private grown(p: number): string[] {
		const stack = this.d.head.totals ? this.d.head.report.course[p]?.stack : null, line = stack?.[stack.length - 1];
		return line ? [`most live when allocating in: ${line.function ?? line.module}`] : [];
	}

	private showChoices(band: string): void {
		const curve = this.curve, select = (label: string, options: [string, string][], value: string, change: (v: string) => void) =>
			el("label", {}, label + " ", el("select", { "aria-label": label == "by" ? "Divided by" : label, change: (e: Event) => change((e.target as HTMLSelectElement).value) },
				...options.map(([v, t]) => el("option", { value: v, selected: v == value }, t))));
		this.choices.replaceChildren(...(curve ? [
			select("Curve", curves.filter(c => this.d.point[c.point]?.some(n => n > 0) || c.key == curve.key).map(c => [c.key, c.title]), curve.key, v => this.onCurve(v, band)),
			...(curve.cells && !this.d.head.totals ? [select("by", bands, band, v => this.onCurve(curve.key, v))] : []), el("small", {}, curve.help)] : [el("small", {}, "Resident memory, by what it was used for")]),
			el("span", { class: "saves" }, el("button", { type: "button", click: () => this.saveSvg() }, "SVG"),
				el("button", { type: "button", click: () => this.canvas.toBlob(b => b && download("timeline.png", "image/png", b)) }, "PNG"),
				el("button", { type: "button", click: () => download("timeline.csv", "text/csv", this.csv()) }, "CSV"),
				el("button", { type: "button", click: () => download("timeline.json", "application/json", this.json(band)) }, "JSON")));
	}

	private csv(): string {
		const rows = [["seconds", ...this.layers.map(l => l.name)].map(quoteCsv).join(",")];
		for (let p = 0; p < this.d.points; p++)
			rows.push([this.d.point.ns[p] / 1e9, ...this.layers.map(l => l.values[p])].join(","));
		return rows.join("\r\n") + "\r\n";
	}

	private json(band: string): string {
		const { curve, d } = this, points = d.points;
		return JSON.stringify({ curve: curve?.title ?? "Resident memory", unit: curve?.unit ?? "bytes", per_second: !!curve?.rate, divided_by: curve?.cells ? bands.find(b => b[0] == band)?.[1] : null,
			ns: [...d.point.ns.subarray(0, points)], layers: this.layers.map(l => ({ name: l.name, values: [...l.values.subarray(0, points)] })) }) + "\n";
	}

	// Saves the layers as drawn, with their scale and their names.
	private saveSvg(): void {
		const width = this.canvas.clientWidth, d = this.d, parts: SVGElement[] = [], most = this.most(), ground = this.y(0, most);
		const style = getComputedStyle(this.canvas), ink = style.getPropertyValue("--ink"), dim = style.getPropertyValue("--dim"), card = style.getPropertyValue("--card");
		this.areas(width, (layer, path) => parts.push(svg("path", { fill: layer.color, d: path.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("") + "Z" })));
		const text = (x: number, y: number, what: string, anchor = "start") => svg("text", { x, y, "text-anchor": anchor, fill: ink }, what);
		const label = (x: number, y: number, what: string, anchor = "start") => svg("text", { x, y, "text-anchor": anchor, fill: dim, "font-size": 11, stroke: card, "stroke-width": 3, "paint-order": "stroke" }, what);
		if (this.line)
			parts.push(svg("path", { d: this.residentLine(width, most).map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(""), fill: "none", stroke: style.getPropertyValue("--rss"), "stroke-width": 1.5 }));
		for (const [n, y] of this.values(most))
			parts.push(svg("rect", { y, width, height: 1, fill: dim, "fill-opacity": 0.25 }), label(2, y - 3, this.value(n)));
		for (const [t, x] of this.times(width))
			parts.push(svg("rect", { x: Math.round(x), y: ground, width: 1, height: 3, fill: dim }), label(x, this.height - 2, roundTime(t), "middle"));
		parts.push(label(2, 11, this.value(most)), label(2, this.height - 2, "0"), label(width - 2, this.height - 2, duration(d.point.ns[d.points - 1]), "end"));
		this.layers.forEach((l, i) => parts.push(svg("rect", { x: 2, y: this.height + 8 + 16 * i, width: 10, height: 10, fill: l.color }), text(18, this.height + 17 + 16 * i, l.name)));
		if (this.line)
			parts.push(svg("rect", { x: 2, y: this.height + 11 + 16 * this.layers.length, width: 10, height: 3, fill: style.getPropertyValue("--rss") }), text(18, this.height + 17 + 16 * this.layers.length, "resident (RSS)"));
		const height = this.height + 12 + 16 * (this.layers.length + +this.line);
		download("timeline.svg", "image/svg+xml", svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}`,
			"font-family": "sans-serif", "font-size": 12 }, svg("rect", { width, height, fill: card }), ...parts).outerHTML + "\n");
	}

	// curve: the quantity of the layers; with live bytes, resident memory is drawn as a line.
	// The same array of layers has the same values.
	// filtered: the layers are only a part of all blocks.
	show(from: number, to: number, layers: Layer[], curve: Curve | null, band: string, filtered: boolean): void {
		const shown = [from, to, layers, curve, band, filtered];
		if (shown.every((x, i) => x === this.shown[i]))
			return;
		this.shown = shown;
		const p = this.d.point, rss = Math.max(0, ...p.rss), live = Math.max(1, ...p.live), line = curve?.key == "live";
		this.curve = curve;
		this.showChoices(band);
		this.line = line && rss > 0 && rss <= DWARFS * live;
		this.from.value = String(from);
		this.to.value = String(to);
		this.layers = layers;
		let top = Math.max(from, 0);
		for (let i = top; i <= to; i++)
			if (p.live[i] > p.live[top])
				top = i;
		const begun = from < 0 ? { calls: 0, bytes: 0 } : { calls: p.calls[from], bytes: p.bytes[from] };
		this.all.hidden = from < 0 && to == this.d.points - 1;
		this.said.textContent = this.d.head.totals ? this.whole() : `${from < 0 ? "0" : duration(p.ns[from])} to ${duration(p.ns[to])}${filtered ? ", without the filters" : ""}: peak ${bytes(p.live[top])} in ` +
			`${many(p.blocks[top], "block")} at ${duration(p.ns[top])}; allocated ${bytes(p.bytes[to] - begun.bytes)} in ` +
			many(p.calls[to] - begun.calls, "call");
		const own = ownMemory(this.d, 0, this.d.points - 1);
		this.legend.replaceChildren(...layers.map(l => {
			const swatch = el("i");
			swatch.style.background = l.color;
			return el("span", { title: l.help }, swatch, l.name);
		}), ...(this.line ? [el("span", {}, el("i", { class: "rss" }), ["resident (RSS)", own].filter(t => t).join(", "))]
			: this.d.head.totals ? [] : line && rss ? [el("span", { class: "first" }, `resident up to ${bytes(rss)} (see `, el("a", { href: "#page=resident" }, "Resident memory"), `)${own && `, ${own}`}`)] : []));
		this.draw();
	}

	// Profiles have no windows.
	private whole(): string {
		const { head } = this.d, r = head.report, peak = r.peak, about = r.estimated ? "about " : "";
		return `The whole run: peak ${about}${bytes(peak.bytes)} in ${about}${many(peak.blocks, "block")} at ${duration(peak.at_ns)}; allocated ${about}${bytes(r.total.figures.total)} in ` +
			`${about}${many(r.total.figures.calls, "call")}. ` + (r.processes.length > 1 ? `The curves are of process ${r.course_process}, which has the highest peak. ` : "") +
			"Totals have no windows: only a trace (mprof record) shows what happened between two times.";
	}

	private most(): number {
		let most = this.curve?.unit == "count" ? 0 : 1;
		for (let i = 0; i < this.d.points; i++)
			most = Math.max(most, this.line ? this.d.point.rss[i] : 0, this.layers.reduce((n, l) => n + l.values[i], 0));
		return most || 1;
	}

	private y(n: number, most: number): number {
		return this.height - 14 - n / most * (this.height - 28);
	}

	// The outline of each layer, one on top of the other; a rate is the same between two points.
	private areas(width: number, draw: (layer: Layer, path: [number, number][]) => void): void {
		const d = this.d, [begin, end] = this.span(), most = this.most(), below = new Float64Array(d.points), steps = !!this.curve?.rate || !!d.head.totals; // of a profile: the most in each step
		const x = (i: number) => i < 0 ? 0 : (d.point.ns[i] - begin) / (end - begin) * width;
		for (const layer of this.layers) {
			const path: [number, number][] = [];
			for (let i = 0; i < d.points; i++) {
				const y = this.y(below[i] + layer.values[i], most);
				if (steps)
					path.push([x(i - 1), y]);
				path.push([x(i), y]);
			}
			for (let i = d.points - 1; i >= 0; i--) {
				const y = this.y(below[i], most);
				path.push([x(i), y]);
				if (steps)
					path.push([x(i - 1), y]);
			}
			draw(layer, path);
			for (let i = 0; i < d.points; i++)
				below[i] += layer.values[i];
		}
	}

	private draw(): void {
		const c = this.canvas, width = c.clientWidth, ratio = devicePixelRatio || 1, d = this.d;
		if (!width || !d.points)
			return;
		this.height = c.clientHeight;
		c.width = width * ratio;
		c.height = this.height * ratio;
		const g = c.getContext("2d")!, style = getComputedStyle(c), [begin, end] = this.span();
		const most = this.most(), x = (i: number) => (d.point.ns[i] - begin) / (end - begin) * width;
		g.scale(ratio, ratio);
		g.fillStyle = style.getPropertyValue("--card");
		g.fillRect(0, 0, width, this.height);
		this.areas(width, (layer, path) => {
			g.beginPath();
			for (const [px, py] of path)
				g.lineTo(px, py);
			g.fillStyle = layer.color;
			g.fill();
		});
		g.strokeStyle = style.getPropertyValue("--rss");
		g.lineWidth = 1.5;
		g.beginPath();
		if (this.line)
			for (const [px, py] of this.residentLine(width, most))
				g.lineTo(px, py);
		g.stroke();
		this.scale(g, style, width, most);
		this.marks(g, style, x, width, most);
	}

	private residentLine(width: number, most: number): [number, number][] {
		const { ns, rss } = this.d.point, [begin, end] = this.span(), path: [number, number][] = [];
		for (let i = 0; i < this.d.points; i++)
			if (rss[i])
				path.push([(ns[i] - begin) / (end - begin) * width, this.y(rss[i], most)]);
		return path;
	}

	// Round values, and where their lines are.
	private values(most: number): [number, number][] {
		const lines = Math.min(LINES, Math.floor((this.height - 28) / APART)), step = Math.max(1, this.curve?.unit == "count" ? roundUp(most / lines) : 2 ** Math.ceil(Math.log2(most / lines))), list: [number, number][] = [];
		for (let n = step; this.y(n, most) > 22; n += step)
			list.push([n, Math.round(this.y(n, most))]);
		if (!list.length && step > 1) { // it is too near the top; counts are whole
			const half = Math.floor(step / 2);
			list.push([half, Math.round(this.y(half, most))]);
		}
		return list;
	}

	// Round times, and where they are.
	private times(width: number): [number, number][] {
		const end = this.span()[1], every = roundUpTime(end / Math.max(2, Math.min(10, width / 120))), list: [number, number][] = [];
		for (let t = every; t < end * (1 - 72 / width); t += every)
			list.push([t, t / end * width]);
		return list;
	}

	// Lines at round values, with their figures; round times below.
	private scale(g: CanvasRenderingContext2D, style: CSSStyleDeclaration, width: number, most: number): void {
		const ground = this.y(0, most), dim = style.getPropertyValue("--dim");
		const label = (text: string, x: number, y: number) => {
			g.strokeText(text, x, y);
			g.fillText(text, x, y);
		};
		g.font = "11px system-ui, sans-serif";
		g.lineWidth = 3;
		g.strokeStyle = style.getPropertyValue("--card");
		g.textBaseline = "bottom";
		for (const [n, y] of this.values(most)) {
			g.fillStyle = dim;
			g.globalAlpha = 0.25;
			g.fillRect(0, y, width, 1);
			g.globalAlpha = 1;
			label(this.value(n), 2, y - 0.5);
		}
		g.textAlign = "center";
		g.textBaseline = "bottom";
		g.fillStyle = dim;
		for (const [t, x] of this.times(width)) {
			g.fillRect(Math.round(x), ground, 1, 3);
			label(roundTime(t), x, this.height);
		}
		g.textAlign = "left";
	}

	private marks(g: CanvasRenderingContext2D, style: CSSStyleDeclaration, x: (i: number) => number,
			width: number, most: number): void {
		const d = this.d, from = +this.from.value, to = +this.to.value, left = from < 0 ? 0 : x(from), right = x(to);
		g.fillStyle = style.getPropertyValue("--veil");
		g.fillRect(0, 0, left, this.height);
		g.fillRect(right, 0, width - right, this.height);
		g.fillStyle = style.getPropertyValue("--dim");
		g.font = "11px system-ui, sans-serif";
		g.textBaseline = "top";
		g.fillText(this.value(most), 2, 1);
		g.textBaseline = "bottom";
		g.fillText("0", 2, this.height);
		g.textAlign = "right";
		g.fillText(duration(d.point.ns[d.points - 1]), width - 2, this.height);
	}
}
