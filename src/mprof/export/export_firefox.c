// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_firefox.c - a processed profile of the Firefox Profiler, format version 60 (its
 * docs-developer/CHANGELOG-formats.md): native allocations of each process, and counters of
 * live and of resident memory.
 *
 * Time is divided at points; each is the time of most live bytes in its step (cells.h). Blocks of
 * one stack that were allocated between the same points and freed between the same points are a
 * pair of rows: their bytes at the point of allocation, and as many negative bytes at the point of
 * the free. The pair has a unique memory address, by which the profiler computes retained memory;
 * so retained memory is exact at every point. Within a point, frees of earlier blocks come first,
 * then blocks that were live at no point, then blocks that stay live.
 *
 * Samples of a process are its allocations weighted by bytes, so that the call tree, which the
 * profiler shows first, covers all memory that was requested.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/cells.h"
#include "../profile/calltree.h"
#include "../print/json.h"
#include "../print/text.h"
#include "exports.h"
#include "path_frames.h"
#include "../util/alloc.h"
#include "../util/order.h"

#define FORMAT_VERSION 60
#define GECKO_VERSION  31
#define POINTS	       200u

enum category { CATEGORY_OTHER, CATEGORY_PROGRAM, CATEGORY_LIBRARY };

enum phase { PHASE_END, PHASE_BRIEF, PHASE_BRIEF_END, PHASE_BEGIN };

/* A row of the table of allocations. */
struct row {
	uint32_t process, cell; /* number in the run; index */
	uint32_t site;
	uint16_t point;
	uint8_t phase;
};

struct firefox {
	FILE *out;
	struct profile *profile;
	struct trace *trace;
	struct cells cells;
	struct interner strings;
	struct line_interner frames, functions;
	bool own;		 /* lines of the program's own source are among them */
	struct interner modules; /* strings */
	struct interner files;
	struct interner stacks;	   /* a pair of uint32_t: calling stack, frame */
	uint32_t *leaf, *function; /* by site: its stack; by frame: its function */
	struct row *row;
	size_t rows;
};

/* ---- tables ---- */

static uint32_t string_id(struct interner *k, const char *s)
{
	return interner_id(k, s, strlen(s));
}

/* Returns the index of an id in a table; ids begin at 1. */
static uint32_t at(uint32_t id)
{
	return id - 1;
}

static void add_path(struct firefox *x, size_t site)
{
	const struct profile_path *path = profile_path_once(x->profile, x->profile->site[site].key);
	struct {
		uint32_t caller, frame;
	} key = { 0, 0 };
	size_t i;

	if (path->truncated || !path->count) {
		key.frame =
		    line_interner_id(&x->frames, path->count ? &calltree_cut : &calltree_no_stack);
		key.caller = interner_id(&x->stacks, &key, sizeof(key));
	}
	for (i = 0; i < path->count; i++) {
		key.frame = line_interner_id(&x->frames, path->line[i]);
		key.caller = interner_id(&x->stacks, &key, sizeof(key));
	}
	x->leaf[site] = key.caller;
}

static void make_tables(struct firefox *x)
{
	const struct sym_line *line;
	size_t i;

	x->leaf = must_calloc(x->profile->count + 1, sizeof(*x->leaf));
	for (i = 0; i < x->profile->count; i++)
		add_path(x, i);
	x->function = must_calloc(x->frames.keys.count + 1, sizeof(*x->function));
	for (i = 0; i < x->frames.keys.count; i++) {
		line = line_interner_line(&x->frames, (uint32_t)i + 1);
		x->function[i] = line_interner_id(&x->functions, line);
		string_id(&x->strings, line->function);
		if (*line->module && string_id(&x->strings, line->module))
			string_id(&x->modules, line->module);
		if (*line->file && string_id(&x->strings, line->file))
			string_id(&x->files, line->file);
	}
}

/* Writes "name":[...] with n values. */
static void put_column(struct firefox *x, const char *name, size_t n,
		       void (*put)(struct firefox *x, uint32_t id))
{
	uint32_t i;

	fprintf(x->out, "\"%s\":[", name);
	for (i = 1; i <= n; i++) {
		if (i > 1)
			fputc(',', x->out);
		put(x, i);
	}
	fputs("],\n", x->out);
}

