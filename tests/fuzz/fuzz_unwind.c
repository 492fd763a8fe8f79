// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * fuzz_unwind.c - a libFuzzer target: the unwinder of libmprof.so in process,
 * with registers, words on the stack and call frame information of anybody's.
 *
 * The input makes an object (ELF header, .eh_frame_hdr, .eh_frame) and a stack, each
 * between pages that nothing may touch, and the registers of a frame on it.  A walk
 * must end, and read nothing but stack and object: what it does else is a signal.  A
 * walk that builds upon the previous stack must find what one from scratch finds.
 */
#include <stdlib.h>
#include <string.h>

/* Their static functions are called below. */
#include "../../src/libmprof/full.c"
#include "../../src/libmprof/rules.c"

#include "../../src/libmprof/python.h"

#include <dlfcn.h>
#include <link.h>

enum {
	PAGE = 4096,
	FUNCTIONS = 16,
	FUNCTION = 64, /* bytes of code */
	/* The object's pages. */
	CODE = 1,
	HEADER,
	HOLE, /* no memory, as between two segments */
	FRAMES,
	OBJECT = FRAMES + 2,
	STACK = 4,
	FORBIDDEN = 8, /* pages around each */
};

/* ---- what the input says ---- */

static const uint8_t *next, *last;
static uint64_t more; /* what follows from the input, where it has ended */

static uint8_t byte(void)
{
	if (next < last)
		return *next++;
	more = more * 6364136223846793005ull + 1442695040888963407ull;
	return (uint8_t)(more >> 56);
}

static void begin(const uint8_t *data, size_t size)
{
	next = data;
	last = data + size;
	more = 14695981039346656037ull;
	for (size_t i = 0; i < size; i++)
		more = (more ^ data[i]) * 1099511628211ull;
}

static uint64_t bytes(unsigned n)
{
	uint64_t v = 0;

	while (n--)
		v = v << 8 | byte();
	return v;
}

static char *object, *stack;

/* A value that somebody could have in a register, a slot or an offset. */
static uint64_t any_word(void)
{
	static const uint64_t odd[] = { 0,	    8,
					-8ull,	    -16ull,
					-24ull,	    -1ull,
					1ull << 63, (1ull << 63) - 8,
					1ull << 47, (1ull << 47) - 8,
					1ull << 32, 0xffffffffull,
					-4096ull };
	unsigned how = byte();

	switch (how % 8) {
	case 0:
		return odd[byte() % (sizeof(odd) / sizeof(odd[0]))];
	case 1: /* code */
		return (uintptr_t)object + CODE * PAGE + byte() % FUNCTIONS * FUNCTION + 1 +
		       byte() % 16;
	case 2:
	case 3: /* a place on the stack */
		return (uintptr_t)stack + bytes(2) % (STACK * PAGE) / 8 * 8;
	case 4: /* at its ends */
		return (uintptr_t)stack + (how & 8 ? STACK * PAGE : 0) + (how & 16 ? 8 : -16) +
		       (how & 32 ? 4 : 0);
	case 5:
		return (uintptr_t)object + bytes(2);
	case 6:
		return (uint64_t)(int8_t)byte() * 8;
	default:
		return bytes(8);
	}
}

/* ---- call frame information ---- */

struct out {
	uint8_t *at, *end;
};

static void out_byte(struct out *o, uint64_t v)
{
	if (o->at < o->end)
		*o->at++ = (uint8_t)v;
}

static void out_number(struct out *o, uint64_t v, unsigned n)
{
	for (; n--; v >>= 8)
		out_byte(o, v);
}

static void out_leb(struct out *o, uint64_t v)
{
	for (; v > 127; v >>= 7)
		out_byte(o, v | 128);
	out_byte(o, v);
}

/* Mostly what the unwinder keeps. */
static uint64_t any_register(void)
{
	static const uint8_t known[] = {
		3, 6, 6, 6, 7, 10, 12, 13, 14, 15, 16, 19, 29, 29, 30, 31
	};
	unsigned how = byte();

	return how < 224 ? known[how % sizeof(known)] : any_word();
}

