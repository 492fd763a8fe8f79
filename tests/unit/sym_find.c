// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sym_find.c - functions, files and lines of addresses in programs that are compiled here.
 *
 * The programs print their own return addresses, less what the loader added, so what is
 * compared is what the unwinder would record.
 */
#include "suites.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sym_build.h"

static const char source[] =
    "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <link.h>\n#include <stdio.h>\n"
    "__attribute__((noinline)) static void mark(const char *what)\n{\n"
    "	struct link_map *map;\n	Dl_info info;\n	void *at = __builtin_return_address(0);\n"
    "	dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP);\n"
    "	printf(\"%s %lx\\n\", what, (unsigned long)at - map->l_addr);\n}\n"
    "#line 100 \"prog.c\"\n"
    "static inline __attribute__((always_inline)) void innermost(void)\n" /* 100 */
    "{\n"
    "	mark(\"inlined\");\n" /* 102 */
    "	__asm__ volatile(\"\");\n"
    "}\n"
    "static inline __attribute__((always_inline)) void middle(void)\n"
    "{\n"
    "	innermost();\n" /* 107 */
    "}\n"
    "static __attribute__((noinline)) void hidden(void)\n"
    "{\n"
    "	middle();\n" /* 111 */
    "	__asm__ volatile(\"\");\n"
    "}\n"
    "__attribute__((noinline)) void shown(void)\n"
    "{\n"
    "	mark(\"shown\");\n" /* 116 */
    "	__asm__ volatile(\"\");\n"
    "}\n"
    "int main(void)\n"
    "{\n"
    "	hidden();\n"
    "	shown();\n"
    "	return 0;\n"
    "}\n";

#define INLINED "innermost prog.c:102 < middle prog.c:107 < hidden prog.c:111"
#define SHOWN	"shown prog.c:116"

static void begin(void)
{
	build_begin();
	build_file("prog.c", source);
}

/* What the program said of an address. */
static uint64_t said(const char *text, const char *what)
{
	const char *at = strstr(text, what);

	ck_assert_msg(at != NULL, "no %s in %s", what, text);
	return strtoull(at + strlen(what), NULL, 16);
}

/* Frames 1 and 2: the inlined one, and the one that is not. */
static void add_frames(struct build *b, const char *program)
{
	char *text = build_output("./%s", program);

	build_frame(b, said(text, "inlined "), 0);
	build_frame(b, said(text, "shown "), 0);
	free(text);
}

static void compile(struct build *b, const char *flags)
{
	build_run("gcc %s -o prog prog.c -ldl", flags);
	build_object(b, "prog");
	build_identify(b);
	add_frames(b, "prog");
}

#define LD_ID "-Wl,--build-id=sha1 "

/* ---- compilers ---- */

static const char *const compilers[] = {
	"gcc -g -O0 -pie -fPIE",
	"gcc -g -O0 -no-pie -fno-pie",
	"gcc -g -O2 -pie -fPIE",
	"gcc -g -O2 -no-pie -fno-pie",
	"gcc -g -O2 -gdwarf-4 -rdynamic",
	"gcc -g -O2 -gsplit-dwarf",
	"gcc -g -O2 -flto",
	"gcc -g -O3 -ffunction-sections -Wl,--gc-sections",
	"gcc -g -O2 -gz",
	"clang -g -O0",
	"clang -g -O2 -no-pie",
	"clang -g -O2 -gdwarf-4",
};

START_TEST(test_compilers)
{
	char name[32];
	struct build b;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(compilers[_i], " "), compilers[_i]);
	if (!build_have(name))
		return;
	build_run("%s -o prog prog.c -ldl 2>/dev/null", compilers[_i]);
	build_object(&b, "prog");
	build_identify(&b);
	add_frames(&b, "prog");
	ck_assert_str_eq(build_text(&b, 1), INLINED);
	ck_assert_str_eq(build_text(&b, 2), SHOWN);
	build_close(&b);
}
END_TEST

/* ---- one line's fields ---- */

START_TEST(test_fields)
{
	const struct sym_lines *lines;
	const struct sym_remark *remarks;
	struct build b;
	char *text;

	compile(&b, "-g -O2");
	text = build_output("nm prog | awk '$3 == \"hidden\" { print \"at\", $1 }'");
	lines = build_ask(&b, 1);
	ck_assert_uint_eq(lines->count, 3);
	ck_assert_str_eq(lines->line[0].raw, "innermost");
	ck_assert_str_eq(lines->line[0].module, "prog");
	ck_assert_uint_eq(lines->line[0].offset, 0);
	ck_assert(lines->line[0].known && lines->line[0].inlined && !lines->line[0].stop);
	ck_assert_str_eq(lines->line[2].raw, "hidden");
	ck_assert_uint_eq(lines->line[2].offset, b.frame[1].address - said(text, "at "));
	/* Answers are made once, and stay. */
	ck_assert_ptr_eq(lines, build_ask(&b, 1));
	ck_assert_uint_eq(sym_remarks(b.sym, &remarks), 0);
	build_close(&b);
	free(text);
}
END_TEST

/* The call is the last thing of its function: the return address is already in the next. */
START_TEST(test_return_address)
{
	struct build b;
	char *text;
	uint64_t next;

	build_file("last.c", "void abort(void);\n"
			     "__attribute__((noinline, noreturn)) void out(void) { abort(); }\n"
			     "__attribute__((noinline)) void last(void)\n{\n	out();\n}\n"
			     "__attribute__((noinline)) int next(void) { return 1; }\n"
			     "int main(void) { last(); return next(); }\n");
	build_run("gcc -g -O2 -fno-toplevel-reorder -fno-align-functions -fno-reorder-functions "
		  "-fno-ipa-pure-const "
		  "-fcf-protection=none -o last last.c");
	text = build_output("nm last | awk '$3 == \"next\" { print \"next\", $1 }'");
	next = said(text, "next ");
	build_object(&b, "last");
	build_frame(&b, next, 0);
	build_frame(&b, next, STACK_FRAME_EXACT);
	ck_assert_str_eq(build_text(&b, 1), "last last.c:5");
	ck_assert_str_eq(build_text(&b, 2), "next last.c:7");
	build_close(&b);
	free(text);
}
END_TEST

