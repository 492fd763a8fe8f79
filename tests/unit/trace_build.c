// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_build.c - trace files made by tests, byte by byte, without the library. */
#include "trace_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/trace.h"

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

void words_start(struct words *w, uint64_t first_ticks)
{
	*w = (struct words){ .first_ticks = first_ticks, .ticks = first_ticks };
}

void words_free(struct words *w)
{
	free(w->word);
	memset(w, 0, sizeof(*w));
}

void words_put(struct words *w, uint64_t word)
{
	if (w->n == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		w->word = must(reallocarray(w->word, w->room, sizeof(*w->word)));
	}
	w->word[w->n++] = word;
}

/* Moves the time to that of the next event and returns the dt that is left to tell. */
static uint64_t words_advance(struct words *w, uint64_t ticks)
{
	uint64_t dt = ticks - w->ticks;

	if (dt > MPROF_DT_MAX) {
		words_put(w, mprof_word_time(ticks));
		dt = 0;
	}
	w->ticks = ticks;
	return dt;
}

static unsigned fn_of_tag(unsigned tag)
{
	static const uint8_t fn[16] = {
		[MPROF_TAG_MALLOC] = MPROF_FN_MALLOC,
		[MPROF_TAG_CALLOC] = MPROF_FN_CALLOC,
		[MPROF_TAG_REALLOC_END] = MPROF_FN_REALLOC,
		[MPROF_TAG_NEW] = MPROF_FN_NEW,
		[MPROF_TAG_FREE] = MPROF_FN_FREE,
		[MPROF_TAG_DELETE] = MPROF_FN_DELETE,
		[MPROF_TAG_REALLOC_BEGIN] = MPROF_FN_REALLOC,
	};

	return fn[tag];
}

void words_alloc(struct words *w, unsigned tag, uint64_t ticks, uint64_t addr, uint64_t size,
		 uint64_t usable)
{
	uint64_t dt = words_advance(w, ticks), delta = addr - w->addr;

	if (mprof_alloc_is_short(dt, size, usable - size, delta) && addr) {
		words_put(w, mprof_word_alloc(tag, dt, size, usable - size, delta));
		w->addr = addr;
	} else {
		uint64_t v[4] = { addr, size, usable, tag == MPROF_TAG_CALLOC };

		w->ticks -= dt;
		words_long(w, fn_of_tag(tag), ticks, 0, 0, v);
	}
}

void words_give(struct words *w, unsigned tag, uint64_t ticks, uint64_t addr)
{
	uint64_t dt = words_advance(w, ticks);

	if (mprof_free_is_short(dt, addr)) {
		words_put(w, mprof_word_free(tag, dt, addr));
	} else {
		uint64_t v[4] = { addr };

		w->ticks -= dt;
		words_long(w, fn_of_tag(tag), ticks,
			   tag == MPROF_TAG_REALLOC_BEGIN ? MPROF_LONG_BEGIN : 0, 0, v);
	}
}

static int returns_block(unsigned fn)
{
	static const uint8_t class[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
	};

	return class[fn] == MPROF_CLASS_ALLOC || class[fn] == MPROF_CLASS_REALLOC;
}

void words_long(struct words *w, unsigned fn, uint64_t ticks, unsigned flags, unsigned error,
		const uint64_t v[4])
{
	uint64_t dt = words_advance(w, ticks);

	words_put(w, mprof_word_long(fn, dt, flags, error));
	for (int i = 0; i < 4; i++)
		words_put(w, v[i]);
	if (v[0] && !(flags & MPROF_LONG_BEGIN) && returns_block(fn))
		w->addr = v[0];
}

void words_control(struct words *w, unsigned what, uint64_t ticks, uint64_t value)
{
	words_put(w, mprof_word_control(what, words_advance(w, ticks), value));
}

void words_stack(struct words *w, unsigned flags, uint32_t id)
{
	words_put(w, mprof_word_stack(flags, id));
}

void words_define(struct words *w, unsigned flags, uint32_t id, uint32_t joined, uint32_t depth,
		  const uint64_t *frame, uint32_t n)
{
	words_put(w, MPROF_RECORD_STACK | flags << 4 | (uint64_t)n << 8 | (uint64_t)id << 32);
	words_put(w, joined | (uint64_t)depth << 32);
	for (uint32_t i = 0; i < n; i++)
		words_put(w, frame[i]);
}