/* Writes n equal values. */
static void put_same(struct firefox *x, const char *name, size_t n, const char *value)
{
	size_t i;

	fprintf(x->out, "\"%s\":[", name);
	for (i = 0; i < n; i++)
		fprintf(x->out, "%s%s", i ? "," : "", value);
	fputs("],\n", x->out);
}

static void put_index(struct firefox *x, uint32_t id)
{
	fprintf(x->out, "%" PRIu32, at(id));
}

static void stack_key(const struct firefox *x, uint32_t id, uint32_t key[2])
{
	memcpy(key, interner_text(&x->stacks, id), 2 * sizeof(*key));
}

static void put_stack_frame(struct firefox *x, uint32_t id)
{
	uint32_t key[2];

	stack_key(x, id, key);
	put_index(x, key[1]);
}

static void put_stack_prefix(struct firefox *x, uint32_t id)
{
	uint32_t key[2];

	stack_key(x, id, key);
	if (key[0])
		put_index(x, key[0]);
	else
		fputs("null", x->out);
}

static bool is_library(const struct firefox *x, const struct sym_line *line)
{
	return profile_is_library(line) || (x->own && profile_is_package(x->profile, line));
}

static void put_frame_category(struct firefox *x, uint32_t id)
{
	const struct sym_line *line = line_interner_line(&x->frames, id);

	fprintf(x->out, "%d",
		!*line->module	      ? CATEGORY_OTHER
		: is_library(x, line) ? CATEGORY_LIBRARY
				      : CATEGORY_PROGRAM);
}

static void put_frame_function(struct firefox *x, uint32_t id)
{
	put_index(x, x->function[at(id)]);
}

static void put_frame_line(struct firefox *x, uint32_t id)
{
	const struct sym_line *line = line_interner_line(&x->frames, id);

	if (line->line)
		fprintf(x->out, "%u", line->line);
	else
		fputs("null", x->out);
}

static void put_function_name(struct firefox *x, uint32_t id)
{
	put_index(x, string_id(&x->strings, line_interner_line(&x->functions, id)->function));
}

static void put_function_resource(struct firefox *x, uint32_t id)
{
	const char *module = line_interner_line(&x->functions, id)->module;

	if (*module)
		put_index(x, string_id(&x->modules, module));
	else
		fputs("-1", x->out);
}

static void put_function_source(struct firefox *x, uint32_t id)
{
	const char *file = line_interner_line(&x->functions, id)->file;

	if (*file)
		put_index(x, string_id(&x->files, file));
	else
		fputs("null", x->out);
}

static void put_module_name(struct firefox *x, uint32_t id)
{
	put_index(x, string_id(&x->strings, interner_text(&x->modules, id)));
}

static void put_file_name(struct firefox *x, uint32_t id)
{
	put_index(x, string_id(&x->strings, interner_text(&x->files, id)));
}

static void put_string(struct firefox *x, uint32_t id)
{
	json_put(x->out, interner_text(&x->strings, id));
}

static void put_length(struct firefox *x, size_t n)
{
	fprintf(x->out, "\"length\":%zu}", n);
}

static void put_frames(struct firefox *x)
{
	const size_t n = x->frames.keys.count;

	for (uint32_t i = 1; i <= n && !x->own; i++)
		x->own = profile_is_own(x->profile, line_interner_line(&x->frames, i));
	fputs(",\n\"frameTable\":{", x->out);
	put_same(x, "address", n, "-1");
	put_same(x, "inlineDepth", n, "0");
	put_column(x, "category", n, put_frame_category);
	put_same(x, "subcategory", n, "0");
	put_column(x, "func", n, put_frame_function);
	put_same(x, "nativeSymbol", n, "null");
	put_same(x, "innerWindowID", n, "0");
	put_column(x, "line", n, put_frame_line);
	put_same(x, "column", n, "null");
	put_length(x, n);
}

static void put_functions(struct firefox *x)
{
	const size_t n = x->functions.keys.count;

	fputs(",\n\"funcTable\":{", x->out);
	put_column(x, "name", n, put_function_name);
	put_same(x, "isJS", n, "false");
	put_same(x, "relevantForJS", n, "false");
	put_column(x, "resource", n, put_function_resource);
	put_column(x, "source", n, put_function_source);
	put_same(x, "lineNumber", n, "null");
	put_same(x, "columnNumber", n, "null");
	put_length(x, n);
}

