// SPDX-License-Identifier: LGPL-3.0-or-later
// layout.ts - the position of a page in the picture: row by row in the order of
// addresses.
//
// A row is a range of addresses that begins at a multiple of its length, so the cells
// of a column have the same low bits, and aligned memory looks aligned.
// Rows without any memory are replaced by one empty row.

import { FilmData, PAGE } from "./data";

export class Layout {
	readonly rows: number;
	readonly pages: number;
	/** The first page, cell and address of each span. */
	private page: number[] = [];
	private cell: number[] = [];
	private address: bigint[] = [];
	/** Rows that replace omitted ones. */
	readonly gaps: number[] = [];

	constructor(data: FilmData, readonly columns: number) {
		const length = BigInt(columns * PAGE);
		let page = 0, row = 0, last = -1n;
		for (const [text, pages] of data.spans) {
			const address = BigInt("0x" + text), key = address / length;
			if (last >= 0n && key !== last)
				row++;
			if (last >= 0n && key > last + 1n)
				this.gaps.push(row++);
			const cell = row * columns + Number(address % length) / PAGE;
			this.page.push(page);
			this.cell.push(cell);
			this.address.push(address);
			page += pages;
			row = Math.floor((cell + pages - 1) / columns);
			last = (address + BigInt(pages * PAGE - 1)) / length;
		}
		this.pages = page;
		this.rows = row + 1;
	}

	/** Calls f for each span: its first page, its first cell, its pages. */
	spans(f: (page: number, cell: number, length: number) => void): void {
		for (let i = 0; i < this.page.length; i++)
			f(this.page[i], this.cell[i], this.end(i) - this.page[i]);
	}

	/** -1: none. */
	pageAt(column: number, row: number): number {
		if (column < 0 || column >= this.columns || row < 0 || row >= this.rows)
			return -1;
		const cell = row * this.columns + column;
		const i = lastOf(this.cell, cell);
		const page = i < 0 ? -1 : this.page[i] + cell - this.cell[i];
		return i >= 0 && page < this.end(i) ? page : -1;
	}

	cellOf(page: number): number {
		const i = lastOf(this.page, page);
		return this.cell[i] + page - this.page[i];
	}

	/** The page that contains this address; -1: none. */
	pageOf(address: bigint): number {
		for (let i = 0; i < this.page.length; i++) {
			const n = (address - this.address[i]) / BigInt(PAGE);
			if (address >= this.address[i] && n < this.end(i) - this.page[i])
				return this.page[i] + Number(n);
		}
		return -1;
	}

	addressOf(page: number): bigint {
		const i = lastOf(this.page, page);
		return this.address[i] + BigInt((page - this.page[i]) * PAGE);
	}

	private end(i: number): number {
		return i + 1 < this.page.length ? this.page[i + 1] : this.pages;
	}
}

/** Index of the last element up to `what`; -1 if all are above. */
function lastOf(rising: number[], what: number): number {
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
