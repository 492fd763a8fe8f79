// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * python.c - see python.h.
 *
 * Offsets are those of CPython's headers: Include/cpython/code.h, cpython/pystate.h,
 * cpython/unicodeobject.h, internal/pycore_frame.h of 3.11 to 3.13,
 * internal/pycore_interpframe_structs.h of 3.14 and 3.15.
 *
 * Until 3.12, each C frame of the evaluating function has a record that leads to its innermost
 * call, and the thread has the list of these records.  From 3.13 the thread has the list of
 * all calls, and each C frame has an entry in it behind its outermost call.  So the address of the
 * record, or of the entry, tells which frame it belongs to.
 */
#include "python.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <mprof/module.h>
#include <mprof/scripts.h>
#include <string.h>

#include "attach.h"
#include "facts.h"
#include "local.h"
#include "scopes.h"
#include "stack_parts.h"
#include "text.h"

#define SCRIPTS	   32768u /* functions of a process */
#define PROBES	   64u	  /* places of one of them */
#define KNOWN	   4096u  /* code objects that are known at a time */
#define CALLS_MOST 1024u  /* of one C frame */
#define LINES_MOST 65535u /* of a function */
#define NAME_MOST  180u	  /* bytes of the name of a function; of its file, twice that */

/* ---- what is where ---- */

struct layout {
	/* the data of a call */
	unsigned code, previous, instruction, entry;
	/* of a thread: the innermost record or call; of a record: its call, and the next outer one
	 */
	unsigned innermost, current, outer;
	/* a code object */
	unsigned line, file, name, table, first;
	/* behind the heads of strings of ASCII and of other characters */
	unsigned ascii, wide;
};

static const struct layout layouts[] = {
	[11] = { 32, 48, 56, 68, 56, 8, 16, 72, 112, 128, 136, 184, 48, 72 },
	[12] = { 0, 8, 56, 70, 56, 0, 8, 68, 112, 128, 136, 192, 40, 56 },
	[13] = { 0, 8, 56, 70, 72, 0, 0, 68, 112, 128, 136, 200, 40, 56 },
	[14] = { 0, 8, 56, 74, 72, 0, 0, 68, 112, 128, 136, 208, 40, 56 },
	[15] = { 0, 8, 56, 74, 72, 0, 0, 68, 112, 128, 136, 208, 40, 56 },
};
#define OLDEST 11u
#define NEWEST (sizeof(layouts) / sizeof(layouts[0]) - 1)
MPROF_STATIC_ASSERT(OLDEST == 11 && NEWEST == 15, "MPROF_SCRIPT_ATTACHED names the versions");

enum { TYPE = 8, LENGTH = 16, BYTES_DATA = 32, STRING_STATE = 32 };
enum { OF_C_FRAME = 3 }; /* from 3.12: the owner of an entry that stands for a C frame */

/* PyMemAllocatorEx */
struct allocator {
	void *data;
	void *malloc, *calloc, *realloc, *free;
};
enum { RAW, MEM, OBJECT, DOMAINS };

static struct {
	unsigned minor; /* Python 3.MINOR; 0: none is shown */
	struct layout at;
	uintptr_t evaluate, evaluate_end;
	const void *object; /* where the object is loaded */
	const void *code_type;
	void *(*thread)(void);
	int (*is_initialized)(void);
	const char *(*allocator_name)(void);
	void (*get)(int domain, struct allocator *of);
	void (*set)(int domain, const struct allocator *to);
	struct allocator before[DOMAINS], instead[DOMAINS];
	int redirected;
} py;

