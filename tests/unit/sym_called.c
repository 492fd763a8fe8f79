// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sym_called.c - names of functions from the calls to them, in programs of both machines.
 */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>

#include "sym/called.h"
#include "sym_build.h"

static const struct machine {
	const char *tools; /* what the names of its compiler and objdump begin with */
	const char *call, *call_slot;
} machines[] = {
	{ "x86_64-linux-gnu-", "call", "call .*(%rip)" },
	{ "aarch64-linux-gnu-", "bl", NULL },
};

static struct called called;
static const struct files files = { .sysroot = "" };

/* Compiles a program that calls a function of a library and one of its own. */
static void compile(const struct machine *m, const char *flags)
{
	build_file("lib.c", "int far(int n) { return n; }\n");
	build_file("prog.c", "int far(int);\n"
			     "#ifdef TAKEN\n"
			     "int (*taken(void))(int) { return far; }\n"
			     "#endif\n"
			     "__attribute__((noinline)) int near(int n) { return far(n) + 1; }\n"
			     "int main(int argc, char **argv) { return near(argc) - 2; }\n");
	build_run("%sgcc -O2 -shared -fPIC -o lib.so lib.c && "
		  "%sgcc -O2 -fno-builtin %s -o prog prog.c ./lib.so && %sstrip -o bare prog",
		  m->tools, m->tools, flags, m->tools);
}

/* Returns the address behind the first instruction of a function that the pattern fits. */
static uint64_t behind(const struct machine *m, const char *function, const char *pattern)
{
	char *text = build_output("%sobjdump -d --no-show-raw-insn prog | sed -n '/<%s>:/,/^$/p' | "
				  "sed -n '/\\t%s/ { n; s/:.*//p; q }'",
				  m->tools, function, pattern);
	uint64_t address = strtoull(text, NULL, 16);

	ck_assert_uint_ne(address, 0);
	free(text);
	return address;
}

static void check(const struct machine *m, const char *flags, const char *call)
{
	struct build b;
	char *text;

	compile(m, flags);
	build_object(&b, "bare");
	ck_assert_str_eq(called_name(&called, &files, &b.object[1], behind(m, "near", call)),
			 "far");
	ck_assert_ptr_null(called_name(&called, &files, &b.object[1], behind(m, "main", m->call)));
	text = build_output("%snm prog | sed -n 's/ T near$//p'", m->tools);
	ck_assert_uint_eq(called_address(&called, &files, &b.object[1], behind(m, "main", m->call)),
			  strtoull(text, NULL, 16));
	ck_assert_uint_eq(called_address(&called, &files, &b.object[1], 2), 0);
	ck_assert_ptr_null(called_name(&called, &files, &b.object[1], UINT64_MAX));
	free(text);
	called_release(&called);
	build_close(&b);
}

START_TEST(calls_have_names)
{
	const struct machine *m = &machines[_i];
	char compiler[64];

	snprintf(compiler, sizeof(compiler), "%sgcc", m->tools);
	if (!build_have(compiler))
		return;
	check(m, "", m->call);
	check(m, "-no-pie -fno-pie", m->call);
	check(m, m->call_slot ? "-fcf-protection" : "-mbranch-protection=standard", m->call);
	/* A shorter entry, nothing behind it. */
	check(m, "-DTAKEN -nostartfiles -Wl,-emain", m->call);
	if (m->call_slot)
		check(m, "-fno-plt -Wl,-z,now", m->call_slot);
	else /* as linkers write it if all files have BTI */
		check(m,
		      "-no-pie -fno-pie -mbranch-protection=standard -Wl,-z,force-bti "
		      "-nostartfiles -Wl,-emain",
		      m->call);
}
END_TEST

Suite *sym_called_suite(void)
{
	Suite *s = suite_create("sym_called");
	TCase *c = tcase_create("sym_called");

	tcase_add_checked_fixture(c, build_begin, build_end);
	tcase_add_loop_test(c, calls_have_names, 0, sizeof(machines) / sizeof(machines[0]));
	suite_add_tcase(s, c);
	return s;
}
