// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_more.c - exports that tell of times and of single blocks, of random
 * runs, held against the profile's sums by small readers of each format.
 */
#include <errno.h>
#include <json-c/json.h>
#include <pprof.pb-c.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "suites.h"
#include "export/exports.h"
#include "export/path_frames.h"
#include "export/compressed.h"
#include "export/flow.h"
#include "trace_build.h"

#define CODE	0x555500000000ull
#define STEPS	3000
#define THREADS 3 /* 1 and 2 of process 1, 3 of process 2 */
#define STACKS	6

/* ---- a random run ---- */

static struct build b;
static struct trace *t;
static struct profile p;
static struct profile_options options;
static struct export_options export_options;
static int fd = -1;
static bool coarse; /* many events at one time */

struct held {
	uint64_t addr;
	uint32_t thread;
};

static uint64_t random_of(uint64_t *seed, uint64_t n)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (*seed >> 33) % n;
}

static uint32_t process_of(uint32_t thread)
{
	return thread == 3 ? 2 : 1;
}

static void add_stacks(void)
{
	struct words records;
	uint64_t frame[3], first[3];

	for (uint32_t process = 1; process <= 2; process++) {
		words_start(&records, 1000);
		words_object(&records, 1000, CODE, CODE + 0x1000, 0x10000, "/nowhere/prog",
			     "an-id");
		for (uint32_t id = 1; id <= STACKS; id++) {
			frame[0] = CODE + 0x1100;
			frame[1] = CODE + 0x1200 + id / 2 * 16;
			frame[2] = CODE + 0x1800 + id * 16;
			/* The second is the first without its outermost frame. */
			words_define(&records, id == STACKS ? MPROF_STACK_TRUNCATED : 0, id, 0, 0,
				     id == 2 ? first + 1 : frame, id == 2 ? 2 : 3);
			if (id == 1)
				memcpy(first, frame, sizeof(first));
		}
		build_stacks(&b, process, 0, 1, &records);
		words_free(&records);
	}
}

static void add_end(uint32_t process, uint64_t ticks)
{
	struct mprof_fact fact = { .what = MPROF_FACT_END, .pid = 100 + (int)process };

	fact.ticks = ticks;
	fact.mono_ns = (int64_t)ticks;
	fact.real_ns = 1700000000000000000 + (int64_t)ticks - 1000;
	fact.peak_rss_bytes = 4096 * 291;
	build_fact(&b, process, &fact, "", 0);
}

static void add_start(uint32_t process)
{
	static const char strings[] = "exe=/nowhere/prog\0arg=prog\0arg=two words";
	struct mprof_fact fact = { .what = MPROF_FACT_START, .pid = 100 + (int)process };

	fact.ticks = 1000;
	fact.mono_ns = 1000;
	fact.real_ns = 1700000000000000000;
	build_fact(&b, process, &fact, strings, sizeof(strings));
}

/* One call of a thread. */
static void add_call(struct words *w, struct held *live, size_t *n, uint32_t thread,
		     uint64_t *ticks, uint64_t *seed)
{
	static uint64_t addr = 0x602000000010ull;
	uint64_t what = random_of(seed, 10), size = 8 + random_of(seed, 5) * 100;
	size_t i = *n ? random_of(seed, *n) : 0;

	*ticks += coarse ? !random_of(seed, 4) : 1 + random_of(seed, 50000);
	addr += 4096;
	words_stack(w, 0, (uint32_t)random_of(seed, STACKS + 1));
	if (what < 5 || !*n || process_of(live[i].thread) != process_of(thread)) {
		words_alloc(w, MPROF_TAG_MALLOC, *ticks, addr, size, size + 8);
		live[(*n)++] = (struct held){ addr, thread };
	} else if (what < 6) {
		words_give(w, MPROF_TAG_REALLOC_BEGIN, *ticks, live[i].addr);
		words_alloc(w, MPROF_TAG_REALLOC_END, *ticks += coarse ? 0 : 10, addr, size,
			    size + 8);
		live[i] = (struct held){ addr, thread };
	} else {
		i = what < 8 && process_of(live[*n - 1].thread) == process_of(thread) ? *n - 1 : i;
		words_give(w, MPROF_TAG_FREE, *ticks, live[i].addr);
		live[i] = live[--*n];
	}
}

