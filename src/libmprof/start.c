// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * start.c - the start of the library.
 *
 * boot -> a MODE's table -> pass, never back.  The first call of the malloc family, or our
 * constructor, initialises; INIT or MODE modules that load objects wait for a call that does not
 * come from the loader itself.  Every failure ends in pass, with one line that says why.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "allocator.h"
#include "attach.h"
#include "config.h"
#include "core.h"
#include "file.h"
#include "local.h"
#include "process.h"
#include "python.h"
#include "real_libc.h"
#include "runid.h"
#include "scopes.h"
#include "stack_parts.h"
#include "start.h"
#include "sys.h"
#include "text.h"
#include "thread.h"
#include "times.h"

enum { STATE_BOOT, STATE_INITIALISING, STATE_READY };

struct mprof_config mp_config MP_HIDDEN;
struct mp_known mp_known MP_HIDDEN;
static uint32_t state;
static uint32_t refused; /* invalid configuration: pass, but find the allocator */

static void start_refuse(struct text *why)
{
	if (!refused)
		mp_note(why->at);
	refused = 1;
}

static void start_know(char *to, size_t size, const char *value)
{
	struct text t = text_on(to, size);

	if (value)
		text_string(&t, value);
	if (t.full)
		to[0] = 0;
}

/* Does the path `run` tell the program's name?  A path like /proc/self/exe or /dev/fd/3 does not.
 */
static int start_is_name(const char *run, const char *exe)
{
	struct stat its, named;

	if (!run || !__builtin_strncmp(run, "/proc/", 6) || !__builtin_strncmp(run, "/dev/fd/", 8))
		return 0;
	if (!*exe) /* without /proc, as in a jail */
		return 1;
	/* Several programs may be links to one file, as redis-server is to redis-check-rdb in
	 * Debian. */
	return !text_same(text_base(run), text_base(exe)) &&
	       sys_stat("/proc/self/exe", &its, 0) >= 0 && sys_stat(run, &named, 0) >= 0 &&
	       its.st_dev == named.st_dev && its.st_ino == named.st_ino;
}

static void start_know_program(void)
{
	const char *run =
	    (const char *)getauxval(AT_EXECFN); /* for a script, the path of the script */
	struct text t = text_on(mp_known.exe, sizeof(mp_known.exe));
	long n;

	/* The loader has no loader: it was run itself, with a program as its argument. */
	if (!getauxval(AT_BASE) && mp_area_path(getauxval(AT_ENTRY), t.at, t.size) == 0)
		return;
	n = sys_readlink("/proc/self/exe", t.at, t.size - 1);
	t.at[n > 0 ? n : 0] = 0;
	if (!start_is_name(run, t.at))
		return;
	while (run[0] == '.' && run[1] == '/')
		run += 2;
	n = run[0] == '/' ? 0 : sys_getcwd(t.at, t.size);
	t.used = n > 1 ? (size_t)n - 1 : 0;
	if (n > 2)
		text_char(&t, '/');
	text_string(&t, run);
}

/* Reads the settings.  A process that gained privileges reads no variable and records nothing. */
static void start_configure(const char *conf, struct text *why)
{
	static int done;

	if (done)
		return;
	done = 1;
	mp_page_know();
	start_know_program();
	start_know(mp_known.notes, sizeof(mp_known.notes), text_getenv("MPROF_NOTES"));
	start_know(mp_known.conf, sizeof(mp_known.conf), conf);
	start_know(mp_known.job, sizeof(mp_known.job), mp_job());
	start_know(mp_known.rank, sizeof(mp_known.rank), mp_rank());
	if (getauxval(AT_SECURE)) {
		refused = 1;
		mp_config_read(NULL, &mp_config, why);
	} else if (mp_config_read(conf, &mp_config, why) < 0) {
		start_refuse(why);
		mp_config_read(NULL, &mp_config, why);
	}
	if (!refused && !mp_is_wanted())
		refused = 1;
	mp_summary_start();
}

static int start_is_path(const char *name)
{
	while (*name && *name != '/')
		name++;
	return *name == '/';
}

static int start_find_allocator(const struct mprof_init_ops *init, struct text *why)
{
	const char *file;

	if (init->loads && !mp_is_loadable("SO_PATH", mp_config.so_path, why))
		return -1;
	if (init->open && init->open(&mp_config, why->at + why->used, why->size - why->used) < 0)
		return -1;
	if (mp_resolve(init, why) < 0)
		return -1;
	/* Through a pointer to data: ISO C cannot cast a function pointer. */
	file = mp_scope_file(*(void **)&mprof_core.real.malloc);
	if (file)
		start_know(mp_known.allocator, sizeof(mp_known.allocator), file);
	return 0;
}

