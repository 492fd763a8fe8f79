// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_names.c - names of values, wrappers, and suppressions. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/path_numbers.h"
#include "profile/profile.h"
#include "profile/suppressions.h"

/* ---- names ---- */

START_TEST(values_by_name)
{
	int i;

	for (i = 0; i < VALUE_COUNT; i++)
		ck_assert_str_eq(profile_value_names[i], profile_value_name((enum profile_value)i));
	ck_assert_ptr_null(profile_value_names[i]);
	ck_assert_str_eq(profile_value_unit(VALUE_LIFETIME), "ns");
	for (i = 0; i < PROFILE_BY_COUNT; i++)
		ck_assert_str_eq(profile_by_names[i], profile_by_name((enum profile_by)i));
	ck_assert_ptr_null(profile_by_names[i]);
}
END_TEST

/* Each value is the figure that its name says. */
START_TEST(values_of_a_group)
{
	const struct site_values v = { .calls = 1,
				       .bytes = 2,
				       .live_bytes = 3,
				       .peak_bytes = 4,
				       .temporary_calls = 6,
				       .lifetime_ns = 7,
				       .slack = 8,
				       .local_bytes = 9,
				       .rss_bytes = 10,
				       .leaked_bytes = 5 };
	const struct profile_group g = { .v = &v };
	static const enum profile_value order[] = {
		VALUE_CALLS,	 VALUE_TOTAL,	 VALUE_LIVE,  VALUE_PEAK,  VALUE_LEAKED,
		VALUE_TEMPORARY, VALUE_LIFETIME, VALUE_WASTE, VALUE_LOCAL, VALUE_RSS,
	};
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		ck_assert_uint_eq(profile_group_value(&g, order[i]), i + 1);
}
END_TEST

START_TEST(groups_in_order)
{
	const struct site_values v[4] = {
		{ .peak_bytes = 1, .bytes = 9 },
		{ .peak_bytes = 5, .bytes = 1 },
		{ .peak_bytes = 1, .bytes = 10 },
		{ .peak_bytes = 1, .bytes = 9 },
	};
	struct profile_group group[4] = {
		{ .v = &v[0], .stack = 1 },
		{ .v = &v[1], .stack = 2 },
		{ .v = &v[2], .stack = 3 },
		{ .v = &v[3], .stack = 0 },
	};
	struct profile p = { .group = group, .groups = 4 };

	profile_sort(&p, VALUE_PEAK);
	ck_assert_uint_eq(group[0].stack, 2);
	ck_assert_uint_eq(group[1].stack, 3);
	ck_assert_uint_eq(group[2].stack, 0);
	ck_assert_uint_eq(group[3].stack, 1);
	ck_assert_ptr_eq(group[0].v, &v[1]); /* each kept its figures */
	ck_assert_ptr_eq(group[3].v, &v[0]);
}
END_TEST

/* ---- lines ---- */

static struct sym_line line(const char *function, const char *raw, const char *module)
{
	return (struct sym_line){
		.function = function, .raw = raw, .file = "dir/source.c", .module = module
	};
}

