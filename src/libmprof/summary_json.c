// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * summary_json.c - writes a summary as one JSON object: the figures of the process, the histogram
 * of sizes, and each call stack with its figures (mprof-profile(1) lists the members).
 */
#include <mprof/module.h>

#include "config.h"
#include "local.h"
#include "summary.h"
#include "text.h"

/* Returns the bytes of the character at `at`; 0 if it is not UTF-8 (RFC 3629, section 4). */
static size_t utf8_bytes(const unsigned char *at, size_t n)
{
	const unsigned char first = *at;
	const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
	const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
	const size_t bytes = first < 0x80   ? 1
			     : first < 0xc2 ? 0
			     : first < 0xe0 ? 2
			     : first < 0xf0 ? 3
			     : first < 0xf5 ? 4
					    : 0;

	if (bytes > n || (bytes > 1 && (at[1] < least || at[1] > most)))
		return 0;
	for (size_t i = 2; i < bytes; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return bytes;
}

/* Bytes that are not UTF-8 become U+FFFD each. */
static void say_string(struct summary *s, const char *text, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	const unsigned char *at = (const unsigned char *)text;
	size_t bytes;

	summary_say(s, "\"");
	for (; n; at += bytes, n -= bytes) {
		bytes = utf8_bytes(at, n);
		if (!bytes) {
			summary_say(s, "\\ufffd");
			bytes = 1;
		} else if (*at < ' ') {
			summary_say(s, "\\u00");
			summary_put(s, &digit[*at >> 4], 1);
			summary_put(s, &digit[*at & 15], 1);
		} else {
			if (*at == '"' || *at == '\\')
				summary_say(s, "\\");
			summary_put(s, (const char *)at, bytes);
		}
	}
	summary_say(s, "\"");
}

static void say_member(struct summary *s, const char *name, int64_t value)
{
	summary_say(s, ", \"");
	summary_say(s, name);
	summary_say(s, "\": ");
	summary_number(s, value > 0 ? (uint64_t)value : 0);
}

static void say_values(struct summary *s, const struct summary_values *v)
{
	say_member(s, "calls", v->calls);
	say_member(s, "total_bytes", v->bytes);
	say_member(s, "live_blocks", v->live_calls);
	say_member(s, "live_bytes", v->live_bytes);
	say_member(s, "peak_bytes", v->peak_bytes);
}

static void say_sizes(struct summary *s)
{
	summary_say(s, ",\n \"sizes\": [");
	for (unsigned i = 0; i < MPROF_SIZE_BINS; i++) {
		summary_say(s, i ? ", " : "");
		summary_number(s, s->sizes[i]);
	}
	summary_say(s, "]");
}

/* Outermost frame first, as in mprof report --json. */
static void say_stack(struct summary *s, uint32_t node)
{
	const struct summary_values *v = &s->node[node].v;
	uint32_t n = 0;
	int some = 0;

	for (; node && n < sizeof(s->line) / sizeof(*s->line); node = s->node[node].parent)
		s->line[n++] = node;
	summary_say(s, "{\"stack\": [");
	while (n--) {
		const struct summary_name *name = &s->name[s->node[s->line[n]].name];

		if (!name->n)
			continue; /* ours */
		summary_say(s, some ? ", " : "");
		say_string(s, name->s, name->n);
		some = 1;
	}
	summary_say(s, "]");
	say_values(s, v);
	say_member(s, "local_peak_bytes", v->local_bytes);
	summary_say(s, "}");
}

static void say_head(struct summary *s, int number, const char *why)
{
	const char *exe = mp_config.anonymous ? text_base(mp_known.exe) : mp_known.exe;
	struct summary_values total = s->total;

	total.peak_bytes = s->heap.peak_bytes;
	summary_say(s, SUMMARY_JSON);
	say_string(s, exe, text_length(exe));
	say_member(s, "pid", mp_local->pid);
	say_member(s, "dump", number);
	summary_say(s, ", \"trigger\": ");
	if (why)
		say_string(s, why, text_length(why));
	else
		summary_say(s, number ? "null" : "\"end\"");
	summary_say(s, ", \"estimated\": ");
	summary_say(s, s->estimated ? "true" : "false");
	summary_say(s, ",\n \"total\": {\"peak_blocks\": ");
	summary_number(s, s->heap.peak_calls > 0 ? (uint64_t)s->heap.peak_calls : 0);
	say_values(s, &total);
	say_member(s, "peak_bound_bytes", (int64_t)s->heap.peak_bound);
	summary_say(s, "}");
}

void summary_json(struct summary *s, int number, const char *why)
{
	static const struct summary_values none;
	int some = 0;

	say_head(s, number, why);
	say_sizes(s);
	summary_say(s, ",\n \"stacks\": [");
	for (uint32_t i = 1; i <= s->nodes; i++) {
		if (!__builtin_memcmp(&s->node[i].v, &none, sizeof(none)))
			continue; /* only within longer stacks */
		summary_say(s, some ? ",\n  " : "\n  ");
		say_stack(s, i);
		some = 1;
	}
	summary_say(s, "\n ]}\n");
}
