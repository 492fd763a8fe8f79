# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# trees.sh - trees, sources, chains and threads, and the sentences of findings, for programs whose
# every figure is known.

# Line numbers matter: figures are looked up by them.
shop_source() {
	cat <<'END'
#include <stdlib.h>
#include <string.h>
static char *keep[64];
static char *take(size_t n)
{
	char *p = malloc(n);
	memset(p, 1, n);
	return p;
}
static void stock(int n)
{
	for (int i = 0; i < n; i++)
		keep[i] = take(1000);
}
static void rush(void)
{
	for (int i = 0; i < 300; i++)
		free(take(10));
}
static int deep(int n)
{
	if (n)
		return deep(n - 1) + 1;
	keep[63] = malloc(5000);
	return 0;
}
int main(void)
{
	stock(40);
	rush();
	deep(20);
	for (int i = 0; i < 30; i++)
		free(keep[i]);
	return 0;
}
END
}

shop() { # [CFLAGS...]: ./shop and its trace in log
	shop_source >shop.c
	cc -g -O0 -fno-builtin "$@" -o shop shop.c || bad 'shop.c does not compile'
	run "$mprof" record -o log -- ./shop
}

shown() { # VIEW...: JSON of it in answer
	run "$mprof" report --json "$@" log
	expect_status 0
	cp out answer
}

# "function inclusive/exclusive" of rows, each after its parent.
tree_of() { # VALUE
	json answer "[.rows[] | \"\(.depth):\(.function) \(.inclusive.$1)/\(.exclusive.$1)\"] | join(\", \")"
}

test_report_top_down() {
	shop
	shown top-down --sort peak --min-percent 0
	expect_same tree "$(tree_of total)" '1:main 48000/0, 2:stock 40000/0, 3:take 40000/40000, 2:deep 5000/5000, 2:rush 3000/0, 3:take 3000/3000'
	expect_same sums "$(json answer '[.rows[].exclusive.calls] | add')" 341
	expect_same total "$(json answer '"\(.total.peak) \(.total.calls) \(.total.live)"')" '45000 341 15000'
	expect_same parents "$(json answer '[.rows[].parent] | map(tostring) | join(" ")')" 'null 1 2 1 1 5'
	shown top-down --sort calls --depth 2
	expect_same shallow "$(tree_of calls)" '1:main 341/0, 2:rush 300/0, 2:stock 40/0'
	expect_same hidden "$(json answer .hidden)" 3
	shown top-down --by line --sort total --min-percent 0
	expect_same lines "$(json answer '[.rows[] | select(.function == "main").line] | join(" ")')" '29 31 30'
	shown top-down --by module
	expect_same modules "$(json answer '[.rows[].module] | join(" ")')" shop
	run "$mprof" report top-down log
	grep -Eq '^ +100 % +43\.9 KiB +341 +main \(shop\.c\)$' out || bad "main: $(cat out)"
	grep -Eq '^ +89 % +39\.1 KiB +40 +stock' out || bad 'stock'
	run "$mprof" report top-down --by size log
	expect_status 2
	expect_one_line_error
}

test_report_bottom_up() {
	shop
	shown bottom-up --sort total --min-percent 0
	expect_same tree "$(tree_of total)" '1:take 43000/43000, 2:stock 40000/0, 3:main 40000/0, 2:rush 3000/0, 3:main 3000/0, 1:deep 5000/5000, 2:main 5000/0'
}

test_report_callers() {
	shop
	shown callers take --sort total --min-percent 0
	expect_same callers "$(tree_of total)" '1:take 43000/43000, 2:stock 40000/0, 3:main 40000/0, 2:rush 3000/0, 3:main 3000/0'
	expect_same callees "$(json answer '[.callees[] | "\(.function) \(.inclusive.total)"] | join(" ")')" 'take 43000'
	shown callers stock --sort calls
	expect_same 'what it calls' "$(json answer '[.callees[] | "\(.function) \(.inclusive.calls)/\(.exclusive.calls)"] | join(" ")')" 'stock 40/0 take 40/40'
	shown callers 'd*p' --sort calls
	expect_same 'by a glob' "$(json answer .total.calls)" 1
	# A tenth of all bytes: the callers of a small function are asked for, too.
	shown callers deep --sort total --min-percent 50
	expect_same 'of a small function' "$(tree_of total)" '1:deep 5000/5000, 2:main 5000/0'
	run "$mprof" report callers tske log
	expect_status 2
	expect_one_line_error
	expect_text err "did you mean 'take'?"
	run "$mprof" report callers log
	expect_status 2
}

