/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * frames.c - which pages the allocator has, and which of them are resident.
 *
 * Ranges come from /proc/self/maps: writable, anonymous, except the runner's own and those that
 * belong to an object (the .bss after its file, noted when frames are prepared).  Residency comes
 * from mincore, one piece at a time.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "run.h"

#define PIECE	 (64u << 20)
#define SPARSE	 (1ull << 30) /* larger mappings omit pieces without a resident page */
#define RANGES	 (1u << 17)
#define EXCLUDED 1024

struct line {
	uintptr_t begin, end;
	bool writable, anonymous, bss; /* bss: begins where the mapping of a file ends */
};

static int maps_fd = -1;
static size_t page;
static struct span excluded[EXCLUDED];
static size_t excluded_n;
static struct mprof_run_range *found; /* RANGES of them */
static size_t found_n;
static unsigned char resident[PIECE / PAGE + 1];
static unsigned char bits[PIECE / PAGE / 8 + 8];
static char text[1 << 16];

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *hex(const char *s, uintptr_t *v)
{
	for (*v = 0; digit(*s) >= 0; s++)
		*v = *v << 4 | (uintptr_t)digit(*s);
	return s;
}

static const char *skip_words(const char *s, int n)
{
	while (n--) {
		while (*s && *s != ' ')
			s++;
		while (*s == ' ')
			s++;
	}
	return s;
}

/* Parses "begin-end rw-p offset device inode    name". */
static struct line parse(const char *s)
{
	static uintptr_t file_end; /* end of the last mapping of a file */
	struct line l;
	const char *name;

	s = hex(s, &l.begin);
	s = hex(s + 1, &l.end);
	l.writable = s[2] == 'w';
	name = skip_words(s + 1, 4);
	l.anonymous = *name == 0 || !strncmp(name, "[heap]", 6) || !strncmp(name, "[anon", 5);
	l.bss = *name == 0 && l.begin == file_end;
	if (*name == '/')
		file_end = l.end;
	return l;
}

static void each_line(void (*use)(const struct line *))
{
	size_t have = 0;
	ssize_t n;
	char *end;

	lseek(maps_fd, 0, SEEK_SET);
	while ((n = read(maps_fd, text + have, sizeof(text) - 1 - have)) > 0) {
		char *line = text;

		have += (size_t)n;
		text[have] = 0;
		while ((end = memchr(line, '\n', have - (size_t)(line - text)))) {
			struct line l;

			*end = 0;
			l = parse(line);
			use(&l);
			line = end + 1;
		}
		have -= (size_t)(line - text);
		memmove(text, line, have);
	}
}

static void exclude(const struct line *l)
{
	if (l->bss && excluded_n < EXCLUDED)
		excluded[excluded_n++] = (struct span){ l->begin, l->end };
}

/* Stores the bits of a piece's pages; false if none is resident. */
static bool look(uintptr_t at, size_t bytes)
{
	bool any = false;

	watch_moved(); /* with a large heap, this takes a while */
	memset(bits, 0, (bytes / PAGE + 63) / 64 * 8);
	memset(resident, 0, bytes / page + 1);
	mincore((void *)at, bytes,
		resident); /* another thread unmapped it meanwhile: not resident */
	for (size_t i = 0; i < bytes / PAGE; i++)
		if (resident[i * PAGE / page] & 1) {
			bits[i / 8] |= (unsigned char)(1u << i % 8);
			any = true;
		}
	return any;
}

static void add(uintptr_t begin, uintptr_t end)
{
	bool sparse = end - begin > SPARSE;

	for (uintptr_t at = begin; at < end && found_n < RANGES; at += PIECE) {
		size_t bytes = end - at < PIECE ? end - at : PIECE;

		if (sparse && !look(at, bytes))
			continue;
		found[found_n++] = (struct mprof_run_range){ at, bytes / PAGE };
	}
}

/* Adds the parts of begin..end outside the spans from the i-th on: our own, then the excluded. */
static void add_rest(uintptr_t begin, uintptr_t end)
{
	const struct span *own, *s;
	size_t n;

	own = own_spans(&n);
	for (size_t i = 0; i < n + excluded_n; i++) {
		s = i < n ? &own[i] : &excluded[i - n];
		if (s->end <= begin || s->begin >= end)
			continue;
		if (s->begin > begin)
			add_rest(begin, s->begin);
		begin = s->end < end ? s->end : end;
	}
	if (begin < end)
		add(begin, end);
}

static void take(const struct line *l)
{
	if (l->writable && l->anonymous)
		add_rest(l->begin, l->end);
}

void frames_prepare(void)
{
	if (!settings.frames && !settings.at.n)
		return;
	page = (size_t)sysconf(_SC_PAGESIZE);
	maps_fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (maps_fd < 0)
		die_errno(STATUS_RUN, "cannot read", "/proc/self/maps");
	found = own_map(RANGES * sizeof(*found));
	memset(resident, 1, sizeof(resident));
	memset(bits, 1, sizeof(bits));
	memset(text, 1, sizeof(text));
	each_line(exclude);
}

static uint64_t bitmap_bytes(uint64_t pages)
{
	return (pages + 63) / 64 * 8;
}

void frame_tell(uint64_t op)
{
	struct mprof_run_frame f = { 0 };
	uint64_t bytes = sizeof(f);

	found_n = 0;
	each_line(take);
	sample_now(&f.sample, op);
	f.ranges = found_n;
	for (size_t i = 0; i < found_n; i++)
		bytes += sizeof(*found) + bitmap_bytes(found[i].pages);
	record_begin(MPROF_RUN_FRAME, bytes);
	record_bytes(&f, sizeof(f));
	for (size_t i = 0; i < found_n; i++) {
		look(found[i].addr, found[i].pages * PAGE);
		record_bytes(&found[i], sizeof(found[i]));
		record_bytes(bits, bitmap_bytes(found[i].pages));
	}
}
