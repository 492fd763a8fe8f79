/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * difference.h - two profiles side by side: sites matched by name, so that
 * another build, shifted lines and other addresses do not count as differences.
 *
 * Two stacks are the same when they go through the same functions of the same
 * modules.  For this
 *  - what a compiler adds to a name (.constprop.0, .cold, Rust's hash) and what
 *    follows ".so" in a module's name is left out;
 *  - the program's own executable is one module, whatever its file is called;
 *  - functions of one name in different files of one side are told apart by the
 *    last part of the file's path, if the files of all are known;
 *  - a function that calls itself directly counts once;
 *  - start-up code before main is left out;
 *  - code without a symbol is distinguished by its offset only in objects with
 *    the same build-id on both sides; otherwise it is one "function" of its
 *    module;
 *  - a function that only one side has and one that only the other has are the
 *    same, renamed, if all paths through them differ only in the name, they are
 *    of one source file, and no other pairing is possible;
 *  - lines of one function are paired in order.
 *
 * Threads: one at a time.  The profiles must outlive the diff.
 */
#pragma once

#include "../pass/interner.h"
#include "estimate.h"
#include "profile.h"

enum diff_by { DIFF_BY_FUNCTION, DIFF_BY_STACK, DIFF_BY_MODULE, DIFF_BY_LINE, DIFF_BY_FILE };
enum diff_side { DIFF_BEFORE, DIFF_AFTER, DIFF_SIDES };
enum diff_change {
	DIFF_ADDED,
	DIFF_GROWN,
	DIFF_SHRUNK,
	DIFF_REMOVED,
	DIFF_UNCLEAR, /* within the error of samples: both sides may be equal */
	DIFF_SAME,
	DIFF_CHANGES
};

struct diff_options {
	enum diff_by by;	  /* all but stack: of the innermost line */
	enum profile_value value; /* by which changes are detected and sorted */
	uint64_t least;		  /* smaller changes of the value do not count */
	double least_percent; /* relative to the value before; added or removed rows always pass */
	bool no_renames;      /* do not look for renamed functions */
	bool one_run; /* both sides are of one run, at two times: live blocks may be freed later */
	const char *program[DIFF_SIDES]; /* name of the executable's module; NULL: unknown */
};

struct diff_group {
	const struct sym_line *const *line; /* of the later side if it has the group; root first */
	size_t lines;
	uint64_t v[DIFF_SIDES][VALUE_COUNT];
	uint64_t sites[DIFF_SIDES];
	struct site_values estimates[DIFF_SIDES]; /* the sums of those of diff_add() */
	enum diff_change change;		  /* of the value of the options */
	bool twin; /* another group has its place, in another module; by function or line */
};

struct diff_rename {
	const struct sym_line *line[DIFF_SIDES];
};

struct diff_site {
	size_t first, count; /* into id and line */
	uint32_t side;
	uint64_t v[VALUE_COUNT];
	const struct site_values *estimate; /* NULL: exact */
};

/* A line of a function; before, `is` is its number after, 0 if the function lost it. */
struct diff_place {
	uint32_t function, side, line, is;
};

struct diff {
	struct diff_options options;
	struct diff_group *group; /* greatest change first, of equal ones the greatest figure */
	size_t groups;
	uint64_t total[DIFF_SIDES][VALUE_COUNT];
	bool totals; /* a side is a profile: figures that profiles lack are 0 on both */
	/* Sides made from samples: the same for figures that samples lack. */
	bool sampled[DIFF_SIDES];
	/* One side is a trace of several processes, whose peak is that of all together; the other a
	 * profile, whose peak is that of one process. */
	bool peaks_differ;
	bool partial[DIFF_SIDES]; /* calls of its run are missing, or were not kept */
	/* For how long mprof was attached to its first process; 0 if it was not. */
	uint64_t attached_ns[DIFF_SIDES];
	/* The most that a process had in memory, without mprof's own part; 0 if unknown, or of
	 * other blocks than all. */
	uint64_t resident[DIFF_SIDES];
	/* tree_left_open(): what leaked may be memory that was in use */
	bool left_open[DIFF_SIDES];
	struct site_values estimates[DIFF_SIDES]; /* of all sites, as those of a group */
	size_t changed[DIFF_CHANGES];		  /* groups */
	struct diff_rename *rename;
	size_t renames;

	/* ---- the pass's own ---- */
	struct interner names;		 /* "function\nmodule" as compared */
	uint8_t *on;			 /* by name: 1 << side */
	const struct sym_line **example; /* by name */
	uint32_t *renamed;		 /* by name: the name it is taken for */
	size_t name_room;
	struct interner stable; /* modules that are the same file on both sides */
	struct diff_site *site;
	size_t sites, site_room;
	uint32_t *id; /* names of all sites' lines, root first */
	const struct sym_line **line;
	size_t ids, id_room;
	struct diff_place *place; /* allocating lines, sorted; only for DIFF_BY_LINE */
	size_t places;
};

void diff_init(struct diff *d, const struct diff_options *o);
/* The two sides have this module from the same file.  Before diff_add. */
void diff_stable(struct diff *d, const char *module);
/* estimate: what v is estimated from; NULL: v is exact. */
void diff_add(struct diff *d, enum diff_side side, const struct sym_line *const *line, size_t n,
	      const uint64_t v[VALUE_COUNT], const struct site_values *estimate);
void diff_finish(struct diff *d);
void diff_release(struct diff *d);

/* As in struct diff. */
bool diff_peaks_differ(const struct profile *before, const struct profile *after);
/* All of the above of two profiles; release in any case. */
void diff_make(struct diff *d, struct profile *before, struct profile *after,
	       const struct diff_options *o);

/* The name of a group's innermost function: a number from 1 to d->names.count, the same for both
 * sides and for a function that was renamed. */
static inline uint32_t diff_leaf(const struct diff *d, const struct diff_group *g)
{
	return d->renamed[d->id[(size_t)(g->line - d->line) + g->lines - 1] - 1];
}

static inline bool diff_of_samples(const struct diff *d)
{
	return d->sampled[DIFF_BEFORE] || d->sampled[DIFF_AFTER];
}

/* Do both sides have this value? */
static inline bool diff_has(const struct diff *d, enum profile_value value)
{
	return (!d->totals || profile_value_of_totals(value)) &&
	       (!diff_of_samples(d) || profile_value_of_samples(value));
}

/* The 95 % range of the value of a group.  False: its figure is exact, or the range is unknown. */
bool diff_group_range(const struct diff *d, const struct diff_group *g, enum diff_side side,
		      struct estimate_range *range);
/* Are the estimates of all sites compatible with equal totals? */
bool diff_may_be_same(const struct diff *d, enum profile_value value);
/* Did resident memory change by more than what differs from one run to the next, or with the way of
 * recording? */
bool diff_resident_moved(const struct diff *d);

/* The same of a group. */
bool diff_group_may_be_same(const struct diff *d, const struct diff_group *g,
			    enum profile_value value);

/* Is the total of this value always compared? */
static inline bool diff_totals(const struct diff *d, enum profile_value value)
{
	if (d->options.one_run && (value == VALUE_LIVE || value == VALUE_LEAKED))
		return value == VALUE_LIVE;
	return profile_values_of(ROLE_TOTAL) >> value & 1 && diff_has(d, value);
}

/* The groups that differ by more than the error. */
static inline size_t diff_changed(const struct diff *d)
{
	return d->groups - d->changed[DIFF_SAME] - d->changed[DIFF_UNCLEAR];
}

/* The absolute change of a value. */
static inline uint64_t diff_distance(const struct diff_group *g, enum profile_value value)
{
	const uint64_t before = g->v[DIFF_BEFORE][value], after = g->v[DIFF_AFTER][value];

	return after > before ? after - before : before - after;
}

/* The change of a value: after less before, at most INT64_MAX either way (a damaged trace can name
 * figures that differ by more). */
static inline int64_t diff_delta(const struct diff_group *g, enum profile_value value)
{
	const uint64_t by = diff_distance(g, value);
	const int64_t most = by > INT64_MAX ? INT64_MAX : (int64_t)by;

	return g->v[DIFF_AFTER][value] < g->v[DIFF_BEFORE][value] ? -most : most;
}

/* Returns the length of the name without suffixes of compilers. */
size_t diff_bare_name(const char *function);
