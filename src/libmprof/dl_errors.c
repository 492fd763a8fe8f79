// SPDX-License-Identifier: LGPL-3.0-or-later
/* dl_errors.c - see dl_errors.h. */
#include "dl_errors.h"

#include <dlfcn.h>
#include <mprof/module.h>

#include "core.h"
#include "real_libc.h"
#include "stop.h"
#include "sys.h"
#include "text.h"
#include "thread.h"

/*
 * No object has such a function.  The loader's message that it is missing stands for our text: the
 * next call of the loader replaces it or clears it, whichever function the program calls, and
 * dlerror() returns it once.
 */
#define MARK "mprof_keeps_the_text_of_dlerror"

/* Per thread.  A copy, because libc frees its text when the loader is called again. */
static __thread char *text;
static __thread uint32_t room;
static __thread uint16_t inside;  /* pairs of begin and end */
static __thread uint16_t pending; /* between them: the program was not told the text yet */

static int dl_errors_is_mark(const char *said)
{
	const size_t bytes = __builtin_strlen(said);

	return bytes >= sizeof(MARK) && text_same(said + bytes + 1 - sizeof(MARK), MARK);
}

static int dl_errors_more_room(size_t bytes)
{
	const size_t need = (bytes + mp_page() - 1) & -(size_t)mp_page();
	char *larger = NULL;

	if (need <= UINT32_MAX && !mp_is_silent() && mp_thread_end_is_seen())
		larger = sys_memory(need);
	if (!larger)
		return 0;
	mp_dl_errors_release();
	text = larger;
	room = (uint32_t)need;
	return 1;
}

static int dl_errors_keep(const char *said)
{
	const size_t bytes = __builtin_strlen(said) + 1;

	if (bytes > room && !dl_errors_more_room(bytes))
		return 0;
	__builtin_memcpy(text, said, bytes);
	return 1;
}

void mp_dl_errors_begin(void)
{
	const char *said;

	if (inside++)
		return;
	said = mp_next()->dlerror();
	pending = said && (dl_errors_is_mark(said) || dl_errors_keep(said));
}

/* Twice: the first call returns our text, if there is one, the second frees it. */
void mp_dl_errors_end(void)
{
	if (--inside)
		return;
	if (mp_next()->dlerror())
		mp_next()->dlerror();
	if (pending)
		dlsym(RTLD_NEXT, MARK);
}

void mp_dl_errors_release(void)
{
	if (room && !mp_is_silent())
		sys_munmap(text, room);
	text = NULL;
	room = 0;
}

EXPORT char *dlerror(void)
{
	char *said = mp_next()->dlerror();

	return said && (dl_errors_is_mark(said) || dl_errors_keep(said)) ? text : said;
}