margin_of() { # LINE: "own peak calls" of the text in out
	awk -v line="$1" '{ for (i = 1; i <= NF; i++) if ($i == line) { $i = "|"; sub(/ *\|.*/, ""); print; exit } }' out
}

test_report_annotate() {
	shop
	shown annotate shop.c
	expect_same lines "$(json answer '[.rows[0].lines[] | "\(.line):\(.inclusive.total)/\(.exclusive.total)"] | join(" ")')" \
		'6:43000/43000 13:40000/0 18:3000/0 23:5000/0 24:5000/5000 29:40000/0 30:3000/0 31:5000/0'
	expect_same source "$(json answer '.rows[0].lines[0].source')" '	char *p = malloc(n);'
	expect_same 'it is older' "$(json answer '.rows[0].source_is_newer')" false
	run "$mprof" report annotate 'sh*.c' log
	expect_same 'line 6' "$(margin_of 6 | tr -s ' ')" '39.1 KiB 39.1 KiB 340'
	expect_text out 'keep[i] = take(1000);'
	expect_no_text out 'not here'
	mkdir -p moved/src
	mv shop.c moved/src
	run "$mprof" report annotate shop.c log
	expect_text out 'Its source was not found (No such file or directory)'
	grep -Eq '340 +6 +take' out || bad 'no figures without the source'
	run "$mprof" report annotate shop.c --source-dir nowhere --source-dir moved/src log
	expect_text out 'keep[i] = take(1000);'
	echo >>moved/src/shop.c
	touch -d '1 hour' moved/src/shop.c
	run "$mprof" report annotate shop.c --source-dir moved/src log
	expect_text out 'was changed after the trace was made'
	run "$mprof" report annotate other.c log
	expect_status 2
	expect_text err 'shop.c'
	cc -O0 -fno-builtin -o shop moved/src/shop.c -Wl,--build-id=none
	run "$mprof" record -o log -- ./shop
	run "$mprof" report annotate main.c --module shop log
	expect_status 2
}

# 256 bytes more each time up to 1 MiB, a C++ vector, and a block that never grows.
test_report_realloc() {
	cat >grow.cc <<'END'
#include <cstdlib>
#include <vector>
static void one_by_one()
{
	char *p = (char *)malloc(512);
	for (size_t n = 768; n <= 1048576; n += 256)
		p = (char *)realloc(p, n);
	free(p);
}
static void by_vector()
{
	std::vector<long> v;
	for (long i = 0; i < 1000; i++)
		v.push_back(i);
}
int main()
{
	void *p = malloc(100);
	one_by_one();
	by_vector();
	p = realloc(p, 50);
	free(p);
	return 0;
}
END
	g++ -g -O0 -o grow grow.cc || return 0
	run "$mprof" record -o log -- ./grow
	shown realloc
	expect_same sums "$(json answer '"\(.chains) \(.steps) \(.copies)"')" '2 4104 10'
	expect_same realloc "$(json answer '.rows[] | select(.function == "one_by_one") |
		"\(.line) \(.steps) \(.copies) \(.longest) \(.largest_bytes) \(.reserve_bytes) \(.saved_calls)"')" \
		'7 4094 0 4094 1048576 1048576 4094'
	# 8, 16, ... 8192 bytes: ten new blocks, each twice the last.
	expect_same vector "$(json answer '.rows[] | select(.function != "one_by_one") |
		"\(.steps) \(.copies) \(.copied_bytes) \(.largest_bytes) \(.reserve_bytes) \(.saved_copied_bytes)"')" \
		'10 10 8184 8192 8192 8184'
	shown realloc --function by_vector
	expect_same 'one of them' "$(json answer '.rows | length')" 1
	run "$mprof" report --json log
	expect_same finding "$(json out '.findings[] | select(.finding == "realloc") | "\(.function) \(.part)"')" 'one_by_one 4094'
	run "$mprof" report realloc log
	expect_text out 'reserve 1,048,576 bytes (1.0 MiB): saves 4,094 calls'
	expect_text out 'not by realloc but as vectors grow'
	for option in '--process 1' '--thread 1' '--size 10..'; do
		run "$mprof" report realloc $option log
		expect_status 2
		expect_text err "report realloc shows the whole run: leave out ${option%% [0-9.]*}"
	done
}

