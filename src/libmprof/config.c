// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * config.c - MPROF_CONF: `KEY=VALUE KEY='VALUE WITH BLANKS' ...`.
 *
 * Keys, types, bounds and defaults are the rows of options.def.  Keys are matched whole; a value
 * may be quoted with ' or ".  The first error ends the parsing with one sentence that names it and
 * what is expected.  Strings live in one static buffer, as the configuration is read once.
 */
#include <errno.h>
#include <mprof/filters.h>
#include <mprof/signals.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "config.h"
#include "sys.h"
#include "text.h"

enum option_type {
	OPTION_MODULE_INIT,
	OPTION_MODULE_MODE,
	OPTION_PATH,
	OPTION_NUMBER,
	OPTION_UNWIND,
	OPTION_TEMPLATE,
	OPTION_SIGNAL,
	OPTION_WORDS,
	OPTION_GLOBS,
	OPTION_RANGES,
	OPTION_AMOUNT,
	OPTION_WRAPS,
};

struct option_row {
	const char *key, *def, *arg;
	enum option_type type;
	size_t offset; /* in struct mprof_config */
	uint64_t min, max;
};

static const struct option_row rows[] = {
#define MPROF_OPTION(key, field, type, def, min, max, arg, help) \
	{ #key, def, arg, OPTION_##type, offsetof(struct mprof_config, field), min, max },
#include <mprof/options.def>
#undef MPROF_OPTION
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static char strings[16384];
static size_t strings_used;

/* Finds the environment after our arguments on the stack: environ is not set before libc's
 * constructor. */
static char **initial_environ(void)
{
	extern void *__libc_stack_end;
	long count = __libc_stack_end ? *(long *)__libc_stack_end : -1;

	return count < 0 ? NULL : (char **)__libc_stack_end + 1 + count + 1;
}

const char *text_getenv(const char *name)
{
	size_t n = text_length(name), i;

	for (char **e = environ ? environ : initial_environ(); e && *e; e++) {
		for (i = 0; i < n && (*e)[i] == name[i]; i++)
			;
		if (i == n && (*e)[n] == '=')
			return *e + n + 1;
	}
	return NULL;
}

static void config_list_keys(struct text *why)
{
	for (size_t i = 0; i < ROWS; i++) {
		text_string(why, i ? ", " : "");
		text_string(why, rows[i].key);
	}
}

void mp_config_invalid(const char *key, const char *value, struct text *why)
{
	text_string(why, "invalid ");
	text_string(why, key);
	text_string(why, " '");
	text_string(why, value);
	text_string(why, "': expected ");
}

static int config_wrong(const struct option_row *row, const char *value, const char *expected,
			struct text *why)
{
	mp_config_invalid(row->key, value, why);
	text_string(why, expected);
	return -EINVAL;
}

static int config_set_number(const struct option_row *row, const char *value, void *field,
			     struct text *why)
{
	uint64_t n = 0;
	size_t used = text_parse(value, 10, &n);

	if (!used || value[used] || n < row->min || n > row->max) {
		mp_config_invalid(row->key, value, why);
		text_string(why, "a number from ");
		text_number(why, row->min);
		text_string(why, " to ");
		text_number(why, row->max);
		return -EINVAL;
	}
	*(uint64_t *)field = n;
	return 0;
}

static const char *const unwinders[] = {
#define MPROF_UNWINDER(id, name, help) #name,
#include <mprof/unwinders.def>
#undef MPROF_UNWINDER
};

static int is_unwinder(const char *value)
{
	for (size_t i = 0; i < sizeof(unwinders) / sizeof(*unwinders); i++)
		if (text_same(value, unwinders[i]))
			return 1;
	return 0;
}

int mp_has_word(const char *list, const char *s)
{
	while (*list) {
		size_t i = 0;

		while (s[i] && s[i] != ',' && list[i] == s[i])
			i++;
		if (i && (!s[i] || s[i] == ',') && (!list[i] || list[i] == ',' || list[i] == '|'))
			return 1;
		while (*list && *list != ',' && *list != '|')
			list++;
		list += *list != 0;
	}
	return 0;
}

static int check_words(const struct option_row *row, const char *value, struct text *why)
{
	int good = 1, several = 0;

	for (const char *s = value; *s && good;) {
		good = mp_has_word(row->arg, s);
		while (*s && *s != ',')
			s++;
		several |= *s != 0;
		s += *s != 0;
	}
	for (const char *s = row->arg; several && *s; s++)
		good &= *s != '|';
	return good ? 0 : config_wrong(row, value, row->arg, why);
}

/* Stores a value, which lies in `strings` or is a literal, so it stays valid. */
static int config_set(const struct option_row *row, const char *value, struct mprof_config *out,
		      struct text *why)
{
	void *field = (char *)out + row->offset;
	uint64_t n;

	if (row->type == OPTION_NUMBER)
		return config_set_number(row, value, field, why);
	if (row->type == OPTION_SIGNAL && *value && mprof_signal_number(value) < 0)
		return config_wrong(row, value, MPROF_SIGNALS_EXPECTED, why);
	if (row->type == OPTION_WORDS && check_words(row, value, why) < 0)
		return -EINVAL;
	if (row->type == OPTION_RANGES && mprof_ranges_have(value, 0) < 0)
		return config_wrong(row, value, "numbers, such as 0,4-7", why);
	if (row->type == OPTION_AMOUNT && *value && !mprof_amount(value, 0, &n))
		return config_wrong(row, value, "a size or percentage, such as 500M or 80%", why);
	if (row->type == OPTION_UNWIND && !is_unwinder(value)) {
		mp_config_invalid(row->key, value, why);
		for (size_t i = 0; i < sizeof(unwinders) / sizeof(*unwinders); i++) {
			text_string(why, i ? ", " : "");
			text_string(why, unwinders[i]);
		}
		return -EINVAL;
	}
	*(const char **)field = value;
	return 0;
}

static const struct option_row *config_find(const char *key, size_t n)
{
	for (size_t i = 0; i < ROWS; i++) {
		size_t j = 0;

		while (j < n && rows[i].key[j] == key[j])
			j++;
		if (j == n && !rows[i].key[n])
			return &rows[i];
	}
	return NULL;
}

static int is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Copies one value, quoted or not, into strings.  Returns the end of the value, or NULL if a
 * quote is not closed. */
static const char *config_copy_value(const char *at, const char **value)
{
	struct text t = text_on(strings + strings_used, sizeof(strings) - strings_used);
	char quote = *at == '\'' || *at == '"' ? *at++ : 0;

	while (*at && (quote ? *at != quote : !is_blank(*at)))
		text_char(&t, *at++);
	if (t.full || (quote && *at++ != quote))
		return NULL;
	*value = t.at;
	strings_used += t.used + 1;
	return at;
}

/* Reads one KEY=VALUE at *at and moves *at past it. */
static int config_read_one(const char **at, struct mprof_config *out, struct text *why)
{
	const char *key = *at, *value, *end = key;
	const struct option_row *row;

	while (*end && *end != '=' && !is_blank(*end))
		end++;
	row = *end == '=' ? config_find(key, (size_t)(end - key)) : NULL;
	if (!row) {
		text_string(why, *end == '=' ? "invalid key '" : "invalid word '");
		format_bytes(why, key, (size_t)(end - key));
		text_string(why, "' in MPROF_CONF: expected ");
		if (*end == '=')
			config_list_keys(why);
		else
			text_string(why, "KEY=VALUE");
		return -EINVAL;
	}
	*at = config_copy_value(end + 1, &value);
	if (!*at || (**at && !is_blank(**at))) {
		text_string(why, "invalid ");
		text_string(why, row->key);
		text_string(why,
			    " in MPROF_CONF: its value is too long, or its quote is not closed");
		return -EINVAL;
	}
	return config_set(row, value, out, why);
}

int mp_config_read(const char *conf, struct mprof_config *out, struct text *why)
{
	int ret = 0;

	strings_used = 0;
	for (size_t i = 0; i < ROWS; i++)
		config_set(&rows[i], rows[i].def, out, why);
	while (conf && *conf && !ret) {
		if (is_blank(*conf))
			conf++;
		else
			ret = config_read_one(&conf, out, why);
	}
	return ret;
}

static const char *first_env(const char *const *names)
{
	for (; *names; names++) {
		const char *value = text_getenv(*names);

		if (value && *value)
			return value;
	}
	return NULL;
}

const char *mp_job(void)
{
	static const char *const jobs[] = { MPROF_JOB_VARIABLES, NULL };

	return first_env(jobs);
}

const char *mp_rank(void)
{
	static const char *const ranks[] = { MPROF_RANK_VARIABLES, NULL };

	return first_env(ranks);
}

/* mprof preloads it if no variable has the rank; then we learn it after MPI_Init. */
static int config_asks_mpi(void)
{
	const char *list = text_getenv("LD_PRELOAD");

	return list && mprof_glob_matches("*libmprof_mpi.so*", list);
}

int mp_is_rank_wanted(const char *rank)
{
	uint64_t number = 0;

	if (!*mp_config.ranks)
		return 1;
	if (!rank)
		return config_asks_mpi();
	return text_parse(rank, 10, &number) && mprof_ranges_have(mp_config.ranks, number) > 0;
}

static int config_is_program_wanted(void)
{
	char exe[512];
	long n = sys_readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	/* The name that the program was called by: sh, even if that is dash; a script, not its
	 * interpreter. */
	const char *called = (const char *)getauxval(AT_EXECFN);

	exe[n > 0 ? n : 0] = 0;
	return mprof_globs_match(mp_config.only, exe) ||
	       (called && mprof_globs_match(mp_config.only, called));
}

int mp_is_wanted(void)
{
	return (!*mp_config.only || config_is_program_wanted()) && mp_is_rank_wanted(mp_rank());
}

/* Appends a value to a file name so that it cannot leave the directory. */
static void config_put_plain(struct text *out, const char *s)
{
	for (; *s; s++)
		text_char(out, *s == '/' ? '_' : *s);
}

static void config_put_program(struct text *out)
{
	const char *base = text_base(mp_known.exe);

	text_string(out, *base ? base : "unknown");
}

static void config_put_host(struct text *out)
{
	char name[6][65]; /* struct utsname of the kernel */

	if (mp_sys(SYS_uname, (long)name, 0, 0, 0, 0, 0) == 0)
		config_put_plain(out, name[1]);
}

static int config_put_escape(struct text *out, char c, int number)
{
	const char *value;

	switch (c) {
	case 'p':
		text_number(out, (uint64_t)sys_getpid());
		return 0;
	case 'n':
		if (number < 0)
			return -EINVAL;
		text_number(out, (uint64_t)number);
		return 0;
	case 'h':
		config_put_host(out);
		return 0;
	case 'e':
		config_put_program(out);
		return 0;
	case 'j':
	case 'r':
		value = c == 'j' ? mp_job() : mp_rank();
		config_put_plain(out, value ? value : "0");
		return 0;
	case '%':
		text_char(out, '%');
		return 0;
	}
	return -EINVAL;
}

static int expand(const char *path, int number, struct text *out)
{
	char cwd[4096];
	long n;

	if (path[0] != '/') {
		n = sys_getcwd(cwd, sizeof(cwd));
		if (n <= 0 || cwd[0] != '/')
			return -ENOENT;
		text_string(out, cwd);
		text_char(out, '/');
		while (path[0] == '.' && path[1] == '/')
			path += 2;
	}
	for (; *path; path++) {
		if (*path != '%')
			text_char(out, *path);
		else if (config_put_escape(out, *++path, number) < 0)
			return -EINVAL;
	}
	return out->full ? -ENAMETOOLONG : 0;
}

int mp_path_expand(const char *path, struct text *out)
{
	return expand(path, -1, out);
}

int mp_path_number(const char *path, int number, struct text *out)
{
	int numbered = 0;

	for (const char *s = path; *s && s[1]; s += *s == '%' ? 2 : 1)
		numbered |= *s == '%' && s[1] == 'n';
	if (expand(path, number, out) < 0)
		return -EINVAL;
	if (number && !numbered) {
		text_char(out, '.');
		text_number(out, (uint64_t)number);
	}
	return out->full ? -ENAMETOOLONG : 0;
}
