// SPDX-License-Identifier: LGPL-3.0-or-later
/* styled.c - text that is laid out and styled for the terminal. */
#include "styled.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "fit.h"
#include "plain.h"
#include "terminal.h"

void terminal_fit(void)
{
	plain_fit(terminal_width());
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
	/* The pager passes its text to the terminal. */
	else if (terminal_is())
		fit.width = terminal_width();
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

void terminal_style(FILE *out, enum style style)
{
	static const char *const sequence[] = {
		[STYLE_PLAIN] = "\033[m",   [STYLE_HEADING] = "\033[1m",
		[STYLE_PLACE] = "\033[36m", [STYLE_WARNING] = "\033[33m",
		[STYLE_FAINT] = "\033[2m",
	};

	if (!terminal_colour() || out != stdout)
		return;
	plain_escape(sequence[STYLE_PLAIN]);
	if (style != STYLE_PLAIN)
		plain_escape(sequence[style]);
}
