// SPDX-License-Identifier: LGPL-3.0-or-later
// outside.ts - memory beyond malloc: the pages Thread stacks and Global variables.
import { bytes, count, duration, many } from "../words";
import type { Data } from "./data";
import { column, el, shareColumn, sortable } from "./element";
import type { Column } from "./element";
import { owner, place } from "./pages";
import type { View } from "./pages";
import { nameOf, placeOf } from "./model";
import { PART_COLORS, stepChart } from "./charts";
import type { Steps } from "./charts";
import { treemap } from "./treemap";

// As in mprof report threads --json.
export interface StackUse {
	thread: number; process: number; tid: number; name: string | null; main: boolean; used_bytes: number; limit_bytes: number | null; touched_bytes: number | null;
	resident_bytes: number | null; deepest_bytes: number | null; deepest_at_ns: number | null; start_ns: number; end_ns: number | null; others: number;
}

// As in mprof report globals --json.
export interface Variables {
	bytes: number; resident_bytes: number; resident_at_least: boolean; thread_local_bytes: number; thread_local_all_bytes: number;
	left_out: number; left_out_bytes: number;
	objects: { object: string; variables: number; bytes: number; resident_bytes: number | null; resident_at_least: boolean;
		thread_local_bytes: number; threads: number; stripped: boolean }[];
}

const base = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const known = (n: number | null): string => n === null ? "-" : bytes(n);
const atLeast = (unsure: boolean, n: number | null): string => (unsure && n !== null ? "\u2265 " : "") + known(n);

// ---- stacks of threads ----

interface Deepest { lines: number[]; bytes: number[]; known: boolean }

const titleOf = (r: StackUse): string => `${r.thread}${r.name ? ` (${r.name})` : r.main ? " (main)" : ""}`;

// Lines of each thread's deepest recorded call, outermost first, and the bytes of their frames; with libraries folded, the innermost
// line that remains has theirs.
function deepest(d: Data, foldLibraries: boolean): Deepest[] {
	let from = 0;
	return Array.from(d.deepest.lines, (n, i) => {
		const lines = [...d.deepest.line.subarray(from, from + n)], bytes = [...d.deepest.bytes.subarray(from, from += n)];
		const to = foldLibraries ? d.deepest.asked[i] : n;
		if (to)
			bytes[to - 1] += bytes.slice(to).reduce((a, b) => a + b, 0);
		return { lines: lines.slice(0, to), bytes: bytes.slice(0, to), known: bytes.some(b => b > 0) };
	});
}

// What each function has of that stack; of a recursion all frames together.
function functionsOf(v: View, row: StackUse, of: Deepest): HTMLElement {
	const by = new Map<number, Part>(), all = row.deepest_bytes!;
	for (let i = of.lines.length; i-- > 0;) {
		const key = v.keys[of.lines[i]], part = by.get(key) ?? { line: of.lines[i], bytes: 0, frames: 0 };
		part.bytes += of.bytes[i];
		part.frames += of.bytes[i] ? 1 : 0;
		by.set(key, part);
	}
	const parts = [...by.values()].filter(p => p.bytes), outer = all - parts.reduce((sum, p) => sum + p.bytes, 0);
	return el("div", {}, sortable(parts, [
		column("bytes", "Bytes", bytes, p => p.bytes, { help: "Of the function's frames, with those of library calls that it made.", share: p => p.bytes / all }),
		shareColumn("share", p => p.bytes, () => all),
		column("frames", "Frames", count, p => p.frames, { help: "More than one in a recursion." }),
		{ key: "function", title: "Function", text: p => nameOf(v.d, p.line), node: p => owner(v, p.line) },
	], "bytes", null, "functions on the stack", 20), outer > 0 && el("p", {}, `And ${bytes(outer)} in frames further out, which were not recorded.`));
}

interface Part { line: number; bytes: number; frames: number }
interface Line { line: number; bytes: number; frames: number }

