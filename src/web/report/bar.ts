// SPDX-License-Identifier: LGPL-3.0-or-later
// bar.ts - the line above every page: the figure, the filters, and the active filters.
import { el } from "./element";
import { isEstimate, totalRange } from "./estimate";
import { fileTest, functionTest, linesThat, measures, threadTitle } from "./model";
import type { Answer, Filter } from "./model";
import { figure } from "./pages";
import type { Data } from "./data";
import type { State } from "./state";

type Setter = (change: Partial<State>) => void;
type Option = [string, string];

const power = (n: number) => n < 1 ? "0" : n <= 10 ? String(2 ** (n - 1)) : n <= 20 ? 2 ** (n - 11) + " KiB" : n <= 30 ? 2 ** (n - 21) + " MiB" : 2 ** (n - 31) + " GiB";
const range = (v: string) => v.split("-").map(Number);
export const sizeName = (from: number, to: number): string => to >= 64 ? `${power(from)} and more` : `${power(from)} to ${power(to + 1)}`;

const SIZES: Option[] = [["0-64", "all"], ...[[0, 7], [8, 10], [11, 12], [13, 16], [17, 20], [21, 64]].map(([a, b]) =>
	[`${a}-${b}`, sizeName(a, b)] as Option)];
const LIVES: Option[] = [["0-64", "all"], ["0-10", "up to 1 us"], ["11-20", "1 us to 1 ms"],
	["21-30", "1 ms to 1 s"], ["31-63", "over 1 s"], ["64-64", "never freed"]];

const NAMED: { key: "function" | "file" | "module" | "without"; label: string; help: string; of: "function" | "file" | "module" }[] = [
	{ key: "function", label: "Function", help: "Only stacks through a function with this name; * matches any text", of: "function" },
	{ key: "file", label: "File", help: "Only stacks through a source file with this name; * matches any text", of: "file" },
	{ key: "module", label: "Module", help: "Only stacks through a program or library with this name; * matches any text", of: "module" },
	{ key: "without", label: "Without", help: "No stacks through a function with this name; * matches any text", of: "function" },
];