START_TEST(wrappers_are_known)
{
	static const struct {
		const char *function, *raw;
		enum paths_part part;
	} cases[] = {
		{ "malloc", "malloc", PATHS_WRAPPER },
		{ "malloc_info", "malloc_info", PATHS_LIBRARY },
		{ "operator new", "_Znwm", PATHS_WRAPPER },
		{ "operator new(unsigned long)", "_Znwm", PATHS_WRAPPER },
		{ "operator new[]", "_ZnamSt11align_val_t", PATHS_WRAPPER },
		{ "__gnu_cxx::new_allocator<...>::allocate", "", PATHS_WRAPPER },
		{ "std::allocator_traits<...>::allocate",
		  "_ZNSt16allocator_traitsISaIiEE8allocateERS0_m", PATHS_WRAPPER },
		{ "std::vector<...>::push_back", "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  PATHS_LIBRARY },
		{ "std::_Vector_base<...>::_M_allocate",
		  "_ZNSt12_Vector_baseIiSaIiEE11_M_allocateEm", PATHS_WRAPPER },
		{ "g_malloc0_n", "g_malloc0_n", PATHS_WRAPPER },
		{ "xrealloc", "xrealloc", PATHS_WRAPPER },
		{ "_obstack_newchunk", "_obstack_newchunk", PATHS_WRAPPER },
		{ "xrealloc_all", "xrealloc_all", PATHS_LIBRARY },
		{ "PyMem_RawMalloc", "PyMem_RawMalloc", PATHS_WRAPPER },
		{ "AcquireAlignedMemory", "AcquireAlignedMemory", PATHS_WRAPPER },
		{ "palloc0", "palloc0", PATHS_WRAPPER },
		{ "MemoryContextAllocZero", "MemoryContextAllocZero", PATHS_WRAPPER },
		{ "enlargeStringInfo", "enlargeStringInfo", PATHS_WRAPPER },
		{ "isc__mem_get", "isc__mem_get", PATHS_WRAPPER },
		{ "CMEM_$$_CGETMEM$QWORD$$POINTER", "CMEM_$$_CGETMEM$QWORD$$POINTER",
		  PATHS_WRAPPER },
		{ "my_multi_malloc_large", "my_multi_malloc_large", PATHS_WRAPPER },
		{ "strmake_root", "strmake_root", PATHS_WRAPPER },
		{ "PyList_New", "PyList_New", PATHS_PROGRAM },
		{ "alloc::alloc::exchange_malloc",
		  "_ZN5alloc5alloc15exchange_malloc17h0123456789abcdefE", PATHS_WRAPPER },
		/* An allocator by its name; neither parameters nor template arguments say so. */
		{ "conn_alloc", "conn_alloc", PATHS_LIBRARY },
		{ "ngx_memalign", "ngx_memalign", PATHS_LIBRARY },
		{ "mem_aligned", "mem_aligned", PATHS_PROGRAM },
		{ "mystrdup", "mystrdup", PATHS_LIBRARY },
		{ "CRYPTO_strndup", "CRYPTO_strndup", PATHS_LIBRARY },
		{ "Table::memDup", "_ZN5Table6memDupEv", PATHS_LIBRARY },
		{ "memdu", "memdu", PATHS_PROGRAM },
		{ "std_update", "std_update", PATHS_PROGRAM },
		{ "Base::operator new", "_ZN4BasenwEm", PATHS_LIBRARY },
		{ "Pool<int>::operator new[](unsigned long)", "_ZN4PoolIiEnaEm", PATHS_LIBRARY },
		{ "Base::operator newer", "_ZN4BasecvN5newerEEv", PATHS_PROGRAM },
		{ "(anonymous namespace)::Pool::allocate()", "", PATHS_LIBRARY },
		{ "plan_resource_allocation", "", PATHS_PROGRAM },
		{ "AllocationTable::add", "", PATHS_PROGRAM },
		{ "allocate_allocation", "", PATHS_LIBRARY },
		{ "parse(std::allocator<char> const&)", "_Z5parseRKSaIcE", PATHS_PROGRAM },
		{ "Table<Allocator>::grow", "_ZN5TableI9AllocatorE4growEv", PATHS_PROGRAM },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  PATHS_LIBRARY },
		{ "void std::sort<...>(...)", "_ZSt4sortIPiEvT_S1_", PATHS_LIBRARY },
		{ "cv::Mat::create", "_ZN2cv3Mat6createEiPKii", PATHS_LIBRARY },
		{ "google::protobuf::MessageLite::ParseFromString",
		  "_ZN6google8protobuf11MessageLite15ParseFromStringENS0_20ConstStringParamE",
		  PATHS_LIBRARY },
		{ "_start", "_start", PATHS_START },
		{ "start_thread", "start_thread", PATHS_START },
		{ "main", "main", PATHS_PROGRAM },
		/* Rust: whose type it is decides; a namespace of C++ may be called core. */
		{ "core::Engine::load", "_ZN4core6Engine4loadEv", PATHS_PROGRAM },
		{ "hashbrown::raw::RawTable<...>::reserve_rehash",
		  "_ZN9hashbrown3raw4grow17h0123456789abcdefE.llvm.17", PATHS_LIBRARY },
		{ "<u8 as alloc::vec::spec_from_elem::SpecFromElem>::from_elem", "_RNvXs",
		  PATHS_LIBRARY },
		{ "<<alloc::boxed::Box<...> as core::convert::From<...>>::from as "
		  "core::ops::FnOnce<...>>::call_once",
		  "_RNvXs", PATHS_LIBRARY },
		{ "<&dyn core::ops::function::Fn<...> as "
		  "core::ops::function::FnOnce<...>>::call_once",
		  "_RNvXs", PATHS_LIBRARY },
		{ "<T as alloc::string::ToString>::to_string",
		  "_ZN5alloc6string8ToString17h0123456789abcdefE", PATHS_LIBRARY },
		{ "<[u8]>::to_vec_in::<...>", "_RNvXs", PATHS_LIBRARY },
		{ "<prog::Conn as core::clone::Clone>::clone",
		  "_ZN4prog4Conn5clone17h0123456789abcdefE", PATHS_PROGRAM },
		{ "prog::make", "_ZN4prog4make17h0123456789abcdefE", PATHS_PROGRAM },
		/* Its newer mangling names the crate of the definition. */
		{ "str::to_lowercase", "_RNvMs3_NtCslNYArtu3iFV_5alloc3stre12to_lowercase",
		  PATHS_LIBRARY },
		{ "[u32]::concat", "_RNvMNtC5alloc5sliceSm6concat", PATHS_LIBRARY },
		{ "<r::Mine as core::fmt::Display>::fmt",
		  "_RNvXs_C1rNtB4_4MineNtNtC4core3fmt7Display3fmt", PATHS_PROGRAM },
		{ "r::main::{closure#0}", "_RNCNvCs12_1r4main0B3_", PATHS_PROGRAM },
		/* What std calls for a panic and its backtrace. */
		{ "__rustc::rust_begin_unwind", "_RNvCs1_7___rustc17rust_begin_unwind",
		  PATHS_LIBRARY },
		/* They call the program's own allocator, if it has one. */
		{ "__rustc::__rust_alloc", "_RNvCs1_7___rustc12___rust_alloc", PATHS_WRAPPER },
		{ "__rustc::__rust_realloc", "_RNvCs1_7___rustc14___rust_realloc", PATHS_WRAPPER },
		{ "core::alloc::global::GlobalAlloc::alloc_zeroed",
		  "_ZN4core5alloc6global11GlobalAlloc12alloc_zeroed17h0123456789abcdefE",
		  PATHS_WRAPPER },
		{ "gimli::read::abbrev::Attributes::push",
		  "_ZN5gimli4read6abbrev10Attributes4push17h0123456789abcdefE", PATHS_LIBRARY },
		{ "gimli::push", "_ZN5gimli4pushEv", PATHS_PROGRAM },
		{ "r::make", "_RNvCs", PATHS_PROGRAM },
		{ "r::make", "_RNvC99999999999999999999x", PATHS_PROGRAM },
		{ "r::make", "_RNvMs", PATHS_PROGRAM },
		{ "r::make", "_RN", PATHS_PROGRAM },
	};
	static const char *const libraries[] = { "libc.so.6",
						 "libgnat-12.so",
						 "libgnarl-12.so",
						 "libdruntime-ldc-shared.so.100",
						 "libphobos2-ldc-shared.so.100",
						 "libprotobuf.so.32" };
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sym_line l = line(cases[i].function, cases[i].raw, "m");

		l.known = true;
		ck_assert_msg(paths_part(&l) == cases[i].part, "%s is %d", cases[i].function,
			      (int)paths_part(&l));
	}
	for (i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		struct sym_line l = line("f", "f", libraries[i]);

		l.file = "";
		ck_assert_msg(paths_part(&l) == PATHS_LIBRARY, "%s", libraries[i]);
	}
	/* Objects are made for whoever calls GLib, not for GLib. */
	ck_assert_int_eq(paths_part(&(struct sym_line){ .function = "g_type_create_instance",
							.raw = "g_type_create_instance",
							.file = "",
							.module = "libgobject-2.0.so.0",
							.known = true }),
			 PATHS_LIBRARY);
}
END_TEST

