/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * new_file.h - a file that gets its name, or replaces the file of that name, when it is complete.
 *
 * Until then it has no name, so nothing remains of it however the program ends.  On file systems
 * that need one, it has a temporary name (unfinished.h) in the same directory.
 *
 * Errors: -errno, also -ENOMEM.
 */
#pragma once

#include <stdbool.h>

/* A zeroed struct is none. */
struct new_file {
	char *path;	 /* NULL if it is not open */
	char *temporary; /* exists if `named` */
	bool named;
	int fd;
};

/* Creates it for its owner alone.  Returns the descriptor, which f owns, closed on exec. */
int new_file_open(struct new_file *f, const char *path);
/* Gives the file its temporary name now and returns it, for code that opens files by name.  NULL
 * and errno on failure. */
const char *new_file_temporary(struct new_file *f);
/* Gives it its name and closes it.  0; after an error it is still open. */
int new_file_done(struct new_file *f);
/* Closes and removes it, if it is open. */
void new_file_drop(struct new_file *f);
