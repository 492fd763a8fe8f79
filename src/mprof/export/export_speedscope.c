// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_speedscope.c - speedscope's own format, according to its published schema
 * (https://www.speedscope.app/file-format-schema.json): one sampled profile for each value; they
 * share a table of frames.
 *
 * The frames follow the profiles: they are known when all stacks are written, and members of an
 * object have no order.
 */
#include <inttypes.h>
#include <string.h>

#include "../profile/merged.h"
#include "exports.h"
#include "../print/json.h"
#include "../print/text.h"

static const char *unit_of(enum profile_value value)
{
	const char *unit = profile_value_unit(value);

	return !strcmp(unit, "bytes") ? "bytes" : !strcmp(unit, "ns") ? "nanoseconds" : "none";
}

static void put_samples(const struct merged *m, enum profile_value value, FILE *out)
{
	const struct merged_row *row;
	const char *comma = "";
	size_t n, i;

	for (row = m->row; row < m->row + m->count; row++) {
		if (!row->v[value])
			continue;
		fprintf(out, "%s[", comma);
		comma = ",\n";
		n = merged_depth(m, row);
		for (i = 0; i < n; i++)
			fprintf(out, "%s%" PRIu32, i ? "," : "", merged_id(m, row, i) - 1);
		fputc(']', out);
	}
}

static uint64_t put_weights(const struct merged *m, enum profile_value value, FILE *out)
{
	const struct merged_row *row;
	const char *comma = "";
	uint64_t sum = 0;

	for (row = m->row; row < m->row + m->count; row++) {
		if (!row->v[value])
			continue;
		fprintf(out, "%s%" PRIu64, comma, row->v[value]);
		comma = ",";
		sum += row->v[value];
	}
	return sum;
}

static bool has_any(const struct merged *m, enum profile_value value)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (m->row[i].v[value])
			return true;
	return false;
}

static void put_profile(const struct merged *m, enum profile_value value, FILE *out)
{
	uint64_t sum;

	fputs("{\"type\":\"sampled\"", out);
	json_put_s(out, "name", profile_value_name(value));
	fprintf(out, ",\"unit\":\"%s\",\"samples\":[", unit_of(value));
	put_samples(m, value, out);
	fputs("],\n\"weights\":[", out);
	sum = put_weights(m, value, out);
	fprintf(out, "],\n\"startValue\":0,\"endValue\":%" PRIu64 "}", sum);
}

static void put_frames(const struct merged *m, FILE *out)
{
	const struct sym_line *line;
	uint32_t id;

	for (id = 1; id <= m->lines.keys.count; id++) {
		line = line_interner_line(&m->lines, id);
		fprintf(out, "%s{\"name\":", id > 1 ? ",\n" : "");
		json_put(out, line->function);
		if (*line->file || *line->module)
			json_put_s(out, "file", *line->file ? line->file : line->module);
		fputc('}', out);
	}
}

static void put_all(const struct export *x, const struct merged *m)
{
	unsigned v, profiles = 0, shown = 0;
	FILE *out = x->out;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"mprof@" MPROF_VERSION "\"",
	      out);
	json_put_s(out, "name", text_base(x->profile->path));
	fputs(",\n\"profiles\":[", out);
	for (v = 0; v < VALUE_COUNT; v++) {
		/* An empty profile is written only on request. */
		if (!export_wants(x, (enum profile_value)v) ||
		    (v != x->value && !has_any(m, (enum profile_value)v)))
			continue;
		if (v == x->value)
			shown = profiles;
		fputs(profiles++ ? ",\n" : "", out);
		put_profile(m, (enum profile_value)v, out);
	}
	fprintf(out, "],\n\"activeProfileIndex\":%u,\"shared\":{\"frames\":[", shown);
	put_frames(m, out);
	fputs("]}}\n", out);
}

int export_speedscope(struct export *x, struct error *err)
{
	struct merged m;

	merged_make(&m, x->profile);
	merged_sort(&m);
	put_all(x, &m);
	merged_release(&m);
	return 0;
}