/* ---- no symbols ---- */

static const char *address_text(struct build *b, uint32_t frame)
{
	static char text[64];

	snprintf(text, sizeof(text), "prog+0x%" PRIx64, b->frame[frame].address);
	return text;
}

static void check_remark(struct build *b, const char *why, uint64_t frames)
{
	const struct sym_remark *remarks;

	ck_assert_uint_eq(sym_remarks(b->sym, &remarks), 1);
	ck_assert_uint_eq(remarks[0].object, 1);
	ck_assert_uint_eq(remarks[0].frames, frames);
	ck_assert_str_eq(remarks[0].why, why);
}

#define STRIPPED "it is stripped, and no debug file with its build-id was found"

START_TEST(test_stripped)
{
	struct build b;

	compile(&b, "-g -O2");
	build_run("strip prog");
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	ck_assert(!build_ask(&b, 1)->line[0].known);
	ck_assert_uint_eq(build_ask(&b, 1)->line[0].offset, b.frame[1].address);
	ck_assert_str_eq(build_text(&b, 2), address_text(&b, 2));
	check_remark(&b, STRIPPED, 2);
	build_close(&b);
}
END_TEST

/* Exported functions have names; others must not get a neighbour's. */
START_TEST(test_exported)
{
	struct build b;

	compile(&b, "-g -O2 -rdynamic");
	build_run("strip prog");
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	ck_assert_str_eq(build_text(&b, 2), "shown");
	check_remark(&b, STRIPPED, 1);
	build_close(&b);
}
END_TEST

START_TEST(test_no_debug_info)
{
	struct build b;

	compile(&b, "-O2");
	ck_assert_str_eq(build_text(&b, 1), "hidden");
	ck_assert_str_eq(build_text(&b, 2), "shown");
	build_close(&b);
}
END_TEST

START_TEST(test_minidebuginfo)
{
	struct build b;

	if (!build_have("xz"))
		return;
	compile(&b, "-g -O2");
	build_run("echo hidden >keep; objcopy -S --keep-symbols=keep prog mini; xz mini;"
		  "strip prog; objcopy --add-section .gnu_debugdata=mini.xz prog");
	ck_assert_str_eq(build_text(&b, 1), "hidden");
	ck_assert_str_eq(build_text(&b, 2), address_text(&b, 2));
	build_close(&b);
}
END_TEST

/* An address gets its best-known name; a symbol without a size extends to the next one. */
START_TEST(test_aliases)
{
	struct build b;
	char *text;

	build_file(
	    "alias.S",
	    "	.text\n	.globl __IO_known\n	.type __IO_known, @function\n"
	    "__IO_known:\n	.globl known\n	.type known, @function\nknown:\n"
	    "	.globl _kn\n	.type _kn, @function\n_kn:\n	.type loc, @function\nloc:\n"
	    "	.globl _known\n	.type _known, @function\n_known:\n	nop\n"
	    "label:\n	nop\n	nop\n	.size known, .-known\n"
	    "	.size _kn, .-_kn\n	.size loc, .-loc\n	.size _known, .-_known\n	"
	    ".size __IO_known, .-__IO_known\n"
	    "	.skip 16, 0x90\nbare:\n	nop\n	nop\n"
	    "	.globl after\n	.type after, @function\nafter:\n	ret\n"
	    "	.size after, .-after\n"
	    "	.section .note.GNU-stack,\"\",@progbits\n");
	build_run("gcc -shared -nostdlib -o alias.so alias.S");
	text = build_output("nm alias.so | awk '{ print $3, $1 }'");
	build_object(&b, "alias.so");
	build_frame(&b, said(text, "\nknown "), STACK_FRAME_EXACT);
	build_frame(&b, said(text, "\nlabel ") + 1, STACK_FRAME_EXACT);
	build_frame(&b, said(text, "\nlabel ") + 4, STACK_FRAME_EXACT);
	build_frame(&b, said(text, "\nbare ") + 1, STACK_FRAME_EXACT);
	build_frame(&b, said(text, "after "), STACK_FRAME_EXACT);
	build_frame(&b, said(text, "after ") + 1, STACK_FRAME_EXACT);
	ck_assert_str_eq(build_text(&b, 1), "known");
	ck_assert_str_eq(build_text(&b, 2), "known");
	ck_assert_int_eq(strncmp(build_text(&b, 3), "alias.so+0x", 11), 0);
	ck_assert_str_eq(build_text(&b, 4), "bare");
	ck_assert_str_eq(build_text(&b, 5), "after");
	ck_assert_int_eq(strncmp(build_text(&b, 6), "alias.so+0x", 11), 0);
	build_close(&b);
	free(text);
}
END_TEST

/* As GHC writes it: functions without symbols, whose blocks are outside them, after the last
 * function of gcc's start files, which has no size. */
