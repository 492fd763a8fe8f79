// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * tree.c - finds the processes and programs that ran, from the facts of a trace.
 *
 * How a process ended: the most reliable source is its parent (WAITED), then the live entry in the
 * header, then the process itself (END), which may not have been able to write it.
 */
#include "tree.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../util/order.h"
#include "../util/alloc.h"
#include "../trace/lost.h"
#include "rss.h"

ORDER(by_number, struct tree_process, RISING(number))

const struct tree_process *tree_find(const struct tree *r, uint32_t number)
{
	struct tree_process key = { .number = number };

	return r->processes ? bsearch(&key, r->process, r->processes, sizeof(key), by_number)
			    : NULL;
}

const struct tree_process *tree_parent(const struct tree *r, const struct tree_process *p)
{
	return p->parent < p->number ? tree_find(r, p->parent) : NULL;
}

const struct trace_fact *tree_image(const struct tree_process *p)
{
	return p->images ? p->image[p->images - 1] : NULL;
}

bool tree_is_image(const struct trace_fact *f)
{
	return f->fact->what == MPROF_FACT_START || f->fact->what == MPROF_FACT_EXEC;
}

bool tree_has_c_library(const struct trace_fact *image)
{
	return !*image->malloc_of && !strncmp(basename(image->allocator), "libc.so", 7);
}

/* ---- the list of processes ---- */

static void collect(struct tree *r, const struct walk_input *in)
{
	uint32_t *seen = must_calloc(in->fact_count + in->thread_count + 1, sizeof(*seen));
	size_t n = 0, i;

	r->process = must_calloc(in->fact_count + in->thread_count + 1, sizeof(*r->process));
	for (i = 0; i < in->fact_count; i++)
		seen[n++] = in->facts[i].process;
	for (i = 0; i < in->thread_count; i++)
		seen[n++] = in->threads[i].process;
	for (i = 0; i < n; i++)
		r->process[i].number = seen[i];
	free(seen);
	SORT(r->process, n, by_number);
	for (i = 0; i < n; i++)
		if (r->process[i].number &&
		    (!r->processes || r->process[r->processes - 1].number != r->process[i].number))
			r->process[r->processes++].number = r->process[i].number;
}

static void add_image(struct tree_process *p, const struct trace_fact *f)
{
	p->image = must_reallocarray(p->image, p->images + 1, sizeof(const struct trace_fact *));
	p->image[p->images++] = f;
}

static void add_start(struct tree_process *p, const struct mprof_fact *f)
{
	p->pid = f->pid;
	p->parent_pid = f->parent_pid;
	p->parent = f->parent;
	p->forked = f->fork_ticks != 0;
	p->start_ticks = f->ticks;
	p->start_time = f->start_time;
}

/* The kernel counts a process's start in hundredths of a second. */
static void add_attached(struct tree_process *p, const struct trace_fact *f)
{
	const uint64_t start = p->start_time * 10000000, now = (uint64_t)f->fact->mono_ns;

	p->held = strtoull(f->held, NULL, 10);
	p->freed = strtoull(f->freed, NULL, 10);

	p->attached = true;
	p->before_ns = start && start < now ? now - start : 0;
}

static void add_end(struct tree_process *p, const struct mprof_fact *f)
{
	if (f->what == MPROF_FACT_WAITED || p->end == TREE_UNKNOWN) {
		p->end = f->what == MPROF_FACT_WAITED && f->signal ? TREE_KILLED : TREE_EXITED;
		p->status = p->end == TREE_KILLED ? f->signal : f->status;
	}
	if (f->ticks > p->end_ticks)
		p->end_ticks = f->ticks;
	/* The figures of wait4 include children of the process; those of END do not, unless they
	 * were refused. */
	if (f->what == MPROF_FACT_END || !p->said_end || !(p->user_ns | p->system_ns)) {
		p->user_ns = f->user_ns;
		p->system_ns = f->system_ns;
		p->minor_faults = f->minor_faults;
		p->major_faults = f->major_faults;
	}
	p->said_end |= f->what == MPROF_FACT_END;
	if (f->what == MPROF_FACT_END)
		p->peak_rss_bytes = f->peak_rss_bytes;
	else
		p->waited_rss_bytes = f->peak_rss_bytes;
}

