/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * option.h - the options of a command, as rows of a table: name, letter, type of the value, where
 * the value goes, help.
 *
 * --help, the manual page, the completions of the shells, the check of a value and the message for
 * an invalid one are all made from the row.  A file defines OPTIONS as the struct that its values
 * go to; a value whose member has another type than the row says does not compile.
 *
 *	#define OPTIONS struct options
 *	static const struct option_row options[] = {
 *		OPTION_FILE('o', "output", output, "Write to FILE"),
 *		OPTION_NUMBER(0, "top", "N", top, 0, UINT32_MAX, "Print at most N rows [20]"),
 *		OPTION_TITLE("Names:"),
 *		OPTION_ROWS(option_names, names),
 *		OPTION_END,
 *	};
 *
 * Further members of a row are given at its end: .example = "20", .given = OPTION_AT(member). In
 * the help, %s is replaced by the words of a row: "auto, always or never".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../run/library.h"
#include "../util/error.h"
#include "../util/word_list.h"

struct option_row;

/* The kinds of names that a shell completes for a value, besides words. */
enum option_complete { COMPLETE_NOTHING, COMPLETE_FILE, COMPLETE_DIRECTORY, COMPLETE_COMMAND };

struct option_type {
	const char *name; /* name of the kind of value: "number" */
	/* Stores the value of arg, NULL for a flag, at `to`.  0, or what option_invalid() returns.
	 */
	int (*take)(const struct option_row *row, const char *arg, void *to, struct error *err);
	const char *const *words; /* completed by a shell, besides the row's words; may be NULL */
	enum option_complete complete;
};

struct option_row {
	const char *name; /* NULL for a title, other rows, or the end */
	const char *arg;  /* name of the value in help; NULL if it has none */
	const char *help; /* in the imperative, with the default in brackets; the title itself */
	const struct option_type *type;
	size_t at, size;      /* the member of OPTIONS */
	uint64_t least, most; /* of numbers and sizes; of a flag that sets a member: its value */
	double low, high;     /* of numbers with a fraction */
	const char *const *words;
	const uint8_t *codes; /* for OPTION_WORDS, the bit of each word; NULL = its number */
	const char *example;
	const char *otherwise; /* the value if none was given; NULL if it is required */
	size_t given;	       /* OPTION_AT a bool that is set if a value was given; 0 if none */
	size_t named; /* OPTION_AT a const char * that becomes the option's name; 0 if none */
	const struct option_row *rows;
	char letter; /* 0 if it has none */
	bool dash;   /* of a file: - is standard output */
	bool once;   /* a second value would silently replace the first: refused */
	bool end;
};

/* ---- rows ---- */

/* As the arg of a row with words: the words themselves, "keep|clear". */
#define OPTION_EITHER "|"

#define OPTION_AT(member)   (offsetof(OPTIONS, member) + 1)
#define OPTION_SIZE(member) sizeof(((OPTIONS *)NULL)->member)
/* The place of a member that must have this type. */
#define OPTION_OF(kind, member)                                                                    \
	.size = OPTION_SIZE(member),                                                               \
	.at =                                                                                      \
	    offsetof(OPTIONS, member) +                                                            \
	    0 * sizeof(                                                                            \
		    char[__builtin_types_compatible_p(__typeof__(((OPTIONS *)NULL)->member), kind) \
			     ? 1                                                                   \
			     : -1])

#define OPTION_ROW(row_letter, row_name, row_arg, row_type, row_help) \
	.letter = row_letter, .name = row_name, .arg = row_arg, .type = row_type, .help = row_help

#define OPTION_END          \
	{                   \
		.end = true \
	}
#define OPTION_TITLE(text)   \
	{                    \
		.help = text \
	}
/* The rows of another table, whose OPTIONS is this member. */
#define OPTION_ROWS(table, member)                             \
	{                                                      \
		.rows = table, .at = offsetof(OPTIONS, member) \
	}
