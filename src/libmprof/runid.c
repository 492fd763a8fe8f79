// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * runid.c - which run this process belongs to: MPROF_RUN="<32 hex digits>:<path>", set by `mprof`
 * or by the first process of a run without `mprof`, so that its children join its file, even from
 * other directories.
 *
 * "<32 hex digits>-<32 hex digits>:<path>" names a second, earlier run: if its file is at the path,
 * this is the first process of the run, and that file becomes PATH.old.  Any other file there
 * belongs to a later run, and this process came too late.
 */
#include <mprof/module.h>
#include <unistd.h>

#include "core.h"
#include "runid.h"
#include "sys.h"
#include "text.h"

struct mp_run mp_run MP_HIDDEN;

static int runid_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads 32 hex digits; anything may follow. */
static int runid_read(const char *s, uint8_t id[16])
{
	for (int i = 0; i < 32; i++) {
		int d = runid_hex_digit(s[i]);

		if (d < 0)
			return 0;
		id[i / 2] = (uint8_t)(i & 1 ? id[i / 2] | d : d << 4);
	}
	return 1;
}

int mp_run_from_env(struct mp_run *run)
{
	const char *s = text_getenv("MPROF_RUN");
	struct text path = text_on(run->path, sizeof(run->path));

	if (!s || !runid_read(s, run->id))
		return 0;
	s += 32;
	__builtin_memset(run->earlier, 0, sizeof(run->earlier));
	if (*s == '-' && !runid_read(++s, run->earlier))
		return 0;
	s += *s == ':' ? 0 : 32;
	if (s[0] != ':' || s[1] != '/')
		return 0;
	text_string(&path, s + 1);
	return !path.full;
}

void mp_run_random(struct mp_run *run)
{
	uint64_t seed[2] = { mp_clock_real_ns(), mprof_ticks() ^ (uint64_t)sys_getpid() << 32 };

	if (sys_getrandom(run->id, sizeof(run->id)) != sizeof(run->id))
		__builtin_memcpy(run->id, seed, sizeof(seed));
	__builtin_memset(run->earlier, 0, sizeof(run->earlier));
	run->path[0] = 0;
	run->is_new = 1;
}

/*
 * setenv without malloc: builds an environ that is one longer, with our variable last.  Called
 * before main and before threads exist.  The old array stays, because others may point to it.
 */
void mp_run_to_env(void)
{
	const struct mp_run *run = &mp_run;
	size_t n = 0, path = text_length(run->path), bytes;
	struct text value;
	char **list, *memory;

	if (!run->is_new)
		return;
	while (environ && environ[n])
		n++;
	bytes = (n + 2) * sizeof(char *) + sizeof("MPROF_RUN=") + 33 + path + 1;
	memory = sys_memory(bytes);
	if (!memory)
		return;
	list = (char **)memory;
	value = text_on(memory + (n + 2) * sizeof(char *), bytes - (n + 2) * sizeof(char *));
	text_string(&value, "MPROF_RUN=");
	for (int i = 0; i < 16; i++)
		text_hex(&value, run->id[i], 2);
	text_char(&value, ':');
	text_string(&value, run->path);
	for (size_t i = 0, to = 0; i < n; i++) {
		const char *e = environ[i];

		if (!(e[0] == 'M' && e[5] == '_' && e[6] == 'R' && e[9] == '=' &&
		      !__builtin_strncmp(e, "MPROF_RUN=", 10)))
			list[to++] = environ[i], list[to] = NULL;
		list[to] = value.at, list[to + 1] = NULL;
	}
	if (!n)
		list[0] = value.at, list[1] = NULL;
	environ = list;
}