// Input as a pattern: matches part of a name, unless it is a whole name or a pattern already.
function pattern(d: Data, of: "function" | "file" | "module", text: string): string {
	const test = of == "function" ? functionTest(text) : fileTest(text);
	return !text || /[*?[]/.test(text) || linesThat(d, d.line[of], test).includes(1) ? text : `*${text}*`;
}

export class Bar {
	readonly root = el("div", { class: "bar", role: "toolbar", "aria-label": "Figure and filters" });
	private filters = el("details", { class: "filters" });
	private lists = el("div", { hidden: true });

	constructor(private d: Data, private set: Setter, private keys: () => void, private theme: () => void) {
		this.lists.append(...(["function", "file", "module"] as const).map(of => el("datalist", { id: "names-" + of },
			...this.names(of).map(name => el("option", { value: name })))));
	}

	// Names to choose from, those of the heaviest nodes first.
	private names(of: "function" | "file" | "module"): string[] {
		const { d } = this, names = new Set<string>();
		for (let i = 1; i < d.head.nodes && names.size < 300; i++) {
			const text = d.text[d.line[of][d.lineOf[i]]];
			if (text)
				names.add(of == "function" ? text : text.slice(text.lastIndexOf("/") + 1));
		}
		return [...names];
	}

	private choose(label: string, options: Option[], value: string, change: (v: string) => void): HTMLElement {
		if (!options.some(o => o[0] == value))
			options = [...options, [value, value]];
		return el("label", {}, label + " ", el("select", { change: (e: Event) => change((e.target as HTMLSelectElement).value) },
			...options.map(([v, t]) => el("option", { value: v, selected: v == value }, t))));
	}

	// To the name of a function that every stack has to go through.
	search(): void {
		this.filters.open = true;
		this.filters.querySelector<HTMLElement>('[list="names-function"]')?.focus();
	}

	// whole: the page covers the whole run, so that only what is set already is shown.  figures: they can be chosen.
	show(s: State, a: Answer, more: HTMLElement | null, whole: boolean, figures: boolean): void {
		const { d, set } = this, f = s.filter, filter = (change: Partial<Filter>) => set({ filter: { ...s.filter, ...change } });
		const processes = d.head.report.processes as { process: number; command?: string }[], known = new Set(d.thread.number.length ? d.thread.process : []);
		const threads = [...d.thread.number].filter((_, i) => !f.process || d.thread.process[i] == f.process).slice(0, 500);
		const sizes = SIZES.some(o => o[0] == f.sizeFrom + "-" + f.sizeTo) ? SIZES
			: [...SIZES, [f.sizeFrom + "-" + f.sizeTo, sizeName(f.sizeFrom, f.sizeTo)] as Option];
		const list = [...(d.head.totals || (d.head.coarse && !d.head.served) ? [] : [
			processes.length > 1 && this.choose("Process", [["0", "all"], ...processes.filter(p => known.has(p.process)).slice(0, 500)
				.map(p => [String(p.process), `${p.process} ${(p.command ?? "").slice(0, 24)}`] as Option)], String(f.process), v => filter({ process: +v, thread: 0 })),
			this.choose("Thread", [["0", "all"], ...threads.map(t => [String(t), threadTitle(d, t)] as Option)], String(f.thread), v => filter({ thread: +v })),
			this.choose("Size", sizes, f.sizeFrom + "-" + f.sizeTo, v => filter({ sizeFrom: range(v)[0], sizeTo: range(v)[1] })),
			this.choose("Lifetime", LIVES, f.lifeFrom + "-" + f.lifeTo, v => filter({ lifeFrom: range(v)[0], lifeTo: range(v)[1] }))]),
			...NAMED.map(n => el("label", {}, n.label + " ", el("input", { type: "text", value: f[n.key], size: 14, title: n.help, list: "names-" + n.of, autocomplete: "off",
				change: (e: Event) => filter({ [n.key]: pattern(d, n.of, (e.target as HTMLInputElement).value) }) }))),
		].filter((e): e is HTMLElement => !!e);
		this.filters.replaceChildren(el("summary", {}, "Filters"), el("div", {}, ...list));
		const choices = () => [figures && this.choose("Figure", measures.map((m, i) => [m.key, i < 9 ? `${m.title} (${i + 1})` : m.title]), s.measure.key,
			v => set({ measure: measures.find(m => m.key == v)! })),
		el("label", { title: "Show frames of libraries and containers (l)" }, el("input", { type: "checkbox", checked: !s.foldLibraries,
			change: () => set({ foldLibraries: !s.foldLibraries }) }), " Library frames")];
		this.root.replaceChildren(...(whole ? [] : [...choices().filter((e): e is HTMLElement => !!e), this.filters]), ...this.chips(s, filter),
			el("strong", { class: "total" }, whole ? "" : figure(s.measure.unit, a.total)), whole ? "" : this.range(s, a),
			el("span", { class: "pair" }, el("button", { type: "button", title: "Light or dark", "aria-label": "Light or dark", click: this.theme }, "\u25d0"), " ",
				el("button", { type: "button", title: "Keys (?)", "aria-label": "Keys", click: this.keys }, "?")), ...(more ? [more] : []), this.lists);
	}

	// The range of an estimated figure.
	private range(s: State, a: Answer): HTMLElement | "" {
		const { d } = this;
		return isEstimate(d) ? el("span", { class: "range", title: "An estimate from samples, with its 95 % confidence interval" },
			`estimate: ${totalRange(d, s.measure, s.filter, a.total) || "exactly 0"}`) : "";
	}

	// The active filters; a click removes one.
	private chips(s: State, filter: (change: Partial<Filter>) => void): HTMLElement[] {
		const f = s.filter, chips: HTMLElement[] = [], chip = (text: string, away: () => void) => chips.push(el("button", { type: "button", class: "chip",
			title: "Remove this filter", click: away }, text, el("span", { "aria-hidden": "true" }, " \u00d7")));
		if (f.process)
			chip(`process ${f.process}`, () => filter({ process: 0 }));
		if (f.thread)
			chip(`thread ${threadTitle(this.d, f.thread)}`, () => filter({ thread: 0 }));
		if (f.sizeFrom || f.sizeTo < 64)
			chip(sizeName(f.sizeFrom, f.sizeTo), () => filter({ sizeFrom: 0, sizeTo: 64 }));
		if (f.lifeFrom || f.lifeTo < 64)
			chip("lifetime " + (LIVES.find(l => l[0] == f.lifeFrom + "-" + f.lifeTo)?.[1] ?? "chosen"), () => filter({ lifeFrom: 0, lifeTo: 64 }));
		for (const n of NAMED)
			if (f[n.key])
				chip(`${n.label.toLowerCase()} ${f[n.key]}`, () => filter({ [n.key]: "" }));
		for (const name of s.merged)
			chip(`merged: ${name.replace(/^\//, "module ")}`, () => this.set({ merged: s.merged.filter(m => m != name) }));
		return chips;
	}
}
