// SPDX-License-Identifier: LGPL-3.0-or-later
// flame.ts - a flame graph on a canvas.  Drawing costs depend on pixels, not nodes: frames narrower
// than half a pixel are skipped with all their callees.
import { searchTest } from "./model";
import type { Frame } from "./model";

export interface FlameText { name(f: Frame): string; color(f: Frame): string; tip(f: Frame): string }

const ROW = 18;

interface Box { frame: number; x: number; width: number; row: number }

export class Flame {
	readonly canvas = document.createElement("canvas");
	readonly box = document.createElement("div"); // that scrolls, when stacks are deep
	readonly live = document.createElement("p"); // tells screen readers what is chosen
	private frames: Frame[] = [];
	private boxes: Box[] = [];
	private root = 0;
	private focus = 0;
	private hover = -1;
	private rows = 1;
	search = "";
	icicle = true;
	onZoom: (node: number, frame: Frame) => void = () => {}; // draws it
	onOpen: (frame: Frame) => void = () => {};
	onKey: (key: string, frame: Frame) => boolean = () => false; // a letter, or "copy", "search"

	constructor(private text: FlameText, private tip: HTMLElement) {
		const c = this.canvas;
		this.box.className = "deep";
		this.box.append(c);
		c.tabIndex = 0;
		c.setAttribute("role", "application");
		c.setAttribute("aria-label", "Flame graph. Arrow keys move, Enter zooms, Escape shows all.");
		this.live.className = "unseen";
		this.live.setAttribute("aria-live", "polite");
		c.addEventListener("click", e => this.zoomTo(this.at(e)));
		c.addEventListener("dblclick", e => { const i = this.at(e); if (i >= 0) this.onOpen(this.frames[i]); });
		c.addEventListener("mousemove", e => this.point(e));
		c.addEventListener("mouseleave", () => { this.hover = -1; this.tip.hidden = true; this.draw(); });
		c.addEventListener("keydown", e => this.key(e));
		new ResizeObserver(() => this.draw()).observe(c);
	}

	// Without drawing: for a canvas that is not on the page yet.
	set(frames: Frame[], root: number): void {
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
		const i = node ? this.frames.findIndex(f => f.node == node) : 0;
		return i < 0 ? 0 : i;
	}

	get matches(): number { // share of the total in matching frames, each stack once
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
		this.boxes = [];
		this.rows = 1;
		if (!this.frames.length)
			return;
		const path: number[] = [];
		for (let i = this.root; ; i = this.frames[i].parent) {
			path.unshift(i);
			if (!i)
				break;
		}
		path.forEach((frame, row) => this.boxes.push({ frame, x: 0, width, row }));
		const place = (i: number, x: number, scale: number, row: number) => {
			const f = this.frames[i];
			this.rows = Math.max(this.rows, row + 1);
			for (let k = f.child, at = x; k < f.child + f.children; k++) {
				const w = this.frames[k].sum * scale;
				if (w < 0.5)
					break; // the others are narrower
				this.boxes.push({ frame: k, x: at, width: w, row: row + 1 });
				place(k, at, scale, row + 1);
				at += w;
			}
		};
		place(this.root, 0, width / (this.frames[this.root].sum || 1), path.length - 1);
	}

	draw(): void {
		const c = this.canvas, width = c.clientWidth, ratio = devicePixelRatio || 1;
		if (!width)
			return;
		this.layOut(width);
		const height = (this.rows + 1) * ROW;
		c.style.height = height + "px";
		c.width = Math.round(width * ratio);
		c.height = Math.round(height * ratio);
		const g = c.getContext("2d")!;
		g.scale(ratio, ratio);
		g.fillStyle = getComputedStyle(c).getPropertyValue("--card"); // saved pictures have it, too
		g.fillRect(0, 0, width, height);
		this.paint(g, height);
	}

	// Scrolls to the chosen frame and some of its callees; call it when the box is on the page.
	reveal(): void {
		const b = this.boxes.find(b => b.frame == this.focus), most = this.box.clientHeight;
		if (!b || this.canvas.clientHeight <= most)
			return;
		const y = this.top(b, this.canvas.clientHeight), shown = this.box.scrollTop;
		if (y < shown + ROW || y + 2 * ROW > shown + most)
			this.box.scrollTop = this.icicle ? y - ROW : y + 2 * ROW - most;
	}

