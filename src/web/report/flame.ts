// SPDX-License-Identifier: LGPL-3.0-or-later
// flame.ts - a flame graph on a canvas.  Drawing costs depend on pixels, not nodes: frames narrower
// than half a pixel are skipped with all their callees, boxes are placed once for each zoom and width,
// the canvas is as tall as what is visible of them, and the pointer repaints two of them.
import { pointOut } from "./element";
import { searchTest } from "./model";
import type { Frame } from "./model";

export interface FlameText { name(f: Frame): string; color(f: Frame): string; tip(f: Frame): string }

const ROW = 18;

// Rectangles, callers before callees.
class Boxes {
	count = 0;
	rows = 1;
	frame = new Int32Array(1024);
	row = new Int32Array(1024);
	x = new Float64Array(1024);
	width = new Float64Array(1024);

	add(frame: number, x: number, width: number, row: number): void {
		const i = this.count++;
		if (i == this.frame.length) {
			this.frame = twice(this.frame, new Int32Array(2 * i));
			this.row = twice(this.row, new Int32Array(2 * i));
			this.x = twice(this.x, new Float64Array(2 * i));
			this.width = twice(this.width, new Float64Array(2 * i));
		}
		this.frame[i] = frame;
		this.x[i] = x;
		this.width[i] = width;
		this.row[i] = row;
		this.rows = Math.max(this.rows, row + 1);
	}
}

function twice<T extends Int32Array | Float64Array>(from: T, to: T): T {
	to.set(from);
	return to;
}

export class Flame {
	readonly canvas = document.createElement("canvas");
	readonly box = document.createElement("div"); // that scrolls, when stacks are deep
	readonly live = document.createElement("p"); // tells screen readers what is chosen
	private whole = document.createElement("div"); // as tall as all rows
	private frames: Frame[] = [];
	private boxes = new Boxes();
	private placed: unknown[] = []; // what the boxes were placed from
	private drawn: unknown[] = []; // the size that was drawn last
	private index: Int32Array | null = null; // frames by node of the data, plus 1
	private root = 0;
	private focus = 0;
	private hover = -1;
	search = "";
	icicle = true;
	onZoom: (frame: number) => void = () => {}; // draws it
	onOpen: (frame: Frame) => void = () => {};
	onKey: (key: string, frame: Frame) => boolean = () => false; // a letter, or "copy", "search"

	constructor(private text: FlameText, private tip: HTMLElement) {
		const c = this.canvas;
		this.box.className = "deep";
		this.box.append(this.whole);
		this.whole.append(c);
		c.tabIndex = 0;
		c.setAttribute("role", "application");
		c.setAttribute("aria-label", "Flame graph. Arrow keys move, Enter zooms, Escape shows all.");
		this.live.className = "unseen";
		this.live.setAttribute("aria-live", "polite");
		c.addEventListener("click", e => this.zoomTo(this.at(e)));
		c.addEventListener("dblclick", e => { const i = this.at(e); if (i >= 0) this.onOpen(this.frames[i]); });
		c.addEventListener("mousemove", e => this.point(e));
		c.addEventListener("mouseleave", () => { this.point(null); this.tip.hidden = true; });
		c.addEventListener("keydown", e => this.key(e));
		this.box.addEventListener("scroll", () => this.paintAll());
		const sizes = new ResizeObserver(() => {
			if (this.size().some((n, i) => n != this.drawn[i]))
				this.draw();
		});
		sizes.observe(c);
		sizes.observe(this.box);
		flames.set(c, this);
	}

	// Without drawing: for a canvas that is not on the page yet.
	set(frames: Frame[], root: number): void {
		if (frames != this.frames)
			this.index = null;
		this.frames = frames;
		this.root = root >= 0 && root < frames.length ? root : 0;
		this.focus = this.root;
	}

	show(frames: Frame[], root: number): void {
		this.set(frames, root);
		this.draw();
	}

