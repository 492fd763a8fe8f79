// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * archive.c - part of libmprof.a only: a static program must not be linked with it.
 *
 * The functions of the library come before libc's, and find those with dlsym().  In
 * a static program there is nothing to be found, not even malloc.  So the archive
 * needs a symbol that the dynamic linker has and a static libc has not: the link fails,
 * and the message names this function.  core.c refuses at run time where this does not.
 */
#if defined(__x86_64__)
#define OF_THE_DYNAMIC_LINKER __tls_get_addr
#else
#define OF_THE_DYNAMIC_LINKER _DYNAMIC /* there also in a static program that is PIE */
#endif
extern const char OF_THE_DYNAMIC_LINKER[];

const void *libmprof_cannot_record_a_static_program(void);

__attribute__((visibility("hidden"))) const void *libmprof_cannot_record_a_static_program(void)
{
	return OF_THE_DYNAMIC_LINKER;
}
