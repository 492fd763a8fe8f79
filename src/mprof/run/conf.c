/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * conf.c - MPROF_CONF: parsed, checked, and written out again.
 *
 * KEY=VALUE words separated by white space; a VALUE that begins with ' or "
 * ends at the next one of its kind.  Keys are compared whole.
 */
#include "conf.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/filters.h>
#include <mprof/format.h>
#include <mprof/signals.h>

#include "../util/alloc.h"
#include "../util/word_list.h"
#include "elf.h"
#include "wrap.h"

enum type {
	MODULE_INIT,
	MODULE_MODE,
	PATH,
	NUMBER,
	UNWIND,
	TEMPLATE,
	SIGNAL,
	WORDS,
	GLOBS,
	RANGES,
	AMOUNT,
	WRAPS
};

static const struct option {
	const char *name, *value, *arg;
	enum type type;
	uint64_t min, max;
} options[CONF_KEYS] = {
#define MPROF_OPTION(key, field, type, value, min, max, arg, help) \
	[CONF_##key] = { #key, value, arg, type, min, max },
#include <mprof/options.def>
#undef MPROF_OPTION
};

static const char *const inits[] = {
#define MPROF_INIT(name, ops, help) #name,
#include <mprof/modules.def>
#undef MPROF_INIT
	NULL,
};
static const char *const modes[] = {
#define MPROF_MODE(name, ops, key, kind, help) #name,
#include <mprof/modules.def>
#undef MPROF_MODE
	NULL,
};
static const char *const unwinds[] = {
#define MPROF_UNWINDER(id, name, help) #name,
#include <mprof/unwinders.def>
#undef MPROF_UNWINDER
	NULL,
};
const char *const conf_keys[] = {
#define MPROF_OPTION(key, field, type, value, min, max, arg, help) #key,
#include <mprof/options.def>
#undef MPROF_OPTION
	NULL,
};

/* A module may also be the path of a shared object. */
static int check_module(struct error *err, const char *what, const char *word,
			const char *const *list)
{
	if (!strchr(word, '/'))
		return words_among(what, word, list, err) < 0 ? -EINVAL : 0;
	if (access(word, R_OK))
		return fail(err, -EINVAL, "%s '%s' cannot be read: %s", what, word,
			    strerror(errno));
	return 0;
}

static int check_number(struct error *err, const struct option *o, const char *value)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (!isdigit((unsigned char)value[0]) || *end || errno || n < o->min || n > o->max)
		return fail(err, -EINVAL, "invalid %s '%s': expected a number from %llu to %llu",
			    o->name, value, (unsigned long long)o->min, (unsigned long long)o->max);
	return 0;
}

static int check_path(struct error *err, const char *value)
{
	char *path;

	if (!*value)
		return 0;
	path = conf_expand(value, 1, "x", err);
	free(path);
	return path ? 0 : -EINVAL;
}

static int check_template(struct error *err, const struct option *o, const char *value)
{
	const char *s;

	for (s = value; *s; s++)
		if (*s == '%' && (!*++s || !strchr("pherjn%", *s)))
			return fail(err, -EINVAL,
				    "invalid %s '%s': expected %%p, %%h, %%e, %%j, %%r, %%n or %%%%"
				    " after a %%",
				    o->name, value);
	return 0;
}

static int check_signal(struct error *err, const struct option *o, const char *value)
{
	if (!*value || mprof_signal_number(value) > 0)
		return 0;
	return fail(err, -EINVAL, "invalid %s '%s': expected " MPROF_SIGNALS_EXPECTED, o->name,
		    value);
}

/* Checks for words of o->arg: several with commas if it separates them by commas, one if by |. */
static int check_words(struct error *err, const struct option *o, const char *value)
{
	const char *s = value, *word;
	size_t n;

	for (; *s; s += n + (s[n] != 0)) {
		n = strcspn(s, ",");
		for (word = o->arg; *word; word += strcspn(word, ",|"), word += *word != 0)
			if (strcspn(word, ",|") == n && !strncmp(word, s, n))
				break;
		if (!*word || (s[n] && strchr(o->arg, '|')))
			return fail(err, -EINVAL, "invalid %s '%s': expected %s", o->name, value,
				    o->arg);
	}
	return 0;
}

static int check_amount(struct error *err, const struct option *o, const char *value)
{
	uint64_t n;

	if (!*value || mprof_amount(value, 0, &n))
		return 0;
	return fail(err, -EINVAL,
		    "invalid %s '%s': expected a size or percentage, such as 500M or"
		    " 80%%",
		    o->name, value);
}

