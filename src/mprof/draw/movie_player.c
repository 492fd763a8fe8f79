// SPDX-License-Identifier: LGPL-3.0-or-later
/* movie_player.c - embeds the player; the Makefile passes the path of movie.js. */
__asm__(".section .rodata\n"
	".globl movie_player, movie_player_end\n"
	"movie_player: .incbin \"movie.js\"\n"
	"movie_player_end: .byte 0\n"
	".previous\n");