	private top(b: Box, height: number): number {
		return this.icicle ? b.row * ROW : height - (b.row + 1) * ROW;
	}

	private paint(g: CanvasRenderingContext2D, height: number): void {
		const style = getComputedStyle(this.canvas), ink = style.getPropertyValue("--flame-ink"),
			edge = style.getPropertyValue("--accent"), wanted = searchTest(this.search);
		g.font = "12px system-ui, sans-serif";
		g.textBaseline = "middle";
		for (const b of this.boxes) {
			const f = this.frames[b.frame], y = this.top(b, height), name = this.text.name(f);
			g.globalAlpha = wanted && !wanted(name) ? 0.25 : 1;
			g.fillStyle = this.text.color(f);
			g.fillRect(b.x, y, Math.max(b.width - 0.5, 0.5), ROW - 1);
			if (b.frame == this.hover || b.frame == this.focus) {
				g.strokeStyle = edge;
				g.lineWidth = 2;
				g.strokeRect(b.x + 1, y + 1, Math.max(b.width - 2, 1), ROW - 3);
			}
			if (b.width > 28) {
				g.fillStyle = ink;
				g.fillText(cut(g, name, b.width - 8), b.x + 4, y + ROW / 2);
			}
		}
		g.globalAlpha = 1;
	}

	private at(e: MouseEvent): number {
		const r = this.canvas.getBoundingClientRect(), x = e.clientX - r.left, y = e.clientY - r.top;
		const b = this.boxes.find(b => { // later boxes never cover earlier ones
			const top = this.top(b, r.height);
			return x >= b.x && x < b.x + b.width && y >= top && y < top + ROW;
		});
		return b ? b.frame : -1;
	}

	private point(e: MouseEvent): void {
		const i = this.at(e);
		if (i != this.hover) {
			this.hover = i;
			this.draw();
		}
		this.tip.hidden = i < 0;
		if (i >= 0) {
			this.tip.textContent = this.text.tip(this.frames[i]);
			this.tip.style.left = Math.min(e.clientX + 12, innerWidth - 340) + "px";
			this.tip.style.top = Math.min(e.clientY + 16, innerHeight - 90) + "px";
		}
	}

	zoomTo(i: number): void {
		if (i < 0)
			return;
		this.root = this.focus = i;
		this.onZoom(i ? this.frames[i].node : 0, this.frames[i]);
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
		this.focus = to;
		this.live.textContent = this.text.tip(this.frames[to]);
		this.draw();
		this.reveal();
	}

	// The whole picture as SVG, as shown now.
	svg(title: string): string {
		const width = this.canvas.clientWidth, height = (this.rows + 1) * ROW;
		const esc = (s: string) => s.replace(/[&<>"]/g, c => "&#" + c.charCodeAt(0) + ";");
		const g = this.canvas.getContext("2d")!;
		g.font = "12px system-ui, sans-serif";
		const boxes = this.boxes.map(b => {
			const f = this.frames[b.frame], y = this.top(b, height);
			return `<g><title>${esc(this.text.tip(f))}</title><rect x="${b.x.toFixed(1)}" y="${y}" width="${b.width.toFixed(1)}"` +
				` height="${ROW - 1}" fill="${this.text.color(f)}"/>` + (b.width > 28
				? `<text x="${(b.x + 4).toFixed(1)}" y="${y + 13}">${esc(cut(g, this.text.name(f), b.width - 8))}</text>` : "") + "</g>";
		});
		return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif"` +
			` font-size="12"><title>${esc(title)}</title><rect width="${width}" height="${height}" fill="${getComputedStyle(this.canvas).getPropertyValue("--card")}"/>${boxes.join("\n")}</svg>\n`;
	}
}

// Elided in the middle, so that both the namespace and the name's end stay visible.
export function cut(g: CanvasRenderingContext2D, text: string, width: number): string {
	if (g.measureText(text).width <= width)
		return text;
	let keep = Math.floor(text.length * width / g.measureText(text).width);
	for (; keep > 2; keep--) {
		const s = text.slice(0, Math.ceil(keep / 2)) + "\u2026" + text.slice(text.length - Math.floor(keep / 2));
		if (g.measureText(s).width <= width)
			return s;
	}
	return "";
}
