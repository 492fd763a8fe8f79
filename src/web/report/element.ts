// SPDX-License-Identifier: LGPL-3.0-or-later
// element.ts - makes elements from values.  Names from a trace always become text, never markup.
import { bytes, duration, percent } from "../words";

type Child = Node | string | number | null | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: { [name: string]: unknown } = {},
		...children: Child[]): HTMLElementTagNameMap[K] {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes)) {
		if (typeof value == "function")
			e.addEventListener(name, value as EventListener);
		else if (value === true)
			e.setAttribute(name, "");
		else if (value !== false && value !== undefined && value !== null)
			e.setAttribute(name, String(value));
	}
	e.append(...children.filter(c => c !== null && c !== undefined && c !== false).map(c =>
		typeof c == "number" ? String(c) : c as Node | string));
	return e;
}

// Shows a text beside the pointer, within the window.
export function pointOut(tip: HTMLElement, e: MouseEvent, text: string): void {
	tip.textContent = text;
	tip.hidden = false;
	tip.style.left = Math.max(0, Math.min(e.clientX + 12, innerWidth - tip.offsetWidth - 10)) + "px";
	tip.style.top = Math.max(0, Math.min(e.clientY + 16, innerHeight - tip.offsetHeight - 4)) + "px";
}

export function download(name: string, type: string, data: BlobPart): void {
	const url = URL.createObjectURL(new Blob([data], { type })), a = el("a", { href: url, download: name });
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export interface Column<R> {
	key: string; title: string; text(r: R): string; value?(r: R): number | string; number?: boolean;
	upward?: boolean; // a column of numbers whose least ones are first until it is clicked again
	weight?(r: R): number; // what sorts instead of the value
	share?(r: R): number; // a bar behind the figure, 0 to 1
	node?(r: R): Node; // instead of text
	help?: string; // about the column
	unit?: string; // of the value, for the head of a saved column
}

// A column of numbers.  null: unknown, which is last.
export const column = <R>(key: string, title: string, text: (n: number) => string, value: (r: R) => number | null, more: Partial<Column<R>> = {}): Column<R> => ({
	key, title, number: true, unit: text == bytes ? "bytes" : text == duration ? "ns" : undefined, value: r => value(r) ?? (more.upward ? Infinity : -1),
	text: r => {
		const n = value(r);
		return n === null ? "-" : text(n);
	}, ...more,
});

// A row's percentage of the whole; unknown if the whole is 0.
export const shareColumn = <R>(key: string, part: (r: R) => number, whole: (r: R) => number): Column<R> => ({ key, title: "%", number: true,
	value: r => whole(r) ? 100 * part(r) / whole(r) : -1, text: r => percent(part(r), whole(r)) });

const startsUpward = <R>(c: Column<R>) => !c.number || !!c.upward;

// The meaning of a word, from the glossary in the page's plain HTML.
export function meaning(word: string): string | undefined {
	glossary ??= new Map([...document.querySelectorAll("#glossary dt")].map(dt => [dt.textContent!, dt.nextElementSibling!.textContent!]));
	return glossary.get(word);
}

let glossary: Map<string, string> | undefined;

const ROWS = 200;
const PLACES = ["where", "place"], SHORT = 28; // keys of columns that are not broken, and up to which length

// On a narrow screen the name comes first, so that it is visible without scrolling.
const narrowFirst = <R>(columns: Column<R>[]): Column<R>[] => matchMedia("(max-width: 700px)").matches
	? [...columns.filter(c => isName(c)), ...columns.filter(c => !isName(c))] : columns;
const isName = (c: { key: string }) => c.key == "name" || c.key == "command";

// How a table is sorted, where this outlives the table.
export interface Sorting { key: string; upward?: boolean } // undefined: as the column starts

// What was chosen last of the tables of each name: it outlives new figures.
const chosen = new Map<string, Sorting>();

// A sortable table that shows its first rows, and more on request.  sort "": in the order of rows.
// onSort null: only the table knows by which column; otherwise `sort` says what was chosen.
export function sortable<R>(rows: R[], given: Column<R>[], sort: string | Sorting, onSort: ((key: string) => void) | null,
		name: string, first = ROWS): HTMLElement {
	const columns = narrowFirst(given), body = el("tbody"), head = el("tr"), value = (r: R, c: Column<R>) => c.value ? c.value(r) : c.text(r);
	const more = el("button", { type: "button", click: () => add(ROWS) });
	const before = chosen.get(name), at = (key: string) => columns.find(c => c.key == key);
	const kept = typeof sort != "string" ? sort : before && at(before.key) && (!onSort || before.key == sort) ? before : { key: sort };
	let by = kept.key ? at(kept.key) ?? columns[0] : null, upward = kept.upward ?? (!by || startsUpward(by)), sorted: R[] = [], shown = 0;
	const add = (most: number) => {
		for (const r of sorted.slice(shown, shown + most))
			body.append(el("tr", {}, ...columns.map(c => {
				const short = PLACES.includes(c.key) && c.text(r).replace(/.*\//, "").length <= SHORT;
				const cell = el("td", { class: c.number ? "n" : short ? "short" : null }, c.node ? c.node(r) : c.text(r));
				if (c.share) {
					const bar = el("i", { class: "bar" });
					bar.style.width = 100 * Math.max(0, Math.min(1, c.share(r))) + "%";
					cell.prepend(bar);
				}
				return cell;
			})));
		shown = Math.min(sorted.length, shown + most);
		more.textContent = `Show ${Math.min(ROWS, sorted.length - shown)} more of ${sorted.length}`;
		more.hidden = shown == sorted.length;
	};
	const order = () => {
		const sign = upward ? 1 : -1, c = by, weight = (r: R) => c!.weight?.(r) ?? value(r, c!);
		sorted = !c ? [...rows] : [...rows].sort((x, y) => {
			const a = weight(x), b = weight(y);
			return sign * (c.number ? (a as number) - (b as number) : String(a).localeCompare(String(b)));
		});
		head.replaceChildren(...columns.map(c => el("th", { scope: "col", class: c.number ? "n" : null,
			"aria-sort": c == by ? (upward ? "ascending" : "descending") : "none" },
			el("button", { type: "button", title: c.help ?? meaning(c.title), click: () => choose(c) }, c.title))));
		body.replaceChildren();
		shown = 0;
		add(first);
	};
	// A second click reverses the order.
	const choose = (c: Column<R>) => {
		const same = c == by;
		upward = same ? !upward : startsUpward(c);
		by = c;
		Object.assign(kept, { key: c.key, upward });
		chosen.set(name, kept);
		order();
		head.querySelectorAll("button")[columns.indexOf(c)].focus();
		if (!same)
			onSort?.(c.key);
	};
	order();
	const plain = (r: R, c: Column<R>) => ["", "-"].includes(c.text(r)) ? "" : String(value(r, c));
	const csv = () => [columns.map(c => c.unit && c.title != "Bytes" ? `${c.title} (${c.unit})` : c.title), ...sorted.map(r => columns.map(c => plain(r, c)))]
		.map(line => line.map(quoteCsv).join(",")).join("\r\n") + "\r\n";
	return el("div", { class: "table" },
		el("table", {}, el("thead", {}, head), body), more,
		el("button", { type: "button", class: "save", click: () => download(name + ".csv", "text/csv", csv()) }, "Save CSV"));
}

// A leading = + - @ would be a formula to a spreadsheet.
export function quoteCsv(text: string): string {
	const safe = /^[=+\-@\t\r]/.test(text) && isNaN(Number(text)) ? "'" + text : text;
	return /[",\r\n]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
}