START_TEST(test_blocks_apart)
{
	struct build b;
	char *text;

	build_file(
	    "apart.S",
	    "	.text\n	.type frame_dummy, @function\nframe_dummy:\n	ret\n	.skip 15\n"
	    "function:\n	.skip 8\n.Lend:\n	.skip 8\nblock:\n	.skip "
	    "8\n.Lblock_end:\n"
	    "	.skip 8\nnothing:\n	.skip 8\n.Lunit_end:\n"
	    "	.section .debug_abbrev,\"\",@progbits\n.Labbrev:\n"
	    "	.byte 1,0x11,1, 3,8, 0x13,0xb, 0x11,1, 0x12,1, 0,0\n"
	    "	.byte 2,0x2e,1, 3,8\n	.uleb128 0x2007\n	.byte 8, 0x11,1, 0x12,1, 0,0\n"
	    "	.byte 3,0xb,0, 0x11,1, 0x12,1, 0,0, 0\n"
	    "	.section .debug_info,\"\",@progbits\n	.long 1f-0f\n0:\n	.short 4\n"
	    "	.long .Labbrev\n	.byte 8\n"
	    "	.byte 1\n	.asciz \"h.hs\"\n	.byte 0x18\n	.quad function, "
	    ".Lunit_end\n"
	    "	.byte 2\n	.asciz \"work\"\n	.asciz \"s4tg_info\"\n	.quad function, "
	    ".Lend\n"
	    "	.byte 3\n	.quad block, .Lblock_end\n	.byte 0, 0\n1:\n"
	    "	.section .note.GNU-stack,\"\",@progbits\n");
	build_run("gcc -shared -nostdlib -o apart.so apart.S && cp apart.so all.so &&"
		  "strip -N function -N block -N nothing apart.so");
	text = build_output("nm all.so | awk '{ print $3, $1 }'");
	build_object(&b, "apart.so");
	build_frame(&b, said(text, "function ") + 1, STACK_FRAME_EXACT);
	build_frame(&b, said(text, "block ") + 1, STACK_FRAME_EXACT);
	build_frame(&b, said(text, "nothing ") + 1, STACK_FRAME_EXACT);
	build_frame(&b, said(text, "frame_dummy "), STACK_FRAME_EXACT);
	ck_assert_str_eq(build_text(&b, 1), "work");
	ck_assert_str_eq(build_text(&b, 2), "work");
	ck_assert_int_eq(strncmp(build_text(&b, 3), "apart.so+0x", 11), 0);
	ck_assert_str_eq(build_text(&b, 4), "frame_dummy");
	build_close(&b);
	free(text);
}
END_TEST

/* Not every compiler lists the ranges of its units, nor need the list agree with the units. */
START_TEST(test_ranges_listed_in_part)
{
	static const char *const names[] = { "one ", "two ", "three " };
	struct build b;
	char *text;

	build_file("one.c", "int one(int x)\n{\n	return 3 * x;\n}\n");
	build_file("two.c", "\nint two(int x)\n{\n	return 5 * x;\n}\n");
	build_file("three.c", "\n\nint three(int x)\n{\n	return 7 * x;\n}\n");
	build_run("gcc -g -O0 -fPIC -c one.c two.c three.c &&"
		  "objcopy -R .debug_aranges -R .rela.debug_aranges two.o &&"
		  "gcc -shared -o part.so one.o two.o three.o");
	text = build_output("nm part.so | awk '{ print $3, $1 }'");
	build_object(&b, "part.so");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		build_frame(&b, said(text, names[i]), STACK_FRAME_EXACT);
	build_frame(&b, said(text, "_init "), STACK_FRAME_EXACT);
	ck_assert_str_eq(build_text(&b, 1), "one one.c:2");
	ck_assert_str_eq(build_text(&b, 2), "two two.c:3");
	ck_assert_str_eq(build_text(&b, 3), "three three.c:4");
	ck_assert_str_eq(build_text(&b, 4), "_init");
	build_close(&b);
	free(text);
}
END_TEST

/* ---- separate debug files ---- */

/* prog.debug holds everything, prog nothing but a link to it. */
static void separate(struct build *b, const char *flags)
{
	compile(b, flags);
	build_run("objcopy --only-keep-debug prog prog.debug; strip prog;"
		  "objcopy --add-gnu-debuglink=prog.debug prog");
}

static void check_found(struct build *b)
{
	ck_assert_str_eq(build_text(b, 1), INLINED);
	ck_assert_str_eq(build_text(b, 2), SHOWN);
	build_close(b);
}

static void check_lost(struct build *b)
{
	ck_assert_str_eq(build_text(b, 1), address_text(b, 1));
	build_close(b);
}

static void use_debug_dir(struct build *b, const char *name)
{
	static char path[128];
	static const char *dirs[] = { "/none", path, NULL };

	snprintf(path, sizeof(path), "%s/%s", build_dir, name);
	b->options.debug_dir = dirs;
}

START_TEST(test_debuglink)
{
	const char *flags = _i ? "-g -O2 -Wl,--build-id=none" : "-g -O2 " LD_ID;
	struct build b;

	separate(&b, flags);
	check_found(&b);
	build_run("mkdir .debug; mv prog.debug .debug");
	check_found(&b);
	/* As with the symbols of another build that lie around. */
	build_run("sed 's/noinline/noinline, used/' prog.c >other.c; gcc %s -o other other.c -ldl;"
		  "objcopy --only-keep-debug other .debug/prog.debug",
		  flags);
	check_lost(&b);
	build_run("rm -r .debug");
	check_lost(&b);
}
END_TEST

START_TEST(test_debug_dir_by_id)
{
	struct build b;
	char *id;

	separate(&b, "-g -O2 " LD_ID);
	id = build_output("readelf -n prog | awk '/Build ID/ { printf \"%%s\", $3 }'");
	build_run("mkdir -p dbg/.build-id/%.2s; mv prog.debug dbg/.build-id/%.2s/%s.debug", id, id,
		  id + 2);
	check_lost(&b);
	use_debug_dir(&b, "dbg");
	check_found(&b);
	/* and without the program itself, as on another machine */
	build_run("rm prog");
	check_found(&b);
	build_run("objcopy --strip-debug dbg/.build-id/%.2s/%s.debug", id, id + 2);
	ck_assert_str_eq(build_text(&b, 1), "hidden");
	build_close(&b);
	free(id);
}
END_TEST

