// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * init.c - libmprof_mpi.so: finds the rank of an MPI program if no launcher's variable has it.
 *
 * A separate library, which mprof preloads after libmprof.so only into programs that need an MPI
 * library: others must not find an MPI_Init.  It is built without MPI.  After MPI_Init it calls
 * MPI_Comm_rank and passes the rank to libmprof.so.  MPI_COMM_WORLD differs between
 * implementations: an object in Open MPI, a number in those that are binary compatible with MPICH.
 * Other implementations are not called.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define EXPORT	    __attribute__((visibility("default")))
#define MPICH_WORLD 0x44000000
#define VERSION	    8192 /* the largest MPI_MAX_LIBRARY_VERSION_STRING */

/* Defined in libmprof.so. */
extern void mprof_set_rank(unsigned rank) __attribute__((weak));

/* Through a pointer to data: ISO C cannot cast to a function pointer. */
#define FIND(function, where, name) (*(void **)&(function) = dlsym(where, name), (function) != NULL)

static int is_like_mpich(void)
{
	static char version[VERSION];
	int (*get)(char *text, int *length), length;

	if (!FIND(get, RTLD_DEFAULT, "PMPI_Get_library_version") || get(version, &length))
		return 0;
	version[VERSION - 1] = 0;
	return strstr(version, "MPICH") || strstr(version, "Intel(R) MPI") ||
	       strstr(version, "CRAY");
}

static void tell_rank(void)
{
	void *world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
	int (*of_object)(void *world, int *rank), (*of_number)(int world, int *rank), rank = -1;

	if (!mprof_set_rank)
		return;
	if (world && FIND(of_object, RTLD_DEFAULT, "PMPI_Comm_rank"))
		of_object(world, &rank);
	else if (!world && is_like_mpich() && FIND(of_number, RTLD_DEFAULT, "PMPI_Comm_rank"))
		of_number(MPICH_WORLD, &rank);
	if (rank >= 0)
		mprof_set_rank((unsigned)rank);
}

/* Fails without an MPI library, as the program's call would without us. */
EXPORT int MPI_Init(int *argc, char ***argv);
EXPORT int MPI_Init(int *argc, char ***argv)
{
	int (*real)(int *argc, char ***argv);
	int ret = FIND(real, RTLD_NEXT, "MPI_Init") ? real(argc, argv) : -1;

	if (!ret)
		tell_rank();
	return ret;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int (*real)(int *argc, char ***argv, int required, int *provided);
	int ret =
	    FIND(real, RTLD_NEXT, "MPI_Init_thread") ? real(argc, argv, required, provided) : -1;

	if (!ret)
		tell_rank();
	return ret;
}

/* Fortran's function, which may call C's under another name. */
EXPORT void mpi_init_(int *error);
EXPORT void mpi_init_(int *error)
{
	void (*real)(int *error);

	if (!FIND(real, RTLD_NEXT, "mpi_init_"))
		return;
	real(error);
	if (!*error)
		tell_rank();
}

EXPORT void mpi_init_thread_(int *required, int *provided, int *error);
EXPORT void mpi_init_thread_(int *required, int *provided, int *error)
{
	void (*real)(int *required, int *provided, int *error);

	if (!FIND(real, RTLD_NEXT, "mpi_init_thread_"))
		return;
	real(required, provided, error);
	if (!*error)
		tell_rank();
}
