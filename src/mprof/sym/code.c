// SPDX-License-Identifier: LGPL-3.0-or-later
/* code.c - see code.h. */
#include "code.h"

#include <stdlib.h>
#include <string.h>

#include "../util/order.h"

#define PYTHON "py::"

const char *code_find(const struct stacks *s, uint64_t address)
{
	const size_t i = FIRST_WHERE(k, s->codes, s->code[k].address >= address);

	return i < s->codes && s->code[i].address == address ? s->code[i].name : NULL;
}

bool code_of_python(const struct stacks *s)
{
	for (size_t i = 0; i < s->codes; i++)
		if (!strncmp(s->code[i].name, PYTHON, strlen(PYTHON)))
			return true;
	return false;
}

/* Removes ":12" from the end and returns the number, or 0 without one. */
static uint32_t cut_number(char *text)
{
	char *colon = strrchr(text, ':'), *end;
	unsigned long n;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return 0;
	n = strtoul(colon + 1, &end, 10);
	if (*end || n > UINT32_MAX)
		return 0;
	*colon = '\0';
	return (uint32_t)n;
}

/* The blank before the source location. */
static char *place_in(char *text)
{
	static const char *const begins[] = { " file:", " node:", " /" };
	char *at;

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		at = strstr(text, begins[i]);
		if (at)
			return at;
	}
	return NULL;
}

static void split_javascript(char *name, struct code_parts *p)
{
	char *place;
	uint32_t line, column;

	name += strspn(name, "~^+*");
	place = place_in(name);
	p->function = name;
	if (!place)
		return;
	*place++ = '\0';
	p->function = *name ? name : "(anonymous)";
	column = cut_number(place);
	line = cut_number(place);
	p->line = line ? line : column;
	p->file = strncmp(place, "file://", 7) ? place : place + 7;
}

void code_split(char *text, struct code_parts *p)
{
	static const char *const javascript[] = { "JS:", "LazyCompile:", "Function:", "Script:",
						  "Eval:" };
	char *colon;

	*p = (struct code_parts){ .function = text, .file = "" };
	for (size_t i = 0; i < sizeof(javascript) / sizeof(javascript[0]); i++)
		if (!strncmp(text, javascript[i], strlen(javascript[i]))) {
			split_javascript(text + strlen(javascript[i]), p);
			return;
		}
	if (strncmp(text, PYTHON, strlen(PYTHON)) != 0)
		return;
	p->python = true;
	text += strlen(PYTHON);
	p->function = text;
	colon = strchr(text, ':');
	if (colon) {
		*colon = '\0';
		p->file = colon + 1;
		p->line = cut_number(colon + 1);
	}
}