/* Finds the allocator, whatever else fails: the program cannot run without it. */
static void start_find_any_allocator(struct text *why)
{
	const struct mprof_init_ops *init =
	    mp_known.attached ? &mp_init_attached : mp_find_init(mp_config.init, why);

	if (init && start_find_allocator(init, why) == 0)
		return;
	if (dlsym(RTLD_NEXT, "malloc"))
		start_refuse(why);
	init = mp_find_init("LD_NEXT", why);
	start_find_allocator(init, why);
	/* In a static program libmprof.a hides libc's malloc. */
	if (!mprof_core.real.malloc)
		mp_give_up("libmprof.a cannot be part of a static program; link the program "
			   "dynamically or without libmprof.a");
}

/*
 * The table of a mode that records nothing: functions that allocate need no detour through us.
 * (Those that free must check for boot blocks first.)
 */
static const struct mprof_api *start_direct(const struct mprof_api *api)
{
	static struct mprof_api table;

	table = *api;
#define DIRECT_ALLOC(id, name, ...) table.name = mprof_core.real.name;
#define DIRECT_OUT(id, name, ...)   table.name = mprof_core.real.name;
#define DIRECT_REALLOC(id, name, ...)
#define DIRECT_FREE(id, name, ...)
#define DIRECT_QUERY(id, name, ...)
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(DIRECT, id, name)
#include <mprof/functions.def>
	return &table;
}

/*
 * Where another malloc precedes ours, our reallocarray would pass blocks of that malloc to the
 * allocator.  libc's does not: it calls the realloc that the program sees.  No other name is looked
 * up, because a lookup that fails leaves a message, which the next one frees: by the program's
 * free, which may be at a lookup of its own.
 */
static void start_follow_first(void)
{
	void *next = *mp_known.first ? dlsym(RTLD_NEXT, "reallocarray") : NULL;

	if (next)
		mprof_core.real.reallocarray = *(__typeof__(mprof_core.real.reallocarray) *)&next;
}

/* The table of a MODE, which then does not record it: its blocks are not ours. */
static const struct mprof_api *start_behind_first(const struct mprof_api *api)
{
	static struct mprof_api table;

	if (!*mp_known.first)
		return api;
	table = *api;
	table.reallocarray = mp_pass_api.reallocarray;
	return &table;
}

/*
 * Does another malloc precede ours?  If the executable defines one, or an object was preloaded
 * before us, only a few calls reach us.  An executable that is linked at a fixed address and takes
 * malloc's address offers an entry of its linkage table for it: an undefined symbol, which leads to
 * ours.
 */
static void start_find_first(void)
{
	const void *symbol = mp_scope_seen("malloc");
	void *entry = NULL;
	Dl_info first, us;

	if (symbol && dladdr1(symbol, &first, &entry, RTLD_DL_SYMENT) && entry &&
	    ((const ElfW(Sym) *)entry)->st_shndx != SHN_UNDEF && dladdr(&mp_known, &us) &&
	    first.dli_fbase != us.dli_fbase)
		start_know(mp_known.first, sizeof(mp_known.first), first.dli_fname);
}

/*
 * Is another copy of the library in this program, which its calls reach before us?  That one
 * records; two would record each call twice.  (One that is linked into the program from libmprof.a
 * exports only what libc exports, too: it finds the preloaded one here.)
 */
static void start_find_copy(void)
{
	const void *base = mp_scope_base(mp_scope_seen("mprof_keep_thread"));

	mp_known.second = base && base != mp_scope_base(&mp_known);
	refused |= (uint32_t)mp_known.second;
}

int mp_boot_waiting(void)
{
	return __atomic_load_n(&state, __ATOMIC_RELAXED) == STATE_BOOT && !environ;
}

/*
 * May objects be loaded?  Not if the loader itself called, in the middle of its work, and not
 * before libc's constructor has run: dlopen would run it without an environment.
 */
static int start_loader_is_idle(const void *caller)
{
	const void *base = environ ? mp_scope_base(caller) : NULL;

	return base && (uintptr_t)base != (uintptr_t)getauxval(AT_BASE);
}

/* conf: the settings, or NULL for those of MPROF_CONF.  1: a table other than boot's may be
 * published; 0: try again in a later call. */
