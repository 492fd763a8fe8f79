/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* stack_path.h - a stack as lines. */
#pragma once

#include "../sym/sym.h"

struct profile_path {
	const struct sym_line **line; /* outermost first */
	uint32_t *frame;	      /* of each line: index of stacks->frame */
	size_t count;		      /* shown; 0 only for a site without stack */
	size_t asked;		      /* up to the allocating line, line[asked - 1] */
	size_t inner;		      /* with what that called, down to the wrappers */
	size_t all;		      /* all there are: asked <= inner <= all */
	size_t innermost; /* line that is not a wrapper, whatever is shown; otherwise 0 */
	bool truncated;
	bool at_start;	/* called during the startup of an interpreter, not by a script of the
			   program */
	bool in_import; /* a line of a script makes Python import a module there, which is a
			   library's if the script is the program's */
};