static uint64_t any_offset(void)
{
	return byte() & 3 ? byte() % 32 : any_word();
}

/* Values that a rule can express: fp + n, or the word at it. */
static void put_plain_expression(struct out *o, int deref)
{
#if defined(__x86_64__)
	enum { BREG_FP = 0x76 };
#else
	enum { BREG_FP = 0x8d };
#endif

	out_leb(o, deref ? 3 : 2);
	out_byte(o, BREG_FP);
	out_byte(o, byte() & 0x78); /* one byte: -64 to 56 */
	if (deref)
		out_byte(o, 0x06);
}

static void put_expression(struct out *o)
{
	static const uint8_t operations[] = {
		0x03, 0x06, 0x08, 0x09, 0x0c, 0x0e, 0x10, 0x11, 0x12, 0x1a, 0x1c, 0x1e, 0x22, 0x23,
		0x24, 0x25, 0x26, 0x29, 0x30, 0x38, 0x76, 0x77, 0x77, 0x8d, 0x8f, 0x96, 0x9c
	};
	uint8_t room[64];
	struct out e = { room, room + sizeof(room) };
	unsigned n = byte() % 12;
	int lies = byte() > 240;

	while (n--) {
		uint8_t op = byte() & 7 ? operations[byte() % sizeof(operations)] : byte();

		out_byte(&e, op);
		if (op >= 0x70 && op <= 0x8f)
			out_leb(&e, any_offset() & 127);
		else if (op == 0x03)
			out_number(&e, any_word(), 8);
		else if (op == 0x23 || op == 0x10 || op == 0x11)
			out_leb(&e, any_offset());
	}
	out_leb(o, lies ? any_word() : (uint64_t)(e.at - room));
	for (uint8_t *b = room; b < e.at; b++)
		out_byte(o, *b);
}

static void put_operation(struct out *o)
{
	static const uint8_t operations[] = { 0x05, 0x06, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c,
					      0x0d, 0x0e, 0x0f, 0x10, 0x11, 0x12, 0x13, 0x14,
					      0x15, 0x16, 0x2e, 0x80, 0xc0, 0x41 };
	uint8_t op = operations[byte() % sizeof(operations)];

	switch (op) {
	case 0x80:
		out_byte(o, op | (any_register() & 63));
		out_leb(o, any_offset());
		break;
	case 0xc0:
		out_byte(o, op | (any_register() & 63));
		break;
	case 0x0d:
	case 0x06:
	case 0x07:
	case 0x08:
		out_byte(o, op);
		out_leb(o, any_register());
		break;
	case 0x0f:
		out_byte(o, op);
		if (byte() & 1)
			put_plain_expression(o, 1);
		else
			put_expression(o);
		break;
	case 0x10:
	case 0x16:
		out_byte(o, op);
		out_leb(o, any_register());
		if (byte() & 1)
			put_plain_expression(o, 0);
		else
			put_expression(o);
		break;
	case 0x0e:
	case 0x13:
	case 0x2e:
		out_byte(o, op);
		out_leb(o, any_offset());
		break;
	case 0x0a:
	case 0x0b:
	case 0x41:
		out_byte(o, op);
		break;
	default:
		out_byte(o, op);
		out_leb(o, any_register());
		out_leb(o, op == 0x09 ? any_register() : any_offset());
	}
}

static void put_length(uint8_t *record, const struct out *o)
{
	uint32_t length = (uint32_t)(o->at - record - 4);

	if (byte() > 250)
		length = (uint32_t)any_word();
	memcpy(record, &length, 4);
}

