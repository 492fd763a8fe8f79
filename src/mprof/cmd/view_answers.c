// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * view_answers.c - see view_answers.h.
 *
 * Addresses after the token: "" or "N/" is the page of the first or N-th trace, with "?new=1" only
 * if its figures are new; "N/ask?..." begins a query without an answer; "N/answer?id=ID" returns
 * its progress, or the answer; "N/source?file=K" is the text of the K-th source file that the page
 * names; "N/heap?process=P" the movie of a process's heap (view_heap.h).  `ask` and `source` name
 * the page that their numbers are of ("made"), because another tab may have it made again.
 *
 * Only the worker uses the trace and the walk; a page is made again between two workers.
 */
#include "view_answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../html/html_frame.h"
#include "../print/json_rows.h"
#include "../print/text.h"
#include "../util/alloc.h"
#include "../util/markup.h"
#include "../util/ranges.h"
#include "view_heap.h"

#define OK	 200u
#define NOT_NOW	 503u
#define NS_MOST	 ((uint64_t)INT64_MAX)
#define NEW_PAGE "text/html; charset=utf-8"

struct task {
	uint64_t id; /* chosen by the client */
	size_t page;
	struct window_question q;
};

struct view_answers {
	struct view_page *page;
	size_t pages;
	struct site_filter filter;
	char *index; /* the list of pages, if there are several */
	size_t index_bytes;
	struct view_maker maker;
	struct view_worker *worker, *heap; /* of windows, of movies */
};

/* ---- the worker ---- */

struct walking {
	struct view_worker *worker;
	uint64_t all; /* events of its walks */
};

static void progress(void *self, const struct walk *w)
{
	const struct walking *of = self;

	view_worker_progress(of->worker, w->events, of->all);
}

#include "view_answers.def"

/* Returns text that the caller frees; releases o. */
static char *text_of(json *o)
{
	char *copy = must_strdup(json_text(o, JSON_C_TO_STRING_PLAIN));

	json_object_put(o);
	return copy;
}

static char *work_out(void *self, const void *question, struct view_worker *w)
{
	const struct task *t = question;
	struct view_page *page = &((struct view_answers *)self)->page[t->page];
	struct walking walking = { w, page->events * (t->q.kind == WINDOW_PEAK ? 2 : 1) };
	struct window_question q = t->q;
	struct window_answer answer;
	struct error err = { "" };
	char *text;

	q.cancel = view_worker_cancel(w);
	q.progress = progress;
	q.progress_context = &walking;
	if (window_ask(&answer, page->trace, &page->snapshots, &page->map, &q, &err))
		return text_of(JSON_NEW(view_refusal, t, err.text));
	text = text_of(JSON_NEW(view_window, t, &answer));
	window_answer_release(&answer);
	return text;
}

/* ---- questions ---- */

static bool number(const struct serve_request *r, const char *name, uint64_t most, uint64_t *n)
{
	const char *text = r->value(r, name);

	return !text || !parse_whole(text, 0, most, n);
}

static bool parse_question(const struct serve_request *r, const struct view_answers *a,
			   struct task *t)
{
	static const char *const kind[] = { [WINDOW_PEAK] = "peak",
					    [WINDOW_END] = "end",
					    [WINDOW_KEPT] = "kept",
					    [WINDOW_TOTAL] = "total" };
	const char *word = r->value(r, "kind");
	struct site_filter *f = &t->q.filter;
	uint64_t from = 0, to = NS_MOST, thread = 0, process = 0;
	unsigned k = 0;

	*f = a->filter;
	while (word && k < 4 && strcmp(word, kind[k]))
		k++;
	if (!word || k == 4 || !number(r, "id", NS_MOST, &t->id) || !t->id ||
	    !number(r, "from", NS_MOST, &from) || !number(r, "to", NS_MOST, &to) ||
	    !number(r, "thread", UINT32_MAX, &thread) ||
	    !number(r, "process", UINT32_MAX, &process) ||
	    !number(r, "size_from", UINT64_MAX, &f->size_min) ||
	    !number(r, "size_to", UINT64_MAX, &f->size_max))
		return false;
	t->q.kind = (enum window_kind)k;
	t->q.from_ns = (int64_t)from - !from; /* includes the very start */
	t->q.to_ns = (int64_t)to;
	if (thread)
		f->thread = (struct thread_choice){ .number = (uint32_t)thread };
	if (process)
		f->process = (uint32_t)process;
	return true;
}

#define OLDER "the figures of mprof view are newer than this page: load it again"

/* Is the request from a page that was made before the present one? */
static bool is_older(const struct serve_request *r, const struct view_page *p)
{
	uint64_t made = p->made;

	return number(r, "made", UINT32_MAX, &made) && made != p->made;
}

static void ask(struct view_answers *a, size_t page, const struct serve_request *r,
		struct serve_answer *to)
{
	struct task t = { .page = page };

