// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * inject.c - see inject.h.
 *
 * A called function returns to address 0: the thread stops with SIGSEGV, which it never sees.  That
 * signal stays unblocked during the call, because the kernel would reset the program's handler of a
 * blocked one.  It also does if the program ignores the signal, which we set again then.
 */
#include "inject.h"

#include <dirent.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/now.h"
#include "process.h"

#if defined(__x86_64__)

#include <elf.h>

#define STACK_BYTES (512u << 10)
#define STATE_BYTES 65536u /* of vector registers: 11 KB with all of today's */
#define CODE_BYTES  256u   /* in which libc's syscall() has its instruction */
#define TRY_NS	    3000000000
#define TRY_US	    2000
#define STOP_NS	    200000000
#define LATE_MOST   8u
#define CALL_NS	    5000000000
#define FRAMES_MOST 200u
#define TASKS_MOST  4096u

struct inject {
	pid_t pid, tid;
	bool ended;	       /* the thread is gone */
	bool ignores_fault;    /* the program ignores SIGSEGV */
	pid_t late[LATE_MOST]; /* threads that did not stop in time, and will */
	unsigned lates;
	struct user_regs_struct before;
	uint8_t state[STATE_BYTES];
	size_t state_bytes;
	uint64_t mask;	  /* of blocked signals */
	uint64_t syscall; /* address of an instruction that makes a system call */
	uint64_t room;	  /* stack, from its lowest address; strings are at its end */
	uint64_t strings; /* the lowest of them */
};

/* ---- stopping ---- */

/* Waits until the thread has stopped.  Returns the signal; 0 for a stop that was requested;
 * -ETIMEDOUT, or -ESRCH if it is gone. */
static int wait_stop(pid_t tid, int64_t ns)
{
	const int64_t until = now_ns(CLOCK_MONOTONIC) + ns;
	int status;

	for (;;) {
		const pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got < 0 || (got == tid && !WIFSTOPPED(status)))
			return -ESRCH;
		if (got == tid)
			return status >> 16 ? 0 : WSTOPSIG(status);
		if (now_ns(CLOCK_MONOTONIC) > until)
			return -ETIMEDOUT;
		usleep(50);
	}
}

static int get_registers(struct inject *in)
{
	struct iovec io = { in->state, sizeof(in->state) };

	if (ptrace(PTRACE_GETREGS, in->tid, NULL, &in->before) ||
	    ptrace(PTRACE_GETREGSET, in->tid, NT_X86_XSTATE, &io) ||
	    ptrace(PTRACE_GETSIGMASK, in->tid, sizeof(in->mask), &in->mask))
		return -errno;
	in->state_bytes = io.iov_len;
	return 0;
}

static uint64_t signals_of(const struct inject *in, const char *name)
{
	return process_signals(in->pid, in->tid, name);
}

/* Is the program about to run a handler in this thread? */
static bool has_signal(const struct inject *in)
{
	return ((signals_of(in, "SigPnd:") | signals_of(in, "ShdPnd:")) & ~in->mask) != 0;
}

/* The kernel itself restarts most system calls that it interrupted.  Others, such as epoll_wait(),
 * have failed with EINTR, as if a handler had run: these are made again, except for close(), which
 * has closed. */
static void restart_call(struct inject *in)
{
	if ((int64_t)in->before.orig_rax < 0 || in->before.rax != (uint64_t)-EINTR ||
	    in->before.orig_rax == SYS_close || has_signal(in))
		return;
	in->before.rax = in->before.orig_rax;
	in->before.rip -= sizeof((uint8_t[]){ 0x0f, 0x05 });
	in->before.orig_rax = UINT64_MAX;
}

static void restore_registers(struct inject *in)
{
	struct iovec io = { in->state, in->state_bytes };

	restart_call(in);

	ptrace(PTRACE_SETSIGMASK, in->tid, sizeof(in->mask), &in->mask);
	ptrace(PTRACE_SETREGS, in->tid, NULL, &in->before);
	ptrace(PTRACE_SETREGSET, in->tid, NT_X86_XSTATE, &io);
}

/* ---- where a thread may be stopped ---- */