static uint8_t *put_cie(struct out *o)
{
	static const char *const letters[] = { "zR", "zRS", "zPLR", "", "z", "zRB", "eh" };
	uint8_t *record = o->at;
	uint8_t kind = byte(), how = byte();
	const char *s = letters[kind < 160 ? 0 : kind < 210 ? 1 : kind % 7];

	out_number(o, 0, 8); /* its length comes later */
	out_byte(o, how > 250 ? how : 1);
	for (const char *c = s; *c; c++)
		out_byte(o, (uint8_t)*c);
	out_byte(o, 0);
	out_leb(o, how & 1 ? 1 : any_offset());
	out_leb(o, how & 2 ? 0x78 : any_word()); /* data_align -8 */
	out_byte(o, how & 4 ? 16 : any_register());
	if (*s == 'z') {
		out_leb(o, how & 8 ? strlen(s) - 1 : byte());
		for (const char *c = s + 1; *c; c++)
			out_byte(o, *c == 'R' && byte() < 230 ? 0x1b : byte());
	}
	out_byte(o, 0x0c); /* CFA = sp + 8, return address at CFA - 8 */
	out_leb(o, 7);
	out_leb(o, 8);
	out_byte(o, 0x80 | 16);
	out_leb(o, 1);
	put_length(record, o);
	return record;
}

static uint8_t *put_fde(struct out *o, const uint8_t *cie, unsigned function)
{
	uint8_t *record = o->at;
	uintptr_t start = (uintptr_t)object + CODE * PAGE + function * FUNCTION;

	out_number(o, 0, 4);
	out_number(o, byte() > 250 ? any_word() : (uint64_t)(o->at - cie), 4);
	out_number(o, start - (uintptr_t)o->at, 4);
	out_number(o, FUNCTION, 4);
	out_byte(o, 0);
	for (unsigned n = byte() % 8; n--;)
		put_operation(o);
	out_number(o, 0, 4);
	put_length(record, o);
	return record;
}

/* Makes the object again. */
static void put_object(void)
{
	uint8_t *header = (uint8_t *)object + HEADER * PAGE, *frames = header + 2 * PAGE;
	struct out o = { frames, frames + 2 * PAGE }, h = { header, header + PAGE };
	unsigned functions = byte() % FUNCTIONS + 1;
	uint8_t *cie = NULL, *fde;
	Elf64_Ehdr *elf = (Elf64_Ehdr *)object;

	memset(object, 0, PAGE);
	memset(header, 0, PAGE);
	memset(frames, 0, 2 * PAGE);
	memcpy(elf->e_ident, ELFMAG, SELFMAG);
	elf->e_phentsize = sizeof(Elf64_Phdr);
	elf->e_phnum = byte() & 31;
	elf->e_phoff = byte() & 7 ? sizeof(*elf) : any_word();
	for (unsigned i = 0; i < 4; i++) {
		Elf64_Phdr *p = (Elf64_Phdr *)(elf + 1) + i;

		p->p_type = byte() & 1 ? PT_NOTE : PT_LOAD;
		p->p_vaddr = any_word() - (byte() & 1 ? (uintptr_t)object : 0);
		p->p_memsz = any_offset();
		p->p_align = 1u << byte() % 8;
	}
	out_number(&h, 0x3b031b01, 4);
	out_number(&h, (uintptr_t)frames - (uintptr_t)h.at, 4);
	out_number(&h, byte() > 240 ? any_word() : functions, 4);
	for (unsigned i = 0; i < functions; i++) {
		if (!cie || byte() > 200)
			cie = put_cie(&o);
		fde = put_fde(&o, cie, i);
		out_number(&h, (uintptr_t)object + CODE * PAGE + i * FUNCTION - (uintptr_t)header,
			   4);
		out_number(&h, byte() > 250 ? any_word() : (uint64_t)(fde - header), 4);
	}
	for (unsigned n = byte() % 4; n--;) /* and some of it is something else */
		(byte() & 1 ? header : frames)[bytes(2) % PAGE] = byte();
}

/* ---- the rest of the library ---- */

uint32_t mp_page_bytes = PAGE;
struct mprof_config mp_config = { .unwind = "auto", .depth = 4096 };
struct mp_known mp_known;
struct mprof_core_data mprof_core_local;
__thread struct mprof_thread *mprof_self;
static struct mp_local local;
struct mp_local *mp_local = &local;
uint64_t mp_stacks_seed = 1;

/* Addresses of the last stack, for the comparison. */
static uint64_t said;

