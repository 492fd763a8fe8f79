/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * scopes.h - functions that only some objects see: plugins have scopes of their own.
 */
#pragma once

#include <link.h>

/* glibc 2.35 and later: no lock, no allocation. */
extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));

/*
 * Finds the function of this name for the object that contains the code at `caller`: in the object
 * and its dependencies, or else in library (may be NULL).  Remembers it by `of`, which stands for
 * the name, and the caller's link map, until mp_scopes_forget().  Keeps no object loaded.  NULL if
 * not found.  Any thread; calls the loader.
 */
void *mp_scope_find(const void *of, const char *name, const char *library, const void *caller);
/* Returns what mp_scope_find() found earlier for that object, or NULL.  Takes no lock with glibc
 * 2.35 and later. */
void *mp_scope_known(const void *of, const void *caller);
/* Returns the address at which the object with this code or data is loaded, or NULL. */
const void *mp_scope_base(const void *at);
/* Looks the name up in a library and its dependencies if it is loaded.  NULL if it is not loaded or
 * does not have the name.  Any thread; calls the loader. */
void *mp_scope_ask(const char *library, const char *name);
/* Returns the executable, with which the loader's list begins; NULL if it is static. */
struct link_map *mp_scope_executable(void);
/* Returns what the program's own calls of this name reach, or NULL. */
void *mp_scope_seen(const char *name);
/* Returns the file of that object, or NULL; it is the loader's. */
const char *mp_scope_file(const void *at);
/* Call this when an object may have been unloaded, because another one may get its place. */
void mp_scopes_forget(void);
