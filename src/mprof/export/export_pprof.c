// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_pprof.c - profile.proto for go tool pprof, Pyroscope and Parca: one sample per site with
 * calls, bytes, and live bytes at one time.
 *
 * A file is a sequence of Profile messages, each with new items only: strings, locations and the
 * like are written once, before the first sample that needs them. So memory is needed only for
 * tables of the written items, and a file can end after any sample: --split begins the next one
 * near the limits of Pyroscope. Each file is complete in itself; their values add up to the totals.
 */
#include "exports.h"

#include <errno.h>
#include <pprof.pb-c.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/interner.h"
#include "../print/json.h"
#include "path_frames.h"
#include "compressed.h"
#include "../util/alloc.h"
#include "../util/format.h"

/* The default limits of Pyroscope: bytes before compression, and samples. */
#define PART_BYTES   (4u << 20)
#define PART_SAMPLES 16000u

enum { HAS_FUNCTIONS = 1, HAS_FILES = 2, HAS_LINES = 4, HAS_INLINED = 8 };

struct part {
	struct export *x;
	FILE *out;		   /* compressed */
	struct interner strings;   /* ids are indices of string_table */
	struct interner mappings;  /* of object and segment */
	struct interner functions; /* of ids of strings: name, linkage name, file */
	struct interner places;	   /* of struct place.key */
	const uint8_t *has;	   /* by object */
	unsigned char *pending;	   /* messages of the current sample */
	size_t used, room;
	uint64_t bytes, samples; /* written so far */
	uint64_t *location;	 /* of the current sample */
	size_t location_room;
};

/* ---- messages ---- */

static void put(struct part *p, const Pprof__Profile *m)
{
	size_t n = pprof__profile__get_packed_size(m);

	GROW(p->pending, p->used + n, p->room);
	p->used += pprof__profile__pack(m, p->pending + p->used);
}

static int64_t string_of(struct part *p, const char *s)
{
	size_t known = p->strings.count;
	Pprof__Profile m = PPROF__PROFILE__INIT;
	char *text, *made;
	uint32_t id;

	if (!*s)
		return 0;
	s = utf8_clean(s, &made); /* as protobuf requires */
	id = interner_id(&p->strings, s, strlen(s));
	if (p->strings.count > known) {
		text = (char *)s;
		m.n_string_table = 1;
		m.string_table = &text;
		put(p, &m);
	}
	free(made);
	return id;
}

/* ---- what samples refer to ---- */

/* Returns the segment that contains the address, or NULL. */
static const struct stack_segment *segment_of(const struct stack_object *o, uint64_t address)
{
	size_t i;

	for (i = 0; i < o->segments; i++)
		if (address - o->segment[i].address < o->segment[i].bytes)
			return &o->segment[i];
	return NULL;
}

static void put_mapping(struct part *p, uint32_t object, const struct stack_segment *s, uint64_t id)
{
	const struct stack_object *o = &p->x->profile->stacks->object[object];
	const uint64_t page = p->x->profile->header->page_size;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT, *pointer = &mapping;
	Pprof__Profile m = PPROF__PROFILE__INIT;
	char build_id[STACK_BUILD_ID];

	mapping.id = id;
	if (s) { /* as the kernel maps it: whole pages */
		mapping.memory_start = (s->address + o->bias) & ~(page - 1);
		mapping.memory_limit = (s->address + o->bias + s->bytes + page - 1) & ~(page - 1);
		mapping.file_offset = s->offset & ~(page - 1);
	}
	mapping.filename = string_of(p, o->path);
	mapping.build_id = string_of(p, stack_build_id(o, build_id));
	mapping.has_functions = p->has[object] & HAS_FUNCTIONS;
	mapping.has_filenames = p->has[object] & HAS_FILES;
	mapping.has_line_numbers = p->has[object] & HAS_LINES;
	mapping.has_inline_frames = p->has[object] & HAS_INLINED;
	m.n_mapping = 1;
	m.mapping = &pointer;
	put(p, &m);
}