static void set_title(struct tree_process *p, const char *title)
{
	if (!p->forked || p->images != 1)
		return;
	p->titled = *p->image[0];
	p->title = title;
	p->titled.argv = &p->title;
	p->titled.argc = 1;
	p->image[0] = &p->titled;
}

void tree_title(struct tree_process *p, const char *title)
{
	const char *before = p->images && p->image[0]->argc ? p->image[0]->argv[0] : NULL;

	if (!before || !*title || !strcmp(before, title))
		return;
	free(p->title_found);
	p->title_found = must_strdup(title);
	set_title(p, p->title_found);
}

static void add_deepbind(struct tree *r, struct tree_process *p, const char *path, uint32_t how)
{
	p->bypass |= how == MPROF_BYPASS_NAMESPACE ? 1U << MPROF_BYPASS_NAMESPACE
						   : 1U << MPROF_BYPASS_DEEPBIND;
	p->deepbinds |= p->deepbind && strcmp(p->deepbind, path) != 0;
	r->deepbinds += !p->deepbind;
	p->deepbind = p->deepbind ?: path;
}

static void add_fact(struct tree *r, const struct trace_fact *f)
{
	struct tree_process *p = (struct tree_process *)tree_find(r, f->process);
	const struct mprof_fact *m = f->fact;

	if (m->what == MPROF_FACT_TOGETHER && m->together_bytes > r->together)
		r->together = m->together_bytes;
	if (!p)
		return;
	if (m->self_bytes > p->self_bytes)
		p->self_bytes = m->self_bytes;
	if (m->what == MPROF_FACT_START)
		add_start(p, m);
	if (tree_is_image(f)) {
		add_image(p, f);
		return;
	}
	if (m->what == MPROF_FACT_END || m->what == MPROF_FACT_WAITED)
		add_end(p, m);
	if (m->what == MPROF_FACT_END && f->argc)
		set_title(p, f->argv[0]);
	if (m->what == MPROF_FACT_STOPPED)
		p->stopped = f->why;
	if (m->what == MPROF_FACT_RESUMED)
		p->stopped = NULL;
	if (m->what == MPROF_FACT_ATTACHED)
		add_attached(p, f);
	if (m->what == MPROF_FACT_HUGE && m->huge_pages > p->huge_most)
		p->huge_most = m->huge_pages;
	if (m->what == MPROF_FACT_DETACHED)
		p->detached = true;
	if (m->what == MPROF_FACT_OUTLIVED)
		p->outlived = true;
	if (m->what == MPROF_FACT_DEEPBIND)
		add_deepbind(r, p, f->path, m->how);
}

/* The live entry has the losses, and an end that no fact recorded. */
static void add_entry(struct tree_process *p, const struct mprof_process_entry *e)
{
	int i;

	if (e->number != p->number)
		return;
	for (i = 0; i < MPROF_LOST_REASONS; i++)
		p->lost[i] = e->lost[i];
	if (e->self_bytes > p->self_bytes)
		p->self_bytes = e->self_bytes;
	if (!p->pid)
		p->pid = e->pid;
	if (e->state == MPROF_PROCESS_KILLED) {
		p->end = TREE_KILLED;
		p->status = e->status;
	} else if (e->state == MPROF_PROCESS_EXITED && p->end == TREE_UNKNOWN) {
		p->end = TREE_EXITED;
		p->status = e->status;
	}
}

static void add_mark(struct tree_process *p, uint64_t bytes)
{
	if (bytes > p->peak_rss_bytes)
		p->peak_rss_bytes = bytes;
}

