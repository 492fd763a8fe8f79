// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * loaded.c - which objects are mapped where, so that an address is resolved in the object that was
 * there at the time.
 *
 * An object is recorded when the first rule for one of its addresses is compiled: before any stack
 * through it is defined, without asking the loader for its list.  When an object is found where
 * another one used to be, the old one is recorded as unloaded, and all rules and stack numbers are
 * discarded. dlclose() (objects.c) invalidates all rules, so that this is noticed.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <mprof/module.h>

#include "config.h"
#include "local.h"
#include "stack_parts.h"
#include "sys.h"
#include "text.h"

#define OBJECTS	      4096u
#define SEGMENTS      16
#define BUILD_ID_MAX  64u
#define PATH_MAX_HERE 1024u

struct loaded {
	uintptr_t start, end, bias;
	uintptr_t data, data_end; /* its writable segments */
	uint64_t identity;	  /* hash of path and build-id */
	uint32_t number;	  /* in this process's stream; 0: not recorded yet */
	uint32_t gone;
	uint32_t checked; /* generation of rules for which it was checked; stored last */
};

/* A forked child inherits these, like rules and the table of stacks. */
static struct loaded *loaded;
static uint32_t count;

/* The contents of a record. */
struct facts {
	uint8_t id[BUILD_ID_MAX];
	uint32_t id_bytes, segments;
	uint64_t segment[SEGMENTS][3];
	char path[PATH_MAX_HERE];
};

static void loaded_note_segment(struct facts *f, uintptr_t bias, const ElfW(Phdr) * p)
{
	uint64_t flags = p->p_flags & (PF_R | PF_W | PF_X); /* 4 r, 2 w, 1 x as in ELF */

	if (f->segments == SEGMENTS)
		return;
	f->segment[f->segments][0] = bias + p->p_vaddr;
	f->segment[f->segments][1] = p->p_memsz;
	f->segment[f->segments][2] = p->p_offset | flags << 60;
	f->segments++;
}

static void loaded_note_build_id(struct facts *f, const char *at, size_t bytes, size_t align)
{
	align = align == 8 ? 8 : 4;
	if ((uintptr_t)at % align)
		return;
	while (bytes >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)at;
		const char *name = at + sizeof(*n), *desc;
		size_t left = bytes - sizeof(*n), named, described;

		named = ((size_t)n->n_namesz + align - 1) & ~(align - 1);
		described = ((size_t)n->n_descsz + align - 1) & ~(align - 1);
		if (named > left || n->n_descsz > left - named)
			return;
		desc = name + named;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
		    !__builtin_memcmp(name, "GNU", 4)) {
			f->id_bytes = n->n_descsz < BUILD_ID_MAX ? n->n_descsz : BUILD_ID_MAX;
			__builtin_memcpy(f->id, desc, f->id_bytes);
			return;
		}
		left -= named;
		bytes = left > described ? left - described : 0;
		at = desc + described;
	}
}

/* Is every page of the range readable?  The range is short. */
static int loaded_is_readable(uintptr_t at, size_t bytes)
{
	enum { PAGE = 4096, MOST = 16 * PAGE };

	if (bytes < sizeof(ElfW(Nhdr)) || bytes > MOST)
		return 0;
	for (uintptr_t page = at & -PAGE; page - (at & -PAGE) < (at & (PAGE - 1)) + bytes;
	     page += PAGE)
		if (!sys_readable((const void *)page))
			return 0;
	return 1;
}

