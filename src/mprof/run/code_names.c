// SPDX-License-Identifier: LGPL-3.0-or-later
/* code_names.c - see code_names.h. */
#include "code_names.h"

#include <fcntl.h>
#include <mprof/scripts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../trace/trace.h"
#include "../util/file_head.h"
#include "../util/order.h"
#include "process.h"

#define PATH_ROOM  64u
#define LINE_MOST  1024u       /* bytes; a longer name is cut */
#define MAP_MOST   (256 << 20) /* bytes of a map that are read */
#define NAMES_MOST (1u << 22)  /* names assigned to frames, including replaced ones */
#define FACT_MOST  256u	       /* names in a fact */

/* A frame in no object; sorted by address. */
struct frame {
	uint64_t address, ran; /* as recorded; an address in its instruction */
	char *name;	       /* "address name", or NULL */
};

struct frames {
	struct frame *of;
	size_t n, given;
	bool python; /* a map has a function of a Python script */
};

ORDER(by_ran, struct frame, RISING(ran) ?: RISING(address))

/* Does the file leave out arguments?  Then it also leaves out names of functions and files. */
static bool is_anonymous(const struct trace *t)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);

	for (size_t i = 0; i < n; i++)
		if (fact[i].argc)
			return false;
	return true;
}

static void take_frames(struct frames *f, const struct trace *t)
{
	const struct stacks *s = trace_stacks(t);

	f->of = is_anonymous(t) ? NULL : calloc(s->frames + 1, sizeof(*f->of));
	for (size_t i = 1; f->of && i < s->frames; i++) {
		const struct stack_frame *x = &s->frame[i];

		if (!x->object && x->address &&
		    !(x->flags & (STACK_FRAME_TRUNCATED | STACK_FRAME_LOST_WAY)))
			f->of[f->n++] =
			    (struct frame){ x->address,
					    x->address - !(x->flags & STACK_FRAME_EXACT), NULL };
	}
	SORT(f->of, f->n, by_ran);
}

static void find_frames(struct frames *f, const char *path)
{
	struct trace *t;

	if (trace_open(&t, path, NULL, NULL))
		return;
	take_frames(f, t);
	trace_close(t);
}

static void frames_release(struct frames *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->of[i].name);
	free(f->of);
}

/*
 * Opens a map of a process; NULL if it has none that may be read.  path: its name.  Processes of a
 * run of root may have become other users, as workers of a server do.
 */
static FILE *open_map(int pid, unsigned number, int64_t start_ns, char path[static PATH_ROOM])
{
	struct stat st;
	FILE *file;
	int fd;

	snprintf(path, PATH_ROOM, mprof_map_name(number), pid, number);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (!geteuid() || st.st_uid == geteuid()) &&
	    st.st_mtim.tv_sec >= start_ns / 1000000000 && (file = fdopen(fd, "r")))
		return file;
	close(fd);
	return NULL;
}

/* Returns the line in "name:line+", of which it leaves "name"; 0 in other names. */
static uint64_t cut_first_line(char *name)
{
	char *colon = strrchr(name, ':'), *end;
	uint64_t line;

	if (!colon || colon[1] < '0' || colon[1] > '9')
		return 0;
	line = strtoull(colon + 1, &end, 10);
	if (strcmp(end, "+") != 0)
		return 0;
	*colon = '\0';
	return line;
}

/* Names frames.  Code may be generated where other code was, so the last name counts. */
static void give(struct frames *f, uint64_t first, uint64_t bytes, char *name)
{
	const uint64_t end = first + bytes, line = cut_first_line(name);
	size_t i = FIRST_WHERE(k, f->n, f->of[k].ran >= first);

	for (; i < f->n && f->of[i].ran < end && f->given < NAMES_MOST; i++, f->given++) {
		char *text, number[24] = "";

		if (line)
			snprintf(number, sizeof(number), ":%" PRIu64, line + f->of[i].ran - first);
		if (asprintf(&text, "arg=%" PRIx64 " %s%s", f->of[i].address, name, number) < 0)
			return;
		free(f->of[i].name);
		f->of[i].name = text;
	}
}

/* Reads "7f0012340000 1c0 name". */
static void take_line(struct frames *f, char *line)
{
	uint64_t first, bytes;
	char *at;

	first = strtoull(line, &at, 16);
	if (at == line || *at != ' ')
		return;
	line = at;
	bytes = strtoull(line, &at, 16);
	if (at == line || *at != ' ' || !at[1] || first + bytes < first)
		return;
	f->python |= !strncmp(at + 1, "py::", 4);
	give(f, first, bytes, at + 1);
}

