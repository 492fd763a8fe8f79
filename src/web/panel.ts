// SPDX-License-Identifier: LGPL-3.0-or-later
// panel.ts - one film's pages on a canvas.  All panels share one view: the same position and
// zoom.

import { Colours, Kind, pinned } from "./colours";
import { PAGE } from "./data";
import { Film } from "./film";
import { Layout } from "./layout";
import { bytes, percent } from "./words";

/** CSS pixels per page, and the position of cell (0, 0). */
export interface View {
	scale: number;
	x: number;
	y: number;
}

const GRID = 9; // CSS pixels per page from which lines separate pages
const NUMBERS = 46; // and from which pages show their bytes

export class Panel {
	readonly root: HTMLElement;
	readonly canvas: HTMLCanvasElement;
	private figures: HTMLElement;
	private picture = document.createElement("canvas"); // one pixel a cell
	private image!: ImageData;
	private cells!: Uint32Array;
	private colour: Uint32Array;
	layout!: Layout;
	width = 0;
	height = 0;
	page = -1; // under the pointer or selected by the keyboard

	constructor(readonly film: Film, readonly index: number, colour: string) {
		this.colour = new Uint32Array(film.data.pages);
		this.root = document.createElement("figure");
		this.root.className = "mp-panel";
		this.root.innerHTML = `<figcaption><span class="mp-name"><i></i><b></b><em></em></span>
			<span class="mp-figures"></span></figcaption><canvas tabindex="0"></canvas>`;
		this.root.querySelector("i")!.style.background = colour;
		this.root.querySelector("b")!.textContent = film.name;
		this.root.querySelector("em")!.textContent = film.version;
		this.figures = this.root.querySelector(".mp-figures")!;
		this.canvas = this.root.querySelector("canvas")!;
		this.canvas.setAttribute("role", "application");
		this.canvas.setAttribute("aria-label",
			`${film.name}: map of the heap; arrow keys go from page to page`);
	}

	arrange(columns: number): void {
		this.layout = new Layout(this.film.data, columns);
		this.picture.width = columns;
		this.picture.height = this.layout.rows;
		this.image = new ImageData(columns, this.layout.rows);
		this.cells = new Uint32Array(this.image.data.buffer);
	}

	size(width: number, height: number): void {
		const ratio = window.devicePixelRatio || 1;
		this.width = width;
		this.height = height;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.width = `${width}px`;
		this.canvas.style.height = `${height}px`;
	}

	/** The page under a point of the canvas; -1 for none. */
	pageAt(x: number, y: number, view: View): number {
		return this.layout.pageAt(Math.floor((x - view.x) / view.scale),
			Math.floor((y - view.y) / view.scale));
	}

	/** Top left of a page on the canvas. */
	pointOf(page: number, view: View): [number, number] {
		const cell = this.layout.cellOf(page), columns = this.layout.columns;
		return [view.x + cell % columns * view.scale,
			view.y + Math.floor(cell / columns) * view.scale];
	}

	draw(colours: Colours, kind: Kind, view: View, pins: boolean): void {
		const ratio = window.devicePixelRatio || 1;
		const to = this.canvas.getContext("2d")!;
		colours.paint(kind, this.film, this.colour);
		this.cells.fill(0);
		this.layout.spans((page, cell, length) =>
			this.cells.set(this.colour.subarray(page, page + length), cell));
		this.picture.getContext("2d")!.putImageData(this.image, 0, 0);
		to.setTransform(ratio, 0, 0, ratio, 0, 0);
		to.clearRect(0, 0, this.width, this.height);
		this.ground(to, view);
		to.imageSmoothingEnabled = view.scale * ratio < 1;
		to.drawImage(this.picture, view.x, view.y, this.layout.columns * view.scale,
			this.layout.rows * view.scale);
		this.drawGaps(to, view);
		if (view.scale >= GRID)
			this.drawGrid(to, view);
		if (pins)
			this.drawPins(to, view, colours.pin);
		if (view.scale >= NUMBERS)
			this.drawNumbers(to, view);
		this.drawCursor(to, view);
		this.caption();
	}

	private caption(): void {
		const f = this.film.figures, i = this.film.frame;
		const part = (name: string, value: string, title: string) =>
			`<span title="${title}"><em>${name}</em> ${value}</span>`;
		this.figures.innerHTML =
			part("resident", f.resident[i] ? bytes(f.resident[i]) : "–",
				this.film.name === "as recorded" ? "Resident memory of the process, with code, stacks and files"
					: "Physical memory of the allocator") +
			(this.film.data.residency ? part("kept empty", bytes(f.retained[i] * PAGE),
				"Resident pages without a live byte") : "") +
			(this.film.data.left_out ? part("", "some addresses are too far away to be drawn", "Blocks that are too large, or too far away from the others, have no pages here")
				: part("page use", percent(f.requested[i], f.pages[i] * PAGE), "Requested bytes as a share of the pages that contain them"));
	}

