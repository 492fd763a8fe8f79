/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * settings.c - KEY=VALUE arguments (<mprof/runner.h> has the list).
 */
#include <string.h>
#include "run.h"

struct settings settings = {
	.out = 1, .touch = TOUCH_PAGE, .thp = 1, .aslr = 1, .passes = 1, .stall = 60
};

enum kind { TEXT, NUMBER, PINNED, CHOICE, LIST };
struct key {
	const char *name;
	enum kind kind;
	size_t offset;
	uint64_t most; /* NUMBER, LIST: the greatest value */
	const char *const *choices;
};

static const char *const modes[] = { MPROF_PLAY_MODE_WORDS, "null", "startup", NULL };
static const char *const touches[] = { MPROF_TOUCH_WORDS, NULL };

#define AT(member) offsetof(struct settings, member)
static const struct key keys[] = {
	{ "in", TEXT, AT(in), 0, NULL },
	{ "out", NUMBER, AT(out), 1 << 20, NULL },
	{ "mode", CHOICE, AT(mode), 0, modes },
	{ "null", NUMBER, AT(null), 1, NULL },
	{ "touch", CHOICE, AT(touch), 0, touches },
	{ "speed", NUMBER, AT(speed), 1000000, NULL },
	{ "keep", NUMBER, AT(keep), 1, NULL },
	{ "drain", LIST, AT(drain), 3600000, NULL },
	{ "addresses", NUMBER, AT(addresses), 1, NULL },
	{ "samples", NUMBER, AT(samples), 1000000, NULL },
	{ "frames", NUMBER, AT(frames), 1000000, NULL },
	{ "at", LIST, AT(at), UINT64_MAX / 16, NULL },
	{ "latency", NUMBER, AT(latency), UINT32_MAX, NULL },
	{ "thp", NUMBER, AT(thp), 1, NULL },
	{ "aslr", NUMBER, AT(aslr), 1, NULL },
	{ "cpu", PINNED, AT(cpu), 1023, NULL },
	{ "passes", NUMBER, AT(passes), 1000000, NULL },
	{ "stall", NUMBER, AT(stall), 1000000, NULL },
};

static _Noreturn void bad(const char *argument, const char *why)
{
	die(STATUS_USAGE, "'%s': %s", argument, why);
}

/* Parses digits up to `end`, a NUL or a comma. */
static uint64_t number(const char *argument, const char **at, uint64_t most)
{
	uint64_t n = 0;
	const char *s = *at;

	do {
		if (*s < '0' || *s > '9')
			bad(argument, "needs a number");
		if (n > most / 10 || (n = n * 10 + (uint64_t)(*s - '0')) > most)
			bad(argument, "too large a number");
	} while (*++s && *s != ',');
	*at = s;
	return n;
}

static uint64_t choice(const char *argument, const char *value, const char *const *choices)
{
	for (uint64_t i = 0; choices[i]; i++)
		if (!strcmp(choices[i], value))
			return i;
	bad(argument, "not a value of this key");
}

static void list(const char *argument, const char *value, struct list *to, uint64_t most)
{
	to->n = 0;
	do {
		if (to->n == LIST_MOST)
			bad(argument, "more than 8 numbers");
		to->value[to->n++] = number(argument, &value, most);
	} while (*value++ == ',');
}

static void take(const char *argument, const struct key *key, const char *value)
{
	void *to = (char *)&settings + key->offset;

	switch (key->kind) {
	case TEXT:
		*(const char **)to = value;
		break;
	case CHOICE:
		*(uint64_t *)to = choice(argument, value, key->choices);
		break;
	case LIST:
		list(argument, value, to, key->most);
		break;
	case PINNED:
	case NUMBER:
		if (key->kind == PINNED && !strcmp(value, "-1")) {
			*(uint64_t *)to = 0;
			break;
		}
		*(uint64_t *)to = number(argument, &value, key->most) + (key->kind == PINNED);
		if (*value)
			bad(argument, "needs one number");
		break;
	}
}

static void setting(const char *argument)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t n = strlen(keys[i].name);

		if (!strncmp(argument, keys[i].name, n) && argument[n] == '=') {
			take(argument, &keys[i], argument + n + 1);
			return;
		}
	}
	bad(argument, "not a known KEY=VALUE");
}

static void agree(void)
{
	if (settings.mode == MODE_NULL) {
		settings.mode = MODE_SERIAL;
		settings.null = 1;
	}
	if (!settings.in && settings.mode != MODE_STARTUP)
		bad("in=", "no playback file");
	if (settings.mode == MODE_ORDERED && settings.speed)
		bad("speed=", "not with mode=ordered");
	if (settings.mode == MODE_THREADS && settings.addresses)
		bad("addresses=1", "not with mode=threads, which has no order of calls");
	if (settings.mode != MODE_SERIAL && settings.passes != 1)
		bad("passes=", "only with mode=serial or null");
	if (settings.passes != 1 && (settings.addresses || settings.speed))
		bad("passes=", "not with addresses=1 or speed=");
	if (settings.null && (settings.addresses || settings.latency))
		bad("null=1", "has no addresses and no latency");
}

void settings_read(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		setting(argv[i]);
	if (!settings.passes)
		settings.passes = 1;
	records_to = (int)settings.out;
	agree();
}
