// SPDX-License-Identifier: LGPL-3.0-or-later
/* play_variant.c - lists of allocators with settings, and the environment they are played in. */
#include "suites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "play/variant.h"

static struct variants vs;
static struct error err;

static int parse(const char *list)
{
	variants_release(&vs);
	err.text[0] = '\0';
	return variants_parse(&vs, list, &err);
}

static void teardown(void)
{
	variants_release(&vs);
}

START_TEST(test_names_and_settings)
{
	ck_assert_int_eq(parse("glibc, glibc[MALLOC_ARENA_MAX=2 GLIBC_TUNABLES=a=1,b=2],"
			       "small=glibc[A=1;B=[x]],glibc"),
			 0);
	ck_assert_uint_eq(vs.n, 4);
	ck_assert_str_eq(vs.v[0].name, "glibc");
	ck_assert_str_eq(vs.v[0].so, "");
	ck_assert_uint_gt(strlen(vs.v[0].version), 0);
	ck_assert_str_eq(vs.v[1].name, "glibc[MALLOC_ARENA_MAX=2 GLIBC_TUNABLES=a=1,b=2]");
	ck_assert_uint_eq(vs.v[1].envs, 2);
	ck_assert_str_eq(vs.v[1].env[0], "MALLOC_ARENA_MAX=2");
	ck_assert_str_eq(vs.v[1].env[1], "GLIBC_TUNABLES=a=1,b=2");
	ck_assert_str_eq(vs.v[2].name, "small");
	ck_assert_str_eq(vs.v[2].env[1], "B=[x]");
	ck_assert_str_eq(vs.v[3].name, "glibc#2");
}
END_TEST

START_TEST(test_sweeps)
{
	ck_assert_int_eq(parse("glibc[A={1,2} B={x,y,}]"), 0);
	ck_assert_uint_eq(vs.n, 6);
	ck_assert_str_eq(vs.v[0].name, "glibc[A=1 B=x]");
	ck_assert_str_eq(vs.v[2].name, "glibc[A=1 B=]");
	ck_assert_str_eq(vs.v[5].env[0], "A=2");
	ck_assert_str_eq(vs.v[5].env[1], "B=");
	ck_assert_int_eq(parse("glibc[A={1,2,3,4,5,6,7,8,9} B={1,2,3,4,5,6,7,8}]"), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 64"));
}
END_TEST

START_TEST(test_refused)
{
	static const struct {
		const char *list, *why;
	} bad[] = {
		{ "", "expected a list" },
		{ "glibc,", "expected a list" },
		{ ",glibc", "expected a list" },
		{ "glibc[A=1", "expected a list" },
		{ "glibc]", "expected a list" },
		{ "glibc[A=1]x", "expected a list" },
		{ "glibc[A=1]x[B=2]", "expected a list" },
		{ "glibc[A]", "'[A]': expected NAME=VALUE" },
		{ "glibc[1A=2]", "'[1A=2]': expected NAME" },
		{ "glibc[=2]", "'[=2]': expected NAME" },
		{ "glibc[A={1]", "expected {a,b,c}" },
		{ "glibc[A=1}]", "expected {a,b,c}" },
		{ "glibc[A={1,{2}}]", "expected {a,b,c}" },
		{ "nomalloc", "invalid --allocator 'nomalloc'" },
		{ "x=nomalloc", "invalid --allocator 'nomalloc'" },
		{ "/nowhere/lib.so", "invalid --allocator '/nowhere/lib.so'" },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ck_assert_int_eq(parse(bad[i].list), -EINVAL);
		ck_assert_msg(strstr(err.text, bad[i].why) != NULL, "%s: %s", bad[i].list,
			      err.text);
	}
}
END_TEST

START_TEST(test_set_for_all)
{
	ck_assert_int_eq(parse("glibc,glibc[A=1]"), 0);
	variants_set(&vs, "A=2");
	ck_assert_str_eq(vs.v[0].env[0], "A=2");
	ck_assert_uint_eq(vs.v[1].envs, 1);
	ck_assert_str_eq(vs.v[1].env[0], "A=1");
	ck_assert(variant_setting("A=") && !variant_setting("A") && !variant_setting("1=2"));
}
END_TEST

static const char *value(char **env, const char *name)
{
	const size_t n = strlen(name);
	const char *found = NULL;

	for (; *env; env++)
		if (!strncmp(*env, name, n) && (*env)[n] == '=') {
			ck_assert_ptr_null(found); /* once only */
			found = *env + n + 1;
		}
	return found;
}

START_TEST(test_environment)
{
	char **env;

	setenv("LD_PRELOAD", "/other.so", 1);
	setenv("MPROF_CONF", "MODE=Null", 1);
	setenv("MALLOC_ARENA_MAX", "7", 1);
	setenv("MALLOC_CONF", "old", 1);
	setenv("FLOWERS", "red", 1);
	ck_assert_int_eq(parse("glibc[MALLOC_CONF=new]"), 0);
	env = play_env(&vs.v[0]);
	ck_assert_ptr_null(value(env, "LD_PRELOAD"));
	ck_assert_ptr_null(value(env, "MPROF_CONF"));
	ck_assert_str_eq(value(env, "MALLOC_ARENA_MAX"), "7");
	ck_assert_str_eq(value(env, "MALLOC_CONF"), "new");
	ck_assert_str_eq(value(env, "FLOWERS"), "red");
	play_env_free(env);
	vs.v[0].clear = true;
	free(vs.v[0].so);
	vs.v[0].so = strdup("/mine.so");
	env = play_env(&vs.v[0]);
	ck_assert_str_eq(value(env, "LD_PRELOAD"), "/mine.so");
	ck_assert_ptr_null(value(env, "MALLOC_ARENA_MAX"));
	ck_assert_str_eq(value(env, "MALLOC_CONF"), "new");
	ck_assert_str_eq(value(env, "FLOWERS"), "red");
	play_env_free(env);
	unsetenv("LD_PRELOAD");
	unsetenv("MPROF_CONF");
	unsetenv("MALLOC_ARENA_MAX");
	unsetenv("MALLOC_CONF");
	unsetenv("FLOWERS");
	ck_assert(variant_is_setting("MIMALLOC_VERBOSE=1"));
	ck_assert(variant_is_setting("GLIBC_TUNABLES"));
	ck_assert(!variant_is_setting("PATH=/bin"));
}
END_TEST

Suite *play_variant_suite(void)
{
	Suite *s = suite_create("play_variant");
	TCase *t = tcase_create("variants");

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, test_names_and_settings);
	tcase_add_test(t, test_sweeps);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_set_for_all);
	tcase_add_test(t, test_environment);
	suite_add_tcase(s, t);
	return s;
}
