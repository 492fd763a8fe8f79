/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * scopes.h - functions that only some objects see: plugins have scopes of their own.
 */
#pragma once

#include <link.h>
#include <mprof/wrapped.h>

/* glibc 2.35 and later: no lock, no allocation. */
extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));

/*
 * What the object that contains the code at `caller` gets by this name from itself and its
 * dependencies, or else from library (NULL: none).  Remembered by the caller's link map in
 * scope[MPROF_SCOPES], which begins as zeros, until mp_scopes_forget().  No object stays loaded for
 * this.  NULL: nothing.  Any thread; calls the loader.
 */
void *mp_scope_find(struct mprof_scope *scope, const char *name, const char *library,
		    const void *caller);
/* What it found earlier for that object; NULL: nothing.  Takes no lock with glibc 2.35 and later.
 */
void *mp_scope_known(const struct mprof_scope *scope, const void *caller);
/* The address at which the object with this code or data is loaded; NULL: none. */
const void *mp_scope_base(const void *at);
/* An object may have been unloaded, and another one may get its place. */
void mp_scopes_forget(void);
