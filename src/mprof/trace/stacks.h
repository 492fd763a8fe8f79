/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stacks.h - every call stack of a run as one tree: a node is a frame and the
 * node of its caller, so a stack is named by its innermost node.
 *
 * Frames are addresses in files, not in memory: the same function called from
 * the same place has one frame in all processes, whatever the loader did.  Made
 * from the stack records of all processes (FORMAT.md section 6) by trace_stacks().
 *
 * Node 0 and frame 0 mean "unknown"; object 0 is "no file": generated code, or an address that
 * belonged to no object at that time.  Callers (parents) have lower numbers than what they call.
 * Everything lives until trace_close.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct stack_segment {
	uint64_t address; /* virtual, as in the file: without the bias */
	uint64_t bytes;
	uint64_t offset; /* in the file */
	uint32_t flags;	 /* 4 readable, 2 writable, 1 executable */
};

/* In the path of a file of an AppImage, which its runtime mounts below TMPDIR. */
#define STACK_APPIMAGE "/.mount_"

/* A loaded object: one for each different path and build-id. */
struct stack_object {
	const char *path;	 /* as given by the loader; "" if unknown */
	const uint8_t *build_id; /* may be NULL */
	size_t build_id_bytes;
	const struct stack_segment *segment;
	size_t segments;
	uint64_t bias;		/* when it was first loaded */
	uint32_t first_process; /* number in the run of the first process that had it */
};

enum stack_frame_flags {
	STACK_FRAME_EXACT = 1,	   /* the address itself ran (a signal interrupted it); else it
				    * is a return address, and address - 1 is in the call */
	STACK_FRAME_TRUNCATED = 2, /* not a frame: outer frames are missing because of the limit */
	STACK_FRAME_LOST_WAY = 4,  /* not a frame: unwinding could not continue */
};

struct stack_frame {
	uint64_t address; /* in the object's file, or in memory for object 0 */
	uint32_t object;
	uint32_t flags;
};

struct stack_node {
	uint32_t parent; /* of the caller; 0 if outermost */
	uint32_t frame;
};

/* The name of a frame in generated code, as the program wrote it: any bytes but 0. */
struct stack_code {
	uint64_t address;
	const char *name;
};

/* Writes hexadecimal digits, "" if unknown; returns `to`. */
#define STACK_BUILD_ID 129u
const char *stack_build_id(const struct stack_object *o, char to[STACK_BUILD_ID]);

struct stacks {
	const struct stack_object *object; /* [0] is "no file" */
	size_t objects;
	const struct stack_frame *frame;
	size_t frames;
	const struct stack_node *node;
	size_t nodes;
	const struct stack_code *code; /* in the order of addresses, without duplicates */
	size_t codes;
	uint64_t definitions; /* stacks that processes defined */
};

/* Returns the bytes of the objects of the run: the most that their pages can have in memory.  s may
 * be NULL. */
static inline uint64_t stacks_object_bytes(const struct stacks *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; s && i < s->objects; i++)
		for (size_t k = 0; k < s->object[i].segments; k++)
			bytes += s->object[i].segment[k].bytes;
	return bytes;
}
