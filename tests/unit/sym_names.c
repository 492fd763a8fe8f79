// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sym_names.c - names in their three forms: C++, Rust, D and C from a table, names that are made
 * to hurt, and the user's own rules.
 */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sym/names.h"
#include "sym/sym.h"
#include "sym/rewrite.h"

struct row {
	const char *raw, *in_short, *in_full;
};

/* Mangled by g++ 12, rustc 1.63 and 1.95, and gdc 12; "" in_full: the same as short. */
static const struct row rows[] = {
	{ "malloc", "malloc", "" },
	{ "find_it.isra.0", "find_it", "find_it.isra.0" },
	{ "plain.omp_outlined_debug__", "plain.omp_outlined", "plain.omp_outlined_debug__" },
	{ "plain.omp_outlined_debug__.omp_outlined.2", "plain.omp_outlined",
	  "plain.omp_outlined_debug__.omp_outlined.2" },
	{ "find_it.part.0.cold", "find_it", "find_it.part.0.cold" },
	{ "odd.name", "odd.name", "" },
	{ "_start", "_start", "" },
	{ "", "", "" },
	{ "_", "_", "" },
	{ "_Z", "_Z", "" },
	{ "_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<...>::push_back",
	  "std::vector<int, std::allocator<int> >::push_back(int&&)" },
	{ "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm",
	  "std::string::_M_create",
	  "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
	  "::_M_create(unsigned long&, unsigned long)" },
	{ "_ZNSt7__cxx1112basic_stringIwSt11char_traitsIwESaIwEE6resizeEm", "std::wstring::resize",
	  "std::__cxx11::basic_string<wchar_t, std::char_traits<wchar_t>, "
	  "std::allocator<wchar_t> >::resize(unsigned long)" },
	{ "_ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE6resizeEmc",
	  "std::string::resize",
	  "std::__1::basic_string<char, std::__1::char_traits<char>, std::__1::allocator<char> >"
	  "::resize(unsigned long, char)" },
	{ "_ZNSo3putEc", "std::ostream::put", "std::ostream::put(char)" },
	{ "_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", "std::operator<< <...>",
	  "std::basic_ostream<char, std::char_traits<char> >& std::operator<< "
	  "<std::char_traits<char> >(std::basic_ostream<char, std::char_traits<char> >&, char "
	  "const*)" },
	{ "_ZNK1KltERKS_", "K::operator<", "K::operator<(K const&) const" },
	{ "_ZNK1KltIiEEbT_", "K::operator< <...>", "bool K::operator< <int>(int) const" },
	{ "_ZN1KlsEi", "K::operator<<", "K::operator<<(int)" },
	{ "_ZN1KptEv", "K::operator->", "K::operator->()" },
	{ "_ZN1KclEi", "K::operator()", "K::operator()(int)" },
	{ "_ZN1KixEi", "K::operator[]", "K::operator[](int)" },
	{ "_ZN1KgtERKS_", "K::operator>", "K::operator>(K const&)" },
	{ "_ZNK1KssERKS_", "K::operator<=>", "K::operator<=>(K const&) const" },
	{ "_ZN1KnwEm", "K::operator new", "K::operator new(unsigned long)" },
	{ "_Znam", "operator new[]", "operator new[](unsigned long)" },
	{ "_ZdlPvm", "operator delete", "operator delete(void*, unsigned long)" },
	{ "_ZNK1KcvSt6vectorIiSaIiEEEv", "K::operator std::vector<...>",
	  "K::operator std::vector<int, std::allocator<int> >() const" },
	{ "_ZNK1KcvPT_IiEEv", "K::operator int*<...>", "K::operator int*<int>() const" },
	{ "_ZNSt8functionIFiiEEclEi", "std::function<...>::operator()",
	  "std::function<int (int)>::operator()(int)" },
	{ "_ZN1IILi1EE3getIdEET_RKSt3mapIiS2_St4lessIiESaISt4pairIKiS2_EEE", "I<...>::get<...>",
	  "double I<1>::get<double>(std::map<int, double, std::less<int>, "
	  "std::allocator<std::pair<int const, double> > > const&)" },
	{ "_Z2fpIiEPFviET_", "fp<...>", "void (*fp<int>(int))(int)" },
	{ "_ZN12_GLOBAL__N_12AnIiE2goENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
	  "(anonymous namespace)::An<...>::go",
	  "(anonymous namespace)::An<int>::go(std::__cxx11::basic_string<char, "
	  "std::char_traits<char>, std::allocator<char> >)" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()",
	  "main::{lambda()#1}::operator()() const" },
	{ "_ZZ1gvENKUliE_clEi.isra.0", "g::{lambda(int)#1}::operator()",
	  "g()::{lambda(int)#1}::operator()(int) const [clone .isra.0]" },
	{ "_ZZN2ns3runEvEN5Local4stepEi", "ns::run::Local::step", "ns::run()::Local::step(int)" },
	{ "_ZNSt14_Function_base13_Base_managerIZ1gvEUliE_E10_M_managerERSt9_Any_dataRKS3_"
	  "St18_Manager_operation",
	  "std::_Function_base::_Base_manager<...>::_M_manager",
	  "std::_Function_base::_Base_manager<g()::{lambda(int)#1}>::_M_manager(std::_Any_data&, "
	  "std::_Any_data const&, std::_Manager_operation)" },
	{ "_Z4makeB5cxx11v", "make", "make[abi:cxx11]()" },
	{ "_ZThn16_N3dog5speakEv", "non-virtual thunk to dog::speak",
	  "non-virtual thunk to dog::speak()" },
	{ "_RNvC7mycrate3foo.llvm.12AB", "mycrate::foo", "mycrate::foo" },
	{ "_Z3foov.llvm.12AB", "foo", "foo()" },
	{ "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place", "" },
	{ "_ZN4core3ptr42drop_in_place$LT$alloc..string..String$GT$17h0123456789abcdefE",
	  "core::ptr::drop_in_place<...>", "core::ptr::drop_in_place<alloc::string::String>" },
	{ "_ZN70_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop"
	  "17h0123456789abcdefE",
	  "<alloc::vec::Vec<...> as core::ops::drop::Drop>::drop",
	  "<alloc::vec::Vec<T,A> as core::ops::drop::Drop>::drop" },
	{ "_ZN4core3ptr13drop_in_place17h0123456789abcdefE.llvm.1234567",
	  "core::ptr::drop_in_place", "" },
	{ "_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", "" },
	{ "_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<...>",
	  "std::mem::align_of::<usize, f64>" },
	{ "__GI__IO_doallocbuf", "_IO_doallocbuf", "__GI__IO_doallocbuf" },
	{ "__GI_", "__GI_", "" },
	{ "_RNvMNtC5alloc3vecINtB2_3VecmE13with_capacity", "alloc::vec::Vec<...>::with_capacity",
	  "<alloc::vec::Vec<u32>>::with_capacity" },
	{ "_RNvMC1rNtB2_4Mine3new", "r::Mine::new", "<r::Mine>::new" },
	{ "_RNvMC1rSm6concat", "<[u32]>::concat", "" },
	{ "_RNvXC1rNtB2_4MineNtNtC4core3fmt7Display3fmt", "<r::Mine as core::fmt::Display>::fmt",
	  "" },
	{ "_RNCNvC1r4main0B3_", "r::main::{closure#0}", "" },
	{ "_Dmain", "D main", "" },
	{ "__pyx_pf_4fast_2words", "fast.words", "" },
	{ "__pyx_pw_4fast_3words.isra.0", "fast.words", "fast.words.isra.0" },
	{ "__pyx_pf_4fast_4read_file", "fast.read_file", "" },
	{ "__pyx_pw_4fast_5read__file", "fast.read__file", "" },
	{ "__pyx_pf_4fast_4Grid___cinit__", "fast.Grid.__cinit__", "" },
	{ "__pyx_pf_4fast_4Grid_6rows", "fast.Grid.rows", "" },
	{ "__pyx_f_4fast_4grid_total", "fast.grid.total", "" },
	{ "__pyx_gb_4fast_6generator", "fast.generator", "" },
	{ "__pyx_pw_5numpy_6random_6mtrand_11RandomState_13rand",
	  "numpy.random.mtrand.RandomState.rand", "" },
	{ "__pyx_pf_4fast_", "__pyx_pf_4fast_", "" },
	{ "__pyx_pf_99fast_2words", "__pyx_pf_99fast_2words", "" },
	{ "__pyx_pymod_exec_fast", "__pyx_pymod_exec_fast", "" },
	{ "_D3mod1C4overMFAyaZi", "mod.C.over", "mod.C.over(immutable(char)[])" },
	{ "_DThn16_3mod1C4overMFAyaZi", "mod.C.over", "mod.C.over(immutable(char)[])" },
	{ "_DTi16_D3mod1C4overMFAyaZi", "mod.C.over", "mod.C.over(immutable(char)[])" },
	{ "_D3mod1C6__ctorMFiZCQsQq", "mod.C.this", "mod.C.this(int)" },
	{ "_D3mod__T5twiceTlVii4ZQnFNaNbNiNflZl", "mod.twice!(...).twice",
	  "mod.twice!(long, 4).twice(long)" },
	{ "__work_MOD_build", "work::build", "" },
	{ "__work_MOD___copy_work_Node", "work::__copy_work_Node", "" },
	{ "__work_MOD_build.constprop.0", "work::build", "work::build.constprop.0" },
	{ "__work_MOD_", "__work_MOD_", "" },
	{ "___MOD_x", "___MOD_x", "" },
	{ "_QMworkPbuild", "work::build", "" },
	{ "_QMworkFbuildPinner_1", "work::build::inner_1", "" },
	{ "_QPsolve", "solve", "" },
	{ "_QQmain", "main program", "" },
	{ "_QMwork", "work", "" },
	{ "_QMworkPBuild", "_QMworkPBuild", "" },
	{ "_Q", "_Q", "" },
	{ "MAIN__", "main program", "" },
	{ "MAIN__._omp_fn.0", "main program", "main program._omp_fn.0" },
	{ "F6c6f61642d7769746865722f_load_wither_0", "load-wither/", "" },
	{ "F6c6f_lo_x", "F6c6f_lo_x", "" },
	{ "F6c6f6_lo_0", "F6c6f6_lo_0", "" },
	{ "F6c0a_l_0", "F6c0a_l_0", "" },
	{ "Fc_0", "Fc_0", "" },
	{ "_D3mod__T4growZQgFNaNbNiNkMPvmZQe", "mod.grow!(...).grow",
	  "mod.grow!().grow(scope return void*, ulong)" },
	{ "main.(*Store).Add", "main.(*Store).Add", "" },
	{ "x.org/y.(*List[go.shape.int_0]).Push.func1",
	  "x.org/y.(*List[go.shape.int_0]).Push.func1", "" },
	{ "camlProg__insert_87", "Prog.insert", "Prog.insert_87" },
	{ "camlProg__my_list_87", "Prog.my_list", "Prog.my_list_87" },
	{ "camlProg__fun_112", "Prog.fun_112", "" },
	{ "camlStdlib__List__map_236", "Stdlib.List.map", "Stdlib.List.map_236" },
	{ "camlStdlib__List.map_236", "Stdlib.List.map", "Stdlib.List.map_236" },
	{ "camlDune__exe__Main__f$27_12", "Dune.exe.Main.f'", "Dune.exe.Main.f'_12" },
	{ "camlProg__$2b$2b_99", "Prog.++", "Prog.++_99" },
	{ "camlProg__entry", "Prog.entry", "" },
	{ "camlProg__a$0a_1", "Prog.a$0a", "Prog.a$0a_1" },
	{ "camlCaseToSnake", "camlCaseToSnake", "" },
	{ "caml_alloc", "caml_alloc", "" },
	{ "fmt.allocPrint__anon_3423", "fmt.allocPrint", "fmt.allocPrint__anon_3423" },
	{ "sort.pdq.pdq__anon_8481.Context.swap", "sort.pdq.pdq.Context.swap",
	  "sort.pdq.pdq__anon_8481.Context.swap" },
	{ "a.b__anon_", "a.b__anon_", "" },
	{ "b__anon_12", "b__anon_12", "" },
	{ "*build<Int32>:Node", "build", "build<Int32>:Node" },
	{ "*Node::new<String>:Node", "Node::new", "Node::new<String>:Node" },
	{ "*Hash(String, Int32)@Hash(K, V)#upsert<String, Int32>:Nil", "Hash(...)#upsert",
	  "Hash(String, Int32)#upsert<String, Int32>:Nil" },
	{ "*Array(Node)@Array(T)#<<<Node>:Array(Node)", "Array(...)#<<",
	  "Array(Node)#<<<Node>:Array(Node)" },
	{ "*Int32@Int#<<Int32>:Bool", "Int32#<", "Int32#<<Int32>:Bool" },
	{ "*Int32#<=><Int32>:Int32", "Int32#<=>", "Int32#<=><Int32>:Int32" },
	{ "*Hash(String, Int32)#[]=<String, Int32>:Int32",
	  "Hash(...)#[]=", "Hash(String, Int32)#[]=<String, Int32>:Int32" },
	{ "*Array(Array(Pair))@Array(T)::unsafe_build<Int32>:Array(Array(Pair))",
	  "Array(...)::unsafe_build",
	  "Array(Array(Pair))::unsafe_build<Int32>:Array(Array(Pair))" },
	{ "*NamedTuple(a: Int32)#[]?<Symbol>:(Int32 | Nil)", "NamedTuple(...)#[]?",
	  "NamedTuple(a: Int32)#[]?<Symbol>:(Int32 | Nil)" },
	{ "*/usr/lib/crystal/lib/raise.cr::Reader#read_uint8:UInt8", "Reader#read_uint8",
	  "Reader#read_uint8:UInt8" },
	{ "*Crystal::DWARF::Info#abbrevs:(Nil | Int32)", "Crystal::DWARF::Info#abbrevs",
	  "Crystal::DWARF::Info#abbrevs:(Nil | Int32)" },
	{ "*Thread::current", "Thread::current", "" },
	{ "*Signal::setup_segfault_handler:", "Signal::setup_segfault_handler",
	  "Signal::setup_segfault_handler:" },
	{ "*", "*", "" },
	{ "*A(", "*A(", "" },
	{ "*A(B#", "*A(B#", "" },
	{ "camlProg__12", "Prog__12", "" },
	{ "camlC_1", "camlC_1", "" },
	{ "_D3mod__T1STiZQf3getMxFNaNbNiNfZi", "mod.S!(...).S.get", "mod.S!(int).S.get() const" },
};

