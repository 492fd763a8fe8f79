// SPDX-License-Identifier: LGPL-3.0-or-later
// charts.ts - bars that are divided into parts, and scatter plots: SVG that can be saved.
import { bytes, roundUp } from "../words";
import { download, el, quoteCsv } from "./element";
import { color, roundUpBytes, saveButtons, svg } from "./picture";

export const PART_COLORS = ["--s0", "--s1", "--s2", "--s3", "--s4", "--s5", "--s6"];

export interface Bar { label: string; title: string; parts: number[]; click?: () => void }

interface BarChart {
	name: string; // of the files that are saved
	said: string; // what it shows
	parts: string[]; // names; the last one has the colour of others if there are more than colours
	bars: Bar[];
	value: (n: number) => string;
	what: string; // title of the labels in CSV
}

const HEIGHT = 190, LEFT = 66, BOTTOM = 34, TOP = 10;

// The current width of the page; the picture scales if that changes.
export const widthOf = (): number => Math.max(300, (document.getElementById("page")?.clientWidth ?? 900) - 30);

// Names with their colours; parts without one are "others".
export function partLegend(names: string[]): HTMLElement {
	return el("p", { class: "legend" }, ...names.map((name, i) => {
		const swatch = el("i");
		swatch.style.background = partColor(i);
		return el("span", {}, swatch, name);
	}));
}

export const partColor = (i: number): string => `var(${PART_COLORS[i] ?? "--others"})`;

function text(x: number, y: number, what: string, anchor: string, more: { [name: string]: string | number } = {}): SVGTextElement {
	return svg("text", { x, y, "text-anchor": anchor, fill: color("--dim"), "font-size": 11, "font-family": "system-ui, sans-serif", ...more }, what);
}

function barPicture(c: BarChart): SVGSVGElement {
	const width = widthOf(), inside = width - LEFT - 4, step = inside / Math.max(1, c.bars.length), ground = HEIGHT - BOTTOM;
	const most = Math.max(1, ...c.bars.map(b => b.parts.reduce((x, y) => x + y, 0))), top = (c.value == bytes ? roundUpBytes : roundUp)(most), y = (n: number) => ground - n / top * (ground - TOP);
	const picture = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": c.said });
	for (const k of [0, 0.5, 1].filter(k => Number.isInteger(top * k)))
		picture.append(svg("path", { d: `M${LEFT} ${Math.round(y(top * k)) + 0.5}H${width - 4}`, stroke: color("--line"), fill: "none" }),
			text(LEFT - 6, y(top * k) + 4, c.value(top * k), "end"));
	const every = Math.ceil(46 / step); // avoids overlapping labels
	c.bars.forEach((bar, i) => {
		const x = LEFT + i * step, g = svg("g", bar.click ? { role: "button", tabindex: 0, "aria-label": bar.title } : { role: "img", "aria-label": bar.title });
		let below = 0;
		g.append(svg("title", {}, bar.title), svg("rect", { x, y: TOP, width: step, height: HEIGHT - TOP, fill: "transparent" }));
		bar.parts.forEach((n, k) => {
			if (n)
				g.append(svg("rect", { x: x + step * 0.08, width: step * 0.84, y: y(below + n), height: Math.max(0.5, y(below) - y(below + n)), fill: color(PART_COLORS[k] ?? "--others") }));
			below += n;
		});
		if (i % every == 0)
			g.append(text(x + step / 2, ground + 15, bar.label, "middle"));
		if (bar.click) {
			g.addEventListener("click", bar.click);
			g.addEventListener("keydown", e => {
				if (e.key == "Enter" || e.key == " ") {
					bar.click!();
					e.preventDefault();
				}
			});
		}
		picture.append(g);
	});
	picture.append(text(width - 4, HEIGHT - 4, c.what, "end"));
	return picture;
}

export function barChart(c: BarChart): HTMLElement {
	const csv = () => [[c.what, ...c.parts], ...c.bars.map(b => [b.label, ...b.parts.map(String)])].map(row => row.map(quoteCsv).join(",")).join("\r\n") + "\r\n";
	return el("div", { class: "chart" }, barPicture(c), c.parts.length > 1 && partLegend(c.parts),
		el("p", { class: "saves" }, ...saveButtons(() => barPicture(c), c.name),
			el("button", { type: "button", click: () => download(c.name + ".csv", "text/csv", csv()) }, "Save CSV")));
}

// ---- lines of steps ----

// A step reaches to the next one; the last one to `end`.
export interface Steps { name: string; x: number[]; y: number[]; end: number }