/* Reads the ELF header, with which an object's mapping begins, and the program headers. */
static void loaded_read_headers(struct facts *f, const struct eh_object *o)
{
	const ElfW(Ehdr) *e = (const ElfW(Ehdr) *)o->start;
	const ElfW(Phdr) * p;

	if (o->end - o->start < 4096 || !sys_readable(e) ||
	    __builtin_memcmp(e->e_ident, ELFMAG, SELFMAG) || e->e_phentsize != sizeof(*p) ||
	    e->e_phoff > 4096 || e->e_phoff % 8 || e->e_phnum > (4096 - e->e_phoff) / sizeof(*p))
		return;
	p = (const ElfW(Phdr) *)(o->start + e->e_phoff);
	for (int i = 0; i < e->e_phnum; i++) {
		uintptr_t at = o->bias + p[i].p_vaddr;

		if (p[i].p_type == PT_LOAD)
			loaded_note_segment(f, o->bias, &p[i]);
		else if (p[i].p_type == PT_NOTE && !f->id_bytes && at >= o->start && at < o->end &&
			 p[i].p_memsz <= o->end - at && loaded_is_readable(at, p[i].p_memsz))
			loaded_note_build_id(f, (const char *)at, p[i].p_memsz, p[i].p_align);
	}
}

/* Stores the object's absolute path; the loader's list has no name for the program itself. */
static void loaded_read_path(struct facts *f, const char *name)
{
	struct text t = text_on(f->path, sizeof(f->path));
	long n;

	f->path[0] = 0;
	if (!name || !name[0])
		name = mp_known.exe;
	for (n = 0; name[n] && name[n] != '/'; n++)
		;
	if (name[0] != '/' && name[n]) { /* a name without a slash is the vdso's */
		n = sys_getcwd(f->path, sizeof(f->path));
		t.used = n > 1 ? (size_t)n - 1 : 0;
		text_char(&t, '/');
	}
	text_string(&t, name);
}

/* Removes the directory of the program and of its own libraries; the build-id identifies them. */
static void loaded_hide_directory(struct facts *f)
{
	const char *base = text_base(f->path);

	if (!mp_config.anonymous || !__builtin_strncmp(f->path, "/usr/", 5) ||
	    !__builtin_strncmp(f->path, "/lib", 4))
		return;
	__builtin_memmove(f->path, base, text_length(base) + 1);
}

static uint64_t loaded_identity(const struct facts *f)
{
	return (uint64_t)mprof_checksum(f->path, text_length(f->path)) << 32 ^
	       mprof_checksum(f->id, f->id_bytes);
}

/* Writes the OBJECT record.  The caller holds stacks_lock. */
static int loaded_record(struct loaded *l, const struct facts *f)
{
	static uint64_t words[1 + MPROF_OBJECT_WORDS + 3 * SEGMENTS +
			      (BUILD_ID_MAX + PATH_MAX_HERE) / 8]; /* guarded by the lock */
	uint32_t path = (uint32_t)text_length(f->path), n = 1;
	int ret;

	__builtin_memset(words, 0, sizeof(words));
	words[n++] = mprof_ticks();
	words[n++] = l->bias;
	words[n++] = l->start;
	words[n++] = l->end;
	words[n++] = f->segments | (uint64_t)f->id_bytes << 32;
	for (uint32_t i = 0; i < f->segments; i++)
		for (uint32_t k = 0; k < 3; k++)
			words[n++] = f->segment[i][k];
	__builtin_memcpy(words + n, f->id, f->id_bytes);
	n += (f->id_bytes + 7) / 8;
	__builtin_memcpy(words + n, f->path, path);
	n += (path + 7) / 8;
	words[0] = MPROF_RECORD_OBJECT | (uint64_t)(n - 1) << 4 | (uint64_t)path << 32;
	ret = mp_stacks_record(words, n);
	if (ret == 0)
		l->number = ++mp_local->objects;
	return ret;
}

static int loaded_record_gone(const struct loaded *l)
{
	const uint64_t words[2] = { MPROF_RECORD_GONE | (uint64_t)l->number << 32, mprof_ticks() };

	return l->number ? mp_stacks_record(words, 2) : 0;
}

static struct loaded *loaded_find(const struct eh_object *o)
{
	for (uint32_t i = 0; i < count; i++)
		if (loaded[i].start == o->start && loaded[i].end == o->end &&
		    loaded[i].bias == o->bias && !loaded[i].gone)
			return &loaded[i];
	return NULL;
}