static __attribute__((noinline)) void demangle(const char *raw, enum sym_names names, char *to,
					       size_t room)
{
	struct text t = { 0 };

	name_form(raw, "", names, &t);
	if (room)
		snprintf(to, room, "%s", t.failed ? raw : text_string(&t));
	text_release(&t);
}

/* Names of GNAT, if the source file shows that they are. */
START_TEST(test_ada)
{
	static const char *const names[][2] = {
		{ "store__push", "store.push" },  { "store__push__inner.0", "store.push.inner" },
		{ "store__Oadd", "store.\"+\"" }, { "_ada_main", "main" },
		{ "Not_Ada", "Not_Ada" },	  { "store__keeperTB.347", "store.keeper" },
	};
	struct text t = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		name_form(names[i][0], "a/store.adb", SYM_SHORT, &t);
		ck_assert_str_eq(text_string(&t), names[i][1]);
		name_form(names[i][0], "a/store.adb", SYM_RAW, &t);
		ck_assert_str_eq(text_string(&t), names[i][0]);
	}
	name_form("store__push", "store.c", SYM_SHORT, &t);
	ck_assert_str_eq(text_string(&t), "store__push");
	/* The library of Ada without its source. */
	name_form("ada__strings__unbounded__append__2", "", SYM_SHORT, &t);
	ck_assert_str_eq(text_string(&t), "ada.strings.unbounded.append");
	text_release(&t);
}
END_TEST