static const char *const below[] = { "%s/prog.debug", "prog.debug", "%s/prog-x.debug",
				     "prog-x.debug" };

START_TEST(test_debug_dir_by_path)
{
	char where[256], format[64];
	struct build b;

	separate(&b, _i % 2 ? "-g -O2 -Wl,--build-id=none" : "-g -O2 " LD_ID);
	snprintf(format, sizeof(format), "dbg/%s", below[_i]);
	snprintf(where, sizeof(where), format, build_dir);
	/* the last two are found by the link's name alone */
	if (_i >= 2)
		build_run(
		    "objcopy -R .gnu_debuglink prog; mv prog.debug prog-x.debug;"
		    "objcopy --add-gnu-debuglink=prog-x.debug prog; mv prog-x.debug prog.debug");
	build_run("mkdir -p $(dirname %s); mv prog.debug %s", where, where);
	check_lost(&b);
	use_debug_dir(&b, "dbg");
	check_found(&b);
}
END_TEST

START_TEST(test_dwz)
{
	struct build b;

	if (!build_have("dwz"))
		return;
	compile(&b, "-g -gdwarf-4 -O2 " LD_ID);
	build_run("sed 's/shown/shows/' prog.c >prog2.c; gcc -g -gdwarf-4 -O2 " LD_ID
		  "-o prog2 prog2.c -ldl; dwz -m common.debug prog prog2");
	build_run("readelf -S prog | grep -q gnu_debugaltlink");
	check_found(&b);
	build_run("mkdir -p dbg/.dwz; mv common.debug dbg/.dwz");
	/* what was moved out is missing: names of inlined calls with it, but no frame */
	ck_assert_ptr_nonnull(strstr(build_text(&b, 1), "hidden"));
	build_close(&b);
	use_debug_dir(&b, "dbg");
	check_found(&b);
}
END_TEST

START_TEST(test_sysroot)
{
	char path[128];
	struct build b;

	separate(&b, _i ? "-g -O2 -Wl,--build-id=none" : "-g -O2 " LD_ID);
	snprintf(path, sizeof(path), "%s/root", build_dir);
	build_run("mkdir -p root/opt/bin root/usr/lib/debug/opt/bin; mv prog root/opt/bin;"
		  "mv prog.debug root/usr/lib/debug/opt/bin");
	b.object[1].path = "/opt/bin/prog";
	check_lost(&b);
	b.options.sysroot = path;
	check_found(&b);
}
END_TEST

/* ---- servers ---- */

static int free_port(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, size), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	close(fd);
	return ntohs(at.sin_port);
}

static pid_t serve(int port)
{
	char text[16];
	pid_t pid = fork();

	if (pid)
		return pid;
	snprintf(text, sizeof(text), "%d", port);
	if (chdir(build_dir) || !freopen("server.log", "w", stdout) || dup2(1, 2) < 0)
		_exit(1);
	unsetenv("DEBUGINFOD_URLS"); /* it would ask itself what it does not have */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execlp("debuginfod", "debuginfod", "-p", text, "-d", ":memory:", "-F", "served", NULL);
	_exit(127);
}

/* The real server, asked only if the user wants that. */
START_TEST(test_debuginfod)
{
	const struct sym_remark *remarks;
	struct build b;
	char *id, urls[64], cache[128];
	int port = free_port();
	pid_t server;

	if (!build_have("debuginfod") || !build_have("debuginfod-find"))
		return;
	separate(&b, "-g -O2 " LD_ID);
	id = build_output("readelf -n prog | awk '/Build ID/ { printf \"%%s\", $3 }'");
	snprintf(urls, sizeof(urls), "http://127.0.0.1:%d", port);
	snprintf(cache, sizeof(cache), "%s/fetched", build_dir);
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	setenv("no_proxy", "127.0.0.1", 1);
	build_run("mkdir served; mv prog.debug served");
	b.options.debuginfod = true;
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	ck_assert_uint_eq(sym_remarks(b.sym, &remarks), 2);
	ck_assert_str_eq(remarks[0].why, "no server of DEBUGINFOD_URLS answers");
	build_close(&b);
	server = serve(port);
	build_run("rm -rf fetched; i=0; until DEBUGINFOD_CACHE_PATH=$PWD/try$i debuginfod-find "
		  "debuginfo %s >/dev/null 2>&1; do i=$((i + 1)); [ $i -lt 600 ]; sleep 0.1; done",
		  id);
	b.options.debuginfod = false;
	check_lost(&b);
	ck_assert(!build_try("test -e fetched"));
	b.options.debuginfod = true;
	check_found(&b);
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	check_found(&b); /* what was fetched is kept */
	unsetenv("DEBUGINFOD_URLS");
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	sym_remarks(b.sym, &remarks);
	ck_assert_str_eq(remarks[0].why, "DEBUGINFOD_URLS names no server");
	build_close(&b);
	free(id);
}
END_TEST

/* ---- the file is not what it was ---- */

START_TEST(test_replaced)
{
	struct build b;

	compile(&b, _i ? "-g -O2 -Wl,--build-id=none" : "-g -O2 " LD_ID);
	build_run("gcc -g -O0 %s -Wl,-z,max-page-size=65536 -o prog prog.c -ldl",
		  _i ? "-Wl,--build-id=none" : LD_ID);
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	ck_assert_str_eq(build_text(&b, 2), address_text(&b, 2));
	check_remark(
	    &b, _i ? "the file has different segments" : "the file has a different build-id", 2);
	build_close(&b);
}
END_TEST