// Innermost first; frames of one line that follow each other are a row.
function stackLines(of: Deepest): Line[] {
	const rows: Line[] = [];
	for (let i = of.lines.length; i-- > 0;) {
		const row = rows[rows.length - 1];
		if (row?.line == of.lines[i]) {
			row.bytes += of.bytes[i];
			row.frames++;
		} else {
			rows.push({ line: of.lines[i], bytes: of.bytes[i], frames: 1 });
		}
	}
	return rows;
}

function deepestStack(v: View, rows: StackUse[], stack: Deepest[]): HTMLElement | null {
	const wanted = v.s.filter.thread;
	let best = rows.findIndex(r => r.thread == wanted);
	for (let i = 0; best < 0 || (i < rows.length && !wanted); i++)
		if (best < 0 || (rows[i].deepest_bytes ?? 0) > (rows[best].deepest_bytes ?? 0))
			best = i;
	const row = rows[best], of = stack[best], lines = of.lines, rowsOfStack = stackLines(of);
	if (row.deepest_bytes === null || !lines.length)
		return el("p", {}, `No call of thread ${titleOf(row)} was recorded with its call stack.`);
	return el("div", { class: "deepest" }, el("h3", {}, `Thread ${titleOf(row)} at its deepest recorded call, ${bytes(row.deepest_bytes)} down`),
		of.known && functionsOf(v, row, of), el("h3", {}, "Call stack"),
		sortable<Line>(rowsOfStack, [
			{ key: "function", title: "Function", text: r => nameOf(v.d, r.line), node: r => owner(v, r.line) },
			{ key: "where", title: "Where", text: r => placeOf(v.d, r.line), node: r => place(v, r.line) },
			...(rowsOfStack.some(r => r.frames > 1) ? [column("times", "Frames", count, (r: Line) => r.frames, { help: "More than one in a recursion." })] : []),
			...(of.known ? [column("frame", "Bytes", bytes, (r: Line) => r.bytes || null, { help: "Of its frames; an inlined call has none." })] : []),
		], "", null, "call stack"));
}

// The greatest depth over time: of the chosen thread, or of those that used most.
function depthOverTime(v: View, rows: StackUse[]): HTMLElement | false {
	const { d, s } = v, last = d.points - 1, run = d.head.report.duration_ns ?? (d.points ? d.point.ns[last] : 0), whole = s.exact === null && s.from < 0 && s.to >= last;
	const from = d.head.totals || whole ? 0 : s.exact ? s.exact.from : s.from < 0 ? 0 : d.point.ns[s.from];
	let at = 0, to = d.head.totals || whole ? run : s.exact ? s.exact.to : d.point.ns[s.to];
	const all: (Steps & { row: StackUse })[] = rows.map((row, i) => {
		const n = d.interval.count[i] ?? 0, x = [...d.interval.ns.subarray(at, at + n)], y = [...d.interval.deepest.subarray(at, at += n)];
		return { row, name: `thread ${titleOf(row)}`, x, y, end: row.end_ns ?? Math.max(run, x[n - 1] ?? 0) };
	});
	const known = all.filter(l => l.x.length && l.end > from && l.x[0] < to), chosen = known.filter(l => l.row.thread == s.filter.thread);
	const lines = (chosen.length ? chosen : known).sort((a, b) => Math.max(...b.y) - Math.max(...a.y)).slice(0, PART_COLORS.length);
	if (!lines.length)
		return false;
	to = Math.max(to, from + 1);
	const said = "The deepest recorded call in each interval of a thread's time, from the base of its stack. It is exact to 64 bytes; between recorded calls " +
		"a thread may have been deeper.", csv = [["Thread", "From ns", "Deepest bytes"], ...lines.flatMap(l => l.x.map((x, i) => [String(l.row.thread), String(x), String(l.y[i])]))];
	return el("div", { class: "depths" }, el("h3", {}, chosen.length ? `Depth over time of thread ${titleOf(chosen[0].row)}` : "Depth over time"), el("p", {}, said +
		(known.length > lines.length && !chosen.length ? ` Shown are the ${lines.length} deepest of ${many(known.length, "thread")}; a click on another thread in the table shows that one.` : "")),
		stepChart(lines, from, to, duration, bytes, said, "mprof-stacks", csv));
}

