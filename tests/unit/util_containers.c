// SPDX-License-Identifier: LGPL-3.0-or-later
/* util_containers.c - table, arena, growing arrays, periods, and the end of the program without
 * memory. */
#include "suites.h"

#include "util/alloc.h"
#include "util/arena.h"
#include "util/at_once.h"
#include "util/large.h"
#include "util/memory.h"
#include "util/hash.h"
#include "util/rank.h"
#include "util/unfinished.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 20000u

/* ---- containers ---- */

static uint64_t key_of(unsigned kind, uint64_t i)
{
	switch (kind) {
	case 0:
		return i; /* and 0 */
	case 1:
		return 0x7f0000000000ull + i * 4096;
	case 2:
		return i << 32 | (i ^ 1);
	}
	return ~(i * i);
}

/* Every key has its value, whatever pattern the keys make. */
START_TEST(hash_keeps_all)
{
	const unsigned kind = (unsigned)_i;
	struct hash t = { .slot = NULL };
	uint64_t i, *v;

	ck_assert_uint_eq(hash_get(&t, 7), 0);
	for (i = 0; i < MANY; i++) {
		v = hash_at(&t, key_of(kind, i));
		ck_assert_uint_eq(*v, 0);
		*v = i + 1;
	}
	ck_assert_uint_eq(t.used, MANY);
	for (i = 0; i < MANY; i++) {
		ck_assert_uint_eq(hash_get(&t, key_of(kind, i)), i + 1);
		*hash_at(&t, key_of(kind, i)) += 1;
	}
	ck_assert_uint_eq(t.used, MANY);
	for (i = 0; i < MANY; i++)
		ck_assert_uint_eq(hash_get(&t, key_of(kind, i)), i + 2);
	ck_assert_uint_eq(hash_get(&t, key_of(kind, MANY)), 0);
	hash_release(&t);
	ck_assert_uint_eq(hash_get(&t, 7), 0);
}
END_TEST

/* By bytes, in stable order, whatever digits differ. */
START_TEST(numbers_are_ranked)
{
	static struct ranked r[MANY];
	const unsigned kind = (unsigned)_i;
	const size_t n = kind < 4 ? MANY : kind - 4;
	size_t i;

	for (i = 0; i < n; i++)
		r[i] = (struct ranked){ key_of(kind & 3, i * 7919 % MANY / 2), i };
	rank(r, n);
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(r[i].key, key_of(kind & 3, r[i].item * 7919 % MANY / 2));
		ck_assert(!i || r[i - 1].key < r[i].key ||
			  (r[i - 1].key == r[i].key && r[i - 1].item < r[i].item));
	}
}
END_TEST

/* It unmaps nothing at address 0, where valgrind, for example, puts programs. */
START_TEST(large_nothing_is_freed)
{
	const size_t bytes = 4096;
	volatile char *low = mmap((void *)0x100000, bytes, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	ck_assert_ptr_eq((void *)low, (void *)0x100000);
	*low = 7;
	large_free(NULL, 8 << 20);
	ck_assert_int_eq(*low, 7);
	munmap((void *)low, bytes);
}
END_TEST

/* Items of any length follow, in place. */
START_TEST(ranked_items_move)
{
	struct item {
		uint32_t key;
		char text[sizeof("18446744073709551615")];
	} item[300];
	struct ranked r[300];
	const size_t n = (size_t)_i * 100 / 3;

	for (size_t i = 0; i < n; i++) {
		item[i].key = (uint32_t)(i * 7919 % 50);
		snprintf(item[i].text, sizeof(item[i].text), "%zu", i);
		r[i] = (struct ranked){ item[i].key, i };
	}
	rank(r, n);
	ranked_move(r, n, item, sizeof(item[0]));
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(r[i].item, i);
		ck_assert_uint_eq(item[i].key, r[i].key);
		ck_assert_uint_eq(item[i].key, strtoul(item[i].text, NULL, 10) * 7919 % 50);
		ck_assert(!i || item[i - 1].key < item[i].key ||
			  strtoul(item[i - 1].text, NULL, 10) < strtoul(item[i].text, NULL, 10));
	}
}
END_TEST

START_TEST(arena_interns_once)
{
	static const char *texts[MANY];
	struct arena a = { .chunk = NULL };
	char text[32];
	unsigned i, n;

	for (i = 0; i < MANY; i++) {
		snprintf(text, sizeof(text), "%u", i);
		texts[i] = arena_intern(&a, text);
	}
	for (i = 0; i < MANY; i++) {
		n = (unsigned)snprintf(text, sizeof(text), "%u and more", i);
		ck_assert_str_eq(texts[i], (snprintf(text, sizeof(text), "%u", i), text));
		text[strlen(text)] = ' ';
		ck_assert_ptr_eq(arena_intern_n(&a, text, n - strlen(" and more")), texts[i]);
	}
	ck_assert_ptr_eq(arena_intern(&a, ""), arena_intern_n(&a, "x", 0));
	arena_release(&a);
}
END_TEST

