// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * summary_names.c - finds names of addresses in the symbol tables of their files.
 *
 * dladdr knows only exported functions and takes the loader's lock.  So the .symtab of each object
 * (else its .dynsym) is read, and one pass looks each symbol up among the sorted addresses of that
 * object; only the names are kept.  An address without a symbol, or in a file that has been
 * replaced, is named object+0xoffset.
 */
#include <elf.h>
#include <errno.h>

#include "config.h"
#include "core.h"
#include "summary.h"
#include "sys.h"
#include "text.h"

#define SYMBOLS_MOST (1ull << 31) /* bytes of one table */

struct naming {
	struct summary *s;
	const struct summary_object *object;
	uint32_t *index; /* frames, by object and address */
	uint32_t n;
	uint64_t *best; /* by the same index: start of the symbol + 1, rank of its name */
	uint32_t *name; /* by the same index: offset of its name in the string table */
	int fd;
	Elf64_Ehdr head;
};

/* ---- frames by object and address ---- */

static int is_after(const struct summary *s, uint32_t a, uint32_t b)
{
	const struct summary_frame *x = &s->frame[a], *y = &s->frame[b];

	return x->object != y->object ? x->object > y->object : x->address > y->address;
}

static void sift(const struct summary *s, uint32_t *index, uint32_t at, uint32_t n)
{
	uint32_t v = index[at], child;

	for (; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && is_after(s, index[child + 1], index[child]))
			child++;
		if (!is_after(s, index[child], v))
			break;
		index[at] = index[child];
	}
	index[at] = v;
}

static void sort_frames(const struct summary *s, uint32_t *index, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		index[i] = i;
	for (uint32_t i = n / 2; i-- > 0;)
		sift(s, index, i, n);
	for (uint32_t i = n; i-- > 1;) {
		uint32_t last = index[i];

		index[i] = index[0];
		index[0] = last;
		sift(s, index, 0, i);
	}
}

/* ---- one object ---- */

static int read_at(int fd, void *to, uint64_t bytes, uint64_t offset)
{
	uint64_t got = 0;

	while (got < bytes) {
		long n = sys_pread(fd, (char *)to + got, bytes - got, offset + got);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return -1;
		got += (uint64_t)n;
	}
	return 0;
}

/* Reads a part of the file into memory that the caller unmaps (*bytes); NULL on failure. */
static void *part_of(const struct naming *m, const Elf64_Shdr *h)
{
	void *at = h->sh_size && h->sh_size < SYMBOLS_MOST ? sys_memory(h->sh_size + 1) : NULL;

	if (at && read_at(m->fd, at, h->sh_size, h->sh_offset) < 0) {
		sys_munmap(at, h->sh_size + 1);
		at = NULL;
	}
	return at;
}

static int section(const struct naming *m, unsigned i, Elf64_Shdr *h)
{
	return read_at(m->fd, h, sizeof(*h), m->head.e_shoff + (uint64_t)i * sizeof(*h));
}

/* Does the file have the object's build-id?  A rebuilt file has another one, and its functions
 * at other addresses. */
static int has_id(const struct naming *m)
{
	const struct summary_object *o = m->object;
	char note[512];
	Elf64_Shdr h;

	if (!o->id_bytes)
		return 1;
	for (unsigned i = 0; i < m->head.e_shnum; i++) {
		if (section(m, i, &h) < 0 || h.sh_type != SHT_NOTE || h.sh_size > sizeof(note) ||
		    read_at(m->fd, note, h.sh_size, h.sh_offset) < 0)
			continue;
		/* The id follows a header of three words and a name of four bytes. */
		for (uint64_t at = 16; at + o->id_bytes <= h.sh_size; at += 4)
			if (!__builtin_memcmp(note + at, o->build_id, o->id_bytes))
				return 1;
	}
	return 0;
}

