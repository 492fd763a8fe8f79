/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* interpreter_words.h - the sentence that points the user of a script from its interpreter to it.
 */
#pragma once

#include "../pass/tree.h"
#include "paragraph.h"

struct interpreter_words {
	const char *module; /* the interpreter's */
	const char *calls;  /* the module that allocates, "?" = none; may be the same */
	bool left;	    /* the interpreter's own blocks were never freed */
	bool coded;	    /* functions of scripts have names */
	bool unnamed;	    /* interpreter_unnamed() */
	const struct mprof_file_header *header;
	const struct tree *tree;
};

/* Are there functions of Python scripts without names, which mprof adds to dumps and at the end? */
bool interpreter_unnamed(const struct stacks *s);

/* Adds nothing unless the module belongs to an interpreter. */
void interpreter_words(struct paragraph *p, const struct interpreter_words *w);
