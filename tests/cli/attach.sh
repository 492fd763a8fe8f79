# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# attach.sh - profiling a program that runs already.

# On x86-64; and only root may trace a process that is not its child, where the kernel is so configured.
attach_is_allowed() {
	[ "$(uname -m)" = x86_64 ] || return
	[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]
}

# ./runs: has blocks from before, waits until `go` exists, makes calls whose figures are known, waits
# until `end` exists, and exits with status 7 if its memory is as it should be.  Options: t = with
# threads that allocate all the time; x = becomes another program instead; m = checks that malloc is
# libc's again.
attach_program() {
	cat >plug.c <<'END'
#include <string.h>
void *plug_keep(void) { return strdup("123456789"); }
END
	cc -g -O0 -fno-builtin -shared -fPIC -o plug.so plug.c || bad 'plug.c does not compile'
	cat >runs.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

static void *before[100], *kept[300];
static void (*let_go)(void *);
static volatile int ends;

static void *work(void *arg)
{
	char *mine[64] = { NULL };
	for (unsigned i = 0; !ends; i++) {
		char **p = &mine[i * 7919u % 64];
		const unsigned char mark = (unsigned char)(p - mine);
		if (*p && ((unsigned char)**p != mark || (unsigned char)(*p)[99] != mark))
			abort();
		free(*p);
		*p = malloc(100 + i % 300);
		memset(*p, mark, 100);
	}
	return arg;
}

static void *keep(size_t size) { return malloc(size); }

static void wait_until(const char *file)
{
	while (access(file, F_OK))
		usleep(1000);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	void *(*usual)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	void *(*plug)(void);
	pthread_t thread[3];
	int status = 0;

	let_go = free; /* a copy of the address in a variable */
	for (int i = 0; i < 100; i++)
		before[i] = malloc(50);
	for (int i = 0; i < 3 && strchr(how, 't'); i++)
		pthread_create(&thread[i], NULL, work, NULL);
	close(creat("ready", 0600));
	wait_until("go");
	for (int i = 0; i < 200; i++)
		kept[i] = keep(1000);
	for (int i = 0; i < 60; i++)
		let_go(kept[i]);
	for (int i = 0; i < 100; i++)
		free(before[i]); /* unknown: no figure changes */
	for (int i = 60; i < 70; i++)
		kept[i] = realloc(kept[i], 3000);
	plug = (void *(*)(void))dlsym(dlopen("./plug.so", RTLD_NOW), "plug_keep");
	for (int i = 0; i < 30; i++)
		kept[200 + i] = plug();
	if (!fork()) {
		for (int i = 0; i < 7; i++)
			kept[i] = keep(500);
		_exit(3);
	}
	wait(&status);
	close(creat("done", 0600));
	wait_until("end");
	if (strchr(how, 'x'))
		execl("/bin/sh", "another", "-c", "until [ -e over ]; do sleep 0.02; done", NULL);
	ends = 1;
	for (int i = 0; i < 3 && strchr(how, 't'); i++)
		pthread_join(thread[i], NULL);
	return WEXITSTATUS(status) == 3 && !strcmp(kept[229], "123456789") &&
		       (!strchr(how, 'm') ||
			usual == (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc")) ? 7 : 1;
}
END
	cc -g -O0 -fno-builtin -w -pthread -o runs runs.c -ldl || bad 'runs.c does not compile'
}

# Starts ./runs, whose pid is in $pid.
attach_start() { # OPTIONS OF runs
	rm -f ready go 'done' end
	./runs "$@" >/dev/null 2>&1 &
	pid=$!
	wait_for test -e ready
}

# Attaches to it in the background, as job $attached.
attach_to() { # OPTIONS OF attach...
	rm -f err # an earlier one would say so
	"$mprof" attach "$@" "$pid" >out 2>err &
	attached=$!
	wait_for eval 'grep -q "attached to process" err || ! kill -0 "$attached"'
	expect_text err 'attached to process'
}

attach_detach() {
	kill -INT "$attached"
	status=0
	wait "$attached" || status=$?
	expect_status 0
}

attach_expect_end() { # STATUS
	status=0
	touch end
	wait "$pid" || status=$?
	expect_status "$1"
}

# Forked children, and theirs, run at full speed again, too; also those whose parent has ended.
test_attach_detaches_children() {
	local how
	attach_is_allowed || return 0
	cat >forks.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void wait_until(const char *file)
{
	while (access(file, F_OK))
		usleep(1000);
}
int main(int argc, char **argv)
{
	void *(*usual)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
	int status, good = 1;
	close(creat("ready", 0600));
	wait_until("go");
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			fork();
			free(malloc(100));
			close(creat((const char *[]){ "a", "b", "c" }[i], 0600));
			if (i == 2)
				close(creat("done", 0600));
			wait_until("end");
			good = usual == (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
			good &= wait(&status) < 0 || WEXITSTATUS(status) == 7;
			free(malloc(200));
			close(creat((const char *[]){ "x", "y", "z" }[i], 0600));
			_exit(good ? 7 : 1);
		}
	if (argc > 1)
		return 7;
	wait_until("end");
	while (wait(&status) > 0)
		good &= WEXITSTATUS(status) == 7;
	return good ? 7 : 1;
}
END
	cc -g -O0 -fno-builtin -w -o forks forks.c -ldl || bad 'forks.c does not compile'
	for how in '' ends; do
		rm -f ready go 'done' end a b c x y z
		./forks $how >/dev/null 2>&1 &
		pid=$!
		wait_for test -e ready
		attach_to -o a.profile
		touch go
		wait_for test -e a -a -e b -a -e c
		if [ "$how" ]; then
			wait "$attached" # it notices the end
		else
			attach_detach
		fi
		expect_no_text err warning
		attach_expect_end 7
		wait_for test -e x -a -e y -a -e z
		"$mprof" report --json a.profile >r.json
		expect_same 'children that are recorded' "$(json r.json '[.processes[] | select(.detached)] | length')" \
			$([ "$how" ] && echo 6 || echo 7)
	done
}

# Calls of keep: 200 blocks of 1000 bytes, of which 60 are freed and 10 become 3000 bytes; 7 of 500
# bytes in the child, which are gone with it while its parent runs.  30 blocks of 10 bytes by the plugin.
attach_expect_figures() { # PROFILE [OF THE CHILD]
	"$mprof" report leaks --top 0 --json "$1" >r.json
	expect_same 'what keep left' "$(json r.json '[.rows[] | select(.stack[-1].function == "keep")
		| .value] | add')" $((130 * 1000 + ${2-0}))
	expect_same 'what realloc left' "$(json r.json '[.rows[] | select(.stack[-1].function == "main")
		| select(.blocks.leaked == 10) | .value] | add')" 30000
	expect_same 'what the plugin left' "$(json r.json '[.rows[] | select(.stack[-1].function == "plug_keep")
		| .value] | add')" 300
}

