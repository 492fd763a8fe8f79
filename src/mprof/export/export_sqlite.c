// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_sqlite.c - a database: processes, loaded objects, and every site with its stack and
 * figures; with --events also each block that is allocated and freed.
 *
 * The schema is documented in mprof(1), section EXPORTS; user_version counts its changes.  Written
 * in one transaction without a journal: the file gets its name only when it is complete.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "../trace/functions.h"
#include "exports.h"
#include "../print/json.h"
#include "path_frames.h"

static const char schema[] =
    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA application_id=0x6d70726f; PRAGMA user_version=1; BEGIN;"
    "CREATE TABLE run(recorded_by TEXT, trace TEXT, command TEXT, started_ns INTEGER,"
    " duration_ns INTEGER, events INTEGER, calls INTEGER, bytes INTEGER, peak_ns INTEGER,"
    " peak_bytes INTEGER, live_bytes INTEGER, leaked_bytes INTEGER, suppressed_bytes INTEGER);"
    "CREATE TABLE process(process INTEGER PRIMARY KEY, pid INTEGER, parent INTEGER, program TEXT,"
    " start_ns INTEGER, end_ns INTEGER, status INTEGER, signal INTEGER, peak_rss_bytes INTEGER);"
    "CREATE TABLE thread(thread INTEGER PRIMARY KEY, process INTEGER REFERENCES process,"
    " tid INTEGER, first_ns INTEGER, last_ns INTEGER, events INTEGER, name TEXT);"
    "CREATE TABLE object(object INTEGER PRIMARY KEY, path TEXT, build_id TEXT);"
    "CREATE TABLE frame(frame INTEGER PRIMARY KEY, object INTEGER REFERENCES object,"
    " address INTEGER, function TEXT, symbol TEXT, file TEXT, line INTEGER, module TEXT,"
    " inlined INTEGER);"
    "CREATE TABLE site(site INTEGER PRIMARY KEY, depth INTEGER, truncated INTEGER"
#define FIGURE(member, unit, add, from, json, help) ", " #member " INTEGER"
#include "../pass/figures.def"
    ", asked INTEGER);"
    "CREATE TABLE stack(site INTEGER REFERENCES site, depth INTEGER,"
    " frame INTEGER REFERENCES frame, PRIMARY KEY(site, depth)) WITHOUT ROWID;"
    "CREATE VIEW who AS SELECT site, frame.* FROM site JOIN stack USING(site)"
    " JOIN frame USING(frame) WHERE stack.depth = asked;";

static const char schema_of_events[] =
    "CREATE TABLE event(event INTEGER, what TEXT, ns INTEGER, process INTEGER REFERENCES process,"
    " thread INTEGER REFERENCES thread, site INTEGER REFERENCES site, function TEXT,"
    " address INTEGER, size INTEGER, slack INTEGER, change INTEGER, lifetime_ns INTEGER);";

struct base {
	sqlite3 *db;
	struct profile *profile;
	sqlite3_stmt *object, *frame, *stack, *event;
	struct interner frames; /* of line and frame; ids are rows */
	bool *object_told;
	uint32_t *site; /* by group, of events */
	int failed;	/* the first result of SQLite that is not SQLITE_OK */
};

/* ---- rows ---- */

static void check(struct base *b, int code)
{
	if (code != SQLITE_OK && code != SQLITE_DONE && !b->failed)
		b->failed = code;
}

static sqlite3_stmt *prepare(struct base *b, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (!b->failed)
		check(b, sqlite3_prepare_v2(b->db, sql, -1, &s, NULL));
	return s;
}

/* A column of a row: NULL unless `known`. */
struct value {
	bool known;
	uint64_t number;
	const char *text; /* NULL for a number */
};
#define NUMBER(n)	    NUMBER_IF(true, n)
#define NUMBER_IF(known, n) ((struct value){ known, (uint64_t)(n), NULL })
#define TEXT(s)		    ((struct value){ true, 0, s })
#define TEXT_IF(known, s)   ((struct value){ known, 0, s })

static void bind(struct base *b, sqlite3_stmt *s, int i, const struct value *v)
{
	char *made = NULL;

	if (!v->known)
		check(b, sqlite3_bind_null(s, i));
	else if (!v->text)
		check(b, sqlite3_bind_int64(s, i, (sqlite3_int64)v->number));
	else
		check(b, sqlite3_bind_text(s, i, utf8_clean(v->text, &made), -1, SQLITE_TRANSIENT));
	free(made);
}

/* After a failure, does nothing more: the first one is reported. */
static void put_values(struct base *b, sqlite3_stmt *s, const struct value *v, size_t n)
{
	for (size_t i = 0; i < n && !b->failed; i++)
		bind(b, s, (int)i + 1, &v[i]);
	if (b->failed)
		return;
	check(b, sqlite3_step(s));
	check(b, sqlite3_reset(s));
}
#define PUT_ROW(b, s, ...)                                      \
	put_values(b, s, (const struct value[]){ __VA_ARGS__ }, \
		   sizeof((const struct value[]){ __VA_ARGS__ }) / sizeof(struct value))

