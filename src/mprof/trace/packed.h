/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* packed.h - the events of a compressed trace, group by group; for the reader only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct extents;
struct event;
struct packed;
struct trace;
struct trace_place;

/* Is there an extent that only a compressed trace has? */
bool packed_is_there(const struct extents *x);
/* Finds the groups and reads the definitions that they refer to; t has its stacks.  0 or
 * -ENOMEM. */
int packed_open(struct trace *t, const struct extents *x);
void packed_close(struct packed *p);
void packed_rewind(struct trace *t);
/* Like trace_next. */
size_t packed_next(struct trace *t, struct event *e, size_t n);
/* As trace_skip. */
void packed_skip(struct trace *t, uint64_t most, uint64_t *calls, uint64_t *events);

/* Like trace_place. */
bool packed_place(const struct packed *p, struct trace_place *place);
void packed_go(struct packed *p, const struct trace_place *place);
bool packed_set_address(struct packed *p, uint32_t process, uint32_t block, uint64_t addr);
uint64_t packed_address(const struct packed *p, uint32_t process, uint32_t block);
