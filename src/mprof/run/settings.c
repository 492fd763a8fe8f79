// SPDX-License-Identifier: LGPL-3.0-or-later
/* settings.c - configuration files, overrides and presets. */
#include "settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../util/alloc.h"
#include "../util/ranges.h"
#include "../util/text_lines.h"
#include "../util/word_list.h"

/* Sections and keys, in the order of options.def: each row has a section or a key. */
static const struct row {
	const char *section, *help, *key, *arg;
	enum conf_key id;
} rows[] = {
#define MPROF_SECTION(name, help) { #name, help, NULL, NULL, CONF_NONE },
#define MPROF_OPTION(key, field, type, value, min, max, arg, help) \
	{ NULL, help, #key, arg, CONF_##key },
#include <mprof/options.def>
#undef MPROF_OPTION
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static const char *const sections[] = {
#define MPROF_SECTION(name, help) #name,
#define MPROF_OPTION(key, field, type, value, min, max, arg, help)
#include <mprof/options.def>
#undef MPROF_OPTION
	NULL,
};

static const struct {
	const char *name, *text;
} presets[] = {
#define PRESET(name, text, help) { name, text },
#include "presets.def"
#undef PRESET
};
const char *const settings_presets[] = {
#define PRESET(name, text, help) name,
#include "presets.def"
#undef PRESET
	NULL,
};

int settings_preset(struct conf *conf, const char *name, struct error *err)
{
	const int i = words_among("preset", name, settings_presets, err);

	return i < 0 ? i : conf_parse(conf, presets[i].text, err);
}

/* ---- names ---- */

/* Is this a name of the key, given its section? */
static bool is_called(const char *key, const char *section, const char *name)
{
	const size_t n = strlen(section);

	return !strcasecmp(key, name) ||
	       (!strncasecmp(key, section, n) && key[n] == '_' && !strcasecmp(key + n + 1, name));
}

/* section NULL = any; then the whole name is expected. */
static const struct row *find(const char *section, const char *name, struct error *err)
{
	const char *at = "";

	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].section)
			at = rows[i].section;
		else if (section ? !strcasecmp(section, at) && is_called(rows[i].key, at, name)
				 : !strcasecmp(rows[i].key, name))
			return &rows[i];
	}
	for (size_t i = 0; section && sections[i]; i++)
		if (!strcasecmp(sections[i], section)) {
			fail(err, -EINVAL,
			     "section '%s' has no key '%s'; mprof profile"
			     " --show-config lists all",
			     section, name);
			return NULL;
		}
	if (section)
		words_unknown("section", section, sections, err);
	else
		words_unknown("key", name, conf_keys, err);
	return NULL;
}

static int set(struct conf *conf, const char *section, const char *name, const char *value,
	       struct error *err)
{
	const struct row *row = find(section, name, err);
	uint64_t n;

	if (!row)
		return -EINVAL;
	if (!strcmp(row->arg, "BYTES") && !parse_size(value, &n))
		return conf_set_number(conf, row->id, n, err);
	if (!strcmp(row->arg, "0|1") && (!strcasecmp(value, "yes") || !strcasecmp(value, "true")))
		value = "1";
	if (!strcmp(row->arg, "0|1") && (!strcasecmp(value, "no") || !strcasecmp(value, "false")))
		value = "0";
	return conf_set(conf, row->id, value, err);
}

/* ---- text ---- */

/* Sets "KEY = VALUE"; a value may be quoted. */
static int take_pair(struct conf *conf, const char *section, char *pair, struct error *err)
{
	char *value = strchr(pair, '=');
	size_t n;

	if (!value)
		return fail(err, -EINVAL, "expected KEY=VALUE, not '%.80s'", pair);
	*value++ = '\0';
	value = text_trim(value);
	n = strlen(value);
	if (n > 1 && (*value == '"' || *value == '\'') && value[n - 1] == *value) {
		value[n - 1] = '\0';
		value++;
	}
	return set(conf, section, text_trim(pair), value, err);
}

int settings_one(struct conf *conf, const char *text, struct error *err)
{
	char *copy = must_strdup(text), *key = copy;
	const char *section = NULL;
	int ret;

	if (copy[strcspn(copy, ":=")] == ':')
		section = text_trim(strsep(&key, ":"));
	ret = take_pair(conf, section, key, err);
	free(copy);
	return ret;
}

struct reading {
	struct conf *conf;
	char *section;
};

static int take_line(void *self, char *line, struct error *err)
{
	struct reading *r = self;
	char *s = text_trim(line), *end;

	if (!*s || *s == '#' || *s == ';')
		return 0;
	if (*s != '[')
		return take_pair(r->conf, r->section, s, err);
	end = strchr(s, ']');
	if (!end || end[1])
		return fail(err, -EINVAL, "expected [SECTION], not '%.80s'", s);
	*end = '\0';
	free(r->section);
	r->section = must_strdup(text_trim(s + 1));
	return words_among("section", r->section, sections, err) < 0 ? -EINVAL : 0;
}

int settings_file(struct conf *conf, const char *path, struct error *err)
{
	struct reading r = { .conf = conf };
	const int ret = text_lines(path, take_line, &r, err);

	free(r.section);
	return ret;
}

void settings_print(const struct conf *conf, FILE *out)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].section)
			fprintf(out, "%s# %s\n[%s]\n", i ? "\n" : "", rows[i].help,
				rows[i].section);
		else
			fprintf(out, "%s = %s\n", rows[i].key, conf_get(conf, rows[i].id));
}
