# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# mpi.sh - an MPI program, one profile a rank.

test_mpi_ranks() {
	local i
	cat >ranks.c <<'END'
#include <mpi.h>
#include <stdlib.h>
static void *keep(void) { return malloc(1000); }
int main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < (rank == 2 ? 30000 : 1000); i++)
		keep();
	MPI_Finalize();
	return 0;
}
END
	mpicc -g -O1 -fno-inline -fno-builtin -o ranks ranks.c 2>err || bad "ranks.c does not compile: $(cat err)"
	run env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		mpirun --oversubscribe --mca btl self,tcp --mca btl_tcp_if_include lo -n 4 "$mprof" profile -q -o 'p.%r' --only ranks -- ./ranks
	expect_status 0
	expect_same 'one file a rank' "$(echo p.*)" 'p.0 p.1 p.2 p.3'
	for i in 0 1 2 3; do
		expect_same "calls of rank $i" "$("$mprof" report hot --by function --json --top 0 p.$i 2>err |
			jq '[.rows[] | select(.function == "keep") | .figures.calls] | add')" $((i == 2 ? 30000 : 1000))
	done
	run "$mprof" merge p.0 p.1 p.2 p.3 -o all
	expect_status 0
	run "$mprof" report --json all
	expect_same ranks "$(json out '[.ranks[].rank] | join(" ")')" '0 1 2 3'
	expect_same outlier "$(json out '[.ranks[] | select(.outlier) | .rank] | join(" ")')" 2
	run "$mprof" report all
	expect_text out 'Rank'
	# One file for each rank under its own name, and a filter.
	run env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		mpirun --oversubscribe --mca btl self,tcp --mca btl_tcp_if_include lo -n 4 "$mprof" profile -q --preset mpi --ranks 1,3 -- ./ranks
	expect_status 0
	expect_same 'files of two ranks' "$(find . -name 'mprof.*.profile' | sed 's/.*mprof\.[^.]*\.//' | sort | tr '\n' ' ')" '1.profile 3.profile '
}

# A library with MPI_Init in two variants, as in Open MPI (OMPI) and MPICH, that reports rank $RANK;
# and a program that needs it and allocates before and after MPI_Init.
mpi_of_our_own() { # FLAGS
	cat >mpi.c <<'END'
#include <stdlib.h>
#include <string.h>
#ifdef OMPI
struct { int is; } ompi_mpi_comm_world = { 42 };
int PMPI_Comm_rank(void *world, int *rank)
{
	if (world != &ompi_mpi_comm_world)
		return 1;
#else
int PMPI_Get_library_version(char *text, int *length)
{
	*length = (int)strlen(strcpy(text, "MPICH Version: 4.0"));
	return 0;
}
int PMPI_Comm_rank(int world, int *rank)
{
	if (world != 0x44000000)
		return 1;
#endif
	*rank = atoi(getenv("RANK"));
	return 0;
}
int MPI_Init(int *argc, char ***argv)
{
	return !argc || !argv;
}
END
	cat >own.c <<'END'
#include <stdlib.h>
int MPI_Init(int *argc, char ***argv);
static void *keep(void) { return malloc(1000); }
int main(int argc, char **argv)
{
	keep();
	return MPI_Init(&argc, &argv) || !keep();
}
END
	cc -shared -fPIC "$@" -o libmpi.so mpi.c && cc -g -O1 -fno-inline -fno-builtin -o own own.c -L. -lmpi \
		-Wl,-rpath,"$PWD" || bad 'the MPI program does not compile'
}

test_mpi_rank_from_mpi_itself() {
	local kind rank
	for kind in -DOMPI -DMPICH; do
		mpi_of_our_own $kind
		for rank in 3 5; do
			run env RANK=$rank "$mprof" profile -q -o "./$kind.%r" -- ./own
			expect_status 0
		done
		expect_same "files with $kind" "$(ls -d ./"$kind".*)" "./$kind.3
./$kind.5"
		run "$mprof" merge ./"$kind".3 ./"$kind".5 -o "all$kind"
		run "$mprof" report --json "./all$kind"
		expect_same "ranks with $kind" "$(json out '[.ranks[].rank] | join(" ")')" '3 5'
		# The variable of a launcher takes precedence: MPI is not asked.
		run env RANK=3 PMI_RANK=7 "$mprof" profile -q -o "set$kind.%r" -- ./own
		expect_same "a variable with $kind" "$(ls -d ./set"$kind".*)" "./set$kind.7"
	done
	# A program that does not need MPI does not see MPI_Init.
	cat >none.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
int main(void) { return dlsym(RTLD_DEFAULT, "MPI_Init") || !malloc(10); }
END
	cc -o none none.c
	run "$mprof" profile -o 'none.%r' -- ./none
	expect_status 0
	expect_same 'the file without ranks' "$(echo none.[0-9]*)" none.0
	expect_text err 'the rank is unknown'
	run env PMI_RANK=2 "$mprof" profile -o 'none.%r' -- ./none
	expect_no_text err 'the rank is unknown'
	# Open MPI, started without a launcher.
	cat >alone.c <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	free(malloc(1));
	return MPI_Finalize();
}
END
	mpicc -o alone alone.c 2>err || bad "alone.c does not compile: $(cat err)"
	run env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self \
		"$mprof" profile -q -o 'alone.%r' --only alone -- ./alone
	expect_status 0
	expect_same 'the file of one process' "$(echo alone.[0-9]*)" alone.0
}

