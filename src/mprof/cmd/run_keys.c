// SPDX-License-Identifier: LGPL-3.0-or-later
/* run_keys.c - options that are keys of MPROF_CONF. */
#include "run_keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/filters.h>
#include <mprof/signals.h>

#include "../run/settings.h"
#include "../run/wrap.h"
#include "../util/alloc.h"
#include "../util/ranges.h"
#include "cmd.h"
#include "run_messages.h"

static const struct {
	uint64_t least, most;
	const char *unit;
} keys[CONF_KEYS] = {
#define MPROF_OPTION(key, field, type, value, min, max, arg, help) { min, max, arg },
#include <mprof/options.def>
#undef MPROF_OPTION
};

static const char *const unwinders[] = {
#define MPROF_UNWINDER(id, name, help) #name,
#include <mprof/unwinders.def>
#undef MPROF_UNWINDER
	NULL,
};

#define SECOND 1000000000u /* ns */

static int take_seconds(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t ns;

	if (parse_time(arg, &ns) || ns % SECOND || ns / SECOND > keys[row->least].most)
		return option_invalid(err, row, arg, "whole seconds, for example 30s or 10min");
	*(uint64_t *)to = ns / SECOND;
	return 0;
}

static int take_key(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	const uint64_t least = keys[row->least].least, most = keys[row->least].most;
	const bool bytes = !strcmp(keys[row->least].unit, "BYTES");
	uint64_t n;

	if (!bytes && parse_whole(arg, least, most, &n))
		return option_invalid(err, row, arg, "a number from %" PRIu64 " to %" PRIu64, least,
				      most);
	if (bytes && (parse_size(arg, &n) || n < least || n > most))
		return option_invalid(err, row, arg, "a size from %" PRIu64 " to %" PRIu64 "G",
				      least, most >> 30);
	*(uint64_t *)to = n;
	return 0;
}

static int take_signal(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	if (mprof_signal_number(arg) < 0)
		return option_invalid(err, row, arg, "%s", MPROF_SIGNALS_EXPECTED);
	*(const char **)to = arg;
	return 0;
}

static const char *const signals[] = {
#define X(name) #name,
	MPROF_SIGNALS(X)
#undef X
	    NULL,
};

static int take_ranges(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	const int zero = mprof_ranges_have(arg, 0);

	if (zero < 0 || (zero && row->least))
		return option_invalid(err, row, arg,
				      row->least ? "numbers from 1, such as 1,4-7"
						 : "numbers, such as 0,4-7");
	*(const char **)to = arg;
	return 0;
}

static int take_amount(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t n;

	if (!mprof_amount(arg, 0, &n))
		return option_invalid(err, row, arg, "a size or percentage, such as 500M or 80%%");
	*(const char **)to = arg;
	return 0;
}

/* A key whose values are words. */
static int take_word(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct conf scratch = { { NULL } };
	struct error why;
	const int ret = conf_set(&scratch, (enum conf_key)row->least, arg, &why);

	conf_release(&scratch);
	if (ret)
		return option_invalid(err, row, arg, "%s", keys[row->least].unit);
	*(const char **)to = arg;
	return 0;
}

static int take_setting(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct conf scratch = { { NULL } };
	struct error why;
	const int ret = settings_one(&scratch, arg, &why);

	conf_release(&scratch);
	if (ret)
		return fail(err, ret, "invalid --%s '%s': %s", row->name, arg, why.text);
	option_add(to, arg);
	return 0;
}

static int take_wrap(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct error why;
	char *prefix = row->least ? must_printf("%s*", arg) : NULL;
	const int ret = wrap_check(prefix ? prefix : arg, &why);

	free(prefix);
	if (ret)
		return fail(err, ret, "invalid --%s %s", row->name, why.text);
	option_add(to, arg);
	return 0;
}

const struct option_type option_amount = { "size", take_amount, NULL, COMPLETE_NOTHING };
const struct option_type option_key_word = { "word", take_word, NULL, COMPLETE_NOTHING };
const struct option_type option_ranges = { "numbers", take_ranges, NULL, COMPLETE_NOTHING };
static const struct option_type setting_type = { "setting", take_setting, NULL, COMPLETE_NOTHING };
static const struct option_type wrap_type = { "functions", take_wrap, NULL, COMPLETE_NOTHING };
const struct option_type option_signal = { "signal", take_signal, signals, COMPLETE_NOTHING };
static const struct option_type seconds_type = { "time", take_seconds, NULL, COMPLETE_NOTHING };
const struct option_type option_key = { "number", take_key, NULL, COMPLETE_NOTHING };