test_attach_counts_from_then_on() {
	attach_is_allowed || return 0
	attach_program
	attach_start m
	attach_to -o a.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	expect_text err 'next: mprof report a.profile'
	attach_expect_figures a.profile
	run "$mprof" report a.profile
	expect_words out 'was still running when mprof detached from it'
	expect_words out 'blocks from before are unknown, and times count from then'
	expect_words out 'Unmatched: 100 frees of blocks from before mprof attached.'
	expect_no_text out 'missing from this'
	run "$mprof" report --html page.html a.profile
	expect_status 0
	grep -o '<p id="kept">[^<]*' page.html >kept
	expect_text kept 'blocks from before are unknown'
	run "$mprof" report leaks a.profile
	expect_no_text out 'mprof ctl' # does not reach it any more
	"$mprof" report --json a.profile >r.json
	expect_same 'attached, detached' "$(json r.json '.processes[0] | [.attached, .detached] | join(" ")')" \
		'true true'
	# 100 blocks of 50 bytes, in chunks of 64, and few others.
	expect_same 'the heap before' "$(json r.json '.processes[0].heap_held_bytes | . >= 6400 and . < 20000')" true
	expect_documented profile r.json
	attach_expect_end 7
}

test_attach_to_threads() {
	local before
	attach_is_allowed || return 0
	attach_program
	attach_start t
	attach_to -o a.profile
	touch go
	wait_for test -e 'done'
	wait_for eval '[ "$("$mprof" report --json a.profile | jq .calls)" -gt 1000 ]'
	attach_detach
	attach_expect_figures a.profile
	before=$(json <("$mprof" report --json a.profile) .calls)
	sleep 0.1
	expect_same 'calls after the end' "$(json <("$mprof" report --json a.profile) .calls)" "$before"
	attach_expect_end 7
}

