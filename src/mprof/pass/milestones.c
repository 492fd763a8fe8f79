// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * milestones.c - see milestones.h.
 *
 * A file is a head, a row for each milestone, for the end and for groups, and their frames.
 */
#include "milestones.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../util/cache_directory.h"
#include "sites_state.h"
#include "walk_state.h"

#define MAGIC	 "mprofmst"
#define BUILD_ID 20u
#define ROWS	 4096u
#define NAME	 64u
#define LEVEL	 (-4) /* of zstd: most files are read seldom, so writing must be fast */

/* The content that a file describes, and who can read it. */
struct identity {
	uint8_t run_id[16];
	uint8_t build_id[BUILD_ID];
	uint32_t zero;
	uint64_t device, inode, bytes;
	int64_t changed_ns;
};

/* The results of walks besides milestones. */
struct known {
	/* 1 if a walk from the start to the end left them: they have the moments of the run, and
	 * there will be no more. */
	uint32_t whole;
	uint32_t passes, no_pages; /* of the walk that left the end; 0 if none did */
	uint32_t zero;
};

struct head {
	char magic[8];
	struct identity of;
	struct known known;
	uint32_t rows;	/* number of milestones; two more rows are for the end and for groups */
	uint32_t check; /* checksum of the rows */
	uint64_t head_check; /* checksum of all fields above */
};

struct row {
	struct trace_place place;
	uint64_t before;     /* number of the last event before it */
	uint64_t most_ticks; /* latest time at the end of a batch before it */
	uint64_t at, bytes;  /* offset and size of its frame in the file */
	uint64_t plain;
	uint64_t check;
};

struct milestone {
	struct row row;
	struct state_frame frame; /* bytes NULL = it is still in the file */
};

struct milestones {
	struct trace *trace;
	struct identity of;
	int directory, file; /* -1 if closed */
	char name[NAME];
	struct milestone *item;
	size_t n, room;
	struct milestone end;	 /* passes before finish(); without bytes if it was too large */
	struct milestone groups; /* maxima of groups of sites, and which groups they are */
	struct known known;
	/* For the walk: */
	struct sites *sites;
	const struct milestone *from; /* NULL = the start; may be the end */
	uint8_t *groups_plain;	      /* groups, if the walk begins at the end and needs them */
	uint8_t *plain;		      /* plain bytes of `from` */
	struct packer *packer;	      /* NULL if it leaves none */
	struct byte_column column;
	uint64_t most_ticks;
	size_t kept; /* bytes of frames */
	unsigned apart;
	bool failed, added;
};

/* ---- which trace, which build ---- */

static int find_build_id(struct dl_phdr_info *info, size_t size, void *to)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const char *p = (const char *)info->dlpi_addr + ph->p_vaddr;
		const char *end = p + ph->p_memsz;

		while (ph->p_type == PT_NOTE && end - p >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *n = (const void *)p;
			const char *bytes = (const char *)(n + 1) + ((n->n_namesz + 3) & ~3u);

			if (n->n_type == NT_GNU_BUILD_ID && n->n_descsz == BUILD_ID &&
			    n->n_namesz == 4 && !memcmp(n + 1, "GNU", 4)) {
				memcpy(to, bytes, BUILD_ID);
				return 1;
			}
			p = bytes + ((n->n_descsz + 3) & ~3u);
		}
	}
	return -1; /* the first object is the program */
}

/* False if the file that is read could not be distinguished from another one. */
static bool identify(struct milestones *m)
{
	const struct mprof_file_header *h = trace_header(m->trace);
	struct stat st;

	if (stat(trace_path(m->trace), &st) || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != trace_bytes(m->trace) ||
	    dl_iterate_phdr(find_build_id, m->of.build_id) != 1)
		return false;
	memcpy(m->of.run_id, h->run_id, sizeof(h->run_id));
	m->of.device = st.st_dev;
	m->of.inode = st.st_ino;
	m->of.bytes = (uint64_t)st.st_size;
	m->of.changed_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	return true;
}