static void add_samples(struct tree_process *p, const struct walk_input *in,
			const struct array *told)
{
	const struct mprof_sample *s = NULL;
	const struct trace_peak *peak;
	size_t n = rss_peaks(in, p->number, &peak), i;

	for (i = 0; i < n; i++)
		add_mark(p, peak[i].rss);

	p->samples = in->samples ? in->samples(in->context, p->number, &s) : 0;
	for (i = 0; i < p->samples; i++) {
		p->rss_most = s[i].rss > p->rss_most ? s[i].rss : p->rss_most;
		if (s[i].rss_anon > p->rss_anon_most)
			p->rss_anon_most = s[i].rss_anon;
		/* Counters of the kernel lag: a sample may be above its own mark. */
		add_mark(p, s[i].rss);
		add_mark(p, s[i].peak_rss);
	}
	add_mark(p, p->peak_rss_bytes ? rss_told(told, p->number) : p->waited_rss_bytes);
	/* If it was killed, and its parent recorded no figures of it. */
	if (!p->peak_rss_bytes && in->seen_resident)
		add_mark(p, in->seen_resident(in->context, p->number));
}

/* ---- what is missing ---- */

/* Did it call exec and not return from it?  Only the first processes have an entry for this. */
static bool is_execing(const struct walk_input *in, uint32_t process)
{
	return process - 1 < MPROF_PROCESS_TABLE &&
	       in->header->process[process - 1].state == MPROF_PROCESS_EXECING;
}

/* Is there a sign of its process after the fact? */
static bool has_later_sign(const struct walk_input *in, const struct trace_fact *f)
{
	const size_t at = (size_t)(f - in->facts);
	const struct trace_fact *other;
	size_t i;

	/* The next one is most likely close behind it. */
	for (i = 0; i < in->fact_count; i++) {
		other = &in->facts[(at + i) % in->fact_count];
		if (other->process == f->process && other->fact->ticks > f->fact->ticks &&
		    other->fact->what != MPROF_FACT_WAITED &&
		    other->fact->what != MPROF_FACT_HUGE &&
		    other->fact->what != MPROF_FACT_OUTLIVED)
			return true;
	}
	/* Its other threads continue until the kernel has ended them. */
	for (i = 0; !is_execing(in, f->process) && i < in->thread_count; i++)
		if (in->threads[i].process == f->process &&
		    in->threads[i].last_ticks > f->fact->ticks)
			return true;
	return false;
}

/* A program that began to be recorded. */
struct began {
	int32_t pid;
	uint32_t parent;
	uint64_t ticks;
};

struct begins {
	struct began *item;
	size_t n;
};

ORDER(by_pid, struct began, RISING(pid) ?: RISING(ticks))

static struct begins find_begins(const struct walk_input *in)
{
	struct begins b = { .item = must_calloc(in->fact_count + 1, sizeof(*b.item)) };
	size_t i;

	for (i = 0; i < in->fact_count; i++) {
		const struct mprof_fact *m = in->facts[i].fact;

		if (tree_is_image(&in->facts[i]))
			b.item[b.n++] = (struct began){ m->pid, m->parent, m->ticks };
	}
	SORT(b.item, b.n, by_pid);
	return b;
}

/* Did pid begin to be recorded, or run another program, not long before or any time after f? */
static bool pid_is_recorded(const struct begins *b, const struct trace_fact *f, int32_t pid)
{
	size_t i = FIRST_WHERE(k, b->n, b->item[k].pid >= pid);

	while (i < b->n && b->item[i].pid == pid && b->item[i].parent != f->process &&
	       b->item[i].ticks < f->fact->ticks)
		i++;
	return i < b->n && b->item[i].pid == pid;
}

/* After a failed exec there are signs of the process; after a successful one, of the new program.
 */
bool tree_became(const struct walk_input *in, const struct trace_fact *f)
{
	return f->fact->what == MPROF_FACT_EXECING && !f->fact->child_pid && !has_later_sign(in, f);
}

static bool is_missing(const struct walk_input *in, const struct begins *begins,
		       const struct trace_fact *f)
{
	const struct mprof_fact *m = f->fact;

	if (tree_became(in, f))
		return true;
	if (m->what == MPROF_FACT_EXECING ||
	    (m->what == MPROF_FACT_CHILD && m->how == MPROF_CHILD_SPAWN))
		return m->child_pid && !pid_is_recorded(begins, f, m->child_pid);
	return false;
}