/* Code of a language's library that has names of the program. */
START_TEST(library_sources_are_known)
{
	static const struct {
		const char *file;
		enum paths_part part;
	} cases[] = {
		{ "/usr/lib/gcc/x86_64-linux-gnu/12/adainclude/a-cihama.adb", PATHS_LIBRARY },
		{ "/home/u/ad.adb", PATHS_PROGRAM },
		{ "/opt/nim/lib/system/seqs_v2.nim", PATHS_LIBRARY },
		{ "/opt/nim/lib/system.nim", PATHS_LIBRARY },
		{ "/home/u/n.nim", PATHS_PROGRAM },
		{ "/home/u/lib/system/x.c", PATHS_PROGRAM },
		{ "/opt/zig-linux-x86_64-0.11.0/lib/std/mem/Allocator.zig", PATHS_LIBRARY },
		{ "/usr/lib/zig/std/array_list.zig", PATHS_LIBRARY },
		{ "/home/u/.cache/zig/p/1220ab/src/root.zig", PATHS_PACKAGE },
		{ "/home/u/src/std.zig", PATHS_PROGRAM },
		{ "/usr/lib/crystal/lib/string/builder.cr", PATHS_LIBRARY },
		{ "/usr/share/crystal/src/hash.cr", PATHS_LIBRARY },
		{ "/home/u/crystal/src/app.cr", PATHS_PROGRAM },
		{ "/usr/lib/R/site-library/Rcpp/include/Rcpp/Vector.h", PATHS_PACKAGE },
		{ "/home/u/R/x86_64-pc-linux-gnu-library/4.2/Rcpp/include/Rcpp.h", PATHS_PACKAGE },
		{ "../libphobos/libdruntime/__entrypoint.d", PATHS_LIBRARY },
		{ "usr/lib/ldc/x86_64-linux-gnu/include/d/core/internal/entrypoint.d",
		  PATHS_LIBRARY },
		{ "/home/u/src/entrypoint.d", PATHS_PROGRAM },
		{ "/home/u/build/catalog.pb.cc", PATHS_LIBRARY },
		{ "/home/u/build/catalog.pb-c.c", PATHS_LIBRARY },
		{ "/home/u/pb.cc", PATHS_PROGRAM },
		{ "nim", PATHS_PROGRAM },
		{ "", PATHS_PROGRAM },
	};
	struct sym_line l = line("maps.insert", "maps__insert", "m");
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		l.file = cases[i].file;
		ck_assert_msg(paths_part(&l) == cases[i].part, "%s is %d", l.file,
			      (int)paths_part(&l));
	}
}
END_TEST