static uint64_t mapping_of(struct part *p, uint32_t object, const struct stack_segment *s)
{
	const struct stack_object *o = &p->x->profile->stacks->object[object];
	uint64_t key[2] = { object, s ? (uint64_t)(s - o->segment) + 1 : 0 };
	size_t known = p->mappings.count;
	uint32_t id;

	if (!object)
		return 0;
	id = interner_id(&p->mappings, key, sizeof(key));
	if (p->mappings.count > known)
		put_mapping(p, object, s, id);
	return id;
}

/* Puts the program first, because readers take the first mapping for it. */
static void put_program(struct part *p)
{
	const struct profile *profile = p->x->profile;
	const struct stacks *stacks = profile->stacks;
	const struct tree *t = &profile->tree;
	const char *exe = t->processes && t->process[0].images ? t->process[0].image[0]->exe : "";
	const struct stack_object *o;
	size_t i, k;

	for (i = 1; *exe && stacks && i < stacks->objects; i++) {
		o = &stacks->object[i];
		for (k = 0; k < o->segments && !(o->segment[k].flags & 1); k++)
			;
		if (k < o->segments && !strcmp(o->path, exe)) {
			mapping_of(p, (uint32_t)i, &o->segment[k]);
			return;
		}
	}
}

static uint64_t function_of(struct part *p, const char *name, const char *raw, const char *file)
{
	int64_t key[3] = { string_of(p, name), string_of(p, raw), string_of(p, file) };
	Pprof__Function function = PPROF__FUNCTION__INIT, *pointer = &function;
	Pprof__Profile m = PPROF__PROFILE__INIT;
	size_t known = p->functions.count;
	uint32_t id = interner_id(&p->functions, key, sizeof(key));

	if (p->functions.count > known) {
		function.id = id;
		function.name = key[0];
		function.system_name = key[1];
		function.filename = key[2];
		m.n_function = 1;
		m.function = &pointer;
		put(p, &m);
	}
	return id;
}

static void put_location(struct part *p, Pprof__Location *location)
{
	Pprof__Profile m = PPROF__PROFILE__INIT;

	m.n_location = 1;
	m.location = &location;
	put(p, &m);
}

static void put_place(struct part *p, const struct place *place, uint64_t id)
{
	const struct stack_frame *f = &p->x->profile->stacks->frame[place->frame];
	const struct stack_object *o = &p->x->profile->stacks->object[f->object];
	Pprof__Line *line = must_calloc(place->lines, sizeof(*line));
	Pprof__Line **pointer = must_calloc(place->lines, sizeof(Pprof__Line *));
	Pprof__Location location = PPROF__LOCATION__INIT;
	const struct sym_line *l;
	uint32_t i;

	for (i = 0; i < place->lines; i++) {
		l = place->line[place->lines - 1 - i];
		line[i] = (Pprof__Line)PPROF__LINE__INIT;
		line[i].function_id = function_of(p, l->function, l->raw, l->file);
		line[i].line = l->line;
		pointer[i] = &line[i];
	}
	location.id = id;
	location.address = place_address(f) + (f->object ? o->bias : 0);
	location.mapping_id = mapping_of(p, f->object, segment_of(o, place_address(f)));
	location.n_line = place->lines;
	location.line = pointer;
	put_location(p, &location);
	free(line);
	free(pointer);
}

static uint64_t location_of(struct part *p, const struct place *place)
{
	size_t known = p->places.count;
	uint32_t id = interner_id(&p->places, &place->key, sizeof(place->key));

	if (p->places.count > known)
		put_place(p, place, id);
	return id;
}