function stepPicture(lines: Steps[], from: number, to: number, across: (n: number) => string, up: (n: number) => string, said: string): SVGSVGElement {
	const width = widthOf(), right = width - 8, ground = HEIGHT - BOTTOM, top = roundUpBytes(Math.max(1, ...lines.flatMap(l => l.y)));
	const x = (n: number) => LEFT + (n - from) / Math.max(1, to - from) * (right - LEFT), y = (n: number) => ground - n / top * (ground - TOP);
	const picture = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": said });
	for (const k of [0, 0.25, 0.5, 0.75, 1])
		picture.append(svg("path", { d: `M${LEFT} ${Math.round(y(top * k)) + 0.5}H${right}`, stroke: color("--line"), fill: "none" }),
			text(LEFT - 6, y(top * k) + 4, up(top * k), "end"));
	for (const [k, anchor] of ([[0, "start"], [0.25, "middle"], [0.5, "middle"], [0.75, "middle"], [1, "end"]] as const).filter(t => width > 500 || t[0] * 2 % 1 == 0))
		picture.append(text(LEFT + k * (right - LEFT), ground + 15, across(from + k * (to - from)), anchor));
	lines.forEach((l, i) => {
		const d: string[] = [];
		l.x.forEach((begin, k) => {
			const end = Math.min(to, l.x[k + 1] ?? l.end);
			if (end > from && begin < to)
				d.push(`${d.length ? "V" : `M${x(Math.max(from, begin)).toFixed(1)} `}${y(l.y[k]).toFixed(1)}H${x(end).toFixed(1)}`);
		});
		if (d.length)
			picture.append(svg("path", { d: d.join(""), stroke: color(PART_COLORS[i]), "stroke-width": 1.75, fill: "none" }, svg("title", {}, l.name)));
	});
	return picture;
}

// At most as many lines as there are colours.
export function stepChart(lines: Steps[], from: number, to: number, across: (n: number) => string, up: (n: number) => string, said: string, name: string,
		csv: string[][]): HTMLElement {
	const make = () => stepPicture(lines, from, to, across, up, said);
	return el("div", { class: "chart steps" }, make(), partLegend(lines.map(l => l.name)), el("p", { class: "saves" }, ...saveButtons(make, name),
		el("button", { type: "button", click: () => download(name + ".csv", "text/csv", csv.map(row => row.map(quoteCsv).join(",")).join("\r\n") + "\r\n") }, "Save CSV")));
}

// ---- a scatter ----

export interface Dot { x: number; y: number; weight: number; title: string }

const SIDE = 420;

function scatterPicture(dots: Dot[], value: (n: number) => string, across: string, up: string, said: string): SVGSVGElement {
	const side = Math.min(SIDE, widthOf()), right = side - 10, ground = side - 40, left = LEFT;
	const log = (n: number) => Math.log2(n + 1), most = Math.ceil(Math.max(1, ...dots.map(d => Math.max(log(d.x), log(d.y))))), heaviest = Math.max(1, ...dots.map(d => d.weight));
	const x = (n: number) => left + log(n) / most * (right - left), y = (n: number) => ground - log(n) / most * (ground - TOP);
	const picture = svg("svg", { xmlns: "http://www.w3.org/2000/svg", width: side, height: side, viewBox: `0 0 ${side} ${side}`, role: "img", "aria-label": said });
	const line = (d: string, dash = "") => svg("path", { d, stroke: color("--line"), fill: "none", "stroke-dasharray": dash || null });
	for (let k = 0; k <= most; k += Math.ceil(most / 6)) {
		const n = 2 ** k - 1;
		picture.append(line(`M${left} ${y(n)}H${right}`), line(`M${x(n)} ${TOP}V${ground}`), text(left - 6, y(n) + 4, value(k ? 2 ** k : 0), "end"),
			text(x(n), ground + 15, value(k ? 2 ** k : 0), "middle"));
	}
	picture.append(line(`M${left} ${ground}L${right} ${TOP}`, "4 4"), text(right, side - 6, across, "end"),
		text(12, TOP, up, "end", { transform: `rotate(-90 12 ${TOP})` }));
	for (const d of [...dots].sort((a, b) => b.weight - a.weight))
		picture.append(svg("circle", { cx: x(d.x), cy: y(d.y), r: 2.5 + 7 * Math.sqrt(d.weight / heaviest), fill: color("--heat"), "fill-opacity": 0.6, stroke: color("--card") },
			svg("title", {}, d.title)));
	return picture;
}

// Both axes are logarithmic; on the dashed line x and y are the same.
export function scatter(dots: Dot[], value: (n: number) => string, across: string, up: string, said: string, name: string): HTMLElement {
	const make = () => scatterPicture(dots, value, across, up, said);
	return el("div", { class: "chart scatter" }, make(), el("p", { class: "saves" }, ...saveButtons(make, name)));
}