static void put_shared(struct firefox *x)
{
	size_t n = x->stacks.count;

	fputs("\"shared\":{", x->out);
	put_column(x, "stringArray", x->strings.count, put_string);
	fputs("\"stackTable\":{", x->out);
	put_column(x, "frame", n, put_stack_frame);
	put_column(x, "prefix", n, put_stack_prefix);
	put_length(x, n);
	put_frames(x);
	put_functions(x);
	n = x->modules.count;
	fputs(",\n\"resourceTable\":{", x->out);
	put_column(x, "lib", n, put_index);
	put_column(x, "name", n, put_module_name);
	put_same(x, "host", n, "null");
	put_same(x, "type", n, "1");
	put_length(x, n);
	fputs(",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[],\"length\":0}",
	      x->out);
	n = x->files.count;
	fputs(",\n\"sources\":{", x->out);
	put_same(x, "uuid", n, "null");
	put_column(x, "filename", n, put_file_name);
	put_length(x, n);
	fputc('}', x->out);
}

static void put_libraries(struct firefox *x)
{
	const char *name;
	uint32_t i;

	fputs("\"libs\":[", x->out);
	for (i = 1; i <= x->modules.count; i++) {
		name = interner_text(&x->modules, i);
		fprintf(x->out, "%s{\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":null",
			i > 1 ? ",\n" : "");
		json_put_s(x->out, "name", name);
		json_put_s(x->out, "path", name);
		json_put_s(x->out, "debugName", name);
		json_put_s(x->out, "debugPath", name);
		fputc('}', x->out);
	}
	fputs("],\n", x->out);
}

/* ---- rows ---- */

/* Blocks that were live at no point are allocated and freed before the next ones are. */
static bool is_brief(const struct row *r)
{
	return r->phase == PHASE_BRIEF || r->phase == PHASE_BRIEF_END;
}

ORDER(by_time, struct row,
      RISING(process) ?: RISING(point) ?: (is_brief(x) && is_brief(y) ? RISING(cell) : 0) ?:
      RISING(phase) ?: RISING(cell))

static void add_row(struct firefox *x, const struct row *like, uint16_t point, enum phase phase)
{
	struct row *r = &x->row[x->rows++];

	*r = *like;
	r->point = point;
	r->phase = (uint8_t)phase;
}

static void make_rows(struct firefox *x)
{
	const struct heap *h = &x->profile->walk.heap;
	size_t i;

	x->row = must_calloc(2 * x->cells.count + 1, sizeof(*x->row));
	for (i = 0; i < x->cells.count; i++) {
		const struct cell *c = &x->cells.cell[i];
		const uint32_t site = x->profile->site_of[c->stack];
		const bool brief = c->birth == c->death, stays = c->life_class == CELL_NEVER_FREED;
		const struct row like = { .process =
					      h->process[h->thread[c->thread].process]->number,
					  .cell = (uint32_t)i,
					  .site = site - 1 };
		const uint16_t last = (uint16_t)(x->cells.points - 1);

		if (!site) /* filters such as --function exclude it */
			continue;
		add_row(x, &like, c->birth < last ? c->birth : last,
			brief && !stays ? PHASE_BRIEF : PHASE_BEGIN);
		if (!stays && c->death <= last)
			add_row(x, &like, c->death, brief ? PHASE_BRIEF_END : PHASE_END);
	}
	SORT(x->row, x->rows, by_time);
}

static bool is_begin(const struct row *r)
{
	return r->phase == PHASE_BEGIN || r->phase == PHASE_BRIEF;
}

static void put_ms(FILE *out, int64_t ns)
{
	const uint64_t n = ns > 0 ? (uint64_t)ns : 0;

	fprintf(out, "%" PRIu64 ".%06u", n / 1000000, (unsigned)(n % 1000000));
}

static void put_row_time(struct firefox *x, const struct row *r)
{
	put_ms(x->out, x->cells.point[r->point].ns);
}

static void put_row_weight(struct firefox *x, const struct row *r)
{
	fprintf(x->out, "%s%" PRIu64, is_begin(r) ? "" : "-", x->cells.cell[r->cell].bytes);
}

static void put_row_stack(struct firefox *x, const struct row *r)
{
	put_index(x, x->leaf[r->site]);
}

static void put_row_address(struct firefox *x, const struct row *r)
{
	fprintf(x->out, "%" PRIu32, r->cell + 1);
}

static void put_row_thread(struct firefox *x, const struct row *r)
{
	fprintf(x->out, "%" PRIu32,
		x->profile->walk.heap.thread[x->cells.cell[r->cell].thread].number);
}

