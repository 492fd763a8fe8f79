/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * interpreters.h - code that runs scripts: its functions allocate for lines of a script, and
 * whoever runs one cannot change them.
 */
#pragma once

struct interpreter {
	const char *module, *language, *remedy, *names; /* as in interpreters.def */
};

/* By the name of a module, as in lines; NULL: it runs no scripts. */
const struct interpreter *interpreter_of(const char *module);