/* A vfork child writes EXECING and its parent CHILD: one of the two is enough. */
static struct tree_missing *listed(const struct tree *r, int32_t pid, uint32_t parent)
{
	size_t i;

	for (i = 0; i < r->missing_count; i++)
		if (r->missing[i].pid == pid && r->missing[i].parent == parent)
			return &r->missing[i];
	return NULL;
}

static void drop_listed(struct tree *r, struct tree_missing *m)
{
	if (m)
		memmove(m, m + 1, (size_t)(r->missing + r->missing_count-- - m - 1) * sizeof(*m));
}

/* A process that cannot record leaves a line "PID EXE: REASON" with mprof.  Returns the reason. */
static const char *note_of(const struct walk_input *in, int32_t pid)
{
	const char *reason;
	char *end;

	for (size_t i = 0; i < in->fact_count; i++) {
		const struct trace_fact *f = &in->facts[i];

		if (f->fact->what != MPROF_FACT_OUTSIDE || f->process ||
		    strtol(f->why, &end, 10) != pid || *end != ' ')
			continue;
		reason = strstr(end, ": ");
		if (reason)
			return reason + 2;
	}
	return NULL;
}

static bool is_exec(const struct trace_fact *f, enum mprof_exec_how how)
{
	return f->fact->what == MPROF_FACT_EXECING && f->fact->how == how;
}

void tree_missing(struct tree *r, const struct walk_input *in)
{
	struct begins begins = find_begins(in);
	struct tree_missing *other;
	struct tree_process *p;
	size_t i;

	r->missing = must_calloc(in->fact_count + 1, sizeof(*r->missing));
	for (i = 0; i < in->fact_count; i++) {
		const struct trace_fact *f = &in->facts[i];
		int32_t pid = f->fact->child_pid ? f->fact->child_pid : f->fact->pid;

		if (f->fact->what == MPROF_FACT_RETURNED)
			drop_listed(r, listed(r, pid, f->process));
		if (!is_missing(in, &begins, f))
			continue;
		other = listed(r, pid, f->process);
		if (other && f->fact->what == MPROF_FACT_EXECING)
			other->path = f->path; /* an older library does not say that exec failed */
		if (other)
			continue;
		p = (struct tree_process *)tree_find(r, f->process);
		if (p && !f->fact->child_pid && p->end == TREE_UNKNOWN)
			p->end = TREE_BECAME;
		/* It was left out on request, as far as is known. */
		if (in->header && in->header->flags & MPROF_FILE_FILTERED && f->fact->env_kept)
			continue;
		r->missing[r->missing_count++] = (struct tree_missing){
			.pid = pid,
			.parent = f->process,
			.became = !f->fact->child_pid,
			.environment = !f->fact->env_kept,
			.denied = is_exec(f, MPROF_EXEC_DENIED),
			.apart = is_exec(f, MPROF_EXEC_OUT_OF_REACH),
			.how = f->fact->what == MPROF_FACT_EXECING ? f->fact->how : 0,
			.path = f->path,
			.note = note_of(in, pid),
		};
	}
	free(begins.item);
}

/*
 * ---- kills of the out-of-memory killer, which the kernel only counts ----
 *
 * It chooses the largest; others may have been killed by anyone, at any time.  A victim shows no
 * sign of life long after the kill, and its parent saw it end after the kill, perhaps much later.
 */

#define DYING_SECONDS                                                              \
	10 /* the longest from the kill until its memory is free, and it has ended \
	    */

/* Between since and until, a victim can have shown the last sign of life. */
struct kills {
	uint64_t since, until;
	uint32_t n;
};

static bool kills_of(struct kills *k, const struct walk_input *in, const struct mprof_fact *f)
{
	*k = (struct kills){ .until = UINT64_MAX, .n = f->how };
	if (f->what == MPROF_FACT_OOM) {
		k->since = f->since_ticks;
		k->until = f->ticks + DYING_SECONDS * in->header->clock_hz;
	}
	return k->n && (f->what == MPROF_FACT_OOM || f->what == MPROF_FACT_WAITED);
}

