/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sym_build.h - programs that are compiled during a test, and frames in them.
 *
 * Everything is below a directory that build_begin makes and build_end removes; it is
 * also the cache's XDG_CACHE_HOME.  What cannot be done fails the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sym/sym.h"

extern char build_dir[64];

void build_begin(void);
void build_end(void);

/* Is the program in PATH?  A test that needs one that is not says so, and passes. */
bool build_have(const char *program);
/* Runs a shell command in build_dir; %s and its kin as for printf. */
void build_run(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, if it may fail. */
bool build_try(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* All that a command prints; the caller frees it. */
char *build_output(const char *format, ...) __attribute__((format(printf, 1, 2)));
void build_file(const char *name, const char *text);

/* One object, to which frames are added; frame 0 is there. */
struct build {
	struct stack_object object[2];
	struct stack_frame frame[1024];
	struct stack_segment segment[16];
	struct stacks stacks;
	struct sym_options options; /* no_cache is set */
	struct sym *sym;
	char path[256];
	uint8_t id[64];
};

/* A file of build_dir, or one with a slash in front. */
void build_object(struct build *b, const char *path);
/* Reads build-id and segments of its file, as the library records them. */
void build_identify(struct build *b);
/* The number of the frame; frames must be added before the first question. */
uint32_t build_frame(struct build *b, uint64_t address, uint32_t flags);
/* Opens at the first question. */
const struct sym_lines *build_ask(struct build *b, uint32_t frame);
/* "function file:line < function ..." innermost first, files without directories. */
const char *build_text(struct build *b, uint32_t frame);
void build_close(struct build *b);