/* Writes the rows of one process, all or only allocations; returns their number. */
static size_t put_rows(struct firefox *x, const char *name, uint32_t process, bool all,
		       void (*put)(struct firefox *x, const struct row *r))
{
	size_t i, n = 0;

	fprintf(x->out, "\"%s\":[", name);
	for (i = 0; i < x->rows; i++) {
		if (x->row[i].process != process || (!all && !is_begin(&x->row[i])))
			continue;
		if (n++)
			fputc(',', x->out);
		put(x, &x->row[i]);
	}
	fputs("],\n", x->out);
	return n;
}

/* ---- threads and counters ---- */

static void put_process(struct firefox *x, const struct tree_process *p)
{
	const struct trace_fact *image = tree_image(p);
	const char *name = image ? text_base(image->exe) : "unknown program";
	const uint64_t start = p->images ? p->image[0]->fact->ticks : 0;
	size_t n;

	fputs("{\"processType\":\"default\",\"processStartupTime\":", x->out);
	put_ms(x->out, start ? walk_ns(&x->profile->walk, start) : 0);
	fputs(",\"processShutdownTime\":", x->out);
	if (p->end_ticks)
		put_ms(x->out, walk_ns(&x->profile->walk, p->end_ticks));
	else
		fputs("null", x->out);
	fputs(",\"registerTime\":", x->out);
	put_ms(x->out, start ? walk_ns(&x->profile->walk, start) : 0);
	fputs(",\"unregisterTime\":null,\"pausedRanges\":[],\"isMainThread\":true", x->out);
	json_put_s(x->out, "name", name);
	json_put_s(x->out, "processName", name);
	/* Two processes of a run may have the same pid. */
	fprintf(x->out, ",\"pid\":\"%d.%u\",\"tid\":%d,\n\"samples\":{", (int)p->pid, p->number,
		(int)p->pid);
	put_rows(x, "time", p->number, false, put_row_time);
	put_rows(x, "stack", p->number, false, put_row_stack);
	n = put_rows(x, "weight", p->number, false, put_row_weight);
	fputs("\"weightType\":\"bytes\",", x->out);
	put_length(x, n);
	fputs(",\n\"nativeAllocations\":{", x->out);
	put_rows(x, "time", p->number, true, put_row_time);
	put_rows(x, "stack", p->number, true, put_row_stack);
	put_rows(x, "memoryAddress", p->number, true, put_row_address);
	put_rows(x, "threadId", p->number, true, put_row_thread);
	n = put_rows(x, "weight", p->number, true, put_row_weight);
	fputs("\"weightType\":\"bytes\",", x->out);
	put_length(x, n);
	fputs(
	    ",\n\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
	    "\"category\":[],\"length\":0}}",
	    x->out);
}

static void begin_counter(struct firefox *x, const char *name, const char *help, const char *color,
			  const struct tree_process *p, size_t thread)
{
	fprintf(x->out,
		"{\"name\":\"%s\",\"category\":\"Memory\",\"description\":\"%s\",\"color\":\"%s\","
		"\"pid\":\"%d.%u\",\"mainThreadIndex\":%zu,\"display\":{\"graphType\":"
		"\"line-accumulated\",\"unit\":\"bytes\",\"color\":\"%s\",\"markerSchemaLocation\":"
		"null,\"sortWeight\":20,\"label\":\"%s\"},\n\"samples\":{",
		name, help, color, (int)p->pid, p->number, thread, color, help);
}

static void put_live(struct firefox *x, const struct tree_process *first)
{
	const struct cells_point *p = x->cells.point;
	uint64_t before = 0, operations = 0;
	size_t i;

	begin_counter(x, "malloc",
		      x->profile->tree.processes > 1 ? "Live memory of all processes"
						     : "Live memory",
		      "orange", first, 0);
	fputs("\"time\":[", x->out);
	for (i = 0; i < x->cells.points; i++) {
		fputs(i ? "," : "", x->out);
		put_ms(x->out, p[i].ns);
	}
	fputs("],\n\"count\":[", x->out);
	for (i = 0; i < x->cells.points; i++) {
		fprintf(x->out, "%s%" PRId64, i ? "," : "", (int64_t)(p[i].live.bytes - before));
		before = p[i].live.bytes;
	}
	fputs("],\n\"number\":[", x->out);
	for (i = 0; i < x->cells.points; i++) {
		fprintf(x->out, "%s%" PRIu64, i ? "," : "", p[i].calls + p[i].frees - operations);
		operations = p[i].calls + p[i].frees;
	}
	fputs("],\n", x->out);
	put_length(x, x->cells.points);
	fputc('}', x->out);
}

