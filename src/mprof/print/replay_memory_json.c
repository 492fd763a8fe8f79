// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_memory_json.c - where blocks were placed, as JSON: the fields are in json/heap.def. */
#include "../places/pin_names.h"
#include "figures.h"
#include "json_rows.h"
#include "replay_memory.h"

#include "../json/heap.def"

json *replay_memory_json(const struct replay_memory *r, const struct memories_row *row)
{
	return row->status ? NULL : JSON_NEW(heap, r, &row->memory);
}
