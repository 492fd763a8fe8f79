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
		mpirun --oversubscribe --mca btl self,tcp -n 4 "$mprof" profile -q -o 'p.%r' --only ranks -- ./ranks
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
	# One file a rank by its own name, and a filter.
	run env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
		mpirun --oversubscribe --mca btl self,tcp -n 4 "$mprof" profile -q --preset mpi --ranks 1,3 -- ./ranks
	expect_status 0
	expect_same 'files of two ranks' "$(find . -name 'mprof.*.profile' | sed 's/.*mprof\.[^.]*\.//' | sort | tr '\n' ' ')" '1.profile 3.profile '
}