/* Process 2 ends after 3 of 5 parts, with blocks that live. */
static void make_run(uint64_t seed, uint32_t threads)
{
	static struct held live[STEPS];
	struct words w[THREADS];
	uint64_t ticks = 2000;
	uint32_t thread;
	size_t n = 0;

	build_start(&b, MPROF_MAGIC_TRACE);
	add_start(1);
	if (threads == THREADS)
		add_start(2);
	add_stacks();
	for (thread = 0; thread < threads; thread++)
		words_start(&w[thread], 1000);
	for (int i = 0; i < STEPS; i++) {
		thread = (uint32_t)random_of(&seed, threads) + 1;
		if (i == STEPS * 3 / 5 && threads == THREADS)
			add_end(2, ticks);
		if (i >= STEPS * 3 / 5 && thread == 3)
			continue;
		add_call(&w[thread - 1], live, &n, thread, &ticks, &seed);
	}
	for (thread = 0; thread < threads; thread++) {
		if (w[thread].n)
			build_chunk(&b, process_of(thread + 1), thread + 1, 1, &w[thread]);
		words_free(&w[thread]);
	}
	build_header(&b)->processes = threads == THREADS ? 2 : 1;
	build_header(&b)->threads = threads;
}

static void open_run(void)
{
	struct error err;

	ck_assert_msg(!trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &err), "%s",
		      err.text);
	ck_assert_msg(!profile_make(&p, t, &options, &err), "%s", err.text);
}

static void setup(void)
{
	coarse = false;
	options = (struct profile_options){ .sites = { .filter = SITE_FILTER_ALL },
					    .sym = { .no_cache = true } };
	export_options = (struct export_options){ .min_percent = 1,
						  .stack_max_size = UINT64_MAX,
						  .detailed = 10 };
	export_options.profile = &options;
}

static void teardown(void)
{
	if (t) {
		profile_release(&p);
		trace_close(t);
	}
	t = NULL;
	if (fd >= 0)
		close(fd);
	fd = -1;
	build_free(&b);
}

/* What an exporter writes; the caller's. */
static char *written(const char *format, const char *target, size_t *bytes)
{
	struct error err = { "" };
	struct profile own = { .path = NULL };
	const struct exporter *e = export_find(format);
	struct export x = {
		.exporter = e,
		.options = &export_options,
		.trace = t,
		.profile = e->flags & EXPORT_WALKS ? &own : &p,
		.value = VALUE_PEAK,
		.target = target,
	};
	char *text = NULL;

	x.out = open_memstream(&text, bytes);
	trace_rewind(t);
	ck_assert_msg(!e->write(&x, &err), "%s", err.text);
	if (e->flags & EXPORT_WALKS)
		profile_release(&own);
	fclose(x.out);
	return text;
}

/* ---- compressed streams ---- */

static char *squeezed(enum compressed how, const char *data, size_t n, size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes), *s = compressed_open(out, how);

	ck_assert_ptr_nonnull(s);
	ck_assert_uint_eq(fwrite(data, 1, n, s), n);
	ck_assert_int_eq(compressed_close(s, out), 0);
	fclose(out);
	return text;
}

static size_t unzipped(const char *data, size_t n, char *to, size_t room)
{
	z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)n };

	z.next_out = (Bytef *)to;
	z.avail_out = (uInt)room;
	ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
	ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	return z.total_out;
}

START_TEST(compressed)
{
	static char data[300000], back[sizeof(data)];
	uint64_t seed = 7;
	size_t n, i;
	char *text;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (char)random_of(&seed, i < 1000 ? 4 : 250);
	text = squeezed(COMPRESSED_GZIP, data, sizeof(data), &n);
	ck_assert_uint_eq(unzipped(text, n, back, sizeof(back)), sizeof(data));
	ck_assert(!memcmp(data, back, sizeof(data)));
	free(text);
	memset(back, 0, sizeof(back));
	text = squeezed(COMPRESSED_ZSTD, data, sizeof(data), &n);
	ck_assert_uint_eq(ZSTD_decompress(back, sizeof(back), text, n), sizeof(data));
	ck_assert(!memcmp(data, back, sizeof(data)));
	free(text);
	text = squeezed(COMPRESSED_NOT, data, 100, &n);
	ck_assert_uint_eq(n, 100);
	free(text);
	ck_assert_int_eq(compressed_of("a.gz"), COMPRESSED_GZIP);
	ck_assert_int_eq(compressed_of("a.gz.zst"), COMPRESSED_ZSTD);
	ck_assert_int_eq(compressed_of("zst"), COMPRESSED_NOT);
	ck_assert_int_eq(compressed_of(NULL), COMPRESSED_NOT);
}
END_TEST