/* Without an id: the same addresses, other sizes. */
START_TEST(test_replaced_by_a_kin)
{
	struct build b;

	compile(&b, "-g -O2 -Wl,--build-id=none");
	build_run("sed 's/innermost();/innermost(); __asm__(\".skip 200, 0x90\");/' prog.c >kin.c;"
		  "gcc -g -O2 -Wl,--build-id=none -o kin kin.c -ldl;"
		  "readelf -lW prog | awk '/LOAD/ { print $3 }' >at;"
		  "readelf -lW kin | awk '/LOAD/ { print $3 }' | cmp - at; mv kin prog");
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	check_remark(&b, "the file has different segments", 1);
	build_close(&b);
}
END_TEST

START_TEST(test_missing)
{
	struct build b;
	char why[256];

	compile(&b, "-g -O2");
	build_run("rm prog");
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	check_remark(&b, "the file does not exist", 1);
	build_close(&b);
	build_run("ln -s prog prog");
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	check_remark(&b, "the file cannot be opened (Too many levels of symbolic links)", 1);
	build_close(&b);
	build_run("rm prog; mkdir dbg; ln -s prog dbg/prog");
	use_debug_dir(&b, "dbg");
	snprintf(why, sizeof(why),
		 "'%s/dbg/prog' cannot be opened (Too many levels of symbolic links)", build_dir);
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	check_remark(&b, why, 1);
	build_close(&b);
	b.options.debug_dir = NULL;
	build_run("mkdir prog");
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	check_remark(&b, "it is not an ELF file", 1);
	build_close(&b);
	build_run("rmdir prog; echo '#!/bin/sh' >prog");
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	check_remark(&b, "it is not an ELF file", 1);
	build_close(&b);
	b.object[1].path = "";
	b.object[1].build_id_bytes = 0;
	ck_assert_int_eq(strncmp(build_text(&b, 1), "?+0x", 4), 0);
	check_remark(&b, "its path is unknown", 1);
	build_close(&b);
}
END_TEST

/* Without an id and segments, as in hand-made stacks, the file is believed. */
START_TEST(test_unidentified)
{
	struct build b;

	separate(&b, "-g -O2 " LD_ID);
	b.object[1].build_id = NULL;
	b.object[1].segments = 0;
	check_found(&b);
}
END_TEST

/* Whatever is in the file, it is an answer. */
START_TEST(test_damaged)
{
	struct build b;
	unsigned seed = 1, i;
	char path[128];
	FILE *f;

	compile(&b, "-g -O2 -Wl,--build-id=none");
	b.object[1].segments = 0;
	build_run("cp prog whole");
	snprintf(path, sizeof(path), "%s/prog", build_dir);
	for (i = 0; i < 60; i++) {
		unsigned size;

		build_run("cp whole prog");
		f = fopen(path, "r+");
		fseek(f, 0, SEEK_END);
		size = (unsigned)ftell(f);
		for (unsigned n = 0; n < 1 + i; n++) {
			seed = seed * 1103515245 + 12345;
			/* the head stays an ELF file's; what follows is anything */
			fseek(f, 64 + (seed >> 8) % (size - 64), SEEK_SET);
			fputc((int)(seed >> 16 & 255), f);
		}
		fclose(f);
		if (i % 8 == 7)
			ck_assert_int_eq(truncate(path, (seed >> 8) % size), 0);
		ck_assert_uint_ge(build_ask(&b, 1)->count, 1);
		ck_assert_str_ne(build_ask(&b, 2)->line[0].function, "");
		build_close(&b);
	}
}
END_TEST

/*
 * A FIFO in the place of what an object, or its DWARF, names: nobody opens it, we or libdw,
 * for that would wait for ever.  The symbol table still has the function.
 */
static const struct {
	const char *flags, *after;
} fifos[] = {
	{ "-gsplit-dwarf", "rm -f prog-prog.dwo; mkfifo prog-prog.dwo" },
	{ "-gsplit-dwarf -gdwarf-4", "rm -f prog-prog.dwo; mkfifo prog-prog.dwo" },
	/* beside the program, and where it was compiled */
	{ "-gsplit-dwarf", "mkdir at; mv prog at/moved; mkfifo at/prog-prog.dwo;"
			   "rm -f prog-prog.dwo; ln -s at/moved prog" },
	{ "-gsplit-dwarf", "mkdir at; mv prog at/moved; rm prog-prog.dwo; mkfifo prog-prog.dwo;"
			   "ln -s at/moved prog" },
	{ "-gsplit-dwarf", "rm -f prog-prog.dwo; mkfifo prog.dwp" },
	{ "-gdwarf-4", "mkfifo alt; printf '%s/alt\\0abcdefghijklmnopqrst' $PWD >link;"
		       "objcopy --add-section .gnu_debugaltlink=link prog" },
	{ "-gdwarf-4", "mkfifo debug; printf 'debug\\0\\0\\0\\0\\0\\0\\0' >link;"
		       "objcopy --strip-debug --add-section .gnu_debuglink=link prog" },
};

START_TEST(test_fifos)
{
	static const char *const fifo[] = { "prog-prog.dwo", "prog-prog.dwo", "at/prog-prog.dwo",
					    "prog-prog.dwo", "prog.dwp",      "alt",
					    "debug" };
	char event[4096], path[128], after[512];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct build b;

	snprintf(after, sizeof(after), fifos[_i].after, build_dir);
	snprintf(event, sizeof(event), "-g -O2 -Wl,--build-id=sha1 %s", fifos[_i].flags);
	compile(&b, event);
	build_run("%s", after);
	snprintf(path, sizeof(path), "%s/%s", build_dir, fifo[_i]);
	ck_assert_int_ge(inotify_add_watch(watch, path, IN_OPEN), 0);
	alarm(20);
	ck_assert_ptr_nonnull(strstr(build_text(&b, 2), "shown"));
	ck_assert_ptr_nonnull(strstr(build_text(&b, 1), "hidden"));
	alarm(0);
	build_close(&b);
	ck_assert_msg(read(watch, event, sizeof(event)) < 0, "%s was opened", path);
	close(watch);
}
END_TEST

