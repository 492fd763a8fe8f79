// SPDX-License-Identifier: LGPL-3.0-or-later
// stage.ts - the size of the panels and the visible part of them, the same
// for all, so that they can be compared.

import { Layout } from "./layout";
import { Panel, View } from "./panel";

const COLUMNS = [32, 64, 128, 256, 512]; // so that 2 MiB are whole rows
const GAP = 14; // CSS pixels between panels
const CAPTION = 58; // and above a map
const LARGEST = 24; // of a page when everything is visible

export class Stage {
	readonly panels: Panel[] = [];
	readonly shown: boolean[] = [];
	readonly view: View = { scale: 1, x: 0, y: 0 };
	private fitted = true;

	constructor(private root: HTMLElement) {}

	add(panel: Panel): void {
		this.panels.push(panel);
		this.shown.push(true);
		this.root.append(panel.root);
	}

	get visible(): Panel[] {
		return this.panels.filter((p) => this.shown[p.index]);
	}

	/** Makes the panels as large as fits this height. */
	arrange(height: number): void {
		const panels = this.visible;
		for (const p of this.panels)
			p.root.hidden = !this.shown[p.index];
		if (panels.length) {
			const best = this.best(panels, this.root.clientWidth, height);
			this.root.style.gridTemplateColumns = `repeat(${best.across}, 1fr)`;
			for (const p of panels) {
				p.arrange(best.columns);
				p.size(best.width, best.height);
			}
		}
		if (this.fitted)
			this.fit();
	}

	/** Side by side is easier to compare: stacking must make the panels considerably larger. */
	private best(panels: Panel[], width: number, height: number) {
		const rows = new Map(COLUMNS.map((c) =>
			[c, Math.max(...panels.map((p) => new Layout(p.film.data, c).rows))]));
		let best = { worth: 0, columns: 64, across: 1, width: 1, height: 1 };
		for (let across = 1; across <= panels.length; across++) {
			const down = Math.ceil(panels.length / across);
			const w = Math.floor((width - GAP * (across - 1)) / across);
			const h = Math.max(140, Math.floor((height - CAPTION * down) / down));
			for (const columns of COLUMNS) {
				const high = rows.get(columns)!;
				const scale = Math.min(w / columns, h / high, LARGEST);
				const worth = scale * (1 + 0.5 * (across - 1) / panels.length);
				if (worth > best.worth * 1.02)
					best = { worth, columns, across, width: w,
						height: Math.max(90, Math.min(h, Math.ceil(scale * high))) };
			}
		}
		return best;
	}

	fit(): void {
		const some = this.visible;
		if (!some.length)
			return;
		const { view } = this, { width, height, layout } = some[0];
		const rows = Math.max(...some.map((p) => p.layout.rows));
		view.scale = Math.min(width / layout.columns, height / rows, LARGEST);
		view.x = Math.max(0, (width - view.scale * layout.columns) / 2);
		view.y = 0;
		this.fitted = true;
	}

	/** x, y: the fixed point of a panel; its middle if not given. */
	zoom(factor: number, x?: number, y?: number): void {
		const p = this.visible[0];
		if (!p)
			return;
		const { view } = this;
		const scale = Math.max(0.05, Math.min(96, view.scale * factor));
		x = x ?? p.width / 2;
		y = y ?? p.height / 2;
		view.x = x - (x - view.x) * scale / view.scale;
		view.y = y - (y - view.y) * scale / view.scale;
		view.scale = scale;
		this.fitted = false;
	}

	pan(x: number, y: number): void {
		this.view.x += x;
		this.view.y += y;
		this.fitted = false;
	}

	/** Pans until the page is visible. */
	reveal(panel: Panel, page: number): void {
		const [x, y] = panel.pointOf(page, this.view), s = this.view.scale;
		const right = Math.max(0, x + s - panel.width), down = Math.max(0, y + s - panel.height);
		if (right || down || x < 0 || y < 0)
			this.pan(-right - Math.min(0, x), -down - Math.min(0, y));
	}
}