/* ---- paths ---- */

#define PATH_FRAMES 9u
#define PATH_NODES  200u

/* Is it the path that is built without an earlier one? */
static void expect_path(const struct stacks *stacks, struct sym *sym,
			const struct profile_path *path, uint32_t stack)
{
	const struct profile_path *alone;
	struct profile_paths t;

	paths_init(&t, stacks, sym, &(struct paths_options){ .wrappers = true });
	alone = paths_look(&t, stack);
	ck_assert_uint_eq(path->all, alone->all);
	ck_assert_uint_eq(path->count, alone->count);
	ck_assert_int_eq(path->truncated, alone->truncated);
	for (size_t i = 0; i < path->all; i++) {
		ck_assert_ptr_eq(path->line[i], alone->line[i]);
		ck_assert_uint_eq(path->frame[i], alone->frame[i]);
	}
	paths_release(&t);
}

/* Makes stacks at random, some of which lack frames in the middle. */
static struct stacks make_stacks(struct stack_frame frame[PATH_FRAMES],
				 struct stack_node node[PATH_NODES])
{
	static const struct stack_object objects[] = { { .path = "" }, { .path = "/none/x.so" } };
	uint32_t seed = 1;

	frame[0] = (struct stack_frame){ .address = 0 };
	node[0] = (struct stack_node){ .parent = 0 };
	for (uint32_t i = 1; i < PATH_FRAMES; i++)
		frame[i] = (struct stack_frame){ i, 1, i == 7 ? STACK_FRAME_TRUNCATED : 0 };
	for (uint32_t i = 1; i < PATH_NODES; i++) {
		seed = seed * 1103515245 + 12345;
		node[i] = (struct stack_node){ (i - 1) - (seed >> 16) % i % 8,
					       1 + (seed >> 20) % (PATH_FRAMES - 1) };
	}
	return (struct stacks){ .object = objects,
				.objects = 2,
				.frame = frame,
				.frames = PATH_FRAMES,
				.node = node,
				.nodes = PATH_NODES };
}

/* A path is built from the one before it, also if frames are missing in the middle, or if
 * --stop-at ends it. */