uint32_t mp_stacks_id(struct stack_cache *c, uint32_t kept)
{
	uint64_t h = c->flags;

	for (uint32_t i = 0; i < c->n; i++)
		h = mp_stack_hash(h, c->frame[i].pc);
	(void)kept;
	said = h;
	return 1;
}
uint32_t mp_stacks_none(void)
{
	said = 0;
	return 0;
}
int mp_stacks_signals(void)
{
	return 0;
}
int mp_stacks_begin(void)
{
	return 0;
}
int mp_failed(int error)
{
	return error;
}
void mp_stacks_changed(void) {}
/* No Python is attached to. */
int mp_python_evaluates(const struct eh_object *o, uintptr_t pc, const struct eh_rule *r)
{
	(void)o, (void)pc, (void)r;
	return 0;
}
uintptr_t mp_python_first(uintptr_t *walk, const struct area *stack, uintptr_t sp, uintptr_t cfa,
			  int *sure)
{
	(void)walk, (void)stack, (void)sp, (void)cfa, (void)sure;
	return 0;
}
uintptr_t mp_python_next(uintptr_t link)
{
	(void)link;
	return 0;
}
uintptr_t mp_python_line(uintptr_t data, uintptr_t *instruction)
{
	(void)data, (void)instruction;
	return 0;
}
int mp_stacks_record(const uint64_t *words, uint32_t n)
{
	uint64_t copy[4096];

	if (n > sizeof(copy) / sizeof(copy[0]))
		abort();
	memcpy(copy, words, n * sizeof(*words));
	return 0;
}
void mp_stacks_lock(uint64_t *signals)
{
	*signals = 0;
}
void mp_stacks_unlock(const uint64_t *signals)
{
	(void)signals;
}
void *mp_pool_memory(struct mp_pool *pool, const struct mp_pool_kind *kind, uint32_t n)
{
	(void)pool;
	return sys_memory((size_t)n * kind->unit);
}
void *mp_lines_take(uint32_t lines)
{
	return sys_memory((size_t)lines * 64);
}
int mp_pool_private(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out)
{
	(void)kind, (void)units, (void)out;
	return -1;
}
void mp_self_bytes(int64_t more)
{
	(void)more;
}
void mp_self_mapped(const void *at, size_t bytes)
{
	(void)at, (void)bytes;
}
uint64_t mp_clock_monotonic_ns(void)
{
	return 1;
}

/* Nothing is known of a thread's stack before. */
int mp_stack_use_home(uintptr_t sp, uintptr_t *low, uintptr_t *high)
{
	(void)sp, (void)low, (void)high;
	return 0;
}

/* Intervals begin at random: stacks are the same with and without them. */
int mp_stack_use_interval(void)
{
	return byte() & 1;
}

uint32_t mp_stack_use_deeper(uintptr_t sp, uint32_t id, const struct stack_frame *frame, uint32_t n,
			     uint32_t same)
{
	(void)sp, (void)id, (void)frame, (void)same;
	return n;
}

/* No script runs. */
const struct eh_rule mp_script_rule = { .end = 1 };

int mp_script_is_stub(uintptr_t pc)
{
	(void)pc;
	return 0;
}

uintptr_t mp_script_data(uintptr_t sp, uintptr_t fp, uintptr_t high)
{
	(void)sp, (void)fp, (void)high;
	return 0;
}

uintptr_t mp_script_line(uintptr_t pc, uintptr_t data, uintptr_t *instruction)
{
	(void)pc, (void)data, (void)instruction;
	return 0;
}

/* The kernel's list of mappings. */
int mp_area(uintptr_t addr, struct area *out)
{
	static const struct {
		char **at;
		int first, pages;
		unsigned flags;
	} areas[] = { { &stack, -FORBIDDEN, FORBIDDEN, 0 },
		      { &stack, 0, STACK, 6 },
		      { &stack, STACK, FORBIDDEN, 0 },
		      { &object, CODE, 1, 5 } };

	for (unsigned i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
		uintptr_t low = (uintptr_t)*areas[i].at + (uintptr_t)(areas[i].first * PAGE);

		if (addr - low < (uintptr_t)areas[i].pages * PAGE) {
			*out = (struct area){ low, low + (uintptr_t)areas[i].pages * PAGE,
					      areas[i].flags };
			return 0;
		}
	}
	return -ENOENT;
}