export function stacks(v: View): HTMLElement {
	const { d, s } = v, told = d.head.stacks, rows = told.rows, head = el("h2", {}, "Thread stacks");
	if (!rows.length)
		return el("section", {}, head, el("p", {}, "This trace does not contain the stack use of its threads. ",
			"It was made by another tool or an older mprof: record the program again with ", el("code", {}, "mprof record"), "."));
	const most = rows[0], calls = new Map<number, number>((d.head.totals ? [] : d.head.report.threads as any[] ?? []).map(t => [t.thread, t.events]));
	const stack = deepest(d, s.foldLibraries), inner = new Map(rows.map((r, i) => [r, stack[i].lines[stack[i].lines.length - 1] ?? 0]));
	const columns: Column<StackUse>[] = [
		column("thread", "Thread", String, r => r.thread, { upward: true,
			node: r => el("button", { type: "button", class: "name", title: "Its deepest call stack, below", "aria-pressed": String(s.filter.thread == r.thread),
				click: () => v.set({ filter: { ...s.filter, thread: s.filter.thread == r.thread ? 0 : r.thread } }) }, titleOf(r)) }),
		column("tid", "Tid", String, r => r.tid, { upward: true }),
		column("process", "Process", String, r => r.process, { upward: true }),
		{ key: "used", title: "Stack used", help: "From the base of the stack to the lowest resident page or recorded call; \u2265: the pages were never read.", number: true, unit: "bytes",
			text: r => atLeast(r.touched_bytes === null, r.used_bytes), value: r => r.used_bytes, share: r => r.limit_bytes ? r.used_bytes / r.limit_bytes : 0 },
		column("limit", "Of", bytes, r => r.limit_bytes, { help: "Size limit of the stack." }),
		shareColumn("share", r => r.used_bytes, r => r.limit_bytes ?? 0),
		column("resident", "Resident", bytes, r => r.resident_bytes),
		column("deepest", "Deepest call", bytes, r => r.deepest_bytes, { help: "From the base of the stack to the lowest stack pointer at a recorded call." }),
		column("at", "At", duration, r => r.deepest_at_ns, { help: "When that call was made, since the start.", upward: true }),
		column("calls", "Calls", count, r => calls.get(r.thread) ?? null, { help: "Recorded calls of the thread." }),
		{ key: "in", title: "Deepest in", text: r => inner.get(r) ? nameOf(d, inner.get(r)!) : "", node: r => inner.get(r) ? owner(v, inner.get(r)!) : el("span") },
	];
	return el("section", { class: "stacks" }, head,
		el("p", {}, `Thread ${titleOf(most)} used the most, ${most.touched_bytes === null ? "at least" : "up to"} ${bytes(most.used_bytes)}` +
			(most.limit_bytes ? ` of ${bytes(most.limit_bytes)}` : "") + (most.deepest_at_ns !== null ?
				`; its deepest recorded call was ${duration(most.deepest_at_ns)} after the start.` : ".")),
		depthOverTime(v, rows),
		sortable(rows, columns, columns.some(c => c.key == s.sort) ? s.sort : "used", sort => v.set({ sort }), "stacks"),
		told.left_out > 0 && el("p", {}, `And ${many(told.left_out, "thread")} that used no more.`), deepestStack(v, rows, stack));
}

// ---- variables ----

interface Variable { name: string; object: string; file: string; line: number; bytes: number; resident: number | null; perThread: boolean }

function variablesOf(d: Data): Variable[] {
	const c = d.variable;
	return Array.from(c.bytes, (n, i) => ({ name: d.text[c.name[i]], object: d.text[c.object[i]], file: d.text[c.file[i]], line: c.line[i], bytes: n,
		resident: c.resident[i] ? c.resident[i] - 1 : null, perThread: c.thread[i] == 1 }));
}