START_TEST(paths_in_any_order)
{
	static const char *const stop[] = { "0x5$", NULL };
	struct stack_frame frame[PATH_FRAMES];
	struct stack_node node[PATH_NODES];
	const struct stacks stacks = make_stacks(frame, node);
	struct profile_paths t;
	struct error err;
	struct sym *sym;
	uint32_t seed = 1, at;

	ck_assert_int_eq(sym_open(&sym, &stacks, &(struct sym_options){ .stop = stop }, &err), 0);
	paths_init(&t, &stacks, sym, &(struct paths_options){ .wrappers = true });
	for (uint32_t i = 0; i < 20 * PATH_NODES; i++) {
		seed = seed * 1103515245 + 12345;
		at = (seed >> 16) % PATH_NODES;
		expect_path(&stacks, sym, paths_look(&t, at), at);
	}
	paths_release(&t);
	sym_close(sym);
}
END_TEST

/* Returns the number of the text that path_number() numbers. */
static uint32_t number_of_text(struct interner *texts, const struct profile_path *path, bool whole)
{
	const size_t n = whole ? path->all : path->count;
	char text[PATH_NODES * 16];
	size_t at = 0;

	text[at++] = path->truncated ? '1' : '0';
	for (size_t i = paths_start_lines(path->line, path->count); i < n; i++)
		at +=
		    (size_t)snprintf(text + at, sizeof(text) - at, "\n%s", path->line[i]->function);
	return interner_id(texts, text, at);
}

/* Stacks have the same number if they read the same, also if different frames do, and if --stop-at
 * ends them. */
static void expect_numbers(const struct paths_options *o, bool whole)
{
	static const char *const stop[] = { "0x5$", NULL };
	static const char *const rewrite[] = { "s/0x6$/0x4/", "s/^.*0x3$/malloc/",
					       "s/^.*0x2$/_start/", NULL };
	struct stack_frame frame[PATH_FRAMES];
	struct stack_node node[PATH_NODES];
	const struct stacks stacks = make_stacks(frame, node);
	struct path_numbers numbers = PATH_NUMBERS_EMPTY;
	uint32_t of_text[PATH_NODES + 1] = { 0 }, of_number[PATH_NODES + 1] = { 0 };
	struct interner texts = { .text = NULL };
	struct profile_paths t;
	struct error err;
	struct sym *sym;

	ck_assert_int_eq(sym_open(&sym, &stacks,
				  &(struct sym_options){ .stop = stop, .rewrite = rewrite }, &err),
			 0);
	paths_init(&t, &stacks, sym, o);
	for (uint32_t i = 0; i < PATH_NODES; i++) {
		const uint32_t stack = i * 7 % PATH_NODES;
		const uint32_t number = path_number(&numbers, &t, stack, whole);
		const uint32_t text = number_of_text(&texts, paths_look(&t, stack), whole);

		of_text[text] = of_text[text] ? of_text[text] : number;
		of_number[number] = of_number[number] ? of_number[number] : text;
		ck_assert_uint_eq(of_text[text], number);
		ck_assert_uint_eq(of_number[number], text);
	}
	ck_assert_uint_gt(texts.count, 20);
	ck_assert_uint_lt(texts.count, PATH_NODES - 20);
	ck_assert_uint_eq(numbers.count, texts.count);
	interner_release(&texts);
	path_numbers_release(&numbers);
	paths_release(&t);
	sym_close(sym);
}

START_TEST(numbers_of_paths)
{
	for (int whole = 0; whole < 2; whole++) {
		expect_numbers(&(struct paths_options){ .wrappers = false }, whole);
		expect_numbers(&(struct paths_options){ .wrappers = true }, whole);
		expect_numbers(&(struct paths_options){ .library = true }, whole);
	}
}
END_TEST

/* One rule tells which line allocates, for stacks of the program, libraries, wrappers, generated
 * code and missing frames: that of findings agrees with that of views. */
