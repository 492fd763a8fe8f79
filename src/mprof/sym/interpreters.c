// SPDX-License-Identifier: LGPL-3.0-or-later
/* interpreters.c - see interpreters.h. */
#include "interpreters.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stddef.h>

enum { FREES, KEEPS };

static const struct sym_interpreter interpreters[] = {
#define INTERPRETER(module, language, keeps, remedy, names) \
	{ module, language, remedy, names, keeps },
#include "interpreters.def"
};

const struct sym_interpreter *sym_interpreter(const char *module)
{
	for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
		if ((!isalpha((unsigned char)*interpreters[i].module) ||
		     *interpreters[i].module == *module) &&
		    !fnmatch(interpreters[i].module, module, 0))
			return &interpreters[i];
	return NULL;
}
