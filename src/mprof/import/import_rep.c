// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * import_rep.c - the traces of malloc labs (Bryant and O'Hallaron, "Computer
 * Systems: A Programmer's Perspective", traces/README of the lab).
 *
 * Four lines of one number each: suggested heap size, number of ids, number of
 * operations, weight; some labs leave out the last one.  Then operations:
 *
 *   a ID SIZE	malloc			r ID SIZE	realloc of the id's block
 *   f ID	free; -1: of NULL
 *
 * A block has an id instead of an address.
 */
#include <string.h>

#include "import_ops.h"

#define HEADER	   4u
#define OPERATIONS 2u /* the number of operations in the header */
#define ID_MAX	   (1ull << 40)

struct state {
	unsigned numbers; /* numbers of the header read so far */
	uint64_t said, seen;
};

static bool scan_alone(const char *line, uint64_t *value)
{
	scan_blanks(&line);
	return scan_number(&line, 10, value) && scan_end(&line);
}

static bool scan_operation(const char *line, struct import_call *c)
{
	uint64_t id;
	char what;

	scan_blanks(&line);
	if (!*line || !strchr("arf", *line))
		return false;
	what = *line++;
	c->fn = what == 'a' ? MPROF_FN_MALLOC : what == 'r' ? MPROF_FN_REALLOC : MPROF_FN_FREE;
	if (what == 'f' && !strncmp(line, " -1", 3)) {
		line += 3;
		return scan_end(&line);
	}
	if (!scan_next(&line, 10, &id) || id >= ID_MAX)
		return false;
	/* Any address is valid if it is unique to the id. */
	c->addr = what == 'f' ? 0 : 16 * (id + 1);
	c->old = what == 'a' ? 0 : 16 * (id + 1);
	return (what == 'f' || scan_next(&line, 10, &c->size)) && scan_end(&line);
}

static bool fits(const char *line)
{
	struct import_call c = { 0 };
	uint64_t number;

	return scan_alone(line, &number) || scan_operation(line, &c);
}

static const char *take(struct importer *im, const char *line)
{
	struct import_call c = { .thread = 1 };
	struct state *s = im->state;
	uint64_t number;

	if (!s->seen && s->numbers < HEADER && scan_alone(line, &number)) {
		if (s->numbers++ == OPERATIONS)
			s->said = number;
		return NULL;
	}
	if (!scan_operation(line, &c))
		return "'a ID SIZE', 'r ID SIZE' or 'f ID'";
	s->seen++;
	import_call(im, &c);
	return NULL;
}

/* More operations than announced are not an error. */
static void finish(struct importer *im)
{
	struct state *s = im->state;
	uint64_t there = s->seen + im->report.bad;

	if (there >= s->said)
		return;
	import_missing(im, s->said - there,
		       "line 3 says %" PRIu64 " operations, and there are %" PRIu64, s->said,
		       there);
	im->report.cut = true;
}

const struct import_ops import_rep = { fits, take, finish, NULL, sizeof(struct state) };