# Each time the library is loaded once more.
test_attach_again() {
	attach_is_allowed || return 0
	attach_program
	attach_start tm
	attach_to -o a.profile
	run "$mprof" attach -o b.profile "$pid"
	expect_status 3
	expect_text err "process $pid is already recorded, into '$PWD/a.profile'; 'mprof report $pid' shows what it has, 'mprof ctl $pid clear' begins anew"
	run "$mprof" attach -o b.profile "$(ls "/proc/$pid/task" | grep -vx "$pid" | head -1)" # a thread, as top -H shows it
	expect_text err "process $pid is already recorded"
	attach_detach
	sleep 1 # a later beginning does not make it another process, for merge
	attach_to -o b.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	attach_expect_figures b.profile
	expect_same 'rows of the first time' "$("$mprof" report leaks --json a.profile |
		jq '[.rows[] | select(.stack[-1].function == "keep")] | length')" 0
	expect_same files "$(echo ./*.profile*)" './a.profile ./b.profile'
	attach_expect_end 7
	run "$mprof" diff a.profile b.profile
	has_words out 'mprof was attached for' && has_words out 'in b.profile: the longer, the larger the figures.' ||
		bad "diff says: $(cat out)"
	run "$mprof" diff --markdown a.profile a.profile
	expect_words out 'mprof was attached for'
	run "$mprof" merge a.profile b.profile -o c.profile
	expect_text err 'which would be counted twice; mprof diff compares them'
}

# Of a recording whose mprof was killed, the next one takes the place; not of one that has its mprof.
test_attach_after_a_kill() {
	local n
	attach_is_allowed || return 0
	attach_program
	attach_start tm
	for n in 1 2 3; do # also from the copies of the library that come second and third
		attach_to -o a.profile
		kill -KILL "$attached"
		wait "$attached" 2>/dev/null
		rm -f a.profile.old
	done
	attach_to -o b.profile
	expect_text err "mprof: ended the recording into '$PWD/a.profile', because the mprof that began it was killed"
	touch go
	wait_for test -e 'done'
	attach_detach
	attach_expect_figures b.profile
	expect_same 'the first is detached' "$("$mprof" report --json a.profile | jq .processes[0].detached)" true
	attach_expect_end 7
}

# A forked child belongs to the recording of its parent.
test_attach_to_a_recorded_child() {
	local child
	attach_is_allowed || return 0
	cat >parent.c <<'END'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void until(const char *file)
{
	while (access(file, F_OK)) {
		free(malloc(100));
		usleep(1000);
	}
}
int main(void)
{
	int status = 0;
	close(creat("ready", 0600));
	until("go");
	if (!fork()) {
		close(creat("done", 0600));
		until("end");
		return 7;
	}
	until("end");
	wait(&status);
	return WEXITSTATUS(status);
}
END
	compile parent
	./parent &
	pid=$!
	wait_for test -e ready
	attach_to -o a.profile
	touch go
	wait_for test -e 'done'
	child=$(pgrep -P "$pid")
	wait_for eval '[ "$("$mprof" report --json a.profile | jq ".processes | length")" = 2 ]'
	attach_refused 3 "process $child is already recorded, into '$PWD/a.profile'" -o b.profile "$child"
	kill -KILL "$attached"
	wait "$attached" 2>/dev/null
	run "$mprof" attach --for 10ms -o b.profile "$child"
	expect_status 0
	expect_text err "ended the recording into '$PWD/a.profile'"
	expect_same 'all of it is detached' "$("$mprof" report --json a.profile | jq '[.processes[].detached] | all')" true
	expect_same 'a new one of the child' "$("$mprof" report --json b.profile | jq .processes[0].pid)" "$child"
	attach_expect_end 7
}

