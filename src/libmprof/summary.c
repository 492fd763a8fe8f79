// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * summary.c - writes folded stacks, the short text and the other forms, at exit or on request.
 *
 * Files are created under another name and renamed into place when complete; an earlier one of ours
 * at the same path is kept as PATH.old, and other files are not touched.  Nothing here allocates,
 * takes a lock that the program may hold, or prints to the program's own descriptors unless a path
 * says so.
 */
#include <errno.h>
#include <mprof/module.h>

#include "config.h"
#include "core.h"
#include "facts.h"
#include "file.h"
#include "local.h"
#include "place.h"
#include "process.h"
#include "summary.h"
#include "sys.h"
#include "text.h"

#define TOP	   10u
#define TOP_FRAMES 8u

/* ---- folded stacks ---- */

static int64_t value_of(const struct summary_values *v)
{
	if (text_same(mp_config.folded_value, "time"))
		return (int64_t)((__int128)v->elapsed * 1000000 /
				 (int64_t)mp_file.header->clock_hz);
	switch (mp_config.folded_value[0]) {
	case 't':
		return v->bytes;
	case 'l':
		return v->live_bytes;
	case 'p':
		return v->peak_bytes;
	default:
		return v->calls;
	}
}

static void write_folded(struct summary *s, int number, const char *why)
{
	(void)number, (void)why;
	for (uint32_t i = 1; i <= s->nodes; i++) {
		const int64_t value = value_of(&s->node[i].v);
		uint32_t n = 0;

		if (value <= 0 || (mp_config.hide_zero_live && s->node[i].v.live_calls <= 0))
			continue;
		for (uint32_t node = i; node && n < 65536; node = s->node[node].parent)
			s->line[n++] = node;
		while (n--) {
			const struct summary_name *name = &s->name[s->node[s->line[n]].name];

			summary_put(s, name->s, name->n);
			if (name->n || !n)
				summary_put(s, n ? ";" : " ", 1);
		}
		summary_number(s, (uint64_t)value);
		summary_say(s, "\n");
	}
}

/* ---- the text ---- */

/* Writes a number with separators, aligned to the right if width is not 0. */
static void say_count(struct summary *s, int64_t v, size_t width)
{
	uint64_t n = v > 0 ? (uint64_t)v : 0;
	char digits[40];
	size_t at = sizeof(digits), group = 0;

	do {
		if (group == 3)
			digits[--at] = ',', group = 0;
		digits[--at] = (char)('0' + n % 10);
		group++;
	} while (n /= 10);
	for (size_t i = sizeof(digits) - at; i < width; i++)
		summary_put(s, " ", 1);
	summary_put(s, digits + at, sizeof(digits) - at);
}

static int64_t by_peak(const struct summary_values *v)
{
	return v->peak_bytes;
}
static int64_t by_live(const struct summary_values *v)
{
	return v->live_bytes;
}
static int64_t by_calls(const struct summary_values *v)
{
	return v->calls;
}

static void write_stack(struct summary *s, uint32_t node)
{
	for (unsigned i = 0; node && i < TOP_FRAMES; node = s->node[node].parent) {
		const struct summary_name *name = &s->name[s->node[node].name];

		if (!name->n)
			continue;
		summary_say(s, i++ ? " < " : "");
		summary_put(s, name->s, name->n);
	}
	summary_say(s, node ? " < ...\n" : "\n");
}

static void write_top(struct summary *s, const char *title,
		      int64_t (*of)(const struct summary_values *), int64_t all)
{
	uint32_t top[TOP], n = 0;

	for (uint32_t i = 1; i <= s->nodes; i++) {
		uint32_t at = n;
		const int64_t v = of(&s->node[i].v);

		if (v <= 0)
			continue;
		while (at && of(&s->node[top[at - 1]].v) < v)
			at--;
		if (at == TOP)
			continue;
		n += n < TOP;
		for (uint32_t k = n - 1; k > at; k--)
			top[k] = top[k - 1];
		top[at] = i;
	}
	if (!n)
		return;
	summary_say(s, "\n");
	summary_say(s, title);
	summary_say(s, "\n");
	for (uint32_t i = 0; i < n; i++) {
		const int64_t v = of(&s->node[top[i]].v);

		say_count(s, v, 18);
		say_count(s, all > 0 ? (int64_t)((__int128)v * 100 / all) : 0, 5);
		summary_say(s, "%  ");
		write_stack(s, top[i]);
	}
}