#define OPTIONS struct run_keys
#define OPTION_SECONDS(name, key, help)                                                   \
	OPTION_CUSTOM(0, name, "TIME", uint64_t, number[CONF_##key], &seconds_type, help, \
		      .least = CONF_##key, .given = OPTION_AT(given[CONF_##key]))
const struct option_row option_run_stacks[] = {
	OPTION_WORD_TEXT(0, "unwind", "HOW", word[CONF_UNWIND], unwinders,
			 "Find call stacks by %s [auto]"),
	OPTION_CUSTOM(0, "depth", "FRAMES", uint64_t, number[CONF_DEPTH], &option_key,
		      "Keep this many innermost frames of each stack [65535]", .least = CONF_DEPTH,
		      .given = OPTION_AT(given[CONF_DEPTH])),
	OPTION_FLAG(0, "python", python, "Show functions and lines of Python scripts"),
	OPTION_END,
};

const struct option_row option_run_settings[] = {
	OPTION_TITLE("Processes to record:"),
	OPTION_TEXT(0, "only", "GLOB[,GLOB]", word[CONF_ONLY],
		    "Record only programs whose name matches"),
	OPTION_KEY_HERE_SET("no-children", CHILDREN, 0, "Record only the first process"),
	OPTION_CUSTOM(0, "ranks", "N[-M][,...]", const char *, word[CONF_RANKS], &option_ranges,
		      "Record only these MPI ranks, such as 0,4-7"),
	OPTION_TITLE("Functions to record:"),
	OPTION_LIST(
	    0, "wrap", "TYPE:FUNCTION[,...]", wrap, &wrap_type,
	    "Also record calls of FUNCTION, as calls of TYPE: malloc, free, calloc, realloc, "
	    "posix_memalign ...; may be repeated"),
	OPTION_LIST(0, "wrap-prefix", "PREFIX", wrap_prefix, &wrap_type,
		    "The same for PREFIXmalloc, PREFIXfree and so on, such as je_; may be repeated",
		    .least = 1),
	OPTION_TITLE("Settings:"),
	OPTION_WORD_TEXT(0, "preset", "NAME", preset, settings_presets,
			 "Start from settings for a purpose: %s"),
	OPTION_FILE(0, "config", "FILE", config, "Read settings from FILE"),
	OPTION_LIST(0, "set", "SECTION:KEY=VALUE", set, &setting_type,
		    "Set a key of MPROF_CONF; may be repeated"),
	OPTION_FLAG(0, "show-config", show,
		    "Print the settings, as --config reads them, and run nothing"),
	OPTION_KEY_HERE_SET("anonymous", ANONYMOUS, 1,
			    "Leave host, arguments, directory and thread names out of the file"),
	OPTION_FLAG('q', "quiet", quiet, "Print errors only"),
	OPTION_END,
};

const struct option_row option_run_totals[] = {
	OPTION_TITLE("Blocks to count:"),
	OPTION_CUSTOM(0, "threads", "N[-M][,...]", const char *, word[CONF_THREADS], &option_ranges,
		      "Count only what these threads allocate; the main thread is 1", .least = 1),
	OPTION_KEY_HERE("stack-min-size", "BYTES", STACK_MIN_SIZE,
			"Count smaller blocks together, without a stack"),
	OPTION_KEY_HERE("stack-max-size", "BYTES", STACK_MAX_SIZE, "Count larger blocks together"),
	OPTION_KEY_HERE_SET("site-sizes", SITE_SIZES, 1,
			    "Keep the sizes of each call stack, for mprof report hot --by size"),
	OPTION_KEY_HERE_SET("hide-zero-live", HIDE_ZERO_LIVE, 1,
			    "Leave out stacks without live blocks in folded stacks"),
	OPTION_KEY_HERE_SET(
	    "paused", PAUSED, 1,
	    "Count no blocks until mprof ctl PID resume, or the program asks for it"),
	OPTION_TITLE("Dumps during the run:"),
	OPTION_WORDS_TEXT(0, "dump", "WHAT", word[CONF_DUMP], words_EXIT_FORM,
			  "Write %s in each dump; separate several by commas [text]"),
	OPTION_CUSTOM(0, "dump-signal", "SIGNAL", const char *, word[CONF_DUMP_SIGNAL],
		      &option_signal, "Write a dump whenever a process gets SIGNAL, such as USR1"),
	OPTION_SECONDS("dump-after", DUMP_AFTER, "Write a dump TIME after the start"),
	OPTION_SECONDS("dump-every", DUMP_EVERY, "Write a dump every TIME, such as 30s or 10min"),
	OPTION_KEY_HERE("dump-calls", "CALLS", DUMP_CALLS, "Write a dump every CALLS allocations"),
	OPTION_KEY_HERE("dump-peak", "PERCENT", DUMP_PEAK,
			"Write a dump when the peak exceeds that of the last dump by this much"),
	OPTION_AMOUNT("dump-requested", word[CONF_DUMP_REQUESTED],
		      "Write a dump when live blocks exceed SIZE, such as 500M or 80%"),
	OPTION_AMOUNT("dump-rss", word[CONF_DUMP_RSS],
		      "Write a dump when resident memory exceeds SIZE"),
	OPTION_AMOUNT("dump-virtual", word[CONF_DUMP_VIRTUAL],
		      "Write a dump when the address space exceeds SIZE"),
	OPTION_AMOUNT("dump-system", word[CONF_DUMP_SYSTEM],
		      "Write a dump when all processes on the machine use more than SIZE"),
	OPTION_AMOUNT("dump-stack", word[CONF_DUMP_STACK],
		      "Write a dump when the stack of an allocating thread exceeds SIZE"),
	OPTION_END,
};

int run_keys_check(const struct run_keys *k, char *const *argv, const char *missing,
		   struct error *err)
{
	return argv || k->show ? 0 : fail(err, -EINVAL, "%s", missing);
}

bool run_keys_given(const struct run_keys *k)
{
	bool given = k->allocator || k->preset || k->config || k->set || k->show || k->quiet ||
		     k->wrap || k->wrap_prefix;

	for (int key = 0; key < CONF_KEYS; key++)
		given = given || k->word[key] || k->given[key];
	return given;
}

void run_keys_release(struct run_keys *k)
{
	free((void *)k->set);
	free((void *)k->wrap);
	free((void *)k->wrap_prefix);
}

/* Sets keys that have no separate option. */
static int set_texts(struct conf *conf, const struct run_keys *k, struct error *err)
{
	int ret = k->preset ? settings_preset(conf, k->preset, err) : 0;

	if (!ret && k->config)
		ret = settings_file(conf, k->config, err);
	for (size_t i = 0; !ret && k->set && k->set[i]; i++)
		ret = settings_one(conf, k->set[i], err);
	return ret;
}

static int set_wrap(struct conf *conf, const struct run_keys *k, struct error *err)
{
	char *text = NULL;
	size_t size;
	FILE *out = must_memstream(&text, &size);
	const char *comma = "";
	int ret = 0;

	for (size_t i = 0; k->wrap && k->wrap[i]; i++, comma = ",")
		fprintf(out, "%s%s", comma, k->wrap[i]);
	for (size_t i = 0; k->wrap_prefix && k->wrap_prefix[i]; i++, comma = ",")
		fprintf(out, "%s%s*", comma, k->wrap_prefix[i]);
	must_close(out, &text);
	if (*text)
		ret = conf_set(conf, CONF_WRAP, text, err);
	free(text);
	return ret;
}

bool run_keys_set(struct run_plan *plan, const struct run_keys *k, const char *mode,
		  enum conf_key file, const char *path)
{
	struct error err;
	int key, ret = set_texts(&plan->conf, k, &err);

	plan->quiet = k->quiet;
	plan->python = k->python;
	if (k->quiet)
		plan->starting = NULL;
	if (!ret && mode)
		ret = conf_set(&plan->conf, CONF_MODE, mode, &err);
	if (!ret && path)
		ret = conf_set(&plan->conf, file, path, &err);
	if (!ret)
		ret = set_wrap(&plan->conf, k, &err);
	for (key = 0; key < CONF_KEYS && !ret; key++)
		if (k->word[key])
			ret = conf_set(&plan->conf, key, k->word[key], &err);
		else if (k->given[key])
			ret = conf_set_number(&plan->conf, key, k->number[key], &err);
	if (ret)
		cmd_error(0, "%s", err.text);
	return !ret && run_messages_allocator(plan, k->allocator);
}
