/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * interpreters.h - programs and libraries that run scripts: their functions allocate for lines of a
 * script, and the user of the script cannot change them.
 */
#pragma once

#include <stdbool.h>

struct sym_interpreter {
	const char *module, *language, *remedy, *names; /* as in interpreters.def */
	bool keeps;
};

/* Finds an interpreter by the name of a module, as in lines; NULL if it runs no scripts. */
const struct sym_interpreter *sym_interpreter(const char *module);
