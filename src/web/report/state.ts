// SPDX-License-Identifier: LGPL-3.0-or-later
// state.ts - what is shown, kept in the address after "#" so that a link shows the same.
import { measures, wholeFilter } from "./model";
import type { Question } from "./model";
import type { Data } from "./data";
import type { Exact } from "./server";

export interface State extends Question {
	page: string;
	inverted: boolean; // callees outermost: bottom-up
	icicle: boolean; // root on top
	byLine: boolean; // tables: rows are lines
	full: boolean; // tables: with every figure, of the whole run
	zoom: number; // node of the data that the graph shows, of a bottom-up graph the number of a Place; 0 all
	chosen: number; // line in the centre of the call graph; 0: none yet
	levels: number; // of the call graph, to each side
	least: number; // percent: smaller boxes of the call graph are omitted
	sort: string; // column of the tables
	also: string[]; // figures beside the chosen one
	search: string;
	foldRecursion: boolean;
	share: number; // percent of the total: smaller frames of graph and tree are omitted
	merged: string[]; // functions and "/modules" whose frames are part of their callers
	curve: string; // the timeline's quantity
	band: string; // and how it is divided
	whose: boolean; // resident memory over time by function instead of by use
	with: number; // the trace that Compare compares with; -1: the start of the window; MARKED: a marked moment
	exact: Exact | null; // a window that the server answers, instead of from and to
}

export const MARKED = -2;

const NAMES = ["function", "file", "module", "without"] as const; // of the filter
export const SHARES = [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];

export const start = (d: Data): State => ({
	page: "overview", measure: measures[0], from: -1, to: d.points - 1, filter: wholeFilter(), foldLibraries: true,
	inverted: false, icicle: true, byLine: false, full: false, zoom: 0, chosen: 0, levels: 2, least: 1, sort: "own", also: [], search: "", foldRecursion: false, share: 0, merged: [], curve: "live", band: "owner", whose: false, with: -1, exact: null,
});

export function toHash(s: State, d: Data): string {
	const o = start(d), p = new URLSearchParams(), f = s.filter;
	const put = (key: string, value: unknown, usual: unknown) => value !== usual && p.set(key, String(value));
	put("page", s.page, o.page);
	put("figure", s.measure.key, o.measure.key);
	put("from", s.from, o.from);
	put("to", s.to, o.to);
	put("thread", f.thread, 0);
	put("size", f.sizeFrom + "-" + f.sizeTo, "0-64");
	put("life", f.lifeFrom + "-" + f.lifeTo, "0-64");
	put("process", f.process, 0);
	for (const name of NAMES)
		put(name, f[name], "");
	put("recursion", s.foldRecursion ? 0 : 1, 1);
	put("share", s.share, 0);
	for (const name of s.merged)
		p.append("merged", name);
	put("curve", s.curve, o.curve);
	put("band", s.band, o.band);
	put("libraries", s.foldLibraries ? 0 : 1, 0);
	put("inverted", +s.inverted, 0);
	put("icicle", +s.icicle, 1);
	put("lines", +s.byLine, 0);
	put("full", +s.full, 0);
	put("zoom", s.zoom, 0);
	put("of", s.chosen, 0);
	put("levels", s.levels, o.levels);
	put("least", s.least, o.least);
	put("sort", s.sort, o.sort);
	put("also", s.also.join(" "), "");
	put("search", s.search, "");
	put("whose", +s.whose, 0);
	put("with", s.with, -1);
	put("exact", s.exact ? `${s.exact.from}-${s.exact.to}` : "", "");
	return p.toString();
}

export function fromHash(hash: string, d: Data): State {
	const s = start(d), p = new URLSearchParams(hash.replace(/^#/, "")), f = s.filter;
	const whole = (key: string, usual: number, least: number, most: number) => {
		const n = Number(p.get(key) ?? NaN);
		return Number.isInteger(n) && n >= least && n <= most ? n : usual;
	};
	const range = (key: string): [number, number] => {
		const m = /^(\d+)-(\d+)$/.exec(p.get(key) ?? "");
		return m && +m[1] <= +m[2] ? [+m[1], +m[2]] : [0, 64];
	};
	s.page = p.get("page") ?? s.page;
	s.measure = measures.find(m => m.key == p.get("figure")) ?? s.measure;
	s.to = whole("to", s.to, 0, d.points - 1);
	s.from = Math.min(whole("from", s.from, -1, d.points - 1), s.to - 1);
	f.thread = whole("thread", 0, 0, 2 ** 32);
	[f.sizeFrom, f.sizeTo] = range("size");
	[f.lifeFrom, f.lifeTo] = range("life");
	f.process = whole("process", 0, 0, 2 ** 32);
	for (const name of NAMES)
		f[name] = p.get(name) ?? "";
	s.foldRecursion = p.get("recursion") == "0";
	s.share = SHARES.find(n => n == Number(p.get("share"))) ?? 0;
	s.merged = p.getAll("merged");
	s.curve = p.get("curve") ?? s.curve;
	s.band = p.get("band") ?? s.band;
	s.foldLibraries = p.get("libraries") != "1";
	s.inverted = p.get("inverted") == "1";
	s.zoom = whole("zoom", 0, 0, s.inverted ? 2 ** 44 : d.head.nodes - 1);
	s.icicle = p.get("icicle") != "0";
	s.byLine = p.get("lines") == "1";
	s.full = p.get("full") == "1";
	s.chosen = whole("of", 0, 0, d.line.line.length - 1);
	s.levels = whole("levels", s.levels, 1, 64);
	s.least = whole("least", s.least, 0, 100);
	s.sort = p.get("sort") ?? s.sort;
	s.also = measures.map(m => m.key).filter(key => (p.get("also") ?? "").split(" ").includes(key));
	s.search = p.get("search") ?? "";
	s.whose = p.get("whose") == "1";
	s.with = whole("with", -1, MARKED, (d.head.traces?.length ?? 0) - 1);
	const exact = /^(\d+)-(\d+)$/.exec(p.get("exact") ?? "");
	if (exact && d.head.served && +exact[1] < +exact[2])
		s.exact = { from: +exact[1], to: +exact[2] };
	return s;
}