static uint64_t ns_of(const struct base *b, uint64_t ticks)
{
	return walk_since_ns(&b->profile->walk, ticks);
}

/* ---- processes ---- */

static void put_run(struct base *b)
{
	const struct profile *p = b->profile;
	sqlite3_stmt *s = prepare(b, "INSERT INTO run VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)");
	char *command = place_command_text(p);

	PUT_ROW(b, s, TEXT("mprof " MPROF_VERSION), TEXT(p->path), TEXT(command),
		NUMBER(p->header->start_real_ns), NUMBER(ns_of(b, p->walk.last_ticks)),
		NUMBER(p->walk.events), NUMBER(p->total.calls), NUMBER(p->total.bytes),
		NUMBER(p->sites.peak.ns > 0 ? p->sites.peak.ns : 0), NUMBER(p->total.peak_bytes),
		NUMBER(p->total.live_bytes), NUMBER(p->total.leaked_bytes),
		NUMBER(p->suppressed_bytes));
	sqlite3_finalize(s);
	free(command);
}

static void put_process(struct base *b, sqlite3_stmt *s, const struct tree_process *p)
{
	const struct trace_fact *image = tree_image(p);

	PUT_ROW(b, s, NUMBER(p->number), NUMBER((int64_t)p->pid), NUMBER_IF(p->parent, p->parent),
		TEXT_IF(image, image ? image->exe : ""), NUMBER(ns_of(b, p->start_ticks)),
		NUMBER_IF(p->end_ticks, ns_of(b, p->end_ticks)),
		NUMBER_IF(p->end == TREE_EXITED, (int64_t)p->status),
		NUMBER_IF(p->end == TREE_KILLED, (int64_t)p->status),
		NUMBER(p->peak_rss_bytes > p->rss_most ? p->peak_rss_bytes : p->rss_most));
}

static void put_processes(struct base *b)
{
	const struct tree *t = &b->profile->tree;
	sqlite3_stmt *s = prepare(b, "INSERT INTO process VALUES(?,?,?,?,?,?,?,?,?)");
	size_t i;

	for (i = 0; i < t->processes; i++)
		put_process(b, s, &t->process[i]);
	sqlite3_finalize(s);
}

static const char *name_of(const struct base *b, size_t thread)
{
	return trace_thread_name(b->profile->trace, (uint32_t)thread);
}

static void put_threads(struct base *b, const struct array *threads)
{
	sqlite3_stmt *s = prepare(b, "INSERT INTO thread VALUES(?,?,?,?,?,?,?)");
	const struct flow_thread *t = threads->item;
	size_t i;

	for (i = 0; i < threads->count; i++)
		if (t[i].events)
			PUT_ROW(b, s, NUMBER(i), NUMBER(t[i].process),
				NUMBER_IF(t[i].tid, t[i].tid), NUMBER(ns_of(b, t[i].first)),
				NUMBER(ns_of(b, t[i].last)), NUMBER(t[i].events),
				TEXT_IF(*name_of(b, i), name_of(b, i)));
	sqlite3_finalize(s);
}

/* ---- sites ---- */

static void put_object(struct base *b, uint32_t number)
{
	const struct stack_object *o = &b->profile->stacks->object[number];
	char build_id[STACK_BUILD_ID];

	if (b->object_told[number])
		return;
	b->object_told[number] = true;
	stack_build_id(o, build_id);
	PUT_ROW(b, b->object, NUMBER(number), TEXT_IF(*o->path, o->path),
		TEXT_IF(*build_id, build_id));
}

/* Returns the row of a line of an address; inlined calls have separate rows. */
static uint32_t frame_of(struct base *b, const struct sym_line *l, uint32_t frame)
{
	static const struct stack_frame none;
	const struct stack_frame *f = frame ? &b->profile->stacks->frame[frame] : &none;
	struct {
		const struct sym_line *line;
		uint64_t frame;
	} key = { l, frame };
	size_t known = b->frames.count;
	uint32_t id = interner_id(&b->frames, &key, sizeof(key));

	if (b->frames.count == known)
		return id;
	if (frame)
		put_object(b, f->object);
	PUT_ROW(b, b->frame, NUMBER(id), NUMBER(f->object), NUMBER(place_address(f)),
		TEXT(l->function), TEXT_IF(*l->raw, l->raw), TEXT_IF(*l->file, l->file),
		NUMBER_IF(l->line, l->line), TEXT(l->module), NUMBER(l->inlined));
	return id;
}

static void put_depth(struct base *b, size_t site, size_t depth, const struct sym_line *line,
		      uint32_t frame)
{
	uint32_t row = frame_of(b, line, frame);

	PUT_ROW(b, b->stack, NUMBER(site + 1), NUMBER(depth), NUMBER(row));
}

