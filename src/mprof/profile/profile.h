/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * profile.h - the input of views, exports, diff and check: sites with figures,
 * and their stacks with names.
 *
 * A path is a site's stack as lines, outermost first: inlined calls are lines
 * of their own.  The allocating line is the innermost one that is neither a
 * wrapper of the allocator nor part of a language's library (paths.h); the
 * calls inside it are folded. Stacks with the same lines, including folded
 * ones, are one site, whatever their addresses. Stacks that --function, --file
 * and --module do not match are left out of `site`; these options also match
 * folded lines.
 *
 * Errors: -errno with err filled; after one there is nothing to release.
 * Threads: one at a time.
 */
#pragma once

#include "../sym/sym.h"
#include "../pass/sites.h"
#include "../pass/tree.h"
#include "../util/hash.h"
#include "stack_path.h"

/* One figure of a site.  Names are those of --value and --sort. */
enum profile_value {
#define VALUE(id, name, blocks, roles, member, unit, add, from, json, help) VALUE_##id,
#include "../pass/figures.def"
	VALUE_COUNT,
};

/* What is one row of a view: a stack, or all stacks whose innermost line is the same. */
enum profile_by {
#define PROFILE_BY(id, name, help) PROFILE_BY_##id,
#include "by.def"
#undef PROFILE_BY
	PROFILE_BY_COUNT,
};

struct profile_options {
	struct sites_options sites; /* part is profile_make's own to set, group but by stack */
	enum profile_by by;
	struct sym_options sym;
	const char *function, *file, *module; /* globs that a line of the path must match; NULL */
	const char *without;		      /* a glob that no function of it may match; NULL */
	const char *const *suppressions; /* files in LSan syntax, NULL-ended; NULL: only built-in */
	bool no_builtin_suppressions;
	bool library; /* show library calls inside the allocating function, down to the wrappers */
	bool hide_zero_live; /* leave out stacks without live blocks at the end */
	bool totals;	     /* of a trace with totals beside its calls: profile_show_totals() */
	bool wrappers;	     /* fold nothing: the allocating line is malloc's caller, or malloc */
	/* More passes over the same walk, released with the profile.  event.stack and block.stack
	 * are nodes of p->stacks. */
	const struct walk_pass *pass;
	size_t passes;
	bool no_pages; /* none of them looks at live.pages */
	/* With `take`: one of these passes counts all sites, which are taken from there unless
	 * other ones are wanted.  Then `fused` is that of the walk. */
	struct sites *counted;
	size_t (*fused)(void *self, struct walk *w, size_t first, size_t n);
	void *fused_self;
	bool kept; /* their results may be kept for later walks: pass_ops.part names all of
		    * them, and they depend on nothing but the trace */
	/* Not NULL: groups in which this figure is 0 are not wanted, only their part of the total.
	 * May be ignored. */
	const enum profile_value *only;
	/* group[].v.local_* are wanted: a walk may begin where another one left a milestone, which
	 * does not know them (pass/milestones.h). */
	bool own_peaks;
	/* Not NULL: gets each site that passes, most bytes first, among them several with the same
	 * lines; p->site and p->group stay empty, which take ten times the memory. */
	void (*take)(void *context, const struct site *site);
	void *take_context;
	void (*progress)(void *context, const struct walk *w);
	void *progress_context;
};

/* Sites combined by profile_options.by: by stack, those with the same lines when folded.  Most
 * groups have one site, and share its figures. */
struct profile_group {
	/* local_* is the group's own peak, of a profile perhaps an upper bound; that of a site is
	 * one. */
	const struct site_values *v;
	/* For leaked blocks: live bytes at the end of each epoch, all 0 if there are none, and the
	 * time of the first call. */
	const uint64_t *leaked_epochs;
	uint64_t leaked_first_ticks;
	const struct sym_line *line; /* the allocating line; NULL: unknown, or by thread or size */
	uint32_t stack;		     /* of its site with most bytes */
	uint32_t sites;
	bool throughs; /* by stack: its sites allocate through different functions */
	uint64_t part; /* thread, size, process or rank */
	size_t sum;    /* index + 1 in profile.sum, 0 if it shares the figures of its site */
};

/* The figures of a group that does not share those of its site. */
struct profile_sum {
	struct site_values v;
	uint64_t leaked_epochs[SITE_EPOCHS];
};

struct suppressions;
struct grouping;

