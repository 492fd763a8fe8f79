// SPDX-License-Identifier: LGPL-3.0-or-later
/* run_conf.c - MPROF_CONF taken over, checked, written out; words alike; mean and spread. */
#include "suites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mprof/filters.h>

#include "run/conf.h"
#include "run/settings.h"
#include "util/nearest.h"
#include "util/spread.h"

static struct conf conf;
static struct error err;

static int parse(const char *text)
{
	conf_release(&conf);
	return conf_parse(&conf, text, &err);
}

START_TEST(test_values_and_defaults)
{
	ck_assert_int_eq(parse(" MODE=LogMmap\tLOG_PATH='a b\"c' CACHE_QTY=65536\n"), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_MODE), "LogMmap");
	ck_assert_str_eq(conf_get(&conf, CONF_LOG_PATH), "a b\"c");
	ck_assert_str_eq(conf_get(&conf, CONF_CACHE_QTY), "65536");
	ck_assert_str_eq(conf_get(&conf, CONF_INIT), "LD_NEXT");
	ck_assert_ptr_null(conf.value[CONF_INIT]);
	ck_assert_int_eq(parse(NULL), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_MODE), "Count");
}
END_TEST

START_TEST(test_text_is_read_back)
{
	struct conf again = { { NULL } };
	char *text;

	ck_assert_int_eq(parse("MODE=Count LOG_PATH=\"it's\" SO_PATH='' COUNTS_PATH='a b'"), 0);
	text = conf_text(&conf, &err);
	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(conf_parse(&again, text, &err), 0);
	for (int i = 0; i < CONF_KEYS; i++)
		ck_assert_str_eq(conf_get(&again, i), conf_get(&conf, i));
	free(text);
	conf_release(&again);
	ck_assert_int_eq(conf_set(&conf, CONF_LOG_PATH, "it's \"both\"", &err), 0);
	ck_assert_ptr_null(conf_text(&conf, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "LOG_PATH"));
}
END_TEST

START_TEST(test_mistakes_are_named)
{
	static const struct {
		const char *text, *said;
	} bad[] = {
		{ "MODE=count", "'Count'" },
		{ "XMODE=Count", "'XMODE'" },
		{ "MODE", "'MODE'" },
		{ "LOG_PATH='open", "LOG_PATH" },
		{ "LOG_PATH='a'b", "LOG_PATH" },
		{ "LOG_QTY=0", "1 to" },
		{ "LOG_QTY=+1", "'+1'" },
		{ "LOG_QTY=1x", "'1x'" },
		{ "LOG_QTY=18446744073709551617", "from 1 to" },
		{ "UNWIND=frames", "'frames'" },
		{ "LOG_PATH=a%", "%" },
		{ "LOG_PATH=%z", "%z" },
		{ "INIT=/no/such.so", "/no/such.so" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		ck_assert_msg(parse(bad[i].text) < 0, "%s", bad[i].text);
		ck_assert_msg(strstr(err.text, bad[i].said) != NULL, "%s: %s", bad[i].text,
			      err.text);
	}
}
END_TEST

START_TEST(test_number_is_cut_to_its_bounds)
{
	ck_assert_int_eq(conf_set_number(&conf, CONF_CACHE_QTY, 1ull << 40, &err), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_CACHE_QTY), "65536");
}
END_TEST

static void expands_to(const char *path, const char *wanted)
{
	char *found = conf_expand(path, 17, "/usr/bin/cat", &err);

	ck_assert_ptr_nonnull(found);
	ck_assert_str_eq(found, wanted);
	free(found);
}

START_TEST(test_expansion)
{
	setenv("SLURM_JOB_ID", "a/b", 1);
	unsetenv("PMI_RANK");
	expands_to("x.%p.%e.%%", "x.17.cat.%");
	expands_to("%j", "a_b");
	setenv("COBALT_JOBID", "9", 1);
	expands_to("%j-%r", "9-0");
	ck_assert_ptr_null(conf_expand("%", 17, "x", &err));
}
END_TEST

START_TEST(test_words_alike)
{
	ck_assert_uint_eq(nearest_distance("report", "report"), 0);
	ck_assert_uint_eq(nearest_distance("Report", "rePORT"), 0);
	ck_assert_uint_eq(nearest_distance("repotr", "report"), 1);
	ck_assert_uint_eq(nearest_distance("", "abc"), 3);
	ck_assert_uint_eq(nearest_distance("abc", ""), 3);
	ck_assert_uint_eq(nearest_distance("kitten", "sitting"), 3);
	ck_assert_uint_eq(nearest_misses("leak", "leaks"), 0);
	ck_assert_uint_eq(nearest_misses("leak", "peak"), 1);
	ck_assert_uint_eq(nearest_misses("", "peak"), 4);
	ck_assert_uint_ge(nearest_distance("zzzzzz", "report"), nearest_limit("zzzzzz"));
	ck_assert(nearest_is_part("no-leaks", "no-new-leaks"));
	ck_assert(nearest_is_part("Leaks", "no-new-leaks"));
	ck_assert(!nearest_is_part("leaks-no", "no-new-leaks"));
	ck_assert(!nearest_is_part("no-leak", "no-new-leaks"));
	ck_assert(!nearest_is_part("no-new-leaks-x", "no-new-leaks"));
	ck_assert(!nearest_is_part("", "no-new-leaks"));
	ck_assert(!nearest_is_part("no-", "no-new-leaks"));
}
END_TEST