/* Those with which memory is managed and threads and processes are made: locks may be held. */
static bool is_safe_call(uint64_t number)
{
	switch (number) {
	case SYS_brk:
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_mprotect:
	case SYS_madvise:
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
	case SYS_execve:
	case SYS_execveat:
	case SYS_exit:
	case SYS_exit_group:
		return false;
	}
	return true;
}

struct frames {
	const char *allocator;
	const struct user_regs_struct *regs;
	unsigned n, activations;
	bool unsafe;
};

static bool is_libc(const char *path)
{
	return !strncmp(basename(path), "libc.so", 7) || !strncmp(basename(path), "libc-2.", 7) ||
	       !strncmp(basename(path), "libpthread", 10);
}

/* Linux adds " (deleted)" to the path of a file that was replaced. */
static bool is_same(const char *file, const char *path)
{
	const size_t n = strlen(path);

	return n && !strncmp(file, path, n) && (!file[n] || file[n] == ' ');
}

static int look_at_frame(Dwfl_Frame *frame, void *arg)
{
	struct frames *f = arg;
	const bool in_call = (int64_t)f->regs->orig_rax >= 0;
	const char *file = NULL;
	Dwarf_Addr pc, from = 0, to = 0;
	Dwfl_Module *module;
	bool activation, interrupted = !f->n;

	if (f->n == FRAMES_MOST || !dwfl_frame_pc(frame, &pc, &activation))
		return DWARF_CB_ABORT;
	module = dwfl_addrmodule(dwfl_thread_dwfl(dwfl_frame_thread(frame)), pc);
	if (module)
		dwfl_module_info(module, NULL, &from, &to, NULL, NULL, &file, NULL);
	/* It is the nearest one.  A coroutine's stack, such as a greenlet's, leads nowhere. */
	if (f->n && (pc < from || pc >= to))
		return DWARF_CB_ABORT;
	if (!file)
		file = module ? dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
			      : "";
	/* A handler's return code counts as activation, then what the signal interrupted. */
	if (f->n && activation)
		interrupted = ++f->activations % 2 == 0;
	/* The kernel's object is called by libc. */
	f->unsafe |= !strncmp(basename(file), "ld-", 3) || *file == '[' ||
		     (!is_libc(file) && is_same(file, f->allocator));
	if (interrupted && is_libc(file))
		f->unsafe |= f->n || !in_call || !is_safe_call(f->regs->orig_rax);
	f->n++;
	return f->unsafe ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

/* Stacks that end in code without call frame information are judged by the frames before it. */
static bool is_safe(const struct inject *in, const char *allocator)
{
	struct frames f = { .allocator = allocator, .regs = &in->before };
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl)
		return false;
	f.unsafe = dwfl_linux_proc_report(dwfl, in->pid) || dwfl_report_end(dwfl, NULL, NULL) ||
		   dwfl_linux_proc_attach(dwfl, in->pid, true) < 0;
	if (!f.unsafe)
		dwfl_getthread_frames(dwfl, in->tid, look_at_frame, &f);
	dwfl_end(dwfl);
	return f.n && !f.unsafe;
}

/* Returns how many threads there are; 0 if the process is gone. */
static size_t list_threads(pid_t pid, pid_t tid[TASKS_MOST])
{
	char path[64];
	size_t n = 0;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && n < TASKS_MOST && (e = readdir(dir)))
		if (*e->d_name != '.')
			tid[n++] = atoi(e->d_name);
	if (dir)
		closedir(dir);
	return n;
}

/* It would not stop yet: it waits for a disk, or for the child of its vfork(). */
static bool is_uninterruptible(pid_t pid, pid_t tid)
{
	char path[64], text[256];
	const char *end;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	n = file_head(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	end = strrchr(text, ')');
	return end && !strncmp(end, ") D", 3);
}

/* Requests that the thread stops.  A late one has been asked before. */
static int request_stop(struct inject *in, pid_t tid)
{
	for (unsigned i = 0; i < in->lates; i++)
		if (in->late[i] == tid) {
			in->late[i] = in->late[--in->lates];
			return 0;
		}
	if (in->lates == LATE_MOST || is_uninterruptible(in->pid, tid))
		return -EAGAIN;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return errno == ESRCH ? -EAGAIN : -errno;
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ? -EAGAIN : 0;
}

/* 0: it is stopped at a safe point; -EAGAIN: it is not, and runs on. */
static int try_thread(struct inject *in, pid_t tid, const char *allocator)
{
	int signal, ret = request_stop(in, tid);

	if (ret)
		return ret;
	in->tid = tid;
	signal = wait_stop(tid, STOP_NS);
	if (signal == -ETIMEDOUT)
		in->late[in->lates++] = tid;
	if (signal < 0)
		return -EAGAIN;
	ret = signal ? -EAGAIN : get_registers(in);
	if (!ret && is_safe(in, allocator))
		return 0;
	if (!ret) {
		restart_call(in);
		ptrace(PTRACE_SETREGS, tid, NULL, &in->before);
	}
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(uintptr_t)signal);
	return ret ? ret : -EAGAIN;
}