START_TEST(compressed_into_a_full_file)
{
	static const char data[200000];

	for (int how = COMPRESSED_GZIP; how <= COMPRESSED_ZSTD; how++) {
		FILE *out = fopen("/dev/full", "w"), *s;
		char noise[4096];
		uint64_t seed = 1;

		setvbuf(out, NULL, _IONBF, 0);
		s = compressed_open(out, (enum compressed)how);
		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = (char)random_of(&seed, 256);
		for (int i = 0; i < 100; i++)
			fwrite(noise, 1, sizeof(noise), s);
		fwrite(data, 1, sizeof(data), s);
		ck_assert_int_eq(compressed_close(s, out), -EIO);
		fclose(out);
	}
}
END_TEST

/* ---- places ---- */

START_TEST(places)
{
	static const struct sym_line outer = { .function = "outer" },
				     in = { .function = "in", .inlined = true },
				     deeper = { .function = "deeper", .inlined = true };
	/* 9 called itself: two places.  Of 5 only what was inlined there is known. */
	const struct sym_line *line[] = { &outer, &in, &outer, &in, &deeper, &outer, &in };
	uint32_t frame[] = { 7, 5, 9, 9, 9, 9, 9 };
	struct profile_path path = { .line = line, .frame = frame, .count = 7 };
	struct place place;
	size_t at = path.count;
	uint64_t key;

	ck_assert(place_next(&path, &at, &place));
	ck_assert_uint_eq(place.lines, 2);
	ck_assert_ptr_eq(place.line[0], &outer);
	ck_assert_ptr_eq(place.line[1], &in);
	key = place.key;
	ck_assert(place_next(&path, &at, &place));
	ck_assert_uint_eq(place.lines, 3);
	ck_assert_uint_eq(place.frame, 9);
	ck_assert(place.key != key); /* other lines of the same frame */
	ck_assert(place_next(&path, &at, &place));
	ck_assert_uint_eq(place.frame, 5);
	ck_assert_uint_eq(place.lines, 1);
	ck_assert(place_next(&path, &at, &place));
	ck_assert_uint_eq(place.frame, 7);
	ck_assert(!place_next(&path, &at, &place));
}
END_TEST

/* ---- blocks one by one ---- */

struct sums {
	uint64_t calls, bytes, freed, freed_bytes, left, left_bytes, at_peak, order, ticks;
	uint64_t peak_ticks, started;
	uint64_t began[4 * STACKS]; /* bytes by group */
};

static void count_began(void *self, struct flow *f, const struct flow_block *at)
{
	struct sums *s = self;

	s->calls++;
	s->bytes += at->block->size;
	s->order += at->ticks < s->ticks;
	s->ticks = at->ticks;
	s->began[at->group] += at->block->size;
	(void)f;
}

static void count_ended(void *self, struct flow *f, const struct flow_block *at)
{
	struct sums *s = self;

	(void)f;
	s->freed++;
	s->freed_bytes += at->block->size;
}

static void count_left(void *self, struct flow *f, const struct flow_block *at,
		       enum process_gone why)
{
	struct sums *s = self;

	(void)f;
	(void)why;
	s->left++;
	s->left_bytes += at->block->size;
}

static void count_most(void *self, struct flow *f, uint64_t ticks, uint64_t number)
{
	struct sums *s = self;

	(void)number;
	s->peak_ticks = ticks;
	s->at_peak = f->live.bytes;
}

static void count_start(void *self, struct flow *f)
{
	struct sums *s = self;

	ck_assert_uint_eq(s->calls, 0);
	ck_assert_uint_ge(f->profile->tree.processes, 1);
	s->started++;
}

static const struct flow_ops counting[] = { {
						.start = count_start,
						.began = count_began,
						.ended = count_ended,
						.left = count_left,
						.most = count_most,
					    },
					    {
						.later = true,
						.start = count_start,
						.began = count_began,
						.ended = count_ended,
						.left = count_left,
						.most = count_most,
					    } };

