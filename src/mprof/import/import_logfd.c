// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * import_logfd.c - what MODE=LogFD of libmprof writes (modules/mode/log_fd.c): a
 * function, its arguments in the order of the call and its result, with tabs
 * between them; addresses hexadecimal without 0x, the rest decimal.
 *
 * A realloc's line stands where it ended.  Threads, processes and times are not
 * told: lines of several processes cannot be told apart.
 */
#include <string.h>

#include "import_ops.h"

static const struct row {
	const char *name, *shape, *right;
} rows[MPROF_FN_MAX] = {
	[MPROF_FN_MALLOC] = { "malloc", "sr", "'malloc\\tSIZE\\tADDRESS'" },
	[MPROF_FN_FREE] = { "free", "o", "'free\\tADDRESS'" },
	[MPROF_FN_CALLOC] = { "calloc", "nsr", "'calloc\\tCOUNT\\tSIZE\\tADDRESS'" },
	[MPROF_FN_REALLOC] = { "realloc", "osr", "'realloc\\tOLD\\tSIZE\\tADDRESS'" },
	[MPROF_FN_REALLOCARRAY] = { "reallocarray", "onsr",
				    "'reallocarray\\tOLD\\tCOUNT\\tSIZE\\tADDRESS'" },
	[MPROF_FN_MEMALIGN] = { "memalign", "asr", "'memalign\\tALIGNMENT\\tSIZE\\tADDRESS'" },
	[MPROF_FN_POSIX_MEMALIGN] = { "posix_memalign", "asr",
				      "'posix_memalign\\tALIGNMENT\\tSIZE\\tADDRESS'" },
	[MPROF_FN_ALIGNED_ALLOC] = { "aligned_alloc", "asr",
				     "'aligned_alloc\\tALIGNMENT\\tSIZE\\tADDRESS'" },
	[MPROF_FN_VALLOC] = { "valloc", "sr", "'valloc\\tSIZE\\tADDRESS'" },
	[MPROF_FN_PVALLOC] = { "pvalloc", "sr", "'pvalloc\\tSIZE\\tADDRESS'" },
	[MPROF_FN_CFREE] = { "cfree", "o", "'cfree\\tADDRESS'" },
	[MPROF_FN_FREE_SIZED] = { "free_sized", "os", "'free_sized\\tADDRESS\\tSIZE'" },
	[MPROF_FN_FREE_ALIGNED_SIZED] = { "free_aligned_sized", "oas",
					  "'free_aligned_sized\\tADDRESS\\tALIGNMENT\\tSIZE'" },
	[MPROF_FN_NEW] = { "operator new", "sr", "'operator new\\tSIZE\\tADDRESS'" },
	[MPROF_FN_NEW_ARRAY] = { "operator new[]", "sr", "'operator new[]\\tSIZE\\tADDRESS'" },
	[MPROF_FN_DELETE] = { "operator delete", "o", "'operator delete\\tADDRESS'" },
	[MPROF_FN_DELETE_ARRAY] = { "operator delete[]", "o", "'operator delete[]\\tADDRESS'" },
	/* Not of blocks: gone over. */
	[MPROF_FN_MMAP] = { "mmap", "", "" },
	[MPROF_FN_MUNMAP] = { "munmap", "", "" },
	[MPROF_FN_MREMAP] = { "mremap", "", "" },
	[MPROF_FN_BRK] = { "brk", "", "" },
	[MPROF_FN_SBRK] = { "sbrk", "", "" },
};

/* 0: none of them. */
static unsigned scan_function(const char **at)
{
	size_t n = strcspn(*at, "\t");

	if ((*at)[n] != '\t')
		return 0;
	for (unsigned fn = 1; fn < MPROF_FN_MAX; fn++)
		if (rows[fn].name && strlen(rows[fn].name) == n && !memcmp(*at, rows[fn].name, n)) {
			*at += n;
			return fn;
		}
	return 0;
}

static bool fits(const char *line)
{
	return scan_function(&line) != 0;
}

static const char *take(struct importer *im, const char *line)
{
	struct compile_call c = { .thread = 1 };
	unsigned fn = scan_function(&line);

	if (!fn)
		return "the name of a function of the malloc family and a tab";
	c.fn = (uint8_t)fn;
	if (!*rows[fn].shape)
		return NULL;
	if (!scan_call(&line, rows[fn].shape, &c) || !scan_end(&line))
		return rows[fn].right;
	/* The sizes that the sized forms are given say nothing of the block. */
	if (!c.addr && strchr(rows[fn].shape, 'r') == NULL)
		c.size = c.align = 0;
	import_call(im, &c);
	return NULL;
}

const struct import_ops import_logfd = { fits, take, NULL, NULL, 0 };