/* Pieces of all sizes are apart, aligned, and stay where they are. */
START_TEST(arena_pieces)
{
	static unsigned char *piece[2000];
	struct arena a = { .chunk = NULL };
	size_t i, k;

	for (i = 0; i < 2000; i++) {
		piece[i] = arena_alloc(&a, i * 31 % 40000);
		ck_assert_uint_eq((uintptr_t)piece[i] & 15, 0);
		memset(piece[i], (int)i & 255, i * 31 % 40000);
	}
	for (i = 0; i < 2000; i++)
		for (k = 0; k < i * 31 % 40000; k += 97)
			ck_assert_uint_eq(piece[i][k], i & 255);
	arena_release(&a);
}
END_TEST

START_TEST(arrays_grow)
{
	uint32_t *plain = NULL, *zeroed = NULL;
	size_t room = 0, zeroed_room = 0, i;

	for (i = 0; i < MANY; i++) {
		GROW(plain, i + 1, room);
		plain[i] = (uint32_t)i;
	}
	for (i = 1; i < MANY; i *= 3) {
		GROW_ZEROED(zeroed, i + 1, zeroed_room);
		zeroed[i] = (uint32_t)i;
	}
	ck_assert_uint_ge(room, MANY);
	for (i = 0; i < MANY; i++)
		ck_assert_uint_eq(plain[i], i);
	for (i = 0; i < zeroed_room; i++)
		ck_assert(!zeroed[i] || (zeroed[i] == i && (i == 1 || i % 3 == 0)));
	GROW(plain, 3, room);
	ck_assert_uint_eq(plain[MANY - 1], MANY - 1);
	free(plain);
	free(zeroed);
}
END_TEST

START_TEST(nothing_is_there_too)
{
	char *text = must_printf("%s %d", "x", 7), *copy = must_strndup("abcdef", 3);
	void *none = must_malloc(0), *more = must_reallocarray(must_calloc(0, 8), 0, 8);

	ck_assert_str_eq(text, "x 7");
	ck_assert_str_eq(copy, "abc");
	free(text);
	free(copy);
	free(none);
	free(more);
	free(must_memdup(NULL, 0));
}
END_TEST

/* ---- without memory ---- */

#define TOO_MUCH (SIZE_MAX / 4)

static void *in_thread(void *unused)
{
	(void)unused;
	must_calloc(TOO_MUCH, 8); /* a product that overflows */
	return NULL;
}

static void in_main(void)
{
	must_malloc(TOO_MUCH);
}

static void in_a_thread(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, in_thread, NULL))
		pthread_join(thread, NULL);
}

/* Both at once: one line, one status. */
static void in_two_threads(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, in_thread, NULL))
		must_reallocarray(NULL, TOO_MUCH, 1);
}

static void at_end(int status, void *unused)
{
	(void)status;
	(void)unused;
	dprintf(STDERR_FILENO, "<end>");
	must_malloc(TOO_MUCH); /* which ends it at once */
}

static void at_the_end_again(void)
{
	on_exit(at_end, NULL);
	in_main();
}

static void with_a_child(void)
{
	pid_t child = fork();

	if (!child) {
		usleep(200000);
		dprintf(STDERR_FILENO, "<child>");
		_exit(5);
	}
	memory_out_child(child);
	in_main();
}

static void with_a_killed_child(void)
{
	pid_t child = fork();

	if (!child) {
		usleep(100000);
		abort();
	}
	memory_out_child(child);
	in_main();
}

static void after_a_child(void)
{
	memory_out_status(42);
	in_main();
}

/* A copy of us: it is not the one that cleans up. */
static void in_a_copy(void)
{
	pid_t child = fork();

	if (!child)
		in_main();
	waitpid(child, NULL, 0);
	_exit(access("half", F_OK) ? 99 : 7);
}

static void in_an_array(void)
{
	char *array = NULL;
	size_t room = 0;

	GROW(array, TOO_MUCH, room);
}

