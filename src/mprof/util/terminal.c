// SPDX-License-Identifier: LGPL-3.0-or-later
/* terminal.c - what standard output can show. */
#include "terminal.h"

unsigned terminal_width(void)
{
	return TERMINAL_WIDTH;
}

void terminal_style(FILE *out, enum style style)
{
	(void)out;
	(void)style;
}
