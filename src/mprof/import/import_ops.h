/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * import_ops.h - the definition of a format in import.def; for import*.c only.
 *
 * A format recognises its lines and turns them into calls. Its state is state_bytes, zeroed before
 * the first line.
 */
#pragma once

#include <ctype.h>
#include <inttypes.h>

#include "import.h"

/* A call.  old: the freed address; addr: the allocated one, 0 if it failed.  Otherwise as in
 * struct event. */
struct import_call {
	uint64_t ns; /* 0 = unknown */
	uint64_t addr, old;
	uint64_t size;	   /* of one element */
	uint64_t elements; /* 0 = none; see has_elements */
	uint64_t align;	   /* 0 = none */
	uint32_t thread;   /* from 1 */
	uint8_t fn;
	bool has_elements;
};

#define IMPORT_EVENTS 8u /* the most that a line, or the end, makes */

struct importer {
	struct import_report report;
	const struct import_ops *op;
	const struct import_format *format;
	struct import_text *text;
	struct event event[IMPORT_EVENTS]; /* not delivered yet: [first, events) */
	size_t first, events;
	uint64_t number; /* number of the line */
	uint64_t ticks, base_ns;
	bool begun, timed, ended;
	bool last_bad; /* true if the last line was invalid */
	bool rewound;  /* true if it must be read from the beginning */
	char *path;
	void *state;
};

struct import_ops {
	/* Is this a line of this format? Not called for blank lines. */
	bool (*fits)(const char *line);
	/* Returns NULL, or what was expected instead of this line. */
	const char *(*take)(struct importer *im, const char *line);
	/* [optional] Called after the last line. */
	void (*finish)(struct importer *im);
	void (*release)(struct importer *im); /* [optional] releases what the state points to */
	size_t state_bytes;
};

#define IMPORT_FORMAT(name, title) extern const struct import_ops import_##name;
#include "import.def"
#undef IMPORT_FORMAT

/* Turns a call into events, and counts it. */
void import_call(struct importer *im, const struct import_call *call);
/* Call this when the thread has ended. */
void import_thread_end(struct importer *im, uint32_t thread, uint64_t ns);
/* A remark without a line: something is missing. */
void import_missing(struct importer *im, uint64_t how_many, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the next remark to fill in; NULL if there are enough. */
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

/* Reads digits of base 10 or 16 (with or without 0x), at most 64 bits. */
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

/* Reads blanks, then a number. */
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
 * Reads the arguments of a call, by letters: r allocated address, o freed address, s size, n number
 * of elements, a alignment; addresses hexadecimal, the others decimal.
 */
bool scan_call(const char **at, const char *shape, struct import_call *call);