static void add_sign(const struct tree *r, uint64_t *sign, uint32_t process, uint64_t ticks)
{
	const size_t at = FIRST_WHERE(k, r->processes, r->process[k].number >= process);

	if (at < r->processes && r->process[at].number == process && ticks > sign[at])
		sign[at] = ticks;
}

/* Returns when each process showed the last sign of life.  The caller frees it. */
static uint64_t *last_signs(const struct tree *r, const struct walk_input *in)
{
	uint64_t *sign = must_calloc(r->processes + 1, sizeof(*sign));
	const struct mprof_sample *sample;
	size_t i, n;

	for (i = 0; i < in->thread_count; i++)
		add_sign(r, sign, in->threads[i].process, in->threads[i].last_ticks);
	for (i = 0; i < in->fact_count; i++)
		if (in->facts[i].fact->what != MPROF_FACT_WAITED)
			add_sign(r, sign, in->facts[i].process, in->facts[i].fact->ticks);
	for (i = 0; i < r->processes; i++) {
		const struct tree_process *p = &r->process[i];

		n = in->samples ? in->samples(in->context, p->number, &sample) : 0;
		while (n && !sample[n - 1].rss) /* a zombie's */
			n--;
		if (n)
			add_sign(r, sign, p->number, sample[n - 1].ticks);
		/* mprof waits for its program at once. */
		if (!p->parent)
			add_sign(r, sign, p->number, p->end_ticks);
	}
	return sign;
}

static struct tree_process *likely_victim(struct tree *r, const uint64_t *sign,
					  const struct kills *k)
{
	struct tree_process *p, *largest = NULL;

	for (p = r->process; p < r->process + r->processes; p++)
		if (p->end == TREE_KILLED && p->status == SIGKILL && !p->oom &&
		    (!p->end_ticks || p->end_ticks >= k->since) &&
		    sign[p - r->process] <= k->until &&
		    (!largest || p->peak_rss_bytes > largest->peak_rss_bytes))
			largest = p;
	return largest;
}

static void find_oom(struct tree *r, const struct walk_input *in)
{
	uint64_t *sign = NULL;
	struct tree_process *victim;
	struct kills k;

	for (size_t i = 0; i < in->fact_count; i++) {
		if (!kills_of(&k, in, in->facts[i].fact))
			continue;
		sign = sign ?: last_signs(r, in);
		while (k.n-- && (victim = likely_victim(r, sign, &k)))
			victim->oom = true;
	}
	free(sign);
}

/* ---- ends ---- */

static void find_running(struct tree *r, const struct walk_input *in)
{
	const bool dump = in->header && in->header->flags & MPROF_FILE_RUNNING;

	for (size_t i = 0; i < r->processes; i++)
		r->process[i].ran_on = dump && r->process[i].end == TREE_UNKNOWN;
}

/* Returns the one that went on for p, at last, as a daemon that forks twice does; or p. */
static const struct tree_process *last_heir(const struct tree *r, const struct tree_process *p)
{
	const struct tree_process *heir;

	while (p->heir && (heir = tree_find(r, p->heir)))
		p = heir;
	return p;
}

/*
 * Did p exit soon after it forked c, compared with how long c or its heir lived afterwards?  c may
 * have begun to be recorded only then.  An idle daemon that is killed shows no sign of life: one
 * that outlived the program is compared with how long that ran before the fork.
 */
static bool goes_on(const struct tree *r, const struct tree_process *p,
		    const struct tree_process *c)
{
	const struct tree_process *last = last_heir(r, c);
	const uint64_t end = last->end_ticks ? last->end_ticks : r->end_ticks;
	const uint64_t forked = c->forked && c->images == 1 ? c->image[0]->fact->fork_ticks : 0;

	const uint64_t after = p->end_ticks > forked ? p->end_ticks - forked : 0;

	return forked && p->end == TREE_EXITED && !p->status && after &&
	       ((end > p->end_ticks && end - p->end_ticks > after) ||
		(last->outlived && !last->end_ticks && after < forked - r->start_ticks));
}

