// SPDX-License-Identifier: LGPL-3.0-or-later
// sources.ts - source files with the figures of each line beside it.  The text is in the page when
// `mprof report --html --sources` wrote it, or comes from `mprof view`; otherwise only the lines
// that have figures are listed.
import { quote } from "./command";
import type { Data } from "./data";
import { editorField, editorLink } from "./editor";
import { column, el, sortable } from "./element";
import { fullTable, nameOf, owned, shortFile, table } from "./model";
import type { FullRow, Row } from "./model";
import { everyFigure, figure, textOf } from "./pages";
import type { View } from "./pages";

// ---- the text of a file ----

interface Source { text: string; why: string; change: number }

export class Texts {
	private known = new Map<string, Source | null>(); // by path
	private d!: Data;
	private changed: () => void = () => {};

	// For these figures; what could not be read is tried again.
	renew(d: Data, changed: () => void): void {
		this.d = d;
		this.changed = changed;
		for (const [path, source] of this.known)
			if (source?.why)
				this.known.delete(path);
	}

	// file: number of a text.  null: it is loading.
	get(file: number): Source | null {
		const { d } = this, at = d.source.file.indexOf(file);
		if (at < 0)
			return { text: "", why: "nothing is known about it", change: 0 };
		if (!d.head.served)
			return { text: d.text[d.source.text[at]], why: d.text[d.source.why[at]], change: d.source.change[at] };
		const path = d.text[file], known = this.known.get(path);
		if (known === undefined) {
			this.known.set(path, null);
			fetch(`source?file=${at}&made=${d.head.made}`).then(answer => answer.json()).catch(error => ({ why: `mprof view did not answer: ${error}` })).then(told => {
				if (told.why && d != this.d)
					this.known.delete(path);
				else
					this.known.set(path, { text: told.text ?? "", why: told.why ?? "", change: told.change ?? 0 });
				this.changed();
			});
		}
		return known ?? null;
	}
}

// ---- figures of files and lines ----

// Lines of the same file and number get the same key, whatever function they are part of.
function lineKeys(d: Data): Uint32Array {
	const seen = new Map<number, number>();
	return d.line.file.map((file, i) => {
		const place = file * 2 ** 24 + d.line.line[i];
		return file ? seen.get(place) ?? seen.set(place, i).get(place)! : 0;
	});
}

// Like table(), without lines of unknown files; recursive calls within a file count once.
const byKey = (v: View, keys: Uint32Array) => table(v.d, owned(v.d, v.a, v.s.foldLibraries), keys)
	.filter(r => r.key && (r.sum || r.own));

// ---- the page ----

const WHOLE = 400, AROUND = 8; // lines: files that are shown whole; context of lines with figures

function fileList(v: View, files: Row[]): HTMLElement {
	const { d } = v, unit = v.s.measure.unit, total = v.a.total || 1;
	return sortable(files, [
		column("own", "Own", textOf(unit), r => r.own, { share: r => r.own / total }),
		column("sum", "With callees", textOf(unit), r => r.sum),
		{ key: "name", title: "File", text: r => d.text[d.line.file[r.line]], node: r => el("button", { type: "button", class: "name",
			title: d.text[d.line.file[r.line]], click: () => v.set({ chosen: r.line }) }, shortFile(d.text[d.line.file[r.line]])) },
	], v.s.sort == "sum" ? "sum" : "own", sort => v.set({ sort }), "files");
}

// Sizes that a line requested, in the whole run.
const sizesOf = (r: FullRow | undefined) => !r ? "" : r.sizeLeast == r.sizeMost ? figure("bytes", r.sizeMost)
	: [r.sizeLeast, r.own.total / r.own.calls, r.sizeMost].map(n => figure("bytes", n)).join(" / ");

function sourceRow(v: View, number: number, row: Row | undefined, full: FullRow | undefined, text: string, chosen: boolean): HTMLElement {
	const unit = v.s.measure.unit, own = el("td", { class: "n" }, row?.own ? figure(unit, row.own) : "");
	if (row?.own) {
		const bar = el("i", { class: "bar" });
		bar.style.width = 100 * Math.min(1, row.own / (v.a.total || 1)) + "%";
		own.prepend(bar);
	}
	const line = number ? String(number) : "?";
	return el("tr", { class: chosen ? "chosen" : null, id: chosen ? "chosen" : null }, own,
		el("td", { class: "n" }, row?.sum ? figure(unit, row.sum) : ""),
		...(v.s.full ? [full?.own.calls ? figure("calls", full.own.calls) : "", full?.own.calls ? figure("calls", full.own.freed) : "", sizesOf(full)].map(text => el("td", { class: "n" }, text)) : []),
		el("td", { class: "n" }, row ? el("button", { type: "button", class: "name", title: `Call graph around ${nameOf(v.d, row.line)}`,
			click: () => v.set({ page: "callers", chosen: row.line }) }, line) : line),
		el("td", {}, el("code", {}, text)));
}

