// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_frame.c - see html_frame.h. */
#include "html_frame.h"

#include "../util/blob.h"
#include "../util/markup.h"
#include "html_hashes.h" /* made by the Makefile: HTML_STYLE_SHA256 and so on */

/* Style and scripts of the page, bundled from src/web/report; the Makefile defines their paths. */
__asm__(".section .rodata\n"
	"html_style: .incbin \"report.css\"\n"
	"html_style_end: .byte 0\n"
	"html_script: .incbin \"report.js\"\n"
	"html_script_end: .byte 0\n"
	"html_unpack: .incbin \"unpack.js\"\n"
	"html_unpack_end: .byte 0\n"
	".previous\n");
extern const char html_style[], html_style_end[], html_script[], html_script_end[];
extern const char html_unpack[], html_unpack_end[];

/*
 * The page's script is compressed; this one unpacks it.  Its hash is in the policy as well, which
 * permits a script that is added later.
 */
#define POLICY                                                                    \
	"default-src 'none'; script-src 'sha256-" HTML_UNPACK_SHA256              \
	"' 'sha256-" HTML_SCRIPT_SHA256 "'; style-src 'sha256-" HTML_STYLE_SHA256 \
	"'; img-src data: blob:; base-uri 'none'; "                               \
	"form-action 'none'"

#define POLICY_SERVED POLICY "; connect-src 'self'"

const char html_policy_header[] = POLICY_SERVED "; frame-ancestors 'none'";

void html_frame_begin(const char *title, bool served, FILE *out)
{
	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"generator\" content=\"mprof " MPROF_VERSION "\">\n"
	      "<meta name=\"referrer\" content=\"no-referrer\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"",
	      out);
	/* The server adds directives that a page cannot contain. */
	fputs(served ? POLICY_SERVED : POLICY, out);
	fputs("\">\n<link rel=\"icon\" href=\"data:,\">\n<title>", out);
	markup_text(title, out);
	fputs(" - mprof</title>\n<style>", out);
	fwrite(html_style, 1, (size_t)(html_style_end - html_style), out);
	fputs("</style>\n</head>\n<body>\n", out);
}

void html_frame_end(FILE *out)
{
	struct blob b = { .data = NULL };

	blob_add(&b, html_script, (size_t)(html_script_end - html_script));
	blob_deflate(&b);
	fputs("<script type=\"text/plain\" id=\"mprof-script\">", out);
	blob_base64(b.data, b.used, out);
	blob_release(&b);
	fputs("</script>\n<script>", out);
	fwrite(html_unpack, 1, (size_t)(html_unpack_end - html_unpack), out);
	fputs("</script>\n</body>\n</html>\n", out);
}
