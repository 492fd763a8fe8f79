// SPDX-License-Identifier: LGPL-3.0-or-later
// words.ts - figures as a reader wants them.

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** 1536 -> "1.5 KiB" */
export function bytes(n: number): string {
	let unit = 0;
	while (n >= 1024 && unit < UNITS.length - 1) {
		n /= 1024;
		unit++;
	}
	const text = unit === 0 || Number.isInteger(n) ? String(n) :
		n.toFixed(n < 10 ? 2 : n < 100 ? 1 : 0);
	return `${text} ${UNITS[unit]}`;
}

export function count(n: number): string {
	return Math.round(n).toLocaleString("en-US");
}

export function percent(part: number, whole: number): string {
	return whole > 0 ? `${(100 * part / whole).toFixed(part / whole < 0.0995 ? 1 : 0)} %` : "–";
}

export function duration(ns: number): string {
	if (ns < 1e3)
		return `${Math.round(ns)} ns`;
	if (ns < 1e6)
		return `${(ns / 1e3).toPrecision(3)} µs`;
	if (ns < 1e9)
		return `${(ns / 1e6).toPrecision(3)} ms`;
	if (ns < 120e9)
		return `${(ns / 1e9).toPrecision(3)} s`;
	return `${Math.floor(ns / 60e9)} min ${Math.round(ns / 1e9) % 60} s`;
}

export function address(a: bigint): string {
	return "0x" + a.toString(16);
}