/* The same for a table whose values go to no struct. */
#define OPTION_ROWS_ALONE(table) \
	{                        \
		.rows = table    \
	}

#define OPTION_FLAG(letter, name, member, help, ...)                                         \
	{                                                                                    \
		OPTION_ROW(letter, name, NULL, &option_flag, help), OPTION_OF(bool, member), \
		    __VA_ARGS__                                                              \
	}
/* Sets a whole number or an enumerator. */
#define OPTION_SET(letter, name, member, value, help, ...)                                        \
	{                                                                                         \
		OPTION_ROW(letter, name, NULL, &option_set, help),                                \
		    .size = OPTION_SIZE(member), .at = offsetof(OPTIONS, member), .least = value, \
		    __VA_ARGS__                                                                   \
	}
/* Sets a bit of an unsigned. */
#define OPTION_BIT(letter, name, member, bit, help, ...)                                        \
	{                                                                                       \
		OPTION_ROW(letter, name, NULL, &option_bit, help), OPTION_OF(unsigned, member), \
		    .least = bit, __VA_ARGS__                                                   \
	}
/* A whole number of any width, both bounds included; most >= UINT32_MAX = no upper bound. */
#define OPTION_NUMBER(letter, name, arg, member, from, to, help, ...)                            \
	{                                                                                        \
		OPTION_ROW(letter, name, arg, &option_number, help),                             \
		    .size = OPTION_SIZE(member), .at = offsetof(OPTIONS, member), .least = from, \
		    .most = to, __VA_ARGS__                                                      \
	}
#define OPTION_REAL(letter, name, arg, member, from, to, help, ...)                           \
	{                                                                                     \
		OPTION_ROW(letter, name, arg, &option_real, help), OPTION_OF(double, member), \
		    .low = from, .high = to, __VA_ARGS__                                      \
	}
#define OPTION_PERCENT(letter, name, member, to, help, ...)                 \
	{                                                                   \
		OPTION_ROW(letter, name, "PERCENT", &option_percent, help), \
		    OPTION_OF(double, member), .high = to, __VA_ARGS__      \
	}
/* Bytes, at least `from`. */
#define OPTION_SIZE_FROM(letter, name, arg, member, from, help, ...)                            \
	{                                                                                       \
		OPTION_ROW(letter, name, arg, &option_size, help), OPTION_OF(uint64_t, member), \
		    .least = from, .most = UINT64_MAX, __VA_ARGS__                              \
	}
/* A..B: two uint64_t, both included, of which this is the first. */
#define OPTION_RANGE(letter, name, member, kind, help, ...)                                \
	{                                                                                  \
		OPTION_ROW(letter, name, "A..B", kind, help), OPTION_OF(uint64_t, member), \
		    __VA_ARGS__                                                            \
	}
/* Nanoseconds, an int64_t: a time since the start of the run. */
#define OPTION_TIME(letter, name, member, help, ...)                                              \
	{                                                                                         \
		OPTION_ROW(letter, name, "TIME", &option_time, help), OPTION_OF(int64_t, member), \
		    __VA_ARGS__                                                                   \
	}
/* A word out of a list that ends with NULL: its number goes to an enum, unsigned or bool. */
#define OPTION_WORD(letter, name, arg, member, list, help, ...)                                  \
	{                                                                                        \
		OPTION_ROW(letter, name, arg, &option_word, help),                               \
		    .size = OPTION_SIZE(member), .at = offsetof(OPTIONS, member), .words = list, \
		    __VA_ARGS__                                                                  \
	}
/* The same; stores the word itself. */
#define OPTION_WORD_TEXT(letter, name, arg, member, list, help, ...)            \
	{                                                                       \
		OPTION_ROW(letter, name, arg, &option_word_text, help),         \
		    OPTION_OF(const char *, member), .words = list, __VA_ARGS__ \
	}