test_attach_to_its_end() {
	attach_is_allowed || return 0
	attach_program
	attach_start
	attach_to -o a.profile
	touch go
	wait_for test -e 'done'
	attach_expect_end 7
	wait "$attached" || bad "attach failed: $(cat err)"
	run "$mprof" report a.profile
	expect_words out 'exited with status 7'
	attach_expect_figures a.profile $((7 * 500))
}

# The program that comes after is not ours to change.
test_attach_before_exec() {
	attach_is_allowed || return 0
	attach_program
	attach_start x
	attach_to -o a.profile
	touch go
	wait_for test -e 'done'
	touch end
	wait_for grep -qz another "/proc/$pid/cmdline"
	attach_detach
	expect_no_text err warning
	status=0
	touch over
	wait "$pid" || status=$?
	expect_status 0
	run "$mprof" report a.profile
	expect_words out 'became a program that is not recorded'
}

# Nor those that children become.
test_attach_before_programs() {
	attach_is_allowed || return 0
	cat >starts.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	char *argv[] = { "true", NULL };
	pid_t pid;

	close(creat("ready", 0600));
	while (access("go", F_OK)) usleep(1000);
	for (int i = 0; i < 3 && !posix_spawn(&pid, "/bin/true", NULL, NULL, argv, environ); i++)
		waitpid(pid, NULL, 0);
	if (!fork()) {
		execl("/bin/sleep", "sleep", "0", NULL);
		_exit(1);
	}
	wait(NULL);
	close(creat("done", 0600));
	while (access("end", F_OK)) usleep(1000);
	return 7;
}
END
	compile starts
	./starts &
	pid=$!
	wait_for test -e ready
	attach_to -o a.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	expect_text err '4 programs that it ran since then were not recorded; the first: /bin/true;'
	attach_expect_end 7
	run "$mprof" report a.profile
	expect_words out '4 programs were not recorded, because mprof attach reaches no program that a process runs later; the first: /bin/true.'
	expect_no_text out LD_PRELOAD
}

# What dlmopen loaded before.
test_attach_beside_a_namespace() {
	attach_is_allowed || return 0
	attach_program
	cat >spaces.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
int main(void)
{
	void *(*plug)(void) = (void *(*)(void))dlsym(dlmopen(LM_ID_NEWLM, "./plug.so", RTLD_NOW), "plug_keep");

	close(creat("ready", 0600));
	while (access("end", F_OK)) {
		plug();
		usleep(1000);
	}
	return 7;
}
END
	compile spaces -ldl
	rm -f ready end
	./spaces &
	pid=$!
	wait_for test -e ready
	run "$mprof" attach --for 10ms -o a.profile "$pid"
	expect_status 0
	expect_text err 'calls of ./plug.so were not recorded: dlmopen gave it a C library of its own'
	run "$mprof" report a.profile
	expect_words out 'loaded ./plug.so into another namespace (dlmopen): what it allocated and freed itself is not recorded'
	attach_expect_end 7
}

test_attach_for_a_time() {
	attach_is_allowed || return 0
	attach_program
	attach_start t
	run "$mprof" attach --for 100ms --sample=1K -o a.profile "$pid"
	expect_status 0
	expect_text err 'samples of'
	run "$mprof" attach --quiet --for 100ms -o a.profile "$pid"
	expect_status 0
	expect_lines err 0
	[ -e a.profile.old ] || bad 'the earlier profile is gone'
	touch go
	attach_expect_end 7
}

