// SPDX-License-Identifier: LGPL-3.0-or-later
// pages.ts - the page under the pointer or selected by the keyboard, and its description.

import { MovieData, Site } from "./data";
import { Panel } from "./panel";
import { Stage } from "./stage";
import { Fact, Tip, facts } from "./tip";

const CLOSE = 12; // minimum size in CSS pixels of a page that was searched for

export class Pages {
	readonly tip = new Tip();
	private pointer = { x: 0, y: 0 }; // of the window

	/**
	 * changed: called when the view or the page changes; ready: the film shows the frame;
	 * alone: does the wheel have nothing else in the document to scroll?
	 */
	constructor(private stage: Stage, private data: MovieData, private sites: Site[],
		    private changed: () => void, private ready: (panel: Panel) => void,
		    private alone: boolean) {}

	/** Updates the description after a change of frame. */
	refresh(): void {
		const panel = this.stage.visible.find((p) => p.page >= 0);
		if (panel && !this.tip.box.hidden)
			this.tell(panel);
	}

	hide(): void {
		this.tip.hide();
	}

	/** Finds the page that contains an address, in the first film that has it. False: none. */
	find(text: string): boolean {
		const hex = text.trim().replace(/^0x/i, "");
		const address = /^[0-9a-f]{1,16}$/i.test(hex) ? BigInt("0x" + hex) : -1n;
		const panel = this.stage.visible.find((p) => p.layout.pageOf(address) >= 0);
		if (!panel) {
			this.tip.hide();
			this.tip.spoken.textContent = "No heap contains this address";
			return false;
		}
		if (this.stage.view.scale < CLOSE)
			this.stage.zoom(CLOSE / this.stage.view.scale);
		this.goTo(panel, panel.layout.pageOf(address));
		return true;
	}

	listen(panel: Panel): void {
		const { canvas } = panel;
		let drag: { x: number; y: number } | null = null;
		canvas.addEventListener("pointerdown", (e) => {
			drag = { x: e.clientX, y: e.clientY };
			canvas.setPointerCapture(e.pointerId);
		});
		canvas.addEventListener("pointerup", () => { drag = null; });
		canvas.addEventListener("pointercancel", () => { drag = null; });
		canvas.addEventListener("pointermove", (e) => {
			if (drag) {
				this.stage.pan(e.clientX - drag.x, e.clientY - drag.y);
				drag = { x: e.clientX, y: e.clientY };
				this.tip.hide();
				this.changed();
			} else {
				this.hover(panel, e);
			}
		});
		canvas.addEventListener("pointerleave", () => {
			this.tip.hide();
			this.choose(panel, -1);
		});
		canvas.addEventListener("wheel", (e) => {
			if (!this.alone && !e.ctrlKey && document.activeElement !== canvas)
				return;
			e.preventDefault();
			this.stage.zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : 0.0015)), e.offsetX,
				e.offsetY);
			this.changed();
		}, { passive: false });
		canvas.addEventListener("dblclick", () => {
			this.stage.fit();
			this.changed();
		});
		canvas.addEventListener("keydown", (e) => this.key(panel, e));
	}

	private hover(panel: Panel, e: PointerEvent): void {
		const page = panel.pageAt(e.offsetX, e.offsetY, this.stage.view);
		this.pointer = { x: e.clientX, y: e.clientY };
		this.choose(panel, page);
		if (page < 0)
			this.tip.hide();
		else
			this.tell(panel);
	}

	/** The arrow keys of a map: from page to page. */
	private key(panel: Panel, e: KeyboardEvent): void {
		const step: { [key: string]: number } = { ArrowLeft: -1, ArrowRight: 1,
			ArrowUp: -panel.layout.columns, ArrowDown: panel.layout.columns };
		const last = panel.layout.pages - 1;
		if (!(e.key in step) || e.ctrlKey || e.altKey || e.metaKey || last < 0)
			return;
		e.preventDefault();
		e.stopPropagation();
		this.goTo(panel, panel.page < 0 ? 0 :
			Math.max(0, Math.min(last, panel.page + step[e.key])));
	}

	private goTo(panel: Panel, page: number): void {
		this.choose(panel, page);
		this.stage.reveal(panel, page);
		const box = panel.canvas.getBoundingClientRect(), { view } = this.stage;
		const [x, y] = panel.pointOf(page, view);
		this.pointer = { x: box.left + x + view.scale, y: box.top + y + view.scale };
		this.tell(panel);
		this.tip.say(panel.film.name, this.factsOf(panel));
	}

	private choose(panel: Panel, page: number): void {
		for (const p of this.stage.panels)
			p.page = p === panel ? page : -1;
		this.changed();
	}

	private factsOf(panel: Panel): Fact[] {
		this.ready(panel);
		return facts(panel.film, panel.layout, panel.page, this.data, this.sites);
	}

	private tell(panel: Panel): void {
		this.tip.show(panel.film.name, this.factsOf(panel), this.pointer.x, this.pointer.y);
	}
}