/* Returns true if libmprof_python.so wrote it, whose maps nobody else needs. */
static bool read_map(struct frames *f, FILE *file)
{
	bool begins = true, ours = false;
	char line[LINE_MOST];
	size_t read = 0, n;

	while (read < MAP_MOST && fgets(line, sizeof(line), file)) {
		const bool first = begins;

		n = strlen(line);
		ours |= !read && !strcmp(line, MPROF_MAP_BEGINS);
		read += n + !n;
		begins = n && line[n - 1] == '\n';
		line[n - begins] = '\0';
		if (first)
			take_line(f, line);
	}
	return ours;
}

/* Writes the names of a process, and removes them from the frames. */
static void put_names(struct frames *f, struct append *file, uint32_t process, int pid)
{
	struct mprof_fact fact = { .what = MPROF_FACT_CODE, .pid = pid };
	const char *text[FACT_MOST];
	size_t n = 0, i, first = 0;

	for (i = 0; i < f->n; i++) {
		if (f->of[i].name)
			text[n++] = f->of[i].name;
		if (n && (n == FACT_MOST || i + 1 == f->n)) {
			append_fact(file, process, &fact, text, n);
			n = 0;
			for (; first <= i; first++) {
				free(f->of[first].name);
				f->of[first].name = NULL;
			}
		}
	}
}

/* Is a line of a script among the frames? */
static bool has_script(const struct frames *f)
{
	const size_t i = FIRST_WHERE(k, f->n, f->of[k].ran >= MPROF_SCRIPT_LINES);

	return i < f->n && f->of[i].ran < MPROF_SCRIPT_LINES_END;
}

static enum code_python append_names(struct append *file, bool ended, bool python)
{
	enum code_python found = CODE_PYTHON_NAMED;
	struct frames f = { .of = NULL };
	char path[PATH_ROOM];
	bool looked = false;

	for (size_t i = 0; i < MPROF_PROCESS_TABLE * MPROF_MAPS; i++) {
		const struct mprof_process_entry e = append_process(file, i / MPROF_MAPS);
		FILE *map = e.number
				? open_map(e.pid, i % MPROF_MAPS, file->header->start_real_ns, path)
				: NULL;

		if (!map)
			continue;
		if (!looked)
			find_frames(&f, file->path);
		looked = true;
		if (read_map(&f, map) && ended)
			unlink(path);
		fclose(map);
		put_names(&f, file, e.number, e.pid);
	}
	if (python && !f.python) {
		if (!looked)
			find_frames(&f, file->path);
		found = has_script(&f) ? CODE_PYTHON_UNNAMED : CODE_NO_PYTHON;
	}
	frames_release(&f);
	return found;
}

void code_names_add(const char *path)
{
	struct mprof_file_header header;
	struct append a;

	if (file_head(path, &header, sizeof(header)) != sizeof(header) ||
	    append_open(&a, path, header.run_id))
		return;
	append_names(&a, false, false);
	append_close(&a);
}

enum code_python code_names_take(struct append *file, bool python)
{
	return append_names(file, true, python);
}

/* The trace takes over the names. */
static void give_names(struct frames *f, struct trace *t)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->of[i].name) {
			trace_add_code(t, f->of[i].name, sizeof("arg=") - 1);
			f->of[i].name = NULL;
		}
}

/* Has another process this PID now, since mprof was killed?  A map of that name may be its. */
static bool is_reused(const struct mprof_process_entry *e)
{
	struct process_memory m;

	return e->start_time && !process_memory(e->pid, &m) && m.start_time != e->start_time;
}

void code_names_read(struct trace *t)
{
	const struct mprof_file_header *h = trace_header(t);
	struct frames f = { .of = NULL };
	char path[PATH_ROOM];

	if (trace_source(t) || h->flags & (MPROF_FILE_COMPRESSED | MPROF_FILE_CLOSED))
		return;
	for (size_t i = 0; i < MPROF_PROCESS_TABLE * MPROF_MAPS; i++) {
		const struct mprof_process_entry *e = &h->process[i / MPROF_MAPS];
		FILE *map =
		    e->number ? open_map(e->pid, i % MPROF_MAPS, h->start_real_ns, path) : NULL;

		if (!map)
			continue;
		if (!f.of)
			take_frames(&f, t);
		if (!is_reused(e))
			read_map(&f, map);
		fclose(map);
		give_names(&f, t);
	}
	frames_release(&f);
	trace_sort_code(t);
}