// Each object with its largest variables; the filled part was resident.
function variableMap(all: Variables, variables: Variable[]): HTMLElement {
	const of = (object: string) => variables.filter(x => x.object == object && !x.perThread).slice(0, TILES);
	return el("div", {}, el("h3", {}, "Area by size; what was resident is filled. Empty: smaller variables"), treemap(all.objects.map(o => ({ name: base(o.object), title: `${base(o.object)}: ${bytes(o.bytes)}`, weight: o.bytes,
		tiles: of(o.object).map(x => ({ name: x.name, title: `${x.name}: ${bytes(x.bytes)}, resident: ${known(x.resident)}`, weight: x.bytes, filled: x.bytes ? Math.min(1, (x.resident ?? 0) / x.bytes) : 0 })) })),
	"Objects and their variables by size", "variables"));
}

const TILES = 200; // of each object

export function globals(v: View): HTMLElement {
	const { d, s } = v, all = d.head.variables, head = el("h2", {}, "Global variables"), most = Math.max(1, ...d.variable.bytes);
	if (!all.objects.length)
		return el("section", {}, head, el("p", {}, "This trace does not name its program and libraries, so their variables are unknown: ",
			"it was recorded without call stacks or by another tool. Record the program again with ", el("code", {}, "mprof record"), ", without ",
			el("code", {}, "--unwind none"), "."));
	const objects = sortable(all.objects, [
		{ key: "object", title: "Object", text: o => base(o.object) + (o.stripped ? " (stripped)" : ""),
			node: o => el("span", { title: o.object + (o.stripped ? ": only variables that it exports are known" : "") }, base(o.object) + (o.stripped ? " (stripped)" : "")) },
		column("variables", "Variables", count, o => o.variables),
		column("bytes", "Bytes", bytes, o => o.bytes, { share: o => o.bytes / (all.bytes || 1) }),
		column("resident", "Resident", bytes, o => o.resident_bytes, { text: o => atLeast(o.resident_at_least, o.resident_bytes) }),
		column("local", "Thread-local", bytes, o => o.thread_local_bytes || null, { help: "Bytes in each thread." }),
		column("threads", "Threads", count, o => o.thread_local_bytes ? o.threads : null, { help: "Most threads that ran at the same time." }),
	], "bytes", null, "objects");
	const columns: Column<Variable>[] = [
		column("bytes", "Bytes", bytes, x => x.bytes, { share: x => x.bytes / most }),
		column("resident", "Resident", bytes, x => x.resident, { text: x => x.perThread ? "per thread" : known(x.resident) }),
		{ key: "name", title: "Variable", text: x => x.name },
		{ key: "object", title: "Object", text: x => base(x.object), node: x => el("span", { title: x.object }, base(x.object)) },
		{ key: "place", title: "Declared at", text: x => x.file ? `${x.file}:${x.line}` : "-",
			node: x => el("span", { title: x.file || null }, x.file ? `${base(x.file)}:${x.line}` : "-") },
	];
	return el("section", { class: "globals" }, head,
		el("p", {}, `${bytes(all.bytes)}, of which ${all.resident_at_least ? "at least " : ""}${bytes(all.resident_bytes)} were resident when the process ended. ` +
			`Thread-local: ${bytes(all.thread_local_bytes)} in each thread, ${bytes(all.thread_local_all_bytes)} in all concurrent threads.`),
		objects, variableMap(all, variablesOf(d)), el("h3", {}, "Variables"), d.variable.bytes.length ? sortable(variablesOf(d), columns, columns.some(c => c.key == s.sort) ? s.sort : "bytes",
			sort => v.set({ sort }), "variables", 50) : el("p", {}, "No variable has a name: the objects are stripped. Build with -g, or install debug symbols."),
		all.left_out > 0 && el("p", {}, `And ${many(all.left_out, "smaller variable")} of ${bytes(all.left_out_bytes)}: `,
			el("code", {}, "mprof report globals --top 0")));
}