/* Names of GHC, if the source file or a module with a dot shows that they are. */
START_TEST(test_haskell)
{
	static const char *const names[][2] = {
		{ "Main_zdwviaC_info", "Main.$wviaC" },
		{ "Main_main2_info", "Main.main2" },
		{ "Main_fzq_info", "Main.f'" },
		{ "ghczmprim_GHCziTypes_ZMZN_con_info", "GHC.Types.[]" },
		{ "main_info", "main_info" },
		{ "Main_info", "Main_info" },
		{ "Main__info", "Main__info" },
		{ "sgo8_info", "sgo8_info" },
		{ "_info", "_info" },
		{ "c_make", "c_make" },
	};
	struct text t = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		name_form(names[i][0], "src/Main.hs", SYM_SHORT, &t);
		ck_assert_str_eq(text_string(&t), names[i][1]);
		name_form(names[i][0], "src/Main.hs", SYM_RAW, &t);
		ck_assert_str_eq(text_string(&t), names[i][0]);
	}
	name_form("SSL_session_info", "ssl.c", SYM_SHORT, &t);
	ck_assert_str_eq(text_string(&t), "SSL_session_info");
	name_form("view_Resizing_get_info", "", SYM_SHORT, &t);
	ck_assert_str_eq(text_string(&t), "view_Resizing_get_info");
	name_form("base_GHCziEventziEPoll_new10_info", "", SYM_SHORT, &t);
	ck_assert_str_eq(text_string(&t), "GHC.Event.EPoll.new10");
	text_release(&t);
}
END_TEST

