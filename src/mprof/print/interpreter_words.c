// SPDX-License-Identifier: LGPL-3.0-or-later
/* interpreter_words.c - see interpreter_words.h. */
#include "interpreter_words.h"

#include <mprof/scripts.h>
#include <string.h>

#include "../sym/interpreters.h"
#include "text.h"

bool interpreter_unnamed(const struct stacks *s)
{
	size_t i = 1;

	while (i < s->frames && (s->frame[i].object || s->frame[i].address < MPROF_SCRIPT_LINES ||
				 s->frame[i].address >= MPROF_SCRIPT_LINES_END))
		i++;
	return !s->codes && i < s->frames;
}

static const char *unnamed(const struct interpreter_words *w)
{
	if (!text_running(w->tree))
		return "names of the script's functions were not found when it ended";
	if (memcmp(w->header->magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE) != 0)
		return "names of the script's functions are in this file when the program has "
		       "ended";
	return "names of the script's functions are in dumps (mprof ctl PID dump), and in this "
	       "file "
	       "when the program has ended";
}

static const char *remedy_of(const struct sym_interpreter *of, const struct interpreter_words *w)
{
	const struct tree *t = w->tree;

	if (w->unnamed)
		return unnamed(w);
	if (t && t->processes && t->process[0].attached && !strcmp(of->language, "Python"))
		return "mprof attach --python shows which functions of the script allocate";
	return of->remedy;
}

void interpreter_words(struct paragraph *p, const struct interpreter_words *w)
{
	const struct sym_interpreter *of = sym_interpreter(w->module);
	const char *keeps, *remedy;

	if (!of)
		return;
	remedy = remedy_of(of, w);
	keeps = of->keeps && w->left ? ", which ends without freeing all objects" : "";
	if (*w->calls != '?' && strcmp(w->calls, w->module) != 0)
		paragraph_add(p, "%s, the %s runtime%s, calls %s; %s", w->module, of->language,
			      keeps, w->calls, remedy);
	else
		paragraph_add(p, "%s is the %s runtime%s; %s", w->module, of->language, keeps,
			      remedy);
	if (*of->names && !w->coded)
		paragraph_add(p, ", and with %s call stacks have its functions", of->names);
	paragraph_add(p, ".");
}