static void put_text(struct words *w, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t word = 0;

		memcpy(&word, text + i, bytes - i < 8 ? bytes - i : 8);
		words_put(w, word);
	}
}

void words_object(struct words *w, uint64_t ticks, uint64_t bias, uint64_t first, uint64_t bytes,
		  const char *path, const char *build_id)
{
	uint64_t id = strlen(build_id), name = strlen(path);

	words_put(w, MPROF_RECORD_OBJECT |
			 (MPROF_OBJECT_WORDS + 3 + (id + 7) / 8 + (name + 7) / 8) << 4 |
			 name << 32);
	words_put(w, ticks);
	words_put(w, bias);
	words_put(w, first);
	words_put(w, first + bytes);
	words_put(w, 1 | id << 32);
	words_put(w, first);
	words_put(w, bytes);
	words_put(w, 5ull << 60);
	put_text(w, build_id, id);
	put_text(w, path, name);
}

void words_gone(struct words *w, uint32_t number, uint64_t ticks)
{
	words_put(w, MPROF_RECORD_GONE | (uint64_t)number << 32);
	words_put(w, ticks);
}

void words_pairs(struct words *w, uint64_t ticks, int n)
{
	words_start(w, ticks);
	for (int i = 0; i < n; i++) {
		uint64_t at = ticks + 20 * (uint64_t)i, addr = WORDS_BASE + 64 * (uint64_t)i;

		words_alloc(w, MPROF_TAG_MALLOC, at + 3, addr, 30 + (uint64_t)i, 56);
		if (i < n - 1)
			words_give(w, MPROF_TAG_FREE, at + 9, addr);
	}
}

static void *build_room(struct build *b, size_t bytes)
{
	if (b->n + bytes > b->room) {
		b->room = 2 * (b->n + bytes);
		b->bytes = must(realloc(b->bytes, b->room));
	}
	memset(b->bytes + b->n, 0, bytes);
	b->n += bytes;
	return b->bytes + b->n - bytes;
}

void build_start(struct build *b, const char *magic)
{
	struct mprof_file_header *h;

	*b = (struct build){ 0 };
	h = build_room(b, MPROF_HEADER_SIZE);
	memcpy(h->magic, magic, MPROF_MAGIC_SIZE);
	h->version = MPROF_FORMAT_VERSION;
	h->header_size = MPROF_HEADER_SIZE;
	for (unsigned i = 0; i < sizeof(h->run_id); i++)
		h->run_id[i] = (uint8_t)(0xa0 + i);
	h->page_size = 4096;
	h->clock = MPROF_CLOCK_MONOTONIC;
	h->clock_hz = 1000000000;
	h->start_ticks = 1000;
	h->start_mono_ns = 1000;
	h->start_real_ns = 1700000000000000000;
	h->tail = MPROF_HEADER_SIZE;
}

void build_free(struct build *b)
{
	free(b->bytes);
	memset(b, 0, sizeof(*b));
}

void build_start_file(struct build *b)
{
	build_start(b, MPROF_MAGIC_TRACE);
	strcpy(b->directory, "/tmp/mprof-unit-XXXXXX");
	must(mkdtemp(b->directory));
	snprintf(b->path, sizeof(b->path), "%s/t.log", b->directory);
}

void build_end_file(struct build *b)
{
	unlink(b->path);
	if (rmdir(b->directory))
		abort();
	build_free(b);
}

void build_save(const struct build *b)
{
	FILE *f = must(fopen(b->path, "w"));

	if (fwrite(b->bytes, 1, b->n, f) != b->n || fclose(f))
		abort();
}

struct trace *build_reopen(const struct build *b)
{
	struct error err;
	struct trace *t;