static void find_heirs(struct tree *r)
{
	struct tree_process *p, *c;

	/* A child has a greater number than its parent, so its heir is known. */
	for (c = r->process + r->processes; c-- > r->process;) {
		p = (struct tree_process *)tree_parent(r, c);
		if (p && !p->heir && goes_on(r, p, c))
			p->heir = c->number;
	}
}

/* The kernel freed the blocks of workers that ended, although their server still runs. */
static void find_gone(struct tree *r)
{
	const struct tree_process *parent;

	for (struct tree_process *p = r->process; p < r->process + r->processes; p++) {
		parent = tree_parent(r, p);
		p->served = parent && (parent->served || last_heir(r, parent)->end == TREE_UNKNOWN);
		p->gone = p->served && p->end != TREE_UNKNOWN && !p->heir;
	}
}

const char *tree_own_malloc(const struct trace_fact *f)
{
	return *f->malloc_of == '/' ? f->malloc_of : f->exe;
}

static void find_owns(struct tree *r, const struct walk_input *in)
{
	const struct trace_fact *f;
	size_t i, k;

	r->own = must_calloc(in->fact_count + 1, sizeof(*r->own));
	for (i = 0; i < in->fact_count; i++) {
		f = &in->facts[i];
		if (!tree_is_image(f) || !*f->malloc_of)
			continue;
		for (k = 0; k < r->owns && strcmp(r->own[k].path, tree_own_malloc(f)); k++)
			;
		if (k == r->owns)
			r->own[r->owns++] =
			    (struct tree_own){ .path = tree_own_malloc(f), .process = f->process };
		r->own[k].processes++;
	}
}

/* ---- the whole ---- */

/* Is it the note of a process that is listed as missing? */
static bool is_listed(const struct tree *r, const char *remark)
{
	for (size_t i = 0; i < r->missing_count; i++)
		if (r->missing[i].note && r->missing[i].note > remark &&
		    r->missing[i].note < remark + strlen(remark))
			return true;
	return false;
}

/* Each one once: all workers of a server may have the same. */
static void collect_remarks(struct tree *r, const struct walk_input *in)
{
	size_t i, k;

	r->remark = must_calloc(in->fact_count + 1, sizeof(*r->remark)); /* and tree_notice()'s */
	for (i = 0; i < in->fact_count; i++) {
		if (in->facts[i].fact->what != MPROF_FACT_OUTSIDE || !*in->facts[i].why ||
		    is_listed(r, in->facts[i].why))
			continue;
		for (k = 0; k < r->remarks && strcmp(r->remark[k], in->facts[i].why); k++)
			;
		r->remark[k] = in->facts[i].why;
		r->remarks += k == r->remarks;
	}
}

const char *tree_why_missing(const struct tree_missing *m)
{
	if (m->environment)
		return "its LD_PRELOAD did not name libmprof.so";
	if (m->denied)
		return "it ran as another user, who may not open the file of this run: run mprof "
		       "as that user";
	if (m->note)
		return m->note;
	if (*m->why)
		return m->why;
	if (m->apart)
		return "libmprof.so or the file of this run was out of its reach, as after chroot "
		       "or in a sandbox: make the directories of both available there at the same "
		       "paths (mount --bind), that of the file writable";
	return "libmprof.so was not loaded, or could not reach the trace: a static or set-user-ID "
	       "program, one in a sandbox or container, or one that ended early";
}

void tree_notice(struct tree *r, const char *remark)
{
	for (size_t k = 0; k < r->remarks; k++)
		if (!strcmp(r->remark[k], remark))
			return;
	assert(!r->noticed);
	r->noticed = must_strdup(remark);
	r->remark[r->remarks++] = r->noticed;
}