static int check_wraps(struct error *err, const struct option *o, const char *value)
{
	struct error why;

	return wrap_check(value, &why) ? fail(err, -EINVAL, "invalid %s: %s", o->name, why.text)
				       : 0;
}

static int check(struct error *err, const struct option *o, const char *value)
{
	switch (o->type) {
	case MODULE_INIT:
		return check_module(err, "INIT", value, inits);
	case MODULE_MODE:
		return check_module(err, "MODE", value, modes);
	case UNWIND:
		return words_among("UNWIND", value, unwinds, err) < 0 ? -EINVAL : 0;
	case NUMBER:
		return check_number(err, o, value);
	case PATH:
		return check_path(err, value);
	case TEMPLATE:
		return check_template(err, o, value);
	case SIGNAL:
		return check_signal(err, o, value);
	case WORDS:
		return check_words(err, o, value);
	case RANGES:
		if (mprof_ranges_have(value, 0) < 0)
			return fail(err, -EINVAL,
				    "invalid %s '%s': expected numbers, such as 0,4-7", o->name,
				    value);
		return 0;
	case AMOUNT:
		return check_amount(err, o, value);
	case WRAPS:
		return check_wraps(err, o, value);
	case GLOBS:
		return 0;
	}
	return 0;
}

int conf_set(struct conf *conf, enum conf_key key, const char *value, struct error *err)
{
	int code = check(err, &options[key], value);

	if (code)
		return code;
	free(conf->value[key]);
	conf->value[key] = must_strdup(value);
	return 0;
}

int conf_set_number(struct conf *conf, enum conf_key key, uint64_t value, struct error *err)
{
	char text[24];

	if (value > options[key].max)
		value = options[key].max;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	return conf_set(conf, key, text, err);
}

const char *conf_get(const struct conf *conf, enum conf_key key)
{
	return conf->value[key] ? conf->value[key] : options[key].value;
}

