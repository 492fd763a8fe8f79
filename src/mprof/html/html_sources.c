// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_sources.c - see html_sources.h. */
#include "html_sources.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../print/source_text.h"
#include "../print/text.h"
#include "../util/alloc.h"

/* Returns when the object of that name was last modified. */
static int64_t built_ns(const struct profile *p, const char *module)
{
	struct stat st;
	size_t i;

	for (i = 1; i < p->stacks->objects; i++)
		if (!strcmp(text_base(p->stacks->object[i].path), module) &&
		    !stat(p->stacks->object[i].path, &st))
			return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return 0;
}

void html_sources_add(struct html_sources *s, const struct profile *p, const char *path,
		      const char *module)
{
	GROW(s->file, s->files + 1, s->room);
	s->start_ns = p->header ? p->header->start_real_ns : 0;
	s->file[s->files++] = (struct html_source_file){ must_strdup(path), built_ns(p, module) };
}

void html_sources_release(struct html_sources *s)
{
	while (s->files)
		free(s->file[--s->files].path);
	free(s->file);
	s->file = NULL;
	s->room = 0;
}

/* ---- one file ---- */

static char *join(const struct source_text *s)
{
	size_t bytes = 1, i, n;
	char *text, *to;

	for (i = 0; i < s->lines; i++)
		bytes += strlen(s->line[i]) + 1;
	to = text = must_malloc(bytes);
	for (i = 0; i < s->lines; i++) {
		n = strlen(s->line[i]);
		memcpy(to, s->line[i], n);
		to += n;
		*to++ = '\n';
	}
	*to = '\0';
	return text;
}

void html_source_read(struct html_source *to, const struct html_sources *s, size_t file)
{
	const struct html_source_file *f = &s->file[file];
	struct source_text t;

	source_text_read(&t, f->path, s->dir);
	*to = (struct html_source){ .why = t.why };
	if (t.found) {
		to->text = join(&t);
		if (s->start_ns && t.change_ns > s->start_ns)
			to->change = SOURCE_NEWER_THAN_RUN;
		else if (f->built_ns && t.change_ns > f->built_ns)
			to->change = SOURCE_NEWER_THAN_BINARY;
	}
	source_text_release(&t);
}

/* ---- home directories ---- */

/* Returns the length of the home directory at the beginning of text; 0 if there is none. */
static size_t home_at(const char *text)
{
	const char *home = getenv("HOME");
	size_t n = home && *home == '/' && home[1] ? strlen(home) : 0;

	if (n && !strncmp(text, home, n) && !isalnum((unsigned char)text[n]))
		return n;
	if (!strncmp(text, "/root/", 6))
		return 5;
	if (!strncmp(text, "/home/", 6) && isalnum((unsigned char)text[6]))
		return 6 + strcspn(text + 6, "/ \t\n'\":");
	return 0;
}

/* Can a path begin after these characters?  Inside /mnt/home/x it cannot; after -I it can. */
static bool may_begin(const char *text, size_t at)
{
	const unsigned char c = at ? (unsigned char)text[at - 1] : ' ';

	return !(isalnum(c) || strchr("._-/~", c)) || (at > 1 && isalpha(c) && text[at - 2] == '-');
}

char *html_hide_home(const char *text)
{
	char *copy = must_malloc(strlen(text) + 1), *to = copy;
	size_t i = 0, n;

	while (text[i]) {
		n = may_begin(text, i) ? home_at(text + i) : 0;
		*to++ = n ? '~' : text[i];
		i += n ? n : 1;
	}
	*to = '\0';
	return copy;
}
