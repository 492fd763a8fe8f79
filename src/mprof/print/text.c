// SPDX-License-Identifier: LGPL-3.0-or-later
/* text.c - bars, sizes and names for people. */
#include "text.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../run/process.h"
#include "../util/alloc.h"
#include "../util/terminal.h"

/* Puts n eighths of a column; the remainder is a partial block. */
static void put_blocks(char *to, unsigned n)
{
	for (; n >= 8; n -= 8, to += strlen(to))
		strcpy(to, "\u2588");
	if (n)
		sprintf(to, "\xe2\x96%c", (char)(0x90 - (int)n));
}

struct long_text text_bar(uint64_t part, uint64_t of, int width)
{
	struct long_text t = { "" };
	const unsigned parts = terminal_unicode() ? 8 : 1;
	unsigned n;

	if (width > LONGEST_BAR)
		width = LONGEST_BAR;
	/* Sums of a damaged trace may have overflowed, so a part may exceed the whole. */
	if (part >= of)
		n = part ? (unsigned)width * parts : 0;
	else
		n = (unsigned)((double)width * parts * (double)part / (double)of + 0.5);
	if (!n && part)
		n = 1;
	if (parts == 8)
		put_blocks(t.s, n);
	else
		memset(t.s, '#', n);
	return t;
}

/* Appends s with control characters made visible; false without space. */
static bool append(struct long_text *t, size_t *n, size_t room, const char *s)
{
	for (; *s; s++) {
		if (*n + 4 >= room)
			return false;
		t->s[(*n)++] = (unsigned char)*s < ' ' || *s == 0x7f ? ' ' : *s;
	}
	return true;
}

/* Has it only one argument, with blanks: a title that the program wrote over its arguments? */
static bool is_title(const struct trace_fact *image)
{
	size_t i = 1;

	while (i < image->argc && !*image->argv[i])
		i++;
	return i == image->argc && strchr(image->argv[0], ' ');
}

struct long_text text_command(const struct trace_fact *image, unsigned room)
{
	struct long_text t;
	bool whole = true;
	size_t n = 0, i;

	if (room > sizeof(t.s))
		room = sizeof(t.s);
	if (!image)
		whole = append(&t, &n, room, "(unknown)");
	else if (!image->argc)
		whole = append(&t, &n, room, *image->exe ? image->exe : "(unknown)");
	for (i = 0; image && i < image->argc && whole && (!i || !is_title(image)); i++)
		whole = (!i || append(&t, &n, room, " ")) &&
			append(&t, &n, room, *image->argv[i] ? image->argv[i] : "''");
	while (whole && n && t.s[n - 1] == ' ') /* of a title */
		n--;
	strcpy(t.s + n, whole ? "" : "...");
	return t;
}

struct long_text text_process(const struct tree_process *p, unsigned room)
{
	struct long_text command, t;

	if (!p->forked || p->images != 1 || p->title)
		return text_command(tree_image(p), room);
	command = text_command(tree_image(p), room - 8);
	snprintf(t.s, sizeof(t.s), "fork of %.*s", (int)sizeof(t.s) - 9, command.s);
	return t;
}

/* Did it run on this host, as far as is known? */
static bool is_from_here(const struct tree_process *p)
{
	return p->images && trace_host_is_here(p->image[0]->host);
}

bool text_runs(const struct tree_process *p)
{
	if (p->runs)
		return true;
	return p->end == TREE_UNKNOWN && is_from_here(p) &&
	       process_is_alive(p->pid, p->image[0]->fact->start_time);
}

int text_running(const struct tree *tree)
{
	for (size_t i = 0; i < tree->processes; i++)
		if (!tree->process[i].ran_on && !tree->process[i].detached &&
		    text_runs(&tree->process[i]))
			return tree->process[i].pid;
	return 0;
}

void text_growth(const struct tree *tree, const struct mprof_file_header *h, FILE *out)
{
	const int pid = text_running(tree);

	if (pid && !memcmp(h->magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE))
		fprintf(out,
			"  What grows: mprof ctl %d dump, later again, then mprof diff of both\n",
			pid);
}

/* What became of a process without a recorded end?  Only the host that it ran on knows. */
static const char *unknown_end(const struct tree_process *p)
{
	if (p->detached)
		return "was still running when mprof detached from it";
	if (p->ran_on || text_runs(p))
		return "was still running when this was written";
	return is_from_here(p) ? "ended unrecorded (killed, or by a system call of its own)"
			       : "has no recorded end (killed, or still running)";
}

struct text text_end(const struct tree_process *p)
{
	const char *signal = sigabbrev_np(p->status);
	struct text t;

	switch (p->end) {
	case TREE_EXITED:
		snprintf(t.s, sizeof(t.s), "exited with status %d", p->status);
		break;
	case TREE_KILLED:
		if (p->oom)
			snprintf(t.s, sizeof(t.s),
				 "was killed by SIGKILL (probably the out-of-memory killer)");
		else if (signal)
			snprintf(t.s, sizeof(t.s), "was killed by SIG%s", signal);
		else
			snprintf(t.s, sizeof(t.s), "was killed by signal %d", p->status);
		break;
	case TREE_BECAME:
		snprintf(t.s, sizeof(t.s), "became a program that is not recorded");
		break;
	default:
		snprintf(t.s, sizeof(t.s), "%s", unknown_end(p));
	}
	return t;
}

const char *text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

struct text text_power(unsigned power)
{
	const uint64_t low = power ? 1ull << (power - 1) : 0, high = power ? 2 * low - 1 : 0;
	struct text t;

	if (low < 2)
		snprintf(t.s, sizeof(t.s), "%" PRIu64, low);
	else if (low < 1024)
		snprintf(t.s, sizeof(t.s), "%" PRIu64 " - %" PRIu64, low, high);
	else
		snprintf(t.s, sizeof(t.s), "from %.58s", format_bytes(low).s);
	return t;
}

/*
 * A title that the program gave itself: "nginx: worker process /etc/nginx.conf", or
 * "puma 5.6.5 (tcp://localhost:80)", unless that is a path with blanks.
 */
static size_t title_name(const struct trace_fact *image, const char *first)
{
	const size_t colon = strcspn(first, ":"), word = strcspn(first, " /");

	if (first[colon] && first[colon + 1] == ' ')
		return colon;
	return word && first[word] == ' ' && strchr(first, '/') && image->argc && is_title(image) &&
		       strcmp(text_base(first), text_base(image->exe))
		   ? word
		   : 0;
}

char *text_program(const struct trace_fact *image)
{
	/* A loader was started with the program as its argument: use the name of that. */
	const bool loader = image->argc && !fnmatch("ld*.so*", text_base(image->argv[0]), 0);
	const char *first = image->argc && !(loader && *image->exe) ? image->argv[0] : image->exe;
	const size_t n = title_name(image, first);
	char *title = must_strndup(first, n ?: strlen(first));
	char *name = must_strdup(text_base(title));

	free(title);
	return name;
}
