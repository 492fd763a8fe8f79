// SPDX-License-Identifier: LGPL-3.0-or-later
// colours.ts - what the colour of a page means.  One meaning at a time.

import { MovieData, PAGE, Site, threadTitle } from "./data";
import { Film } from "./film";
import { bytes, count } from "./words";

export const KINDS = ["occupancy", "age", "size", "thread", "site", "module"] as const;
export type Kind = (typeof KINDS)[number];

export interface Swatch {
	colour: string;
	label: string;
}
export interface Legend {
	title: string;
	ramp?: { colours: string[]; from: string; to: string };
	swatches: Swatch[];
}

const SHOWN = 12; // threads, sites or modules with their own colour

function rgba(hex: string): number {
	const n = parseInt(hex.slice(1), 16);
	return (0xff000000 | (n & 0xff) << 16 | (n & 0xff00) | n >> 16) >>> 0;
}

/** A dark colour, mixed with white. */
function lighter(hex: string): string {
	const parts = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
	const light = 0.3 * parts[0] + 0.59 * parts[1] + 0.11 * parts[2];
	const white = Math.max(0, (100 - light) / 255);
	return "#" + parts.map((n) => Math.round(n + (255 - n) * white).toString(16).padStart(2, "0"))
		.join("");
}

/** A ramp between colours with this number of steps. */
function ramp(stops: string[], steps: number): Uint32Array {
	const out = new Uint32Array(steps);
	const part = (hex: string, i: number) => parseInt(hex.slice(1 + 2 * i, 3 + 2 * i), 16);
	for (let s = 0; s < steps; s++) {
		const at = s / Math.max(1, steps - 1) * (stops.length - 1);
		const low = Math.min(Math.floor(at), stops.length - 2), f = at - low;
		let n = 0xff000000;
		for (let i = 0; i < 3; i++)
			n |= Math.round(part(stops[low], i) * (1 - f) + part(stops[low + 1], i) * f) << 8 * i;
		out[s] = n >>> 0;
	}
	return out;
}

interface Classes {
	of: (film: Film, owner: number) => number;
	legend: Legend;
	colours: Uint32Array;
}

export class Colours {
	private palette: { [name: string]: string[] }; // of palette.h
	private sizes: number[];
	private fill: Uint32Array;
	private memory: Uint32Array; // by State, of a page without live bytes
	private classes = new Map<Kind, Classes>();
	private byOwner = new Map<string, Uint8Array>();

	/** dark: use lighter hues for the dark theme. */
	constructor(private data: MovieData, private films: Film[], private sites: Site[],
		    dark: boolean) {
		const { classes } = data.colours;
		this.palette = { ...data.colours, classes: dark ? classes.map(lighter) : classes };
		this.sizes = [...data.sizes, Infinity];
		this.fill = ramp(this.palette.occupancy, PAGE + 1);
		this.memory = Uint32Array.of(0, rgba(this.palette.mapped[0]),
			rgba(this.palette.retained[0]), 0);
	}

	get pin(): string {
		return this.palette.pin[0];
	}

	/** Does the data support this kind? */
	has(kind: Kind): boolean {
		if (kind === "occupancy")
			return true;
		if (!this.films.every((f) => f.hasOwners))
			return false;
		return kind === "site" || kind === "module" ? this.sites.length > 1 : true;
	}

	legend(kind: Kind): Legend {
		const memory: Swatch[] = [];
		if (this.data.films.some((f) => f.residency)) {
			memory.push({ colour: this.palette.retained[0], label: "resident, nothing live: retained" });
			memory.push({ colour: this.palette.mapped[0], label: "mapped, not resident" });
		}
		const residency = this.data.films.every((f) => f.residency);
		memory.push({ colour: "var(--mp-unit)", label: residency ? "not mapped" : "nothing live" });
		if (kind === "occupancy")
			return { title: "Live bytes in a page",
				ramp: { colours: this.palette.occupancy, from: "few", to: "all" },
				swatches: memory };
		const own = this.of(kind).legend;
		return { ...own, swatches: own.swatches.concat(memory) };
	}

	/** The colour of each page at the film's frame; 0: nothing there. */
	paint(kind: Kind, film: Film, out: Uint32Array): void {
		const { state, live, owner } = film.now;
		if (kind === "occupancy") {
			for (let p = 0; p < out.length; p++)
				out[p] = live[p] ? this.fill[live[p]] : this.memory[state[p]];
			return;
		}
		const classes = this.of(kind);
		const known = kind === "age" ? null : this.ownerClasses(kind, film);
		const op = film.figures.op[film.frame];
		for (let p = 0; p < out.length; p++) {
			if (!live[p])
				out[p] = this.memory[state[p]];
			else if (known)
				out[p] = classes.colours[known[owner[p]]];
			else
				out[p] = classes.colours[ageClass(op - film.owners.birth[owner[p]] - 1)];
		}
	}

