// SPDX-License-Identifier: LGPL-3.0-or-later
/* views.c - the table of views, and the frame of their answers. */
#include "views.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../profile/filters.h"
#include "../util/alloc.h"
#include "../util/word_list.h"
#include "figures.h"
#include "json_rows.h"

const struct view view_table[] = {
#define VIEW(id, name, arg, help) { name, arg, help, &view_##id },
#include "views.def"
#undef VIEW
	{ NULL, NULL, NULL, NULL },
};

const struct view *view_find(const char *name)
{
	const struct view *v;

	for (v = view_table; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

int view_unknown(const char *name, struct error *err)
{
	static const char *const names[] = {
#define VIEW(id, name, arg, help) name,
#include "views.def"
#undef VIEW
		NULL,
	};
	static const char *const tables[] = { "sizes", "compactness", "fragmentation" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (!strcmp(name, tables[i]))
			return fail(err, -EINVAL, "invalid view '%s'; did you mean 'report --all'?",
				    name);
	return words_unknown("view", name, names, err);
}

int view_prepare(const struct view *v, struct view_request *r, struct error *err)
{
	int ret = v->ops->whole ? filters_refuse(r->options, v->ops->of_process, v->name, err) : 0;

	r->own = v->ops->own ? must_calloc(1, v->ops->own) : NULL;
	if (ret)
		return ret;
	return v->ops->prepare ? v->ops->prepare(r, err) : 0;
}

void view_release(const struct view *v, struct view_request *r)
{
	if (v->ops->release)
		v->ops->release(r->own);
	free(r->own);
	r->own = NULL;
}

/* Is it about blocks, of which there are none?  Pages and stacks of threads are there all the same.
 */
static bool is_empty(const struct view *v, const struct profile *p)
{
	return !p->total.calls && v->ops->rows && v->ops != &view_peak_rss;
}

static void tell_empty(const struct profile *p, FILE *out)
{
	figures_nothing(p, out);
	if (p->total.map_calls)
		fprintf(out, " %s mapped %s.", format_many(p->total.map_calls, "call", "calls").s,
			format_bytes(p->total.map_bytes).s);
	fputc('\n', out);
}

int view_text(const struct view *v, struct view_request *r, FILE *out, struct error *err)
{
	const struct site_snapshot *at = &r->profile->sites.peak;
	int ret = v->ops->make ? v->ops->make(r, err) : 0;

	if (ret < 0)
		return ret;
	if (is_empty(v, r->profile)) {
		tell_empty(r->profile, out);
		return 0;
	}
	if (r->profile->sites.options.until.set && v->ops != &view_peak)
		fprintf(out, "\"peak\" is the time %s after the start, with %s live.\n",
			format_since(at->ns).s, format_exact(at->bytes).s);
	if (v->ops->sort == VALUE_PEAK && v->ops != &view_peak &&
	    !profile_value_total(r->profile, r->sort)) {
		fprintf(out, "None of the %s counts as %s (%s); --sort calls shows all.\n",
			format_many(r->profile->total.calls, "call", "calls").s,
			profile_value_name(r->sort), profile_value_help(r->sort));
		return 0;
	}
	figures_estimate(r->profile, out);
	v->ops->text(r, out);
	if (!r->profile->has_stacks && r->profile->total.calls)
		fputs("\nThis trace has no call stacks (it was recorded with UNWIND=none, or by"
		      " another tool), so all blocks are one site.\n",
		      out);
	return 0;
}

/* ---- JSON ---- */

#define PLAIN (JSON_C_TO_STRING_NOSLASHESCAPE | JSON_C_TO_STRING_PLAIN)

#include "../json/view.def"

static void put_rows(const struct view *v, struct view_request *r, FILE *out)
{
	size_t n = v->ops->json_rows(r), i;
	json *o;

	fputs(",\"rows\":[", out);
	for (i = 0; i < n; i++) {
		o = v->ops->json_row(r, i);
		fprintf(out, "%s\n%s", i ? "," : "", json_text(o, PLAIN));
		json_object_put(o);
	}
	fputs("]", out);
}

/* There may be many rows: they are written one by one after the other members. */
int view_json(const struct view *v, struct view_request *r, FILE *out, struct error *err)
{
	int ret = v->ops->make ? v->ops->make(r, err) : 0;
	const char *text;
	json *o;

	if (ret < 0)
		return ret;
	o = JSON_NEW(view, v, r);
	v->ops->json(r, o);
	text = json_text(o, PLAIN);
	fprintf(out, "%.*s", (int)strlen(text) - 1, text);
	if (v->ops->json_row)
		put_rows(v, r, out);
	fputs("}\n", out);
	json_object_put(o);
	return 0;
}
