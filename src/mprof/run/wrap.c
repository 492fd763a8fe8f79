/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * wrap.c - writes the shared object of WRAP, see wrapped.h.
 *
 * Two segments: headers, symbols and code; dynamic section, addresses of the entries, records.
 * Offsets in the file are addresses.  System V's hash table, because that of GNU needs symbols in
 * an order (System V ABI, chapter 5: dynamic linking).
 */
#include "wrap.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <mprof/wrapped.h>

#include "../util/alloc.h"
#include "../util/cache_directory.h"
#include "../util/whole.h"

#define FUNCTIONS_MOST 512u
#define CACHE_MOST     (16u << 20)

enum class { ALLOC, OUT, REALLOC, FREE, CLASSES };

static const char *const entries[CLASSES] = {
#define X(class, name) [class] = name,
	MPROF_WRAPPED_ENTRIES(X)
#undef X
};

/* The types: rows of functions.def. */
static const struct type {
	const char *name;
	uint32_t fn;
	enum class class;
} types[] = {
#define CLASS_PLAIN					  ALLOC
#define CLASS_COUNT					  ALLOC
#define CLASS_ALIGN					  ALLOC
#define CLASS_PAGE					  ALLOC
#define CLASS_PAGES					  ALLOC
#define CLASS_OUT					  OUT
#define CLASS_RESIZE					  REALLOC
#define CLASS_RESIZE_COUNT				  REALLOC
#define CLASS_FREE					  FREE
#define CLASS_FREE_SIZE					  FREE
#define CLASS_FREE_ALIGN				  FREE
#define CLASS_USABLE					  CLASSES
#define MPROF_MALLOC(id, code, name, class, shape, found) { #name, code, CLASS_##shape },
#include <mprof/functions.def>
};
#define TYPES (sizeof(types) / sizeof(types[0]))

/* ---- the words ---- */

struct function {
	char *name;
	const struct type *type;
};
struct functions {
	struct function at[FUNCTIONS_MOST];
	size_t n;
};

static void release(struct functions *f)
{
	while (f->n)
		free(f->at[--f->n].name);
}

static size_t identifier(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]) || (s[n] && strchr("_$.", s[n])))
		n++;
	return isdigit((unsigned char)s[0]) ? 0 : n;
}

static const struct type *find_type(const char *word, size_t n)
{
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].class != CLASSES && strlen(types[i].name) == n &&
		    !memcmp(types[i].name, word, n))
			return &types[i];
	return NULL;
}

/* Adds a function; takes ownership of its name. */
static int add(struct functions *f, char *name, const struct type *type, struct error *err)
{
	int ret = 0;

	if (find_type(name, strlen(name)))
		ret = fail(err, -EINVAL, "'%s' is always recorded; name a function of the program",
			   name);
	for (size_t i = 0; i < f->n && !ret; i++)
		if (!strcmp(f->at[i].name, name))
			ret = fail(err, -EINVAL, "'%s' is named twice", name);
	if (!ret && f->n == FUNCTIONS_MOST)
		ret = fail(err, -EINVAL, "more than %u functions", FUNCTIONS_MOST);
	if (ret)
		free(name);
	else
		f->at[f->n++] = (struct function){ name, type };
	return ret;
}

static int take_prefix(struct functions *f, const char *word, size_t n, struct error *err)
{
	int ret = 0;

	if (!n || identifier(word) != n)
		return fail(err, -EINVAL,
			    "'%.*s': expected the beginning of a function's name, "
			    "such as je_",
			    (int)n, word);
	for (size_t i = 0; i < TYPES && !ret; i++)
		if (types[i].class != CLASSES)
			ret = add(f, must_printf("%.*s%s", (int)n, word, types[i].name), &types[i],
				  err);
	return ret;
}

/* Returns the TYPE of TYPE:FUNCTION; NULL with an error if there is none. */
static const struct type *take_type(const char *word, size_t n, struct error *err)
{
	const char *colon = memchr(word, ':', n), *comma = "";
	const struct type *type = colon ? find_type(word, (size_t)(colon - word)) : NULL;
	char *list = NULL;
	size_t size;
	FILE *out;

	if (type)
		return type;
	out = must_memstream(&list, &size);
	for (size_t i = 0; i < TYPES; i++)
		if (types[i].class != CLASSES) {
			fprintf(out, "%s%s", comma, types[i].name);
			comma = ", ";
		}
	must_close(out, &list);
	fail(err, -EINVAL,
	     "'%.*s': expected TYPE:FUNCTION, such as malloc:my_malloc, with TYPE one of %s",
	     (int)n, word, list);
	free(list);
	return NULL;
}