/* The loader's; this name is what eh_object.c is compiled with. */
int fuzz_find_object(void *pc, struct dl_find_object *out)
{
	static struct link_map map = { .l_name = "/hostile" };

	if ((uintptr_t)pc - (uintptr_t)object >= OBJECT * PAGE)
		return -1;
	map.l_addr = (uintptr_t)object;
	*out = (struct dl_find_object){ .dlfo_map_start = object,
					.dlfo_map_end = object + OBJECT * PAGE,
					.dlfo_link_map = &map,
					.dlfo_eh_frame = object + HEADER * PAGE };
	return 0;
}

static char *between_guards(size_t pages)
{
	char *p = mmap(NULL, (pages + 2 * FORBIDDEN) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED || mprotect(p + FORBIDDEN * PAGE, pages * PAGE, PROT_READ | PROT_WRITE))
		abort();
	return p + FORBIDDEN * PAGE;
}

static void start(void)
{
	struct mprof_thread *none = mprof_self;

	stack = between_guards(STACK);
	object = between_guards(OBJECT);
	if (mprotect(object + HOLE * PAGE, PAGE, PROT_NONE) || mp_rules_start() < 0)
		abort();
	mprof_self = none;
	mprof_core_local.clock_slow = mp_clock_monotonic_ns;
	mp_cache_start();
}

/* All registers hostile, as when a signal came anywhere. */
static void walk_with_registers(struct mprof_thread *t, uintptr_t sp)
{
	struct context x = { .exact = byte() & 1,
			     .low = (uintptr_t)stack,
			     .high = (uintptr_t)stack + STACK * PAGE };
	struct stack_cache *c = mp_fresh_begin(t, sp);
	struct area whole = { x.low, x.high, 6 };
	uintptr_t out[3];

	for (int i = 0; i < CFI_REGISTERS; i++)
		x.reg[i] = any_word();
	x.reg[CFI_SP] = sp;
	x.reg[CFI_PC] = (uintptr_t)object + CODE * PAGE + byte() % FUNCTIONS * FUNCTION + 1;
	walk_all(c, &x, x.reg[CFI_PC], sp);
	mp_fresh_id(c);
	if (mp_full_interrupted(&whole, sp, x.high, out) > 0 && (out[1] < x.low || out[1] > x.high))
		abort();
}

/* Where a stack ends is asked each time: that questions in vain are put off is not for here. */
static void ask_again(struct mprof_thread *t)
{
	struct stack_cache *c = t->stack;

	if (c)
		c->blind = c->blind_left = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mprof_thread t;
	uint64_t *words;
	uintptr_t pc, sp, fp;

	if (!stack)
		start();
	mprof_self = &t;
	begin(data, size);
	put_object();
	words = (uint64_t *)(void *)stack;
	for (unsigned i = 0; i < STACK * PAGE / 8; i++)
		words[i] = any_word();
	escapes_used = 0;
	memset(escape_ready, 0, sizeof(escape_ready));
	mp_rules_forget();
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t built;

		pc = (uintptr_t)object + CODE * PAGE + byte() % FUNCTIONS * FUNCTION + 2;
		sp = (uintptr_t)stack + bytes(2) % (STACK * PAGE) / 8 * 8;
		fp = byte() & 1 ? (uint64_t)(byte() % 4) * -8 : any_word();
		said = 0;
		ask_again(&t);
		mp_stack_interval(&t);
		mp_capture(&t, pc, sp, fp);
		built = said;
		mp_stack_forget(&t);
		said = 0;
		ask_again(&t);
		mp_capture(&t, pc, sp, fp);
		if (said != built)
			abort();
		words[bytes(2) % (STACK * PAGE / 8)] = any_word();
	}
	ask_again(&t);
	if (mp_cache_prepare(&t, sp))
		walk_with_registers(&t, sp);
	return 0;
}