static void measure(struct tree *r, const struct walk_input *in, uint64_t seen)
{
	size_t i;

	r->start_ticks = in->header->start_ticks;
	r->end_ticks = seen > in->totals_end ? seen : in->totals_end;
	for (i = 0; i < in->fact_count; i++)
		if (in->facts[i].fact->ticks > r->end_ticks)
			r->end_ticks = in->facts[i].fact->ticks;
	for (i = 0; i < in->thread_count; i++)
		if (in->threads[i].last_ticks > r->end_ticks)
			r->end_ticks = in->threads[i].last_ticks;
	if (r->end_ticks < r->start_ticks)
		r->end_ticks = r->start_ticks;
}

static void add_memory(struct tree *r, const struct walk_input *in)
{
	struct tree_process *p;
	struct array told;

	rss_told_make(&told, in);
	for (p = r->process; p < r->process + r->processes; p++) {
		if (p->number - 1 < MPROF_PROCESS_TABLE)
			add_entry(p, &in->header->process[p->number - 1]);
		add_samples(p, in, &told);
	}
	/* Unless the user chose which programs to record. */
	if (!(in->header->flags & MPROF_FILE_FILTERED))
		r->unrecorded_rss = rss_of_children(&told);
	array_release(&told);
}

void tree_make(struct tree *r, const struct walk_input *in, uint64_t seen,
	       const uint64_t lost[MPROF_LOST_REASONS])
{
	size_t i;

	*r = (struct tree){ .process = NULL };
	for (i = 0; i < MPROF_LOST_REASONS; i++) {
		r->lost[i] = lost[i];
		if (lost_reason[i].counts != LOST_STACKS)
			r->lost_all += lost[i];
	}
	collect(r, in);
	for (i = 0; i < in->fact_count; i++)
		add_fact(r, &in->facts[i]);
	add_memory(r, in);
	measure(r, in, seen);
	tree_missing(r, in);
	find_oom(r, in);
	find_running(r, in);
	find_heirs(r);
	find_gone(r);
	find_owns(r, in);
	collect_remarks(r, in);
}

void tree_release(struct tree *r)
{
	size_t i;

	for (i = 0; i < r->processes; i++) {
		free(r->process[i].image);
		free(r->process[i].title_found);
	}
	free(r->process);
	free(r->missing);
	free(r->own);
	free(r->remark);
	free(r->noticed);
	*r = (struct tree){ .process = NULL };
}

bool tree_process_interrupted(const struct tree_process *p)
{
	return p->end == TREE_KILLED || p->end == TREE_UNKNOWN;
}

bool tree_interrupted(const struct tree *r)
{
	size_t i;

	for (i = 0; i < r->processes; i++)
		if (tree_process_interrupted(&r->process[i]))
			return true;
	return false;
}

bool tree_has_heir(const struct tree *r)
{
	size_t i = 0;

	while (i < r->processes && !r->process[i].heir)
		i++;
	return i < r->processes;
}

static bool is_left_open(const struct tree_process *p)
{
	return p && (tree_process_interrupted(p) || p->heir);
}

bool tree_left_open(const struct tree *r, const struct heap *h, uint32_t process)
{
	uint64_t all = 0, interrupted = 0;
	size_t i;

	if (process)
		return is_left_open(tree_find(r, process));
	for (i = 0; i < h->processes; i++) {
		all += h->process[i]->left_bytes;
		if (is_left_open(tree_find(r, h->process[i]->number)))
			interrupted += h->process[i]->left_bytes;
	}
	for (i = 0; i < r->processes; i++) {
		all += r->process[i].left_bytes;
		if (is_left_open(&r->process[i]))
			interrupted += r->process[i].left_bytes;
	}
	return all ? interrupted && interrupted >= all / 2
		   : tree_interrupted(r) || tree_has_heir(r);
}

const struct tree_process *tree_largest(const struct tree *r)
{
	const struct tree_process *most = NULL;

	for (size_t i = 0; i < r->processes; i++)
		if (!most || r->process[i].peak_rss_bytes > most->peak_rss_bytes)
			most = &r->process[i];
	return most;
}
