/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cells.h - the pass that answers questions about a window of time: which
 * blocks were allocated in it, were live at any of its points, or began in it
 * and were live at its end.
 *
 * Time is cut at points.  The run is divided into equal steps; the point of a step is the moment
 * in it at which most bytes were live, so that the peak of any window that begins and ends at
 * points is exact.  A step without events has a point if a process was sampled in it, and the time
 * from the last event to the next end of a process has at most CELLS_QUIET: its size may change
 * then.  At the last point, blocks of processes that end later are live.
 *
 * A cell counts blocks of one stack that began after point birth - 1, at or before point birth,
 * and ended after point death - 1, at or before point death; death is `points` for blocks that
 * never ended.  So a block of the cell is live at point p when birth <= p <
 * death.  Cells are divided further by the properties that filters need:
 * thread, class of size, class of lifetime.
 *
 * The end of a process and exec end its blocks; the cell records this
 * (CELL_NEVER_FREED, CELL_EXEC).  Blocks inherited by fork belong to the parent
 * and are not in cells of the child. Bytes are requested bytes.
 *
 * With a filter, cells count only the blocks that pass it; points always refer to the whole run.
 *
 * Memory: 40 bytes a cell, its place in a table, and the ends of one step.  Of too many cells,
 * those of stacks that read the same are merged (`same`), then those by thread, size and lifetime
 * (`coarse`); if that is not enough, every second point is removed (cells_halve), repeatedly.
 *
 * Without memory the program ends.  Threads: one at a time.
 */
#pragma once

#include "sites.h"

#define CELLS_STEPS	   500u
#define CELLS_STEPS_MOST   10000u
#define CELLS_MOST	   1500000u
#define CELLS_POINTS_LEAST 8u
#define CELLS_QUIET	   64u

#define CELL_NEVER_FREED 100u /* life_class: the process or the trace ended first */
#define CELL_EXEC	 101u /* life_class: it was live when its process called exec */

struct cell {
	uint32_t stack;	 /* node of stacks.h, 0 if unknown */
	uint32_t thread; /* that allocated: index of the heap; 0 if coarse */
	uint16_t birth, death;
	/* Bits of the size: 0 for 0 bytes, n for 2^(n-1) to 2^n - 1; 0 if coarse. */
	uint8_t size_class;
	/* Bits of the lifetime in ns, likewise; 0 if coarse; or one of the values above. */
	uint8_t life_class;
	uint64_t blocks, bytes;
	uint64_t temporary; /* how many of its blocks their thread freed with its very next call */
};

/* The state of the run at a point; sums since the start. */
struct cells_point {
	uint64_t ticks;
	uint64_t event; /* its number in the walk, from 1 */
	int64_t ns;	/* since the start of the run */
	struct live live;
	uint64_t calls, bytes; /* calls that returned blocks, and the bytes requested */
	uint64_t frees, freed; /* blocks freed or reallocated, and their requested bytes */
	uint64_t temporary;    /* blocks that their thread freed with its very next call */
	uint64_t mapped;       /* anonymous bytes of mmap, and the growth of the break */
};

struct cells {
	/* Set before the walk: */
	const struct site_filter *filter; /* NULL = all */
	unsigned steps;			  /* 0 = CELLS_STEPS; at most CELLS_STEPS_MOST */
	size_t most;			  /* cells; more if there are more stacks; 0 = CELLS_MOST */
	/* Returns the stack that represents this one in cells; NULL = each represents itself. */
	uint32_t (*same)(void *context, uint32_t stack);
	void *same_context;
	bool by_thread_only; /* no classes of size and lifetime, never coarse */
	/* The result: */
	struct cells_point *point;
	size_t points;
	struct cell *cell; /* after the walk: by stack, birth, death, thread, classes */
	size_t count;
	bool coarse;
	void *work; /* private */
};

extern const struct pass_ops cells_pass;

/* An event that began or ended a block, or did both. */
struct cells_event {
	const struct event *event;
	const struct block *old; /* that ended, NULL if none did; of a process with this index */
	uint32_t process;
	bool began;
	bool temporary; /* its thread's last call returned `old` */
	bool counted;	/* false: `old` ended, but was not freed (NOTE_DROPPED) */
	uint64_t number;
	struct live all; /* after it */
};

/* For a loop that takes events as the pass does: what a call did, and the block that the last
 * call of a thread returned (0: none). */
void cells_take(struct cells *s, const struct cells_event *x);
void cells_called(struct cells *s, uint32_t thread, uint64_t addr);

/*
 * Of every two neighbouring points, keeps the one with more live bytes, and the last point if
 * keep_last.  A cell then belongs to the first point left that is not before its own, so every
 * window that begins and ends at points that are left has the same figures as before, its peak
 * included.  The caller merges cells that become equal (cells_merge).
 */
void cells_halve(struct cells *s, bool keep_last);

/* Frees the cells. */
void cells_forget(struct cells *s);

/* Sorts by stack, birth, death, thread and classes; adds up cells that are equal in these. */
void cells_merge(struct cells *s);