# System calls that the kernel does not restart when a process is stopped and runs on.
test_attach_interrupts_no_call() {
	attach_is_allowed || return 0
	cat >waits.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>
#include <fcntl.h>
static sigset_t set;
static sem_t sem;
static int pipes[2], e;
static int call(const char *which)
{
	const struct timespec most = { 0, 300000000 };
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd polled = { pipes[0], POLLIN };
	struct timespec until;

	if (!strcmp(which, "epoll"))
		return epoll_wait(e, &event, 1, 300);
	if (!strcmp(which, "poll"))
		return ppoll(&polled, 1, &most, &set);
	if (!strcmp(which, "sleep"))
		return nanosleep(&most, NULL);
	if (!strcmp(which, "signal"))
		return sigtimedwait(&set, NULL, &most) == -1 && errno == EAGAIN ? 0 : -1;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec++;
	return sem_timedwait(&sem, &until) == -1 && errno == ETIMEDOUT ? 0 : -1;
}
int main(int argc, char **argv)
{
	struct epoll_event event = { .events = EPOLLIN };

	if (pipe(pipes))
		return 9;
	e = epoll_create1(0);
	epoll_ctl(e, EPOLL_CTL_ADD, pipes[0], &event);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sem_init(&sem, 0, 0);
	close(creat("ready", 0600));
	while (access("end", F_OK))
		if (call(argv[1]))
			return 1;
	return 5;
}
END
	compile waits -pthread
	local how
	for how in epoll poll sleep signal semaphore; do
		rm -f ready end
		./waits "$how" &
		pid=$!
		wait_for test -e ready
		run "$mprof" attach -q --for 1ms -o w.profile "$pid"
		expect_status 0
		touch end
		status=0
		wait "$pid" || status=$?
		expect_same "$how" "$status" 5
	done
}

# ./loads: one thread holds the loader's lock until the file exists; ends with status 7 when `end` exists.
attach_slow_loader() { # FILE
	echo '#include <unistd.h>
#include <fcntl.h>
__attribute__((constructor)) static void slow(void)
{ close(creat("ready", 0600)); while (access("'"$1"'", F_OK)) usleep(1000); }' >slow.c
	cc -shared -fPIC -o slow.so slow.c || bad 'slow.c does not compile'
	cat >loads.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
static void *load(void *arg) { return dlopen("./slow.so", RTLD_NOW) ? arg : NULL; }
int main(void)
{
	pthread_t thread;
	void *loaded;
	pthread_create(&thread, NULL, load, &thread);
	while (access("end", F_OK))
		usleep(1000);
	pthread_join(thread, &loaded);
	return loaded ? 7 : 1;
}
END
	compile loads -pthread -ldl
}

# Its lock would be ours to wait for until the other thread returns.
test_attach_waits_for_no_lock() {
	attach_is_allowed || return 0
	attach_slow_loader end
	./loads &
	pid=$!
	wait_for test -e ready
	"$mprof" attach -o a.profile "$pid" 2>first &
	attached=$!
	wait_for grep -q '^TracerPid:.*[1-9]' "/proc/$pid/status"
	attach_refused 3 ') already traces it; try again' -o b.profile "$pid"
	expect_text err "cannot attach to process $pid: mprof (process "
	status=0
	wait "$attached" || status=$?
	expect_status 3
	mv first err
	expect_one_line_error
	expect_text err 'waits for a lock that another one keeps; try again'
	[ ! -e a.profile ] || bad 'there is a profile'
	attach_expect_end 7
}

attach_refused() { # STATUS TEXT ARGUMENTS...: of attach
	run "$mprof" attach "${@:3}"
	expect_status "$1"
	expect_one_line_error
	expect_text err "$2"
}

