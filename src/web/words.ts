// SPDX-License-Identifier: LGPL-3.0-or-later
// words.ts - formats figures as src/mprof/util/format.h does; tests/format.tsv has examples for both.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Rounds as printf does, a tie to the even digit; toFixed(), up. */
function fixed(n: number, digits: number): string {
	const scale = 10 ** digits, down = Math.floor(n * scale);
	return n * 2 ** (digits + 1) % 2 == 1 ? ((down + down % 2) / scale).toFixed(digits) : n.toFixed(digits);
}

/** 1 -> "1 byte", 1536 -> "1.5 KiB" */
export function bytes(n: number): string {
	if (n < 1024)
		return `${count(n)} ${Math.round(n) === 1 ? "byte" : "bytes"}`;
	let unit = 0;
	for (n /= 1024; n >= 999.5 && unit < UNITS.length - 1; n /= 1024)
		unit++;
	return `${fixed(n, n < 99.95 ? 1 : 0)} ${UNITS[unit]}`;
}

export function count(n: number): string {
	return Math.round(n).toLocaleString("en-US");
}

/** 1, "block" -> "1 block" */
export function many(n: number, what: string): string {
	return `${count(n)} ${what}${n == 1 ? "" : "s"}`;
}

/** After a number of things. */
export const were = (n: number): string => n == 1 ? "was" : "were";

export function percent(part: number, whole: number): string {
	const p = 100 * part / whole;
	if (!whole)
		return "-";
	if (part && p < 1)
		return "<1 %";
	return part < whole && p > 99 ? ">99 %" : `${p < 999.5 ? fixed(p, 0) : count(p)} %`;
}

/** 1254 -> "1.25 us", 125e9 -> "2 min 5 s" */
export function duration(ns: number): string {
	if (ns >= 119.5e9) {
		const s = Math.round(ns / 1e9), minutes = Math.floor((s + 30) / 60);
		return s < 7200 ? `${Math.floor(s / 60)} min ${s % 60} s`
			: `${count(Math.floor(minutes / 60))} h ${minutes % 60} min`;
	}
	for (const [by, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]] as const) {
		const n = ns / by;
		if (n >= 0.9995)
			return `${fixed(n, n < 9.995 ? 2 : n < 99.95 ? 1 : 0)} ${unit}`;
	}
	return `${Math.round(ns)} ns`;
}

/** A round number at or above n. */
export function roundUp(n: number): number {
	const power = 10 ** Math.floor(Math.log10(n));
	return [1, 2, 5, 10].map(k => k * power).find(k => k >= n) ?? n;
}

// Seconds; below them decimal numbers are round, above them days.
const ROUND_TIMES = [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

/** The same for a time. */
export function roundUpTime(ns: number): number {
	const s = ns / 1e9, day = 86400;
	return 1e9 * (s <= 10 ? roundUp(s) : ROUND_TIMES.find(k => k >= s) ?? roundUp(s / day) * day);
}

/** The name of a multiple of a round time: "2 min", not "2 min 0 s". */
export const roundTime = (ns: number): string => duration(ns).replace(/ 0 (s|min)$/, "");

export function address(a: bigint): string {
	return "0x" + a.toString(16);
}
