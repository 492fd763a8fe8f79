/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * palette.h - the colours of all pictures.
 *
 * A ramp is a range of numbers. Ramps become steadily darker or lighter, or go from blue through
 * yellow to red, and hues differ in lightness, too, so no picture depends on telling red from
 * green.
 */
#pragma once

#include <stdint.h>

#define FULL_LEVELS   48
#define AGE_LEVELS    32
#define SIZE_CLASSES  12
#define HUES	      12
#define PALETTE_COUNT 256

enum colour {
	COLOUR_PAPER,	 /* behind everything */
	COLOUR_MAP,	 /* address space that is not mapped, or unknown */
	COLOUR_MAPPED,	 /* mapped, not resident */
	COLOUR_RETAINED, /* resident without a live byte: white */
	COLOUR_PIN,	 /* around a pinned page */
	COLOUR_PIN_FILL, /* the same if pages are too small for an outline */
	COLOUR_GAP,	 /* separators */
	COLOUR_GRID,
	COLOUR_CURSOR,
	COLOUR_OTHER,	  /* classes without a hue */
	COLOUR_UNKNOWN,	  /* unknown for this page */
	COLOUR_INK,	  /* text */
	COLOUR_MUTED,	  /* text of less weight */
	COLOUR_REQUESTED, /* curves */
	COLOUR_USABLE,
	COLOUR_RESIDENT,
	COLOUR_FULL,				/* live fraction, blue to red */
	COLOUR_AGE = COLOUR_FULL + FULL_LEVELS, /* young to old */
	COLOUR_SIZE = COLOUR_AGE + AGE_LEVELS,	/* small to large */
	COLOUR_HUE = COLOUR_SIZE + SIZE_CLASSES,
	COLOUR_END = COLOUR_HUE + HUES,
};

enum theme { THEME_LIGHT, THEME_DARK, THEME_COUNT };

/* Returns red, green, blue of each colour; made once. */
extern const uint8_t (*palette(enum theme theme))[3];

/* Returns the colour for `live` of `of` bytes; live is not 0. */
static inline uint8_t palette_full(uint64_t live, uint64_t of)
{
	uint64_t level = of ? live * FULL_LEVELS / of : FULL_LEVELS;

	return (uint8_t)(COLOUR_FULL + (level < FULL_LEVELS ? level : FULL_LEVELS - 1));
}

/* Returns a colour by the logarithm of an age in calls; `most` is the greatest possible age.
 * Ages below a thousandth of it have one colour. */
uint8_t palette_age(uint64_t age, uint64_t most);

/* Returns the class of a size, 0 to SIZE_CLASSES - 1; and the largest size of a class. */
unsigned palette_size_class(uint64_t size);
uint64_t palette_size_most(unsigned size_class); /* UINT64_MAX for the last class */
