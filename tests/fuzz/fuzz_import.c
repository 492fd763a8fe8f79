// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * fuzz_import.c - a libFuzzer target over the readers of other tools' records.
 *
 * The input is a file, text or compressed.  Whatever it says, the file that is compiled of it must
 * be a playback file that the reader believes to the last word.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "compile/compile.h"
#include "import/import.h"
#include "play/playfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int memory_file(const char *name, char path[64])
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		abort();
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void must(int ret, const struct error *err)
{
	if (!ret)
		return;
	fprintf(stderr, "%s\n", err->text);
	abort();
}

static void compile(struct trace *t)
{
	char path[64];
	int fd = memory_file("playback", path);
	const struct compile_options o = { .fd = fd };
	struct mprof_play_summary sum;
	struct playfile *p;
	struct error err;

	if (!compile_trace(t, &o, &sum, &err)) {
		must(playfile_open(&p, path, &err), &err);
		must(playfile_check(p, &err), &err);
		/* A block at an address that was not free costs a FREE. */
		if (!import_report(t)->calls || sum.calls > 2 * import_report(t)->calls)
			abort();
		playfile_close(p);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace *t;
	char path[64];
	int fd = memory_file("record", path);

	if (write(fd, data, size) != (ssize_t)size)
		abort();
	if (!import_open(&t, path, MPROF_MAGIC_TRACE, NULL)) {
		if (import_title(t))
			compile(t);
		trace_close(t);
	}
	close(fd);
	return 0;
}
