/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* image_json.h - what `mprof image --json` says; names in man/mprof-json.5.in. */
#ifndef MPROF_CMD_IMAGE_JSON_H
#define MPROF_CMD_IMAGE_JSON_H

#include "../draw/picture.h"

/* frame[i] of panel i was drawn.  On standard output; returns the exit status. */
int image_json(struct picture *p, const struct picture_options *o, const size_t *frame,
	       size_t panels);

#endif
