// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * import_mtrace.c - what glibc's mtrace(3) writes to $MALLOC_TRACE.
 *
 *   = Start
 *   @ CALLER + ADDRESS SIZE	malloc, calloc, memalign and the like
 *   @ CALLER - ADDRESS		free
 *   @ CALLER < OLD		realloc, always followed by
 *   @ CALLER > NEW SIZE
 *   @ CALLER ! OLD SIZE	a realloc that failed
 *
 * Numbers are hexadecimal.  The caller is a file with a function and an address
 * in brackets, and the file's name may contain blanks: so the line is parsed from its end.
 * Lines name no thread and no time.
 */
#include <string.h>

#include "import_ops.h"

struct state {
	uint64_t old; /* of a '<' whose '>' has not followed yet */
	uint64_t at;  /* its line; 0 = none */
};

/* Finds the mark and the rest of the line; NULL if there is no mark. */
static const char *find_mark(const char *line)
{
	const char *mark = NULL, *s = line;

	scan_blanks(&s);
	if (*s != '@')
		return *s && strchr("+-<>!=", *s) && (s[1] == ' ' || !s[1]) ? s : NULL;
	while ((s = strchr(s, ' '))) {
		scan_blanks(&s);
		if (*s && strchr("+-<>!", *s) && s[1] == ' ')
			mark = s;
	}
	return mark;
}

static bool scan_address(const char **at, uint64_t *value)
{
	scan_blanks(at);
	*value = 0;
	if (!strncmp(*at, "(nil)", 5)) { /* an allocation that failed */
		*at += 5;
		return true;
	}
	return (*at)[0] == '0' && (*at)[1] == 'x' && scan_number(at, 16, value);
}

/* Reads c from a '+', '-' and so on; returns NULL, or what was expected. */
static const char *scan_rest(const char *mark, struct import_call *c)
{
	const char *at = mark + 1;
	uint64_t *addr = *mark == '+' || *mark == '>' ? &c->addr : &c->old;
	bool sized = *mark == '+' || *mark == '>' || *mark == '!';

	/* NULL as "%p" prints it; glibc does not trace free(NULL). */
	if (!scan_address(&at, addr))
		return "an address, with 0x, after the mark";
	if (sized && !scan_next(&at, 16, &c->size))
		return "an address and a size, both hexadecimal, after the mark";
	return scan_end(&at) ? NULL
	       : sized	     ? "an address and a size after the mark, and nothing else"
			     : "an address after the mark, and nothing else";
}

static bool fits(const char *line)
{
	struct import_call c = { 0 };
	const char *mark = find_mark(line);

	return mark && (*mark == '=' ? !strcmp(mark, "= Start") : !scan_rest(mark, &c));
}

/* Handles a '<' without a '>': the block was freed. */
static void drop_old(struct importer *im)
{
	struct state *s = im->state;
	struct import_call c = { .fn = MPROF_FN_FREE, .thread = 1, .old = s->old };

	if (!s->at)
		return;
	import_missing(im, 1, "line %" PRIu64 ": a '<' should be followed by its '>'", s->at);
	s->at = 0;
	import_call(im, &c);
}

static const char *take(struct importer *im, const char *line)
{
	struct import_call c = { .fn = MPROF_FN_MALLOC, .thread = 1 };
	const char *mark = find_mark(line), *right;
	struct state *s = im->state;

	if (!mark)
		return "'@ CALLER', then +, -, <, > or !, then an address";
	if (*mark == '=')
		return NULL;
	right = scan_rest(mark, &c);
	if (right)
		return right;
	if (*mark != '>')
		drop_old(im);
	switch (*mark) {
	case '<':
		s->old = c.old;
		s->at = im->number;
		return NULL;
	case '>':
		if (!s->at)
			return "after a line with '<'";
		c.old = s->old;
		s->at = 0;
		c.fn = MPROF_FN_REALLOC;
		break;
	case '-':
		c.fn = MPROF_FN_FREE;
		break;
	case '!':
		c.fn = MPROF_FN_REALLOC;
		break;
	}
	import_call(im, &c);
	return NULL;
}

const struct import_ops import_mtrace = { fits, take, drop_old, NULL, sizeof(struct state) };
