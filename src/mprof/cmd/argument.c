// SPDX-License-Identifier: LGPL-3.0-or-later
/* argument.c - arguments, and values of options. */
#include "argument.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/memory.h"
#include "../util/pager.h"
#include "../util/ranges.h"
#include "../util/terminal.h"
#include "cmd.h"

#define MEMORY_ASKED_LEAST ((uint64_t)64 << 20)

void argument_add(struct argument_list *l, const char *arg, struct argp_state *state)
{
	const char **grown = reallocarray(l->item, l->count + 2, sizeof(*grown));

	if (!grown) {
		argp_failure(state, STATUS_FOUND, ENOMEM, "options");
		return;
	}
	l->item = grown;
	l->item[l->count++] = arg;
	l->item[l->count] = NULL;
}

unsigned argument_word(const char *arg, enum words list, struct argp_state *state)
{
	struct error err;
	int i = words_find(list, arg, &err);

	if (i < 0)
		argp_error(state, "%s", err.text);
	return i < 0 ? 0 : (unsigned)i;
}

const char *argument_touch(const char *arg, struct argp_state *state)
{
	return words_of(WORDS_TOUCH)[argument_word(arg, WORDS_TOUCH, state)];
}

uint32_t argument_number(const char *arg, const char *what, struct argp_state *state)
{
	uint64_t n = 0;

	if (parse_whole(arg, 1, UINT32_MAX, &n))
		argp_error(state, "invalid %s '%s': expected a whole number from 1", what, arg);
	return (uint32_t)n;
}

double argument_percent(const char *arg, struct argp_state *state)
{
	char *end;
	double p = strtod(arg, &end);

	if (*end || end == arg || !(p >= 0 && p <= 100))
		argp_error(state, "invalid percentage '%s': expected a number from 0 to 100", arg);
	return p;
}

error_t argument_file(int key, char *arg, struct argp_state *state, const char **path,
		      const char *missing)
{
	if (key == ARGP_KEY_NO_ARGS)
		argp_error(state, "%s", missing);
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*path)
		argp_error(state, "expected one file, got '%s' as well", arg);
	*path = arg;
	return 0;
}

error_t argument_program(int key, struct argp_state *state, char ***argv, const char *missing)
{
	if (key == ARGP_KEY_NO_ARGS)
		argp_error(state, "%s", missing);
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	*argv = state->argv + state->next - 1;
	state->next = state->argc;
	return 0;
}

/* ---- --memory ---- */

enum { MEMORY = 0x7000 };

static const struct argp_option memory_options[] = {
	{ "memory", MEMORY, "SIZE", 0,
	  "Use at most this much memory, such as 4G [1 GiB + 256 times the size of the file]", 90 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_memory(int key, char *arg, struct argp_state *state)
{
	struct error err;
	uint64_t bytes;

	if (key != MEMORY)
		return ARGP_ERR_UNKNOWN;
	if (parse_size(arg, &bytes, &err))
		argp_error(state, "invalid --memory: %s", err.text);
	else if (bytes < MEMORY_ASKED_LEAST)
		argp_error(state, "invalid --memory '%s': expected at least 64M", arg);
	else
		memory_cap_at(bytes);
	return 0;
}

const struct argp memory_argp = { .options = memory_options, .parser = parse_memory };

/* ---- --color, --no-pager ---- */

enum { COLOUR = 0x7100, NO_PAGER };

static const struct argp_option terminal_options[] = {
	{ "color", COLOUR, "WHEN", OPTION_ARG_OPTIONAL,
	  "Use colour: auto (on a terminal), always or never [auto]", 91 },
	{ "no-pager", NO_PAGER, NULL, 0, "Do not send a long answer on a terminal to a pager", 91 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse_terminal(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case COLOUR:
		arg = arg ? arg : (char *)"always";
		argument_word(arg, WORDS_COLOUR, state);
		terminal_set_colour(arg);
		return 0;
	case NO_PAGER:
		pager_off();
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp terminal_argp = { .options = terminal_options, .parser = parse_terminal };
