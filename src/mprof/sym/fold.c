/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fold.c - short names.
 *
 * Two passes: `tidy` removes what the compiler added (inline namespaces, ABI tags), `fold` removes
 * arguments.  Parentheses and braces are matched first: libiberty writes a comparison with `>`
 * inside parentheses.
 */
#include "names_forms.h"

#include <ctype.h>
#include <string.h>

#define ABI_TAG 256 /* longer ones are not tags */

struct fold {
	const char *at; /* the rest of the name */
	struct text *to;
	enum fold_language language;
	char before;	   /* last character read; 0 at the beginning */
	bool conversion;   /* after `operator`, in a type */
	bool open;	   /* a bracket is not closed: no more folding */
	const char *close; /* this > is omitted */
};

/* Operators with a bracket in them, longer ones first. */
static const char *const operators[] = { "<=>", "<<=", ">>=", "->*", "()", "[]", "<<",
					 ">>",	"<=",  ">=",  "->",  "<",  ">" };

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (c & 0x80);
}

static void copy(struct fold *f, size_t n)
{
	if (!n)
		return;
	text_add(f->to, f->at, n);
	f->before = f->at[n - 1];
	f->at += n;
}

/* Counts the bytes of an `operator` and its sign at `at`, if the sign contains brackets; else 0. */
static size_t operator_bytes(const char *at, char before)
{
	static const char word[] = "operator";
	size_t i, n = sizeof(word) - 1;

	if (in_word(before) || strncmp(at, word, n))
		return 0;
	for (i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
		if (begins(at + n, operators[i]))
			return n + strlen(operators[i]);
	return 0;
}

/* Counts the bytes up to the bracket that closes the one at `at`, inclusive; 0 without one. */
static size_t round_bytes(const char *at)
{
	const char *p = at, *signs = *at == '{' ? "{}" : "()";
	size_t depth = 0;

	for (; *p; p++) {
		if (*p == signs[0])
			depth++;
		else if (*p == signs[1] && !--depth)
			return (size_t)(p - at) + 1;
	}
	return 0;
}

/* Does the same for the < at `at`. */
static size_t angle_bytes(const char *at)
{
	const char *p = at;
	size_t depth = 0, n;
	char before = 0;

	while (*p) {
		n = operator_bytes(p, before);
		if (!n && (*p == '(' || *p == '{')) {
			n = round_bytes(p);
			if (!n)
				return 0;
		} else if (!n && begins(p, "->")) {
			n = 2;
		} else if (!n) {
			n = 1;
			if (*p == '<')
				depth++;
			else if (*p == '>' && !--depth)
				return (size_t)(p - at) + 1;
		}
		p += n;
		before = p[-1];
	}
	return 0;
}

/* ---- what the compiler added ---- */

static size_t added_bytes(const char *at, char before)
{
	static const char *const inner[] = { "__cxx11::", "__1::", "__2::", "__ndk1::", "__8::" };
	const char *end;
	size_t i;

	if (*at == '[' && begins(at, "[abi:")) {
		end = memchr(at, ']', strnlen(at, ABI_TAG));
		return end ? (size_t)(end - at) + 1 : 0;
	}
	for (i = 0; before == ':' && *at == '_' && i < sizeof(inner) / sizeof(inner[0]); i++)
		if (begins(at, inner[i]))
			return strlen(inner[i]);
	return 0;
}

static void tidy(const char *name, struct text *to)
{
	const char *from = name;
	char before = 0;
	size_t n;

	for (; *name; before = *name++) {
		while ((n = added_bytes(name, before))) {
			text_add(to, from, (size_t)(name - from));
			name += n;
			from = name;
		}
		if (!*name)
			break;
	}
	text_add(to, from, (size_t)(name - from));
}

/* ---- well-known instances ---- */

static size_t skip(const char **at, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*at, text, n))
		return 0;
	*at += n;
	return n;
}

/* Matches std::basic_NAME<char followed only by the defaults: returns bytes and the character
 * type. */
static size_t instance_bytes(const char *begin, const char *name, const char **prefix)
{
	static const char *const types[][2] = {
		{ "char", "" },	       { "wchar_t", "w" },    { "char8_t", "u8" },
		{ "char16_t", "u16" }, { "char32_t", "u32" },
	};
	const char *at = begin, *type;
	size_t i;

	if (!skip(&at, name) || !skip(&at, "<"))
		return 0;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const char *p = at;

		type = types[i][0];
		if (!skip(&p, type) || !skip(&p, ", std::char_traits<") || !skip(&p, type) ||
		    !skip(&p, ">"))
			continue;
		if (skip(&p, ", std::allocator<") && (!skip(&p, type) || !skip(&p, ">")))
			return 0;
		skip(&p, " ");
		*prefix = types[i][1];
		return skip(&p, ">") ? (size_t)(p - begin) : 0;
	}
	return 0;
}

static bool fold_known(struct fold *f)
{
	static const char *const names[] = { "string",	      "string_view",   "ostream",
					     "istream",	      "iostream",      "ios",
					     "streambuf",     "stringbuf",     "stringstream",
					     "ostringstream", "istringstream", "filebuf",
					     "fstream",	      "ofstream",      "ifstream" };
	char generic[48] = "std::basic_";
	size_t i, n, base = strlen(generic);
	const char *prefix;

	if (*f->at != 's' || !begins(f->at, generic))
		return false;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		strcpy(generic + base, names[i]);
		n = instance_bytes(f->at, generic, &prefix);
		if (!n)
			continue;
		text_add_string(f->to, "std::");
		text_add_string(f->to, prefix);
		text_add_string(f->to, names[i]);
		f->at += n;
		f->before = 'g';
		return true;
	}
	return false;
}