static const struct {
	void (*go)(void);
	int status;
	const char *said;
} ends[] = {
	{ in_main, 1, "mprof test: out of memory\n" },
	{ in_a_thread, 1, "mprof test: out of memory\n" },
	{ in_two_threads, 1, "mprof test: out of memory\n" },
	{ in_an_array, 1, "mprof test: out of memory\n" },
	{ at_the_end_again, 1, "mprof test: out of memory\n<end>" },
	{ with_a_child, 5, "mprof test: out of memory\n<child>" },
	{ with_a_killed_child, 128 + SIGABRT, "mprof test: out of memory\n" },
	{ after_a_child, 42, "mprof test: out of memory\n" },
	{ in_a_copy, 7, "mprof test: out of memory\n" },
};

/* A sanitizer must give NULL for too much, as malloc does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void run_out(unsigned i, int to)
{
	dup2(to, STDERR_FILENO);
	memory_out_title("mprof test");
	close(open("half", O_CREAT | O_WRONLY, 0600));
	close(open("done", O_CREAT | O_WRONLY, 0600));
	mkdir("directory", 0700);
	close(open("directory/half", O_CREAT | O_WRONLY, 0600));
	unfinished_add("done");
	unfinished_add("directory");
	unfinished_add("directory/half");
	unfinished_add("half");
	ends[i].go();
	_exit(98);
}

START_TEST(the_end)
{
	char room[] = "/tmp/mprof-unit-XXXXXX", said[512] = "";
	int pipes[2], status;
	ssize_t n = 0, got;
	pid_t pid;

	ck_assert(mkdtemp(room) && !chdir(room) && !pipe(pipes));
	pid = fork();
	if (!pid)
		run_out((unsigned)_i, pipes[1]);
	close(pipes[1]);
	while ((got = read(pipes[0], said + n, sizeof(said) - 1 - (size_t)n)) > 0)
		n += got;
	waitpid(pid, &status, 0);
	ck_assert_msg(WIFEXITED(status), "signal %d", WTERMSIG(status));
	ck_assert_int_eq(WEXITSTATUS(status), ends[_i].status);
	/* Sanitizers speak of the request first. */
	ck_assert_msg(strstr(said, ends[_i].said), "%s", said);
	if (ends[_i].go != in_a_copy) {
		ck_assert_int_lt(access("half", F_OK), 0);
		ck_assert_int_lt(access("directory", F_OK), 0);
	}
	ck_assert_int_eq(access("/tmp", F_OK), 0);
	if (system("rm -rf half done directory")) /* files left by design */
		ck_abort();
	rmdir(room);
}
END_TEST

START_TEST(finished_files_stay)
{
	char room[] = "/tmp/mprof-unit-XXXXXX";
	char *path[20];
	int i, left = 0;

	ck_assert(mkdtemp(room) && !chdir(room));
	for (i = 0; i < 20; i++) {
		path[i] = must_printf("f%d", i);
		close(open(path[i], O_CREAT | O_WRONLY, 0600));
		unfinished_add(path[i]);
	}
	unfinished_forget(path[3]);
	unfinished_forget(path[4]);
	unfinished_forget(NULL);
	unfinished_add(path[19]); /* in the place of one of them */
	unfinished_remove();
	for (i = 0; i < 20; i++) {
		if (!access(path[i], F_OK)) {
			ck_assert(i == 3 || i == 4 || i >= 16);
			left++;
		}
		unlink(path[i]);
		free(path[i]);
	}
	ck_assert_int_eq(left, 5);
	rmdir(room);
}
END_TEST

/* A damaged file may have periods that end before they begin. */
START_TEST(periods_overlap)
{
	uint64_t first[4] = { 30, 10, 20, 40 }, last[4] = { 35, 20, 50, UINT64_MAX };
	uint64_t begin[3] = { 7, 5, 0 }, end[3] = { 4, 3, 0 };

	ck_assert_uint_eq(most_at_once(first, last, 4), 2);
	ck_assert_uint_eq(most_at_once(begin, end, 2), 1);
	ck_assert_uint_eq(most_at_once(begin, end, 0), 0);
}
END_TEST

#define COUNT(a) (int)(sizeof(a) / sizeof((a)[0]))

Suite *util_containers_suite(void)
{
	Suite *s = suite_create("util_containers");
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, hash_keeps_all, 0, 4);
	tcase_add_loop_test(c, numbers_are_ranked, 0, 7);
	tcase_add_loop_test(c, ranked_items_move, 0, 10);
	tcase_add_test(c, large_nothing_is_freed);
	tcase_add_test(c, arena_interns_once);
	tcase_add_test(c, arena_pieces);
	tcase_add_test(c, arrays_grow);
	tcase_add_test(c, nothing_is_there_too);
	tcase_add_loop_test(c, the_end, 0, COUNT(ends));
	tcase_add_test(c, finished_files_stay);
	tcase_add_test(c, periods_overlap);
	suite_add_tcase(s, c);
	return s;
}