static int start_initialise(const void *caller, const char *conf, struct text *why)
{
	const struct mprof_init_ops *init;

	start_configure(conf ? conf : text_getenv("MPROF_CONF"), why);
	init = start_is_path(mp_config.init) ? NULL : mp_find_init(mp_config.init, why);
	if ((start_is_path(mp_config.init) || start_is_path(mp_config.mode) ||
	     (init && init->loads) || text_same(mp_config.unwind, "libgcc")) &&
	    !start_loader_is_idle(caller))
		return 0;
	*why = text_on(why->at, why->size);
	mp_next();
	mp_process_forks();
	mp_clock_choose();
	mp_mode = mp_find_mode(mp_config.mode, why);
	if (!mp_mode)
		start_refuse(why);
	else if (mp_mode->choose && mp_mode->choose(&mp_config))
		mp_mode = mp_mode->choose(&mp_config);
	if (!mp_known.attached)
		start_find_copy();
	if (!mp_known.second) /* the other one does, and a plugin with this one may be unloaded */
		mp_threads_watch();
	start_find_any_allocator(why);
	if (!mp_known.attached) {
		start_find_first();
		start_follow_first();
	}
	if (refused)
		return 1;
	if (mp_threads_start() < 0) {
		text_string(why, "no memory for the thread records");
		start_refuse(why);
	} else {
		mp_recording_begin(start_behind_first(
		    mp_mode->keeps_nothing ? start_direct(mp_mode->api) : mp_mode->api));
		mprof_core.usable = mprof_core.real.malloc_usable_size;
		mp_wrap_start();
		if (mp_mode->start && mp_mode->start(&mp_host) < 0) {
			mp_recording_end();
			refused = 1; /* start() has set why */
		}
		mp_wrap_stacks();
		mp_times_start();
	}
	return 1;
}

static int start_try(const void *caller, const char *conf)
{
	char buffer[768];
	struct text why = text_on(buffer, sizeof(buffer));
	uint32_t expect = STATE_BOOT;
	int saved = errno, done;

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == STATE_READY)
		return 1;
	if (!__atomic_compare_exchange_n(&state, &expect, STATE_INITIALISING, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return expect == STATE_READY;
	done = start_initialise(caller, conf, &why);
	if (done && refused)
		mp_publish_pass();
	else if (done)
		mp_publish_mode();
	__atomic_store_n(&state, done ? STATE_READY : STATE_BOOT, __ATOMIC_RELEASE);
	errno = saved;
	return done;
}

int mp_boot_try(const void *caller)
{
	return start_try(caller, NULL);
}

__attribute__((constructor(101))) static void construct(void)
{
	if (state == STATE_BOOT && mp_attach_is_needed())
		return;
	mp_boot_try((const void *)construct);
	if (mp_recording()) {
		mp_run_to_env();
		mp_process_watch();
	}
	if (mp_boot_early)
		mp_lost(MPROF_LOST_EARLY, mp_boot_early);
}

/*
 * Begins to record a program that runs already, with these settings: called by mprof, in a thread
 * of the program that it stopped outside of the loader and the allocator.  Returns "", or why it
 * does not record.  Children join the run by fork, but not by exec: the environment is the
 * program's own.
 */
void mprof_detach(void) EXPORT;
const char *mprof_attach(const char *conf) EXPORT;
const char *mprof_attach(const char *conf)
{
	static char buffer[768];
	struct text why = text_on(buffer, sizeof(buffer));

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) != STATE_BOOT)
		return "mprof has recorded it before";
	mp_known.attached = 1;
	mp_notes_into(&why);
	start_try((const void *)mprof_attach, conf);
	if (mp_recording()) {
		mp_local->threaded = 1; /* others may call at once */
		mp_attach_note();
		if (mp_file.header)
			mp_file.header->detach = (uintptr_t)mprof_detach;
		mp_process_watch();
		mp_attach_redirect(1);
		mp_python_redirect(1);
	} else if (!why.used) {
		text_string(&why, "ONLY or RANKS exclude it");
	}
	mp_notes_into(NULL);
	return buffer;
}

/* Before mprof_attach(): stacks will have the functions of Python scripts.  Returns "", or why not;
 * or "+" if they will, but Python's small objects will not be recorded. */
const char *mprof_attach_python(void) EXPORT;
const char *mprof_attach_python(void)
{
	const char *why = mp_python_find();

	return why ? why : mp_python_is_known_allocator() ? "" : "+";
}

/* Ends the recording for good.  The library stays loaded, because threads may still be in it. */
void mprof_detach(void)
{
	if (!mp_known.attached || !mp_recording())
		return;
	mp_python_redirect(0);
	mp_attach_redirect(0);
	mp_process_detached();
}

/* Runs last of our code.  Recording continues: other destructors may still free. */
__attribute__((destructor(101))) static void destruct(void)
{
	mp_process_flush();
}
