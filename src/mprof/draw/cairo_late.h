/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* cairo_late.h - the functions of Cairo that mprof uses, loaded by canvas_start(). */
#pragma once

#include <cairo-pdf.h>
#include <cairo-svg.h>

#include "../util/late.h"

#define CAIRO_FUNCTIONS(X)                       \
	X(cairo_, create)                        \
	X(cairo_, destroy)                       \
	X(cairo_, font_face_destroy)             \
	X(cairo_, font_options_create)           \
	X(cairo_, font_options_destroy)          \
	X(cairo_, font_options_set_antialias)    \
	X(cairo_, font_options_set_hint_metrics) \
	X(cairo_, get_source)                    \
	X(cairo_, get_target)                    \
	X(cairo_, image_surface_create_for_data) \
	X(cairo_, line_to)                       \
	X(cairo_, matrix_init_identity)          \
	X(cairo_, matrix_init_scale)             \
	X(cairo_, move_to)                       \
	X(cairo_, paint)                         \
	X(cairo_, pattern_set_filter)            \
	X(cairo_, pdf_surface_create_for_stream) \
	X(cairo_, recording_surface_create)      \
	X(cairo_, scaled_font_create)            \
	X(cairo_, scaled_font_extents)           \
	X(cairo_, scaled_font_text_extents)      \
	X(cairo_, set_line_cap)                  \
	X(cairo_, set_line_width)                \
	X(cairo_, set_scaled_font)               \
	X(cairo_, set_source_rgb)                \
	X(cairo_, set_source_surface)            \
	X(cairo_, show_page)                     \
	X(cairo_, show_text)                     \
	X(cairo_, status)                        \
	X(cairo_, status_to_string)              \
	X(cairo_, stroke)                        \
	X(cairo_, surface_destroy)               \
	X(cairo_, surface_finish)                \
	X(cairo_, surface_flush)                 \
	X(cairo_, surface_mark_dirty)            \
	X(cairo_, surface_reference)             \
	X(cairo_, surface_status)                \
	X(cairo_, surface_write_to_png_stream)   \
	X(cairo_, svg_surface_create_for_stream) \
	X(cairo_, toy_font_face_create)

struct cairo_functions {
	CAIRO_FUNCTIONS(LATE_MEMBER)
};
extern struct cairo_functions cairo; /* filled by canvas_start() */