static uintptr_t word_of(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

/* ---- start ---- */

/* A plugin of the program may have brought Python, for itself. */
static void *python_symbol(const char *name)
{
	void *symbol = mp_attach_symbol(name);

	return symbol ? symbol : mp_attach_search(name);
}

static int python_has(void *to, const char *name)
{
	void *symbol = python_symbol(name);

	*(void **)to = symbol;
	return symbol != NULL;
}

static const char *python_find_evaluate(void)
{
	void *entry = NULL, *at = python_symbol("_PyEval_EvalFrameDefault");
	const ElfW(Sym) * symbol;
	Dl_info info;

	if (!at)
		return "it does not run Python, or hides its functions";
	if (!dladdr1(at, &info, &entry, RTLD_DL_SYMENT) || !entry)
		return "its Python has no symbols";
	symbol = entry;
	py.evaluate = (uintptr_t)at;
	py.evaluate_end = py.evaluate + symbol->st_size;
	py.object = info.dli_fbase;
	return NULL;
}

const char *mp_python_find(void)
{
	const char *why = python_find_evaluate(), *(*version)(void);
	const unsigned long *number = NULL;
	unsigned minor;

	if (why)
		return why;
	minor = python_has(&number, "Py_Version") ? (unsigned)(*number >> 16) & 255 : 0;
	if (minor < OLDEST || minor > NEWEST || *number >> 24 != 3)
		return "its Python is not " MPROF_SCRIPT_ATTACHED
		       ", the versions whose scripts mprof can show after attaching";
	if (!python_has(&version, "Py_GetVersion") || strstr(version(), "free-threading"))
		return "its Python is the free-threaded build";
	if (!python_has(&py.code_type, "PyCode_Type") ||
	    !python_has(&py.thread, "PyGILState_GetThisThreadState") ||
	    !python_has(&py.is_initialized, "Py_IsInitialized"))
		return "its Python hides its functions";
	if (!python_has(&py.allocator_name, "_PyMem_GetCurrentAllocatorName") ||
	    !python_has(&py.get, "PyMem_GetAllocator") ||
	    !python_has(&py.set, "PyMem_SetAllocator"))
		py.allocator_name = NULL;
	py.thread(); /* binds what it calls */
	py.at = layouts[minor];
	py.minor = minor;
	return NULL;
}

/* ---- its allocator ---- */

static int python_allocator_is(const char *name)
{
	const char *is = py.minor && py.allocator_name ? py.allocator_name() : NULL;

	return is && !strcmp(is, name);
}

int mp_python_is_known_allocator(void)
{
	return python_allocator_is("pymalloc") || python_allocator_is("malloc");
}

/*
 * Its own allocator frees and reallocates any block: it asks whether the address is in one of its
 * arenas, else it passes the block on to libc, as it does with large ones.  So only the functions
 * that allocate are replaced, each by one store; all four have no data.  Others, such as that of
 * PYTHONMALLOC=debug or of tracemalloc, do not know blocks of libc.
 */
void mp_python_redirect(int here)
{
	struct allocator raw, now;

	if (here ? !python_allocator_is("pymalloc") : !py.redirected)
		return;
	py.get(RAW, &raw);
	for (int domain = MEM; domain <= OBJECT; domain++) {
		py.get(domain, &now);
		if (here) {
			py.before[domain] = py.instead[domain] = now;
			py.instead[domain].malloc = raw.malloc;
			py.instead[domain].calloc = raw.calloc;
			py.set(domain, &py.instead[domain]);
		} else if (!memcmp(&now, &py.instead[domain], sizeof(now))) {
			py.set(domain, &py.before[domain]);
		}
	}
	py.redirected = here;
}

/* ---- scripts ---- */

/* A function of a script: all code objects with the same name, file and lines, such as those of a
 * text that is compiled again and again. */
struct script {
	uint64_t hash;	       /* of these; 0 in a forked child, which has addresses of its own */
	uint64_t lines;	       /* the address that stands for its first line */
	uint64_t instructions; /* that have lines */
	uint16_t *line;	       /* of each, from the first */
	uint64_t *named;       /* a bit for each line that has a name in the file */
};

static struct script *scripts[SCRIPTS]; /* from the place of the hash on */

/* A code object.  Another one may be at its address by now, so this also has what tells it. */
struct identity {
	uintptr_t code, name, file, table;
	uint64_t first, begins, ends; /* its first line; parts of the table */
};

/* Code objects and their scripts, by address. */
static struct known {
	uint32_t turn; /* odd while a thread changes it */
	struct identity of;
	struct script *script;
} known[KNOWN];

struct bytes {
	const uint8_t *at;
	size_t n;
};

static struct bytes table_of(uintptr_t code)
{
	const uintptr_t table = word_of(code + py.at.table);

	return (struct bytes){ (const uint8_t *)table + BYTES_DATA, word_of(table + LENGTH) };
}

/* The characters of a string, and how many bytes each has; none if they are elsewhere. */
static struct bytes string_of(uintptr_t string, unsigned *each)
{
	const uint32_t state = *(const uint32_t *)(string + STRING_STATE);

	*each = state >> 2 & 7;
	return (struct bytes){ (const uint8_t *)string +
				   (state >> 6 & 1 ? py.at.ascii : py.at.wide),
			       state >> 5 & 1 ? word_of(string + LENGTH) * *each : 0 };
}

/* Eight bytes from the i-th on, fewer at the end. */
static uint64_t bytes_part(const struct bytes *b, size_t i)
{
	uint64_t part = 0;

	memcpy(&part, b->at + i, b->n - i < sizeof(part) ? b->n - i : sizeof(part));
	return part;
}

static struct identity identity_of(uintptr_t code)
{
	const struct bytes t = table_of(code);

	return (struct identity){
		.code = code,
		.name = word_of(code + py.at.name),
		.file = word_of(code + py.at.file),
		.table = word_of(code + py.at.table),
		.first = *(const uint32_t *)(code + py.at.line),
		.begins = bytes_part(&t, 0) ^ t.n << 48,
		.ends = bytes_part(&t, t.n > sizeof(uint64_t) ? t.n - sizeof(uint64_t) : 0),
	};
}

static uint64_t hash_add(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

static uint64_t hash_bytes(uint64_t hash, const struct bytes *b)
{
	for (size_t i = 0; i < b->n; i += sizeof(uint64_t))
		hash = hash_add(hash, bytes_part(b, i));
	return hash_add(hash, b->n);
}

static uint64_t hash_of(const struct identity *of)
{
	unsigned each;
	const struct bytes name = string_of(of->name, &each), file = string_of(of->file, &each),
			   table = table_of(of->code);
	uint64_t hash = hash_add(1, of->first);

	hash = hash_bytes(hash_bytes(hash_bytes(hash, &name), &file), &table);
	return hash + !hash;
}

/* Reads the table of lines: from the first line on, that of each instruction, unless line is NULL.
 * Returns how many instructions there are, and the greatest line. */
static uint64_t script_lines(const struct bytes *t, uint16_t *line, uint64_t *greatest)
{
	struct mprof_script_table at = { t->at, t->at + t->n, 0 };
	uint64_t instructions = 0;
	unsigned n;

	*greatest = 0;
	while ((n = mprof_script_next(&at))) {
		const uint64_t now = at.line < 0 ? 0 : (uint64_t)at.line;
		const uint64_t shown = now < LINES_MOST ? now : LINES_MOST - 1;

		for (unsigned i = 0; i < n && line; i++)
			line[instructions + i] = (uint16_t)shown;
		instructions += n;
		*greatest = shown > *greatest ? shown : *greatest;
	}
	return instructions;
}

/* Returns NULL without memory or addresses. */
static struct script *script_new(uintptr_t code, uint64_t hash)
{
	const struct bytes t = table_of(code);
	uint64_t instructions, greatest, words;
	struct script *s;

	/* It is called again at each call of a function that has none. */
	if (__atomic_load_n(&mp_local->script_lines, __ATOMIC_RELAXED) > MPROF_SCRIPT_OF_PROCESS)
		return NULL;
	instructions = script_lines(&t, NULL, &greatest);
	words = greatest / 64 + 1;
	s = mp_lines_take((uint32_t)((sizeof(*s) + 8 * words + 2 * instructions + 63) / 64));
	if (!s)
		return NULL;
	s->lines = __atomic_fetch_add(&mp_local->script_lines, greatest + 1, __ATOMIC_RELAXED);
	if (s->lines + greatest + 1 > MPROF_SCRIPT_OF_PROCESS)
		return NULL;
	s->lines += MPROF_SCRIPT_LINES + (uint64_t)mp_local->pid * MPROF_SCRIPT_OF_PROCESS;
	s->named = (uint64_t *)(s + 1);
	s->line = (uint16_t *)(s->named + words);
	s->instructions = script_lines(&t, s->line, &greatest);
	s->hash = hash;
	return s;
}

/* Any thread.  Returns NULL if there are too many. */
static struct script *script_find(const struct identity *of)
{
	const uint64_t hash = hash_of(of);
	struct script *made = NULL;

	for (unsigned n = 0; n < PROBES; n++) {
		struct script **place = &scripts[((hash >> 32) + n) % SCRIPTS];
		struct script *s = __atomic_load_n(place, __ATOMIC_ACQUIRE);

		if (s && s->hash == hash)
			return s;
		if (s && s->hash)
			continue;
		made = made ? made : script_new(of->code, hash);
		if (!made || __atomic_compare_exchange_n(place, &s, made, 0, __ATOMIC_ACQ_REL,
							 __ATOMIC_ACQUIRE))
			return made;
		if (s->hash == hash) /* of another thread */
			return s;
	}
	return NULL;
}

static struct script *known_find(const struct known *k, const struct identity *of)
{
	const uint32_t turn = __atomic_load_n(&k->turn, __ATOMIC_ACQUIRE);
	const int same = !memcmp(&k->of, of, sizeof(*of));
	struct script *s = k->script;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return same && !(turn & 1) && __atomic_load_n(&k->turn, __ATOMIC_RELAXED) == turn && s->hash
		   ? s
		   : NULL;
}

/* Not if another thread does so now. */
static void known_keep(struct known *k, const struct identity *of, struct script *s)
{
	uint32_t turn = __atomic_load_n(&k->turn, __ATOMIC_RELAXED);

	if (turn & 1 || !__atomic_compare_exchange_n(&k->turn, &turn, turn + 1, 0, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	k->of = *of;
	k->script = s;
	__atomic_store_n(&k->turn, turn + 2, __ATOMIC_RELEASE);
}

static struct script *script_of(uintptr_t code)
{
	struct known *k = &known[(code >> 4) * 0x9e3779b97f4a7c15 >> 52];
	const struct identity of = identity_of(code);
	struct script *s = known_find(k, &of);

	if (s)
		return s;
	s = script_find(&of);
	if (s)
		known_keep(k, &of, s);
	return s;
}

/* ---- names ---- */

static void name_put_character(struct text *t, uint32_t c)
{
	if (c < ' ') {
		text_char(t, '?');
	} else if (c < 0x80) {
		text_char(t, (char)c);
	} else if (c < 0x800) {
		text_char(t, (char)(0xc0 | c >> 6));
		text_char(t, (char)(0x80 | (c & 63)));
	} else if (c < 0x10000) {
		text_char(t, (char)(0xe0 | c >> 12));
		text_char(t, (char)(0x80 | (c >> 6 & 63)));
		text_char(t, (char)(0x80 | (c & 63)));
	} else {
		text_char(t, (char)(0xf0 | c >> 18));
		text_char(t, (char)(0x80 | (c >> 12 & 63)));
		text_char(t, (char)(0x80 | (c >> 6 & 63)));
		text_char(t, (char)(0x80 | (c & 63)));
	}
}

/* Puts a Python string, as far as `most` bytes. */
static void name_put(struct text *t, uintptr_t string, size_t most)
{
	unsigned each;
	const struct bytes b = string_of(string, &each);
	const size_t end = t->used + most;

	if (!b.n)
		text_char(t, '?');
	for (size_t i = 0; i < b.n && t->used + 4 <= end; i += each) {
		uint32_t c = 0;

		memcpy(&c, b.at + i, each);
		name_put_character(t, c);
	}
}

static void name_write(const struct script *s, uintptr_t code, uint64_t line)
{
	char buffer[4 * NAME_MOST];
	struct text t = text_on(buffer, sizeof(buffer));

	text_hex(&t, s->lines + 1 + line, 12);
	text_string(&t, " py::");
	name_put(&t, word_of(code + py.at.name), NAME_MOST);
	text_char(&t, ':');
	name_put(&t, word_of(code + py.at.file), 2 * NAME_MOST);
	text_char(&t, ':');
	text_number(&t, *(const uint32_t *)(code + py.at.line) + line);
	mp_fact_code(buffer);
}

/* ---- calls ---- */

static int is_plain(const struct eh_rule *r)
{
	return !r->end && !r->signal && !r->complex && !r->stuck;
}

/* The rule in the middle of the evaluating function, where its frame is complete; cfa is 0 if that
 * is not known. */
static struct eh_rule python_usual_rule(const struct eh_object *o)
{
	static struct eh_rule usual; /* all threads find the same */
	static int found;
	const uintptr_t middle = py.evaluate + (py.evaluate_end - py.evaluate) / 2;
	struct eh_rule r;
	int ret;

	if (__atomic_load_n(&found, __ATOMIC_ACQUIRE))
		return usual;
	ret = mp_rules_find(o, middle, &r);
	if (ret || !is_plain(&r))
		r = (struct eh_rule){ .cfa = 0 };
	if (ret == -ENOTSUP) /* perhaps this thread had no memory for it */
		return r;
	usual = r;
	__atomic_store_n(&found, 1, __ATOMIC_RELEASE);
	return r;
}

int mp_python_evaluates(const struct eh_object *o, uintptr_t pc, const struct eh_rule *r)
{
	struct eh_rule usual;

	if (!py.minor || !is_plain(r))
		return 0;
	if (pc >= py.evaluate && pc < py.evaluate_end)
		return 1;
	if (mp_scope_base((const void *)pc) != py.object)
		return 0;
	usual = python_usual_rule(o);
	/* Compilers put parts elsewhere, without a name: gcc 16 nearly all of it.  With frame
	 * pointers, all functions look like that: then the address of the record decides. */
	return usual.cfa == r->cfa && usual.base == r->base && usual.fp == r->fp && r->cfa &&
	       (r->base == EH_FP || r->cfa > 64);
}

static int is_of_c_frame(uintptr_t call)
{
	return *(const char *)(call + py.at.entry) == OF_C_FRAME;
}

/* Until 3.12.  The outermost record is the thread's own, on no stack. */
static uintptr_t python_first_by_record(uintptr_t *walk, const struct area *stack, uintptr_t sp,
					uintptr_t cfa)
{
	uintptr_t record = *walk, last = 0;

	while (record > last && record < sp && area_holds(stack->low, sp, record, 24)) {
		last = record;
		record = word_of(record + py.at.outer);
	}
	if (record < sp || !area_holds(sp, stack->high, record, 24))
		return *walk = UINTPTR_MAX, 0;
	*walk = record;
	if (record >= cfa)
		return 0;
	*walk = word_of(record + py.at.outer);
	return record + py.at.current;
}

/* From 3.13: *walk is where the address of the next call is. */
static uintptr_t python_first_by_call(uintptr_t *walk, uintptr_t sp, uintptr_t cfa)
{
	uintptr_t link, call, entry;
	unsigned n = 0;

	for (link = *walk; n < CALLS_MOST; link = entry + py.at.previous) {
		call = entry = word_of(link);
		for (; entry && !is_of_c_frame(entry) && n < CALLS_MOST; n++)
			entry = word_of(entry + py.at.previous);
		if (!entry || n == CALLS_MOST)
			break;
		if (entry >= cfa)
			return *walk = link, 0;
		if (entry >= sp)
			return *walk = entry + py.at.previous, call == entry ? 0 : link;
	}
	*walk = UINTPTR_MAX;
	return 0;
}

uintptr_t mp_python_first(uintptr_t *walk, const struct area *stack, uintptr_t sp, uintptr_t cfa,
			  int *sure)
{
	uintptr_t thread = 0, link;

	if (!*walk) {
		/* At its end, Python frees what threads of it have that still run. */
		thread = py.is_initialized() ? (uintptr_t)py.thread() : 0;
		*walk = !thread		? UINTPTR_MAX
			: py.minor < 13 ? word_of(thread + py.at.innermost)
					: thread + py.at.innermost;
	}
	if (*walk == UINTPTR_MAX)
		return 0;
	link = py.minor < 13 ? python_first_by_record(walk, stack, sp, cfa)
			     : python_first_by_call(walk, sp, cfa);
	*sure = link != thread + py.at.innermost;
	return link && word_of(link) && (py.minor == 11 || !is_of_c_frame(word_of(link))) ? link
											  : 0;
}

uintptr_t mp_python_next(uintptr_t link)
{
	const uintptr_t call = word_of(link), next = call + py.at.previous;

	if (py.minor == 11 && *(const char *)(call + py.at.entry))
		return 0;
	return word_of(next) && (py.minor == 11 || !is_of_c_frame(word_of(next))) ? next : 0;
}

uintptr_t mp_python_line(uintptr_t data, uintptr_t *instruction)
{
	const uintptr_t code = word_of(data + py.at.code) & MPROF_SCRIPT_CODE;
	struct script *s;
	uint64_t line, at, bit;

	if (!code || word_of(code + TYPE) != (uintptr_t)py.code_type || !(s = script_of(code)))
		return 0;
	*instruction = data + py.at.instruction;
	at = (word_of(*instruction) - code - py.at.first) / 2;
	/* Before the first instruction it has none. */
	line = at < s->instructions ? s->line[at] : 0;
	bit = 1ull << line % 64;
	if (!(__atomic_load_n(&s->named[line / 64], __ATOMIC_RELAXED) & bit) &&
	    !(__atomic_fetch_or(&s->named[line / 64], bit, __ATOMIC_RELAXED) & bit))
		name_write(s, code, line);
	return s->lines + 1 + line;
}