/* Records that other objects at this place were unloaded; sets *others if there were any.  0 or
 * -errno. */
static int loaded_replace(const struct eh_object *o, int *others)
{
	int ret = 0;

	for (uint32_t i = 0; i < count; i++)
		if (loaded[i].start < o->end && o->start < loaded[i].end && !loaded[i].gone) {
			ret = ret < 0 ? ret : loaded_record_gone(&loaded[i]);
			loaded[i].gone = 1;
			*others = 1;
		}
	return ret;
}

static struct loaded *loaded_place(void)
{
	for (uint32_t i = 0; i < count; i++)
		if (loaded[i].gone)
			return &loaded[i];
	if (!loaded)
		loaded = sys_memory(OBJECTS * sizeof(*loaded));
	return loaded && count < OBJECTS ? &loaded[count++] : NULL;
}

static void loaded_find_data(struct loaded *l, const struct facts *f)
{
	for (uint32_t i = 0; i < f->segments; i++) {
		uintptr_t at = f->segment[i][0], end = at + f->segment[i][1];

		if (!(f->segment[i][2] >> 60 & PF_W))
			continue;
		l->data = l->data_end && l->data < at ? l->data : at;
		l->data_end = l->data_end > end ? l->data_end : end;
	}
}

/* Takes an entry for o, and records it in the stream.  0 or -errno. */
static int loaded_take_place(const struct eh_object *o, const struct facts *f, int *others)
{
	int ret = loaded_replace(o, others);
	struct loaded *l = loaded_place();

	if (!l)
		return ret;
	*l = (struct loaded){
		.start = o->start, .end = o->end, .bias = o->bias, .identity = loaded_identity(f)
	};
	loaded_find_data(l, f);
	return ret < 0 ? ret : loaded_record(l, f);
}

static const struct facts *loaded_read_facts(const struct eh_object *o)
{
	static struct facts f; /* guarded by the lock; too large for a small stack */

	f.id_bytes = f.segments = 0;
	loaded_read_headers(&f, o);
	loaded_read_path(&f, o->name);
	loaded_hide_directory(&f);
	return &f;
}

int mp_loaded_seen(const struct eh_object *o, int *others)
{
	uint32_t generation = mp_rules_generation;
	struct loaded *l = loaded_find(o);
	const struct facts *f;
	uint64_t signals;
	int ret;

	*others = 0;
	/* Pairs with the store below: a checked object has been recorded. */
	if (l && __atomic_load_n(&l->checked, __ATOMIC_ACQUIRE) == generation + 1)
		return 0;
	mp_stacks_lock(&signals);
	ret = mp_stacks_begin();
	f = loaded_read_facts(o);
	l = loaded_find(o);
	if (ret == 0 && (!l || l->identity != loaded_identity(f)))
		ret = loaded_take_place(o, f, others);
	l = loaded_find(o);
	if (l) /* the caller drops all rules if there were others */
		__atomic_store_n(&l->checked, generation + 1 + (*others ? RULES_FORGET : 0),
				 __ATOMIC_RELEASE);
	mp_stacks_unlock(&signals);
	return ret;
}

int mp_loaded_again(void)
{
	int ret = 0;

	for (uint32_t i = 0; i < count; i++)
		loaded[i].number = 0;
	for (uint32_t i = 0; i < count && ret == 0; i++) {
		struct eh_object o;

		if (loaded[i].gone || eh_object(loaded[i].start, &o) < 0 ||
		    o.start != loaded[i].start || o.bias != loaded[i].bias)
			continue;
		ret = loaded_record(&loaded[i], loaded_read_facts(&o));
	}
	return ret;
}

int mp_loaded_data(uint32_t i, uintptr_t *start, uintptr_t *end)
{
	if (i >= count)
		return 0;
	*start = loaded[i].data;
	*end = loaded[i].gone ? loaded[i].data : loaded[i].data_end;
	return 1;
}
