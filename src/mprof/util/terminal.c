// SPDX-License-Identifier: LGPL-3.0-or-later
/* terminal.c - what standard output can show. */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "plain.h"

#define LEAST 40u /* columns: what is narrower is not asked to hold a table */

static struct {
	bool is, colour, unicode;
	unsigned width;
} terminal = { .width = TERMINAL_WIDTH };

/* The first of these that is set decides, as setlocale(3) has it. */
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

void terminal_start(void)
{
	struct winsize size;

	terminal.is = isatty(STDOUT_FILENO);
	if (terminal.is && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		terminal.width = size.ws_col < LEAST ? LEAST : size.ws_col;
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

bool terminal_unicode(void)
{
	return terminal.unicode;
}

void terminal_style(FILE *out, enum style style)
{
	static const char *const sequence[] = {
		[STYLE_PLAIN] = "\033[m",   [STYLE_HEADING] = "\033[1m",
		[STYLE_PLACE] = "\033[36m", [STYLE_WARNING] = "\033[33m",
		[STYLE_FAINT] = "\033[2m",
	};

	if (!terminal.colour || out != stdout)
		return;
	plain_escape(sequence[STYLE_PLAIN]);
	if (style != STYLE_PLAIN)
		plain_escape(sequence[style]);
}
