/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* html_assets.h - style and script of the report's page, bundled from src/web/report. */
#ifndef MPROF_HTML_HTML_ASSETS_H
#define MPROF_HTML_HTML_ASSETS_H

#include "html_hashes.h" /* made by the Makefile: HTML_STYLE_SHA256, HTML_SCRIPT_SHA256 */

extern const char html_style[], html_style_end[], html_script[], html_script_end[];

#endif
