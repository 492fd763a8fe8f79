// SPDX-License-Identifier: LGPL-3.0-or-later
// run.ts - the page Run: what ran, where, with which settings and libraries, and what is missing.
import { bytes, count, duration, many } from "../words";
import { column, el, sortable } from "./element";
import type { View } from "./pages";

type Rows = [string, Node | string][];

interface Program { exe: string; allocator: string; host: string; kernel: string; processors: number | null; conf: string; mode: string; init: string }
interface Library { path: string; build_id: string | null; process: number }

const programs = (v: View): Program[] => v.d.head.report.processes.flatMap((p: any) => p.programs);

const processCount = (n: number) => n == 1 ? "1 process" : `${count(n)} processes`;

// Different values of the programs, the first ones; "unknown": the file has none.
function all(list: unknown[]): string {
	const known = [...new Set(list.filter(x => x))].map(String);
	return (known.slice(0, 4).join("; ") || "unknown") + (known.length > 4 ? `; ${known.length - 4} more` : "");
}

function memoryRow(v: View): Rows {
	const m = v.d.head.report.least_available, limit = v.d.head.report.group_limit_bytes;
	return m ? [["Memory", `${bytes(m.total_bytes)}, at least ${bytes(m.available_bytes)} of it available during the run` +
		(m.swap_bytes ? `; swap: ${bytes(m.swap_used_bytes)} of ${bytes(m.swap_bytes)} used then` : "; no swap") +
		(limit ? `; limit of the control group: ${bytes(limit)}` : "")]] : [];
}

function hostRows(v: View): Rows {
	const p = programs(v), libraries = v.d.head.report.libraries as Library[];
	const allocators = p.map(x => x.allocator && x.allocator + (libraries.find(l => l.path == x.allocator)?.build_id?.replace(/^/, ", build-id ") ?? ""));
	return [["Host", all(p.map(x => x.host))], ["Kernel", all(p.map(x => x.kernel))], ["Processors", all(p.map(x => x.processors))], ...memoryRow(v), ["Allocator", all(allocators)]];
}

// Each program of a process that calls exec has its own settings.
function settingRows(v: View): Rows {
	const p = programs(v);
	return [["Recorded by", all(p.map(x => x.mode && `MODE=${x.mode} INIT=${x.init}`))], ["MPROF_CONF", el("code", {}, all(p.map(x => x.conf)))]];
}

// Losses by reason, of which "stack" counts calls that are there, without their stack.
function lostRows(v: View): Rows {
	const r = v.d.head.report, at = r.damage?.first_bad_offset, by = Object.entries(r.lost_by_reason as { [why: string]: number }).filter(x => x[1]);
	return [["Lost", r.lost || by.length ? `${count(r.lost)}: ${by.map(([why, n]) => `${why} ${count(n)}`).join(", ")}` : "nothing"],
		...(at ? [["Damage", `Parts of the file cannot be read, the first at byte ${count(at)}; mprof report has the details.`]] : []) as Rows,
		["Memory of mprof", all(r.processes.map((p: any) => p.self_bytes && bytes(p.self_bytes)))]];
}

const treeRow = ({ d }: View): Rows => [["Call tree", many(d.head.nodes, "node") +
	(d.head.merged_nodes ? `; ${count(d.head.merged_nodes)} small ones are merged into their callers` : "")]];

function page(v: View, rows: Rows, more: (Node | false)[]): HTMLElement {
	const libraries = v.d.head.report.libraries as Library[];
	return el("section", { class: "run" }, el("h2", {}, "Run"), el("dl", {}, ...rows.flatMap(([k, t]) => [el("dt", {}, k), el("dd", {}, t)])), ...more,
		el("h3", {}, "Programs and libraries"), libraries.length ? sortable(libraries, [
			{ key: "path", title: "Path", text: l => l.path || "unknown" },
			{ key: "build", title: "Build-id", text: l => l.build_id ?? "unknown", node: l => el("code", {}, l.build_id ?? "unknown") },
			column("process", "Process", String, l => l.process, { help: "The first process that had it.", upward: true }),
		], "process", null, "libraries", 50) : el("p", {}, "Unknown: the file has no call stacks."));
}

export function runPage(v: View): HTMLElement {
	const r = v.d.head.report, rows: Rows = [
		["Command", el("code", {}, v.d.head.command)], ["Trace", `${v.d.head.trace}, ${bytes(r.trace_bytes)}`],
		["Calls", `${count(r.events)} of ${many(r.threads?.length ?? v.d.thread.number.length, "thread")} in ${processCount(r.processes.length)}`],
		["Started", all([r.started])],
		["Duration", `${duration(r.duration_ns)}; times are accurate to ${duration(r.time_error_ns)}`],
		...hostRows(v), ...settingRows(v), ...lostRows(v),
		...r.not_recorded.map((m: any): [string, string] => ["Not recorded", `${m.path || "a program"}: ${m.why}`]),
		...r.remarks.map((text: string): [string, string] => ["Remark", text]),
		["Page by", `mprof ${r.mprof_version}`], ["Points in time", count(v.d.points)], ...treeRow(v),
	];
	return page(v, rows, []);
}

export function totalsRunPage(v: View): HTMLElement {
	const r = v.d.head.report, of = Object.entries(r.functions as { [name: string]: { calls: number; bytes: number; failed: number } });
	const rows: Rows = [
		["Command", el("code", {}, v.d.head.command)], ["Profile", v.d.head.trace + (v.d.head.beside ? ": totals of the whole run, beside its calls" : "")],
		[r.estimated ? "Samples" : "Calls", `${count(r.calls)} of ${many(r.threads, "thread")} in ${processCount(r.processes.length)}`],
		["Started", all([r.started])],
		["Duration", duration(v.d.point.ns[v.d.points - 1])],
		r.estimated ? ["Figures", "estimates from samples; ranges are 95 % confidence intervals, and a peak is too high on average"]
			: ["Accuracy of the peak", r.peak.right_to_bytes ? bytes(r.peak.right_to_bytes) : "exact"],
		["Mapped directly, files included", `${bytes(r.total.maps.bytes)} in ${many(r.total.maps.calls, "call")}; ${bytes(r.unmap_bytes)} unmapped`],
		...hostRows(v), ...settingRows(v), ...lostRows(v), ...treeRow(v),
	];
	return page(v, rows, [of.length > 0 && el("h3", {}, "Calls"), of.length > 0 && sortable(of, [
		{ key: "name", title: "Function", text: f => f[0] },
		column("calls", "Calls", count, f => f[1].calls),
		column("bytes", "Bytes", bytes, f => f[1].bytes),
		column("failed", "Failed", count, f => f[1].failed),
	], "calls", null, "calls")]);
}