static void name_file(struct milestones *m)
{
	size_t n = 0;

	for (size_t i = 0; i < sizeof(m->of.run_id); i++)
		n += (size_t)snprintf(m->name + n, NAME - n, "%02x", m->of.run_id[i]);
	snprintf(m->name + n, NAME - n, "-%08x", mprof_checksum(&m->of, sizeof(m->of)));
}

/* ---- reading ---- */

static bool read_at(int fd, void *to, size_t bytes, uint64_t at)
{
	ssize_t got = 1;

	for (size_t n = 0; n < bytes && got > 0; n += (size_t)got)
		got = pread(fd, (char *)to + n, bytes - n, (off_t)(at + n));
	return got > 0;
}

#define MORE 2u /* more rows: for the end and for groups */

static bool take_rows(struct milestones *m, const struct head *head)
{
	struct row *row = calloc(head->rows + MORE, sizeof(*row));
	const size_t bytes = (head->rows + MORE) * sizeof(*row);
	bool good;

	m->item = calloc(head->rows + 1, sizeof(*m->item));
	good = row && m->item && read_at(m->file, row, bytes, sizeof(*head)) &&
	       mprof_checksum(row, bytes) == head->check;
	if (good) {
		m->n = m->room = head->rows;
		for (size_t i = 0; i < m->n; i++) {
			m->item[i].row = row[i];
			m->kept += row[i].bytes;
		}
		m->end.row = row[m->n];
		m->groups.row = row[m->n + 1];
	}
	free(row);
	return good;
}