static int open_object(struct naming *m)
{
	char *path = m->s->path; /* a handler's stack may be small */
	struct text t = text_on(path, sizeof(m->s->path));
	struct stat st;

	format_bytes(&t, m->object->path, m->object->path_bytes);
	/* ANONYMOUS: the build-id shows whether it is the program. */
	if (!t.full && path[0] != '/' && path[0] != '[') {
		t = text_on(path, sizeof(m->s->path));
		text_string(&t, "/proc/self/exe");
	}
	if (t.full || path[0] != '/')
		return -1;
	/* Opening a FIFO blocks, and a device may do anything. */
	if (sys_stat(path, &st, 0) < 0 || !S_ISREG(st.st_mode))
		return -1;
	m->fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (m->fd < 0)
		return -1;
	if (!sys_fstat(m->fd, &st) && S_ISREG(st.st_mode) &&
	    !read_at(m->fd, &m->head, sizeof(m->head), 0) &&
	    !__builtin_memcmp(m->head.e_ident, ELFMAG, SELFMAG) &&
	    m->head.e_ident[EI_CLASS] == ELFCLASS64 && m->head.e_shentsize == sizeof(Elf64_Shdr) &&
	    has_id(m))
		return 0;
	sys_close(m->fd);
	return -1;
}

static int find_table(const struct naming *m, unsigned type, Elf64_Shdr *symbols,
		      Elf64_Shdr *strings)
{
	for (unsigned i = 0; i < m->head.e_shnum; i++)
		if (!section(m, i, symbols) && symbols->sh_type == type &&
		    !section(m, symbols->sh_link, strings) && strings->sh_type == SHT_STRTAB)
			return 0;
	return -1;
}

static uint64_t offset_of(const struct naming *m, uint32_t place)
{
	return m->s->frame[m->index[place]].address - m->object->bias;
}