# One thread makes 100 blocks of 64 bytes, the other frees 70 of them and makes its own.
test_report_producers_and_consumers() {
	cat >hand.c <<'END'
#include <pthread.h>
#include <stdlib.h>
static void *block[1300];
static void *consumer(void *arg)
{
	for (int i = 0; i < 1000; i++)
		free(block[i]);
	for (int i = 0; i < 5; i++)
		free(malloc(1000));
	return arg;
}
int main(void)
{
	pthread_t t;
	for (int i = 0; i < 1300; i++)
		block[i] = malloc(64);
	pthread_create(&t, NULL, consumer, NULL);
	pthread_join(t, NULL);
	for (int i = 1000; i < 1300; i++)
		free(block[i]);
	return 0;
}
END
	cc -g -O0 -fno-builtin -pthread -o hand hand.c || bad 'hand.c does not compile'
	run "$mprof" record -o log -- ./hand
	shown threads
	expect_same pair "$(json answer '.rows[] | "\(.from_thread) \(.to_thread) \(.blocks) \(.bytes)"')" '1 2 1000 64000'
	expect_same consumer "$(json answer '.threads[] | select(.thread == 2) |
		"\(.allocated.bytes) \(.freed_itself.blocks) \(.freed_of_others.blocks) \(.producers)"')" '5000 5 1000 1'
	expect_same site "$(json answer '.sites[0] | "\(.function):\(.line) \(.foreign_frees)"')" 'main:16 1000'
	run "$mprof" report --json log
	expect_same finding "$(json out '.findings[] | select(.finding == "threads") | "\(.function) \(.part)"')" 'main 1000'
	run "$mprof" report threads log
	grep -Eq '^ +of thread +by 2$' out && grep -Eq '^ +1 +62\.5 KiB$' out || bad "no matrix: $(cat out)"
}

# ---- findings ----

test_report_findings_of_stacks() {
	shop
	run "$mprof" report --json log
	cp out answer
	expect_same peak "$(json answer '.findings[] | select(.finding == "peak" and .function == "take") | "\(.part) \(.of) \(.line)"')" '40000 45000 6'
	expect_same temporary "$(json answer '.findings[] | select(.finding == "temporary") | "\(.function) \(.part) \(.of)"')" 'take 300 341'
	expect_same leak "$(json answer '.findings[] | select(.finding == "leak") | "\(.function) \(.part) \(.of)"')" 'take 10000 45000'
	# Blocks that were allocated once and stay belong to the peak.
	expect_same 'what stayed' "$(json answer '.findings[] | select(.finding == "peak" and .function == "deep") | "\(.part) \(.left)"')" '5000 5000'
	expect_same 'no more than ten' "$(json answer '.findings | length <= 10')" true
	run "$mprof" report log
	expect_words out '89 % of the peak (39.1 KiB in 40 blocks) was allocated by take (shop.c:6), called by stock (shop.c:13).'
	expect_text out '       mprof report callers take log'
	expect_words out 'was allocated by deep (shop.c:24); 4.9 KiB of its blocks were never freed.'
	"$mprof" record -o "it's a log" -- ./shop 2>/dev/null
	run "$mprof" report --all "it's a log"
	# Every command that a finding names does what the finding says, in a shell.
	sed -n "s/^ *mprof re/mprof re/p" out >commands
	[ "$(wc -l <commands)" -ge 4 ] || bad "only these commands: $(cat commands)"
	while read -r line; do
		PATH=$build:$PATH sh -c "$line" >said 2>&1 || bad "$line: $(cat said)"
		grep -Eq 'take|deep' said || bad "$line: shows neither take nor deep"
	done <commands
	run env MPROF_CONF=UNWIND=none "$mprof" record -o log -- ./shop
	run "$mprof" report log
	expect_status 0
	expect_no_text out 'Findings'
	expect_words out 'This trace has no call stacks'
}

test_report_of_trees_names_are_documented() {
	shop
	shown top-down
	expect_documented tree_view answer
	shown callers take
	expect_documented callers_view answer
	shown annotate shop.c
	expect_documented annotate_view answer
	shown realloc
	expect_documented realloc_view answer
	shown threads
	expect_documented threads_view answer
}

# f and g call each other 40,000 times: each call is a node, and no code recurses over them.
test_report_trees_as_deep_as_stacks() {
	cat >mutual.c <<'END'
#include <stdlib.h>
int g(int n);
int f(int n)
{
	return n ? g(n - 1) + 1 : malloc(77) == NULL;
}
int g(int n)
{
	return f(n) + 1;
}
int main(void)
{
	return f(20000) < 0;
}
END
	cc -g -O0 -o mutual mutual.c || bad 'mutual.c does not compile'
	run "$mprof" record -o log -- ./mutual
	run "$mprof" report top-down log
	expect_status 0
	grep -Eq '^ +100 % +77 bytes +77 bytes +1 +f \(mutual\.c\)$' out || bad 'the innermost f'
	expect_same functions "$(grep -cE ' [fg] \(mutual\.c\)$' out)" 40001
	run "$mprof" report bottom-up log
	expect_same 'the other way' "$(grep -cE ' [fg] \(mutual\.c\)$' out)" 40001
	run "$mprof" diff --by stack log log
	expect_status 0
}