static void write_sizes(struct summary *s)
{
	int any = 0;

	for (unsigned i = 0; i < MPROF_SIZE_BINS; i++) {
		if (!s->sizes[i])
			continue;
		summary_say(s, any ? "" : "\nCalls by size in bytes\n");
		any = 1;
		say_count(s, (int64_t)s->sizes[i], 18);
		summary_say(s, "  ");
		say_count(s, i ? (int64_t)1 << (i - 1) : 0, 0);
		if (i > 1) {
			summary_say(s, " to ");
			say_count(s, ((int64_t)1 << i) - 1, 0);
		}
		summary_say(s, "\n");
	}
}

/* Says "5 bytes in 1 block". */
static void say_bytes_in(struct summary *s, int64_t bytes, int64_t n, const char *one)
{
	say_count(s, bytes, 18);
	summary_say(s, bytes == 1 ? " byte in " : " bytes in ");
	say_count(s, n, 0);
	summary_say(s, " ");
	summary_say(s, one);
	summary_say(s, n == 1 ? "" : "s");
}

static void write_text(struct summary *s, int number, const char *why)
{
	summary_say(s, "mprof: ");
	summary_say(s, mp_config.anonymous ? text_base(mp_known.exe) : mp_known.exe);
	summary_say(s, ", process ");
	summary_number(s, (uint64_t)mp_local->pid);
	if (number) {
		summary_say(s, ", dump ");
		summary_number(s, (uint64_t)number);
	}
	if (why) {
		summary_say(s, " (");
		summary_say(s, why);
		summary_say(s, ")");
	}
	summary_say(s, s->estimated ? ", estimated from samples\n" : "\n");
	summary_say(s, "  Allocated:    ");
	say_bytes_in(s, s->total.bytes, s->total.calls, "call");
	summary_say(s, "\n  Peak:         ");
	say_bytes_in(s, s->heap.peak_bytes, s->heap.peak_calls, "block");
	if (s->heap.peak_bound) {
		summary_say(s, ", accurate to ");
		say_count(s, (int64_t)s->heap.peak_bound, 0);
		summary_say(s, " bytes");
	}
	summary_say(s, number ? "\n  Live:         " : "\n  Never freed:  ");
	say_bytes_in(s, s->total.live_bytes, s->total.live_calls, "block");
	summary_say(s, "\n");
	write_top(s, "Bytes at the peak, by call stack, innermost first", by_peak,
		  s->heap.peak_bytes);
	write_top(s, number ? "Live bytes" : "Bytes never freed", by_live, s->total.live_bytes);
	write_top(s, "Calls", by_calls, s->total.calls);
	write_sizes(s);
}

/* ---- a line of figures ---- */

static void say_bins(struct summary *s, const uint64_t *calls, const uint64_t *less)
{
	for (unsigned i = 0; i < MPROF_STAT_BINS; i++) {
		const uint64_t n = i < MPROF_SIZE_BINS ? calls[i] : 0;
		const uint64_t gone = i < MPROF_SIZE_BINS && less ? less[i] : 0;

		summary_say(s, i ? "," : "\t");
		summary_number(s, n > gone ? n - gone : 0);
	}
}

/* Writes the table; a new file begins with a line of titles. */
static void write_stat(struct summary *s, int new)
{
	const struct mprof_file_header *h = mp_file.header;
	/* Without calls, recording has not begun: the time is that of the run. */
	const uint64_t began = s->heap.began_ticks ? s->heap.began_ticks : h->start_ticks;
	const uint64_t hz = h->clock_hz, ticks = mprof_ticks() - began;
	const uint64_t ms = (uint64_t)((unsigned __int128)ticks * 1000 / (hz ? hz : 1));
	const int64_t figure[] = { s->total.calls, s->total.bytes, s->total.live_bytes,
				   s->heap.peak_bytes };

	if (new)
		summary_say(s, MPROF_STAT_TITLES "\n");
	summary_number(s, ms / 1000);
	summary_say(s, ms % 1000 < 10 ? ".00" : ms % 1000 < 100 ? ".0" : ".");
	summary_number(s, ms % 1000);
	for (unsigned i = 0; i < sizeof(figure) / sizeof(*figure); i++) {
		summary_say(s, "\t");
		summary_number(s, figure[i] > 0 ? (uint64_t)figure[i] : 0);
	}
	say_bins(s, s->sizes, NULL);
	say_bins(s, s->sizes, s->freed_sizes);
	summary_say(s, "\n");
}

/* ---- settings ---- */

/* A file with stacks.  begin: how it begins; NULL if it ends in a number. */
struct form {
	const char *word;
	void (*write)(struct summary *s, int number, const char *why);
	const char *begin;
	char path[4096]; /* absolute, escapes not expanded */
};
enum { FOLDED, TEXT, CALLGRIND, JSON, FORMS };
static struct form form[FORMS] = {
	[FOLDED] = { .word = "folded", .write = write_folded },
	[TEXT] = { .word = "text", .write = write_text, .begin = "mprof: " },
	[CALLGRIND] = { .word = "callgrind",
			.write = summary_callgrind,
			.begin = SUMMARY_CALLGRIND },
	[JSON] = { .word = "json", .write = summary_json, .begin = SUMMARY_JSON },
};
static char stat_path[4096];

