// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * import_logfd.c - what MODE=LogFD of libmprof writes (modules/mode/log_fd.c): a
 * function, its arguments in the order of the call and its result, with tabs
 * between them; addresses hexadecimal without 0x, the rest decimal.
 *
 * The line of a realloc is written when it ends. Lines name no thread, process
 * or time, so those of several processes look alike.
 */
#include <mprof/functions.h>
#include <stdio.h>
#include <string.h>

#include "import_ops.h"

static const struct row {
	const char *name;
	enum mprof_shape shape;
} rows[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) [code] = { name, MPROF_SHAPE_##shape },
#include <mprof/functions.def>
};

/* Lists the values of a line that every form of the function has; "" if it is not an allocation
 * function. */
static void shape_of(unsigned fn, char *values)
{
	static const char *const all[] = {
#define X(shape, values, operation) values,
		MPROF_SHAPES(X)
#undef X
	};

	for (const char *v = all[rows[fn].shape]; *v; v++)
		if (!isupper((unsigned char)*v))
			*values++ = *v;
	*values = 0;
}

/* Describes a correct line of that function. */
static const char *right_line(unsigned fn, const char *values)
{
	static char right[128];
	size_t n = (size_t)snprintf(right, sizeof(right), "'%s", rows[fn].name);

	for (; *values; values++)
		n += (size_t)snprintf(right + n, sizeof(right) - n, "\\t%s",
				      *values == 's'			      ? "SIZE"
				      : *values == 'n'			      ? "COUNT"
				      : *values == 'a'			      ? "ALIGNMENT"
				      : *values == 'o' && strchr(values, 'r') ? "OLD"
									      : "ADDRESS");
	snprintf(right + n, sizeof(right) - n, "'");
	return right;
}

/* Returns 0 for another word. */
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
	struct import_call c = { .thread = 1 };
	unsigned fn = scan_function(&line);
	char values[8];

	if (!fn)
		return "the name of a function of the malloc family and a tab";
	c.fn = (uint8_t)fn;
	shape_of(fn, values);
	if (!*values)
		return NULL;
	if (!scan_call(&line, values, &c) || !scan_end(&line))
		return right_line(fn, values);
	/* The size passed to a sized free may differ from the block's. */
	if (!c.addr && !strchr(values, 'r'))
		c.size = c.align = 0;
	import_call(im, &c);
	return NULL;
}

const struct import_ops import_logfd = { fits, take, NULL, NULL, 0 };