static int take_word(struct functions *f, const char *word, size_t n, struct error *err)
{
	const char *name = memchr(word, ':', n);
	const struct type *type;
	size_t length;

	if (n && word[n - 1] == '*' && !name)
		return take_prefix(f, word, n - 1, err);
	type = take_type(word, n, err);
	if (!type)
		return -EINVAL;
	length = n - (size_t)(++name - word);
	if (!length || identifier(name) != length)
		return fail(err, -EINVAL, "'%.*s': expected the name of a function after the colon",
			    (int)n, word);
	return add(f, must_printf("%.*s", (int)length, name), type, err);
}

static int parse(struct functions *f, const char *value, struct error *err)
{
	int ret = 0;

	f->n = 0;
	for (const char *s = value; *s && !ret;) {
		const size_t n = strcspn(s, ",");

		ret = take_word(f, s, n, err);
		s += n + (s[n] == ',');
	}
	if (ret)
		release(f);
	return ret;
}

int wrap_check(const char *value, struct error *err)
{
	struct functions f;
	int ret = parse(&f, value, err);

	if (!ret)
		release(&f);
	return ret;
}

static bool is_line(const char *lines, const char *name)
{
	const size_t n = strlen(name);

	for (; lines && *lines; lines += strcspn(lines, "\n"), lines += *lines == '\n')
		if (strcspn(lines, "\n") == n && !memcmp(lines, name, n))
			return true;
	return false;
}

unsigned wrap_print_uncalled(FILE *out, const char *value, const char *called)
{
	struct functions f;
	unsigned uncalled = 0;
	size_t at = 0, n;
	struct error err;

	if (parse(&f, value, &err))
		return 0;
	for (const char *s = value; *s; s += n + (s[n] == ',')) {
		n = strcspn(s, ",");
		const bool prefix = s[n - 1] == '*';
		bool was = false;

		/* parse() has added them in the same order. */
		for (size_t k = 0; k < TYPES; k++)
			if (types[k].class != CLASSES && (prefix || !k))
				was |= is_line(called, f.at[at++].name);
		if (!was)
			fprintf(out, "%s%.*s", uncalled++ ? ", " : "", (int)n, s);
	}
	release(&f);
	return uncalled;
}

/* ---- the object ---- */

#define SEGMENT	 0x10000u	/* the largest page */
#define CODE	 16u		/* bytes for each function */
#define FIRST	 (1u + CLASSES) /* symbol of the first function */
#define RX_PARTS 4
#if defined(__x86_64__)
#define MACHINE	 EM_X86_64
#define GLOB_DAT R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define MACHINE	 EM_AARCH64
#define GLOB_DAT R_AARCH64_GLOB_DAT
#endif

enum { DYNAMIC = 11 };

/* Offsets of the parts. */
struct layout {
	size_t buckets, hash, symbols, strings, string_bytes, relocations, code;
	size_t dynamic, addresses, records, end;
};

static struct layout lay_out(const struct functions *f)
{
	struct layout l = { .buckets = 4 * f->n + 1 };
	const size_t symbols = FIRST + f->n;

	l.string_bytes = 1;
	for (size_t i = 0; i < CLASSES; i++)
		l.string_bytes += strlen(entries[i]) + 1;
	for (size_t i = 0; i < f->n; i++)
		l.string_bytes += strlen(f->at[i].name) + 1;
	l.symbols = sizeof(Elf64_Ehdr) + RX_PARTS * sizeof(Elf64_Phdr);
	l.relocations = l.symbols + symbols * sizeof(Elf64_Sym);
	l.code = (l.relocations + CLASSES * sizeof(Elf64_Rela) + CODE - 1) & -(size_t)CODE;
	l.hash = l.code + f->n * CODE;
	l.strings = l.hash + (2 + l.buckets + symbols) * sizeof(uint32_t);
	l.dynamic = (l.strings + l.string_bytes + SEGMENT - 1) & -(size_t)SEGMENT;
	l.addresses = l.dynamic + DYNAMIC * sizeof(Elf64_Dyn);
	l.records = l.addresses + CLASSES * sizeof(uint64_t);
	l.end = l.records + f->n * sizeof(struct mprof_wrapped);
	return l;
}