test_attach_refuses() {
	local how
	attach_is_allowed || return 0
	attach_refused 2 "invalid PID 'x': expected the number of a process" x
	attach_refused 2 'no process given'
	attach_refused 2 "unexpected argument '2'" 1 2
	attach_refused 2 'invalid --for' --for x 1
	attach_refused 3 'it is not running' 4194303
	for how in 'record -p 1' 'profile --pid=1' '-p 1' 'attach --pid 1'; do
		run "$mprof" $how
		expect_status 2
		expect_text err "'mprof attach PID' profiles a program that runs already"
	done
	echo '#include <unistd.h>
int main(void) { for (;;) pause(); }' >pauses.c
	cc -static -o pauses pauses.c
	./pauses &
	pid=$!
	wait_for eval '[ "$(readlink /proc/'$pid'/exe)" = "$PWD/pauses" ]'
	attach_refused 3 'it is statically linked' "$pid"
	if nobody_can_run; then
		run setpriv --reuid 65534 --regid 65534 --clear-groups "$mprof" attach -o /dev/null "$pid"
		expect_status 3
		expect_text err "cannot examine process $pid: it runs as user root; run mprof as this user"
	fi
	kill "$pid"
	wait "$pid" 2>/dev/null
	if nobody_can_run; then # a daemon that gave up root: what mprof proposes works
		chmod 755 .
		setpriv --reuid 65534 --regid 65534 --clear-groups perl -e '$| = 1; print "started\n"; sleep 1000' >started &
		pid=$!
		wait_for test -s started
		run "$mprof" attach --for 1ms "$pid"
		expect_status 3
		expect_same 'what mprof says' "$(cat err)" "mprof: cannot record process $pid: cannot write '$PWD/mprof.profile': permission denied; it runs as user $(id -un 65534), who must be able to create the file: choose another directory, for example -o /tmp/mprof.profile"
		mkdir -m 1777 open
		run "$mprof" attach --for 1ms -o open/mprof.profile "$pid"
		expect_status 0
		kill "$pid"
		wait "$pid" 2>/dev/null
	fi
	if nobody_can_run; then
		python3 -c 'import ctypes, os, time
os.setgroups([]); os.setgid(65534); os.setuid(65534)
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) # PR_SET_DUMPABLE
print(flush=True)
while True: time.sleep(9)' >protected &
		pid=$!
		wait_for test -s protected
		run setpriv --reuid 65534 --regid 65534 --clear-groups "$mprof" attach -o /dev/null "$pid"
		expect_status 3
		expect_text err "cannot examine process $pid: it has more privileges, or protects itself (PR_SET_DUMPABLE); run mprof as root"
		kill "$pid"
		wait "$pid" 2>/dev/null
	fi
	if [ "$(id -u)" = 0 ] && setpriv --bounding-set=-sys_ptrace true; then # as in a container
		setpriv --bounding-set=-sys_ptrace python3 -c 'import ctypes, time
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0) # PR_SET_DUMPABLE
print(flush=True)
while True: time.sleep(9)' >protected_root &
		pid=$!
		wait_for test -s protected_root
		run setpriv --bounding-set=-sys_ptrace "$mprof" attach -o /dev/null "$pid"
		expect_status 3
		expect_text err "or protects itself (PR_SET_DUMPABLE); run mprof with the capability CAP_SYS_PTRACE"
		run setpriv --bounding-set=-sys_ptrace "$mprof" report "$pid"
		expect_status 3
		expect_text err "cannot examine process $pid: it has more privileges"
		kill "$pid"
		wait "$pid" 2>/dev/null
		# It may list the files that the process has open, but not open them.
		setpriv --reuid 65534 --regid 65534 --clear-groups sleep 1000 &
		pid=$!
		wait_for eval '[ "$(stat -c %u /proc/'$pid')" = 65534 ]'
		run setpriv --bounding-set=-sys_ptrace "$mprof" report "$pid"
		expect_status 3
		expect_same 'what mprof says' "$(cat err)" \
			"mprof: cannot examine process $pid: it runs as user $(id -un 65534); run mprof as this user"
		kill "$pid"
		wait "$pid" 2>/dev/null
	fi
	echo '#include <stddef.h>
