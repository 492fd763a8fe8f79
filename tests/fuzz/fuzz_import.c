// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * fuzz_import.c - a libFuzzer target over the readers of other tools' records.
 *
 * The input is a file, text or compressed.  Whatever it says, what is compiled
 * of it must be a playback file that the reader believes to the last word.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

static void compile(const char *from, const struct import_format *format)
{
	char path[64];
	int fd = memory_file("playback", path);
	const struct compile_options o = { .fd = fd };
	struct mprof_play_summary sum;
	struct import_report report;
	struct playfile *p;
	struct error err;

	if (!import_compile(from, format, &o, &report, &sum, &err)) {
		must(playfile_open(&p, path, &err), &err);
		must(playfile_check(p, &err), &err);
		if (!report.calls || sum.calls > 2 * report.calls)
			abort(); /* a block at an address that was not free costs a FREE */
		playfile_close(p);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct import_format *format;
	char path[64];
	int fd = memory_file("record", path);

	if (write(fd, data, size) != (ssize_t)size)
		abort();
	format = import_recognise(path);
	if (format)
		compile(path, format);
	close(fd);
	return 0;
}