/* ---- arguments ---- */

static bool fold_operator(struct fold *f)
{
	size_t n;

	if (*f->at != 'o')
		return false;
	n = operator_bytes(f->at, f->before);
	if (!n) {
		if (in_word(f->before) || strncmp(f->at, "operator ", 9))
			return false;
		/* no type follows new, delete and co_await */
		f->conversion = !begins(f->at + 9, "new") && !begins(f->at + 9, "delete");
		copy(f, 9);
		return true;
	}
	copy(f, n);
	return true;
}

/* In Rust, <T as Trait> begins a path: it is more specific than the rest. */
static bool is_qualified(const struct fold *f)
{
	return f->language == FOLD_RUST && !in_word(f->before) && f->before != ':' &&
	       f->before != '>';
}

/* <a::Type<T>>::method of Rust, without a trait: drops the outer brackets. */
static void fold_inherent(struct fold *f)
{
	size_t n, path;

	if (*f->at != '<' || f->before || f->language != FOLD_RUST)
		return;
	for (path = 1; in_word(f->at[path]) || f->at[path] == ':'; path++)
		;
	n = angle_bytes(f->at);
	if (path == 1 || path + 1 > n)
		return;
	if (f->at[path] == '<' && path + angle_bytes(f->at + path) + 1 != n)
		return;
	if (f->at[path] != '<' && path + 1 != n)
		return;
	f->close = f->at + n - 1;
	f->at++;
}

static bool fold_angle(struct fold *f)
{
	size_t n;

	if (*f->at != '<' || f->open || is_qualified(f))
		return false;
	n = angle_bytes(f->at);
	f->open = !n;
	if (!n)
		return false;
	text_add_string(f->to, "<...>");
	f->at += n;
	f->before = '>';
	return true;
}

static void skip_qualifiers(struct fold *f)
{
	static const char *const words[] = { " const",	   " volatile", " noexcept",
					     " immutable", " shared",	" inout",
					     " &&",	   " &",	" transaction_safe" };
	size_t i = 0;

	while (i < sizeof(words) / sizeof(words[0]))
		i = skip(&f->at, words[i]) ? 0 : i + 1;
}

/* Folds parameters, of this function or of an enclosing one. */
static bool fold_round(struct fold *f, bool in_braces)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t n;

	if (*f->at != '(' || f->language == FOLD_RUST || f->language == FOLD_C)
		return false;
	if (begins(f->at, anonymous)) {
		copy(f, sizeof(anonymous) - 1);
		return true;
	}
	if (in_braces || f->conversion || f->open || !f->before)
		return false;
	n = round_bytes(f->at);
	f->open = !n;
	if (!n)
		return false;
	if (f->language == FOLD_D && f->before == '!')
		text_add_string(f->to, "(...)");
	f->at += n;
	f->before = ')';
	skip_qualifiers(f);
	return true;
}

/* Counts the bytes from here on within which nothing is folded: the rest of a word, up to where a
 * well-known instance may begin. */
static size_t plain_bytes(const struct fold *f)
{
	size_t n = 1;

	while (in_word(*f->at) && in_word(f->at[n]) && f->at[n] != 's')
		n++;
	return n;
}

static void fold(struct fold *f)
{
	size_t braces = 0;

	fold_inherent(f);
	while (*f->at && !(*f->at == ' ' && begins(f->at, " [clone "))) {
		if (f->at == f->close) {
			f->at++;
			continue;
		}
		if (f->language == FOLD_CXX && (fold_operator(f) || fold_known(f)))
			continue;
		if ((f->language != FOLD_D && fold_angle(f)) || fold_round(f, braces > 0))
			continue;
		if (*f->at == '{')
			braces++;
		else if (*f->at == '}' && braces)
			braces--;
		copy(f, plain_bytes(f));
	}
}

/* Counts the bytes of the name without suffixes: foo.isra.0, foo.part.1.cold and foo@@VERSION
 * are all foo.  Clang calls the body of a parallel region foo.omp_outlined, the function with -g
 * that this calls foo.omp_outlined_debug__, and those of a second region foo.omp_outlined.1. */
static size_t without_clones(const char *name)
{
	static const char *const clones[] = { ".isra.",	     ".part.",	   ".constprop.",
					      ".cold",	     ".lto_priv.", ".llvm.",
					      ".localalias", ".__uniq.",   ".ipa_ra.",
					      ".simdclone.", "@" };
	static const char body[] = ".omp_outlined";
	size_t i, n = strcspn(name + (*name != '\0'), ".@") + (*name != '\0');

	if (begins(name + n, body))
		return n + sizeof(body) - 1;
	for (i = 0; name[n] && i < sizeof(clones) / sizeof(clones[0]); i++)
		if (begins(name + n, clones[i]))
			return n;
	return strlen(name);
}

void fold_name(const char *name, enum fold_language language, struct text *to)
{
	struct text neat = { 0 };
	struct fold f = { .to = to, .language = language };
	size_t begin = to->n;

	if (language == FOLD_C) {
		/* glibc's names for its own calls */
		if (begins(name, "__GI_") && name[5])
			name += 5;
		text_add(to, name, without_clones(name));
		return;
	}
	tidy(name, &neat);
	f.at = text_string(&neat);
	fold(&f);
	while (to->n > begin + 1 && to->at[to->n - 1] == ' ')
		to->at[--to->n] = '\0';
	if (neat.failed)
		to->failed = true;
	text_release(&neat);
}
