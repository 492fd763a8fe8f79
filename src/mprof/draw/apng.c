/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * apng.c - animated PNG.  The last frame is held back until a different one follows: only then is
 * its duration known.
 */
#include "apng.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../util/alloc.h"
#include "../util/memory.h"

struct area {
	int x, y, width, height;
};

struct apng {
	FILE *file;
	unsigned planned, written, ms, delay; /* delay of the frame held back */
	uint32_t sequence;
	struct canvas last; /* the frame held back */
	struct area area;   /* the part of it that differs from the frame before */
	bool waiting;
	uint8_t *raw, *packed; /* offset of acTL, -1 if unknown */
	size_t packed_room;
	long control; /* offset of acTL, -1 if unknown */
};

static void put32(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 24);
	at[1] = (uint8_t)(value >> 16);
	at[2] = (uint8_t)(value >> 8);
	at[3] = (uint8_t)value;
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static int chunk(struct apng *a, const char *type, const void *data, size_t bytes,
		 struct error *err)
{
	uint8_t head[8], sum[4];
	uLong crc;

	put32(head, (uint32_t)bytes);
	memcpy(head + 4, type, 4);
	crc = crc32(0, head + 4, 4);
	crc = crc32_z(crc, data, bytes);
	put32(sum, (uint32_t)(bytes ? crc : crc32(0, head + 4, 4)));
	errno = 0;
	if (fwrite(head, 8, 1, a->file) != 1 || (bytes && fwrite(data, bytes, 1, a->file) != 1) ||
	    fwrite(sum, 4, 1, a->file) != 1)
		return fail(err, errno ? -errno : -EIO, "cannot write the movie: %s",
			    strerror(errno ? errno : EIO));
	return 0;
}

static int put_control(struct apng *a, unsigned frames, struct error *err)
{
	uint8_t data[8];

	put32(data, frames);
	put32(data + 4, 0); /* repeat for ever */
	return chunk(a, "acTL", data, sizeof(data), err);
}

static int put_header(struct apng *a, const struct canvas *c, struct error *err)
{
	static const uint8_t magic[8] = { 137, 'P', 'N', 'G', 13, 10, 26, 10 };
	uint8_t data[13] = { 0 };

	put32(data, (uint32_t)c->width);
	put32(data + 4, (uint32_t)c->height);
	data[8] = 8; /* bits */
	data[9] = 2; /* red, green, blue */
	if (fwrite(magic, sizeof(magic), 1, a->file) != 1)
		return fail(err, -EIO, "cannot write the movie: %s", strerror(errno));
	if (chunk(a, "IHDR", data, sizeof(data), err) < 0)
		return -EIO;
	a->control = ftell(a->file);
	return put_control(a, a->planned, err);
}

struct apng *apng_new(FILE *file, unsigned frames, unsigned ms)
{
	struct apng *a = must_calloc(1, sizeof(*a));

	a->file = file;
	a->planned = frames;
	a->ms = ms;
	return a;
}

void apng_free(struct apng *a)
{
	if (!a)
		return;
	canvas_free(&a->last);
	free(a->raw);
	free(a->packed);
	free(a);
}

/* Makes space for the first frame, which is the largest. */
static int reserve_frame(struct apng *a, const struct canvas *c, struct error *err)
{
	size_t raw = ((size_t)c->width * 3 + 1) * (size_t)c->height;

	a->packed_room = compressBound(raw) + 4;
	a->raw = must_malloc(raw);
	a->packed = must_malloc(a->packed_room);
	if (canvas_new(&a->last, CANVAS_PNG, c->width, c->height) < 0)
		return fail(err, -EINVAL, "cannot draw a movie of %d by %d", c->width, c->height);
	a->area = (struct area){ 0, 0, c->width, c->height };
	return put_header(a, c, err);
}