/* Adds a location that is not a frame. */
static uint64_t location_named(struct part *p, const char *name)
{
	Pprof__Location location = PPROF__LOCATION__INIT;
	Pprof__Line line = PPROF__LINE__INIT, *pointer = &line;
	size_t known = p->places.count;
	uint32_t id = interner_id(&p->places, name, strlen(name));

	if (p->places.count > known) {
		line.function_id = function_of(p, name, "", "");
		location.id = id;
		location.n_line = 1;
		location.line = &pointer;
		put_location(p, &location);
	}
	return id;
}

/* ---- samples ---- */

static void add_location(struct part *p, size_t *n, uint64_t id)
{
	GROW(p->location, *n + 1, p->location_room);
	p->location[(*n)++] = id;
}

static size_t locations_of(struct part *p, const struct profile_path *path)
{
	struct place place;
	size_t at = path->count, n = 0;

	while (place_next(path, &at, &place))
		add_location(p, &n, location_of(p, &place));
	if (path->truncated)
		add_location(p, &n, location_named(p, calltree_cut.function));
	if (!n)
		add_location(p, &n, location_named(p, calltree_no_stack.function));
	return n;
}

static void put_sample(struct part *p, size_t i)
{
	struct profile *profile = p->x->profile;
	const struct profile_path *path = profile_path_once(profile, profile->site[i].key);
	int64_t value[] = {
		(int64_t)profile->site[i].v.calls,
		(int64_t)profile->site[i].v.bytes,
		(int64_t)profile_value_blocks(profile, i, p->x->value),
		(int64_t)profile_value(profile, i, p->x->value),
	};
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *pointer = &sample;
	Pprof__Profile m = PPROF__PROFILE__INIT;

	sample.n_location_id = locations_of(p, path);
	sample.location_id = p->location;
	sample.n_value = 4;
	sample.value = value;
	m.n_sample = 1;
	m.sample = &pointer;
	put(p, &m);
}

/* ---- files ---- */

static Pprof__ValueType type_of(struct part *p, const char *type, const char *unit)
{
	Pprof__ValueType t = PPROF__VALUE_TYPE__INIT;

	t.type = string_of(p, type);
	t.unit = string_of(p, unit);
	return t;
}

static void put_head(struct part *p)
{
	static char none[] = "";
	static const char *const types[4][2] = { { "alloc_objects", "count" },
						 { "alloc_space", "bytes" },
						 { "inuse_objects", "count" },
						 { "inuse_space", "bytes" } };
	Pprof__ValueType type[4], *pointer[4], period;
	Pprof__Profile m = PPROF__PROFILE__INIT;
	char *text = none, said[640];
	struct profile *profile = p->x->profile;
	const bool sampled = profile->sites.totals.estimated;
	const bool by_calls = sampled && profile->sites.totals.unit == MPROF_SAMPLE_CALLS;
	int64_t comment;
	size_t i;

	m.n_string_table = 1;
	m.string_table = &text;
	put(p, &m);
	m = (Pprof__Profile)PPROF__PROFILE__INIT;
	for (i = 0; i < 4; i++) {
		type[i] = type_of(p, types[i][0], types[i][1]);
		pointer[i] = &type[i];
	}
	period = by_calls ? type_of(p, "calls", "count") : type_of(p, "space", "bytes");
	snprintf(said, sizeof(said), "mprof %s: %s; inuse is %s", MPROF_VERSION,
		 export_calls(profile).s, profile_value_name(p->x->value));
	comment = string_of(p, said);
	m.n_sample_type = 4;
	m.sample_type = pointer;
	m.period_type = &period;
	m.period = sampled ? (int64_t)profile->sites.totals.period : 1;
	m.default_sample_type = string_of(p, "inuse_space");
	m.time_nanos = profile->header->start_real_ns;
	m.duration_nanos = walk_ns(&profile->walk, profile->walk.last_ticks);
	m.n_comment = 1;
	m.comment = &comment;
	put(p, &m);
	put_program(p);
}

static void part_begin(struct part *p, struct export *x, FILE *out, const uint8_t *has)
{
	memset(p, 0, sizeof(*p));
	p->x = x;
	p->has = has;
	p->out = compressed_open(out, COMPRESSED_GZIP);
	put_head(p);
}

