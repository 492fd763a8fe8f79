// SPDX-License-Identifier: LGPL-3.0-or-later
// allocators.ts - the page of `mprof compare`: allocators on one recording.  Its sections are plain
// HTML (print/replay_html.c); here they become pages, tables that sort, and a heap map that plays.
import { FILMS, Player } from "../player";
import { el, sortable } from "./element";
import type { Column } from "./element";
import { saveButtons } from "./picture";

const OVERVIEW = ["findings", "allocators"]; // sections that are one page

// "12.3 MiB", "(-2 %)", "1.5 us" as numbers to sort by; text without a figure comes last.
const UNITS: { [unit: string]: number } = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, us: 1e3, ms: 1e6, s: 1e9 };

export function valueOf(text: string): number {
	const m = /^\(?([+\u2212-]?)([\d,.]+)\s*([A-Za-z]*)/.exec(text.trim());
	return m ? (m[1] && m[1] != "+" ? -1 : 1) * +m[2].replace(/,/g, "") * (UNITS[m[3]] ?? 1) : -Infinity;
}

function table(from: HTMLTableElement, name: string): HTMLElement {
	const [head, ...rows] = [...from.rows], columns = [...head.cells].map((cell, i): Column<HTMLTableRowElement> => {
		const number = cell.classList.contains("n"), text = (r: HTMLTableRowElement) => r.cells[i].textContent!.trim();
		return { key: String(i), title: cell.textContent!, number, text, value: r => i ? number ? valueOf(text(r)) : text(r) : text(r), node: i ? undefined : r => named(r.cells[0]) };
	});
	return sortable(rows, columns, "", null, name);
}

// The name of an allocator with the colour of its curve.
function named(cell: HTMLTableCellElement): Node {
	const swatch = el("i", { class: "swatch" });
	swatch.style.background = FILMS[Number(cell.dataset.row) % FILMS.length];
	return el("span", {}, swatch, ...[...cell.childNodes].map(n => n.cloneNode(true)));
}

// With the colours of the style sheet as its own, for a file.
function resolved(picture: SVGSVGElement): SVGSVGElement {
	const copy = picture.cloneNode(true) as SVGSVGElement, box = picture.viewBox.baseVal, from = picture.querySelectorAll("*"), to = copy.querySelectorAll("*");
	from.forEach((e, i) => {
		const style = getComputedStyle(e);
		for (const name of ["fill", "stroke", "font-size", "font-family"])
			to[i].setAttribute(name, style.getPropertyValue(name));
	});
	copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
	copy.setAttribute("width", String(box.width));
	copy.setAttribute("height", String(box.height));
	return copy;
}

export class Allocators {
	private nav = el("nav", { "aria-label": "Pages" });
	private main = el("main", { id: "page", tabindex: -1 });
	private sections: HTMLElement[];
	private movie = el("div", { class: "mprof-movie" });
	private player: Player | null = null;

	constructor(theme: () => void) {
		const plain = document.getElementById("plain")!;
		this.sections = [...plain.querySelectorAll<HTMLElement>(":scope > section")];
		plain.hidden = true;
		this.sections.forEach(s => this.enhance(s));
		document.body.append(this.nav, el("div", { id: "app" }, el("div", { class: "bar" },
			el("span", { class: "total" }, el("button", { type: "button", title: "Light or dark", "aria-label": "Light or dark", click: theme }, "\u25d0"))), this.main));
		addEventListener("hashchange", () => this.show());
		this.show();
	}

	private enhance(section: HTMLElement): void {
		const plain = section.querySelector("table"), curves = section.querySelector("svg"), data = section.querySelector("#mprof-heap");
		if (plain)
			plain.replaceWith(table(plain, section.id));
		if (curves)
			section.append(el("p", { class: "saves" }, ...saveButtons(() => resolved(curves), section.id)));
		if (data)
			section.append(this.movie);
	}

	private title(section: HTMLElement): string {
		return OVERVIEW.includes(section.id) ? "Overview" : section.id == "latency" ? "Latency" : section.querySelector("h2")!.textContent!;
	}

	private show(): void {
		const wanted = new URLSearchParams(location.hash.slice(1)).get("page"), first = this.sections[0];
		const chosen = this.sections.find(s => s.id == wanted) ?? first, page = (s: HTMLElement) => OVERVIEW.includes(s.id) ? first : s;
		this.nav.replaceChildren(...this.sections.filter(s => page(s) == s).map(s => el("a", { href: s == first ? "#page=overview" : "#page=" + s.id,
			"aria-current": s == page(chosen) ? "page" : null }, this.title(s))));
		this.main.replaceChildren(...this.sections.filter(s => page(s) == page(chosen)));
		if (chosen.contains(this.movie))
			void this.play();
	}

	private async play(): Promise<void> {
		if (!this.movie.childElementCount) {
			this.movie.append(el("p", {}, "Unpacking \u2026"));
			const data = JSON.parse(document.getElementById("mprof-heap")!.textContent!);
			this.movie.replaceChildren();
			this.player = await Player.open(this.movie, data);
		}
		this.player?.arrange();
	}
}