static void check_sums(const struct sums *s, const struct flow *f)
{
	uint32_t *site = flow_sites(f->profile);
	uint64_t bytes[4 * STACKS] = { 0 };
	size_t i;

	ck_assert_uint_eq(s->started, 1);
	ck_assert_uint_eq(s->calls, p.total.calls);
	ck_assert_uint_eq(s->bytes, p.total.bytes);
	ck_assert_uint_eq(s->freed, p.total.freed_calls);
	ck_assert_uint_eq(s->freed_bytes, p.total.freed_bytes);
	ck_assert_uint_eq(s->left, p.total.live_calls);
	ck_assert_uint_eq(s->left_bytes, p.total.live_bytes);
	ck_assert_uint_eq(s->at_peak, p.total.peak_bytes);
	ck_assert_uint_eq(s->peak_ticks, p.sites.peak.ticks);
	ck_assert_uint_eq(s->order, 0);
	ck_assert_uint_eq(f->live.bytes, 0);
	for (i = 1; i < 4 * STACKS && i < f->profile->sites.groups; i++)
		bytes[site[i]] += s->began[i];
	for (i = 0; i < p.count; i++)
		ck_assert_uint_eq(bytes[i], p.site[i].v.bytes);
	free(site);
}

static void check_flow(void)
{
	struct profile own;
	const struct export x = { .options = &export_options, .trace = t, .profile = &own };
	struct error err;
	struct flow f;

	for (int later = 0; later < 2; later++) {
		struct sums s = { .calls = 0 };

		trace_rewind(t);
		ck_assert_msg(!flow_run(&f, &x, &counting[later], &s, &err), "%s", err.text);
		check_sums(&s, &f);
		flow_release(&f);
		profile_release(&own);
	}
}

/* What happens at one time happens in the order of the file. */
START_TEST(flow_of_a_coarse_clock)
{
	coarse = true;
	make_run((uint64_t)_i + 40, 1);
	open_run();
	ck_assert_uint_eq(p.total.peak_bytes, p.sites.peak.bytes);
	check_flow();
}
END_TEST

/* Every filter gives the same blocks as the profile has. */
START_TEST(flow_of_filters)
{
	struct site_filter *filter = &options.sites.filter;

	make_run(11, THREADS);
	switch (_i) {
	case 1:
		filter->process = 2;
		break;
	case 2:
		filter->thread.number = 2;
		break;
	case 3:
		filter->size_min = 100;
		filter->size_max = 300;
		break;
	case 4:
		filter->from_ns = 10000000;
		filter->to_ns = 40000000;
		break;
	case 5:
		filter->functions = 1u << MPROF_FN_REALLOC;
		break;
	}
	open_run();
	ck_assert_uint_gt(p.total.calls, 0);
	check_flow();
}
END_TEST

START_TEST(flow_without_lifetimes)
{
	struct profile own;
	struct export x = { .options = &export_options, .profile = &own };
	struct error err;
	struct flow f;

	options.sites.filter.lifetime_min_ns = 5;
	make_run(3, 1);
	open_run();
	x.trace = t;
	ck_assert_int_eq(flow_run(&f, &x, counting, NULL, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "--lifetime"));
	flow_release(&f);
}
END_TEST

/* ---- heaptrack ---- */

/* heaptrack's own reading: what a `-` means depends on the event before it. */
struct reading {
	uint64_t calls, temporary, peak;
	int64_t leaked;
	uint64_t ms, rss;
	size_t times;
	size_t strings, ips, traces, infos;
};

static void read_heaptrack(char *text, struct reading *r)
{
	static uint64_t size[1 << 16];
	uint64_t a, c, last = 0;
	char *line, *rest;

	memset(r, 0, sizeof(*r));
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		a = c = 0;
		sscanf(line + 1, " %lx %lx", &a, &c);
		switch (*line) {
		case 's':
			r->strings++;
			ck_assert_uint_eq(strlen(strchr(line + 2, ' ') + 1), a);
			break;
		case 'i':
			r->ips++;
			ck_assert_uint_le(c, r->strings);
			break;
		case 't':
			r->traces++;
			ck_assert_uint_le(a, r->ips);
			ck_assert_uint_lt(c, r->traces);
			break;
		case 'a':
			ck_assert_uint_le(c, r->traces);
			size[r->infos++] = a;
			break;
		case '+':
			ck_assert_uint_lt(a, r->infos);
			r->calls++;
			r->leaked += (int64_t)size[a];
			if ((uint64_t)r->leaked > r->peak)
				r->peak = (uint64_t)r->leaked;
			last = a;
			break;
		case '-':
			ck_assert_uint_lt(a, r->infos);
			r->leaked -= (int64_t)size[a];
			r->temporary += last == a;
			last = 0;
			break;
		case 'c':
			ck_assert_uint_ge(a, r->ms);
			r->ms = a;
			r->times++;
			break;
		case 'R':
			r->rss = a > r->rss ? a : r->rss;
			break;
		}
	}
}