/* Escapes %, because the name of a directory may contain one. */
static void know_path(char *to, const char *path)
{
	struct text t = text_on(to, 4096);
	char cwd[4096];
	long n = path[0] == '/' ? 0 : sys_getcwd(cwd, sizeof(cwd));

	for (long i = 0; i < n - 1; i++) {
		text_char(&t, cwd[i]);
		if (cwd[i] == '%')
			text_char(&t, '%');
	}
	if (n > 0)
		text_char(&t, '/');
	while (n > 0 && path[0] == '.' && path[1] == '/')
		path += 2;
	text_string(&t, path);
	if (t.full)
		to[0] = 0;
}

static struct stat root;

void mp_summary_start(void)
{
	sys_stat("/", &root, 0);
	know_path(form[FOLDED].path, mp_config.folded_path);
	know_path(form[TEXT].path, mp_config.text_path);
	know_path(form[CALLGRIND].path, mp_config.callgrind_path);
	know_path(form[JSON].path, mp_config.json_path);
	know_path(stat_path, mp_config.stat_path);
}

/* ---- files ---- */

/* Was the same said before?  A server would say it for each of its dumps. */
static int is_told(const char *path, const char *why)
{
	static const char *told[FORMS + 1][2];
	int i = 0;

	while (told[i][0] && told[i][0] != path)
		i++;
	if (told[i][0] && told[i][1] == why)
		return 1;
	told[i][0] = path;
	told[i][1] = why;
	return 0;
}

static int has_left_root(void)
{
	struct stat now;

	return root.st_ino && sys_stat("/", &now, 0) == 0 &&
	       (now.st_dev != root.st_dev || now.st_ino != root.st_ino);
}

/* number: of the dump, 0 at the end: then mprof prints it, too. */
static void remark(const char *path, const char *why, int number)
{
	char buffer[512];
	struct text t = text_on(buffer, sizeof(buffer));

	text_string(&t, "cannot write ");
	text_string(&t, path);
	text_string(&t, ": ");
	text_string(&t, why);
	if (text_same(why, mp_file_reason(-EACCES))) {
		text_string(&t, " for user ");
		text_number(&t, (uint64_t)mp_sys(SYS_geteuid, 0, 0, 0, 0, 0, 0));
	}
	if (text_same(why, mp_file_reason(-ENOENT)) && has_left_root())
		text_string(&t, " after chroot");
	if (!is_told(path, why))
		mp_fact_remark(buffer);
	if (!number && mp_known.notes[0])
		mp_note(buffer);
}

static int ends_in_number(const char *at, long n)
{
	long digits = n - 1;

	if (n < 2 || at[n - 1] != '\n')
		return 0;
	while (digits > 0 && at[digits - 1] >= '0' && at[digits - 1] <= '9')
		digits--;
	return digits < n - 1 && digits > 0 && at[digits - 1] == ' ';
}

/* Returns why the file at path is not ours to rename or continue; NULL if it is, is empty, or does
 * not exist. */
static const char *why_not_ours(const char *path, const char *begin)
{
	const long least = begin ? (long)text_length(begin) : 0;
	const int fd = mp_file_existing(path, O_RDONLY);
	struct stat st = { .st_size = 0 };
	char text[64];
	long n;

	if (fd == -ENOENT)
		return NULL;
	if (fd < 0)
		return fd == -ELOOP ? "a symbolic link is there" : mp_file_reason(fd);
	sys_fstat(fd, &st);
	n = sys_pread(fd, text, sizeof(text),
		      begin || st.st_size < (long)sizeof(text) ? 0
							       : st.st_size - (long)sizeof(text));
	sys_close(fd);
	if (!n || (begin ? n >= least && !__builtin_memcmp(text, begin, (size_t)least)
			 : ends_in_number(text, n)))
		return NULL;
	return "a file is there that mprof did not write";
}

/* Opens an existing descriptor or special file; then nothing is renamed.  Returns 1 if it did. */
static int open_other(struct summary *s)
{
	struct stat st;

	if (text_same(s->path, "/dev/stderr") || text_same(s->path, "/dev/stdout")) {
		s->fd = sys_fcntl(s->path[8] == 'e' ? 2 : 1, F_DUPFD_CLOEXEC, 3);
		return 1;
	}
	if (sys_stat(s->path, &st, 0) < 0 || S_ISREG(st.st_mode))
		return 0;
	s->fd = sys_open(s->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0);
	return 1;
}