/* False if nothing differs. */
static bool find_changed(const struct canvas *was, const struct canvas *is, struct area *to)
{
	int top = 0, bottom = is->height, left = is->width, right = 0, x, y;
	size_t row = (size_t)is->width, bytes = row * sizeof(*is->pixel);
	const uint32_t *a, *b;

	while (top < bottom && !memcmp(was->pixel + top * row, is->pixel + top * row, bytes))
		top++;
	if (top == bottom)
		return false;
	while (!memcmp(was->pixel + (bottom - 1) * row, is->pixel + (bottom - 1) * row, bytes))
		bottom--;
	for (y = top; y < bottom; y++) {
		a = was->pixel + y * row;
		b = is->pixel + y * row;
		for (x = 0; x < left && a[x] == b[x]; x++)
			;
		left = x < left ? x : left;
		for (x = is->width; x > right && a[x - 1] == b[x - 1]; x--)
			;
		right = x > right ? x : right;
	}
	*to = (struct area){ left, top, right - left, bottom - top };
	return true;
}

static int put_frame_control(struct apng *a, struct error *err)
{
	uint8_t data[26] = { 0 };

	put32(data, a->sequence++);
	put32(data + 4, (uint32_t)a->area.width);
	put32(data + 8, (uint32_t)a->area.height);
	put32(data + 12, (uint32_t)a->area.x);
	put32(data + 16, (uint32_t)a->area.y);
	put16(data + 20, a->delay < 65535 ? a->delay : 65535);
	put16(data + 22, 1000);
	return chunk(a, "fcTL", data, sizeof(data), err);
}

/* Writes the frame held back. */
static int put_frame(struct apng *a, struct error *err)
{
	size_t row = (size_t)a->area.width * 3 + 1, skip = a->written ? 4 : 0;
	uLongf bytes = a->packed_room - skip;
	uint8_t *to;
	int y;

	for (y = 0; y < a->area.height; y++) {
		to = a->raw + (size_t)y * row;
		*to = 0; /* no filter */
		canvas_rgb(&a->last, a->area.x, a->area.y + y, a->area.width, to + 1);
	}
	if (put_frame_control(a, err) < 0)
		return -EIO;
	if (compress2(a->packed + skip, &bytes, a->raw, row * (size_t)a->area.height, 9) != Z_OK)
		memory_out();
	a->waiting = false;
	if (!a->written++)
		return chunk(a, "IDAT", a->packed, bytes, err);
	put32(a->packed, a->sequence++);
	return chunk(a, "fdAT", a->packed, bytes + 4, err);
}

int apng_add(struct apng *a, const struct canvas *c, struct error *err)
{
	struct area area = { 0, 0, c->width, c->height };

	if (!a->raw && reserve_frame(a, c, err) < 0)
		return -EIO;
	if (c->width != a->last.width || c->height != a->last.height)
		return fail(err, -EINVAL, "all frames of a movie must have the same size");
	if (a->waiting && !find_changed(&a->last, c, &area)) {
		a->delay += a->ms;
		return 0;
	}
	if (a->waiting && put_frame(a, err) < 0)
		return -EIO;
	a->area = area;
	memcpy(a->last.pixel, c->pixel, (size_t)c->width * (size_t)c->height * sizeof(*c->pixel));
	a->delay = a->ms;
	a->waiting = true;
	return 0;
}

void apng_hold(struct apng *a, unsigned ms)
{
	a->delay += ms;
}

int apng_finish(struct apng *a, struct error *err)
{
	long end;

	if (!a->waiting)
		return fail(err, -EINVAL, "a movie needs at least one frame");
	if (put_frame(a, err) < 0 || chunk(a, "IEND", NULL, 0, err) < 0)
		return -EIO;
	if (a->written != a->planned) {
		end = ftell(a->file);
		if (a->control < 0 || end < 0 || fseek(a->file, a->control, SEEK_SET))
			return fail(err, -ESPIPE,
				    "a movie cannot be written to a pipe: give a file name");
		if (put_control(a, a->written, err) < 0 || fseek(a->file, end, SEEK_SET))
			return -EIO;
	}
	return fflush(a->file) ? fail(err, -errno, "cannot write the movie: %s", strerror(errno))
			       : 0;
}
