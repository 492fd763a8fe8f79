/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * ldcache.h - what the dynamic linker would find by itself.
 */
#ifndef MPROF_RUN_LDCACHE_H
#define MPROF_RUN_LDCACHE_H

/*
 * The path of the last library in a linker's cache (/etc/ld.so.cache) whose
 * name begins with soname and that is of this machine; free() it.  NULL when
 * there is none, or when the cache is of a form that is not understood.
 */
char *ldcache_find(const char *cache, const char *soname);

#endif
