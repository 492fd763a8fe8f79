// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_assets.c - holds them; the Makefile says where they are. */
#include "html_assets.h"

__asm__(".section .rodata\n"
	".globl html_style, html_style_end, html_script, html_script_end\n"
	"html_style: .incbin \"report.css\"\n"
	"html_style_end: .byte 0\n"
	"html_script: .incbin \"report.js\"\n"
	"html_script_end: .byte 0\n"
	".previous\n");
