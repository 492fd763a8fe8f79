// SPDX-License-Identifier: LGPL-3.0-or-later
/* milestone_file.c - see milestone_file.h. */
#include "milestone_file.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/cache_directory.h"
#include "../util/whole.h"

#define MAGIC "mprofmst"

struct head {
	char magic[8];
	struct milestone_of of;
	struct milestone_known known;
	uint32_t rows;	     /* number of milestones; more rows follow them */
	uint32_t check;	     /* checksum of the rows */
	uint64_t head_check; /* checksum of all fields above */
};

/* ---- which trace, which build ---- */

static int find_build_id(struct dl_phdr_info *info, size_t size, void *to)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *p = (const char *)info->dlpi_addr + ph->p_vaddr;
		const char *end = p + ph->p_memsz;

		while (ph->p_type == PT_NOTE && end - p >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *n = (const void *)p;
			const char *bytes = (const char *)(n + 1) + ((n->n_namesz + 3) & ~3u);

			if (n->n_type == NT_GNU_BUILD_ID && n->n_descsz == MILESTONE_BUILD_ID &&
			    n->n_namesz == 4 && !memcmp(n + 1, "GNU", 4)) {
				memcpy(to, bytes, MILESTONE_BUILD_ID);
				return 1;
			}
			p = bytes + ((n->n_descsz + 3) & ~3u);
		}
	}
	return -1; /* the first object is the program */
}

/* False if the file that is read could not be distinguished from another one. */
static bool identify(struct milestone_file *f)
{
	const struct mprof_file_header *h = trace_header(f->trace);
	struct stat st;

	if (stat(trace_path(f->trace), &st) || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != trace_bytes(f->trace) ||
	    dl_iterate_phdr(find_build_id, f->of.build_id) != 1)
		return false;
	memcpy(f->of.run_id, h->run_id, sizeof(h->run_id));
	f->of.device = st.st_dev;
	f->of.inode = st.st_ino;
	f->of.bytes = (uint64_t)st.st_size;
	f->of.changed_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	return true;
}

static void name_file(struct milestone_file *f)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(f->of.run_id); i++)
		n += (size_t)snprintf(f->name + n, MILESTONE_NAME - n, "%02x", f->of.run_id[i]);
	snprintf(f->name + n, MILESTONE_NAME - n, "-%08x", mprof_checksum(&f->of, sizeof(f->of)));
}

/* ---- reading ---- */

/* Returns milestones, then the end, groups, and passes. */
static struct milestone *part(struct milestone_file *f, size_t i)
{
	if (i < f->n)
		return &f->item[i];
	return i == f->n ? &f->end : i == f->n + 1 ? &f->groups : &f->pass[i - f->n - 2];
}

static size_t parts(const struct milestone_file *f)
{
	return f->n + 2 + f->known.passes;
}

static void take_rows(struct milestone_file *f, const struct head *head)
{
	const size_t n = head->rows + 2 + head->known.passes,
		     bytes = n * sizeof(struct milestone_row);
	struct milestone_row *row = malloc(bytes);
	bool good;

	f->item = calloc(head->rows + 1, sizeof(*f->item));
	good = row && f->item && read_at(f->file, row, bytes, sizeof(*head)) == bytes &&
	       mprof_checksum(row, bytes) == head->check;
	if (good) {
		f->known = head->known;
		f->n = f->room = head->rows;
		for (size_t i = 0; i < n; i++) {
			part(f, i)->row = row[i];
			f->kept += i < f->n ? row[i].bytes : 0;
		}
	}
	free(row);
}

static void open_file(struct milestone_file *f)
{
	struct head head;
	uint64_t bytes;

	f->file = cache_file_open(f->directory, f->name, &bytes);
	if (f->file >= 0 && read_at(f->file, &head, sizeof(head), 0) == sizeof(head) &&
	    !memcmp(head.magic, MAGIC, sizeof(head.magic)) &&
	    mprof_checksum(&head, offsetof(struct head, head_check)) == head.head_check &&
	    !memcmp(&head.of, &f->of, sizeof(head.of)) && head.rows <= MILESTONE_ROWS &&
	    head.known.passes <= MILESTONE_PASSES)
		take_rows(f, &head);
}