/* Loads the address of the record into the register of the fourth argument, and jumps. */
static void put_code(uint8_t *image, size_t at, size_t record, size_t address)
{
#if defined(__x86_64__)
	const int32_t to_record = (int32_t)(record - (at + 7));
	const int32_t to_address = (int32_t)(address - (at + 13));
	uint8_t code[CODE] = { 0x48, 0x8d, 0x0d, 0, 0, 0, 0, /* lea record(%rip), %rcx */
			       0xff, 0x25, 0,	 0, 0, 0,    /* jmp *address(%rip) */
			       0xcc, 0xcc, 0xcc };

	memcpy(code + 3, &to_record, sizeof(to_record));
	memcpy(code + 9, &to_address, sizeof(to_address));
#elif defined(__aarch64__)
	const uint32_t to_record = (uint32_t)(record - at),
		       to_address = (uint32_t)(address - at - 4);
	const uint32_t code[CODE / 4] = {
		0x10000003u | (to_record & 3) << 29 | (to_record >> 2 & 0x7ffff) << 5, /* adr x3 */
		0x58000010u | (to_address >> 2 & 0x7ffff) << 5, /* ldr x16, address */
		0xd61f0200u,					/* br x16 */
		0xd4200000u,					/* brk #0 */
	};
#endif
	memcpy(image + at, code, sizeof(code));
}

static uint32_t hash_of(const char *name)
{
	uint32_t h = 0;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		h ^= h >> 24 & 0xf0;
		h &= 0xfffffff;
	}
	return h;
}

static void put_headers(uint8_t *image, const struct layout *l)
{
	Elf64_Ehdr *head = (Elf64_Ehdr *)image;
	const Elf64_Phdr parts[RX_PARTS] = {
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_X,
		  .p_filesz = l->strings + l->string_bytes,
		  .p_memsz = l->strings + l->string_bytes,
		  .p_align = SEGMENT },
		{ .p_type = PT_LOAD,
		  .p_flags = PF_R | PF_W,
		  .p_offset = l->dynamic,
		  .p_vaddr = l->dynamic,
		  .p_filesz = l->end - l->dynamic,
		  .p_memsz = l->end - l->dynamic,
		  .p_align = SEGMENT },
		{ .p_type = PT_DYNAMIC,
		  .p_flags = PF_R | PF_W,
		  .p_offset = l->dynamic,
		  .p_vaddr = l->dynamic,
		  .p_filesz = DYNAMIC * sizeof(Elf64_Dyn),
		  .p_memsz = DYNAMIC * sizeof(Elf64_Dyn),
		  .p_align = 8 },
		/* Without this segment, stacks would have to be executable. */
		{ .p_type = PT_GNU_STACK, .p_flags = PF_R | PF_W, .p_align = 16 },
	};

	*head = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = MACHINE,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(*head),
		.e_ehsize = sizeof(*head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = RX_PARTS,
	};
	memcpy(head + 1, parts, sizeof(parts));
}

/* Does not depend on libmprof.so: a process that has only this object would not start. */
static void put_dynamic(uint8_t *image, const struct layout *l)
{
	const Elf64_Dyn dynamic[DYNAMIC] = {
		{ DT_HASH, { l->hash } },
		{ DT_SYMTAB, { l->symbols } },
		{ DT_SYMENT, { sizeof(Elf64_Sym) } },
		{ DT_STRTAB, { l->strings } },
		{ DT_STRSZ, { l->string_bytes } },
		{ DT_RELA, { l->relocations } },
		{ DT_RELASZ, { CLASSES * sizeof(Elf64_Rela) } },
		{ DT_RELAENT, { sizeof(Elf64_Rela) } },
		{ DT_FLAGS, { DF_BIND_NOW } },
		{ DT_NULL, { 0 } },
	};

	memcpy(image + l->dynamic, dynamic, sizeof(dynamic));
}

/* Symbols, the hash table that finds them, and their names. */
struct names {
	uint8_t *image;
	const struct layout *l;
	size_t used; /* of the strings */
	uint32_t symbols;
};

static size_t put_string(struct names *n, const char *text)
{
	const size_t at = n->used, bytes = strlen(text) + 1;

	memcpy(n->image + n->l->strings + at, text, bytes);
	n->used += bytes;
	return at;
}

/* Puts a symbol; `at` 0 = of another object.  Returns the offset of its name. */
static size_t put_symbol(struct names *n, const char *name, size_t at)
{
	uint32_t *buckets = (uint32_t *)(n->image + n->l->hash) + 2;
	uint32_t *chains = buckets + n->l->buckets, *bucket;
	const size_t string = put_string(n, name);
	const uint32_t i = n->symbols++;

	((Elf64_Sym *)(n->image + n->l->symbols))[i] = (Elf64_Sym){
		.st_name = (uint32_t)string,
		.st_info = ELF64_ST_INFO(at ? STB_GLOBAL : STB_WEAK, STT_FUNC),
		.st_shndx = at ? 1 : SHN_UNDEF, /* the object has no sections */
		.st_value = at,
		.st_size = at ? CODE : 0,
	};
	if (!at)
		return string;
	bucket = &buckets[hash_of(name) % n->l->buckets];
	chains[i] = *bucket;
	*bucket = i;
	return string;
}

