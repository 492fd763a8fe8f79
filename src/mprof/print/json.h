/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * json.h - short functions for members of JSON objects.
 *
 * json-c takes NULL for null: without memory an answer would have nulls where
 * values belong.  Strings in a trace may not be valid UTF-8, as JSON requires: invalid bytes become
 * U+FFFD.
 */
#pragma once

#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../util/utf8.h"

typedef struct json_object json;

/* Returns a new string, which the caller owns. */
json *json_string(const char *s);
/* The same for a string that it frees. */
json *json_take(char *s);
/*
 * Write to a stream without json-c, for output in pieces: a string in quotes; members of an object
 * after its first one.
 */
void json_put(FILE *out, const char *s);
void json_put_s(FILE *out, const char *name, const char *s);
void json_put_n(FILE *out, const char *name, uint64_t n);
/* Returns o as JSON, by json-c's flags; o owns it.  A NULL o ends the program: memory ran out. */
const char *json_text(json *o, int flags);
/* Prints o, indented, as a command's answer, and releases it.  A NULL o ends the program: memory
 * ran out (../util/memory.h). */
void json_print(FILE *out, json *o);

/*
 * Sets a member of o, or for "group.name" of its member "group", which is made if necessary.  A
 * NULL v is null.
 */
void add(json *o, const char *name, json *v);

static inline void add_n(json *o, const char *name, uint64_t n)
{
	add(o, name, json_object_new_uint64(n));
}

static inline void add_i(json *o, const char *name, int64_t n)
{
	add(o, name, json_object_new_int64(n));
}

static inline void add_b(json *o, const char *name, bool b)
{
	add(o, name, json_object_new_boolean(b));
}

static inline void add_s(json *o, const char *name, const char *s)
{
	add(o, name, s ? json_string(s) : NULL);
}

static inline void add_decimals(json *o, const char *name, int decimals, double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*f", decimals, v);
	add(o, name, json_object_new_double_s(v, text));
}

static inline void add_addr(json *o, const char *name, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIx64, addr);
	add_s(o, name, text);
}

/* Adds an element for each i below count for which `which` is true. */
#define JSON_EACH(list, count, which, element)                \
	for (size_t i = 0; i < (size_t)(count); i++) {        \
		if (which)                                    \
			json_object_array_add(list, element); \
	}

/* A new array of them. */
#define JSON_LIST(count, which, element)                 \
	({                                               \
		json *listed = json_object_new_array();  \
		JSON_EACH(listed, count, which, element) \
		listed;                                  \
	})