static uint32_t first_from(const struct naming *m, uint64_t value)
{
	uint32_t low = 0, high = m->n;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (offset_of(m, mid) < value)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Chooses among names for an address: prefers the innermost symbol, then a global one. */
static void take_symbol(struct naming *m, const Elf64_Sym *y, const char *strings, uint64_t bytes)
{
	const unsigned type = ELF64_ST_TYPE(y->st_info), bind = ELF64_ST_BIND(y->st_info);
	const uint64_t good = (y->st_value + 1) << 2 | (bind == STB_GLOBAL ? 3 : bind == STB_WEAK);

	if ((type != STT_FUNC && type != STT_GNU_IFUNC) || !y->st_shndx || !y->st_size ||
	    y->st_name >= bytes || !strings[y->st_name])
		return;
	for (uint32_t i = first_from(m, y->st_value);
	     i < m->n && offset_of(m, i) - y->st_value < y->st_size; i++)
		if (good > m->best[i]) {
			m->best[i] = good;
			m->name[i] = y->st_name;
		}
}

/* Copies the names, so that the symbol table can be unmapped. */
static void keep_names(struct naming *m, const char *strings, uint64_t bytes)
{
	struct summary *s = m->s;

	for (uint32_t i = 0; i < m->n; i++) {
		const char *name = strings + m->name[i];
		size_t n = 0, most = bytes - m->name[i];
		struct summary_frame *f = &s->frame[m->index[i]];

		if (!m->best[i])
			continue;
		/* Frames of one function are adjacent. */
		if (i && m->best[i - 1] == m->best[i] && m->name[i - 1] == m->name[i]) {
			f->name = s->frame[m->index[i - 1]].name;
			continue;
		}
		while (n < most && name[n])
			n++;
		if (n > s->text_bytes - s->text_used)
			continue; /* too many long names: some stay addresses */
		for (size_t k = 0; k < n; k++)
			s->text[s->text_used + k] = name[k] == ';'		   ? ':'
						    : (unsigned char)name[k] < ' ' ? '_'
										   : name[k];
		f->name = summary_name(s, s->text + s->text_used, n);
		s->text_used += n;
	}
}

static void name_object(struct naming *m)
{
	Elf64_Shdr symbols, strings;
	Elf64_Sym *table;
	char *text;

	if (mp_clock_monotonic_ns() - m->s->began_ns > SUMMARY_NAMING || open_object(m) < 0)
		return;
	if (!find_table(m, SHT_SYMTAB, &symbols, &strings) ||
	    !find_table(m, SHT_DYNSYM, &symbols, &strings)) {
		table = part_of(m, &symbols);
		text = part_of(m, &strings);
		for (uint64_t i = 0; table && text && i < symbols.sh_size / sizeof(*table); i++)
			take_symbol(m, &table[i], text, strings.sh_size);
		if (table && text)
			keep_names(m, text, strings.sh_size);
		if (table)
			sys_munmap(table, symbols.sh_size + 1);
		if (text)
			sys_munmap(text, strings.sh_size + 1);
	}
	sys_close(m->fd);
}

/* ---- frames without a symbol ---- */

static uint32_t made_up(struct summary *s, const struct summary_frame *f)
{
	const struct summary_object *o = f->object ? &s->object[f->object - 1] : NULL;
	const char *base = o ? o->path : "", *end = base + (o ? o->path_bytes : 0);
	uint64_t offset = f->address - (o ? o->bias : 0);
	char buffer[96];
	struct text t = text_on(buffer, sizeof(buffer));
	int width = 1;

	for (const char *p = base; p < end; p++)
		if (*p == '/')
			base = p + 1;
	for (; base < end && *base && t.used < 64; base++)
		text_char(&t, *base == ';' || (unsigned char)*base < ' ' ? '_' : *base);
	text_string(&t, o ? "+0x" : "0x");
	while (width < 16 && offset >> (4 * width))
		width++;
	text_hex(&t, offset, width);
	if (t.used > s->text_bytes - s->text_used)
		return summary_name(s, "(unknown)", 9);
	__builtin_memcpy(s->text + s->text_used, buffer, t.used);
	s->text_used += t.used;
	return summary_name(s, s->text + s->text_used - t.used, t.used);
}

/* Is the object our own library, whose frames are not the program's? */
static int is_ours(const struct summary_object *o)
{
	static const char ours[] = "/libmprof.so";
	const size_t n = sizeof(ours) - 1;

	for (size_t i = 0; i + n <= o->path_bytes; i++)
		if (!__builtin_memcmp(o->path + i, ours, n))
			return 1;
	return 0;
}

/* Our frames have an empty name, which is not printed; but lanes.h names blocks without a stack. */
static void name_ours(struct naming *m)
{
	static const char blocks[] = "_blocks";
	const size_t n = sizeof(blocks) - 1;

	if (mp_config.stack_min_size || mp_config.stack_max_size)
		name_object(m);
	for (uint32_t i = 0; i < m->n; i++) {
		struct summary_frame *f = &m->s->frame[m->index[i]];
		const struct summary_name *name = &m->s->name[f->name];

		if (!f->name || name->n < n || __builtin_memcmp(name->s + name->n - n, blocks, n))
			f->name = summary_name(m->s, "", 0);
	}
}

void summary_names(struct summary *s)
{
	const size_t n = (size_t)s->frames + 1;
	uint32_t *index = summary_memory(s, n * sizeof(*index)),
		 *name = summary_memory(s, n * sizeof(*name));
	uint64_t *best = summary_memory(s, n * sizeof(*best));
	struct naming m = { .s = s, .best = best, .name = name };

	if (!index || !name || !best)
		return;
	sort_frames(s, index, s->frames);
	for (uint32_t i = 0; i < s->frames; i += m.n) {
		const uint32_t object = s->frame[index[i]].object;

		m.index = index + i;
		for (m.n = 1; i + m.n < s->frames && s->frame[index[i + m.n]].object == object;)
			m.n++;
		__builtin_memset(best, 0, m.n * sizeof(*best));
		if (object) {
			m.object = &s->object[object - 1];
			if (is_ours(m.object))
				name_ours(&m);
			else
				name_object(&m);
		}
	}
	for (uint32_t i = 0; i < s->frames; i++)
		if (!s->frame[i].name)
			s->frame[i].name = made_up(s, &s->frame[i]);
}
