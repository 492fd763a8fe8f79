# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# width.sh - no line of an answer is wider than the screen: 80 columns in a pipe.

# Lines of FILE beyond N columns, apart from those that hold a command, a path or the long options
# of one, which are there to be copied.
too_wide() { # FILE N
	# Progress lines replace each other.
	sed "s/$escape\[[0-9;]*m//g; s/.*$escape\[K//" "$1" |
		perl -CS -ne 'chomp; next if length() <= '"$2"'; next if /^ {6,}(mprof|\x27)/;
			next if grep { m{/} && length() > '"$2"' - 20 } split / /; print "$_\n"'
}

expect_fits() { # FILE N WHAT
	local wide
	wide=$(too_wide "$1" "$2")
	[ -z "$wide" ] || bad "$3: wider than $2: $(head -3 <<<"$wide")"
}

# Every view of every trace fits: in a pipe and on a narrow terminal.
expect_narrow_answers() { # LOG...
	local log view how
	for log in "$@"; do
		while read -r view; do
			how="report $view $log"
			# shellcheck disable=SC2086
			"$mprof" $how >out 2>/dev/null || [ "$view" = 'annotate wordy.cc' ] ||
				[ "$view" = 'callers main' ] || bad "$how failed"
			expect_fits out 80 "$how"
			# shellcheck disable=SC2086
			on 24x60 --no-pager $how
			expect_fits out 60 "$how on a terminal"
		done <<-'END'

			--all
			peak
			peak --by function
			peak-rss
			leaks
			leaks --by line
			hot
			hot --by file
			temporary
			lifetimes
			lifetimes --by function
			waste
			top-down
			bottom-up
			callers main
			annotate wordy.cc
			realloc
			errors
			threads
		END
	done
}

# Long names of functions and of templates, deep stacks, growing vectors.
wordy() {
	cat >wordy.cc <<'END'
#include <map>
#include <string>
#include <vector>
#include <functional>
namespace a_namespace_of_some_length { namespace another_one_inside_of_it {
template <class Key, class Value> struct a_container_with_a_long_name {
	std::map<Key, std::vector<Value>> of;
	void insert_at_the_end(const Key &k, const Value &v) { of[k].push_back(v); }
};
} }
using namespace a_namespace_of_some_length::another_one_inside_of_it;
a_container_with_a_long_name<std::string, std::function<std::string(const std::string &)>> all;
static int deeper(int n) { return n ? deeper(n - 1) + 1 : (int)std::string(100, 'x').size(); }
static int other(int n) { return n ? deeper(n) + other(n - 1) : 0; }
int main()
{
	for (int i = 0; i < 3000; i++) {
		std::string text = "a string of more than fifteen bytes " + std::to_string(i % 100);
		all.insert_at_the_end(text, [text](const std::string &more) { return text + more; });
	}
	return other(20) < 0;
}
END
	g++ -g -O0 -o wordy wordy.cc || bad 'wordy.cc does not compile'
	"$mprof" record -o wordy.log -- ./wordy 2>/dev/null
}

several() {
	cat >several.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
static void *blocks[4][500];
static void *work(void *arg)
{
	for (int i = 0; i < 500; i++)
		((void **)arg)[i] = malloc(1000 + i);
	return arg;
}
int main(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, work, blocks[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 2000; i++)
		if (i % 3)
			free(blocks[i / 500][i % 500]);
	return mmap(0, 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
}
END
	cc -g -O0 -fno-builtin -pthread -o several several.c
	"$mprof" record -o several.log -- ./several 2>/dev/null
}

test_width_of_reports() {
	wordy
	several
	"$mprof" record -o tree.log -- sh -c 'for i in 1 2 3; do ls -l / | sort | tail -1; done; sh -c "kill -9 \$\$"; env -i /bin/true; true' >/dev/null 2>&1
	expect_narrow_answers wordy.log several.log tree.log
}

test_width_of_commands() {
	local how
	wordy
	several
	run "$mprof" profile -o several.profile -- ./several
	while read -r how; do
		# shellcheck disable=SC2086
		run "$mprof" $how
		expect_fits out 80 "$how"
		for size in 24x80 24x60; do
			# shellcheck disable=SC2086
			on $size --no-pager $how
			expect_fits out ${size#*x} "$how on $size"
		done
	done <<-'END'
		diff several.log wordy.log
		diff --all --by stack several.log wordy.log
		check --max-peak 1K wordy.log
		check --baseline several.log wordy.log
		report several.profile
		report --all several.profile
		report hot several.profile
		stat -- ./several
		stat -r 2 -- ./several
		sort several.log -o several.play
		replay --allocator glibc --quick --reps 1 several.log
		replay --drop-site work:8 --allocator glibc --quick --reps 1 several.log
		compare --allocator glibc --quick --reps 1 --no-heaps -o page.html several.log
		doctor ./several
		help
	END
}