// All lines, or those near figures with buttons for the others.
function listing(v: View, rows: Map<number, Row>, full: Map<number, FullRow>, text: string[], chosen: number): HTMLElement {
	const body = el("tbody"), last = Math.max(text.length, ...rows.keys()), near = new Set<number>();
	const one = (n: number) => sourceRow(v, n, rows.get(n), full.get(n), text[n - 1] ??
		(text.length ? "(the file has no such line now)" : rows.has(n) ? nameOf(v.d, rows.get(n)!.line) : ""), n == chosen);
	if (rows.has(0))
		body.append(sourceRow(v, 0, rows.get(0), full.get(0), "(somewhere in this file)", chosen == 0));
	for (const n of [...rows.keys(), chosen])
		for (let k = n - AROUND; k <= n + AROUND; k++)
			near.add(k);
	for (let n = 1; n <= last; n++) {
		if (text.length ? last <= WHOLE || near.has(n) : rows.has(n)) {
			body.append(one(n));
			continue;
		}
		const from = n;
		while (n < last && (text.length ? !near.has(n + 1) : !rows.has(n + 1)))
			n++;
		if (!text.length)
			continue;
		const to = n, gap = el("tr", { class: "gap" }, el("td", { colspan: v.s.full ? 7 : 4 }, el("button", { type: "button", click: () => {
			gap.replaceWith(...Array.from({ length: to - from + 1 }, (_, i) => one(from + i)));
		} }, `Show lines ${from} to ${to}`)));
		body.append(gap);
	}
	return el("div", { class: "scroll" }, el("table", { class: "source" }, el("thead", {}, el("tr", {},
		...["Own", "With callees", ...(v.s.full ? ["Allocations", "Freed", "Sizes: smallest / mean / largest"] : []), "Line"].map(t => el("th", { scope: "col", class: "n" }, t)), el("th", { scope: "col" }, "Source"))), body));
}

function remarks(v: View, file: string, s: Source | null): HTMLElement | null {
	const { head } = v.d, note = (...text: (string | Node)[]) => el("p", { class: "note", role: "status" }, ...text);
	if (!s)
		return note(`Reading ${file} \u2026`);
	if (!head.served && !head.sources)
		return note("This page was written without source text. To see it: ", el("code", {}, `mprof view ${quote(head.trace)}`), ", or ",
			el("code", {}, `mprof report --html FILE --sources ${quote(head.trace)}`));
	if (s.why)
		return note(`${file} cannot be shown: ${s.why}. `, el("code", {}, "--source-dir DIR"), " names the directory of the sources.");
	return s.change ? note(`${file} ${s.change == 1 ? "was changed after the program ran" : "is newer than the program"}: figures may appear beside the wrong lines.`) : null;
}

export function sources(v: View): HTMLElement {
	const { d, s } = v, files = byKey(v, d.line.file).sort((x, y) => y.own - x.own || y.sum - x.sum);
	if (!files.length)
		return el("section", {}, el("h2", {}, "Sources"), el("p", {}, v.a.total
			? "No source file is known for what is shown: the program was built without -g, or its debug files are not here."
			: "Nothing in this window passes the filters."));
	const chosen = s.chosen && d.line.file[s.chosen] ? s.chosen : 0;
	const file = d.line.file[chosen || files[0].line], path = d.text[file], source = v.texts.get(file);
	const rows = new Map(byKey(v, lineKeys(d)).filter(r => d.line.file[r.line] == file).map(r => [d.line.line[r.line], r] as const));
	const full = new Map(fullTable(d, s.filter, lineKeys(d), s.foldLibraries).filter(r => r.key && d.line.file[r.line] == file).map(r => [d.line.line[r.line], r] as const));
	const text = source?.text ? source.text.replace(/\n$/, "").split("\n") : [];
	const link = editorLink(path, chosen ? d.line.line[chosen] : d.line.line[files[0].line]);
	const page = el("section", {}, el("h2", {}, path), el("div", { class: "bar2" }, link && el("a", { href: link, rel: "noreferrer", class: "editor" }, "Open in the editor"),
		everyFigure(v), editorField(() => v.set({}))), remarks(v, shortFile(path), source),
		el("div", { class: "sources" }, fileList(v, files), listing(v, rows, full, text, chosen ? d.line.line[chosen] : -1)),
		el("p", {}, el("code", {}, `mprof report annotate ${quote(shortFile(path))} ${quote(d.head.trace)}`)));
	if (chosen)
		requestAnimationFrame(() => document.getElementById("chosen")?.scrollIntoView({ block: "nearest" }));
	return page;
}