/* Methods, if the source file or the class shows that they are. */
START_TEST(test_objective_c)
{
	static const char *const names[][2] = {
		{ "_i_Store__add_withName_", "-[Store add:withName:]" },
		{ "_i_Store__reset", "-[Store reset]" },
		{ "_i_Store__reset_it", "-[Store reset_it]" },
		{ "_i_Store___private_", "-[Store _private:]" },
		{ "_i_Store_Extra_extra_", "-[Store(Extra) extra:]" },
		{ "_c_Store__shared", "+[Store shared]" },
		{ "_i__NSStore__add_", "-[_NSStore add:]" },
		{ "_i_store__add_", "-[store add:]" },
		{ "_i_Store__add_.constprop.0", "-[Store add:]" },
		{ "-[Store(Extra) add:withName:]", "-[Store(Extra) add:withName:]" },
		{ "_i_Store", "_i_Store" },
		{ "_i_Store_", "_i_Store_" },
		{ "_i_Store__", "_i_Store__" },
		{ "_i___a", "_i___a" },
		{ "_i_", "_i_" },
	};
	struct text t = { 0 };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		name_form(names[i][0], "src/store.m", SYM_SHORT, &t);
		ck_assert_str_eq(text_string(&t), names[i][1]);
		name_form(names[i][0], "src/store.m", SYM_RAW, &t);
		ck_assert_str_eq(text_string(&t), names[i][0]);
	}
	name_form("_i_Store__add_.constprop.0", "", SYM_FULL, &t);
	ck_assert_str_eq(text_string(&t), "-[Store add:].constprop.0");
	name_form("_i_store__add_", "store.c", SYM_SHORT, &t);
	ck_assert_str_eq(text_string(&t), "_i_store__add_");
	text_release(&t);
}
END_TEST