static void put_resident(struct firefox *x, const struct tree_process *p, size_t thread)
{
	const struct mprof_sample *s;
	const size_t n = trace_samples(x->trace, p->number, &s);
	size_t i;

	if (!n)
		return;
	fputs(",\n", x->out);
	begin_counter(x, "RSS", "Resident memory", "purple", p, thread);
	fputs("\"time\":[", x->out);
	for (i = 0; i < n; i++) {
		fputs(i ? "," : "", x->out);
		put_ms(x->out, walk_ns(&x->profile->walk, s[i].ticks));
	}
	fputs("],\n\"count\":[", x->out);
	for (i = 0; i < n; i++)
		fprintf(x->out, "%s%" PRId64, i ? "," : "",
			(int64_t)(s[i].rss - (i ? s[i - 1].rss : 0)));
	fputs("],\n", x->out);
	put_length(x, n);
	fputc('}', x->out);
}

/* ---- the file ---- */

static void put_meta(struct firefox *x)
{
	const struct profile *p = x->profile;
	const struct trace_fact *image = tree_first_image(&p->tree);
	const int64_t end = walk_ns(&x->profile->walk, x->profile->walk.last_ticks);
	char *command = place_command_text(p);

	fputs("{\"meta\":{\"interval\":", x->out);
	put_ms(x->out, x->cells.points ? end / (int64_t)x->cells.points : 1000000);
	fputs(",\"startTime\":", x->out);
	put_ms(x->out, p->header->start_real_ns);
	fprintf(x->out,
		",\"processType\":0,\"stackwalk\":1,\"debug\":false,\"version\":%d,"
		"\"preprocessedProfileVersion\":%d",
		GECKO_VERSION, FORMAT_VERSION);
	json_put_s(x->out, "product", image ? text_base(image->exe) : "mprof");
	json_put_s(x->out, "arguments", command);
	fputs(",\"importedFrom\":\"mprof " MPROF_VERSION "\",\"symbolicated\":true,"
	      "\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":true,"
	      "\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[],\n\"categories\":["
	      "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Program\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Library\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]}]},\n",
	      x->out);
	free(command);
}

static void put_all(struct firefox *x)
{
	const struct tree *t = &x->profile->tree;
	/* The record of another tool does not name its process. */
	const struct tree_process unknown = { .number = x->rows ? x->row->process : 1 },
				  *process = t->processes ? t->process : &unknown;
	const size_t processes = t->processes ?: 1;
	size_t i;

	put_meta(x);
	put_libraries(x);
	put_shared(x);
	fputs(",\n\"threads\":[", x->out);
	for (i = 0; i < processes; i++) {
		fputs(i ? ",\n" : "", x->out);
		put_process(x, &process[i]);
	}
	fputs("],\n\"counters\":[", x->out);
	put_live(x, process);
	for (i = 0; i < processes; i++)
		put_resident(x, &process[i], i);
	fputs("]}\n", x->out);
}

static void release(struct firefox *x)
{
	cells_pass.release(&x->cells);
	interner_release(&x->strings);
	interner_release(&x->modules);
	interner_release(&x->files);
	interner_release(&x->stacks);
	line_interner_release(&x->frames);
	line_interner_release(&x->functions);
	free(x->leaf);
	free(x->function);
	free(x->row);
}

int export_firefox(struct export *e, struct error *err)
{
	const struct export_options *o = e->options;
	struct firefox x = {
		.out = e->out,
		.profile = e->profile,
		.trace = e->trace,
		.cells = { .filter = &o->profile->sites.filter,
			   .steps = o->points ? o->points : POINTS,
			   .by_thread_only = true },
		.frames = { .same = LINE_LINE },
		.functions = { .same = LINE_FUNCTION },
	};
	const struct walk_pass cells = { &cells_pass, &x.cells };
	int ret;

	if (x.cells.steps > CELLS_STEPS_MOST)
		x.cells.steps = CELLS_STEPS_MOST;
	ret = profile_with(e->profile, e->trace, o->profile, &cells, err);
	if (ret)
		return ret;
	make_tables(&x);
	make_rows(&x);
	put_all(&x);
	release(&x);
	return 0;
}
