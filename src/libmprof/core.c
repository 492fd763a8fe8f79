// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * core.c - which table is in place.
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
#include "config.h"
#include "core.h"
#include "file.h"
#include "local.h"
#include "limits.h"
#include "process.h"
#include "real_libc.h"
#include "slots.h"
#include "stacks.h"
#include "sys.h"
#include "text.h"
#include "thread.h"

enum { STATE_BOOT, STATE_INITIALISING, STATE_READY };

const struct mprof_api *mp_api MP_HIDDEN = &mp_boot_api;
const struct mprof_mode_ops *mp_mode MP_HIDDEN;
struct mprof_config mp_config MP_HIDDEN;
struct mp_known mp_known MP_HIDDEN;
uint32_t mp_page_bytes MP_HIDDEN = 4096;
static const struct mprof_api *mode_table; /* in place while recording */
static uint32_t state;
static uint32_t recording;
static uint32_t refused; /* invalid configuration: pass, but find the allocator */

int mp_recording(void)
{
	return (int)__atomic_load_n(&recording, __ATOMIC_RELAXED);
}

/*
 * The table of a mode that records nothing: functions that allocate need no detour through us.
 * (Those that free must check for boot blocks first.)
 */
static const struct mprof_api *core_direct(const struct mprof_api *api)
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

static void core_publish(const struct mprof_api *api)
{
	/* Pairs with the acquire in mp_table(): the table's data was written before. */
	__atomic_store_n(&mp_api, api, __ATOMIC_RELEASE);
}

