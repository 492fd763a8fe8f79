/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* palette.c - the colours; see palette.h. */
#include "palette.h"

#include <math.h>
#include <stdbool.h>

struct stop {
	double at; /* 0 to 1 */
	uint32_t rgb;
};

/* Colours on light and on dark paper; ramps are the same on both. */
static const struct {
	unsigned colour;
	uint32_t rgb[THEME_COUNT];
} plain[] = {
	{ COLOUR_PAPER, { 0xf4f3ef, 0x1d2126 } },   { COLOUR_MAP, { 0xdddbd3, 0x0c0e11 } },
	{ COLOUR_MAPPED, { 0xaab0b8, 0x6b7480 } },  { COLOUR_RETAINED, { 0xffffff, 0xffffff } },
	{ COLOUR_PIN, { 0xe8001c, 0xe8001c } },	    { COLOUR_PIN_FILL, { 0xd6009e, 0xd6009e } },
	{ COLOUR_GAP, { 0x8b9096, 0x39434f } },	    { COLOUR_GRID, { 0xdbd9d2, 0x343b42 } },
	{ COLOUR_CURSOR, { 0x4a5058, 0xc4cad1 } },  { COLOUR_OTHER, { 0x8d9299, 0x8d9299 } },
	{ COLOUR_UNKNOWN, { 0xc3c5c4, 0x565d66 } }, { COLOUR_INK, { 0x1f2731, 0xe6e8ea } },
	{ COLOUR_MUTED, { 0x656c75, 0xa2abb3 } },   { COLOUR_REQUESTED, { 0x1f6fb4, 0x5aa5e6 } },
	{ COLOUR_USABLE, { 0x8a5fb0, 0xb493d6 } },  { COLOUR_RESIDENT, { 0xd1600a, 0xf2994b } },
};

static const struct stop full_stops[] = {
	{ 0.00, 0x2a4d9e }, { 0.20, 0x4b90d3 }, { 0.40, 0xa2dbe6 },
	{ 0.55, 0xfbee96 }, { 0.75, 0xf2994b }, { 1.00, 0xbf2a2f },
};
static const struct stop age_stops[] = {
	{ 0.00, 0xfbe889 }, { 0.25, 0x9fd08a }, { 0.50, 0x3fa39a },
	{ 0.75, 0x31688e }, { 1.00, 0x3b1057 },
};

static const struct {
	unsigned colour, levels;
	const struct stop *stop;
} ramps[] = {
	{ COLOUR_FULL, FULL_LEVELS, full_stops },
	{ COLOUR_AGE, AGE_LEVELS, age_stops },
};

/* Small sizes are cool and light, large ones warm and dark. */
static const uint32_t sizes[SIZE_CLASSES] = {
	0xd7ecf7, 0xa3d1ec, 0x5fa8dc, 0x2e75b6, 0x1e4a86, 0x2f8f83,
	0x86bf6a, 0xe9df6b, 0xf3b63f, 0xe57a26, 0xb9342c, 0x6a1038,
};

static const uint32_t hues[HUES] = {
	0x0072b2, 0xe69f00, 0x009e73, 0xcc3d1f, 0x6fc3ee, 0xb565a7,
	0xeadc3c, 0x5b3a8e, 0x8a5a2b, 0x9bd77a, 0x1c2f5c, 0xf2a6b8,
};

static void set(uint8_t rgb[3], uint32_t value)
{
	rgb[0] = (uint8_t)(value >> 16);
	rgb[1] = (uint8_t)(value >> 8);
	rgb[2] = (uint8_t)value;
}

/* Finds the colour between two stops; the last stop's `at` is 1. */
static void mix(uint8_t rgb[3], const struct stop *s, double at)
{
	double part;
	unsigned i;

	while (s[1].at < at)
		s++;
	part = (at - s[0].at) / (s[1].at - s[0].at);
	for (i = 0; i < 3; i++) {
		double a = s[0].rgb >> (16 - 8 * i) & 0xff, b = s[1].rgb >> (16 - 8 * i) & 0xff;

		rgb[i] = (uint8_t)lround(a + (b - a) * part);
	}
}

/* Colours that are invisible on dark paper are mixed with white, as in src/web/colours.ts. */
static void lighten(uint8_t rgb[3])
{
	const double light = 0.3 * rgb[0] + 0.59 * rgb[1] + 0.11 * rgb[2];
	const double white = light < 100 ? (100 - light) / 255 : 0;
	unsigned i;

	for (i = 0; i < 3; i++)
		rgb[i] = (uint8_t)lround(rgb[i] + (255 - rgb[i]) * white);
}

static void make(uint8_t rgb[PALETTE_COUNT][3], enum theme theme)
{
	unsigned i, k;

	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		set(rgb[plain[i].colour], plain[i].rgb[theme]);
	for (i = 0; i < sizeof(ramps) / sizeof(ramps[0]); i++)
		for (k = 0; k < ramps[i].levels; k++)
			mix(rgb[ramps[i].colour + k], ramps[i].stop,
			    (double)k / (ramps[i].levels - 1));
	for (i = 0; i < SIZE_CLASSES; i++)
		set(rgb[COLOUR_SIZE + i], sizes[i]);
	for (i = 0; i < HUES; i++) {
		set(rgb[COLOUR_HUE + i], hues[i]);
		if (theme == THEME_DARK)
			lighten(rgb[COLOUR_HUE + i]);
	}
}

const uint8_t (*palette(enum theme theme))[3]
{
	static uint8_t rgb[THEME_COUNT][PALETTE_COUNT][3];
	static bool made[THEME_COUNT];

	if (!made[theme])
		make(rgb[theme], theme);
	made[theme] = true;
	return rgb[theme];
}

_Static_assert(COLOUR_END <= PALETTE_COUNT, "a colour is a byte");

/* Ages below this part of a run have one colour. */
#define AGE_SCALE 1000.0

uint8_t palette_age(uint64_t age, uint64_t most)
{
	double part = most ? log1p(AGE_SCALE * (double)age / (double)most) / log1p(AGE_SCALE) : 0;
	unsigned level = (unsigned)(part * AGE_LEVELS);

	return (uint8_t)(COLOUR_AGE + (level < AGE_LEVELS ? level : AGE_LEVELS - 1));
}

static const uint64_t most_of_class[SIZE_CLASSES] = {
	16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 131072, 1048576, UINT64_MAX,
};

unsigned palette_size_class(uint64_t size)
{
	unsigned i = 0;

	while (size > most_of_class[i])
		i++;
	return i;
}

uint64_t palette_size_most(unsigned size_class)
{
	return most_of_class[size_class];
}