# A real program: in whatever order its stacks are merged, nothing is lost or counted twice.
test_report_trees_add_up() {
	local view total
	run "$mprof" record -o log -- perl -e 'my %h; $h{$_ % 97} .= "x$_" for 1..3000; print join ",", sort keys %h'
	expect_status 0
	shown top-down --min-percent 0
	total=$(json answer '.total | "\(.calls) \(.total) \(.peak) \(.live)"')
	for view in 'top-down --by line' top-down 'top-down --by module' bottom-up 'bottom-up --by file'; do
		# shellcheck disable=SC2086
		shown $view --min-percent 0
		expect_same "$view" "$(json answer '[.rows[].exclusive] |
			"\(map(.calls) | add) \(map(.total) | add) \(map(.peak) | add) \(map(.live) | add)"')" "$total"
		expect_same "roots of $view" "$(json answer '[.rows[] | select(.depth == 1).inclusive] |
			"\(map(.calls) | add) \(map(.total) | add) \(map(.peak) | add) \(map(.live) | add)"')" "$total"
	done
	expect_same 'folded stacks' "$("$mprof" export --to folded --value total log | awk '{ s += $NF } END { print s }')" \
		"$(echo "$total" | cut -d' ' -f2)"
	run "$mprof" report --json log
	expect_same 'the peak' "$(json out .peak_bytes)" "$(echo "$total" | cut -d' ' -f3)"
}

# Inlined into main, but still at the lines where they were written.
test_report_annotate_inlined() {
	shop_source >shop.c
	cc -g -O2 -fno-builtin -o shop shop.c || bad 'shop.c does not compile'
	run "$mprof" record -o log -- ./shop
	shown annotate shop.c
	expect_same 'line 6' "$(json answer '.rows[0].lines[] | select(.line == 6) | "\(.function) \(.inclusive.total) \(.exclusive.calls)"')" 'take 43000 340'
	expect_same 'line 13' "$(json answer '.rows[0].lines[] | select(.line == 13) | "\(.function) \(.inclusive.total) \(.exclusive.calls)"')" 'stock 40000 0'
}

# What begins a process is kept, however long its names, settings and arguments are.
test_processes_with_long_arguments() {
	local long
	long=$(printf 'x%.0s' $(seq 600))
	mkdir "${long:0:200}"
	run "$mprof" record --only "sh,${long:0:200}" -o "${long:0:200}/log" -- sh -c '(:); (:); true' "$long" "$long"
	run "$mprof" report --json "${long:0:200}/log"
	expect_same 'programs' "$(json out '[.processes[] | .exe | split("/") | last] | unique | tostring')" '["sh"]'
	expect_same 'processes' "$(json out '.processes | length')" 3
	expect_same 'parents' "$(json out '[.processes[].parent] | tostring')" '[0,1,1]'
}

# After an exec, the main thread is the same one in every answer, of every kind of file.
test_main_thread_after_exec() {
	local program=(perl -e 'my @a = map { "x" x $_ } 1 .. 500; exec "perl", "-e", "my @b = (1 .. 500)"') file

	run "$mprof" record -o small -- "${program[@]}"
	run "$mprof" record --no-compress -o raw -- "${program[@]}"
	run "$mprof" profile -o totals -- "${program[@]}"
	for file in small raw; do
		run "$mprof" report --json $file
		expect_same "$file: threads of the run" "$(json out '[.threads[] | .thread] | tostring')" '[1]'
		run "$mprof" report threads --json $file
		expect_same "$file: those that freed" "$(json out '[.threads[] | .thread] | tostring')" '[1]'
		expect_same "$file: those with stacks" "$(json out '[.stacks[] | .thread] | unique | tostring')" '[1]'
	done
	run "$mprof" report --json totals
	expect_same 'threads of the profile' "$(json out .threads)" 1
	for file in small totals; do
		run "$mprof" report hot --by thread $file
		expect_text out '100 %' 'thread 1'
		expect_no_text out 'thread 2'
	done
	expect_same 'those of dump' "$("$mprof" dump small | cut -f 3 | sort -u)" 1
}
