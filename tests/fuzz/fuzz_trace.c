// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * fuzz_trace.c - a libFuzzer target over the whole trace reader.
 *
 * The input is a file from its first extent on, behind eight bytes that choose
 * the kind and change single bytes of a sound header: so the fuzzer need not
 * find 64 KiB of it by itself.  Checksums and offsets are made right before
 * the file is opened (unless the input asks not to), so that what stands
 * behind them is reached too.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/encode.h>

#include "trace/trace.h"

#define HEAD_BYTES  8 /* kind and flags, then header edits */
#define KEEP_CHECKS 2
#define INPUT_MAX   65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned char file[MPROF_HEADER_SIZE + INPUT_MAX];

static void make_header(const uint8_t *data, size_t extents)
{
	struct mprof_file_header *h = (struct mprof_file_header *)file;
	uint16_t at;

	memset(h, 0, sizeof(*h));
	memcpy(h->magic, data[0] & 1 ? MPROF_MAGIC_COUNTS : MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE);
	h->version = MPROF_FORMAT_VERSION;
	h->header_size = MPROF_HEADER_SIZE;
	memset(h->run_id, 0xa5, sizeof(h->run_id));
	h->page_size = 4096;
	h->clock_hz = 1000000000;
	h->tail = MPROF_HEADER_SIZE + extents;
	memcpy(&at, data + 1, sizeof(at));
	if (at)
		file[at % 256] ^= data[3];
	h->clock_shift ^= data[4] & 63;
}

/* Makes one extent right but for what the fuzzer is to vary; returns its size, 0 at the end. */
static size_t mend(unsigned char *at, size_t left, uint64_t offset)
{
	struct mprof_extent *x = (struct mprof_extent *)at;

	if (left < sizeof(*x))
		return 0;
	x->magic = MPROF_EXTENT_MAGIC;
	x->offset = offset;
	x->kind = (uint16_t)(1 + (x->kind - 1u) % (MPROF_EXTENT_THREADS + 1));
	if (x->kind > MPROF_EXTENT_THREADS)
		x->kind = MPROF_EXTENT_TAKEN;
	x->image %= 2;
	memset(&x->run, 0xa5, sizeof(x->run));
	x->size = (x->size & 0xffc0) ? x->size & 0xffc0 : MPROF_EXTENT_ALIGN;
	x->used %= x->size - sizeof(*x) + 1;
	x->process %= 4;
	x->thread %= 4;
	x->seq %= 8;
	if (x->used <= left - sizeof(*x))
		x->check = mprof_checksum(x + 1, x->used);
	return x->size;
}

static void mend_all(size_t bytes)
{
	size_t size, at = 0;

	while (at < bytes) {
		size = mend(file + MPROF_HEADER_SIZE + at, bytes - at, MPROF_HEADER_SIZE + at);
		if (!size)
			break;
		at += size;
	}
}

/* Every node has a frame and a caller before it, every frame an object. */
static uint64_t walk_stacks(const struct trace *t)
{
	const struct stacks *s = trace_stacks(t);
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nodes; i++)
		if (s->node[i].frame >= s->frames || (i && s->node[i].parent >= i))
			abort();
	for (size_t i = 0; i < s->frames; i++)
		if (s->frame[i].object >= s->objects)
			abort();
	for (size_t i = 0; i < s->objects; i++) {
		sum += strlen(s->object[i].path);
		for (size_t k = 0; k < s->object[i].build_id_bytes; k++)
			sum += s->object[i].build_id[k];
		for (size_t k = 0; k < s->object[i].segments; k++)
			sum += s->object[i].segment[k].bytes;
	}
	return sum;
}

/* Everything that can be asked; the sum keeps the compiler from leaving it out. */
static uint64_t walk(struct trace *t)
{
	const struct trace_residency *r;
	const struct trace_reach *reach;
	const struct trace_thread *threads;
	const struct mprof_sample *samples;
	const struct mprof_counts *c;
	const struct trace_fact *f;
	struct event e[61];
	uint32_t process, thread;
	uint64_t sum = 0;
	size_t n;

	while ((n = trace_next(t, e, 61)))
		for (size_t i = 0; i < n; i++) {
			if (e[i].kind <= EVENT_REALLOC_END && e[i].stack >= trace_stacks(t)->nodes)
				abort();
			sum += e[i].addr + e[i].size + (uint64_t)trace_ns(t, e[i].ticks);
		}
	sum += walk_stacks(t);
	n = trace_facts(t, &f);
	for (size_t i = 0; i < n; i++) {
		sum += strlen(f[i].exe) + strlen(f[i].why) + strlen(f[i].job) +
		       strlen(f[i].malloc_of) + f[i].fact->ticks;
		for (size_t k = 0; k < f[i].argc; k++)
			sum += strlen(f[i].argv[k]);
	}
	n = trace_reaches(t, &reach);
	for (size_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < reach[i].head->rows; k++)
			sum += reach[i].row[k].bytes + trace_stack_node(t, reach[i].process,
									reach[i].image,
									reach[i].row[k].stack);
		for (uint32_t k = 0; k < reach[i].head->roots; k++)
			if (reach[i].root[k].kind == MPROF_REACH_VARIABLE)
				sum += strlen(reach[i].text + reach[i].root[k].path);
	}
	n = trace_residencies(t, &r);
	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < r[i].runs; k++)
			sum += r[i].run[k].count;
	for (process = 0; process < 4; process++) {
		n = trace_samples(t, process, &samples);
		for (size_t i = 0; i < n; i++)
			sum += samples[i].rss;
	}
	for (size_t i = 0; (c = trace_counts(t, i, &process, &thread)); i++)
		sum += c->fn[MPROF_FN_MAX - 1].calls;
	n = trace_threads(t, &threads);
	return n ? sum + threads[n - 1].last_ticks : sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static volatile uint64_t sink;
	static int fd = -1;
	static char path[64];
	struct error err;
	struct trace *t;

	if (size < HEAD_BYTES || size - HEAD_BYTES > INPUT_MAX)
		return -1;
	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	make_header(data, size - HEAD_BYTES);
	memcpy(file + MPROF_HEADER_SIZE, data + HEAD_BYTES, size - HEAD_BYTES);
	if (!(data[0] & KEEP_CHECKS))
		mend_all(size - HEAD_BYTES);
	size += MPROF_HEADER_SIZE - HEAD_BYTES;
	if (ftruncate(fd, 0) || pwrite(fd, file, size, 0) != (ssize_t)size)
		abort();
	futimens(fd, (struct timespec[2]){ 0 }); /* or the reader waits for a writer */
	if (trace_open(&t, path, data[0] & 1 ? MPROF_MAGIC_COUNTS : MPROF_MAGIC_TRACE, &err))
		return 0;
	sink += walk(t);
	trace_rewind(t);
	sink += walk(t);
	trace_close(t);
	return 0;
}