static void core_stop(unsigned reason, const char *why)
{
	/* Pairs with core_resume_locked(): either it stores its table before ours, or it sees
	 * the end. */
	if (!__atomic_exchange_n(&recording, 0, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&mp_api, &mp_pass_api, __ATOMIC_SEQ_CST);
	mp_lost(reason, 1);
	mp_fact_stopped(why);
	if (!mp_file.header && mp_known.notes[0]) /* no file to record it in */
		mp_note(why);
}

/* For a process that is excluded from recording: nothing is lost. */
static void core_leave(void)
{
	__atomic_store_n(&recording, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&mp_api, &mp_pass_api, __ATOMIC_SEQ_CST);
}

int mp_failed(int error)
{
	if (mprof_likely(error >= 0))
		return error;
	if (error == -ECANCELED) {
		core_leave();
		return error;
	}
	switch (mp_file.broken && error != -ECHILD ? -EIO : error) {
	case -ENOMEM:
		core_stop(MPROF_LOST_MEMORY, "no memory or address space for the recording");
		break;
	case -ECHILD:
		core_stop(MPROF_LOST_PROCESS, "a forked child could not join the run");
		break;
	case -ETIMEDOUT:
		core_stop(MPROF_LOST_FILE, "a write to the file never completed");
		break;
	case -EIO:
	case -EBADF:
	case -ESTALE:
	case -ENOENT:
		core_stop(MPROF_LOST_FILE, "the file was truncated or removed");
		break;
	default:
		core_stop(MPROF_LOST_SPACE, "no space left for the file");
	}
	return error;
}

/*
 * Several threads may be suspended at once: each one asks the kernel something, or restricts
 * itself.  They are counted, under a lock, and only the last one to resume publishes the table.  A
 * final suspension stays in the count, so that nobody publishes the table again; its thread must
 * not make system calls any more, so it takes no lock.
 */
void mp_suspend(const char *why)
{
	uint64_t signals;

	mp_lock_blocking(&mp_local->suspend_lock, &signals);
	mp_local->suspended++;
	core_publish(&mp_pass_api);
	mp_fact_stopped(why);
	mp_unlock_blocking(&mp_local->suspend_lock, &signals);
	if (!mp_file.header && mp_known.notes[0])
		mp_note(why);
}

/* Another thread may be ending recording: then it stays ended. */
static void core_resume_locked(void)
{
	/* The count is 0 if a signal handler forked while this thread was suspended. */
	if (!mp_local->suspended || --mp_local->suspended || !mp_recording())
		return;
	mp_fact_resumed();
	__atomic_store_n(&mp_api, mode_table, __ATOMIC_SEQ_CST);
	/* Pairs with core_stop(): either we see its end, or it stores its table after ours. */
	if (!__atomic_load_n(&recording, __ATOMIC_SEQ_CST))
		core_publish(&mp_pass_api);
}

void mp_resume(int is_end)
{
	uint64_t signals;

	if (is_end) {
		if (__atomic_exchange_n(&recording, 0, __ATOMIC_SEQ_CST))
			mp_lost(MPROF_LOST_LOCKED, 1);
		core_publish(&mp_pass_api);
		return;
	}
	mp_lock_blocking(&mp_local->suspend_lock, &signals);
	core_resume_locked();
	mp_unlock_blocking(&mp_local->suspend_lock, &signals);
}

/* In a forked child: another thread of the parent may have been suspended at the fork. */
void mp_suspend_forked(void)
{
	if (mp_recording() && mp_table() == &mp_pass_api)
		core_publish(mode_table);
}

/* See program.h. */
void mprof_keep_thread(unsigned keep) __attribute__((visibility("default")));
void mprof_keep_thread(unsigned keep)
{
	if (mp_recording() && mp_mode && mp_mode->thread_keep)
		mp_mode->thread_keep(keep);
}

/* ---- services for MODEs: a failure ends recording ---- */

static struct mprof_thread *host_enter(void)
{
	struct mprof_thread *t;

	mp_failed(mp_enter(&t));
	return t;
}

static struct mprof_counts *host_counts_take(struct mprof_thread *t)
{
	int error = 0;
	struct mprof_counts *c = mp_counts_take(t, &error);

	mp_failed(error);
	return c;
}

static int host_slot_take(struct mprof_thread *t)
{
	return mp_failed(mp_slot_take(t));
}

static int host_slot_flush(struct mprof_thread *t)
{
	return mp_failed(mp_slot_flush(t));
}

static void host_slot_release(struct mprof_thread *t)
{
	mp_failed(mp_slot_release(t));
}

static void *host_live(unsigned kind, uint32_t thread, uint64_t seq, size_t bytes)
{
	int error = 0;
	void *at = mp_live_take(kind, thread, seq, bytes, &error);

	mp_failed(error);
	return at;
}

const struct mprof_host mp_host MP_HIDDEN = {
	.abi = MPROF_MODULE_ABI,
	.config = &mp_config,
	.enter = host_enter,
	.file_open = mp_file_open,
	.counts_take = host_counts_take,
	.counts_give = mp_counts_give,
	.slot_take = host_slot_take,
	.slot_flush = host_slot_flush,
	.slot_release = host_slot_release,
	.stacks_start = mp_stacks_start,
	.lost = mp_lost,
	.fd_open = mp_fd_open,
	.fd_write = mp_fd_write,
	.note = mp_note,
	.stop = core_stop,
	.resident_begin = mp_resident_begin,
	.resident_end = mp_resident_end,
	.look = mp_peak_look,
	.look_times = mp_peak_times,
	.paused = mp_file_paused,
	.dump_due = mp_dump_due,
	.dump = mp_dump,
	.memory = mp_live_memory,
	.live = host_live,
	.page_bytes = &mp_page_bytes,
	.misuse = mp_misuse,
	.put = mp_put,
	.place = mp_memory_place,
	.recording = mp_recording,
	.log_end = mp_file_log_end,
	.spent = mp_overhead_spent,
	.log_steps = mp_log_steps,
};

/* ---- the start ---- */

static void core_refuse(struct text *why)
{
	if (!refused)
		mp_note(why->at);
	refused = 1;
}

static void core_know(char *to, size_t size, const char *value)
{
	struct text t = text_on(to, size);

	if (value)
		text_string(&t, value);
	if (t.full)
		to[0] = 0;
}

/* Several programs may be links to one file, as redis-server is to redis-check-rdb in Debian. */
static void core_know_program(void)
{
	const char *run =
	    (const char *)getauxval(AT_EXECFN); /* for a script, the path of the script */
	struct text t = text_on(mp_known.exe, sizeof(mp_known.exe));
	struct stat exe, named;
	long n = sys_readlink("/proc/self/exe", t.at, t.size - 1);

	t.at[n > 0 ? n : 0] = 0;
	/* A path like /proc/self/exe or /dev/fd/3 does not tell the program's name. */
	if (!run || !__builtin_strncmp(run, "/proc/", 6) ||
	    !__builtin_strncmp(run, "/dev/fd/", 8) || text_same(text_base(run), text_base(t.at)) ||
	    sys_stat("/proc/self/exe", &exe, 0) < 0 || sys_stat(run, &named, 0) < 0 ||
	    exe.st_dev != named.st_dev || exe.st_ino != named.st_ino)
		return;
	while (run[0] == '.' && run[1] == '/')
		run += 2;
	n = run[0] == '/' ? 0 : sys_getcwd(t.at, t.size);
	t.used = n > 1 ? (size_t)n - 1 : 0;
	if (n > 1)
		text_char(&t, '/');
	text_string(&t, run);
}

uint32_t mp_page_know(void)
{
#ifdef MP_FAKE_PAGE
	mp_page_bytes = MP_FAKE_PAGE;
#else
	unsigned long bytes = getauxval(AT_PAGESZ);

	if (bytes)
		mp_page_bytes = (uint32_t)bytes;
#endif
	return mp_page_bytes;
}

/* Reads the settings.  A process that gained privileges reads no variable and records nothing. */
static void core_configure(struct text *why)
{
	static int done;

	if (done)
		return;
	done = 1;
	mp_page_know();
	core_know_program();
	core_know(mp_known.notes, sizeof(mp_known.notes), text_getenv("MPROF_NOTES"));
	core_know(mp_known.conf, sizeof(mp_known.conf), text_getenv("MPROF_CONF"));
	core_know(mp_known.job, sizeof(mp_known.job), mp_job());
	core_know(mp_known.rank, sizeof(mp_known.rank), mp_rank());
	if (getauxval(AT_SECURE)) {
		refused = 1;
		mp_config_read(NULL, &mp_config, why);
	} else if (mp_config_read(text_getenv("MPROF_CONF"), &mp_config, why) < 0) {
		core_refuse(why);
		mp_config_read(NULL, &mp_config, why);
	}
	if (!refused && !mp_is_wanted())
		refused = 1;
	mp_summary_start();
}

static int core_is_path(const char *name)
{
	while (*name && *name != '/')
		name++;
	return *name == '/';
}

static int core_find_allocator(const struct mprof_init_ops *init, struct text *why)
{
	Dl_info info;

	if (init->loads && !mp_is_loadable("SO_PATH", mp_config.so_path, why))
		return -1;
	if (init->open && init->open(&mp_config, why->at + why->used, why->size - why->used) < 0)
		return -1;
	if (mp_resolve(init, why) < 0)
		return -1;
	/* Through a pointer to data: ISO C cannot cast a function pointer. */
	if (dladdr(*(void **)&mprof_core.real.malloc, &info))
		core_know(mp_known.allocator, sizeof(mp_known.allocator), info.dli_fname);
	return 0;
}

/* Finds the allocator, whatever else fails: the program cannot run without it. */
static void core_find_any_allocator(struct text *why)
{
	const struct mprof_init_ops *init = mp_find_init(mp_config.init, why);

	if (init && core_find_allocator(init, why) == 0)
		return;
	if (dlsym(RTLD_NEXT, "malloc"))
		core_refuse(why);
	init = mp_find_init("LD_NEXT", why);
	core_find_allocator(init, why);
	/* In a static program libmprof.a hides libc's malloc. */
	if (!mprof_core.real.malloc)
		mp_give_up("libmprof.a cannot be part of a static program; link the program "
			   "dynamically or without libmprof.a");
}

/*
 * Does another malloc precede ours?  If the executable defines one, or an object was preloaded
 * before us, only a few calls reach us.  The lookup starts at the executable, because our own scope
 * begins with us.  An executable that is linked at a fixed address and takes malloc's address
 * offers an entry of its linkage table for it: an undefined symbol, which leads to ours.
 */
static void core_find_first(void)
{
	const void *headers = getauxval(AT_BASE) ? (const void *)getauxval(AT_PHDR) : NULL;
	const void *symbol = NULL;
	void *executable, *entry = NULL;
	Dl_info first, us;

	if (headers && dladdr1(headers, &first, &executable, RTLD_DL_LINKMAP))
		symbol = dlsym(executable, "malloc");
	if (symbol && dladdr1(symbol, &first, &entry, RTLD_DL_SYMENT) && entry &&
	    ((const ElfW(Sym) *)entry)->st_shndx != SHN_UNDEF && dladdr(&mp_known, &us) &&
	    first.dli_fbase != us.dli_fbase)
		core_know(mp_known.first, sizeof(mp_known.first), first.dli_fname);
}

int mp_boot_waiting(void)
{
	return __atomic_load_n(&state, __ATOMIC_RELAXED) == STATE_BOOT && !environ;
}

/*
 * May objects be loaded?  Not if the loader itself called, in the middle of its work, and not
 * before libc's constructor has run: dlopen would run it without an environment.
 */
static int core_loader_is_idle(const void *caller)
{
	Dl_info info;

	return environ && caller && dladdr(caller, &info) &&
	       (uintptr_t)info.dli_fbase != (uintptr_t)getauxval(AT_BASE);
}

/* 1: a table other than boot's may be published; 0: try again in a later call. */
static int core_initialise(const void *caller, struct text *why)
{
	const struct mprof_init_ops *init;

	core_configure(why);
	init = core_is_path(mp_config.init) ? NULL : mp_find_init(mp_config.init, why);
	if ((core_is_path(mp_config.init) || core_is_path(mp_config.mode) ||
	     (init && init->loads) || text_same(mp_config.unwind, "libgcc")) &&
	    !core_loader_is_idle(caller))
		return 0;
	*why = text_on(why->at, why->size);
	mp_next();
	mp_process_forks();
	mp_clock_choose();
	mp_mode = mp_find_mode(mp_config.mode, why);
	if (!mp_mode)
		core_refuse(why);
	else if (mp_mode->choose && mp_mode->choose(&mp_config))
		mp_mode = mp_mode->choose(&mp_config);
	core_find_any_allocator(why);
	core_find_first();
	if (refused)
		return 1;
	if (mp_threads_start() < 0) {
		text_string(why, "no memory for the thread records");
		core_refuse(why);
	} else {
		mode_table = mp_mode->keeps_nothing ? core_direct(mp_mode->api) : mp_mode->api;
		recording = 1;
		mprof_core.usable = mprof_core.real.malloc_usable_size;
		mp_wrap_start();
		if (mp_mode->start && mp_mode->start(&mp_host) < 0) {
			recording = 0;
			refused = 1; /* start() has set why */
		}
		mp_wrap_stacks();
	}
	return 1;
}

int mp_boot_try(const void *caller)
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
	done = core_initialise(caller, &why);
	if (done)
		core_publish(refused ? &mp_pass_api : mode_table);
	__atomic_store_n(&state, done ? STATE_READY : STATE_BOOT, __ATOMIC_RELEASE);
	errno = saved;
	return done;
}

__attribute__((constructor(101))) static void construct(void)
{
	mp_boot_try((const void *)construct);
	if (mp_recording()) {
		mp_run_to_env();
		mp_process_watch();
	}
	if (mp_boot_early)
		mp_lost(MPROF_LOST_EARLY, mp_boot_early);
}

/* Runs last of our code.  Recording continues: other destructors may still free. */
__attribute__((destructor(101))) static void destruct(void)
{
	mp_process_flush();
}
