/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * filters.h - filter values of MPROF_CONF: patterns and ranges, separated by commas.
 *
 * Independent of the C library, so the preloaded library and the command line share it.
 */
#ifndef MPROF_FILTERS_H
#define MPROF_FILTERS_H

#include <stdint.h>

/*
 * Variables in which launchers pass the rank of a process and the id of the batch job: the first
 * that is set counts.  SLURM_PROCID is last, because mpirun in a batch job inherits that of the
 * job's shell.
 */
#define MPROF_RANK_VARIABLES                                                                   \
	"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PALS_RANKID", \
	    "ALPS_APP_PE", "FLUX_TASK_RANK", "SLURM_PROCID"
#define MPROF_JOB_VARIABLES "COBALT_JOBID", "PBS_JOBID", "SLURM_JOB_ID", "JOB_ID"

/* Matches a pattern that ends at a comma or NUL: * is any text, ? any character. */
static inline int mprof_glob_matches(const char *glob, const char *name)
{
	const char *star = 0, *again = name;

	for (;;) {
		if (*glob == '*') {
			star = ++glob;
			again = name;
		} else if (!*name && (!*glob || *glob == ',')) {
			return 1;
		} else if (*name && *glob && *glob != ',' && (*glob == '?' || *glob == *name)) {
			glob++;
			name++;
		} else if (star && *again) {
			glob = star;
			name = ++again;
		} else {
			return 0;
		}
	}
}

/* Does a pattern of the list match the file's name, or, if the pattern contains a slash, its
 * path? */
static inline int mprof_globs_match(const char *list, const char *path)
{
	const char *name = path;

	for (const char *s = path; *s; s++)
		name = *s == '/' ? s + 1 : name;
	while (*list) {
		int slash = 0;
		const char *end = list;

		for (; *end && *end != ','; end++)
			slash |= *end == '/';
		if (mprof_glob_matches(list, slash ? path : name))
			return 1;
		list = end + (*end == ',');
	}
	return 0;
}

/* Reads a number and moves *s past it.  0 without digits, or with more than 18. */
static inline int mprof_range_number(const char **s, uint64_t *n)
{
	int digits = 0;

	for (*n = 0; **s >= '0' && **s <= '9' && digits < 19; digits++)
		*n = *n * 10 + (uint64_t)(*(*s)++ - '0');
	return digits && digits < 19;
}

/* 1 if the list, such as "0,4-7", contains n; 0 if not; -1 if the list is invalid. */
static inline int mprof_ranges_have(const char *list, uint64_t n)
{
	int found = 0;

	while (*list) {
		uint64_t least, most;

		if (!mprof_range_number(&list, &least))
			return -1;
		most = least;
		if (*list == '-' && (list++, !mprof_range_number(&list, &most)))
			return -1;
		if (most < least || (*list && *list != ',') || (*list == ',' && !list[1]))
			return -1;
		found |= n >= least && n <= most;
		list += *list == ',';
	}
	return found;
}

/* Parses bytes with a suffix K, M, G or T, or a percentage of `whole`.  0 if s is neither. */
static inline int mprof_amount(const char *s, uint64_t whole, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	uint64_t n;
	unsigned shift = 0;

	if (!mprof_range_number(&s, &n))
		return 0;
	if (s[0] == '%' && !s[1] && n <= 100) {
		*bytes = whole / 100 * n;
		return 1;
	}
	for (unsigned i = 0; *s && i < 4; i++)
		if (*s == units[i] || *s == (units[i] | 32))
			shift = 10 * (i + 1);
	*bytes = n << shift;
	return *bytes >> shift == n && (shift ? !s[1] : !*s);
}

#endif
