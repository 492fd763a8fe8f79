// SPDX-License-Identifier: LGPL-3.0-or-later
// chart.ts - bytes over calls: requested, usable and resident, for each film, with a cursor.

import { Film } from "./film";
import { bytes, count, many } from "./words";

const LEFT = 64, RIGHT = 12, TOP = 8, BOTTOM = 22;

/** 1, 2, 4 or 8 times a power of 1024, so that there are two to five of them. */
function stepOf(most: number): number {
	let step = 1;
	while (most / step > 5)
		step *= 2;
	return step;
}

export class Chart {
	readonly canvas = document.createElement("canvas");
	private width = 0;
	private height = 0;
	private most: number;

	constructor(private films: Film[], private colours: string[], private ops: number) {
		this.canvas.className = "mp-chart";
		this.canvas.setAttribute("role", "img");
		this.most = 1;
		for (const f of films)
			for (const column of [f.curves.requested, f.curves.usable, f.curves.resident])
				this.most = column.reduce((a, b) => Math.max(a, b), this.most);
		this.canvas.setAttribute("aria-label",
			`Requested, usable and resident bytes over ${many(ops, "call")}; up to ` +
			bytes(this.most));
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

	/** The call at a point of the canvas. */
	opAt(x: number): number {
		const part = (x - LEFT) / Math.max(1, this.width - LEFT - RIGHT);
		return Math.max(0, Math.min(1, part)) * this.ops;
	}

	draw(shown: boolean[], op: number): void {
		const ratio = window.devicePixelRatio || 1;
		const to = this.canvas.getContext("2d")!;
		const style = getComputedStyle(this.canvas);
		to.setTransform(ratio, 0, 0, ratio, 0, 0);
		to.clearRect(0, 0, this.width, this.height);
		this.axes(to, style);
		const first = this.films.find((_, i) => shown[i]);
		if (first)
			this.area(to, first, style.getPropertyValue("--mp-area"));
		this.films.forEach((f, i) => {
			if (!shown[i])
				return;
			to.strokeStyle = this.colours[i];
			to.globalAlpha = 0.55;
			to.lineWidth = 1;
			to.setLineDash([3, 3]);
			this.line(to, f.curves.op, f.curves.usable);
			to.globalAlpha = 1;
			to.setLineDash([]);
			to.lineWidth = 1.75;
			if (f.curves.resident.some((n) => n > 0))
				this.line(to, f.curves.op, f.curves.resident);
		});
		const x = Math.round(this.x(op)) + 0.5;
		to.strokeStyle = style.getPropertyValue("--mp-text");
		to.lineWidth = 1;
		to.beginPath();
		to.moveTo(x, TOP - 4);
		to.lineTo(x, this.height - BOTTOM);
		to.stroke();
		to.fillStyle = to.strokeStyle;
		to.beginPath();
		to.arc(x, TOP - 3, 3.5, 0, 7);
		to.fill();
	}

	private x(op: number): number {
		return LEFT + op / Math.max(1, this.ops) * (this.width - LEFT - RIGHT);
	}

	private y(n: number): number {
		return this.height - BOTTOM - n / (this.most * 1.05) * (this.height - TOP - BOTTOM);
	}

	private axes(to: CanvasRenderingContext2D, style: CSSStyleDeclaration): void {
		const step = stepOf(this.most);
		to.font = "11px system-ui, sans-serif";
		to.fillStyle = style.getPropertyValue("--mp-dim");
		to.strokeStyle = style.getPropertyValue("--mp-rule");
		to.lineWidth = 1;
		to.textAlign = "right";
		to.textBaseline = "middle";
		for (let n = 0; n <= this.most * 1.05; n += step) {
			const y = Math.round(this.y(n)) + 0.5;
			to.beginPath();
			to.moveTo(LEFT, y);
			to.lineTo(this.width - RIGHT, y);
			to.stroke();
			to.fillText(n === 0 ? "0" : bytes(n), LEFT - 8, y);
		}
		to.textBaseline = "alphabetic";
		const marks = Math.max(2, Math.min(8, Math.floor(this.width / 140)));
		for (let i = 0; i <= marks; i++) {
			const op = this.ops * i / marks;
			to.textAlign = i === 0 ? "left" : i === marks ? "right" : "center";
			to.fillText(i === marks ? many(op, "call") : count(op), this.x(op),
				this.height - 6);
		}
	}

	private path(to: CanvasRenderingContext2D, op: Float64Array, value: Float64Array): void {
		for (let i = 0; i < op.length; i++)
			to.lineTo(this.x(op[i]), this.y(value[i]));
	}

	private line(to: CanvasRenderingContext2D, op: Float64Array, value: Float64Array): void {
		to.beginPath();
		this.path(to, op, value);
		to.stroke();
	}

	private area(to: CanvasRenderingContext2D, f: Film, colour: string): void {
		const { op, requested } = f.curves;
		if (!op.length)
			return;
		to.fillStyle = colour;
		to.beginPath();
		to.moveTo(this.x(op[0]), this.y(0));
		this.path(to, op, requested);
		to.lineTo(this.x(op[op.length - 1]), this.y(0));
		to.fill();
	}
}