START_TEST(test_table)
{
	const struct row *r = &rows[_i];
	char got[1024];

	demangle(r->raw, SYM_SHORT, got, sizeof(got));
	ck_assert_str_eq(got, r->in_short);
	demangle(r->raw, SYM_FULL, got, sizeof(got));
	ck_assert_str_eq(got, *r->in_full ? r->in_full : r->in_short);
	demangle(r->raw, SYM_RAW, got, sizeof(got));
	ck_assert_str_eq(got, r->raw);
}
END_TEST

START_TEST(test_cut)
{
	char got[8] = "-------";

	demangle("_ZN3abc3defEv", SYM_SHORT, got, 6);
	ck_assert_str_eq(got, "abc::");
	demangle("_ZN3abc3defEv", SYM_SHORT, got, 0);
	ck_assert_str_eq(got, "abc::");
}
END_TEST

/* ---- what is made to hurt ---- */

static char *repeat(const char *head, const char *part, size_t times, const char *tail)
{
	size_t n = strlen(part), at = strlen(head);
	char *s = malloc(at + n * times + strlen(tail) + 1);

	ck_assert_ptr_nonnull(s);
	memcpy(s, head, at);
	for (; times--; at += n)
		memcpy(s + at, part, n);
	strcpy(s + at, tail);
	return s;
}