START_TEST(lines_that_allocate)
{
	static const struct stack_object objects[] = { { .path = "" },
						       { .path = "/none/x.so" },
						       { .path = "/none/libstdc++.so.6" } };
	static const char *const rewrite[] = { "s/^.*0x3$/malloc/", "s/^.*0x8$/_start/", NULL };
	struct stack_frame frame[PATH_FRAMES];
	struct stack_node node[PATH_NODES];
	struct stacks stacks = make_stacks(frame, node);
	const struct profile_path *path;
	struct profile_paths t;
	struct profile p = { .stacks = &stacks, .paths = &t };
	struct error err;
	unsigned nameless = 0;

	stacks.object = objects;
	stacks.objects = 3;
	frame[1].object = frame[2].object = 2;
	frame[4].object = 0;
	ck_assert_int_eq(
	    sym_open(&p.sym, &stacks, &(struct sym_options){ .rewrite = rewrite }, &err), 0);
	paths_init(&t, &stacks, p.sym, &(struct paths_options){ .wrappers = false });
	for (uint32_t i = 0; i < 2 * PATH_NODES; i++) {
		path = paths_look(&t, i % PATH_NODES);
		if (!path->all)
			continue;
		ck_assert_ptr_eq(profile_asked(&p, i % PATH_NODES).line,
				 path->line[path->asked - (path->asked > 0)]);
		nameless += path->asked > 1 && path->asked <= path->inner &&
			    paths_is_nameless(path->line[path->asked - 2]);
	}
	ck_assert_uint_gt(nameless, 10);
	free(p.asked);
	paths_release(&t);
	sym_close(p.sym);
}
END_TEST

/* Returns the number of lines up to the next one outward from line i that is of the program and, if
 * line i is, of another function. */
static uint32_t next_of(struct profile_paths *t, const struct profile_path *path, size_t i)
{
	const bool of_program = paths_part_of(t, path->frame[i], path->line[i]) == PATHS_PROGRAM;
	size_t k = i;

	while (k && (paths_part_of(t, path->frame[k - 1], path->line[k - 1]) != PATHS_PROGRAM ||
		     (of_program && !sym_order_functions(path->line[k - 1], path->line[i]))))
		k--;
	return (uint32_t)k;
}

/* The next function of the program outward is known for each line of a path, whichever path was
 * built before, and also of a recursion. */
START_TEST(next_functions_outward)
{
	static const char *const rewrite[] = { "s/0x[2456]$/0x4/", "s/^.*0x3$/malloc/", NULL };
	struct stack_frame frame[PATH_FRAMES];
	struct stack_node node[PATH_NODES];
	const struct stacks stacks = make_stacks(frame, node);
	const struct profile_path *path;
	struct profile_paths t;
	struct error err;
	struct sym *sym;
	uint32_t seed = 1, stack, far = 0;

	ck_assert_int_eq(sym_open(&sym, &stacks, &(struct sym_options){ .rewrite = rewrite }, &err),
			 0);
	paths_init(&t, &stacks, sym, &(struct paths_options){ .wrappers = false });
	for (uint32_t i = 0; i < 20 * PATH_NODES; i++) {
		const uint32_t *next;
		size_t n;

		seed = seed * 1103515245 + 12345;
		stack = (seed >> 16) % PATH_NODES;
		path = paths_look(&t, stack);
		n = i % 3 ? path->asked : path->asked / 2;
		next = paths_next(&t, n);
		for (size_t k = 0; k < n; k++) {
			ck_assert_uint_eq(next[k], next_of(&t, path, k));
			far += next[k] && next[k] + 2 < k;
		}
	}
	ck_assert_uint_gt(far, 1000);
	paths_release(&t);
	sym_close(sym);
}
END_TEST

/* As LeakSanitizer's TemplateMatch has it. */
START_TEST(patterns)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "foo", "foo", true },	       { "foo", "xfoox", true },
		{ "foo", "fo", false },	       { "^foo", "foobar", true },
		{ "^foo", "xfoo", false },     { "foo$", "barfoo", true },
		{ "foo$", "foobar", false },   { "^foo$", "foo", true },
		{ "^foo$", "foofoo", false },  { "f*r", "foobar", true },
		{ "f*z", "foobar", false },    { "^f*r$", "foobar", true },
		{ "^o*r$", "foobar", false },  { "a*b*c", "xaxbxcx", true },
		{ "a*b*c", "xaxcxbx", false }, { "*", "", true },
		{ "ab*ab", "ab", false },      { "ab*ab", "abab", true },
		{ "^", "any", true },	       { "a*$", "xab", true },
		{ "b$", "bxb", true },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(suppression_matches(cases[i].pattern, cases[i].text) ==
				  cases[i].matches,
			      "'%s' in '%s'", cases[i].pattern, cases[i].text);
}
END_TEST

static int read_text(struct suppressions *s, const char *text, struct error *err)
{
	char path[64];
	int fd = memfd_create("suppressions", 0), ret;

	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = suppressions_read(s, path, err);
	close(fd);
	return ret;
}