START_TEST(heaptrack)
{
	struct reading r;
	size_t n;
	char *text;

	/* One thread: temporary means the same; two processes: leaks of one that ended. */
	coarse = _i % 2;
	make_run((uint64_t)_i + 20, _i < 4 ? 1 : THREADS);
	open_run();
	text = written("heaptrack", NULL, &n);
	read_heaptrack(text, &r);
	free(text);
	ck_assert_uint_eq(r.calls, p.total.calls);
	ck_assert_uint_eq(r.peak, p.sites.peak.bytes);
	ck_assert_int_eq(r.leaked, (int64_t)p.total.live_bytes);
	if (_i < 4)
		ck_assert_uint_eq(r.temporary, p.total.temporary_calls);
	else
		ck_assert_uint_le(r.temporary, p.total.temporary_calls);
	ck_assert_uint_gt(r.temporary, 0);
	ck_assert_uint_eq(r.rss, _i < 4 ? 0 : 291); /* of the process whose end is known */
	ck_assert_uint_eq(r.ms, (uint64_t)walk_ns(&p.walk, p.walk.last_ticks) / 1000000);
	/* One each 10 ms, as there are calls in all of them, and one at the end. */
	ck_assert_uint_eq(r.times, r.ms / 10 + 1);
}
END_TEST

/* ---- pprof ---- */

START_TEST(pprof)
{
	static char back[1 << 20];
	int64_t sum[4] = { 0 };
	Pprof__Profile *m;
	size_t n, i, k;
	char *text;

	make_run(5, THREADS);
	open_run();
	text = written("pprof", NULL, &n);
	n = unzipped(text, n, back, sizeof(back));
	free(text);
	m = pprof__profile__unpack(NULL, n, (const uint8_t *)back);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->n_sample, p.count);
	ck_assert_uint_eq(m->n_sample_type, 4);
	ck_assert_str_eq(m->string_table[0], "");
	ck_assert_str_eq(m->string_table[m->sample_type[2]->type], "inuse_objects");
	ck_assert_str_eq(m->string_table[m->default_sample_type], "inuse_space");
	ck_assert_int_eq(m->period, 1);
	ck_assert_uint_eq(m->n_mapping, 1);
	ck_assert_str_eq(m->string_table[m->mapping[0]->build_id], "616e2d6964");
	for (i = 0; i < m->n_sample; i++) {
		for (k = 0; k < 4; k++)
			sum[k] += m->sample[i]->value[k];
		ck_assert_uint_ge(m->sample[i]->n_location_id, 1);
		for (k = 0; k < m->sample[i]->n_location_id; k++)
			ck_assert_uint_le(m->sample[i]->location_id[k], m->n_location);
	}
	for (i = 0; i < m->n_location; i++) {
		ck_assert_uint_eq(m->location[i]->id, i + 1);
		ck_assert_uint_ge(m->location[i]->n_line, 1);
		ck_assert_uint_le(m->location[i]->line[0]->function_id, m->n_function);
	}
	ck_assert_int_eq(sum[0], (int64_t)p.total.calls);
	ck_assert_int_eq(sum[1], (int64_t)p.total.bytes);
	ck_assert_int_eq(sum[2], (int64_t)p.total.peak_calls);
	ck_assert_int_eq(sum[3], (int64_t)p.total.peak_bytes);
	pprof__profile__free_unpacked(m, NULL);
}
END_TEST

/* ---- massif and chrome ---- */

