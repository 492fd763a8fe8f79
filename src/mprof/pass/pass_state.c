// SPDX-License-Identifier: LGPL-3.0-or-later
/* pass_state.c - the arrays of passes: see pass.h and walk_state.h. */
#include "walk_state.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

static const struct pass_part nothing[1];

#define PARTS(p, list)                   \
	(p) = (list) ? (list) : nothing; \
	(p)->bytes || (p)->unused;       \
	(p)++

static void *pointer_at(const void *self, size_t at)
{
	void *p;

	memcpy(&p, (const char *)self + at, sizeof(p));
	return p;
}

static void put_parts(const void *self, const struct pass_part *list, struct byte_column *to)
{
	const struct pass_part *p;

	for (PARTS(p, list)) {
		const size_t n = p->unused ? 0 : *(const size_t *)((const char *)self + p->count);
		const char *item = pointer_at(self, p->at);

		state_put(to, item, n * p->bytes);
		for (size_t i = 0; p->inside && i < n; i++)
			put_parts(item + i * p->bytes, p->inside, to);
	}
}

/* Ignores pointers in the struct, which belong to the walk that saved it. */
static void get_parts(char *self, const struct pass_part *list, struct cursor *from)
{
	const struct pass_part *p;

	for (PARTS(p, list)) {
		const size_t n = p->unused ? 0 : *(const size_t *)(self + p->count);
		char *item = n ? must_calloc(n, p->bytes) : NULL;

		if (p->unused) {
			memset(self + p->at, 0, p->unused);
			continue;
		}
		state_get(from, item, n * p->bytes);
		memcpy(self + p->at, &item, sizeof(item));
		memcpy(self + p->room, &n, sizeof(n));
		for (size_t i = 0; p->inside && i < n; i++)
			get_parts(item + i * p->bytes, p->inside, from);
	}
}

static void free_parts(char *self, const struct pass_part *list)
{
	const struct pass_part *p;

	for (PARTS(p, list)) {
		const size_t n = p->inside ? *(const size_t *)(self + p->count) : 0;
		char *item = p->bytes ? pointer_at(self, p->at) : NULL;

		for (size_t i = 0; i < n; i++)
			free_parts(item + i * p->bytes, p->inside);
		free(item);
		memset(self + p->at, 0, p->unused ? p->unused : sizeof(item));
		if (!p->unused)
			memset(self + p->count, 0, sizeof(n));
		if (!p->unused)
			memset(self + p->room, 0, sizeof(n));
	}
}

void pass_release(const struct pass_ops *ops, void *self)
{
	if (ops->release)
		ops->release(self);
	free_parts(self, ops->part);
}

void pass_state_put(const struct walk_pass *p, struct byte_column *to)
{
	state_put(to, p->self, p->ops->bytes);
	put_parts(p->self, p->ops->part, to);
}

void pass_state_get(const struct walk_pass *p, struct cursor *from)
{
	struct walk *const w = *(struct walk **)p->self;

	pass_release(p->ops, p->self); /* what it started with */
	state_get(from, p->self, p->ops->bytes);
	*(struct walk **)p->self = w;
	get_parts(p->self, p->ops->part, from);
}