START_TEST(files_of_suppressions)
{
	struct suppressions s = { .count = 0 };
	struct error err;

	ck_assert(!read_text(&s,
			     "# a comment\n\n  leak:one*two  \r\nrace:^other$\n"
			     "leak: spaced\nthread:x\nleak:last",
			     &err));
	ck_assert_uint_eq(s.count, 3);
	ck_assert_str_eq(s.item[0].pattern, "one*two");
	ck_assert_str_eq(s.item[1].pattern, "spaced");
	ck_assert_str_eq(s.item[2].pattern, "last");
	ck_assert_int_eq(read_text(&s, "leak:fine\nleek:typo\n", &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "line 2: invalid suppression 'leek:typo'"));
	ck_assert_int_eq(read_text(&s, "leak:\n", &err), -EINVAL);
	ck_assert_int_eq(suppressions_read(&s, "/nowhere/at/all", &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/at/all"));
	suppressions_release(&s);
}
END_TEST

#define DEPTH 4

/* main in prog, outer in libouter.so, inner of the library, and a wrapper. */
static struct sym_line made[DEPTH];
static const struct sym_line *lines[DEPTH];
static uint32_t frames[DEPTH] = { 1, 2, 3, 4 };
static const struct stack_object objects[] = { { .path = "" }, { .path = "/opt/lib/libouter.so" } };
static const struct stack_frame frame[DEPTH + 1] = { [2] = { .object = 1 } };
static const struct stacks stacks = { .object = objects, .frame = frame, .frames = DEPTH + 1 };
static struct profile_path path = { .line = lines,
				    .frame = frames,
				    .count = 2,
				    .asked = 2,
				    .inner = 3,
				    .all = DEPTH,
				    .innermost = 2 };

static void make_path(const char *inner, const char *module)
{
	int i;

	made[0] = line("main", "main", "prog");
	made[1] = line("ns::outer", "_ZN2ns5outerEv", "libouter.so");
	made[2] = line(inner, inner, module);
	made[3] = line("operator new", "_Znwm", "libstdc++.so.6");
	for (i = 0; i < DEPTH; i++)
		lines[i] = &made[i];
}

static struct suppression *find(struct suppressions *s)
{
	return suppressions_find(s, &stacks, &path);
}

START_TEST(suppressions_of_a_file)
{
	static const struct {
		const char *line;
		bool matches;
	} cases[] = {
		{ "leak:main", true },	   { "leak:^inner$", true },  { "leak:ns::out", true },
		{ "leak:_ZN2ns5", true },  { "leak:source.c", true }, { "leak:/opt/lib/", true },
		{ "leak:libouter", true }, { "leak:nowhere", false }, { "leak:^outer", false },
	};
	struct suppressions s;
	struct error err;
	size_t i;

	make_path("inner", "prog");
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s = (struct suppressions){ .count = 0 };
		ck_assert(!read_text(&s, cases[i].line, &err));
		ck_assert_msg((find(&s) != NULL) == cases[i].matches, "%s", cases[i].line);
		suppressions_release(&s);
	}
}
END_TEST

/* Lines in Valgrind's format, innermost first; the stack: operator new, inner, outer, main. */
START_TEST(suppressions_of_valgrind)
{
	static const struct {
		const char *lines;
		bool matches;
	} cases[] = {
		{ "fun:_Znwm\nfun:inner", true },
		{ "fun:malloc\nfun:_Znwm", true },
		{ "fun:_Znam\nfun:inner", true },
		{ "fun:_Zna*nothrow_t\nfun:inner\nfun:_ZN2ns5outerEv", true },
		{ "fun:_Znam\nfun:main", false },
		{ "...\nfun:calloc\nfun:_Znwm", true },
		{ "...\nfun:_ZneRK1AS1_", false },
		{ "fun:free\nfun:_Znwm", false },
		{ "obj:*\nfun:inner", true },
		{ "fun:?alloc\n...\nfun:main", true },
		{ "obj:*vgpreload_memcheck*\nfun:_Znwm", true },
		{ "fun:malloc\nfun:inner", false },
		{ "fun:inner", false },
		{ "...\nfun:inner\nfun:_ZN2ns5*\n", true },
		{ "...\nfun:inner\nfun:main", false },
		{ "...\nfun:*\nfun:main", true },
		{ "...\nfun:main\nfun:*", false },
		{ "...\nfun:main\n...", true },
		{ "fun:*\nfun:*\nobj:/opt/lib/lib*.so", true },
		{ "fun:*\nobj:/opt/lib/lib*.so", false },
		{ "...\nsrc:source.c:?\n", true },
		{ "...\nsrc:source.c:?1\n", false },
		{ "...\nsrc:sour*\n", true },
	};
	struct suppressions s;
	struct error err;
	char text[200];

	make_path("inner", "prog");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		s = (struct suppressions){ .count = 0 };
		snprintf(text, sizeof(text), "{\n name\n Memcheck,Other:Leak\n%s\n}\n",
			 cases[i].lines);
		ck_assert_msg(!read_text(&s, text, &err), "%s", err.text);
		ck_assert_msg((find(&s) != NULL) == cases[i].matches, "%s", cases[i].lines);
		suppressions_release(&s);
	}
	s = (struct suppressions){ .count = 0 };
	ck_assert(!read_text(&s, "{\nx\nMemcheck:Cond\nfun:f\n}\n{\ny\nHelgrind:Leak\n}\n", &err));
	ck_assert_uint_eq(s.count, 0);
	suppressions_release(&s);
}
END_TEST