	private ownerClasses(kind: Kind, film: Film): Uint8Array {
		const key = `${kind} ${this.films.indexOf(film)}`;
		let known = this.byOwner.get(key);
		if (!known) {
			const of = this.of(kind).of;
			known = new Uint8Array(film.owners.size.length);
			for (let i = 0; i < known.length; i++)
				known[i] = of(film, i);
			this.byOwner.set(key, known);
		}
		return known;
	}

	private of(kind: Kind): Classes {
		let c = this.classes.get(kind);
		if (!c) {
			c = kind === "age" ? this.ages() : kind === "size" ? this.sizeClasses() :
				kind === "thread" ? this.threads() : this.places(kind);
			this.classes.set(kind, c);
		}
		return c;
	}

	private ages(): Classes {
		const colours = this.palette.age;
		const label = (i: number) => i === 0 ? "below 100 calls" :
			i === colours.length - 1 ? `${short(10 ** (i + 1))} and more` :
				`to ${short(10 ** (i + 2))}`;
		return { of: () => 0, colours: Uint32Array.from(colours, rgba),
			legend: { title: "Age of the largest block, in calls since its allocation",
				swatches: colours.map((colour, i) => ({ colour, label: label(i) })) } };
	}

	private sizeClasses(): Classes {
		const colours = this.palette.size;
		const label = (i: number) => i === this.sizes.length - 1 ? "more" : `to ${bytes(this.sizes[i])}`;
		return { of: (film, owner) => this.sizes.findIndex((s) => film.owners.size[owner] <= s),
			colours: Uint32Array.from(colours, rgba),
			legend: { title: "Size of the largest block, as requested",
				swatches: colours.map((colour, i) => ({ colour, label: label(i) })) } };
	}

	private threads(): Classes {
		const name = (t: number) => `thread ${threadTitle(this.data, t)}`;
		return this.ranked("Thread that allocated most of the page",
			(film, owner) => film.owners.thread[owner], name);
	}

	private places(kind: Kind): Classes {
		const name = (s: number) => kind === "module" ? this.sites[s]?.module :
			this.sites[s]?.path[0];
		const names: string[] = [], index = new Map<string, number>();
		const of = this.sites.map((_, s) => {
			const n = s > 0 && name(s) || "unknown";
			if (!index.has(n))
				index.set(n, names.push(n) - 1);
			return index.get(n)!;
		});
		return this.ranked(kind === "site" ? "Function that allocated most of the page" :
			"Module that allocated most of the page",
		(film, owner) => of[film.owners.site[owner]] ?? 0, (n) => names[n]);
	}

	/** The SHOWN owners with most pages in all films get their own colours. */
	private ranked(title: string, what: (film: Film, owner: number) => number,
		       name: (what: number) => string): Classes {
		const weight = new Map<number, number>();
		for (const film of this.films)
			for (let owner = 0; owner < film.weight.length; owner++) {
				const w = what(film, owner), pages = film.weight[owner];
				if (pages)
					weight.set(w, (weight.get(w) ?? 0) + pages);
			}
		const order = [...weight.keys()].sort((a, b) => weight.get(b)! - weight.get(a)! || a - b);
		const place = new Map(order.slice(0, SHOWN).map((w, i) => [w, i]));
		const swatches = order.slice(0, SHOWN).map((w, i) =>
			({ colour: this.palette.classes[i], label: name(w) }));
		if (order.length > SHOWN)
			swatches.push({ colour: this.palette.other[0],
				label: `${count(order.length - SHOWN)} others` });
		return { of: (film, owner) => place.get(what(film, owner)) ?? SHOWN,
			colours: Uint32Array.from([...this.palette.classes, this.palette.other[0]], rgba),
			legend: { title, swatches } };
	}
}

/** 0 below 100 calls, then one for each power of ten. */
function ageClass(calls: number): number {
	return calls < 100 ? 0 : Math.min(7, Math.floor(Math.log10(calls) + 1e-9) - 1);
}

function short(n: number): string {
	return n >= 1e9 ? `${n / 1e9} G` : n >= 1e6 ? `${n / 1e6} M` : n >= 1e3 ? `${n / 1e3} k` : `${n}`;
}

/** Do fewer than 64 live bytes keep the page resident? */
export function pinned(live: number): boolean {
	return live > 0 && live < 64;
}