# As mpi4py does: a module that needs MPI, which the program loads while it runs.
test_mpi_loaded_late() {
	local kind
	for kind in -DOMPI -DMPICH; do
		mpi_of_our_own $kind
		cat >module.c <<'END'
int MPI_Init(int *argc, char ***argv);
int start(int *argc, char ***argv);
int start(int *argc, char ***argv) { return MPI_Init(argc, argv); }
END
		cat >late.c <<'END'
#include <dlfcn.h>
#include <stdlib.h>
static void *keep(void) { return malloc(1000); }
int main(int argc, char **argv)
{
	void *module = dlopen("./module.so", RTLD_NOW | RTLD_LOCAL);
	int (*start)(int *, char ***);
	if (!module)
		return 1;
	*(void **)&start = dlsym(module, "start");
	return start(&argc, &argv) || !keep();
}
END
		cc -shared -fPIC -o module.so module.c -L. -lmpi -Wl,-rpath,"$PWD" && cc -g -O0 -o late late.c ||
			bad 'late.c does not compile'
		run env RANK=3 "$mprof" profile -o "late$kind.%r" -- ./late
		expect_status 0
		expect_text err "the rank is unknown, so the name of '$PWD/late$kind.0' does not contain it"
		expect_text err 'not if it loads MPI while it runs'
		expect_same "calls with $kind" "$("$mprof" report hot --by function --json "late$kind.0" |
			jq '[.rows[] | select(.function == "keep") | .figures.calls] | add')" 1
		# With the variable of a launcher, as under mpirun.
		run env RANK=3 PMI_RANK=3 "$mprof" profile -q -o "late$kind.%r" -- ./late
		expect_status 0
		expect_same "a variable with $kind" "$(echo late$kind.[0-9]*)" "late$kind.0 late$kind.3"
		run env RANK=3 "$mprof" profile -o none --ranks 3 -- ./late
		expect_text err "(neither a launcher's variable nor MPI gives the rank)"
	done
}

# The rank is known only after MPI_Init: until then all ranks are recorded, and those that RANKS
# excludes leave no file.
test_mpi_rank_filter_from_mpi_itself() {
	local kind
	for kind in -DOMPI -DMPICH; do
		mpi_of_our_own $kind
		run env RANK=5 "$mprof" profile -q -o "./$kind.%r" --ranks 0,4-9 -- ./own
		expect_status 0
		run env RANK=3 "$mprof" profile -o "./$kind.%r" --ranks 0,4-9 -- ./own
		expect_status 0
		expect_text err 'no process of the run fits --ranks 0,4-9'
		expect_same "files with $kind" "$(ls -d ./"$kind".*)" "./$kind.5"
		"$mprof" report hot --by function --json "./$kind.5" >out 2>err
		expect_same 'calls before and after MPI_Init' "$(jq '[.rows[] | select(.function == "keep") | .figures.calls] | add' out)" 2
	done
	# An earlier file stays, also if it has all calls.
	run env RANK=5 "$mprof" record -q -o same.log --ranks 5 -- ./own
	cp same.log copy
	run env RANK=3 "$mprof" record -q -o same.log --ranks 5 -- ./own
	expect_status 0
	cmp same.log copy || bad 'the earlier file has changed'
	[ ! -e same.log.old ] || bad 'the earlier file was renamed'
	# Recording of excluded ranks really stops: the program sees that the file does not grow.
	cat >after.c <<'END'
#include <stdlib.h>
int MPI_Init(int *argc, char ***argv);
static void *later(void) { return malloc(2000); }
int main(int argc, char **argv)
{
	if (MPI_Init(&argc, &argv))
		return 1;
	for (int i = 0; i < 1000; i++)
		free(later());
	return system("cp seen kept");
}
END
	cc -g -O1 -fno-inline -fno-builtin -o after after.c -L. -lmpi -Wl,-rpath,"$PWD" || bad 'after.c does not compile'
	run env RANK=3 "$mprof" profile -q -o seen --only after --ranks 5 -- ./after
	expect_status 0
	[ ! -e seen ] || bad 'the file of rank 3 is still there'
	"$mprof" report hot --by function --json kept >out 2>err
	expect_same 'calls after MPI_Init' "$(jq '[.rows[] | select(.function == "later") | .figures.calls] | add' out)" null
	# A program without MPI has no rank.
	run "$mprof" profile -o none --ranks 1 -- true
	expect_text err "(neither a launcher's variable nor MPI gives the rank)"
	[ ! -e none ] || bad 'a file without a rank'
	# Open MPI without a launcher: rank 0.
	cat >alone.c <<'END'
#include <mpi.h>
int main(int argc, char **argv) { MPI_Init(&argc, &argv); return MPI_Finalize(); }
END
	mpicc -o alone alone.c 2>err || bad "alone.c does not compile: $(cat err)"
	for rank in 0 1; do
		run env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=self \
			"$mprof" profile -q -o "alone.$rank" --only alone --ranks $rank -- ./alone
		expect_status 0
	done
	expect_same 'files of Open MPI' "$(echo alone.[0-9])" alone.0
}