static char *in_form(const char *raw, enum sym_names names)
{
	size_t room = (size_t)2 << 20;
	char *got = malloc(room);

	ck_assert_ptr_nonnull(got);
	demangle(raw, names, got, room);
	return got;
}

/* A meaningful name of 30 kB is shown, although it is ten times the limit of recursion. */
START_TEST(test_huge)
{
	char *raw = repeat("_ZN2ns5tupleIJ",
			   "76a_class_with_a_rather_long_name_that_goes_on_and_"
			   "on_until_it_is_long_enough_",
			   400, "EE3getILi3EEEvv");
	char *got = in_form(raw, SYM_SHORT);

	ck_assert_uint_gt(strlen(raw), 29000);
	ck_assert_str_eq(got, "ns::tuple<...>::get<...>");
	free(got);
	got = in_form(raw, SYM_FULL);
	ck_assert_uint_gt(strlen(got), 29000);
	ck_assert_int_eq(strncmp(got, "void ns::tuple<a_class_with", 26), 0);
	ck_assert_str_eq(got + strlen(got) - 11, ">::get<3>()");
	free(got);
	free(raw);
}
END_TEST

#define DEEP 16

/* Recursion in every form: it must come back, with a name. */
START_TEST(test_deep)
{
	static const struct {
		const char *head, *part, *tail;
	} deep[DEEP] = {
		{ "_Z1f", "P", "i" },	  { "_Z1fN1aE", "1SI", "" }, { "_ZN", "3abc", "E" },
		{ "_ZN", "3abcIi", "" },  { "_Z", "_Z", "" },	     { "_RNv", "N", "C1a" },
		{ "_R", "Nv", "" },	  { "_D1f", "P", "" },	     { "_D3mod", "3abc", "Fz" },
		{ "_D1aFAA", "A", "" },	  { "_Z1fIXadL", "Z", "" },  { "a<", "<", "" },
		{ "a::", "[abi:", "" },	  { "a::b", "<(", "" },	     { "x::", "(", "" },
		{ "_ZN1aI", "1bI", "E" },
	};
	/* what no demangler sees is longer: work that grows with the square would not end */
	size_t letters = deep[_i].head[0] == '_' ? 40000 : 1000000;
	char *raw =
	    repeat(deep[_i].head, deep[_i].part, letters / strlen(deep[_i].part), deep[_i].tail);

	for (int form = SYM_SHORT; form <= SYM_RAW; form++) {
		char *got = in_form(raw, form);

		ck_assert_uint_gt(strlen(got), 0);
		free(got);
	}
	free(raw);
}
END_TEST

static char *number(char *at, const char *digits, size_t base, size_t n)
{
	char text[16];
	size_t i = sizeof(text);

	if (n--) {
		do
			text[--i] = digits[n % base];
		while (n /= base);
	}
	memcpy(at, text + i, sizeof(text) - i);
	return at + sizeof(text) - i;
}

/* f(S<int, int>, S<that, that>, S<that, that> ...): twice as long with each. */
static void double_cxx(char *to)
{
	size_t i;

	to = stpcpy(to, "_Z1f1SIiiE");
	for (i = 1; i <= 40; i++) {
		char *at = to;
		size_t n;

		at = stpcpy(at, "S_IS");
		n = (size_t)(number(at, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 36, i) - at);
		at[n] = '_';
		at[n + 1] = 'S';
		memcpy(at + n + 2, at, n + 1);
		to = stpcpy(at + 2 * n + 3, "E");
	}
}

