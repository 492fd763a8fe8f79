// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * variables.c - which pages of variables are resident when the program ends.
 *
 * Covers the objects known from call stacks.  For a page that is still the file's, mincore would
 * report whether any process has it in memory, so pagemap is read instead: 8 bytes a page.
 */
#include <mprof/module.h>

#include "core.h"
#include "file.h"
#include "local.h"
#include "process.h"
#include "stack_parts.h"
#include "sys.h"

#define ENTRIES	  256u
#define RUNS	  56u	/* runs of an extent, which has less than a kilobyte with its headers */
#define RUNS_MAX  8192u /* of a process */
#define PAGES_MAX (1u << 22) /* pages to read, 8 bytes for each */
#define PRESENT	  (1ull << 63)

struct found {
	struct mprof_residency head;
	struct mprof_page_run run[RUNS];
	uint32_t written;
};

static void variables_write(struct found *f)
{
	if (!f->head.runs)
		return;
	f->head.ticks_after = mprof_ticks();
	mp_extent_write(MPROF_EXTENT_VARIABLES, &f->head, sizeof(f->head), f->run,
			f->head.runs * sizeof(f->run[0]));
	f->written += (uint32_t)f->head.runs;
	f->head.runs = 0;
}

static void variables_add(struct found *f, uint64_t page)
{
	struct mprof_page_run *last = f->run + f->head.runs - 1;

	if (f->head.runs && last->first + last->count == page) {
		last->count++;
		return;
	}
	/* Runs of an extent ascend, but objects may not. */
	if (f->head.runs == RUNS || (f->head.runs && page < last->first + last->count))
		variables_write(f);
	f->run[f->head.runs++] = (struct mprof_page_run){ page, 1 };
}

static void variables_read(struct found *f, int fd, uint64_t page, uint64_t end)
{
	uint64_t entry[ENTRIES];

	while (page < end && f->written < RUNS_MAX) {
		uint64_t n = end - page < ENTRIES ? end - page : ENTRIES;
		long got = sys_pread(fd, entry, n * 8, page * 8);

		if (got < 8)
			return;
		for (long i = 0; i < got / 8; i++)
			if (entry[i] & PRESENT)
				variables_add(f, page + (uint64_t)i);
		page += (uint64_t)got / 8;
	}
}

void mp_variables_look(void)
{
	struct found f = { .written = 0 };
	const uintptr_t page = mp_page();
	uintptr_t start, end;
	uint64_t pages = 0;
	int fd;

	if (!mp_recording() || !mp_file.header || mp_file.broken || !mp_local->alive ||
	    !mprof_core.capture)
		return;
	fd = sys_open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	f.head.ticks_before = mprof_ticks();
	for (uint32_t i = 0; mp_loaded_data(i, &start, &end); i++) {
		pages += (end - start) / page;
		if (end > start && pages < PAGES_MAX)
			variables_read(&f, fd, start / page, (end + page - 1) / page);
	}
	sys_close(fd);
	variables_write(&f);
}
