// SPDX-License-Identifier: LGPL-3.0-or-later
/* export_text.c - names and columns of figures, for text formats. */
#include "exports.h"

#include <string.h>

#include "../print/figures.h"
#include "../util/format.h"
#include "../util/utf8.h"

#define UNIT_CALLS "number"
#define UNIT_BYTES "bytes"
#define UNIT_NS	   "ns"
const struct export_column export_columns[] = {
#define FIGURE(member, unit, add, from, json, help) \
	{ #member, UNIT_##unit, help, offsetof(struct site_values, member) },
#include "../pass/figures.def"
	{ NULL, NULL, NULL, 0 },
};

struct long_text export_calls(const struct profile *p)
{
	const struct mprof_file_header *h = p->header;
	struct long_text t = { "every call" };

	if (p->sites.totals.estimated)
		snprintf(t.s, sizeof(t.s), "estimates from %s, one every %s on average",
			 format_many(p->total.error.samples, "sample", "samples").s,
			 figures_period(&p->sites).s);
	else if (!trace_has_events(p->trace))
		return t;
	else if (h->dropped_ticks)
		snprintf(t.s, sizeof(t.s), "the calls of the last %s",
			 format_ns(profile_last_ns(p)).s);
	else if (h->log_end || p->total.kept_until_ns)
		snprintf(t.s, sizeof(t.s), "not all calls");
	return t;
}

bool export_knows(const struct profile *p, size_t offset)
{
#define AT(member) offsetof(struct site_values, member)
	static const size_t of_events[] = { AT(peak_slack), AT(rss_calls), AT(rss_bytes),
					    AT(foreign_frees) },
			    of_calls[] = { AT(slack),		AT(lifetime_min_ns),
					   AT(lifetime_max_ns), AT(map_calls),
					   AT(map_bytes),	AT(reallocs),
					   AT(realloc_moved),	AT(realloc_bytes),
					   AT(temporary_calls), AT(temporary_bytes) };
	size_t i;

	for (i = 0; i < sizeof(of_events) / sizeof(*of_events) && p->sites.totals.read; i++)
		if (of_events[i] == offset)
			return false;
	for (i = 0; i < sizeof(of_calls) / sizeof(*of_calls) && p->sites.totals.estimated; i++)
		if (of_calls[i] == offset)
			return false;
	return true;
}

static bool is_one_of(unsigned char c, const char *set)
{
	while (*set && (unsigned char)*set != c)
		set++;
	return *set != '\0';
}

void export_name(FILE *out, const char *name, const char *bad, char instead)
{
	const unsigned char *s = (const unsigned char *)name;
	size_t plain;
	int n;

	for (;; s += n) {
		for (plain = 0; s[plain] >= ' ' && s[plain] < 0x7f && !is_one_of(s[plain], bad);)
			plain++;
		fwrite(s, 1, plain, out);
		s += plain;
		if (!*s)
			return;
		n = utf8_at(s);
		if (!n)
			fputs(UTF8_REPLACEMENT, out);
		else if (n == 1)
			fputc(*s < ' ' || *s == 0x7f ? ' ' : instead, out);
		else if (utf8_is_control(s))
			fputc(' ', out);
		else
			fwrite(s, 1, (size_t)n, out);
		n += !n;
	}
}
