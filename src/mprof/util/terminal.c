// SPDX-License-Identifier: LGPL-3.0-or-later
/* terminal.c - what standard output can show. */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LEAST 40u     /* columns: the least width that is assumed */
#define MOST  100000u /* the most columns that COLUMNS may give */

static struct {
	bool is, colour, unicode;
	unsigned width;
} terminal = { .width = TERMINAL_WIDTH };

/* The first of these variables that is set decides, as for setlocale(3). */
static bool has_utf8(void)
{
	static const char *const name[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *value = NULL;
	size_t i;

	for (i = 0; i < sizeof(name) / sizeof(name[0]) && (!value || !*value); i++)
		value = getenv(name[i]);
	return value && (strcasestr(value, "utf-8") || strcasestr(value, "utf8"));
}

static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return terminal.is && (!no || !*no) && term && strcmp(term, "dumb") != 0;
}

/* Returns 0 if the width is unknown. */
static unsigned columns(void)
{
	const char *value = getenv("COLUMNS");
	struct winsize size;
	unsigned long n;
	char *end;

	if (terminal.is)
		return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
	n = value && *value >= '0' && *value <= '9' ? strtoul(value, &end, 10) : 0;
	return n && !*end ? (unsigned)(n < MOST ? n : MOST) : 0;
}

void terminal_start(void)
{
	unsigned n;

	terminal.is = isatty(STDOUT_FILENO);
	n = columns();
	if (n)
		terminal.width = n < LEAST ? LEAST : n;
	terminal.unicode = terminal.is && has_utf8();
	terminal.colour = wants_colour();
}

bool terminal_set_colour(const char *when)
{
	if (!strcmp(when, "auto"))
		terminal.colour = wants_colour();
	else if (!strcmp(when, "always"))
		terminal.colour = true;
	else if (!strcmp(when, "never"))
		terminal.colour = false;
	else
		return false;
	return true;
}

bool terminal_is(void)
{
	return terminal.is;
}

unsigned terminal_width(void)
{
	return terminal.width;
}

unsigned terminal_text_width(void)
{
	return terminal.width < TERMINAL_TEXT ? terminal.width : TERMINAL_TEXT;
}

bool terminal_colour(void)
{
	return terminal.colour;
}

bool terminal_unicode(void)
{
	return terminal.unicode;
}

const char *terminal_ellipsis(void)
{
	return terminal.unicode ? "\u2026" : "...";
}
