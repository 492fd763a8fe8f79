/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* movie_player.h - the bundle of src/web, made by esbuild while mprof is built. */
#ifndef MPROF_DRAW_MOVIE_PLAYER_H
#define MPROF_DRAW_MOVIE_PLAYER_H

extern const char movie_player[], movie_player_end[];

#endif
