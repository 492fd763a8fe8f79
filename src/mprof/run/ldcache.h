/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ldcache.h - the dynamic linker's cache of libraries.
 */
#pragma once

/*
 * Returns the path of the last library in a linker's cache (/etc/ld.so.cache) whose name begins
 * with soname and that is for this machine; the caller frees it.  NULL if there is none, or if the
 * format of the cache is unknown.
 */
char *ldcache_find(const char *cache, const char *soname);
