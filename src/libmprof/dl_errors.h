/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * dl_errors.h - what dlerror() tells the program, whatever we ask the loader meanwhile.
 *
 * A program may call operator new, or a function that WRAP names, for the first time between a
 * dlopen that fails and dlerror(), or while it copies what this returned; both end with the next
 * call of the loader, which may be the one by which we find the function.
 */
#pragma once

/* Around our own calls of dlsym and dlopen, except at the start.  Pairs may be nested.  Any thread.
 */
void mp_dl_errors_begin(void);
void mp_dl_errors_end(void);
/* At the end of a thread. */
void mp_dl_errors_release(void);