/* The same with tuples of Rust. */
static void double_rust(char *begin)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char *to = stpcpy(begin, "_RINvC1a1b"), *last = to, *at;
	int i, twice;

	to = stpcpy(to, "TllE");
	for (i = 0; i < 40; i++) {
		at = to;
		*to++ = 'T';
		for (twice = 0; twice < 2; twice++) {
			*to++ = 'B';
			to = number(to, digits, 62, (size_t)(last - begin - 2));
			*to++ = '_';
		}
		*to++ = 'E';
		last = at;
	}
	strcpy(to, "E");
}

/* The same with D's pointers to functions; a back reference counts from itself. */
static void double_d(char *to)
{
	char *last, *at;
	int i, twice;

	to = stpcpy(to, "_D1a1bF");
	last = to;
	to = stpcpy(to, "PFiiZv");
	for (i = 0; i < 60; i++) {
		at = to;
		to = stpcpy(to, "PF");
		for (twice = 0; twice < 2; twice++) {
			size_t back = (size_t)(to - last);

			*to++ = 'Q';
			*to++ = (char)('a' + back);
		}
		to = stpcpy(to, "Zv");
		last = at;
	}
	strcpy(to, "Zv");
}

START_TEST(test_bombs)
{
	void (*const make[])(char *) = { double_cxx, double_rust, double_d };
	char raw[4096], *got;

	make[_i](raw);
	got = in_form(raw, SYM_FULL);
	ck_assert_str_eq(got, raw);
	free(got);
	got = in_form(raw, SYM_SHORT);
	ck_assert_uint_le(strlen(got), strlen(raw));
	free(got);
}
END_TEST

/* ---- rules ---- */

static const char *rewritten(const char *const *rules, const char *name)
{
	static struct text t;
	struct rewrite *r;
	struct error err = { "" };

	ck_assert_msg(!rewrite_make(&r, rules, NULL, &err), "%s", err.text);
	text_clear(&t);
	text_add_string(&t, name);
	rewrite_name(r, &t);
	rewrite_release(r);
	return text_string(&t);
}

static const struct {
	const char *rules[4], *name, *expected;
} rules[] = {
	{ { NULL }, "abc", "abc" },
	{ { "s/b/X/" }, "abcb", "aXcb" },
	{ { "s/b/X/g" }, "abcb", "aXcX" },
	{ { "s/B/X/gi" }, "abcb", "aXcX" },
	{ { "s/B/X/" }, "abcb", "abcb" },
	{ { "s/(a)(b)/\\2\\1/" }, "abc", "bac" },
	{ { "s/b+/[&]/" }, "abbc", "a[bb]c" },
	{ { "s/b/\\&/" }, "abc", "a&c" },
	{ { "s|std::||g" }, "std::map<std::x>", "map<x>" },
	{ { "s,a/b,c," }, "a/b", "c" },
	{ { "s/a\\/b/c/" }, "a/b", "c" },
	{ { "s/^x*/-/g" }, "xxabc", "-abc" },
	{ { "s/x*/-/g" }, "abc", "-a-b-c" },
	{ { "s/a/b/", "s/b/c/" }, "a", "c" },
	{ { "s/^a/b/g" }, "aaa", "baa" },
	{ { "s/.*TFormula.*/TFormula/" }, "ROOT::TFormula::Eval", "TFormula" },
	{ { "s/x(y)?z/[\\1]/" }, "xz", "[]" },
	{ { "s/.*//" }, "abc", "" },
	{ { "s/$/!/" }, "abc", "abc!" },
};

START_TEST(test_rules)
{
	ck_assert_str_eq(rewritten(rules[_i].rules, rules[_i].name), rules[_i].expected);
}
END_TEST

