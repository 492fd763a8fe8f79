// SPDX-License-Identifier: LGPL-3.0-or-later
/* two_profiles.c - one or two traces, opened and walked. */
#include "two_profiles.h"

#include <errno.h>
#include <string.h>

#include "../import/import.h"
#include "../profile/filters.h"
#include "cmd.h"
#include "missing.h"
#include "profile_options.h"
#include "running.h"
#include "progress.h"

/* A name that neither trace has is a mistake; one that only one trace has may be what changed. */
static int check_filters(struct two_profiles *two, const struct profile_options *o,
			 struct error *err)
{
	struct profile *p[DIFF_SIDES];
	struct error nothing;
	int side, ret;

	for (side = 0; side < DIFF_SIDES; side++)
		p[side] = two->made[side] ? &two->profile[side] : NULL;
	ret = filters_check(p, DIFF_SIDES, o, &nothing, err);
	if (!ret && *nothing.text)
		cmd_warn("%s", nothing.text);
	return ret ? (ret == -EINVAL ? STATUS_USAGE : STATUS_FOUND) : STATUS_OK;
}

/* Are its events the totals of the whole run? */
static bool has_whole_run(const struct trace *t)
{
	return trace_has_events(t) && !trace_has_totals(t) && !profile_is_part(t);
}

int two_profiles_make(struct two_profiles *two, const char *const path[DIFF_SIDES],
		      const struct profile_options *o, struct error *err)
{
	struct profile_options options = *o;
	struct progress progress;
	int side, ret;

	memset(two, 0, sizeof(*two));
	/* Both are opened before either is walked, so that a wrong name is reported immediately. */
	for (side = 0; side < DIFF_SIDES; side++)
		if (path[side] && running_open(&two->trace[side], path[side], NULL, err) < 0)
			return STATUS_FILE;
	for (side = 0; side < DIFF_SIDES; side++)
		if (path[side] && !has_whole_run(two->trace[side]) &&
		    profile_show_totals(two->trace[side], o, err) < 0)
			return STATUS_USAGE;
		else if (path[side])
			missing_choose_whole(two->trace[side], o);
	for (side = 0; side < DIFF_SIDES; side++) {
		if (!path[side])
			continue;
		options.progress = progress_start(&progress);
		options.progress_context = &progress;
		two->made[side] = true;
		ret = profile_make(&two->profile[side], two->trace[side], &options, err);
		progress_done(&progress);
		if (ret < 0)
			return STATUS_FOUND;
	}
	return check_filters(two, o, err);
}

void two_profiles_release(struct two_profiles *two)
{
	int side;

	for (side = 0; side < DIFF_SIDES; side++) {
		if (two->made[side])
			profile_release(&two->profile[side]);
		if (two->trace[side])
			trace_close(two->trace[side]);
	}
}

void two_profiles_tell(const struct two_profiles *two, bool names)
{
	const struct profile *p;
	int side;

	for (side = 0; side < DIFF_SIDES; side++) {
		p = &two->profile[side];
		if (!two->made[side])
			continue;
		profile_tell_estimates(p);
		missing_parts(p->trace, "counted");
		missing_calls(p, false);
		if (p->tree.lost_all)
			cmd_warn("calls were lost in '%s': its figures are too low", p->path);
		if (!p->has_stacks && p->count)
			cmd_warn("'%s' has no call stacks: it was recorded with UNWIND=none, or"
				 " by another tool",
				 p->path);
		else if (names)
			profile_tell_remarks(p);
	}
	if (names && two->made[DIFF_AFTER])
		profile_tell_rules(&two->profile[two->made[DIFF_BEFORE] ? DIFF_BEFORE : DIFF_AFTER],
				   &two->profile[DIFF_AFTER]);
}