	// The frame of a node of the data, or the root.
	find(node: number): number {
		if (!node)
			return 0;
		if (!this.index) {
			this.index = new Int32Array(this.frames.reduce((n, f) => Math.max(n, f.node), 0) + 1);
			for (let i = this.frames.length - 1; i > 0; i--)
				this.index[this.frames[i].node] = i;
		}
		return this.index[node] ?? 0;
	}

	get matches(): number { // share of the total in matching frames, each stack once; all frames must be there
		const wanted = searchTest(this.search), total = this.frames[0]?.sum || 1;
		if (!wanted)
			return 0;
		let sum = 0;
		const walk = (i: number) => {
			const f = this.frames[i];
			if (i && wanted(this.text.name(f))) {
				sum += f.sum;
				return;
			}
			for (let k = f.child; k < f.child + f.children; k++)
				walk(k);
		};
		walk(0);
		return sum / total;
	}

	private layOut(width: number): void {
		const from = [this.frames, this.root, width];
		if (from.every((x, i) => x === this.placed[i]))
			return;
		this.placed = from;
		const { frames } = this, boxes = this.boxes = new Boxes();
		if (!frames.length)
			return;
		const path: number[] = [];
		for (let i = this.root; ; i = frames[i].parent) {
			path.unshift(i);
			if (!i)
				break;
		}
		path.forEach((frame, row) => boxes.add(frame, 0, width, row));
		const place = (i: number, x: number, scale: number, row: number) => {
			const f = frames[i];
			for (let k = f.child, at = x; k < f.child + f.children; k++) {
				const w = frames[k].sum * scale;
				if (w < 0.5)
					break; // the others are narrower
				boxes.add(k, at, w, row);
				place(k, at, scale, row + 1);
				at += w;
			}
		};
		place(this.root, 0, width / (frames[this.root].sum || 1), path.length);
	}

	private get height(): number {
		return (this.boxes.rows + 1) * ROW;
	}

	private size(): number[] {
		return [this.canvas.clientWidth, this.box.clientHeight, devicePixelRatio];
	}

	draw(): void {
		const c = this.canvas, width = c.clientWidth, ratio = devicePixelRatio || 1;
		if (!width)
			return;
		this.layOut(width);
		this.whole.style.height = this.height + "px";
		if (c.clientWidth != width) // a scroll bar came or went
			this.layOut(c.clientWidth);
		this.drawn = this.size();
		const seen = printing ? this.height : Math.min(this.height, this.box.clientHeight);
		const [w, h] = [Math.round(c.clientWidth * ratio), Math.round(seen * ratio)];
		c.style.height = seen + "px";
		if (c.width != w || c.height != h) // the browser allocates it anew
			[c.width, c.height] = [w, h];
		this.paintAll();
	}

	// What is visible of the boxes, where they are.
	private paintAll(): void {
		const c = this.canvas, ratio = devicePixelRatio || 1;
		this.paint(c.getContext("2d", { alpha: false })!, ratio, printing ? 0 : this.box.scrollTop, c.height / ratio);
	}

	// All boxes, as a picture.
	png(save: (blob: Blob | null) => void): void {
		const c = document.createElement("canvas"), ratio = devicePixelRatio || 1;
		[c.width, c.height] = [this.canvas.width, Math.round(this.height * ratio)];
		this.paint(c.getContext("2d")!, ratio, 0, this.height);
		c.toBlob(save);
	}

	private paint(g: CanvasRenderingContext2D, ratio: number, top: number, height: number): void {
		const b = this.boxes, paint = this.painter(g);
		g.setTransform(ratio, 0, 0, ratio, 0, -top * ratio);
		g.fillStyle = paint.ground; // saved pictures have it, too
		g.fillRect(0, top, this.canvas.clientWidth, height);
		for (let i = 0; i < b.count; i++) {
			const y = this.top(b.row[i]);
			if (y + ROW > top && y < top + height)
				paint.box(i);
		}
	}