static void put_function(struct names *n, size_t i, const struct function *f)
{
	const struct layout *l = n->l;
	const size_t record = l->records + i * sizeof(struct mprof_wrapped);
	const size_t code = l->code + i * CODE;
	const size_t string = put_symbol(n, f->name, code);
	struct mprof_wrapped *w = (struct mprof_wrapped *)(n->image + record);

	w->name = (int64_t)(l->strings + string) - (int64_t)record;
	w->fn = f->type->fn;
	put_code(n->image, code, record, l->addresses + f->type->class * sizeof(uint64_t));
}

static uint8_t *make_object(const struct functions *f, size_t *bytes)
{
	const struct layout l = lay_out(f);
	uint8_t *image = must_calloc(1, l.end);
	struct names names = { image, &l, 1, 1 };
	uint32_t *hash = (uint32_t *)(image + l.hash);

	hash[0] = (uint32_t)l.buckets;
	hash[1] = (uint32_t)(FIRST + f->n);
	put_headers(image, &l);
	put_dynamic(image, &l);
	for (uint32_t i = 0; i < CLASSES; i++) {
		((Elf64_Rela *)(image + l.relocations))[i] =
		    (Elf64_Rela){ l.addresses + i * sizeof(uint64_t),
				  ELF64_R_INFO((uint64_t)names.symbols, GLOB_DAT), 0 };
		put_symbol(&names, entries[i], 0);
	}
	for (size_t i = 0; i < f->n; i++)
		put_function(&names, i, &f->at[i]);
	*bytes = l.end;
	return image;
}

/* ---- its file ---- */

/*
 * Names the object after its contents.  The name has no dot, because cache_directory_trim() removes
 * files with one as those of dead writers, and a program that runs for hours starts others with
 * this object.
 */
static void name_object(char name[32], const uint8_t *image, size_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ image[i]) * 0x100000001b3u;
	snprintf(name, 32, "wrap-%016llx", (unsigned long long)hash);
}

static bool has_object(int directory, const char *name, const uint8_t *image, size_t bytes)
{
	uint64_t there = 0;
	const int fd = cache_file_open(directory, name, &there);
	uint8_t *had = must_malloc(bytes);
	const bool good = fd >= 0 && there == bytes && read_at(fd, had, bytes, 0) == bytes &&
			  !memcmp(had, image, bytes);

	if (fd >= 0)
		close(fd);
	free(had);
	return good;
}

/* Returns the path of the directory, without a final slash; NULL with an error if it cannot be
 * used. */
static char *find_directory(int directory, struct error *err)
{
	char link[32], path[PATH_MAX];
	struct statvfs fs;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
	n = directory < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	if (n <= 0)
		fail(err, -EACCES,
		     "--wrap cannot write a small library to the directory mprof/wrap in "
		     "$XDG_CACHE_HOME or ~/.cache: set XDG_CACHE_HOME to a directory of yours");
	else if (!fstatvfs(directory, &fs) && fs.f_flag & ST_NOEXEC)
		fail(err, -EACCES,
		     "--wrap cannot preload from '%s', which is mounted noexec; set XDG_CACHE_HOME "
		     "to another directory",
		     path);
	else if (strpbrk(path, " :\t\n"))
		fail(err, -EINVAL,
		     "--wrap cannot preload from '%s': a path in LD_PRELOAD cannot contain blanks "
		     "or colons; set XDG_CACHE_HOME to another directory",
		     path);
	else
		return must_printf("%s", path);
	return NULL;
}

static char *store_object(const uint8_t *image, size_t bytes, struct error *err)
{
	const int directory = cache_directory("wrap");
	char *path = find_directory(directory, err), *file = NULL;
	char name[32];
	int ret = 0;

	name_object(name, image, bytes);
	if (path) {
		cache_directory_trim(directory, CACHE_MOST);
		if (!has_object(directory, name, image, bytes))
			ret = cache_file_write(directory, name, 0700,
					       &(struct cache_part){ image, bytes }, 1);
		if (ret)
			fail(err, ret, "--wrap cannot write a small library to '%s': %s", path,
			     strerror(-ret));
		else
			file = must_printf("%s/%s", path, name);
	}
	if (directory >= 0)
		close(directory);
	free(path);
	return file;
}

char *wrap_object(const char *value, struct error *err)
{
	struct functions f;
	uint8_t *image;
	size_t bytes;
	char *path;

	if (parse(&f, value, err))
		return NULL;
	image = make_object(&f, &bytes);
	path = store_object(image, bytes, err);
	free(image);
	release(&f);
	return path;
}
