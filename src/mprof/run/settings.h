/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * settings.h - keys of MPROF_CONF in forms for people: configuration files, SECTION:KEY=VALUE,
 * presets.
 *
 * Sections are those of options.def.  A key's name may begin with its section or lack it
 * (dump:every is DUMP_EVERY), in upper or lower case; sizes take units, and 0|1 also yes and no.
 */
#pragma once

#include <stdio.h>

#include "conf.h"

/* The names in presets.def, ending with NULL. */
extern const char *const settings_presets[];

/* All functions return 0, or -errno with *err, which names file and line. */
int settings_preset(struct conf *conf, const char *name, struct error *err);
int settings_file(struct conf *conf, const char *path, struct error *err);
/* Sets "SECTION:KEY=VALUE" or "KEY=VALUE". */
int settings_one(struct conf *conf, const char *text, struct error *err);

/* Prints the effective configuration so that settings_file() can read it. */
void settings_print(const struct conf *conf, FILE *out);