static void open_new(struct summary *s)
{
	struct text t = text_on(s->other, sizeof(s->other));

	text_string(&t, s->path);
	text_string(&t, ".");
	text_number(&t, (uint64_t)sys_getpid());
	text_string(&t, ".tmp");
	s->fd = sys_create(s->other, O_WRONLY | O_EXCL);
}

/* Uses the buffer of the output, which must be empty. */
static const char *old_path(struct summary *s)
{
	struct text t = text_on(s->out, SUMMARY_OUT);

	text_string(&t, s->path);
	text_string(&t, ".old");
	return s->out;
}

/* Renames the complete file into place; an earlier one becomes PATH.old. */
static void into_place(struct summary *s)
{
	const char *old = old_path(s);
	int ret;

	ret = sys_rename(s->other, s->path, 1);
	if (ret == -EEXIST && sys_rename(s->path, old, 0) == 0)
		ret = sys_rename(s->other, s->path, 1);
	if (ret == -EINVAL || ret == -ENOSYS)
		ret = sys_rename(s->other, s->path, 0);
	s->error = ret;
}

/* ret: of mp_path_number(). */
static const char *path_is_wrong(int ret, const char *path)
{
	return ret < 0 || !*path ? "the path is too long, or has an unknown % sequence" : NULL;
}

static void write_file(struct summary *s, const struct form *f, int number, const char *why)
{
	struct text t = text_on(s->path, sizeof(s->path));
	const char *wrong = path_is_wrong(mp_path_number(f->path, number, &t), f->path);
	const int other = !wrong && open_other(s);

	if (!wrong && !other) {
		wrong = why_not_ours(s->path, f->begin);
		if (!wrong)
			wrong = why_not_ours(old_path(s), f->begin);
	}
	if (!wrong && !other)
		open_new(s);
	s->error = wrong ? 0 : s->fd < 0 ? s->fd : 0;
	s->used = 0;
	if (!wrong && !s->error) {
		f->write(s, number, why);
		summary_flush(s);
		sys_close(s->fd);
		if (!s->error && !other)
			into_place(s);
		if (s->error && !other)
			sys_unlink(s->other);
	}
	if (wrong || s->error)
		remark(f->path, wrong ? wrong : mp_file_reason((int)s->error), number);
}

/* Appends lines: a process that continues after an exec continues its table. */
static void append_stat(struct summary *s, int number)
{
	struct text t = text_on(s->path, sizeof(s->path));
	struct stat st = { .st_size = 0 };
	const char *wrong = path_is_wrong(mp_path_number(stat_path, 0, &t), stat_path);
	const int other = !wrong && open_other(s);

	if (!wrong && !other)
		wrong = why_not_ours(s->path, MPROF_STAT_TITLES);
	if (!wrong && !other)
		s->fd = sys_create(s->path, O_WRONLY | O_APPEND | O_NOCTTY);
	s->error = wrong ? 0 : s->fd < 0 ? s->fd : 0;
	s->used = 0;
	if (!wrong && !s->error) {
		write_stat(s, sys_fstat(s->fd, &st) < 0 || !st.st_size);
		summary_flush(s);
		sys_close(s->fd);
	}
	if (wrong || s->error)
		remark(stat_path, wrong ? wrong : mp_file_reason((int)s->error), number);
}

static int is_wanted(const struct summary *s, int number)
{
	return number || (uint64_t)s->total.calls >= mp_config.exit_min_calls;
}

static void write_sums(int number)
{
	struct summary *s = summary_sums();

	if (!s)
		return;
	if (is_wanted(s, number))
		append_stat(s, number);
	summary_end(s);
}

static void write_stacks(const char *what, int number, const char *why)
{
	struct summary *s = summary_begin();

	if (!s)
		return;
	for (unsigned i = 0; i < FORMS && is_wanted(s, number); i++)
		if (mp_has_word(what, form[i].word))
			write_file(s, &form[i], number, why);
	summary_end(s);
}

/* ---- when ---- */

void mp_summary_write(const char *what, int number, const char *why)
{
	const int stat = mp_has_word(what, "stat");
	uint32_t *lock = &mp_local->summary_lock, none = 0;
	int stacks = 0;

	for (unsigned i = 0; i < FORMS; i++)
		stacks |= mp_has_word(what, form[i].word);
	/* A dump that a signal requests during another dump is omitted. */
	if ((!stacks && !stat) ||
	    !__atomic_compare_exchange_n(lock, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	if (stat)
		write_sums(number);
	if (stacks)
		write_stacks(what, number, why);
	__atomic_store_n(lock, 0, __ATOMIC_RELEASE);
}