static const struct {
	const char *rule, *says;
} bad_rules[] = {
	{ "", "expected s/REGEX/TEXT/" },
	{ "s", "expected s/REGEX/TEXT/" },
	{ "s/", "expected s/REGEX/TEXT/" },
	{ "s/a", "expected s/REGEX/TEXT/" },
	{ "s/a/b", "expected s/REGEX/TEXT/" },
	{ "y/a/b/", "expected s/REGEX/TEXT/" },
	{ "s/a/b/x", "expected s/REGEX/TEXT/" },
	{ "s/a/b/ g", "expected s/REGEX/TEXT/" },
	{ "s\\a\\b\\", "expected s/REGEX/TEXT/" },
	{ "s/(/b/", "expected a valid regular expression" },
	{ "s/a{/b/", "expected a valid regular expression" },
	{ "s/[/b/", "expected a valid regular expression" },
	{ "s/*a\\/b/", "expected s/REGEX/TEXT/" },
	{ "s/(a)/\\2/", "at least 2 groups in REGEX for \\2, not 1" },
};

START_TEST(test_bad_rules)
{
	const char *const list[] = { "s/fine/too/", bad_rules[_i].rule, NULL };
	struct rewrite *r = NULL;
	struct error err = { "" };
	struct sym_options o = { .rewrite = list, .no_cache = true };
	struct stacks none = { 0 };
	struct sym *s;

	ck_assert_int_eq(rewrite_make(&r, list, NULL, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, bad_rules[_i].says) != NULL, "%s", err.text);
	ck_assert_msg(strstr(err.text, bad_rules[_i].rule) != NULL, "%s", err.text);
	ck_assert_int_eq(sym_open(&s, &none, &o, &err), -EINVAL);
}
END_TEST

START_TEST(test_stops)
{
	const char *const stops[] = { "^cling::", "llvm::.*Pass", NULL }, *const bad[] = { "a(" };
	struct error err = { "" };
	struct rewrite *r;

	ck_assert_int_eq(rewrite_make(&r, NULL, stops, &err), 0);
	ck_assert(rewrite_stops(r, "cling::Interpreter::process"));
	ck_assert(!rewrite_stops(r, "not cling::"));
	ck_assert(rewrite_stops(r, "x llvm::GVNPass::run"));
	ck_assert(!rewrite_stops(r, ""));
	rewrite_release(r);
	ck_assert_int_eq(rewrite_make(&r, NULL, (const char *const[]){ bad[0], NULL }, &err),
			 -EINVAL);
	ck_assert_msg(strstr(err.text, "'a('") != NULL, "%s", err.text);
}
END_TEST

/* A name that is too long for the matcher stays as it is. */
START_TEST(test_rules_on_long_names)
{
	char *name = repeat("a", "b", 100000, "");
	const char *const list[] = { "s/(b*)*\\1$/x/", NULL };

	ck_assert_uint_eq(strlen(rewritten(list, name)), strlen(name));
	free(name);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *sym_names_suite(void)
{
	Suite *s = suite_create("sym_names");
	TCase *names = tcase_create("names"), *hostile = tcase_create("hostile");
	TCase *own = tcase_create("rules");

	tcase_add_test(names, test_ada);
	tcase_add_test(names, test_haskell);
	tcase_add_test(names, test_objective_c);
	tcase_add_loop_test(names, test_table, 0, COUNT(rows));
	tcase_add_test(names, test_cut);
	suite_add_tcase(s, names);
	tcase_add_test(hostile, test_huge);
	tcase_add_loop_test(hostile, test_deep, 0, DEEP);
#ifdef __SANITIZE_ADDRESS__
	/* memory of libiberty's demangler of D is leaked, and would be reported */
	tcase_add_loop_test(hostile, test_bombs, 0, 2);
#else
	tcase_add_loop_test(hostile, test_bombs, 0, 3);
#endif
	suite_add_tcase(s, hostile);
	tcase_add_loop_test(own, test_rules, 0, COUNT(rules));
	tcase_add_loop_test(own, test_bad_rules, 0, COUNT(bad_rules));
	tcase_add_test(own, test_stops);
	tcase_add_test(own, test_rules_on_long_names);
	suite_add_tcase(s, own);
	return s;
}
