// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * archive.c - part of libmprof.a only: makes linking it into a static program fail.
 *
 * The library's functions precede libc's and find those with dlsym(), which finds nothing in a
 * static program, not even malloc.  So the archive needs a symbol that the dynamic linker defines
 * and a static libc does not; the linker's message names this function.  Where linking succeeds
 * nevertheless, core.c refuses at run time.
 */
#if defined(__x86_64__)
#define OF_THE_DYNAMIC_LINKER __tls_get_addr
#else
#define OF_THE_DYNAMIC_LINKER _DYNAMIC /* also defined in a static PIE program */
#endif
extern const char OF_THE_DYNAMIC_LINKER[];

const void *libmprof_cannot_record_a_static_program(void);

__attribute__((visibility("hidden"))) const void *libmprof_cannot_record_a_static_program(void)
{
	return OF_THE_DYNAMIC_LINKER;
}