/* Words separated by commas: sets their bits in an unsigned. */
#define OPTION_WORDS(letter, name, arg, member, list, help, ...)                                 \
	{                                                                                        \
		OPTION_ROW(letter, name, arg, &option_words, help), OPTION_OF(unsigned, member), \
		    .words = list, __VA_ARGS__                                                   \
	}
/* The same; stores the text. */
#define OPTION_WORDS_TEXT(letter, name, arg, member, list, help, ...)           \
	{                                                                       \
		OPTION_ROW(letter, name, arg, &option_words_text, help),        \
		    OPTION_OF(const char *, member), .words = list, __VA_ARGS__ \
	}
#define OPTION_TEXT(letter, name, arg, member, help, ...)          \
	{                                                          \
		OPTION_ROW(letter, name, arg, &option_text, help), \
		    OPTION_OF(const char *, member), __VA_ARGS__   \
	}
#define OPTION_FILE(letter, name, arg, member, help, ...)          \
	{                                                          \
		OPTION_ROW(letter, name, arg, &option_file, help), \
		    OPTION_OF(const char *, member), __VA_ARGS__   \
	}
#define OPTION_DIRECTORY(letter, name, member, help, ...)                 \
	{                                                                 \
		OPTION_ROW(letter, name, "DIR", &option_directory, help), \
		    OPTION_OF(const char *, member), __VA_ARGS__          \
	}
/* May be repeated: a list that ends with NULL, or NULL if it is empty; free() it. */
#define OPTION_LIST(letter, name, arg, member, kind, help, ...)                                    \
	{                                                                                          \
		OPTION_ROW(letter, name, arg, kind, help), OPTION_OF(const char *const *, member), \
		    __VA_ARGS__                                                                    \
	}
/* A value of another type. */
#define OPTION_CUSTOM(letter, name, arg, kind, member, custom_type, help, ...)             \
	{                                                                                  \
		OPTION_ROW(letter, name, arg, custom_type, help), OPTION_OF(kind, member), \
		    __VA_ARGS__                                                            \
	}
/* A value that is not stored in a member. */
#define OPTION_CALL(letter, name, arg, custom_type, help, ...)                \
	{                                                                     \
		OPTION_ROW(letter, name, arg, custom_type, help), __VA_ARGS__ \
	}

/* Rows that several commands share. */
#define OPTION_ALLOCATOR(member)                                                         \
	OPTION_CUSTOM('a', "allocator", "NAME", const char *, member, &option_allocator, \
		      ALLOCATOR_HELP)
#define OPTION_JSON(member) OPTION_FLAG('j', "json", member, "Print one JSON object")

extern const struct option_type option_flag, option_set, option_bit, option_number, option_real,
    option_percent, option_size, option_sizes, option_time, option_times, option_word,
    option_word_text, option_words, option_words_text, option_text, option_command, option_file,
    option_directory, option_files, option_directories, option_allocator, option_allocators;

/* --memory SIZE, for every command that reads files. */
extern const struct option_row option_memory[];
/* --color WHEN, for every command that prints for people; --no-pager, if it calls pager_start(). */
extern const struct option_row option_colour[], option_pager[];

/* ---- values ---- */

/*
 * Takes arg (NULL if none was given) as the value of a row, into the struct at `options`.  0, or
 * -EINVAL with *err.
 */
int option_take(const struct option_row *row, const char *arg, void *options, struct error *err);

/* "invalid --NAME 'VALUE': expected ..."; returns -EINVAL. */
int option_invalid(struct error *err, const struct option_row *row, const char *value,
		   const char *expected, ...) __attribute__((format(printf, 4, 5)));
/* The same for a word that is not in the list, with the nearest one. */
int option_unknown(struct error *err, const struct option_row *row, const char *word,
		   const char *const *list);

/* Adds an item to a list of OPTION_LIST. */
void option_add(const char *const **list, const char *item);