#include <unistd.h>
static char all[1 << 20], *next = all;
void *malloc(size_t n) { char *p = next; next += (n + 15) / 16 * 16; return p; }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return malloc(a * b); }
void *realloc(void *p, size_t n) { (void)p; return malloc(n); }
int main(void) { for (;;) pause(); }' >owns.c
	compile owns
	./owns &
	pid=$!
	wait_for eval '[ "$(readlink /proc/'$pid'/exe)" = "$PWD/owns" ]'
	attach_refused 3 'defines malloc itself' "$pid"
	kill "$pid"
	wait "$pid" 2>/dev/null
	keeps_and_waits
	"$mprof" record -q -o log -- ./waits &
	wait_for test -e ready
	attach_refused 3 'is already recorded' "$(pgrep -x waits -P $!)"
	pkill -x waits -P $!
	wait $!
	rm ready
	./waits &
	pid=$!
	wait_for test -e ready
	attach_refused 3 'cannot write' -o /proc/a.profile "$pid"
	echo text >other
	attach_refused 2 "'other'" -o other "$pid"
	gdb -q -p "$pid" -batch -ex 'shell touch traced; until [ -e over ]; do sleep 0.02; done' >/dev/null 2>&1 &
	wait_for test -e traced
	attach_refused 3 'gdb (process ' "$pid"
	expect_text err 'already traces it'
	touch over
	wait $!
	kill "$pid"
	nobody_can_run || return 0
	setpriv --reuid 65534 --clear-groups sleep 30 &
	pid=$!
	wait_for eval '[ "$(cat /proc/'$pid'/comm)" = sleep ]'
	attach_refused 3 'permission denied; it runs as user' -o a.profile "$pid"
	kill "$pid"
}

# operator new of such an allocator does not call malloc.
# Its files have other paths here; and what it cannot reach is named.
test_attach_after_chroot() {
	local object
	attach_is_allowed && unshare -m true 2>/dev/null && [ "$(id -u)" = 0 ] || return 0
	printf '%s\n' '#include <stdlib.h>' '#include <unistd.h>' \
		'int main(void) { for (void *volatile p;; usleep(100)) { p = malloc(123); free(p); } }' >allocates.c
	compile allocates
	mkdir -p root/proc "root$PWD/lib" lib root/out
	for object in $(ldd allocates | grep -o '/[^ ]*') "$(ldd "$build/libmprof.so" | grep -o '/[^ ]*/libc.so.6')"; do
		cp -L --parents "$object" root
	done
	cp "$build/libmprof.so" lib
	mv allocates root
	MPROF_LIB=$PWD/lib
	export MPROF_LIB
	chroot root /allocates &
	pid=$!
	wait_for eval '[ "$(readlink /proc/'$pid'/exe)" = "$PWD/root/allocates" ]'
	attach_refused 3 "process $pid does not see '$PWD/lib/libmprof.so': it has another file system, as in a container; run mprof there" "$pid"
	ln lib/libmprof.so "root$PWD/lib"
	attach_refused 3 "process $pid has no /proc, as after chroot; mount it in its root directory (mount --bind /proc DIRECTORY/proc)" "$pid"
	mount --bind /proc root/proc || bad 'no mount'
	run "$mprof" attach -o "$PWD/log" "$pid"
	expect_status 3
	expect_text err "process $pid does not see '$PWD/': it has another root directory, as after chroot, or in a container; choose a directory that both see with -o, or run mprof there"
	[ ! -e log ] || bad 'a file remains'
	ln -sr root "root$PWD/root" # both see this directory
	run "$mprof" attach --for 500ms -o "$PWD/root/out/log" "$pid"
	expect_status 0
	run "$mprof" report --json root/out/log
	expect_same 'what it allocates' "$(json out '.calls > 100')" true
	kill "$pid"
	wait "$pid" 2>/dev/null
	umount root/proc
	unset MPROF_LIB
}

