/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * json_rows.h - makes functions that emit JSON objects from rows of a .def file.
 *
 * A row of a .def names a field, says where its value comes from and what it means.  A .c file
 * includes this header, then the .def; each object OBJ of it becomes
 *
 *   static void OBJ_fields(json *o, PARAMETERS);   adds its fields to o
 *
 * scripts/gendoc.c includes the same files: they are the reference in mprof-json(5), and the list
 * that tests/cli/json.py checks every answer against.  So the meaning is a sentence for users.
 * Fields are never renamed.
 *
 *   JSON_OBJECT(OBJ, "Title", (PARAMETERS), "what it is")   JSON_SHARED: not static
 *   ... rows ...
 *   JSON_END
 *
 * A row is KIND("name", value, "meaning").  A dot in a name makes an object: "sizes.min" is the
 * field min of the object sizes.  KIND_IF(known, ...) is null unless `known`.
 *
 *   NUMBER SIGNED FLAG STRING(const char *, NULL is null)
 *   RATIO (4 decimals)  DECIMAL (3 decimals)  REAL (all of them)  ADDRESS (hexadecimal string)
 *   MOMENT (ticks; as ns since the start; 0 is null; needs `a`, a struct analysis)
 *   MEMBER("name", OBJ, (arguments), "meaning")             an object
 *   ARRAY("name", OBJ, count, (arguments of i), "meaning")  an array of objects
 *   SOME("name", OBJ, count, which, (arguments of i), ...)  those for which `which` is true
 *   STRINGS NUMBERS("name", count, value of i, "meaning")   an array of these
 *   SOME_STRINGS SOME_NUMBERS("name", count, which, value of i, "meaning")
 *   MAP("name", count, known, name of i, value of i, "meaning")  an object of numbers whose names
 * 					    are data; only those that are known
 *   PRINTED("name", call, "meaning")	    the string that a call prints to `out`
 *   LIST("name", "type", "meaning") ... END_LIST   an array of several objects, by rows
 *	ELEMENTS(OBJ, count, which, (arguments of i))	as in SOME
 *   FIELD("name", "type", value, "meaning")  any other `json *`; the type as in the reference:
 * 					    "object OBJ", "array of OBJ", "array of numbers"
 *   ALSO(OBJ, (arguments))		    the fields of another object
 *   WHEN(condition) ... OTHERWISE ... END_WHEN   rows that may be missing
 *   OBJECTS("name", OBJ, count, known, name of i, (arguments of i), "meaning")  the same of objects
 *   ONLY(condition) row		    a row with an empty name adds no field
 *   AFTER(OBJ)				    the caller has added the fields of OBJ
 *   ROW_LIST(OBJ, "meaning")	    `rows` of a view, which views.c writes one by one
 *   LOCAL(declaration)			    of what rows below use
 */
#pragma once

#include "json.h"

#define JSON_BARE(...) __VA_ARGS__

/* A new object with these fields. */
#define JSON_NEW(object, ...)                          \
	({                                             \
		json *made = json_object_new_object(); \
		object##_fields(made, __VA_ARGS__);    \
		made;                                  \
	})

#define JSON_OBJECT(object, title, parameters, help)                \
	static void object##_fields(json *to, JSON_BARE parameters) \
	{
#define JSON_SHARED(object, title, parameters, help)         \
	void object##_fields(json *to, JSON_BARE parameters) \
	{
#define JSON_END }

#define NUMBER(name, value, help)      add_n(to, name, value);
#define SIGNED(name, value, help)      add_i(to, name, value);
#define FLAG(name, value, help)	       add_b(to, name, value);
#define STRING(name, value, help)      add_s(to, name, value);
#define RATIO(name, value, help)       add_decimals(to, name, 4, value);
#define DECIMAL(name, value, help)     add_decimals(to, name, 3, value);
#define REAL(name, value, help)	       add(to, name, json_object_new_double(value));
#define ADDRESS(name, value, help)     add_addr(to, name, value);
#define MOMENT(name, ticks, help)      add_ns(to, name, a, ticks);
#define FIELD(name, type, value, help) add(to, name, value);
#define ALSO(object, arguments)	       object##_fields(to, JSON_BARE arguments);
#define LOCAL(...)		       __VA_ARGS__;
#define ONLY(condition)		       if (condition)
#define AFTER(object)
#define ROW_LIST(object, help)
#define WHEN(...) if (__VA_ARGS__) {
#define OTHERWISE \
	}         \
	else      \
	{
#define END_WHEN }

#define JSON_KNOWN(known, name, row) \
	if (known) {                 \
		row                  \
	} else {                     \
		add(to, name, NULL); \
	}
#define NUMBER_IF(known, name, value, help)  JSON_KNOWN(known, name, NUMBER(name, value, help))
#define SIGNED_IF(known, name, value, help)  JSON_KNOWN(known, name, SIGNED(name, value, help))
#define STRING_IF(known, name, value, help)  JSON_KNOWN(known, name, STRING(name, value, help))
#define DECIMAL_IF(known, name, value, help) JSON_KNOWN(known, name, DECIMAL(name, value, help))
#define RATIO_IF(known, name, value, help)   JSON_KNOWN(known, name, RATIO(name, value, help))

#define MEMBER(name, object, arguments, help) add(to, name, JSON_NEW(object, JSON_BARE arguments));
#define MEMBER_IF(known, name, object, arguments, help) \
	JSON_KNOWN(known, name, MEMBER(name, object, arguments, help))

#define SOME(name, object, count, which, arguments, help) \
	add(to, name, JSON_LIST(count, which, JSON_NEW(object, JSON_BARE arguments)));
#define LIST(name, type, help)                      \
	{                                           \
		const char *const list_name = name; \
		json *list = json_object_new_array();
#define ELEMENTS(object, count, which, arguments) \
	JSON_EACH(list, count, which, JSON_NEW(object, JSON_BARE arguments))
#define END_LIST                  \
	add(to, list_name, list); \
	}
#define PRINTED(name, call, help)		    add(to, name, json_take(WRITTEN(out, call)));
#define ARRAY(name, object, count, arguments, help) SOME(name, object, count, true, arguments, help)
#define SOME_STRINGS(name, count, which, value, help) \
	add(to, name, JSON_LIST(count, which, json_string(value)));
#define STRINGS(name, count, value, help) SOME_STRINGS(name, count, true, value, help)
#define OBJECTS(name, object, count, known, key, arguments, help)                              \
	{                                                                                      \
		json *map = json_object_new_object();                                          \
		for (size_t i = 0; i < (size_t)(count); i++)                                   \
			if (known)                                                             \
				json_object_object_add(map, key,                               \
						       JSON_NEW(object, JSON_BARE arguments)); \
		add(to, name, map);                                                            \
	}
#define SOME_NUMBERS(name, count, which, value, help) \
	add(to, name, JSON_LIST(count, which, json_object_new_uint64(value)));
#define NUMBERS(name, count, value, help) SOME_NUMBERS(name, count, true, value, help)
#define MAP(name, count, known, key, value, help)                                                \
	{                                                                                        \
		json *map = json_object_new_object();                                            \
		for (size_t i = 0; i < (size_t)(count); i++)                                     \
			if (known)                                                               \
				json_object_object_add(map, key, json_object_new_uint64(value)); \
		add(to, name, map);                                                              \
	}
