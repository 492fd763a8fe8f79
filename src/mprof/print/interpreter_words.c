// SPDX-License-Identifier: LGPL-3.0-or-later
/* interpreter_words.c - see interpreter_words.h. */
#include "interpreter_words.h"

#include <string.h>

#include "../sym/interpreters.h"

void interpreter_words(struct paragraph *p, const struct interpreter_words *w)
{
	const struct sym_interpreter *of = sym_interpreter(w->module);
	const char *keeps;

	if (!of)
		return;
	keeps = of->keeps && w->left ? ", which ends without freeing a script's objects" : "";
	if (*w->calls != '?' && strcmp(w->calls, w->module) != 0)
		paragraph_add(p, "%s, the %s runtime%s, calls %s; %s", w->module, of->language,
			      keeps, w->calls, of->remedy);
	else
		paragraph_add(p, "%s is the %s runtime%s; %s", w->module, of->language, keeps,
			      of->remedy);
	if (*of->names && !w->coded)
		paragraph_add(p, ", and with %s call stacks have its functions", of->names);
	paragraph_add(p, ".");
}
