/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * import_ops.h - what a format of import.def is made of; for import*.c only.
 *
 * A format says which lines can be its own and turns them into calls.  It keeps
 * what it must remember in a state of state_bytes, zeroed before the first line.
 */
#pragma once

#include <ctype.h>
#include <inttypes.h>

#include "import.h"

/* One call.  old: given back; addr: handed out, 0: it failed.  As in struct event otherwise. */
struct import_call {
	uint64_t ns; /* 0: not known */
	uint64_t addr, old;
	uint64_t size;	   /* of one element */
	uint64_t elements; /* 0: none were said, or none are; see has_elements */
	uint64_t align;	   /* 0: none */
	uint32_t thread;   /* from 1 */
	uint8_t fn;
	bool has_elements;
};

#define IMPORT_EVENTS 8u /* that one line, or the end, can make */

struct importer {
	struct import_report report;
	const struct import_ops *op;
	const struct import_format *format;
	struct import_text *text;
	struct event event[IMPORT_EVENTS]; /* not handed out yet: [first, events) */
	size_t first, events;
	uint64_t number; /* of the line */
	uint64_t ticks, base_ns;
	bool begun, timed, ended;
	bool last_bad; /* the last line */
	bool rewound;  /* to be read from the beginning */
	char *path;
	void *state;
};

struct import_ops {
	/* Is this a line as this format has them?  Blank lines are not asked about. */
	bool (*fits)(const char *line);
	/* NULL, or what would be right in the place of this line. */
	const char *(*take)(struct importer *im, const char *line);
	/* [optional] After the last line. */
	void (*finish)(struct importer *im);
	void (*release)(struct importer *im); /* [optional] what the state points to */
	size_t state_bytes;
};

#define IMPORT_FORMAT(name, title, lines) extern const struct import_ops import_##name;
#include "import.def"
#undef IMPORT_FORMAT

/* Becomes events, and is counted. */
void import_call(struct importer *im, const struct import_call *call);
/* The thread has ended. */
void import_thread_end(struct importer *im, uint32_t thread, uint64_t ns);
/* A remark that belongs to no line: something is missing. */
void import_missing(struct importer *im, uint64_t how_many, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Room for the next remark; NULL: there are enough. */
char *import_remark(struct import_report *r);

/* ---- scanning: *at moves behind what was found ---- */

static inline void scan_blanks(const char **at)
{
	while (**at == ' ' || **at == '\t')
		++*at;
}

static inline bool scan_end(const char **at)
{
	scan_blanks(at);
	return !**at;
}

/* Digits of base 10 or 16 (with or without 0x), no more than 64 bits of them. */
static inline bool scan_number(const char **at, unsigned base, uint64_t *value)
{
	const char *s = *at;
	uint64_t v = 0;
	bool any = false;

	if (base == 16 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		s += 2;
	for (; isxdigit((unsigned char)*s); s++) {
		unsigned digit = *s <= '9' ? (unsigned)(*s - '0') : (unsigned)(*s & 7) + 9;

		if (digit >= base)
			break;
		if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
		any = true;
	}
	if (any && !isalnum((unsigned char)*s))
		*at = s;
	*value = v;
	return any && !isalnum((unsigned char)*s);
}

/* Blanks, then a number. */
static inline bool scan_next(const char **at, unsigned base, uint64_t *value)
{
	const char *s = *at;

	scan_blanks(&s);
	if (s == *at || !scan_number(&s, base, value))
		return false;
	*at = s;
	return true;
}

/*
 * Arguments of a call, by a row of letters: r address handed out, o address
 * given back, s size, n number of elements, a
 * alignment; addresses hexadecimal, the others decimal.
 */
bool scan_call(const char **at, const char *shape, struct import_call *call);
