/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * usage.h - parses the arguments of a command, and explains them.
 *
 * Everything about a command's options comes from its rows (option.h): --help, the section OPTIONS
 * of its manual page, and the completion of the shells.
 */
#pragma once

#include "option.h"

/* The arguments other than options. */
struct arguments {
	char **item; /* a part of argv */
	size_t count;
};

enum usage_words {
	USAGE_NONE,
	USAGE_FILE,    /* one: a const char * */
	USAGE_FILES,   /* a struct arguments */
	USAGE_PROGRAM, /* a program and all that follows: a char **, which ends with NULL */
};

struct usage {
	const struct option_row *options;
	const char *args;    /* in usage lines; a line for each form */
	const char *doc;     /* what the command does; further text after \v */
	char *(*more)(void); /* returns text before the options, to be freed; may be NULL */
	const char *brief; /* the help lists options from this title on by name only; NULL = only if
			      they do not fit */
	const char *whole; /* the option whose value is a line of shell; NULL if there is none */
	enum usage_words words;
	size_t at;	     /* offset of the words in the struct of the options */
	const char *missing; /* says that they are missing; NULL if none are needed */
	/*
	 * Rules between options, and what follows from them.  0, or -errno with *err: one clear
	 * line that names the options.
	 */
	int (*check)(void *options, struct error *err);
};

/*
 * Fills the struct of the options; argv[0] is "mprof NAME".  Ends the process after --help. 0, or
 * STATUS_USAGE after one line on stderr (STATUS_FOUND without memory).
 */
int usage_take(const struct usage *usage, int argc, char **argv, void *options);

/* Fails because there are n files where one is expected; if they are two recordings, names the
 * command that compares them.  Returns -EINVAL. */
int usage_one_file(char **file, size_t n, struct error *err);

/* The argument with which a command prints its rows: for scripts/gendoc only. */
#define USAGE_ROWS "--rows"
