// SPDX-License-Identifier: LGPL-3.0-or-later
/* names_fortran.c - names of Fortran procedures, as gfortran and flang write them. */
#include "names_forms.h"

#include <ctype.h>
#include <string.h>

#define MODULE	"_MOD_"
#define SCOPES	"MSFP" /* flang: module, submodule, host procedure, procedure */
#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789_"

static void add_part(struct text *to, const char *from, size_t n)
{
	if (to->n)
		text_add(to, "::", 2);
	text_add(to, from, n);
}

static bool gfortran(const char *name, size_t n, struct text *to)
{
	const char *module = name + 2;
	const char *procedure = memmem(module, n - 2, MODULE, strlen(MODULE));

	if (!procedure || procedure == module || procedure + strlen(MODULE) >= name + n)
		return false;
	add_part(to, module, (size_t)(procedure - module));
	procedure += strlen(MODULE);
	add_part(to, procedure, (size_t)(name + n - procedure));
	return true;
}

/* Demangles flang's names: an upper-case letter gives the kind of the name after it; names
 * contain none. */
static bool flang(const char *name, size_t n, struct text *to)
{
	const char *at = name + 2, *end = name + n;
	size_t part;

	if (n == strlen("_QQmain") && !memcmp(name, "_QQmain", n)) {
		text_add_string(to, "main program");
		return true;
	}
	while (at < end && strchr(SCOPES, *at)) {
		part = strspn(at + 1, LETTERS);
		if (!part || islower((unsigned char)*at))
			break;
		add_part(to, at + 1, part);
		at += 1 + part;
	}
	if (at != end)
		text_clear(to);
	return at == end && to->n;
}

bool names_fortran_demangle(const char *raw, bool with_suffix, struct text *to)
{
	const size_t n = strcspn(raw, ".");
	bool done = false;

	if (n == strlen("MAIN__") && !memcmp(raw, "MAIN__", n)) {
		text_add_string(to, "main program");
		done = true;
	} else if (n > 2 && raw[0] == '_' && raw[1] == '_')
		done = gfortran(raw, n, to);
	else if (n > 2 && raw[0] == '_' && raw[1] == 'Q')
		done = flang(raw, n, to);
	if (done && with_suffix)
		text_add_string(to, raw + n);
	return done;
}
