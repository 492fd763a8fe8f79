// SPDX-License-Identifier: LGPL-3.0-or-later
// layout.ts - where a page stands in the picture: row by row in the order of
// addresses, without the address space that the program never used.
//
// Behind a gap of FAR bytes or more a new row begins, with an empty one before
// it, at the column of its address; so that what is aligned looks aligned.

import { FilmData, PAGE } from "./data";

const FAR = 1n << 26n;

export class Layout {
	readonly rows: number;
	readonly pages: number;
	/** Of each span: its first page, cell and address. */
	private page: number[] = [];
	private cell: number[] = [];
	private address: bigint[] = [];
	/** Cells at whose left edge addresses jump. */
	readonly gaps: number[] = [];

	constructor(data: FilmData, readonly columns: number) {
		let page = 0, cell = 0, end = -1n;
		for (const [text, length] of data.spans) {
			const address = BigInt("0x" + text);
			if (end < 0n || address - end >= FAR) {
				if (end >= 0n)
					cell = (Math.ceil(cell / columns) + 1) * columns;
				cell += Number(address / BigInt(PAGE) % BigInt(columns));
			} else if (address > end) {
				this.gaps.push(cell);
			}
			this.page.push(page);
			this.cell.push(cell);
			this.address.push(address);
			page += length;
			cell += length;
			end = address + BigInt(length * PAGE);
		}
		this.pages = page;
		this.rows = Math.max(1, Math.ceil(cell / columns));
	}

	/** Calls f for each span: its first page, its first cell, its pages. */
	spans(f: (page: number, cell: number, length: number) => void): void {
		for (let i = 0; i < this.page.length; i++)
			f(this.page[i], this.cell[i], this.end(i) - this.page[i]);
	}

	/** -1: there is none. */
	pageAt(column: number, row: number): number {
		if (column < 0 || column >= this.columns || row < 0 || row >= this.rows)
			return -1;
		const cell = row * this.columns + column;
		const i = last(this.cell, cell);
		const page = i < 0 ? -1 : this.page[i] + cell - this.cell[i];
		return i >= 0 && page < this.end(i) ? page : -1;
	}

	cellOf(page: number): number {
		const i = last(this.page, page);
		return this.cell[i] + page - this.page[i];
	}

	addressOf(page: number): bigint {
		const i = last(this.page, page);
		return this.address[i] + BigInt((page - this.page[i]) * PAGE);
	}

	private end(i: number): number {
		return i + 1 < this.page.length ? this.page[i + 1] : this.pages;
	}
}

/** Index of the last one that is not above `what`; -1 if all are. */
function last(rising: number[], what: number): number {
	let low = 0, high = rising.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (rising[middle] <= what)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}
