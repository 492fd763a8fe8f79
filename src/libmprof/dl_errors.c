// SPDX-License-Identifier: LGPL-3.0-or-later
/* dl_errors.c - see dl_errors.h. */
#include "dl_errors.h"

#include <mprof/module.h>

#include "core.h"
#include "real_libc.h"
#include "sys.h"

/* Per thread.  A copy, because libc frees its text when the loader is called again. */
static __thread char *text;
static __thread size_t room;
static __thread int pending; /* dlerror() has not returned it yet */

static int dl_errors_keep(const char *said)
{
	const size_t bytes = __builtin_strlen(said) + 1;
	const size_t need = (bytes + mp_page() - 1) & -mp_page();
	char *larger = need > room ? sys_memory(need) : NULL;

	if (larger) {
		mp_dl_errors_release();
		text = larger;
		room = need;
	}
	if (bytes > room)
		return 0;
	__builtin_memcpy(text, said, bytes);
	return 1;
}

void mp_dl_errors_begin(void)
{
	const char *said = mp_next()->dlerror();

	if (said)
		pending = dl_errors_keep(said);
}

/* Twice: the first call returns our text, if there is one, the second frees it. */
void mp_dl_errors_end(void)
{
	if (mp_next()->dlerror())
		mp_next()->dlerror();
}

void mp_dl_errors_forget(void)
{
	pending = 0;
}

void mp_dl_errors_release(void)
{
	if (room)
		sys_munmap(text, room);
	text = NULL;
	room = 0;
}

EXPORT char *dlerror(void)
{
	char *said = mp_next()->dlerror();
	const int kept = said ? dl_errors_keep(said) : pending;

	pending = 0;
	return kept ? text : said;
}