static void open_file(struct milestones *m)
{
	struct head head;
	struct stat st;

	m->file = openat(m->directory, m->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (m->file < 0 || fstat(m->file, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    !read_at(m->file, &head, sizeof(head), 0) ||
	    memcmp(head.magic, MAGIC, sizeof(head.magic)) ||
	    mprof_checksum(&head, offsetof(struct head, head_check)) != head.head_check ||
	    memcmp(&head.of, &m->of, sizeof(head.of)) || head.rows > ROWS || !take_rows(m, &head))
		return;
	m->known = head.known;
	futimens(m->file, NULL); /* marks it as used: see util/cache_directory.h */
}

struct milestones *milestones_open(struct trace *t)
{
	struct milestones *m;
	char name[32];

	if (trace_source(t) || trace_is_copy(t) ||
	    !(trace_header(t)->flags & MPROF_FILE_COMPRESSED) || !trace_has_events(t) ||
	    trace_bytes(t) < MILESTONES_TRACE || trace_is_damaged(trace_damage(t)))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->trace = t;
	m->directory = m->file = -1;
	m->apart = MILESTONES_APART;
	snprintf(name, sizeof(name), "milestones-%d", MILESTONES_FORMAT);
	if (identify(m))
		m->directory = cache_directory(name);
	if (m->directory < 0) {
		milestones_close(m, false);
		return NULL;
	}
	name_file(m);
	open_file(m);
	return m;
}

static void drop(struct milestones *m, struct milestone *x)
{
	m->kept -= x->row.bytes;
	free(x->frame.bytes);
}

static void drop_all(struct milestones *m)
{
	for (size_t i = 0; i < m->n; i++)
		drop(m, &m->item[i]);
	m->n = 0;
	m->known.whole = false;
}

/* Loads its frame; false if it is damaged. */
static bool load(struct milestones *m, struct milestone *x)
{
	struct state_frame *f = &x->frame;
	const struct row *r = &x->row;

	if (f->bytes)
		return true;
	if (r->bytes > 2 * MILESTONES_MOST || r->plain > UINT32_MAX || !r->bytes)
		return false;
	*f = (struct state_frame){ malloc(r->bytes), r->bytes, r->plain };
	if (f->bytes && read_at(m->file, f->bytes, f->count, r->at) &&
	    mprof_checksum(f->bytes, f->count) == r->check)
		return true;
	free(f->bytes);
	*f = (struct state_frame){ .bytes = NULL };
	return false;
}

/* Returns its bytes, which the caller frees; NULL if x is empty or damaged. */
static uint8_t *unpack(struct milestones *m, struct milestone *x)
{
	return load(m, x) ? state_frame_plain(&x->frame) : NULL;
}

/* ---- where a walk begins ---- */

static bool is_before(const struct row *r, const struct walk_until *until)
{
	return until->event ? r->before < until->event : r->most_ticks <= until->ticks;
}

/* A milestone for a requested time must be earlier by more than events in a batch may be out of
 * order. */
#define TIMES_BEHIND 1u

static size_t last_before(const struct milestones *m, const struct sites *s)
{
	const struct sites_options *o = &s->options;
	const uint64_t from = o->filter.from_ns > 0 ? (uint64_t)o->filter.from_ns : 0;
	const struct walk_until begin = { .ticks = trace_ticks(m->trace, from) };
	const bool window = !o->until.set;
	size_t n = m->n;

	while (n && !is_before(&m->item[n - 1].row, window ? &begin : &o->until))
		n--;
	return window && n ? n - TIMES_BEHIND : n;
}

/* Can these sites continue from a milestone? */
static bool can_go_on(const struct milestones *m, const struct sites_options *o)
{
	if (o->until.set)
		return sites_state_is_usual(o);
	return m->known.whole && o->filter.from_ns > 0 &&
	       o->temporary_events <= SITE_TEMPORARY_EVENTS;
}

static void find_start(struct milestones *m)
{
	size_t n = can_go_on(m, &m->sites->options) ? last_before(m, m->sites) : 0;

	if (!n)
		return;
	m->plain = unpack(m, &m->item[n - 1]);
	if (m->plain)
		m->from = &m->item[n - 1];
	else
		drop_all(m); /* this walk leaves new ones */
}

/* Would a walk of the whole trace leave no more at its end than is known? */
static bool is_covered(const struct milestones *m, const struct walk *w)
{
	const struct known *k = &m->known;

	return k->passes &&
	       (w->passes == 1 || (w->passes == k->passes && k->no_pages <= w->no_pages));
}

static struct cursor plain_of(const struct milestone *x, const uint8_t *plain)
{
	return (struct cursor){ plain, plain + x->frame.plain };
}

static bool are_groups_known(struct milestones *m)
{
	m->groups_plain = unpack(m, &m->groups);
	return m->groups_plain &&
	       sites_groups_match(m->sites, plain_of(&m->groups, m->groups_plain));
}

/* own_peaks: groups, if the sites have any, need their maxima. */
static void find_end(struct milestones *m, const struct walk *w, bool own_peaks)
{
	const struct sites_options *o = &m->sites->options;

	if (o->until.set || !sites_state_is_usual(o) || !is_covered(m, w) ||
	    (own_peaks && o->group && !are_groups_known(m)))
		return;
	m->plain = unpack(m, &m->end);
	if (m->plain)
		m->from = &m->end;
	else if (m->end.row.bytes)
		m->known.passes = 0; /* this walk leaves another end */
}

static size_t resume(void *self, struct walk *w)
{
	struct milestones *m = self;
	const bool over = m->from == &m->end;
	struct cursor from = plain_of(m->from, m->plain);
	const size_t here = walk_state_get(w, m->trace, over ? NULL : &m->from->row.place, &from);

	if (over)
		sites_end_get(m->sites, &from, m->plain);
	else
		sites_state_get(m->sites, &from);
	for (size_t i = 0; over && i < w->passes; i++)
		if (w->pass[i].ops != &sites_pass)
			pass_state_get(&w->pass[i], &from);
	if (over && m->groups_plain)
		sites_groups_get(m->sites, plain_of(&m->groups, m->groups_plain));
	m->most_ticks = m->from->row.most_ticks;
	if (!over)
		free(m->plain);
	m->plain = NULL;
	return here;
}

/* ---- what a walk leaves ---- */

static struct milestone *next_item(struct milestones *m)
{
	const size_t room = m->room ? 2 * m->room : 16;
	struct milestone *more;

	if (m->n < m->room)
		return &m->item[m->n];
	more = m->n < ROWS ? reallocarray(m->item, room, sizeof(*more)) : NULL;
	if (!more)
		return NULL;
	m->item = more;
	m->room = room;
	return &m->item[m->n];
}

/* Drops every second milestone. */
static void thin(struct milestones *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (i & 1)
			m->item[n++] = m->item[i];
		else
			drop(m, &m->item[i]);
	m->n = n;
	m->apart *= 2;
}

static void leave(struct milestones *m, const struct walk *w, size_t here,
		  const struct trace_place *place)
{
	struct milestone *x = next_item(m);

	m->failed |= !x;
	if (m->failed)
		return;
	*x = (struct milestone){
		.row = { .place = *place, .before = w->events, .most_ticks = m->most_ticks }
	};
	walk_state_put(w, m->trace, here, &m->column);
	sites_state_put(m->sites, &m->column);
	if (!state_frame_put(m->packer, &m->column, &x->frame)) {
		m->failed = true;
		return;
	}
	m->added = true;
	x->row.bytes = x->frame.count;
	x->row.plain = x->frame.plain;
	m->kept += x->row.bytes;
	m->n++;
	while (m->kept > MILESTONES_MOST && m->n)
		thin(m);
}

/* Called at the beginning of a group, so that nothing has to be decoded to get there. */
static void between(void *self, struct walk *w, size_t here)
{
	struct milestones *m = self;
	const uint64_t last = m->n ? m->item[m->n - 1].row.before : 0;
	struct trace_place place;

	if (w->events && w->last_ticks > m->most_ticks)
		m->most_ticks = w->last_ticks;
	if (!m->packer || m->failed || w->events <= last ||
	    w->events - last <
		(uint64_t)m->apart * (w->heap.all.blocks + sites_state_rows(m->sites)) ||
	    !trace_place(m->trace, &place) || place.events > WINDOW_BATCH)
		return;
	m->failed |= !place.whole;
	if (!m->failed && w->events > place.events)
		leave(m, w, here, &place);
}

static void pack_begin(struct milestone *x)
{
	free(x->frame.bytes);
	*x = (struct milestone){ .row = { .at = 0 } };
}

/* Packs the bytes of the column behind those that *x has. */
static void pack(struct milestones *m, struct milestone *x)
{
	m->failed |= !state_frame_put(m->packer, &m->column, &x->frame);
}

static void pack_end(struct milestones *m, struct milestone *x)
{
	if (x->frame.count > MILESTONES_MOST) {
		free(x->frame.bytes);
		x->frame = (struct state_frame){ .bytes = NULL };
	}
	x->row.bytes = x->frame.count;
	x->row.plain = x->frame.plain;
	m->added = true;
}

/* Packs the largest part from where it is. */
static void pack_the_end(struct milestones *m, const struct walk *w)
{
	struct milestone *x = &m->end;
	const struct byte_column *sites;

	pack_begin(x);
	walk_state_put(w, NULL, 0, &m->column);
	sites = sites_end_put(m->sites, &m->column);
	pack(m, x);
	m->failed |= sites->failed || !state_frame_add(m->packer, sites->byte, sites->n, &x->frame);
	for (size_t i = 0; i < w->passes; i++)
		if (w->pass[i].ops != &sites_pass)
			pass_state_put(&w->pass[i], &m->column);
	pack(m, x);
	pack_end(m, x);
}

/* Called when all events were delivered. */
static void ended(void *self, struct walk *w)
{
	struct milestones *m = self;

	if (!m->packer)
		return;
	if (m->sites->options.group) {
		sites_groups_put(m->sites, &m->column);
		pack_begin(&m->groups);
		pack(m, &m->groups);
		pack_end(m, &m->groups);
	}
	if (!is_covered(m, w)) {
		pack_the_end(m, w);
		m->known.passes = (uint32_t)w->passes;
		m->known.no_pages = w->no_pages;
	}
}

void milestones_walk(struct milestones *m, struct walk *w, struct sites *s, bool own_peaks)
{
	const struct sites_options *o = &s->options;

	if (!m)
		return;
	m->sites = s;
	find_end(m, w, own_peaks);
	if (!m->from && !own_peaks && w->passes == 1)
		find_start(m);
	if (m->from) {
		w->resume = resume;
		w->resume_context = m;
	}
	if (m->from == &m->end || !sites_state_is_usual(o) || (o->until.set && m->known.whole))
		return;
	m->packer = packer_new(LEVEL);
	w->between_context = m;
	if (!m->known.whole)
		w->between = between;
	if (o->until.set)
		return;
	w->ended = ended;
	if (!m->known.whole)
		drop_all(m);
}

/* ---- writing ---- */

static bool write_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;
	ssize_t done;

	for (; n; at += done, n -= (size_t)done) {
		done = write(fd, at, n);
		if (done <= 0)
			return false;
	}
	return true;
}

/* Returns milestones, then the end, then groups. */
static struct milestone *part(struct milestones *m, size_t i)
{
	return i < m->n ? &m->item[i] : i == m->n ? &m->end : &m->groups;
}

static bool write_rows(struct milestones *m, int fd)
{
	const size_t n = m->n + MORE, bytes = n * sizeof(struct row);
	struct row *row = calloc(n, sizeof(*row));
	struct head head = { .of = m->of, .rows = (uint32_t)m->n, .known = m->known };
	uint64_t at = sizeof(head) + bytes;
	bool good = row;

	memcpy(head.magic, MAGIC, sizeof(head.magic));
	for (size_t i = 0; i < n && good; i++) {
		struct milestone *x = part(m, i);

		x->row.at = at;
		x->row.check = mprof_checksum(x->frame.bytes, x->frame.count);
		at += x->frame.count;
		row[i] = x->row;
	}
	if (good)
		head.check = mprof_checksum(row, bytes);
	head.head_check = mprof_checksum(&head, offsetof(struct head, head_check));
	good = good && write_all(fd, &head, sizeof(head)) && write_all(fd, row, bytes);
	for (size_t i = 0; i < n && good; i++)
		good = write_all(fd, part(m, i)->frame.bytes, part(m, i)->frame.count);
	free(row);
	return good;
}

/* Drops damaged frames of the old file, which must not prevent writing the others. */
static void drop_damaged(struct milestones *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		if (load(m, &m->item[i]))
			m->item[n++] = m->item[i];
		else
			drop(m, &m->item[i]);
	m->n = n;
	if (m->end.row.bytes && !load(m, &m->end))
		m->end.row.bytes = m->known.passes = 0;
	if (!load(m, &m->groups))
		m->groups.row.bytes = 0;
}

static void write_file(struct milestones *m)
{
	struct timespec now;
	char name[2 * NAME];
	bool good;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(name, sizeof(name), "%s.%d.%ld", m->name, (int)getpid(), now.tv_nsec);
	fd = openat(m->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	good = write_rows(m, fd);
	if (close(fd) || !good || renameat(m->directory, name, m->directory, m->name))
		unlinkat(m->directory, name, 0);
	cache_directory_trim(m->directory, MILESTONES_CACHE);
}

void milestones_close(struct milestones *m, bool done)
{
	if (!m)
		return;
	if (done && m->added && !m->failed && !trace_is_damaged(trace_damage(m->trace))) {
		m->known.whole |= !m->sites->options.until.set;
		drop_damaged(m);
		write_file(m);
	}
	drop_all(m);
	free(m->end.frame.bytes);
	free(m->groups.frame.bytes);
	if (m->file >= 0)
		close(m->file);
	if (m->directory >= 0)
		close(m->directory);
	packer_free(m->packer);
	columns_free(&m->column, 1);
	free(m->plain);
	free(m->groups_plain);
	free(m->item);
	free(m);
}