/* The object itself: a device may do something when it is opened. */
START_TEST(test_special_object)
{
	char event[4096], path[128];
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	struct build b;

	compile(&b, "-g -O2 -Wl,--build-id=sha1");
	build_run("rm prog; mkfifo prog");
	snprintf(path, sizeof(path), "%s/prog", build_dir);
	ck_assert_int_ge(inotify_add_watch(watch, path, IN_OPEN), 0);
	ck_assert_str_eq(build_text(&b, 1), address_text(&b, 1));
	check_remark(&b, "it is not an ELF file", 1);
	build_close(&b);
	ck_assert_msg(read(watch, event, sizeof(event)) < 0, "it was opened");
	close(watch);
}
END_TEST

/* ---- what is not in a file ---- */

START_TEST(test_no_object)
{
	struct build b;
	const struct sym_remark *remarks;

	build_object(&b, "/none/libx.so");
	build_frame(&b, 0x40, 0);
	build_frame(&b, 0xdead0, 0);
	b.frame[2].object = 0;
	build_frame(&b, 0, STACK_FRAME_TRUNCATED);
	build_frame(&b, 0, STACK_FRAME_LOST_WAY);
	build_frame(&b, 0, 0);
	build_frame(&b, UINT64_MAX, STACK_FRAME_EXACT);
	ck_assert_str_eq(build_text(&b, 0), "[unknown]");
	ck_assert_str_eq(build_text(&b, 1), "libx.so+0x40");
	ck_assert_str_eq(build_ask(&b, 1)->line[0].module, "libx.so");
	ck_assert_str_eq(build_text(&b, 2), "0xdead0");
	ck_assert_str_eq(build_ask(&b, 2)->line[0].module, "?");
	ck_assert_str_eq(build_text(&b, 3), "[truncated]");
	ck_assert_str_eq(build_text(&b, 4), "[lost]");
	ck_assert_str_eq(build_text(&b, 5), "libx.so+0x0");
	ck_assert_str_eq(build_text(&b, 6), "libx.so+0xffffffffffffffff");
	ck_assert_str_eq(build_text(&b, 7), "[unknown]");
	ck_assert_uint_eq(sym_remarks(b.sym, &remarks), 1);
	ck_assert_uint_eq(remarks[0].frames, 3);
	build_close(&b);
}
END_TEST

/* What a file calls its functions must not write on a terminal, nor begin a line. */
START_TEST(test_unclean_names)
{
	struct build b;
	char *text;

	build_file("odd.c", "int plain(void) { return 1; }\nint f_ab(void) { return 2; }\n"
			    "int f_gh(void) { return 3; }\nint f_\303\274(void) { return 4; }\n");
	build_run("gcc -g -fpic -shared -o odd.so odd.c;"
		  "sed -i 's/f_ab/f_\\x1b\\n/g; s/f_gh/f_\\xfc\\xe2/g' odd.so");
	text = build_output("nm odd.so | grep -a ' T ' | cut -d' ' -f1 | sed 's/^0*/at /' | sort");
	build_object(&b, "odd.so");
	for (char *at = strtok(text, "\n"); at; at = strtok(NULL, "\n"))
		build_frame(&b, strtoull(at + 3, NULL, 16), STACK_FRAME_EXACT);
	ck_assert_uint_ge(b.stacks.frames, 4);
	for (uint32_t i = 1; i < b.stacks.frames; i++) {
		const struct sym_line *l = &build_ask(&b, i)->line[0];

		ck_assert_ptr_null(strpbrk(l->function, "\n\033\374"));
		ck_assert_ptr_null(strpbrk(l->raw, "\n\033\374"));
	}
	ck_assert_str_eq(build_ask(&b, 1)->line[0].function, "plain");
	ck_assert_str_eq(build_ask(&b, 2)->line[0].function, "f_??");
	ck_assert_str_eq(build_ask(&b, b.stacks.frames - 1)->line[0].function, "f_\303\274");
	build_close(&b);
	free(text);
}
END_TEST

/* Each keeps its file open; the limit that a shell gives is soon met. */
START_TEST(test_many_objects)
{
	enum { MANY = 60 };
	static char paths[MANY + 1][128];
	struct stack_object objects[MANY + 1] = { { .path = "" } };
	struct stack_frame frames[MANY + 1] = { { 0 } };
	struct stacks stacks = {
		.object = objects, .objects = MANY + 1, .frame = frames, .frames = MANY + 1
	};
	struct sym_options options = { .no_cache = true };
	struct rlimit limit;
	struct build b;
	struct sym *sym;
	int i;

	separate(&b, "-g -O2 -Wl,--build-id=none");
	build_run("for i in $(seq %d); do cp prog prog$i; done", MANY);
	for (i = 1; i <= MANY; i++) {
		snprintf(paths[i], sizeof(paths[i]), "%s/prog%d", build_dir, i);
		objects[i].path = paths[i];
		frames[i] = (struct stack_frame){ b.frame[1].address, (uint32_t)i, 0 };
	}
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 40;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_int_eq(sym_open(&sym, &stacks, &options, NULL), 0);
	for (i = 1; i <= MANY; i++) {
		ck_assert_uint_eq(sym_frame(sym, (uint32_t)i)->count, 3);
		ck_assert_str_eq(sym_frame(sym, (uint32_t)i)->line[0].function, "innermost");
	}
	sym_close(sym);
}
END_TEST