static void put_site(struct base *b, sqlite3_stmt *s, size_t i)
{
	struct profile *p = b->profile;
	const struct profile_path *path = profile_path_once(p, p->site[i].key);
	const struct value row[] = {
		NUMBER(i + 1),
		NUMBER(path->count),
		NUMBER(path->truncated),
#define FIGURE(member, unit, add, from, json, help) \
	NUMBER_IF(export_knows(p, offsetof(struct site_values, member)), p->site[i].v.member),
#include "../pass/figures.def"
		NUMBER(path->count - path->asked),
	};
	size_t k;

	put_values(b, s, row, sizeof(row) / sizeof(row[0]));
	for (k = 0; k < path->count; k++)
		put_depth(b, i, k, path->line[path->count - 1 - k],
			  path->frame[path->count - 1 - k]);
	if (!path->count)
		put_depth(b, i, 0, &calltree_no_stack, 0);
}

static void put_sites(struct base *b)
{
	static const char sql[] = "INSERT INTO site VALUES(?,?,?"
#define FIGURE(member, unit, add, from, json, help) ",?"
#include "../pass/figures.def"
				  ",?)";
	sqlite3_stmt *s = prepare(b, sql);
	size_t i;

	b->object = prepare(b, "INSERT INTO object VALUES(?,?,?)");
	b->frame = prepare(b, "INSERT INTO frame VALUES(?,?,?,?,?,?,?,?,?)");
	b->stack = prepare(b, "INSERT INTO stack VALUES(?,?,?)");
	for (i = 0; i < b->profile->count && !b->failed; i++)
		put_site(b, s, i);
	sqlite3_finalize(s);
	sqlite3_finalize(b->object);
	sqlite3_finalize(b->frame);
	sqlite3_finalize(b->stack);
}

/* ---- single blocks ---- */

static void put_event(struct base *b, const char *what, const struct flow *f,
		      const struct flow_block *at, bool more)
{
	sqlite3_stmt *s = b->event;
	const uint64_t start = at->block->start;

	if (!s)
		return;
	PUT_ROW(
	    b, s, NUMBER_IF(at->number, at->number), TEXT(what),
	    NUMBER(walk_since_ns(f->walk, at->ticks)), NUMBER(at->process), NUMBER(at->thread),
	    NUMBER(b->site[at->group] + 1), TEXT_IF(at->number, function_name(at->fn) ?: "?"),
	    NUMBER(at->block->addr), NUMBER(at->block->size), NUMBER(at->block->slack),
	    NUMBER(more ? at->block->size : -at->block->size),
	    NUMBER_IF(!more, walk_duration_ns(f->walk, at->ticks > start ? at->ticks - start : 0)));
}

static void began(void *self, struct flow *f, const struct flow_block *at)
{
	put_event(self, "began", f, at, true);
}

static void ended(void *self, struct flow *f, const struct flow_block *at)
{
	put_event(self, "ended", f, at, false);
}

static void left(void *self, struct flow *f, const struct flow_block *at, enum process_gone why)
{
	put_event(self, why == GONE_EXEC ? "exec" : "left", f, at, false);
}

/* ---- the file ---- */

static void put_profile(struct base *b)
{
	b->object_told = must_calloc(b->profile->stacks->objects + 1, sizeof(*b->object_told));
	put_run(b);
	put_processes(b);
	put_sites(b);
}

static void start(void *self, struct flow *f)
{
	struct base *b = self;

	put_profile(b);
	b->site = flow_sites(f->profile);
	check(b, sqlite3_exec(b->db, schema_of_events, NULL, NULL, NULL));
	b->event = prepare(b, "INSERT INTO event VALUES(?,?,?,?,?,?,?,?,?,?,?,?)");
}

static const struct flow_ops ops = { .threads = true }, ops_of_events = {
	.threads = true,
	.later = true,
	.start = start,
	.began = began,
	.ended = ended,
	.left = left,
};

static void open_base(struct base *b, const char *path)
{
	check(b, sqlite3_open_v2(path, &b->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
	if (!b->failed)
		check(b, sqlite3_exec(b->db, schema, NULL, NULL, NULL));
}

static void finish_base(struct base *b)
{
	if (!b->failed)
		check(b, sqlite3_exec(b->db, "CREATE INDEX stack_frame ON stack(frame); COMMIT;",
				      NULL, NULL, NULL));
}

int export_sqlite(struct export *x, struct error *err)
{
	const bool events = x->options->events;
	struct base b = { .profile = x->profile };
	struct flow f;
	int ret;

	open_base(&b, x->path);
	ret = flow_run(&f, x, events ? &ops_of_events : &ops, &b, err);
	if (!ret) {
		if (!events)
			put_profile(&b);
		sqlite3_finalize(b.event);
		put_threads(&b, &f.thread);
		finish_base(&b);
	}
	if (!ret && b.failed)
		ret = fail(err, -EIO, "cannot write '%s': %s", x->target, sqlite3_errstr(b.failed));
	sqlite3_close(b.db);
	flow_release(&f);
	interner_release(&b.frames);
	free(b.object_told);
	free(b.site);
	return ret;
}