struct profile {
	struct sites sites; /* moments and epochs; its sites are those below */
	struct site *site;  /* those that pass, most bytes first; values below */
	uint32_t *site_of;  /* by node: index of site + 1, 0: does not pass; one of
			     * several if by thread or size */
	size_t count;
	struct site_values total;    /* of `site` */
	struct profile_group *group; /* most bytes first until profile_sort */
	size_t groups;
	struct profile_sum *sum;
	size_t sums, sum_room;
	enum profile_by by;
	uint64_t suppressed_bytes, suppressed_calls;
	const struct stacks *stacks;
	struct sym *sym;
	struct grouping *grouping;	    /* of profile_groups.c, while they are found */
	struct suppressions *suppressions;  /* with what each suppressed */
	struct reachable *reachable;	    /* NULL: memory was not examined */
	struct hash kept;		    /* by stack: what profile_kept found */
	uint8_t *may_keep, *frame_may_keep; /* by node, by frame: enum may_keep of profile.c */
	struct profile_paths *paths;	    /* cache, and what --function and others match */
	struct asked_memo *asked;	    /* cache of profile_asked */
	struct walk walk;
	struct walk_pass *pass; /* the walk's */
	struct tree tree;	/* what ran */
	const struct trace *trace;
	const char *path; /* of the trace */
	const struct mprof_file_header *header;
	bool hide_zero_live;
	bool has_stacks; /* false: recorded with UNWIND=none, everything is one site */
};

/* Walks the trace once.  p is not moved until profile_release. */
int profile_make(struct profile *p, struct trace *t, const struct profile_options *o,
		 struct error *err);
/*
 * The same, with one more pass in the walk, which the caller releases (unless
 * there is an error). When it starts, names, tree and the numbers of site.group
 * (options.group) are available. Pages are not counted.
 */
int profile_with(struct profile *p, struct trace *t, const struct profile_options *o,
		 const struct walk_pass *pass, struct error *err);
void profile_release(struct profile *p);

/* The function that the allocating line called, "std::string::append" or "strdup"; NULL: none worth
 * naming. */
const struct sym_line *profile_path_through(struct profile *p, const struct profile_path *path);
/* The same of a group by stack; NULL also if its sites differ. */
const struct sym_line *profile_group_through(struct profile *p, const struct profile_group *g);

/* The path of a stack (a node of stacks.h).  Valid until profile_release. */
const struct profile_path *profile_path(struct profile *p, uint32_t stack);
/* The same, valid until the next call of either: for a single use of many paths. */
const struct profile_path *profile_path_once(struct profile *p, uint32_t stack);

/* Before profile_make: if o->totals, t shows its totals from now on.  -EINVAL: it has none. */
int profile_show_totals(struct trace *t, const struct profile_options *o, struct error *err);
/* Does t show events of a run of which not all were kept (--last, --budget, --overhead)? */
bool profile_is_part(const struct trace *t);
/* Returns the length of the time that record --last kept. */
uint64_t profile_last_ns(const struct profile *p);
/* If it does, but its totals have all that o selects, t shows those from now on.  Returns false if
 * it shows such events. */
bool profile_complete(struct trace *t, const struct profile_options *o);
/*
 * For stacks found by another walk of the same trace: names without a walk and
 * without sites.  profile_path and the two below work then.  0 or -errno;
 * release only when 0.
 */
int profile_names(struct profile *p, struct trace *t, const struct profile_options *o,
		  struct error *err);
/* Returns a number that stacks share if views show them alike. */
uint32_t profile_path_number(struct profile *p, uint32_t stack);
/* Frees what these numbers need, of profile_names: none follows. */
void profile_path_numbered(struct profile *p);
/* After profile_names: a walk with these options finds the groups of profile_make by stack, so that
 * it leaves their peaks for later ones (pass/milestones.h). */
void profile_group_stacks(struct profile *p, struct sites_options *o);
/* The allocating function, found without going further out; NULL: unknown. */
struct profile_asked {
	const struct sym_line *line;
	const struct sym_line *through; /* as profile_path_through */
	/* Nearest outward that has a name and does not copy, when line has no name, or copies; NULL
	 */
	const struct sym_line *caller;
	bool mostly; /* of several stacks: caller is of most of it, not of all */
};
struct profile_asked profile_asked(struct profile *p, uint32_t stack);
/* Fills up to `most` lines outward from callee's function, in which the program may wrap malloc or
 * mmap: each of the function that called the one before.  Returns how many are known; main is not
 * one of them. */