START_TEST(test_vdso)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *at = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
	struct build b;

	if (!at)
		return;
	build_object(&b, _i ? "/none" : "linux-vdso.so.1");
	b.object[1].path = _i ? "[vdso]" : "linux-vdso.so.1";
	build_frame(&b, (uint64_t)(uintptr_t)at - getauxval(AT_SYSINFO_EHDR), STACK_FRAME_EXACT);
	ck_assert_str_eq(build_text(&b, 1), "clock_gettime");
	build_close(&b);
}
END_TEST

/* ---- other languages ---- */

START_TEST(test_cxx)
{
	struct build b;
	char *text;

	build_file("t.cc",
		   "#include <dlfcn.h>\n#include <link.h>\n#include <stdio.h>\n"
		   "#include <string>\n"
		   "__attribute__((noinline)) static void mark(const char *what) {\n"
		   "link_map *map; Dl_info info; void *at = __builtin_return_address(0);\n"
		   "dladdr1(at, &info, (void **)&map, RTLD_DL_LINKMAP);\n"
		   "printf(\"%s %lx\\n\", what, (unsigned long)at - map->l_addr); }\n"
		   "namespace ns { namespace {\n"
		   "template <class T> struct Box {\n"
		   "	[[gnu::always_inline]] T inner(T x) { mark(\"method\"); return x; }\n"
		   "	[[gnu::noinline]] T outer(T x) { return inner(x) + 1; }\n"
		   "};\n} }\n"
		   "int main(int n, char **) {\n"
		   "	ns::Box<int> b;\n"
		   "	auto f = [&](int x) __attribute__((always_inline)) {\n"
		   "		mark(\"lambda\"); return x; };\n"
		   "	return f(b.outer(n)) - 2;\n}\n");
	build_run("g++ -g -O2 -fno-ipa-cp -fno-ipa-sra -o t t.cc -ldl");
	text = build_output("./t");
	build_object(&b, "t");
	build_frame(&b, said(text, "method "), 0);
	build_frame(&b, said(text, "lambda "), 0);
	ck_assert_str_eq(build_text(&b, 1), "ns::(anonymous namespace)::Box<...>::inner t.cc:11 < "
					    "ns::(anonymous namespace)::Box<...>::outer t.cc:12");
	ck_assert_str_eq(build_text(&b, 2), "main::{lambda}::operator() t.cc:18 < main t.cc:19");
	build_close(&b);
	b.options.names = SYM_FULL;
	ck_assert_str_eq(build_text(&b, 1),
			 "ns::(anonymous namespace)::Box<int>::inner t.cc:11 < "
			 "ns::(anonymous namespace)::Box<int>::outer(int) t.cc:12");
	build_close(&b);
	b.options.names = SYM_RAW;
	ck_assert_str_eq(build_ask(&b, 1)->line[1].function, "_ZN2ns12_GLOBAL__N_13BoxIiE5outerEi");
	build_close(&b);
	free(text);
}
END_TEST

START_TEST(test_rust)
{
	static const char *const manglings[] = { "legacy", "v0" };
	const struct sym_line *each, *put;
	struct build b;
	char *text;

	if (!build_have("rustc"))
		return;
	build_file("r.rs", "pub struct Stack<T> { v: Vec<T> }\n"
			   "impl<T> Stack<T> {\n"
			   "	#[inline(never)] pub fn put(&mut self, x: T) { self.v.push(x) }\n"
			   "}\n"
			   "#[inline(never)] pub fn each<F: Fn(u64) -> u64>(f: F) -> u64 {\n"
			   "	let mut s = Stack { v: Vec::new() };\n"
			   "	for i in 0..std::env::args().count() as u64 { s.put(f(i)); }\n"
			   "	s.v.len() as u64\n"
			   "}\n"
			   "fn main() { println!(\"{}\", each(|x| x * 3)); }\n");
	/* a legacy that a newer compiler does not give any more is not worth a failure */
	if (!build_try("rustc -g -O -C symbol-mangling-version=%s r.rs 2>/dev/null ||"
		       "rustc -g -O %s r.rs 2>/dev/null",
		       manglings[_i], _i ? "-C symbol-mangling-version=v0" : ""))
		return;
	text = build_output("nm r | awk '/1r4each/ && / [Tt] / { print \"each\", $1 }"
			    " /Stack.*3put/ && / [Tt] / { print \"put\", $1 }'");
	build_object(&b, "r");
	build_frame(&b, said(text, "each "), STACK_FRAME_EXACT);
	build_frame(&b, said(text, "put "), STACK_FRAME_EXACT);
	/* what the compiler inlined at their beginnings is its own choice */
	each = &build_ask(&b, 1)->line[build_ask(&b, 1)->count - 1];
	put = &build_ask(&b, 2)->line[build_ask(&b, 2)->count - 1];
	ck_assert_int_eq(strncmp(each->function, _i ? "r::each::<...>" : "r::each", 7), 0);
	ck_assert_ptr_null(strstr(build_text(&b, 1), "::h"));
	ck_assert_ptr_nonnull(strstr(build_text(&b, 1), "r.rs:"));
	ck_assert_int_eq(strncmp(put->function, "r::Stack<...>::put", 18), 0);
	ck_assert_ptr_nonnull(strstr(build_text(&b, 2), "r.rs:3"));
	build_close(&b);
	free(text);
}
END_TEST

/* ---- options ---- */

START_TEST(test_rewrite_and_stop)
{
	const char *const rewrite[] = { "s/hidden/(&)/", "s/^shown$//", NULL };
	const char *const stop[] = { "^\\(hid", NULL };
	struct build b;

	compile(&b, "-g -O2");
	b.options.rewrite = rewrite;
	b.options.stop = stop;
	ck_assert_str_eq(build_text(&b, 1),
			 "innermost prog.c:102 < middle prog.c:107 < (hidden) prog.c:111");
	ck_assert(build_ask(&b, 1)->line[2].stop && !build_ask(&b, 1)->line[0].stop);
	ck_assert_str_eq(build_ask(&b, 1)->line[2].raw, "hidden");
	ck_assert_str_eq(build_text(&b, 2), "? prog.c:116");
	build_close(&b);
}
END_TEST