	if (trace_open(&t, b->path, MPROF_MAGIC_TRACE, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return t;
}

struct mprof_file_header *build_header(struct build *b)
{
	return (struct mprof_file_header *)b->bytes;
}

struct mprof_extent *build_extent_at(struct build *b, size_t offset)
{
	return (struct mprof_extent *)(b->bytes + offset);
}

void build_seal(struct build *b, size_t offset)
{
	struct mprof_extent *x = build_extent_at(b, offset);

	x->check = mprof_checksum(x + 1, x->used);
}

size_t build_extent(struct build *b, unsigned kind, uint32_t process, uint32_t thread,
		    const void *payload, size_t used, size_t room)
{
	size_t offset = b->n, size = sizeof(struct mprof_extent) + (room > used ? room : used);
	struct mprof_extent *x;

	size = (size + MPROF_EXTENT_ALIGN - 1) / MPROF_EXTENT_ALIGN * MPROF_EXTENT_ALIGN;
	x = build_room(b, size);
	*x = (struct mprof_extent){
		.magic = MPROF_EXTENT_MAGIC,
		.kind = (uint16_t)kind,
		.offset = offset,
		.size = (uint32_t)size,
		.used = (uint32_t)used,
		.process = process,
		.thread = thread,
	};
	memcpy(&x->run, build_header(b)->run_id, sizeof(x->run));
	if (used)
		memcpy(x + 1, payload, used);
	if (kind != MPROF_EXTENT_COUNTS && kind != MPROF_EXTENT_SLOT)
		build_seal(b, offset);
	build_header(b)->tail = b->n;
	return offset;
}

static size_t build_words(struct build *b, unsigned kind, uint32_t process, uint32_t thread,
			  uint64_t seq, const struct words *w, size_t room)
{
	size_t offset = build_extent(b, kind, process, thread, w->word, 8 * w->n, room);
	struct mprof_extent *x = build_extent_at(b, offset);

	x->seq = seq;
	x->first_ticks = w->first_ticks;
	x->last_ticks = w->ticks;
	return offset;
}

size_t build_chunk(struct build *b, uint32_t process, uint32_t thread, uint64_t seq,
		   const struct words *w)
{
	return build_words(b, MPROF_EXTENT_EVENTS, process, thread, seq, w, 0);
}

size_t build_slot(struct build *b, uint32_t process, uint32_t thread, uint64_t seq,
		  const struct words *w, size_t room)
{
	size_t offset = build_words(b, MPROF_EXTENT_SLOT, process, thread, seq, w, room);

	build_extent_at(b, offset)->used = 0;
	return offset;
}

size_t build_stacks(struct build *b, uint32_t process, uint16_t image, uint64_t seq,
		    const struct words *w)
{
	size_t offset = build_words(b, MPROF_EXTENT_STACKS, process, 0, seq, w, 0);

	build_extent_at(b, offset)->image = image;
	return offset;
}

size_t build_stacks_slot(struct build *b, uint32_t process, uint16_t image, uint64_t seq,
			 const struct words *w, size_t room)
{
	size_t offset = build_words(b, MPROF_EXTENT_STACKS_SLOT, process, 0, seq, w, room);

	build_extent_at(b, offset)->image = image;
	build_extent_at(b, offset)->used = build_extent_at(b, offset)->check = 0;
	return offset;
}

size_t build_fact(struct build *b, uint32_t process, const struct mprof_fact *fact,
		  const char *strings, size_t strings_bytes)
{
	unsigned char *payload = must(malloc(sizeof(*fact) + strings_bytes));
	size_t offset;

	memcpy(payload, fact, sizeof(*fact));
	if (strings_bytes)
		memcpy(payload + sizeof(*fact), strings, strings_bytes);
	offset = build_extent(b, MPROF_EXTENT_FACT, process, 0, payload,
			      sizeof(*fact) + strings_bytes, 0);
	free(payload);
	return offset;
}

const char *build_path_prefix(const struct build *b, size_t n, int *fd)
{
	static char path[64];
	size_t done = 0;

	*fd = memfd_create("trace", MFD_CLOEXEC);
	while (*fd >= 0 && done < n) {
		ssize_t put = write(*fd, b->bytes + done, n - done);

		if (put <= 0)
			abort();
		done += (size_t)put;
	}
	futimens(*fd, (struct timespec[2]){ 0 }); /* or the reader waits for a writer */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *fd);
	return path;
}

const char *build_path(const struct build *b, int *fd)
{
	return build_path_prefix(b, b->n, fd);
}