START_TEST(test_spread)
{
	static const double values[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct spread s = { 0 };

	ck_assert_double_eq(spread_percent(&s), 0);
	for (size_t i = 0; i < 8; i++)
		spread_add(&s, values[i]);
	ck_assert_double_eq_tol(spread_mean(&s), 5, 1e-12);
	ck_assert_double_eq_tol(spread_percent(&s), 100 * 2.13808993529939517 / 5, 1e-6);
	spread_scale(&s, 1000);
	ck_assert_double_eq_tol(spread_mean(&s), 5000, 1e-9);
	ck_assert_double_eq_tol(spread_percent(&s), 100 * 2.13808993529939517 / 5, 1e-6);
}
END_TEST

START_TEST(test_patterns)
{
	static const struct {
		const char *list, *path;
		int matches;
	} cases[] = {
		{ "ls", "/bin/ls", 1 },
		{ "l", "/bin/ls", 0 },
		{ "l?", "/bin/ls", 1 },
		{ "*", "/bin/ls", 1 },
		{ "a,b,l*", "/bin/ls", 1 },
		{ "a,b", "/bin/ls", 0 },
		{ "*s*s", "/bin/lsls", 1 },
		{ "*s*t", "/bin/lsls", 0 },
		{ "/bin/*", "/bin/ls", 1 },
		{ "/usr/*,x", "/bin/ls", 0 },
		{ "", "/bin/ls", 0 },
		{ "*a*b*c*", "xaybzc", 1 },
		{ "ls,", "lsx", 0 },
		{ "*,", "x", 1 },
		{ "python3*", "python3.11", 1 },
		{ "a*", "", 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		ck_assert_msg(mprof_globs_match(cases[i].list, cases[i].path) == cases[i].matches,
			      "%s on %s", cases[i].list, cases[i].path);
}
END_TEST

START_TEST(test_ranges_of_numbers)
{
	static const char *const bad[] = { "x",	  "1-",	   "-1",
					   "2-1", "1,,2",  "1,",
					   "1 2", "1-2-3", "12345678901234567890" };

	ck_assert_int_eq(mprof_ranges_have("0,4-7", 0), 1);
	ck_assert_int_eq(mprof_ranges_have("0,4-7", 7), 1);
	ck_assert_int_eq(mprof_ranges_have("0,4-7", 3), 0);
	ck_assert_int_eq(mprof_ranges_have("0,4-7", 8), 0);
	ck_assert_int_eq(mprof_ranges_have("", 0), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ck_assert_msg(mprof_ranges_have(bad[i], 1) < 0, "%s", bad[i]);
}
END_TEST

/* A key has one section, and is found with it, without it, and by its short name. */
START_TEST(test_settings_find_every_key)
{
	parse(NULL);
	ck_assert_int_eq(settings_one(&conf, "dump:every=7", &err), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_DUMP_EVERY), "7");
	ck_assert_int_eq(settings_one(&conf, "DUMP:dump_every = 8", &err), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_DUMP_EVERY), "8");
	ck_assert_int_eq(settings_one(&conf, "dump_every='9'", &err), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_DUMP_EVERY), "9");
	ck_assert_int_eq(settings_one(&conf, "sample:bytes=1.5K", &err), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_SAMPLE_BYTES), "1536");
	ck_assert_int_eq(settings_one(&conf, "filter:children=no", &err), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_CHILDREN), "0");
	ck_assert_int_eq(settings_one(&conf, "SO_PATH=/a:b=c", &err), 0);
	ck_assert_str_eq(conf_get(&conf, CONF_SO_PATH), "/a:b=c");
	ck_assert_int_eq(settings_one(&conf, "dump:children=1", &err), -EINVAL);
	ck_assert_int_eq(settings_one(&conf, "every=1", &err), -EINVAL);
	for (size_t i = 0; settings_presets[i]; i++)
		ck_assert_int_eq(settings_preset(&conf, settings_presets[i], &err), 0);
}
END_TEST

Suite *run_conf_suite(void)
{
	Suite *s = suite_create("run_conf");
	TCase *t = tcase_create("conf");

	tcase_add_test(t, test_values_and_defaults);
	tcase_add_test(t, test_text_is_read_back);
	tcase_add_test(t, test_mistakes_are_named);
	tcase_add_test(t, test_number_is_cut_to_its_bounds);
	tcase_add_test(t, test_expansion);
	tcase_add_test(t, test_words_alike);
	tcase_add_test(t, test_spread);
	tcase_add_test(t, test_patterns);
	tcase_add_test(t, test_ranges_of_numbers);
	tcase_add_test(t, test_settings_find_every_key);
	suite_add_tcase(s, t);
	return s;
}
