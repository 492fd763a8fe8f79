// SPDX-License-Identifier: LGPL-3.0-or-later
/* option.c - types of values of options. */
#include "option.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/runner.h>

#include "../util/alloc.h"
#include "../util/memory.h"
#include "../util/pager.h"
#include "../util/ranges.h"
#include "../util/terminal.h"

int option_invalid(struct error *err, const struct option_row *row, const char *value,
		   const char *expected, ...)
{
	char text[384];
	va_list args;

	va_start(args, expected);
	vsnprintf(text, sizeof(text), expected, args);
	va_end(args);
	return fail(err, -EINVAL, "invalid --%s '%.60s': expected %s%s%s", row->name, value, text,
		    row->example ? ", for example " : "", row->example ? row->example : "");
}

int option_unknown(struct error *err, const struct option_row *row, const char *word,
		   const char *const *list)
{
	char name[64];

	snprintf(name, sizeof(name), "--%s", row->name);
	return words_unknown(name, word, list, err);
}

/* No value is empty: it is a variable of a script that is not set. */
static int refuse_empty(const struct option_row *row, struct error *err)
{
	const char *const *words = row->words ? row->words : row->type->words;

	return words ? option_unknown(err, row, "", words)
		     : option_invalid(err, row, "", "%s", row->arg);
}

int option_take(const struct option_row *row, const char *arg, void *options, struct error *err)
{
	char *base = options;
	int ret = 0;

	if (!arg)
		arg = row->otherwise;
	if (arg || !row->arg)
		ret = row->type->take(row, arg, base + row->at, err);
	if (!ret && arg && !*arg)
		ret = refuse_empty(row, err);
	if (ret)
		return ret;
	if (row->given)
		*(bool *)(base + row->given - 1) = true;
	if (row->named)
		*(const char **)(base + row->named - 1) = row->name;
	return 0;
}

/* ---- flags and whole numbers ---- */

static void store(const struct option_row *row, void *to, uint64_t n)
{
	switch (row->size) {
	case 1:
		*(uint8_t *)to = (uint8_t)n;
		break;
	case 2:
		*(uint16_t *)to = (uint16_t)n;
		break;
	case 4:
		*(uint32_t *)to = (uint32_t)n;
		break;
	default:
		*(uint64_t *)to = n;
	}
}

static int take_flag(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	*(bool *)to = true;
	return 0;
}

static int take_set(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	store(row, to, row->least);
	return 0;
}

static int take_bit(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	*(unsigned *)to |= (unsigned)row->least;
	return 0;
}

static int take_number(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t n;

	if (!parse_whole(arg, row->least, row->most, &n)) {
		store(row, to, n);
		return 0;
	}
	if (row->most >= UINT32_MAX)
		return option_invalid(err, row, arg, "a whole number from %" PRIu64, row->least);
	return option_invalid(err, row, arg, "a number from %" PRIu64 " to %" PRIu64, row->least,
			      row->most);
}

/* ---- numbers with a fraction, sizes ---- */

static int take_real(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	double v;

	if (parse_fraction(arg, "", &v) || !(v >= row->low && v <= row->high))
		return option_invalid(err, row, arg, "a number from %g to %g", row->low, row->high);
	*(double *)to = v;
	return 0;
}

static int take_percent(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	double v;

	if (parse_fraction(arg, "%", &v) || v > row->high)
		return option_invalid(err, row, arg, "a percentage from 0 to %.15g", row->high);
	*(double *)to = v;
	return 0;
}

static int take_size(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t n;

	if (parse_size(arg, &n) || n < row->least) {
		if (row->least > 1)
			return option_invalid(err, row, arg, "a size of at least %" PRIu64 "%s",
					      row->least >> (row->least >> 20 ? 20 : 0),
					      row->least >> 20 ? "M" : " bytes");
		return option_invalid(err, row, arg, "a size%s such as 100, 64K or 1.5M",
				      row->least ? " above 0" : "");
	}
	*(uint64_t *)to = n;
	return 0;
}

static int take_time(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	const bool before = *arg == '-';
	uint64_t ns;

	if (parse_time(arg + before, &ns))
		return option_invalid(err, row, arg, "a time such as 20ms, 3us or 1.5s");
	*(int64_t *)to = before ? -(int64_t)ns : (int64_t)ns;
	return 0;
}

static int take_range(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	const bool sizes = row->type == &option_sizes;
	uint64_t *range = to;

	if (!(sizes ? parse_sizes : parse_times)(arg, &range[0], &range[1]))
		return 0;
	return option_invalid(err, row, arg, "a range such as %s, the smaller first",
			      sizes ? "64..1K, 1M.. or ..100" : "1ms..2s, 10s.. or ..5us");
}

/* ---- words ---- */

static int take_word(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	for (unsigned i = 0; row->words[i]; i++)
		if (!strcmp(row->words[i], arg)) {
			store(row, to, i);
			return 0;
		}
	return option_unknown(err, row, arg, row->words);
}

static int take_word_text(const struct option_row *row, const char *arg, void *to,
			  struct error *err)
{
	const struct option_row number = { .size = sizeof(unsigned),
					   .name = row->name,
					   .words = row->words };
	unsigned i = 0;
	int ret = take_word(&number, arg, &i, err);

	if (!ret)
		*(const char **)to = row->words[i];
	return ret;
}