test_attach_records_operators_of_other_allocators() {
	attach_is_allowed || return 0
	echo '#include <stddef.h>
static char all[1 << 20], *next = all;
static void *take(size_t n) { char *p = next; next += (n + 15) / 16 * 16; return p; }
void *malloc(size_t n) { return take(n); }
void free(void *p) { (void)p; }
void *calloc(size_t a, size_t b) { return take(a * b); }
void *realloc(void *p, size_t n) { (void)p; return take(n); }
void *_Znwm(size_t n) { return take(n); }
void _ZdlPv(void *p) { (void)p; }' >other.c
	cc -fno-builtin -shared -fPIC -o other.so other.c
	echo '#include <fcntl.h>
#include <unistd.h>
void *_Znwm(unsigned long n);
void _ZdlPv(void *p);
int main(void)
{
	close(creat("ready", 0600));
	while (access("go", F_OK)) usleep(1000);
	for (int i = 0; i < 5; i++) _Znwm(1000);
	_ZdlPv(_Znwm(100));
	close(creat("done", 0600));
	while (access("end", F_OK)) usleep(1000);
	return 7;
}' >news.c
	cc -g -fno-builtin -w -o news news.c ./other.so || bad 'news.c does not compile'
	./news &
	pid=$!
	wait_for test -e ready
	attach_to -o a.profile
	touch go
	wait_for test -e 'done'
	attach_detach
	"$mprof" report leaks --json a.profile >r.json
	expect_same 'what new left' "$(json r.json '[.rows[] | select(.stack[-1].function == "main")
		| .value] | add')" 5000
	attach_expect_end 7
}

# Each time takes thread-local memory, of which the C library keeps some for libraries that come late.
test_attach_too_often() {
	local n
	attach_is_allowed || return 0
	attach_program
	attach_start m
	for ((n = 0; n < 40; n++)); do
		run "$mprof" attach -q --for 1ms -o a.profile "$pid"
		[ "$status" = 0 ] || break
	done
	expect_status 3
	expect_one_line_error
	expect_text err 'no thread-local memory is left for the library'
	[ "$n" -ge 2 ] || bad "it attached $n times"
	touch go
	attach_expect_end 7
}

attached_children() { # attaches to ./family before it forks, and reports
	rm -f go end ready family.profile
	./family &
	local child=$! by
	"$mprof" attach -o family.profile "$child" 2>said &
	by=$!
	wait_for grep -q '^mprof: attached' said
	touch go
	wait_for test -e ready
	sleep 3
	touch end
	wait "$child"
	wait "$by"
	run "$mprof" report family.profile
}

# What only mprof reads is in such a profile, too.
test_attach_tells_what_all_processes_had() {
	attach_is_allowed || return 0
	cat >family.c <<'EOF'
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define SIZE (32ul << 20)
static void wait_until(const char *file)
{
	while (access(file, F_OK))
		usleep(1000);
}
int main(void)
{
	wait_until("go");
	for (int i = 0; i < 4; i++)
		if (!fork()) {
			char *p = malloc(SIZE);
			memset(p, 1, SIZE);
			wait_until("end");
			_exit(p[1] != 1);
		}
	prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	char *p = mmap(0, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, 2 * SIZE, MADV_HUGEPAGE);
	memset(p, 1, 2 * SIZE);
	close(open("ready", O_CREAT | O_WRONLY, 0600));
	while (wait(NULL) > 0)
		;
	return p[1] != 1;
}
EOF
	compile family
	again_until 'has_words out "All processes together had at least "' attached_children
	expect_words out ' MiB at one time, with pages that they share counted once.'
	run "$mprof" report --json family.profile
	expect_documented profile out
	expect_same 'several processes' "$(json out '.together_bytes > 1.25 * 64 * 1048576')" true
}
