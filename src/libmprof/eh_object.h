/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * eh_object.h - the loaded object of an address, and where its call frame information is.
 */
#pragma once

#include <stdint.h>

/* A loaded object. */
struct eh_object {
	const uint8_t *header; /* .eh_frame_hdr, or NULL */
	uintptr_t start, end;  /* all of its segments lie between these */
	uintptr_t bias;	       /* what the loader added to its virtual addresses */
	const char *name;      /* as in the loader's list; "": the program itself */
};

/* Finds the object that contains pc.  0 or -ENOENT.  Takes no lock where libc has
 * _dl_find_object. */
int eh_object(uintptr_t pc, struct eh_object *out);