	serve_invalid(to);
	if (a->page[page].totals || !parse_question(r, a, &t))
		return;
	if (is_older(r, &a->page[page])) {
		serve_json(to, text_of(JSON_NEW(view_refusal, &t, OLDER)));
		return;
	}
	view_worker_ask(a->worker, t.id, &t);
	to->status = OK;
}

static void tell(struct view_answers *a, const struct serve_request *r, struct serve_answer *to)
{
	uint64_t id = 0;
	char *said;
	int percent;

	serve_invalid(to);
	if (!number(r, "id", NS_MOST, &id) || !id)
		return;
	said = view_worker_answer(a->worker, id, &percent);
	serve_json(to, said ? said : text_of(JSON_NEW(view_progress, id, percent)));
}

/* ---- source files ---- */

static void give_source(const struct view_page *p, const struct serve_request *r,
			struct serve_answer *to)
{
	struct html_source source = { .why = OLDER };
	const bool older = is_older(r, p);
	uint64_t file = 0;

	serve_invalid(to);
	if (!older && (!p->sources.files || !number(r, "file", p->sources.files - 1, &file)))
		return;
	if (!older)
		html_source_read(&source, &p->sources, file);
	serve_json(to, text_of(JSON_NEW(view_source, &source)));
	free(source.text);
}

/* ---- pages ---- */

static char *make_index(const struct view_answers *a, size_t *bytes)
{
	char *text = NULL;
	FILE *out = must_memstream(&text, bytes);
	size_t i;

	fputs("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>mprof</title>"
	      "<h1>Traces</h1>\n<ul>\n",
	      out);
	for (i = 0; i < a->pages; i++) {
		fprintf(out, "<li><a href=\"%zu/\">", i);
		markup_text(text_base(a->page[i].path), out);
		fputs("</a></li>\n", out);
	}
	fputs("</ul>\n</html>\n", out);
	must_close(out, &text);
	return text;
}

/* Nobody asks about a profile: the worker goes on with the question about another page. */
static int renew(struct view_answers *a, size_t page, struct error *err)
{
	struct view_worker *other;

	if (!a->page[page].totals) {
		other = view_worker_new(&(struct view_work){ sizeof(struct task), work_out, a });
		if (!other)
			return fail(err, -EAGAIN, "cannot start a thread for the answers");
		view_worker_free(a->worker);
		a->worker = other;
	}
	return a->maker.make(a->maker.self, page, err);
}

static void give_page(struct view_answers *a, size_t page, const struct serve_request *r,
		      struct serve_answer *to)
{
	const struct view_page *p = &a->page[page];
	const bool live = p->live;
	struct error err = { "" };

	if (live && renew(a, page, &err) < 0 && r->value(r, "new")) {
		*to = (struct serve_answer){
			.status = NOT_NOW,
			.type = "text/plain; charset=utf-8",
			.body = must_strdup(err.text),
			.bytes = strlen(err.text),
			.owned = true,
		};
		return;
	}
	*to = (struct serve_answer){
		.status = OK,
		.type = NEW_PAGE,
		.policy = html_policy_header,
		/* A page may be made again before a slow client has all of it. */
		.body = live ? must_memdup(p->html, p->bytes) : p->html,
		.bytes = p->bytes,
		.owned = live,
	};
}

void view_answer(void *answers, const struct serve_request *r, struct serve_answer *to)
{
	struct view_answers *a = answers;
	char *end = (char *)r->path;
	size_t page = 0;

	if (!*r->path && a->pages > 1) {
		*to = (struct serve_answer){
			.status = OK, .type = NEW_PAGE, .body = a->index, .bytes = a->index_bytes
		};
		return;
	}
	if (*end >= '0' && *end <= '9') {
		page = strtoul(r->path, &end, 10);
		if (*end++ != '/' || page >= a->pages)
			return;
	}
	if (!*end)
		give_page(a, page, r, to);
	else if (!strcmp(end, "ask"))
		ask(a, page, r, to);
	else if (!strcmp(end, "answer"))
		tell(a, r, to);
	else if (!strcmp(end, "source"))
		give_source(&a->page[page], r, to);
	else if (!strcmp(end, "heap") && !a->page[page].totals)
		view_heap_answer(a->heap, page, a->page[page].path, r, to);
}

/* ---- the whole ---- */

struct view_answers *view_answers_new(struct view_page *page, size_t pages,
				      const struct profile_options *options,
				      const struct view_maker *maker)
{
	struct view_answers *a = must_calloc(1, sizeof(*a));

	a->page = page;
	a->pages = pages;
	a->maker = *maker;
	a->filter = options->sites.filter;
	a->heap = view_heap_new(options);
	a->index = make_index(a, &a->index_bytes);
	a->worker = view_worker_new(&(struct view_work){ sizeof(struct task), work_out, a });
	if (a->heap && a->worker)
		return a;
	view_answers_free(a);
	return NULL;
}

void view_answers_free(struct view_answers *a)
{
	view_worker_free(a->worker);
	view_worker_free(a->heap);
	free(a->index);
	free(a);
}