/* Reads a node and its descendants; its children add up to it.  Returns its bytes. */
static uint64_t read_node(char **rest, size_t depth, size_t *outermost)
{
	char *line = strtok_r(NULL, "\n", rest);
	uint64_t n, bytes, below = 0;
	int at = 0;

	ck_assert_ptr_nonnull(line);
	ck_assert_uint_eq(strspn(line, " "), depth);
	ck_assert_int_eq(sscanf(line, " n%lu: %lu %n", &n, &bytes, &at), 2);
	*outermost += !strcmp(line + at, "0x0: (no caller)");
	for (uint64_t i = 0; i < n; i++)
		below += read_node(rest, depth + 1, outermost);
	ck_assert(!n || below == bytes);
	return bytes;
}

static uint64_t later(uint64_t before, uint64_t now)
{
	ck_assert_uint_ge(now, before);
	return now;
}

START_TEST(massif)
{
	uint64_t total = 0, peak = 0, most = 0, time = 0, now;
	size_t n, outermost = 0;
	char *text, *line, *rest;

	make_run(6, THREADS);
	open_run();
	export_options.time = (enum export_time)_i;
	export_options.points = 37;
	text = written("massif", NULL, &n);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (sscanf(line, "mem_heap_B=%lu", &total) == 1)
			most = total > most ? total : most;
		else if (sscanf(line, "time=%lu", &now) == 1)
			time = later(time, now);
		peak += !strcmp(line, "heap_tree=peak") ? total : 0;
		if (!strcmp(line, "heap_tree=peak") || !strcmp(line, "heap_tree=detailed"))
			ck_assert_uint_eq(read_node(&rest, 0, &outermost), total);
	}
	ck_assert_uint_gt(outermost, 0);
	free(text);
	ck_assert_uint_eq(peak, p.sites.peak.bytes);
	ck_assert_uint_eq(most, peak);
	if (_i == EXPORT_TIME_BYTES)
		ck_assert_uint_eq(time, p.total.bytes + p.total.freed_bytes);
	if (_i == EXPORT_TIME_CALLS)
		ck_assert_uint_eq(time, p.walk.events);
}
END_TEST

/* The greatest value of a counter of a process. */
static uint64_t greatest(json_object *events, const char *name, int pid, uint64_t *last)
{
	uint64_t most = 0;
	json_object *e, *v;

	for (size_t i = 0; i < json_object_array_length(events); i++) {
		e = json_object_array_get_idx(events, i);
		if (strcmp(json_object_get_string(json_object_object_get(e, "name")), name) ||
		    json_object_get_int(json_object_object_get(e, "pid")) != pid)
			continue;
		v = json_object_object_get(json_object_object_get(e, "args"), "bytes");
		*last = json_object_get_uint64(v);
		most = *last > most ? *last : most;
	}
	return most;
}

START_TEST(chrome)
{
	json_object *trace, *events;
	uint64_t last = 1;
	size_t n;
	char *text;

	make_run(8, THREADS);
	open_run();
	export_options.points = 50;
	text = written("chrome", NULL, &n);
	trace = json_tokener_parse(text);
	ck_assert_ptr_nonnull(trace);
	events = json_object_object_get(trace, "traceEvents");
	ck_assert_uint_eq(greatest(events, "live bytes", 4194305, &last), p.sites.peak.bytes);
	ck_assert_uint_eq(last, 0);
	ck_assert_uint_gt(greatest(events, "live bytes", 101, &last), 0);
	ck_assert_uint_gt(greatest(events, "live bytes", 102, &last), 0);
	ck_assert_uint_eq(last, 0);
	ck_assert_uint_lt(json_object_array_length(events), 3 * 2 * 3 * 52);
	json_object_put(trace);
	free(text);
}
END_TEST

Suite *export_more_suite(void)
{
	Suite *s = suite_create("export_more");
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, compressed);
	tcase_add_test(c, compressed_into_a_full_file);
	tcase_add_test(c, places);
	tcase_add_loop_test(c, flow_of_filters, 0, 6);
	tcase_add_loop_test(c, flow_of_a_coarse_clock, 0, 8);
	tcase_add_test(c, flow_without_lifetimes);
	tcase_add_loop_test(c, heaptrack, 0, 8);
	tcase_add_test(c, pprof);
	tcase_add_loop_test(c, massif, 0, 3);
	tcase_add_test(c, chrome);
	suite_add_tcase(s, c);
	return s;
}
