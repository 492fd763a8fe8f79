// SPDX-License-Identifier: LGPL-3.0-or-later
/* terminal.c - what standard output can show. */
#include "terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fit.h"
#include "plain.h"

#define LEAST 40u     /* columns: what is narrower is not asked to hold a table */
#define MOST  100000u /* columns that COLUMNS may say */

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

/* 0: not known. */
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

void terminal_fit(void)
{
	plain_fit(terminal.width);
}

static void put_said(void *to, const char *s, size_t n)
{
	fwrite(s, 1, n, to);
}

void terminal_say(const char *first, const char *format, va_list args)
{
	struct fit fit = { .put = put_said, .to = stderr };
	struct winsize size;
	char *text;

	fflush(stdout);
	if (isatty(STDERR_FILENO) && !ioctl(STDERR_FILENO, TIOCGWINSZ, &size))
		fit.width = size.ws_col;
	/* What the pager gets is for the terminal behind it. */
	else if (terminal.is)
		fit.width = terminal.width;
	if (!fit.width || vasprintf(&text, format, args) < 0) {
		fputs(first, stderr);
		vfprintf(stderr, format, args);
		fputc('\n', stderr);
		return;
	}
	fit_text(&fit, first, strlen(first));
	fit_text(&fit, text, strlen(text));
	fit_text(&fit, "\n", 1);
	free(text);
}

bool terminal_unicode(void)
{
	return terminal.unicode;
}

const char *terminal_ellipsis(void)
{
	return terminal.unicode ? "\u2026" : "...";
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