pid_t inject_tracer(pid_t pid, pid_t tid)
{
	char path[64], text[1024];
	const char *line;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	n = file_head(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = 0;
	line = strstr(text, "\nTracerPid:");
	return line ? atoi(line + strlen("\nTracerPid:")) : 0;
}

int inject_traced(pid_t pid, pid_t tracer, struct error *err)
{
	char path[64], name[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tracer);
	n = file_head(path, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = 0;
	name[strcspn(name, "\n")] = 0;
	return fail(err, -EPERM, "cannot attach to process %d: %s (process %d) already traces it%s",
		    (int)pid, *name ? name : "a debugger", (int)tracer,
		    !strcmp(name, "mprof") ? "; try again" : "");
}

static int refused(const struct inject *in, pid_t tid, int ret, struct error *err)
{
	static const char scope[] = "/proc/sys/kernel/yama/ptrace_scope";
	const pid_t pid = in->pid, tracer = ret == -EPERM ? inject_tracer(pid, tid) : 0;
	char value = '0';

	if (tracer && tracer != getpid())
		return inject_traced(pid, tracer, err);
	file_head(scope, &value, 1);
	return fail(err, ret, "cannot attach to process %d: %s%s", (int)pid, error_of_process(-ret),
		    value == '0' || ret == -ESRCH
			? ""
			: "; run mprof as root, or allow it in kernel.yama.ptrace_scope");
}

static int find_thread(struct inject *in, const char *allocator, struct error *err)
{
	pid_t tid[TASKS_MOST];
	const int64_t until = now_ns(CLOCK_MONOTONIC) + TRY_NS;
	int ret;

	do {
		const size_t n = list_threads(in->pid, tid);

		if (!n)
			return fail(err, -ESRCH, "process %d has ended", (int)in->pid);
		for (size_t i = 0; i < n; i++) {
			ret = try_thread(in, tid[i], allocator);
			if (ret && ret != -EAGAIN)
				return refused(in, tid[i], ret, err);
			if (!ret)
				return 0;
		}
		usleep(TRY_US);
	} while (now_ns(CLOCK_MONOTONIC) < until);
	return fail(err, -EAGAIN,
		    "process %d could not be interrupted outside of its allocator and loader; try "
		    "again",
		    (int)in->pid);
}

/* ---- calls ---- */

static bool read_memory(pid_t pid, uint64_t at, void *to, size_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)at, bytes };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

static bool write_memory(pid_t pid, uint64_t at, const void *from, size_t bytes)
{
	struct iovec here = { (void *)(uintptr_t)from, bytes },
		     there = { (void *)(uintptr_t)at, bytes };

	return process_vm_writev(pid, &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

void inject_read(pid_t pid, uint64_t at, char *to, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read_memory(pid, at + n, to + n, 1) && to[n])
		n++;
	to[n] = 0;
}

/*
 * The thread does not return.  One that waits for a lock, such as the loader's while another thread
 * loads an object, may give up the call; another one may hold locks itself, so it goes on.  Returns
 * what wait_stop() does.
 */
static int give_up(struct inject *in)
{
	struct user_regs_struct r;
	int got;

	ptrace(PTRACE_INTERRUPT, in->tid, NULL, NULL);
	got = wait_stop(in->tid, STOP_NS);
	if (!got && !ptrace(PTRACE_GETREGS, in->tid, NULL, &r) && r.orig_rax == SYS_futex)
		return -ETIMEDOUT;
	return got;
}

/* Lets the thread run until it stops with the signal. */
static int go_on_until(struct inject *in, struct user_regs_struct *regs, int how, int signal)
{
	int got = 0;

	do {
		/* SIGSTOP cannot be blocked: it stops the other threads, and this one later. */
		if (ptrace(how, in->tid, NULL, (void *)(uintptr_t)got) && errno != ESRCH)
			return -errno;
		got = wait_stop(in->tid, CALL_NS);
		if (got == -ETIMEDOUT)
			got = give_up(in);
	} while (!got || got == SIGSTOP); /* 0: a stop by SIGSTOP or by give_up() */
	in->ended = got == -ESRCH;
	if (got < 0)
		return got;
	if (ptrace(PTRACE_GETREGS, in->tid, NULL, regs))
		return -errno;
	return got == signal ? 0 : -EFAULT;
}

static int run_until(struct inject *in, struct user_regs_struct *regs, int how, int signal)
{
	regs->orig_rax = UINT64_MAX; /* not in a system call: nothing to restart */
	regs->eflags &= ~(1ull << 10 | 1ull << 8);
	if (ptrace(PTRACE_SETREGS, in->tid, NULL, regs))
		return -errno;
	return go_on_until(in, regs, how, signal);
}

static int system_call(struct inject *in, uint64_t number, const uint64_t arg[6], uint64_t *result)
{
	struct user_regs_struct r = in->before;
	int ret;

	r.rip = in->syscall;
	r.rax = number;
	r.rdi = arg[0];
	r.rsi = arg[1];
	r.rdx = arg[2];
	r.r10 = arg[3];
	r.r8 = arg[4];
	r.r9 = arg[5];
	/* It stops before and after, without a signal. */
	ret = run_until(in, &r, PTRACE_SYSCALL, SIGTRAP);
	ret = ret ? ret : go_on_until(in, &r, PTRACE_SYSCALL, SIGTRAP);
	*result = r.rax;
	return ret ? ret : (int64_t)r.rax < 0 && (int64_t)r.rax > -4096 ? (int)(int64_t)r.rax : 0;
}

int inject_call(struct inject *in, uint64_t at, uint64_t first, uint64_t second, uint64_t *result,
		struct error *err)
{
	struct user_regs_struct r = in->before;
	const uint64_t nowhere = 0;
	int ret;

	r.rip = at;
	r.rdi = first;
	r.rsi = second;
	r.rax = 0;
	r.rsp = (in->strings & ~15ull) - 128 - 8; /* as after a call: 8 below a multiple of 16 */
	errno = EFAULT;
	if (!write_memory(in->pid, r.rsp, &nowhere, sizeof(nowhere)))
		return fail(err, -errno, "cannot write to the memory of process %d: %s",
			    (int)in->pid, error_of_process(errno));
	ret = run_until(in, &r, PTRACE_CONT, SIGSEGV);
	*result = r.rax;
	if (ret == -ESRCH)
		return fail(err, ret, "process %d has ended", (int)in->pid);
	if (ret == -ETIMEDOUT)
		return fail(
		    err, ret,
		    "a thread of process %d waits for a lock that another one keeps; try again",
		    (int)in->pid);
	if (ret || r.rip)
		return fail(err, -EFAULT, "a call in process %d failed at address 0x%llx",
			    (int)in->pid, (unsigned long long)r.rip);
	return 0;
}

/* Finds an instruction that makes a system call in libc's syscall(). */
static int find_instruction(struct inject *in, uint64_t function)
{
	uint8_t code[CODE_BYTES];

	errno = EFAULT; /* of a part that can be read */
	if (!read_memory(in->pid, function, code, sizeof(code)))
		return -errno;
	for (size_t i = 0; i + 1 < sizeof(code); i++)
		if (code[i] == 0x0f && code[i + 1] == 0x05) {
			in->syscall = function + i;
			return 0;
		}
	return -ENOENT;
}

static int take_room(struct inject *in)
{
	const uint64_t mask = ~(1ull << (SIGSEGV - 1));
	const uint64_t arg[6] = {
		0, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0
	};
	int ret;

	in->ignores_fault = signals_of(in, "SigIgn:") >> (SIGSEGV - 1) & 1;
	if (ptrace(PTRACE_SETSIGMASK, in->tid, sizeof(mask), &mask))
		return -errno;
	ret = system_call(in, SYS_mmap, arg, &in->room);
	in->strings = in->room + STACK_BYTES;
	if (ret)
		in->room = 0;
	return ret;
}

int inject_begin(struct inject **out, pid_t pid, const struct inject_place *place,
		 struct error *err)
{
	struct inject *in = must_calloc(1, sizeof(*in));
	int ret;

	in->pid = pid;
	ret = find_instruction(in, place->system_call);
	if (ret)
		ret = fail(err, ret, "cannot read the memory of process %d: %s", (int)pid,
			   error_of_process(-ret));
	if (!ret)
		ret = find_thread(in, place->allocator, err);
	if (ret) {
		free(in);
		return ret;
	}
	ret = take_room(in);
	if (ret) {
		fail(err, ret, "process %d could not map memory: %s", (int)pid,
		     error_of_process(-ret));
		inject_end(in);
		return ret;
	}
	*out = in;
	return 0;
}

uint64_t inject_string(struct inject *in, const char *s)
{
	const size_t bytes = strlen(s) + 1;

	if (bytes > STACK_BYTES / 4)
		return 0;
	in->strings -= bytes;
	return write_memory(in->pid, in->strings, s, bytes) ? in->strings : 0;
}

static void ignore_fault(struct inject *in)
{
	const uint64_t action[4] = { (uintptr_t)SIG_IGN, 0, 0, 0 }; /* as the kernel has it */
	const uint64_t arg[6] = { SIGSEGV, in->room, 0, sizeof(action[3]), 0, 0 };
	uint64_t ignored;

	if (write_memory(in->pid, in->room, action, sizeof(action)))
		system_call(in, SYS_rt_sigaction, arg, &ignored);
}

void inject_end(struct inject *in)
{
	const uint64_t arg[6] = { in->room, STACK_BYTES, 0, 0, 0, 0 };
	uint64_t ignored;

	if (!in->ended && in->room && in->ignores_fault)
		ignore_fault(in);
	if (!in->ended && in->room)
		system_call(in, SYS_munmap, arg, &ignored);
	if (!in->ended) {
		restore_registers(in);
		ptrace(PTRACE_DETACH, in->tid, NULL, NULL);
	}
	free(in);
}

/* ---- sessions ---- */

struct session {
	int result;
	_Alignas(16) uint8_t state[];
};

static void session_run(struct session *s, int (*work)(void *state))
{
	setsid(); /* what kills mprof's group does not kill it, too */
	s->result = work(s->state);
	_exit(0);
}

int inject_session(int (*work)(void *state), void *state, size_t bytes)
{
	const size_t size = sizeof(struct session) + bytes;
	struct session *s =
	    mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigset_t all, before;
	pid_t child;
	int ret;

	if (s == MAP_FAILED)
		return -errno;
	s->result = -EIO;
	memcpy(s->state, state, bytes);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (!child)
		session_run(s, work);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	sigprocmask(SIG_SETMASK, &before, NULL);
	memcpy(state, s->state, bytes);
	ret = child < 0 ? -EAGAIN : s->result;
	munmap(s, size);
	return ret;
}

#else /* of other machines */

int inject_begin(struct inject **in, pid_t pid, const struct inject_place *place, struct error *err)
{
	(void)in, (void)place;
	return fail(err, -ENOSYS, "cannot attach to process %d: mprof can do that on x86-64 only",
		    (int)pid);
}

uint64_t inject_string(struct inject *in, const char *s)
{
	(void)in, (void)s;
	return 0;
}

int inject_call(struct inject *in, uint64_t at, uint64_t first, uint64_t second, uint64_t *result,
		struct error *err)
{
	(void)in, (void)at, (void)first, (void)second, (void)result;
	return fail(err, -ENOSYS, "mprof can do that on x86-64 only");
}

void inject_end(struct inject *in)
{
	(void)in;
}

int inject_session(int (*work)(void *state), void *state, size_t bytes)
{
	(void)bytes;
	return work(state);
}

pid_t inject_tracer(pid_t pid, pid_t tid)
{
	(void)pid, (void)tid;
	return 0;
}

int inject_traced(pid_t pid, pid_t tracer, struct error *err)
{
	(void)tracer;
	return fail(err, -EPERM, "cannot attach to process %d: it is traced", (int)pid);
}

void inject_read(pid_t pid, uint64_t at, char *to, size_t size)
{
	(void)pid, (void)at, (void)size;
	*to = 0;
}

#endif