/* What a library keeps for itself, and not what the program lets it allocate. */
START_TEST(suppressions_that_are_built_in)
{
	static const struct {
		const char *inner, *module;
		bool matches;
	} cases[] = {
		{ "_IO_file_doallocate", "libc.so.6", true },
		{ "setlocale", "libc.so.6", true },
		{ "my_setlocale", "prog", false },
		{ "strdup", "libc.so.6", false },
		{ "_dl_new_object", "ld-linux-x86-64.so.2", true },
		{ "anything", "ld-linux-aarch64.so.1", true },
		{ "libstdc++.so.6+0xa5a1a", "libstdc++.so.6", false },
		{ "getpwuid", "libc.so.6", true },
		{ "getpwuid", "prog", false },
		{ "std::backtrace_rs::symbolize::gimli::Mapping::new", "prog", true },
		{ "std::backtrace_rs::symbolize::resolve", "prog", false },
	};
	struct suppressions s = { .count = 0 };
	size_t i;

	suppressions_add_builtin(&s);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_path(cases[i].inner, cases[i].module);
		ck_assert_msg((find(&s) != NULL) == cases[i].matches, "%s", cases[i].inner);
	}
	/* strdup for setlocale is of the library's own; for the program's, it is not. */
	make_path("strdup", "libc.so.6");
	made[1] = line("setlocale", "setlocale", "libc.so.6");
	ck_assert_ptr_nonnull(find(&s));
	made[1] = line("setlocale", "setlocale", "prog");
	ck_assert_ptr_null(find(&s));
	ck_assert_ptr_null(suppressions_find(&s, NULL, &path));
	/* libstdc++ for itself, when the loader starts it; not for the program. */
	make_path("libstdc++.so.6+0xa5a1a", "libstdc++.so.6");
	made[1] = line("call_init", "call_init", "ld-linux-x86-64.so.2");
	ck_assert_ptr_nonnull(find(&s));
	ck_assert_str_eq(find(&s)->why, "libstdc++'s emergency pool for exceptions");
	made[1] = line("f", "f", "libstdc++.so.6");
	made[0] = line("g", "g", "libstdc++.so.6");
	ck_assert_ptr_null(find(&s));
	suppressions_release(&s);
}
END_TEST

Suite *profile_names_suite(void)
{
	Suite *s = suite_create("profile_names");
	TCase *c = tcase_create("all");

	tcase_add_test(c, values_by_name);
	tcase_add_test(c, values_of_a_group);
	tcase_add_test(c, groups_in_order);
	tcase_add_test(c, wrappers_are_known);
	tcase_add_test(c, library_sources_are_known);
	tcase_add_test(c, paths_in_any_order);
	tcase_add_test(c, numbers_of_paths);
	tcase_add_test(c, lines_that_allocate);
	tcase_add_test(c, next_functions_outward);
	tcase_add_test(c, patterns);
	tcase_add_test(c, files_of_suppressions);
	tcase_add_test(c, suppressions_of_a_file);
	tcase_add_test(c, suppressions_of_valgrind);
	tcase_add_test(c, suppressions_that_are_built_in);
	suite_add_tcase(s, c);
	return s;
}