static void part_write(struct part *p)
{
	fwrite(p->pending, 1, p->used, p->out);
	p->bytes += p->used;
	p->used = 0;
}

static int part_end(struct part *p, FILE *out)
{
	int ret = compressed_close(p->out, out);

	interner_release(&p->strings);
	interner_release(&p->mappings);
	interner_release(&p->functions);
	interner_release(&p->places);
	free(p->pending);
	free(p->location);
	return ret;
}

static bool part_is_full(const struct part *p)
{
	return p->x->options->split && p->samples &&
	       (p->samples >= PART_SAMPLES || p->bytes + p->used > PART_BYTES);
}

/* Writes samples from *i on; samples that do not fit any more are left for the next part. */
static int write_part(struct export *x, FILE *out, const uint8_t *has, size_t *i, struct error *err)
{
	struct part p;

	part_begin(&p, x, out, has);
	while (*i < x->profile->count) {
		put_sample(&p, *i);
		if (part_is_full(&p))
			break;
		part_write(&p);
		p.samples++;
		(*i)++;
	}
	if (!p.samples) /* without any site, write only the head */
		part_write(&p);
	if (part_end(&p, out) < 0)
		return fail(err, -EIO, "cannot write '%s' completely",
			    x->target ? x->target : "the standard output");
	return 0;
}

/* Writes the n-th file, from 2: NAME.n.EXTENSIONS. */
static int write_next(struct export *x, unsigned n, const uint8_t *has, size_t *i,
		      struct error *err)
{
	const char *base = basename(x->target), *dot;
	struct export_file file;
	char *name;
	int ret;

	dot = strchr(*base ? base + 1 : base, '.');
	dot = dot ? dot : base + strlen(base);
	name = must_printf("%.*s.%u%s", (int)(dot - x->target), x->target, n, dot);
	ret = export_file_open(&file, name, err);
	free(name);
	if (ret < 0)
		return ret;
	ret = write_part(x, file.out, has, i, err);
	return export_file_done(&file, ret, err);
}

/* Finds which names and lines are known for each object, from the frames of all sites. */
static uint8_t *look_at_objects(struct profile *p)
{
	uint8_t *has = must_calloc(p->stacks ? p->stacks->objects + 1 : 1, 1);
	const struct profile_path *path;
	const struct sym_line *l;
	size_t i, k;

	for (i = 0; i < p->count; i++) {
		path = profile_path_once(p, p->site[i].key);
		for (k = 0; k < path->count; k++) {
			l = path->line[k];
			has[p->stacks->frame[path->frame[k]].object] |=
			    (l->known ? HAS_FUNCTIONS : 0) | (*l->file ? HAS_FILES : 0) |
			    (l->line ? HAS_LINES : 0) | (l->inlined ? HAS_INLINED : 0);
		}
	}
	return has;
}

static int check(struct export *x, struct error *err)
{
	const unsigned moments = profile_values_of(ROLE_MOMENT);

	if (x->options->values & (x->options->values - 1) || x->options->values & ~moments)
		return fail(
		    err, -EINVAL,
		    "pprof's 'inuse' is one point in time: --value peak, live, leaked, rss or"
		    " local; calls and total are always there");
	if (x->options->split && !x->target)
		return fail(err, -EINVAL, "--split writes several files; use -o FILE");
	return 0;
}

int export_pprof(struct export *x, struct error *err)
{
	int ret = check(x, err);
	unsigned n = 1;
	uint8_t *has;
	size_t i = 0;

	if (ret < 0)
		return ret;
	if (!x->options->values)
		x->value = VALUE_PEAK;
	has = look_at_objects(x->profile);
	ret = write_part(x, x->out, has, &i, err);
	while (!ret && i < x->profile->count)
		ret = write_next(x, ++n, has, &i, err);
	free(has);
	return ret;
}