/* The key and the kind of the file that a MODE writes. */
#define MPROF_MAGIC_NONE ""
static const struct file {
	const char *mode, *key, *kind, *magic;
	enum conf_key id;
} files[] = {
#define MPROF_MODE(name, ops, key, kind, help) \
	{ #name, #key, #kind, MPROF_MAGIC_##kind, CONF_##key },
#include <mprof/modules.def>
#undef MPROF_MODE
};
#define FILES (sizeof(files) / sizeof(files[0]))

/* Reads the string that MPROF_MODE_FILE put into a module: "mprof_mode_file KEY KIND". */
static const struct file *file_of_module(const char *path)
{
	char said[64], key[32], kind[16];

	if (elf_string(path, "mprof_mode_file", said, sizeof(said)) ||
	    sscanf(said, "mprof_mode_file %31s %15s", key, kind) != 2)
		return NULL;
	for (size_t i = 0; i < FILES; i++)
		if (!strcmp(files[i].key, key) && !strcmp(files[i].kind, kind))
			return &files[i];
	return NULL;
}

enum conf_key conf_file(const struct conf *conf, const char **magic)
{
	const char *mode = conf_get(conf, CONF_MODE);
	const struct file *f = strchr(mode, '/') ? file_of_module(mode) : NULL;

	for (size_t i = 0; i < FILES && !f; i++)
		if (!strcmp(files[i].mode, mode))
			f = &files[i];
	*magic = f ? f->magic : "";
	return f ? f->id : CONF_NONE;
}

static int take_pair(struct conf *conf, const char *name, const char *value, struct error *err)
{
	int i;

	for (i = 0; i < CONF_KEYS; i++)
		if (!strcmp(options[i].name, name))
			return conf_set(conf, (enum conf_key)i, value, err);
	return words_unknown("key of MPROF_CONF", name, conf_keys, err);
}

/* Cuts the next KEY=VALUE out of *text (modified).  1, 0 at the end, -EINVAL. */
static int next_pair(char **text, char **name, char **value, struct error *err)
{
	char *p = *text + strspn(*text, " \t\n"), *end, quote;

	if (!*p)
		return 0;
	*name = p;
	p += strcspn(p, "= \t\n");
	if (*p != '=')
		return fail(err, -EINVAL, "invalid word '%.*s' in MPROF_CONF: expected KEY=VALUE",
			    (int)(p - *name), *name);
	*p++ = '\0';
	quote = *p == '\'' || *p == '"' ? *p : '\0';
	*value = quote ? ++p : p;
	end = quote ? strchr(p, quote) : p + strcspn(p, " \t\n");
	if (!end)
		return fail(err, -EINVAL, "invalid %s in MPROF_CONF: its quote is not closed",
			    *name);
	if (quote && end[1] && !strchr(" \t\n", end[1]))
		return fail(err, -EINVAL,
			    "invalid %s in MPROF_CONF: expected a blank after the closing quote",
			    *name);
	*text = *end ? end + 1 : end;
	*end = '\0';
	return 1;
}

int conf_parse(struct conf *conf, const char *text, struct error *err)
{
	char *copy = must_strdup(text ? text : ""), *at = copy, *name = NULL, *value = NULL;
	int code;

	while ((code = next_pair(&at, &name, &value, err)) > 0) {
		code = take_pair(conf, name, value, err);
		if (code)
			break;
	}
	free(copy);
	return code;
}

/* Returns the quotes that a value needs: "" if none; NULL if neither kind works. */
static const char *quotes_for(const char *value)
{
	if (*value && !strpbrk(value, " \t\n'\""))
		return "";
	if (!strchr(value, '\''))
		return "'";
	return strchr(value, '"') ? NULL : "\"";
}

char *conf_text(const struct conf *conf, struct error *err)
{
	char *text = NULL;
	const char *q;
	size_t size;
	FILE *out = must_memstream(&text, &size);
	int i;

	for (i = 0; i < CONF_KEYS; i++) {
		if (!conf->value[i])
			continue;
		q = quotes_for(conf->value[i]);
		if (!q)
			break;
		fprintf(out, "%s%s=%s%s%s", ftell(out) > 0 ? " " : "", options[i].name, q,
			conf->value[i], q);
	}
	must_close(out, &text);
	if (i == CONF_KEYS)
		return text;
	fail(err, -EINVAL, "%s=%s cannot have both kinds of quotes", options[i].name,
	     conf->value[i]);
	free(text);
	return NULL;
}

void conf_release(struct conf *conf)
{
	int i;

	for (i = 0; i < CONF_KEYS; i++) {
		free(conf->value[i]);
		conf->value[i] = NULL;
	}
}

/* Returns the first of these variables that is set. */
static const char *first_of(const char *const *names, const char *otherwise)
{
	for (; *names; names++)
		if (getenv(*names) && *getenv(*names))
			return getenv(*names);
	return otherwise;
}

static const char *job(void)
{
	static const char *const names[] = { MPROF_JOB_VARIABLES, NULL };

	return first_of(names, "0");
}

static char known_rank[32];

static const char *rank(void)
{
	static const char *const names[] = { MPROF_RANK_VARIABLES, NULL };

	return first_of(names, known_rank);
}

bool conf_knows_rank(void)
{
	return *rank();
}

void conf_set_rank(const char *number)
{
	snprintf(known_rank, sizeof(known_rank), "%s", number);
}

/* Writes a value for a file name, so that it does not lead into another directory. */
static void put_name(FILE *out, const char *name)
{
	for (; *name; name++)
		fputc(*name == '/' ? '_' : *name, out);
}

static int put_expansion(FILE *out, char letter, pid_t pid, const char *exe)
{
	char host[256] = "";

	switch (letter) {
	case 'p':
		fprintf(out, "%d", (int)pid);
		return 0;
	case 'h':
		gethostname(host, sizeof(host) - 1);
		put_name(out, host);
		return 0;
	case 'e':
		put_name(out, basename(exe));
		return 0;
	case 'j':
		put_name(out, job());
		return 0;
	case 'r':
		put_name(out, *rank() ? rank() : "0");
		return 0;
	case '%':
		fputc('%', out);
		return 0;
	default:
		return -EINVAL;
	}
}

char *conf_expand(const char *path, pid_t pid, const char *exe, struct error *err)
{
	char *text = NULL;
	const char *p;
	size_t size;
	FILE *out = must_memstream(&text, &size);

	for (p = path; *p; p++) {
		if (*p != '%') {
			fputc(*p, out);
		} else if (put_expansion(out, *++p, pid, exe)) {
			must_close(out, &text);
			free(text);
			fail(err, -EINVAL,
			     "'%s' contains %%%.1s: expected %%p %%h %%e %%j %%r %%%%", path, p);
			return NULL;
		}
	}
	must_close(out, &text);
	return text;
}
