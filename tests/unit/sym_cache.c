// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sym_cache.c - the symbol cache on disk: that it is used, that it is right, and that nothing which
 * lies in its directory can make an answer wrong.
 */
#include "suites.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "sym/cache_format.h"
#include "sym_build.h"

/* Line 1 holds the whole program: a call, and one that was inlined into it. */
static const char source[] =
    "#include <stdlib.h>\n"
    "static inline __attribute__((always_inline)) int inner(int n)\n{\n	return abs(n) + "
    "rand();\n}\n"
    "__attribute__((noinline)) int outer(int n)\n{\n	return inner(n) + 1;\n}\n"
    "__attribute__((noinline)) int other(int n)\n{\n	return rand() + n;\n}\n"
    "int main(int n, char **v) { (void)v; return outer(n) - other(n); }\n"
    "int table[100] = { 1 };\n__thread long counter;\nstatic int local[10];\n"
    "int *use(void) { return local; }\n";

#define OUTER "inner prog.c:4 < outer prog.c:8"
#define OTHER "other prog.c:12"

static struct build built;
static char directory[96], file[256];

/* The address behind the call of rand in a function. */
static uint64_t call_in(const char *function)
{
	char *text = build_output("objdump -d prog | awk -v RS= '/<%s>:/' | grep -A1 'call.*rand' |"
				  "tail -1 | cut -d: -f1",
				  function);
	uint64_t at = strtoull(text, NULL, 16);

	ck_assert_uint_ne(at, 0);
	free(text);
	return at;
}

static void fresh(void)
{
	struct stack_frame frames[3];
	size_t n = built.stacks.frames;

	memcpy(frames, built.frame, sizeof(frames));
	build_object(&built, "prog");
	memcpy(built.frame, frames, sizeof(frames));
	built.stacks.frames = n;
	built.options.no_cache = false;
}

static void compile(const char *flags)
{
	build_run("gcc -g -O2 %s -o prog prog.c", flags);
	build_object(&built, "prog");
	build_frame(&built, call_in("outer"), 0);
	build_frame(&built, call_in("other"), 0);
	fresh();
	build_identify(&built);
}

static void begin(void)
{
	char *id;

	build_begin();
	build_file("prog.c", source);
	compile("-Wl,--build-id=sha1");
	snprintf(directory, sizeof(directory), "%s/mprof/symbols-%d", build_dir, CACHE_FORMAT);
	id = build_output("readelf -n prog | awk '/Build ID/ { printf \"%%s\", $3 }'");
	snprintf(file, sizeof(file), "%s/%s", directory, id);
	free(id);
}

static void expect(const char *outer, const char *other)
{
	if (outer)
		ck_assert_str_eq(build_text(&built, 1), outer);
	if (other)
		ck_assert_str_eq(build_text(&built, 2), other);
	build_close(&built);
}

/* Moves the debug information of prog to dbg/prog.debug, where debug_dirs finds it. */
static char debug_dir[128];
static const char *const debug_dirs[] = { debug_dir, NULL };

static void split_debug(const char *strip)
{
	snprintf(debug_dir, sizeof(debug_dir), "%s/dbg", build_dir);
	build_run("mkdir dbg; objcopy --only-keep-debug prog dbg/prog.debug; strip %s prog;"
		  "objcopy --add-gnu-debuglink=dbg/prog.debug prog",
		  strip);
}

static off_t file_size(void)
{
	struct stat st;

	return stat(file, &st) ? -1 : st.st_size;
}

