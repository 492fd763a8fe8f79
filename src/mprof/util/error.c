// SPDX-License-Identifier: LGPL-3.0-or-later
/* error.c - one sentence about what went wrong. */
#include "error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

const char *error_of_process(int error)
{
	return error == ESRCH ? "it has ended" : strerror(error);
}

int fail(struct error *err, int code, const char *format, ...)
{
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	if (code == -ENOMEM)
		memory_explain(err->text, sizeof(err->text));
	return code;
}
