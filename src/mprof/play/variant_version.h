/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* variant_version.h - which version of an allocator is installed. */
#ifndef MPROF_PLAY_VARIANT_VERSION_H
#define MPROF_PLAY_VARIANT_VERSION_H

/*
 * Of the shared object ("" for glibc): the version of the Debian package that
 * installed it, else the name of its file.  free() it; NULL without memory.
 */
char *variant_version(const char *so);

#endif
