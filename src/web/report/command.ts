// SPDX-License-Identifier: LGPL-3.0-or-later
// command.ts - the mprof report command that gives the figures of the page as text.
import { nameOf, peakPoint, shortFile } from "./model";
import type { Answer, Filter } from "./model";
import type { Data } from "./data";
import type { State } from "./state";

// As one word of a shell.
export const quote = (word: string): string =>
	/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'";

export const seconds = (ns: number) => (ns / 1e9).toFixed(9).replace(/0+$/, "").replace(/\.$/, "") + "s";

// The time of the figure, in ns; -1: none, or the peak that the command finds itself, which would be a
// process's own.  at: of the peak of an exact window.
function moment(s: State, d: Data, at: number): number {
	const to = s.exact ? s.exact.to : d.point.ns[s.to];
	switch (s.measure.key) {
	case "end": case "kept": return to;
	case "peak": return s.exact ? at : s.from < 0 && s.to == d.points - 1 && !s.filter.process ? -1 : d.point.ns[peakPoint(d, s.from, s.to)];
	default: return -1;
	}
}

function blockFilters(f: Filter, d: Data): string[] {
	const words: string[] = [], longest = Math.ceil(d.point.ns[d.points - 1] / 1e9) + 1;
	if (f.process)
		words.push(`--process ${f.process}`);
	if (f.thread)
		words.push(`--thread ${f.thread}`);
	if (f.sizeFrom || f.sizeTo < 64)
		words.push(`--size ${f.sizeFrom ? 2 ** (f.sizeFrom - 1) : 0}..${f.sizeTo < 64 ? 2 ** f.sizeTo - 1 : ""}`);
	// Blocks that are never freed count as the longest lifetime.
	const life = (n: number) => (n > 40 ? BigInt(longest) * 10n ** 9n : 1n << BigInt(n)).toString();
	if (f.lifeFrom == 64)
		words.push(`--lifetime ${longest}s..`);
	else if (f.lifeFrom || f.lifeTo < 64)
		words.push(`--lifetime ${f.lifeFrom ? life(f.lifeFrom - 1) : 0}ns..${f.lifeTo >= 64 ? "" : (BigInt(life(f.lifeTo)) - 1n) + "ns"}`);
	return words;
}

function nameFilters(f: Filter): string[] {
	return (["function", "file", "module", "without"] as const).filter(name => f[name]).map(name => `--${name} ${quote(f[name])}`);
}

// As callers FUNCTION takes it: with its file, if another one has a function of this name.
function nameAlone(d: Data, line: number): string {
	const { function: name, file } = d.line, other = name.some((n, i) => n == name[line] && shortFile(d.text[file[i]] ?? "") != shortFile(d.text[file[line]] ?? ""));
	return nameOf(d, line) + (other && file[line] ? ` (${shortFile(d.text[file[line]])})` : "");
}

// The view and its options, for a page that shows the chosen figure.
function view(s: State, d: Data, sort: string): string {
	switch (s.page) {
	case "tables": return `${s.measure.view} --by ${s.byLine ? "line" : "function"}${sort}`;
	case "tree": return `${s.inverted ? "bottom-up" : "top-down"} --sort ${s.measure.sort}`;
	case "threads": return `${s.measure.view} --by thread${sort}`;
	case "sizes": return `${s.measure.view} --by size${sort}`;
	case "callers": return s.chosen ? `callers ${quote(nameAlone(d, s.chosen))} --sort ${s.measure.sort}` : s.measure.view + sort;
	default: return s.measure.view + sort;
	}
}

// Pages of the whole run whose figures are another view's.
const OWN: { [page: string]: string } = { resident: " peak-rss", stacks: " threads", globals: " globals", realloc: " realloc", lifetimes: " lifetimes",
	processes: " --all", run: " --all" };

// Pages of a profile that show what the report of all shows.
const OF_TOTALS = ["sizes", "lifetimes", "realloc", "processes", "run", "jumps", "resident", "heap"];

function ofTotals(s: State, d: Data): string {
	const f = s.filter, which = d.head.beside ? " --totals" : "", own = s.page == "threads" ? " hot --by thread" : OF_TOTALS.includes(s.page) ? "" : OWN[s.page];
	if (own !== undefined)
		return `mprof report${own || " --all"}${which} ${quote(d.head.trace)}`;
	return [`mprof report ${view(s, d, s.measure.sorted ? ` --sort ${s.measure.sort}` : "")}${which}`, ...nameFilters(f), quote(d.head.trace)].join(" ");
}

const SHOWN = ["sources", "compare", "heap", "jumps"]; // pages that have their command themselves, or none

// "" if the page has it already.
export function command(s: State, d: Data, a: Answer): string {
	if (SHOWN.includes(s.page))
		return "";
	if (d.head.totals)
		return ofTotals(s, d);
	if (s.page in OWN)
		return `mprof report${OWN[s.page]} ${quote(d.head.trace)}`;
	const f = s.filter, at = moment(s, d, a.at ?? -1), words = ["mprof report", view(s, d, s.measure.sorted ? ` --sort ${s.measure.sort}` : "")];
	if (s.measure.value) // of the whole run
		return [...words, ...nameFilters(f), quote(d.head.trace)].join(" ");
	if (at >= 0)
		words.push(`--at ${seconds(at)}`);
	const from = s.exact ? s.exact.from : s.from < 0 ? -1 : d.point.ns[s.from], to = s.exact ? s.exact.to : d.point.ns[s.to];
	if (s.measure.key == "kept" ? from > 0 : at < 0 && s.measure.key != "peak" && (from > 0 || s.exact || s.to < d.points - 1))
		words.push(`--time ${from > 0 ? seconds(from + 1) : ""}..${s.measure.key == "kept" ? "" : seconds(to)}`);
	return [...words, ...blockFilters(f, d), ...nameFilters(f), quote(d.head.trace)].join(" ");
}

const APART = "mprof report does not combine --at with --lifetime";

const ofLifetimes = (f: Filter): boolean => f.lifeFrom > 0 || f.lifeTo < 64;

// What shows the live blocks that pass the filters at a time, or why no command does.
export const commandAt = (s: State, d: Data, ns: number): { command: string; why: string } => ofLifetimes(s.filter) ? { command: "", why: APART }
	: { command: ["mprof report peak --at", seconds(ns), ...blockFilters(s.filter, d), ...nameFilters(s.filter), quote(d.head.trace)].join(" "), why: "" };

// Why no single command prints the same; "" if one does.
export function noCommand(s: State, d: Data): string {
	if (s.page in OWN || SHOWN.includes(s.page) || d.head.totals)
		return "";
	if (s.measure.key == "resident")
		return "mprof report does not divide resident pages by call stack";
	return ofLifetimes(s.filter) && !s.measure.value && moment(s, d, 0) >= 0 ? APART : "";
}
