// SPDX-License-Identifier: LGPL-3.0-or-later
// tip.ts - describes the contents of a page: in a box beside the pointer, and for
// the keyboard and screen readers in a separate line.

import { MovieData, PAGE, Site, threadTitle } from "./data";
import { Film, State } from "./film";
import { Layout } from "./layout";
import { address, bytes, count, duration, many, percent } from "./words";

const STATES: { [state: number]: string } = {
	[State.ABSENT]: "not mapped",
	[State.MAPPED]: "mapped, not resident",
	[State.RESIDENT]: "resident",
	[State.UNKNOWN]: "",
};

export interface Fact {
	name: string;
	text: string;
}

/** Describes one page at the film's frame. */
export function facts(film: Film, layout: Layout, page: number, data: MovieData,
		      sites: Site[]): Fact[] {
	const { state, live, blocks, owner } = film.now;
	const from = layout.addressOf(page);
	const out: Fact[] = [
		{ name: "address", text: `${address(from)} – ${address(from + BigInt(PAGE - 1))}` },
	];
	if (live[page]) {
		const held = film.hasBlocks ? ` in ${many(blocks[page], "block")}` : "";
		out.push({ name: "live", text: `${many(live[page], "byte")}${held}, ` +
			`${percent(live[page], PAGE)} of the page` });
	} else {
		out.push({ name: "live", text: "nothing" });
	}
	if (film.data.residency && STATES[state[page]])
		out.push({ name: "memory", text: STATES[state[page]] });
	if (owner[page])
		out.push(...ownerFacts(film, owner[page], data, sites));
	return out;
}

function ownerFacts(film: Film, owner: number, data: MovieData, sites: Site[]): Fact[] {
	const { size, birth, thread, site } = film.owners;
	// Calls since its allocation; `op` is the number of calls so far.
	const age = film.figures.op[film.frame] - birth[owner] - 1;
	const time = data.ns && data.ops ? age * data.ns / data.ops : 0;
	const out: Fact[] = [
		{ name: "largest block", text: many(size[owner], "byte") +
			(size[owner] >= 10240 ? ` (${bytes(size[owner])})` : "") },
		{ name: "age", text: many(age, "call") + (time ? `, about ${duration(time)}` : "") +
			`; allocated by call ${count(birth[owner] + 1)}` },
	];
	if (film.manyThreads)
		out.push({ name: "thread", text: threadTitle(data, thread[owner]) });
	const from = sites[site[owner]];
	if (site[owner] && from)
		out.push({ name: "from", text: from.path.join(" ← ") +
			(from.module ? ` (${from.module})` : "") });
	return out;
}

export class Tip {
	readonly box = document.createElement("div");
	readonly spoken = document.createElement("p");

	constructor() {
		this.box.className = "mp-tip";
		this.box.hidden = true;
		this.spoken.className = "mp-spoken";
		this.spoken.setAttribute("aria-live", "polite");
	}

	/** x, y: of the window. */
	show(title: string, list: Fact[], x: number, y: number): void {
		const dl = document.createElement("dl");
		for (const { name, text } of list) {
			const dt = document.createElement("dt"), dd = document.createElement("dd");
			dt.textContent = name;
			dd.textContent = text;
			dl.append(dt, dd);
		}
		const head = document.createElement("b");
		head.textContent = title;
		this.box.replaceChildren(head, dl);
		this.box.hidden = false;
		const { offsetWidth: w, offsetHeight: h } = this.box;
		const right = x + 16 + w <= window.innerWidth - 8;
		this.box.style.left = `${Math.max(8, right ? x + 16 : x - 16 - w)}px`;
		this.box.style.top = `${Math.max(8, Math.min(y + 14, window.innerHeight - h - 8))}px`;
	}

	say(title: string, list: Fact[]): void {
		this.spoken.textContent = `${title}: ` +
			list.map((f) => `${f.name} ${f.text}`).join("; ");
	}

	hide(): void {
		this.box.hidden = true;
	}
}
