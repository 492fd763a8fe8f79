// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * util_plain.c - what reaches a terminal: text as it is, everything else as \xNN, however the
 * bytes are cut into writes; and what a page has of it.
 */
#include "suites.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "util/markup.h"
#include "util/plain.h"

/* What stdout, or stderr, makes of n bytes that come in pieces of `step`. */
static size_t filtered(const char *in, size_t n, size_t step, bool err, char *out, size_t room)
{
	int end[2], to = err ? STDERR_FILENO : STDOUT_FILENO, saved = dup(to);
	FILE *stream;
	size_t i, got = 0;
	ssize_t more;

	ck_assert_int_eq(pipe(end), 0);
	ck_assert_int_ge(dup2(end[1], to), 0);
	close(end[1]);
	plain_streams();
	stream = err ? stderr : stdout;
	for (i = 0; i < n; i += step) {
		fwrite(in + i, 1, n - i < step ? n - i : step, stream);
		fflush(stream);
	}
	dup2(saved, to);
	close(saved);
	while ((more = read(end[0], out + got, room - got)) > 0)
		got += (size_t)more;
	close(end[0]);
	return got;
}

static const struct {
	const char *in, *out, *err;
} cases[] = {
	{ "plain\ttext\n", "plain\ttext\n", NULL },
	{ "gr\xc3\xb6\xc3\x9f"
	  "er \xe2\x82\xac \xf0\x9f\x98\x80.",
	  NULL, NULL },
	{ "\033]0;title\007", "\\x1b]0;title\\x07", NULL },
	{ "\033[2K\033[K.", "\\x1b[2K\\x1b[K.", "\\x1b[2K\033[K." },
	{ "a\rb\rmprof: c\r\033[K.", "a\\x0db\\x0dmprof: c\\x0d\\x1b[K.",
	  "a\\x0db\rmprof: c\r\033[K." },
	{ "\rmprof.", "\\x0dmprof.", NULL },
	{ "\xc2\x9b"
	  "31m",
	  "\\xc2\\x9b31m", NULL },
	{ "\xff\xfe|\xc3(|\xe2\x82|\xf0\x9f\x98.", "\\xff\\xfe|\\xc3(|\\xe2\\x82|\\xf0\\x9f\\x98.",
	  NULL },
	{ "\xc0\xaf|\xed\xa0\x80|\xf4\x90\x80\x80.",
	  "\\xc0\\xaf|\\xed\\xa0\\x80|\\xf4\\x90\\x80\\x80.", NULL },
	{ "\x7f\x01\b.", "\\x7f\\x01\\x08.", NULL },
};

START_TEST(bytes)
{
	const char *in = cases[_i].in, *out = cases[_i].out ? cases[_i].out : in;
	const char *err = cases[_i].err ? cases[_i].err : out;
	char got[256];
	size_t step, n;

	for (step = 1; step <= strlen(in); step++) {
		n = filtered(in, strlen(in), step, false, got, sizeof(got));
		ck_assert_msg(n == strlen(out) && !memcmp(got, out, n), "%zu: '%.*s'", step, (int)n,
			      got);
		n = filtered(in, strlen(in), step, true, got, sizeof(got));
		ck_assert_msg(n == strlen(err) && !memcmp(got, err, n), "%zu: '%.*s'", step, (int)n,
			      got);
	}
}
END_TEST

/* More than its buffer, in one write: 20,000 bytes are less than a pipe holds. */
START_TEST(much)
{
	static char in[20000], out[65536];
	size_t i, n;

	for (i = 0; i < sizeof(in); i++)
		in[i] = i % 100 == 99 ? '\n' : 'x';
	n = filtered(in, sizeof(in), sizeof(in), false, out, sizeof(out));
	ck_assert_uint_eq(n, sizeof(in));
	ck_assert_int_eq(memcmp(in, out, n), 0);
	memset(in, '\033', 4000);
	n = filtered(in, 4000, 4000, false, out, sizeof(out));
	ck_assert_uint_eq(n, 16000);
	for (i = 0; i < n; i += 4)
		ck_assert_int_eq(memcmp(out + i, "\\x1b", 4), 0);
}
END_TEST

START_TEST(markup)
{
	static const struct {
		const char *in, *out;
	} names[] = {
		{ "</script>", "&lt;/script&gt;" },
		{ "a & \"b\" 'c'\n", "a &amp; &quot;b&quot; &#39;c&#39;&#10;" },
		{ "gr\303\274n", "gr\303\274n" },
		{ "\xff\033[0m", "\357\277\275\357\277\275[0m" },
		{ "\302\233x\x7f", "\357\277\275x\357\277\275" },	    /* CSI of eight bits */
		{ "\355\240\200", "\357\277\275\357\277\275\357\277\275" }, /* a surrogate */
		{ "\357\277\276", "\357\277\275" },			    /* U+FFFE */
	};
	char text[64] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	markup_text(names[_i].in, out);
	fclose(out);
	ck_assert_str_eq(text, names[_i].out);
}
END_TEST

Suite *util_plain_suite(void)
{
	Suite *s = suite_create("util_plain");
	TCase *tc = tcase_create("bytes");

	tcase_add_loop_test(tc, bytes, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tc, much);
	tcase_add_loop_test(tc, markup, 0, 7);
	suite_add_tcase(s, tc);
	return s;
}