void milestone_drop(struct milestone_file *f, struct milestone *x)
{
	f->kept -= x->row.bytes;
	free(x->frame.bytes);
}

void milestone_drop_all(struct milestone_file *f)
{
	for (size_t i = 0; i < f->n; i++)
		milestone_drop(f, &f->item[i]);
	f->n = 0;
	f->known.whole = false;
}

/* Loads its frame; false if it is damaged. */
static bool load(struct milestone_file *f, struct milestone *x)
{
	struct state_frame *frame = &x->frame;
	const struct milestone_row *r = &x->row;

	if (frame->bytes)
		return true;
	if (r->bytes > 2 * MILESTONE_MOST || r->plain > UINT32_MAX || !r->bytes)
		return false;
	*frame = (struct state_frame){ malloc(r->bytes), r->bytes, r->plain };
	if (frame->bytes && read_at(f->file, frame->bytes, frame->count, r->at) == frame->count &&
	    mprof_checksum(frame->bytes, frame->count) == r->check)
		return true;
	free(frame->bytes);
	*frame = (struct state_frame){ .bytes = NULL };
	return false;
}

uint8_t *milestone_unpack(struct milestone_file *f, struct milestone *x)
{
	return load(f, x) ? state_frame_plain(&x->frame) : NULL;
}

/* ---- writing ---- */

static void write_file(struct milestone_file *f)
{
	const size_t n = parts(f), bytes = n * sizeof(struct milestone_row);
	struct milestone_row *row = calloc(n, sizeof(*row));
	struct cache_part *part_of = calloc(n + 2, sizeof(*part_of));
	struct head head = { .of = f->of, .rows = (uint32_t)f->n, .known = f->known };
	uint64_t at = sizeof(head) + bytes;

	for (size_t i = 0; i < n && row && part_of; i++) {
		struct milestone *x = part(f, i);

		x->row.at = at;
		x->row.check = mprof_checksum(x->frame.bytes, x->frame.count);
		at += x->frame.count;
		row[i] = x->row;
		part_of[i + 2] = (struct cache_part){ x->frame.bytes, x->frame.count };
	}
	if (row && part_of) {
		memcpy(head.magic, MAGIC, sizeof(head.magic));
		head.check = mprof_checksum(row, bytes);
		head.head_check = mprof_checksum(&head, offsetof(struct head, head_check));
		part_of[0] = (struct cache_part){ &head, sizeof(head) };
		part_of[1] = (struct cache_part){ row, bytes };
		cache_file_write(f->directory, f->name, 0600, part_of, n + 2);
	}
	free(row);
	free(part_of);
}

/* Drops damaged frames of the old file, which must not prevent writing the others. */
static void drop_damaged(struct milestone_file *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n; i++)
		if (load(f, &f->item[i]))
			f->item[n++] = f->item[i];
		else
			milestone_drop(f, &f->item[i]);
	f->n = n;
	if (f->end.row.bytes && !load(f, &f->end))
		f->end.row.bytes = f->known.end = 0;
	if (!load(f, &f->groups))
		f->groups.row.bytes = 0;
	for (size_t i = 0; i < f->known.passes; i++)
		if (f->pass[i].row.bytes && !load(f, &f->pass[i]))
			f->pass[i].row.bytes = f->pass[i].row.pass = 0;
}

void milestone_file_write(struct milestone_file *f)
{
	drop_damaged(f);
	write_file(f);
	cache_directory_trim(f->directory, MILESTONE_CACHE);
}

/* ---- the whole ---- */

bool milestone_file_open(struct milestone_file *f, struct trace *t)
{
	char name[32];

	*f = (struct milestone_file){ .trace = t, .directory = -1, .file = -1 };
	snprintf(name, sizeof(name), "milestones-%d", MILESTONE_FORMAT);
	if (identify(f))
		f->directory = cache_directory(name);
	if (f->directory < 0)
		return false;
	name_file(f);
	open_file(f);
	return true;
}

void milestone_file_close(struct milestone_file *f)
{
	for (size_t i = 0; i < parts(f); i++) {
		free(part(f, i)->frame.bytes);
		free(part(f, i)->unpacked);
	}
	if (f->file >= 0)
		close(f->file);
	if (f->directory >= 0)
		close(f->directory);
	free(f->item);
}