size_t profile_callers(struct profile *p, uint32_t stack, const struct sym_line *callee,
		       const struct sym_line **caller, size_t most);
/* Returns the first of these, or NULL. */
const struct sym_line *profile_caller(struct profile *p, uint32_t stack,
				      const struct sym_line *callee);
/* Does the function copy an object: a copy constructor or assignment of C++, or Rust's clone?  The
 * compiler made most of these; who wants fewer copies changes a caller. */
bool profile_copies(const struct sym_line *line);
/* The innermost line of the program whose source is known, preferably of a script; NULL. */
const struct sym_line *profile_source(struct profile *p, uint32_t stack);
/* Does a line of the stack have a function that matches the glob, as --function does? */
bool profile_has_function(struct profile *p, uint32_t stack, const char *function);
/* Are leaks of this stack suppressed?  live: its blocks that were never freed. */
bool profile_suppresses(struct profile *p, uint32_t stack, uint64_t live);
/* Why a library keeps these blocks until the process ends; NULL: it does not. */
const char *profile_kept(struct profile *p, uint32_t stack, uint64_t live);
/* Does an interpreter request it while it starts? */
bool profile_is_start(struct profile *p, uint32_t stack);
/* Is it what an import keeps? */
bool profile_is_import(struct profile *p, uint32_t stack);
/* Is its peak a finding, though profile_kept()?  A program can import less, or later, and have
 * fewer objects. */
bool profile_kept_by_program(struct profile *p, uint32_t stack);

/* Is it inside of a class of C++'s library that has no reserve()? */
bool profile_is_closed(struct profile *p, uint32_t stack);
/* Does it allocate on behalf of others: a wrapper, a container, a language's library? */
bool profile_is_library(const struct sym_line *line);
/* Does it only pass requests on?  What it calls is part of it. */
bool profile_is_wrapper(const struct sym_line *line);
/* Does it wait for events (LOOP in wrappers.def)? */
bool profile_is_loop(const struct sym_line *line);
/* Is it code of others (PATHS_PACKAGE, or an installed library without source)?  Beside the
 * program's own source, that is a library. */
bool profile_is_package(const struct profile *p, const struct sym_line *line);
bool profile_is_own(const struct profile *p, const struct sym_line *line);

/* A value of a site, of p->site[i], of a group, of all that pass. */
uint64_t profile_site_value(const struct site_values *v, enum profile_value value);
uint64_t profile_value(const struct profile *p, size_t i, enum profile_value value);
uint64_t profile_group_value(const struct profile_group *g, enum profile_value value);
/* Has it any of the figure?  Blocks of no bytes are blocks. */
bool profile_group_has(const struct profile_group *g, enum profile_value value);
/* Is g->v->local_* an upper bound? */
bool profile_own_peak_is_bound(const struct profile *p, const struct profile_group *g);
uint64_t profile_value_total(const struct profile *p, enum profile_value value);
extern const char *const profile_value_names[VALUE_COUNT + 1]; /* ends with NULL */
const char *profile_value_name(enum profile_value value);
bool profile_value_of_totals(enum profile_value value);	 /* profiles have it, too */
bool profile_value_of_samples(enum profile_value value); /* and those made from samples */
/* Does the trace or profile have this figure? 0, or -EINVAL and err: the profile does not. */
int profile_value_check(const struct trace *t, enum profile_value value, struct error *err);
const char *profile_value_unit(enum profile_value value); /* "bytes", "calls", "ns" */
const char *profile_value_help(enum profile_value value);
/* The calls or blocks of p->site[i] that a value of bytes belongs to. */
uint64_t profile_value_blocks(const struct profile *p, size_t i, enum profile_value value);
/* Bits 1 << value of the values that have all these roles (figures.def). */
enum {
	ROLE_MOMENT = 1,
	ROLE_LIMIT = 2,
	ROLE_TOTAL = 4,
	ROLE_GROWTH = 8,
	ROLE_EVENTS = 16,
	ROLE_COUNTED = 32
};
unsigned profile_values_of(unsigned roles);
extern const char *const profile_by_names[PROFILE_BY_COUNT + 1];
/* Is a row defined by profile_group.part, not by a line of a stack? */
bool profile_by_part(enum profile_by by);
#define PROFILE_NO_RANK UINT64_MAX /* part, by rank */
const char *profile_by_name(enum profile_by by);
/* Groups by descending value; equal ones by descending bytes, then in order of first occurrence. */
void profile_sort(struct profile *p, enum profile_value value);