static int take_words(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	const struct option_row number = { .size = sizeof(unsigned),
					   .name = row->name,
					   .words = row->words };
	char word[64];
	unsigned bits = 0, i = 0;
	size_t n;
	int ret;

	for (;; arg += n + 1) {
		n = strcspn(arg, ",");
		snprintf(word, sizeof(word), "%.*s", (int)n, arg);
		ret = take_word(&number, word, &i, err);
		if (ret)
			return ret;
		bits |= 1u << (row->codes ? row->codes[i] : i);
		if (!arg[n])
			break;
	}
	*(unsigned *)to |= bits;
	return 0;
}

static int take_words_text(const struct option_row *row, const char *arg, void *to,
			   struct error *err)
{
	unsigned bits = 0;
	int ret = take_words(row, arg, &bits, err);

	if (!ret)
		*(const char **)to = arg;
	return ret;
}

/* ---- text, names of files ---- */

static int take_text(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	*(const char **)to = arg;
	return 0;
}

void option_add(const char *const **list, const char *item)
{
	const char **grown;
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	grown = must_reallocarray((void *)*list, n + 2, sizeof(*grown));
	grown[n] = item;
	grown[n + 1] = NULL;
	*list = grown;
}

static int take_texts(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	option_add(to, arg);
	return 0;
}

static int check_path(const struct option_row *row, const char *arg, struct error *err)
{
	const bool dash = !strcmp(arg, "-");

	if (*arg && (!dash || row->dash))
		return 0;
	if (!*arg && row->words)
		return option_unknown(err, row, arg, row->words);
	return option_invalid(err, row, arg, "the name of a %s%s", row->type->name,
			      dash ? ", not a standard stream" : "");
}

static int take_path(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	int ret = check_path(row, arg, err);

	return ret ? ret : take_text(row, arg, to, err);
}

static int take_paths(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	int ret = check_path(row, arg, err);

	return ret ? ret : take_texts(row, arg, to, err);
}

#define ALLOCATOR(name, soname, package) name,
static const char *const allocators[] = { MPROF_ALLOCATORS(ALLOCATOR) NULL };
static const char *const allocators_all[] = { MPROF_ALLOCATORS(ALLOCATOR) "all", NULL };

const struct option_type option_flag = { "flag", take_flag, NULL, COMPLETE_NOTHING };
const struct option_type option_set = { "flag", take_set, NULL, COMPLETE_NOTHING };
const struct option_type option_bit = { "flag", take_bit, NULL, COMPLETE_NOTHING };
const struct option_type option_number = { "number", take_number, NULL, COMPLETE_NOTHING };
const struct option_type option_real = { "number", take_real, NULL, COMPLETE_NOTHING };
const struct option_type option_percent = { "percent", take_percent, NULL, COMPLETE_NOTHING };
const struct option_type option_size = { "size", take_size, NULL, COMPLETE_NOTHING };
const struct option_type option_sizes = { "sizes", take_range, NULL, COMPLETE_NOTHING };
const struct option_type option_times = { "times", take_range, NULL, COMPLETE_NOTHING };
const struct option_type option_time = { "time", take_time, NULL, COMPLETE_NOTHING };
const struct option_type option_word = { "word", take_word, NULL, COMPLETE_NOTHING };
const struct option_type option_word_text = { "word", take_word_text, NULL, COMPLETE_NOTHING };
const struct option_type option_words = { "words", take_words, NULL, COMPLETE_NOTHING };
const struct option_type option_words_text = { "words", take_words_text, NULL, COMPLETE_NOTHING };
const struct option_type option_text = { "text", take_text, NULL, COMPLETE_NOTHING };
const struct option_type option_command = { "text", take_text, NULL, COMPLETE_COMMAND };
const struct option_type option_file = { "file", take_path, NULL, COMPLETE_FILE };
const struct option_type option_files = { "file", take_paths, NULL, COMPLETE_FILE };
const struct option_type option_directory = { "directory", take_path, NULL, COMPLETE_DIRECTORY };
const struct option_type option_directories = { "directory", take_paths, NULL, COMPLETE_DIRECTORY };
/* Looked up by allocator_resolve() and variants_parse(), which know what is installed. */
const struct option_type option_allocator = { "allocator", take_text, allocators, COMPLETE_FILE };
const struct option_type option_allocators = { "allocator", take_texts, allocators_all,
					       COMPLETE_FILE };

/* ---- options of many commands ---- */

static int take_memory(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t bytes;
	int ret = take_size(row, arg, &bytes, err);

	if (!ret)
		memory_cap_at(bytes);
	return ret;
}

static int take_colour(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	return terminal_set_colour(arg) ? 0 : option_unknown(err, row, arg, row->words);
}

static int take_no_pager(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	pager_off();
	return 0;
}

static const struct option_type memory = { "size", take_memory, NULL, COMPLETE_NOTHING };
static const struct option_type colour = { "word", take_colour, NULL, COMPLETE_NOTHING };
static const struct option_type no_pager = { "flag", take_no_pager, NULL, COMPLETE_NOTHING };

const struct option_row option_memory[] = {
	OPTION_TITLE("Other options:"),
	OPTION_CALL(0, "memory", "SIZE", &memory,
		    "Use at most this much memory, such as 4G [1 GiB + 256 times the size of the "
		    "file]",
		    .least = (uint64_t)64 << 20),
	OPTION_END,
};

const struct option_row option_colour[] = {
	OPTION_TITLE("Other options:"),
	OPTION_CALL(0, "color", OPTION_EITHER, &colour,
		    "Use colour: on a terminal, always or never [auto]", .words = words_COLOUR,
		    .otherwise = "always"),
	OPTION_END,
};

const struct option_row option_pager[] = {
	OPTION_TITLE("Other options:"),
	OPTION_CALL(0, "no-pager", NULL, &no_pager,
		    "Do not send a long answer on a terminal to a pager"),
	OPTION_END,
};