/* ---- the same as binutils ---- */

struct sample {
	uint64_t address;
	char text[4096];
};

/* "name:line < name:line" of what addr2line -aif prints; '?' is 0, and not a name. */
static size_t read_samples(char *from, struct sample *to, size_t most)
{
	char *line = strtok(from, "\n"), *place, *number;
	size_t n = 0, used = 0;

	for (; line && n <= most; line = strtok(NULL, "\n")) {
		if (!strncmp(line, "0x", 2)) {
			to[n].address = strtoull(line, NULL, 16);
			to[n++].text[used = 0] = '\0';
			continue;
		}
		ck_assert_uint_gt(n, 0);
		place = strtok(NULL, "\n");
		ck_assert_ptr_nonnull(place);
		number = strrchr(place, ':');
		used += (size_t)snprintf(to[n - 1].text + used, sizeof(to->text) - used,
					 "%s%.*s:%u", used ? " < " : "", (int)strcspn(line, "."),
					 line, number ? (unsigned)atoi(number + 1) : 0);
		ck_assert_uint_lt(used, sizeof(to->text));
	}
	return n;
}

static const char *mine(struct build *b, uint32_t frame)
{
	static char text[4096];
	const struct sym_lines *lines = build_ask(b, frame);
	size_t i, n = 0;

	for (i = 0; i < lines->count && n < sizeof(text); i++) {
		const struct sym_line *l = &lines->line[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s:%u", i ? " < " : "",
				      (int)strcspn(l->raw, "."), *l->raw ? l->raw : "??", l->line);
	}
	return text;
}

/* A program of many functions that the compiler inlines as it likes; every call in it. */
START_TEST(test_as_addr2line)
{
	static struct sample samples[1000];
	struct build b;
	char *text;
	size_t i, n;

	build_run(
	    "for i in $(seq 1 40); do echo \"static int f$i(int x) { "
	    "if (x > $i) return puts(\\\"$i\\\"); return x * $((i * 7)) + getchar() + "
	    "$([ $i -gt 1 ] && echo \"f$((i - 1))(x + f$((i / 2 + (i < 2)))(x / 2))\" || "
	    "echo x); }\"; done >body.h; sed -i 's/f1(int x).*/f1(int x) { return abs(x); }/;' "
	    "body.h; { echo '#include <stdio.h>'; echo '#include <stdlib.h>';"
	    "cat body.h; echo 'int main(void) { return f40(getchar()); }'; } >many.c;"
	    "gcc -g -gdwarf-4 -O3 -o many many.c");
	text = build_output("objdump -d many | awk '/call/ { sub(\":\", \"\", $1); print $1 }' |"
			    "head -900 >calls; addr2line -aif -e many $(cat calls)");
	n = read_samples(text, samples, 900);
	ck_assert_uint_gt(n, 100);
	build_object(&b, "many");
	b.options.names = SYM_RAW;
	for (i = 0; i < n; i++)
		build_frame(&b, samples[i].address, STACK_FRAME_EXACT);
	for (i = 0; i < n; i++)
		ck_assert_str_eq(mine(&b, (uint32_t)i + 1), samples[i].text);
	build_close(&b);
	free(text);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *sym_find_suite(void)
{
	Suite *s = suite_create("sym_find");
	TCase *found = tcase_create("found"), *debug = tcase_create("debug files");
	TCase *other = tcase_create("other");

	tcase_add_checked_fixture(found, begin, build_end);
	tcase_add_loop_test(found, test_compilers, 0, COUNT(compilers));
	tcase_add_test(found, test_fields);
	tcase_add_test(found, test_return_address);
	tcase_add_test(found, test_stripped);
	tcase_add_test(found, test_exported);
	tcase_add_test(found, test_no_debug_info);
	tcase_add_test(found, test_minidebuginfo);
	tcase_add_test(found, test_aliases);
	tcase_add_test(found, test_blocks_apart);
	tcase_add_test(found, test_ranges_listed_in_part);
	tcase_add_test(found, test_rewrite_and_stop);
	suite_add_tcase(s, found);
	tcase_add_checked_fixture(debug, begin, build_end);
	tcase_add_loop_test(debug, test_debuglink, 0, 2);
	tcase_add_test(debug, test_debug_dir_by_id);
	tcase_add_loop_test(debug, test_debug_dir_by_path, 0, COUNT(below));
	tcase_add_test(debug, test_dwz);
	tcase_add_loop_test(debug, test_sysroot, 0, 2);
	tcase_add_test(debug, test_debuginfod);
	tcase_add_loop_test(debug, test_replaced, 0, 2);
	tcase_add_test(debug, test_replaced_by_a_kin);
	tcase_add_test(debug, test_missing);
	tcase_add_test(debug, test_unidentified);
	tcase_add_test(debug, test_damaged);
	tcase_add_loop_test(debug, test_fifos, 0, sizeof(fifos) / sizeof(fifos[0]));
	tcase_add_test(debug, test_special_object);
	suite_add_tcase(s, debug);
	tcase_add_checked_fixture(other, begin, build_end);
	tcase_add_test(other, test_no_object);
	tcase_add_test(other, test_unclean_names);
	tcase_add_test(other, test_many_objects);
	tcase_add_loop_test(other, test_vdso, 0, 2);
	tcase_add_test(other, test_cxx);
	tcase_add_loop_test(other, test_rust, 0, 2);
	tcase_add_test(other, test_as_addr2line);
	suite_add_tcase(s, other);
	return s;
}