	/** The visible rows. */
	private visible(view: View): [number, number, number, number] {
		return [Math.max(0, Math.floor(-view.x / view.scale)),
			Math.max(0, Math.floor(-view.y / view.scale)),
			Math.min(this.layout.columns, Math.ceil((this.width - view.x) / view.scale)),
			Math.min(this.layout.rows, Math.ceil((this.height - view.y) / view.scale))];
	}

	/** Address space that any frame uses is slightly lighter than unused space. */
	private ground(to: CanvasRenderingContext2D, view: View): void {
		const { columns } = this.layout, s = view.scale;
		to.fillStyle = getComputedStyle(this.canvas).getPropertyValue("--mp-unit");
		this.layout.spans((_page, cell, length) => {
			for (let at = cell, left = length; left > 0;) {
				const column = at % columns;
				let n = Math.min(left, columns - column), rows = 1;
				if (column === 0 && left >= columns) {
					rows = Math.floor(left / columns);
					n = columns;
				}
				to.fillRect(view.x + column * s, view.y + Math.floor(at / columns) * s, n * s,
					rows * s);
				at += n * rows;
				left -= n * rows;
			}
		});
	}

	private drawGaps(to: CanvasRenderingContext2D, view: View): void {
		to.fillStyle = getComputedStyle(this.canvas).getPropertyValue("--mp-gap");
		for (const row of this.layout.gaps)
			to.fillRect(view.x, Math.round(view.y + (row + 0.5) * view.scale),
				this.layout.columns * view.scale, 1);
	}

	private drawGrid(to: CanvasRenderingContext2D, view: View): void {
		const [left, top, right, bottom] = this.visible(view);
		to.strokeStyle = getComputedStyle(this.canvas).getPropertyValue("--mp-map");
		to.globalAlpha = Math.min(1, (view.scale - GRID) / 12 + 0.25);
		to.lineWidth = 1;
		to.beginPath();
		for (let c = left; c <= right; c++) {
			to.moveTo(view.x + c * view.scale, view.y + top * view.scale);
			to.lineTo(view.x + c * view.scale, view.y + bottom * view.scale);
		}
		for (let r = top; r <= bottom; r++) {
			to.moveTo(view.x + left * view.scale, view.y + r * view.scale);
			to.lineTo(view.x + right * view.scale, view.y + r * view.scale);
		}
		to.stroke();
		to.globalAlpha = 1;
	}

	/** Calls f for each visible page, with its top left corner. */
	private each(view: View, f: (page: number, x: number, y: number) => void): void {
		const [left, top, right, bottom] = this.visible(view);
		for (let r = top; r < bottom; r++)
			for (let c = left; c < right; c++) {
				const page = this.layout.pageAt(c, r);
				if (page >= 0)
					f(page, view.x + c * view.scale, view.y + r * view.scale);
			}
	}

	private drawPins(to: CanvasRenderingContext2D, view: View, colour: string): void {
		const { live } = this.film.now, { columns } = this.layout;
		const s = view.scale, wide = Math.max(s, 2);
		to.fillStyle = to.strokeStyle = colour;
		to.lineWidth = Math.min(3, s / 5);
		this.layout.spans((first, cell, length) => {
			for (let i = 0; i < length; i++) {
				if (!pinned(live[first + i]))
					continue;
				const x = view.x + (cell + i) % columns * s;
				const y = view.y + Math.floor((cell + i) / columns) * s;
				if (s < 6)
					to.fillRect(x, y, wide, wide);
				else
					to.strokeRect(x + to.lineWidth / 2, y + to.lineWidth / 2,
						s - to.lineWidth, s - to.lineWidth);
			}
		});
	}

	private drawNumbers(to: CanvasRenderingContext2D, view: View): void {
		const { live } = this.film.now;
		to.font = "11px system-ui, sans-serif";
		to.textAlign = "center";
		to.textBaseline = "middle";
		this.each(view, (page, x, y) => {
			if (!live[page])
				return;
			const at = [x + view.scale / 2, y + view.scale / 2] as const;
			to.strokeStyle = "rgb(0 0 0 / 60%)";
			to.lineWidth = 3;
			to.strokeText(String(live[page]), ...at);
			to.fillStyle = "#fff";
			to.fillText(String(live[page]), ...at);
		});
	}

	private drawCursor(to: CanvasRenderingContext2D, view: View): void {
		if (this.page < 0)
			return;
		const [x, y] = this.pointOf(this.page, view), s = Math.max(view.scale, 3);
		to.lineWidth = 3;
		to.strokeStyle = "#000";
		to.strokeRect(x - 1, y - 1, s + 2, s + 2);
		to.lineWidth = 1.5;
		to.strokeStyle = "#fff";
		to.strokeRect(x - 1, y - 1, s + 2, s + 2);
	}
}

