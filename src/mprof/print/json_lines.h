/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * json_lines.h - makes functions that write the fields of one-line JSON objects to a struct line
 * from rows of a .def file, without json-c: for output with many lines.  The rows are those of
 * json_rows.h; the caller writes the braces.  Strings are written unchanged.
 */
#pragma once

#include "line.h"

static inline void line_name(struct line *l, const char *name)
{
	line_text(l, l->at > l->buffer && l->at[-1] == '{' ? "\"" : ",\"");
	line_text(l, name);
	line_text(l, "\":");
}

#define JSON_BARE(...) __VA_ARGS__
#define JSON_OBJECT(object, title, parameters, help)      \
	static void object##_fields(JSON_BARE parameters) \
	{
#define JSON_END }
#define JSON_QUOTED(name, put) \
	line_name(l, name);    \
	line_char(l, '"');     \
	put;                   \
	line_char(l, '"');
#define NUMBER(name, value, help) \
	line_name(l, name);       \
	line_number(l, value);
#define FLAG(name, value, help) \
	line_name(l, name);     \
	line_text(l, value ? "true" : "false");
#define STRING(name, value, help)  JSON_QUOTED(name, line_text(l, value))
#define ADDRESS(name, value, help) JSON_QUOTED(name, line_hex(l, value))
#define ARGUMENT(name, type, help)
#define AFTER(object)
#define LOCAL(...) __VA_ARGS__;
#define WHEN(...)  if (__VA_ARGS__) {
#define OTHERWISE \
	}         \
	else      \
	{
#define END_WHEN }