	// Scrolls to the chosen frame and some of its callees; call it when the box is on the page.
	reveal(): void {
		const b = this.boxOf(this.focus), most = this.box.clientHeight;
		if (b < 0 || this.height <= most)
			return;
		const y = this.top(this.boxes.row[b]), shown = this.box.scrollTop;
		if (y < shown + ROW || y + 2 * ROW > shown + most)
			this.box.scrollTop = this.icicle ? y - ROW : y + 2 * ROW - most;
		if (this.box.scrollTop != shown)
			this.paintAll(); // before the browser shows the place that it scrolled to
	}

	private boxOf(frame: number): number {
		const b = this.boxes;
		return b.frame.subarray(0, b.count).indexOf(frame);
	}

	private top(row: number): number {
		return this.icicle ? row * ROW : this.height - (row + 1) * ROW;
	}

	private painter(g: CanvasRenderingContext2D): { ground: string; box: (i: number) => void } {
		const style = getComputedStyle(this.canvas), value = (name: string) => style.getPropertyValue(name);
		const ink = value("--flame-ink"), edge = value("--accent"), ground = value("--card"), wanted = searchTest(this.search), b = this.boxes;
		g.font = "12px system-ui, sans-serif";
		g.textBaseline = "middle";
		return { ground, box: i => {
			const frame = b.frame[i], f = this.frames[frame], x = b.x[i], width = b.width[i], y = this.top(b.row[i]);
			const name = wanted || width > 28 ? this.text.name(f) : "";
			g.globalAlpha = wanted && !wanted(name) ? 0.25 : 1;
			g.fillStyle = this.text.color(f);
			g.fillRect(x, y, Math.max(width - 0.5, 0.5), ROW - 1);
			if (frame == this.hover || frame == this.focus) {
				g.strokeStyle = edge;
				g.lineWidth = 2;
				g.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), ROW - 3);
			}
			if (width > 28) {
				g.fillStyle = ink;
				g.fillText(cut(g, name, width - 8), x + 4, y + ROW / 2);
			}
			g.globalAlpha = 1;
		} };
	}

	// The edges of two frames have changed.
	private repaint(...frames: number[]): void {
		const g = this.canvas.getContext("2d", { alpha: false })!, paint = this.painter(g), b = this.boxes;
		for (const i of frames.map(f => this.boxOf(f)).filter(i => i >= 0)) {
			g.fillStyle = paint.ground;
			g.fillRect(b.x[i], this.top(b.row[i]), Math.max(b.width[i] - 0.5, 0.5), ROW - 1);
			paint.box(i);
		}
	}

	private at(e: MouseEvent): number {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top + (printing ? 0 : this.box.scrollTop);
		const b = this.boxes, row = this.icicle ? Math.floor(y / ROW) : Math.floor((this.height - y) / ROW);
		for (let i = 0; i < b.count; i++)
			if (b.row[i] == row && x >= b.x[i] && x < b.x[i] + b.width[i])
				return b.frame[i];
		return -1;
	}

	// null: the pointer has left.
	private point(e: MouseEvent | null): void {
		const i = e ? this.at(e) : -1, was = this.hover;
		this.hover = i;
		if (i != was)
			this.repaint(was, i);
		if (e && i >= 0)
			pointOut(this.tip, e, this.text.tip(this.frames[i]));
		else
			this.tip.hidden = true;
	}

	zoomTo(i: number): void {
		if (i < 0)
			return;
		this.root = this.focus = i;
		this.onZoom(i);
	}

	// Applies a key to the chosen frame; false: it has no meaning.
	private act(e: KeyboardEvent, f: Frame): boolean {
		const control = e.ctrlKey || e.metaKey, chosen = String(getSelection());
		if (control && e.key == "c" && !chosen) return this.onKey("copy", f);
		if (control && e.key == "f") return this.onKey("search", f);
		if (control || e.altKey) return false;
		if (e.key == "Enter" || e.key == "F") this.zoomTo(this.focus);
		else if (e.key == "Escape" || e.key == "0") this.zoomTo(0);
		else if (e.key == "c") this.onOpen(f);
		else return this.onKey(e.key, f);
		return true;
	}

	private key(e: KeyboardEvent): void {
		const f = this.frames[this.focus], up = this.icicle ? "ArrowUp" : "ArrowDown", down = this.icicle ? "ArrowDown" : "ArrowUp";
		let to = this.focus;
		if (!f)
			return;
		const parent = this.frames[f.parent];
		if (e.key == down && f.children) to = f.child;
		else if (e.key == up) to = f.parent;
		else if (e.key == "ArrowRight" && this.focus && this.focus + 1 < parent.child + parent.children) to = this.focus + 1;
		else if (e.key == "ArrowLeft" && this.focus && this.focus > parent.child) to = this.focus - 1;
		else if (e.key == "Home") to = 0;
		else if (this.act(e, f)) return e.stopPropagation(), e.preventDefault();
		else return;
		e.preventDefault();
		e.stopPropagation();
		const was = this.focus;
		this.focus = to;
		this.live.textContent = this.text.tip(this.frames[to]);
		this.repaint(was, to);
		this.reveal();
	}

	// The whole picture as SVG, as shown now.
	svg(title: string): string {
		const b = this.boxes, width = this.canvas.clientWidth, height = this.height, boxes: string[] = [];
		const esc = (s: string) => s.replace(/[&<>"]/g, c => "&#" + c.charCodeAt(0) + ";");
		const g = this.canvas.getContext("2d", { alpha: false })!;
		g.font = "12px system-ui, sans-serif";
		for (let i = 0; i < b.count; i++) {
			const f = this.frames[b.frame[i]], y = this.top(b.row[i]), x = b.x[i], wide = b.width[i];
			boxes.push(`<g><title>${esc(this.text.tip(f))}</title><rect x="${x.toFixed(1)}" y="${y}" width="${wide.toFixed(1)}"` +
				` height="${ROW - 1}" fill="${this.text.color(f)}"/>` + (wide > 28
				? `<text x="${(x + 4).toFixed(1)}" y="${y + 13}">${esc(cut(g, this.text.name(f), wide - 8))}</text>` : "") + "</g>");
		}
		return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif"` +
			` font-size="12"><title>${esc(title)}</title><rect width="${width}" height="${height}" fill="${getComputedStyle(this.canvas).getPropertyValue("--card")}"/>${boxes.join("\n")}</svg>\n`;
	}
}

// Graphs come and go with every page that is shown, so only their canvases keep them.
const flames = new WeakMap<Element, Flame>();
let printing = false;

for (const [event, on] of [["beforeprint", true], ["afterprint", false]] as const)
	addEventListener(event, () => {
		printing = on;
		document.querySelectorAll("canvas").forEach(c => flames.get(c)?.draw());
	});

// The widths of single characters, by font: their sum is the width of a text, or slightly more.
const widths = new Map<string, Map<string, number>>();

function measure(g: CanvasRenderingContext2D): (c: string) => number {
	const known = widths.get(g.font) ?? new Map<string, number>();
	widths.set(g.font, known);
	return c => {
		let n = known.get(c);
		if (n === undefined)
			known.set(c, n = g.measureText(c).width);
		return n;
	};
}

// Elided in the middle, so that both the namespace and the name's end stay visible.
export function cut(g: CanvasRenderingContext2D, text: string, width: number): string {
	const wide = measure(g);
	let all = 0, room = width - wide("\u2026"), head = 0, tail = text.length;
	for (let i = 0; i < text.length && all <= width; i++)
		all += wide(text[i]);
	if (all <= width)
		return text;
	for (let front = true; head < tail; front = !front) {
		room -= wide(front ? text[head] : text[tail - 1]);
		if (room < 0)
			break;
		if (front) head++; else tail--;
	}
	if (/[\ud800-\udbff]/.test(text[head - 1] ?? "")) // half a character
		head--;
	if (/[\udc00-\udfff]/.test(text[tail] ?? ""))
		tail++;
	return head > 1 ? text.slice(0, head) + "\u2026" + text.slice(tail) : "";
}