START_TEST(test_used)
{
	const struct sym_remark *remarks;
	struct stat st;

	expect(OUTER, NULL);
	ck_assert_int_gt(file_size(), 0);
	ck_assert_int_eq(stat(file, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(stat(directory, &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	expect(OUTER, OTHER); /* one from the file, one that is merged into it */
	build_run("rm prog");
	ck_assert_str_eq(build_text(&built, 1), OUTER);
	ck_assert_str_eq(build_text(&built, 2), OTHER);
	ck_assert_str_eq(build_ask(&built, 1)->line[1].raw, "outer");
	ck_assert_uint_gt(build_ask(&built, 1)->line[1].offset, 0);
	ck_assert_uint_eq(sym_remarks(built.sym, &remarks), 0);
	build_close(&built);
	/* Names are formed again each time. */
	built.options.rewrite = (const char *const[]){ "s/o/0/g", NULL };
	expect("inner prog.c:4 < 0uter prog.c:8", "0ther prog.c:12");
}
END_TEST

START_TEST(test_not_wanted)
{
	built.options.no_cache = true;
	expect(OUTER, OTHER);
	ck_assert_int_eq(file_size(), -1);
	built.options.no_cache = false;
	expect(OUTER, OTHER);
	ck_assert_int_gt(file_size(), 0);
	built.options.no_cache = true;
	build_run("rm prog");
	ck_assert_int_eq(strncmp(build_text(&built, 1), "prog+0x", 7), 0);
	build_close(&built);
}
END_TEST

START_TEST(test_no_build_id)
{
	compile("-Wl,--build-id=none");
	expect(OUTER, OTHER);
	ck_assert(!build_try("ls %s/* 2>/dev/null | grep -q .", directory));
}
END_TEST

/* What was found without debug info is not believed once there is some; nor the reverse. */
START_TEST(test_quality)
{
	split_debug("-g");
	expect("outer", "other");
	ck_assert_int_gt(file_size(), 0);
	built.options.debug_dir = debug_dirs;
	expect(OUTER, NULL);
	built.options.debug_dir = NULL;
	expect(OUTER, "other");
	build_run("rm -r dbg prog");
	ck_assert_str_eq(build_text(&built, 1), OUTER);
	ck_assert_int_eq(strncmp(build_text(&built, 2), "prog+0x", 7), 0);
	build_close(&built);
}
END_TEST

/* What has only symbols helps when there is nothing any more. */
START_TEST(test_symbols_only)
{
	build_run("strip -g prog");
	expect("outer", NULL);
	build_run("rm prog");
	expect("outer", NULL);
}
END_TEST

/* ---- variables ---- */

static void expect_variables(const char *table, const char *counter, bool stripped)
{
	struct sym_variables v;
	char text[200];
	unsigned found = 0;

	build_ask(&built, 0);
	sym_variables(built.sym, 1, &v);
	for (size_t i = 0; i < v.count; i++) {
		const struct sym_variable *x = &v.of[i];

		snprintf(text, sizeof(text), "%s %s:%u %ju%s", x->name, x->file, x->line,
			 (uintmax_t)x->size, x->tls ? " tls" : "");
		found += !strcmp(x->name, "table") && strstr(text, table);
		found += !strcmp(x->name, "counter") && strstr(text, counter);
		found += !strcmp(x->name, "local") && !stripped;
	}
	ck_assert_uint_eq(found, stripped ? 2 : 3);
	ck_assert(v.stripped == stripped);
	free(v.of);
	build_close(&built);
}

START_TEST(test_variables_kept)
{
	expect_variables("prog.c:15 400", "prog.c:16 8 tls", false);
	ck_assert_int_gt(file_size(), 0);
	expect(OUTER, OTHER);
	build_run("rm prog");
	expect(OUTER, OTHER);
	expect_variables("prog.c:15 400", "prog.c:16 8 tls", false);
}
END_TEST

/* The cache keeps what a stripped file has, until a better source is there. */
START_TEST(test_variables_stripped)
{
	build_run("gcc -g -O2 -rdynamic -Wl,--build-id=sha1 -o prog prog.c");
	split_debug("");
	fresh();
	build_identify(&built);
	for (int i = 0; i < 2; i++)
		expect_variables("table :0 400", "counter :0 8 tls", true);
	built.options.debug_dir = debug_dirs;
	expect_variables("prog.c:15 400", "prog.c:16 8 tls", false);
	built.options.debug_dir = NULL;
	build_run("rm -r dbg");
	expect_variables("prog.c:15 400", "prog.c:16 8 tls", false);
}
END_TEST

/* ---- what lies there ---- */

static char *read_cache(size_t *n)
{
	FILE *f = fopen(file, "r");
	char *bytes;

	ck_assert_ptr_nonnull(f);
	*n = (size_t)file_size();
	bytes = malloc(*n);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_uint_eq(fread(bytes, 1, *n, f), *n);
	fclose(f);
	return bytes;
}

static void write_cache(const char *bytes, size_t n)
{
	FILE *f = fopen(file, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

START_TEST(test_damaged)
{
	size_t n, i;
	char *bytes;

	expect(OUTER, OTHER);
	expect_variables("prog.c:15 400", "prog.c:16 8 tls", false);
	bytes = read_cache(&n);
	for (i = 0; i < n; i++) {
		bytes[i] ^= (char)(1 << i % 8);
		write_cache(bytes, n);
		bytes[i] ^= (char)(1 << i % 8);
		expect(OUTER, OTHER);
		if (i % 7)
			continue;
		write_cache(bytes, i);
		expect(OUTER, OTHER);
	}
	free(bytes);
}
END_TEST

static void seal(char *bytes, size_t n)
{
	struct cache_head *h = (struct cache_head *)bytes;
	size_t at = offsetof(struct cache_head, crc) + sizeof(h->crc);

	h->crc = (uint32_t)crc32(0, (const Bytef *)bytes + at, (uInt)(n - at));
}

/* A checksum that is right says nothing about what it was taken of. */
START_TEST(test_lies)
{
	struct sym_variables v;
	size_t n, i;
	char *bytes, *lie;

	expect(OUTER, OTHER);
	expect_variables("prog.c:15 400", "prog.c:16 8 tls", false);
	bytes = read_cache(&n);
	lie = malloc(n);
	ck_assert_ptr_nonnull(lie);
	for (i = offsetof(struct cache_head, quality); i + 4 <= n; i += 4) {
		memcpy(lie, bytes, n);
		*(uint32_t *)(void *)(lie + i) = i % 8 ? UINT32_MAX : (uint32_t)n;
		seal(lie, n);
		write_cache(lie, n);
		/* It may be another answer, but it is one. */
		ck_assert_uint_ge(build_ask(&built, 1)->count, 1);
		ck_assert_uint_ge(build_ask(&built, 2)->count, 1);
		ck_assert_uint_lt(strlen(build_text(&built, 1)), 4096);
		sym_variables(built.sym, 1, &v);
		ck_assert_uint_lt(v.count, 4096);
		free(v.of);
		build_close(&built);
	}
	free(bytes);
	free(lie);
}
END_TEST

/* Symbols of a stripped file come from the cache too, as long as nothing better can be there. */
START_TEST(test_symbols_kept)
{
	char *bytes, *name;
	size_t n;

	split_debug("-g");
	build_run("mv dbg later");
	expect("outer", NULL);
	bytes = read_cache(&n);
	name = memmem(bytes, n, "outer", sizeof("outer"));
	ck_assert_ptr_nonnull(name);
	*name = '0';
	seal(bytes, n);
	write_cache(bytes, n);
	built.options.debug_dir = debug_dirs;
	expect("0uter", "other"); /* the second one is not in the cache yet */
	expect("0uter", "other");
	build_run("mv later dbg");
	expect(OUTER, OTHER);
	build_run("rm -r dbg; touch prog");
	built.options.debug_dir = NULL;
	expect(NULL, "other");
	free(bytes);
}
END_TEST

START_TEST(test_other_object)
{
	char *id;

	expect(OUTER, OTHER);
	build_run("sed 's/outer/OUTER/; s/other/OTHER/' prog.c >prog2.c;"
		  "gcc -g -O2 -Wl,--build-id=sha1 -o prog prog2.c");
	fresh();
	build_identify(&built);
	id = build_output("readelf -n prog | awk '/Build ID/ { printf \"%%s\", $3 }'");
	build_run("mv %s %s/%s; rm prog", file, directory, id);
	ck_assert_int_eq(strncmp(build_text(&built, 1), "prog+0x", 7), 0);
	build_close(&built);
	free(id);
}
END_TEST

/* Somebody else's file under a build-id that he copied: its names are not those of ours. */
START_TEST(test_copied_build_id)
{
	char *id = build_output("readelf -n prog | awk '/Build ID/ { printf \"0x%%s\", $3 }'");

	build_run("mv prog genuine; sed 's/outer/OUTER/; s/other/OTHER/' prog.c >evil.c");
	build_run("gcc -g -O2 -Wl,--build-id=%s -o prog evil.c", id);
	expect("inner evil.c:4 < OUTER evil.c:8", NULL); /* kept, under the id */
	ck_assert_int_gt(file_size(), 0);
	if (_i == 0) { /* at its path is the right one */
		build_run("mv genuine prog");
		expect(OUTER, OTHER);
		expect(OUTER, OTHER); /* and that is kept now */
	} else if (_i == 1) {	      /* it was at another path */
		build_run("mv prog evil; mv genuine prog2");
		snprintf(built.path, sizeof(built.path), "%s/prog2", build_dir);
		expect(OUTER, OTHER);
	} else { /* it is not used either if there is no file at the other path */
		build_run("rm prog genuine");
		snprintf(built.path, sizeof(built.path), "%s/prog2", build_dir);
		ck_assert_int_eq(strncmp(build_text(&built, 1), "prog2+0x", 8), 0);
		build_close(&built);
	}
	free(id);
}
END_TEST

/* The file at its path was rebuilt: the cache has the names of the recorded file. */
START_TEST(test_built_anew)
{
	expect(OUTER, OTHER);
	build_run(
	    "sed 's/outer/OUTER/' prog.c >new.c; gcc -g -O2 -Wl,--build-id=sha1 -o prog new.c");
	expect(OUTER, OTHER);
}
END_TEST

/* None of these may stop a view, or be written through. */
START_TEST(test_directories)
{
	static const char *const made[] = {
		"touch mprof",	       "mkdir mprof; touch $directory",	 "ln -s /none mprof",
		"mkdir -m 0500 mprof", "mkdir mprof; chown 12345 mprof",
	};

	if (_i == 4 && geteuid())
		return;
	build_run("directory=%s; %s", directory, made[_i]);
	expect(OUTER, OTHER);
	ck_assert(_i == 3 || file_size() == -1);
}
END_TEST

START_TEST(test_variables)
{
	setenv("XDG_CACHE_HOME", _i ? "relative/path" : "/dev/null", 1);
	setenv("HOME", _i ? build_dir : "/none", 1);
	expect(OUTER, OTHER);
	ck_assert(build_try("test -d .cache/mprof") == _i);
	ck_assert(!build_try("test -e relative"));
}
END_TEST

/* Somebody else's link is not followed. */
START_TEST(test_link)
{
	build_run("mkdir -p %s; echo precious >target; ln -s %s/target %s", directory, build_dir,
		  file);
	expect(OUTER, OTHER);
	build_run("grep -q precious target; test -f %s", file);
}
END_TEST

START_TEST(test_together)
{
	int i, k, status;

	for (i = 0; i < 4; i++)
		if (!fork()) {
			for (k = 0; k < 25; k++) {
				const char *text = build_text(&built, 1 + (i + k) % 2);

				if (strcmp(text, (i + k) % 2 ? OTHER : OUTER))
					_exit(1);
				build_close(&built);
				if (k % 5 == 4)
					unlink(file);
			}
			_exit(0);
		}
	while (i--) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert_int_eq(status, 0);
	}
	expect(OUTER, OTHER);
	ck_assert(!build_try("ls %s | grep -q '\\.'", directory));
}
END_TEST

/* What was not used for longest goes, and what a writer that died left behind. */
START_TEST(test_trim)
{
	build_run("mkdir -p -m 700 mprof %s; cd %s; truncate -s 200M old1 old2;"
		  "truncate -s 60M newer; touch -d '3 days ago' old1; touch -d '2 days ago' old2;"
		  "touch -d '3 hours ago' abc.1.2 newer; touch abc.3.4",
		  directory, directory);
	expect(OUTER, OTHER);
	ck_assert_int_gt(file_size(), 0);
	build_run("cd %s; test ! -e old1; test ! -e old2; test -e newer; test ! -e abc.1.2;"
		  "test -e abc.3.4",
		  directory);
}
END_TEST

Suite *sym_cache_suite(void)
{
	Suite *s = suite_create("sym_cache");
	TCase *kept = tcase_create("kept"), *hostile = tcase_create("what lies there");

	tcase_add_checked_fixture(kept, begin, build_end);
	tcase_add_test(kept, test_used);
	tcase_add_test(kept, test_not_wanted);
	tcase_add_test(kept, test_no_build_id);
	tcase_add_test(kept, test_quality);
	tcase_add_test(kept, test_symbols_kept);
	tcase_add_test(kept, test_variables_kept);
	tcase_add_test(kept, test_variables_stripped);
	tcase_add_test(kept, test_symbols_only);
	tcase_add_test(kept, test_together);
	tcase_add_test(kept, test_trim);
	suite_add_tcase(s, kept);
	tcase_add_checked_fixture(hostile, begin, build_end);
	tcase_add_test(hostile, test_damaged);
	tcase_add_test(hostile, test_lies);
	tcase_add_test(hostile, test_other_object);
	tcase_add_loop_test(hostile, test_copied_build_id, 0, 3);
	tcase_add_test(hostile, test_built_anew);
	tcase_add_loop_test(hostile, test_directories, 0, 5);
	tcase_add_loop_test(hostile, test_variables, 0, 2);
	tcase_add_test(hostile, test_link);
	suite_add_tcase(s, hostile);
	return s;
}
