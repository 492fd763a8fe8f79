# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016
#
# terminal.sh - answers on a terminal: width, colour, bars, the pager.  In a pipe: plain.

# on SIZE [VAR=VALUE...] ARGUMENTS...: mprof on a terminal; what it showed in out, its end in err.
on() {
	local size=$1 setting=(TERM=xterm LC_ALL=C.UTF-8 PYTHONCOERCECLOCALE=0)
	shift
	while [[ $1 == *=* && $1 != -* ]]; do
		setting+=("$1")
		shift
	done
	run env -u NO_COLOR -u PAGER -u MPROF_PAGER -u LESS "${setting[@]}" \
		"$interpreter" -S "$here/on_terminal" "$size" "${waits[@]}" "$mprof" "$@"
}

waits=()

escape=$(printf '\033')

expect_end() { # HOW
	expect_same 'how it ended' "$(tail -1 err)" "$1"
}

# No line is wider than the terminal, not counting colours; no word is cut at its edge.
expect_width() { # COLUMNS
	sed "s/$escape\[[0-9;]*m//g" out >plain
	[ "$(wc -L <plain)" -le "$1" ] || bad "wider than $1: $(awk -v n="$1" 'length > n' plain | head -3)"
}

has_colour() { # FILE
	grep -q "$escape\[36m" "$1"
}

test_terminal_width() {
	words
	on 24x80 --no-pager report log
	expect_width 80
	on 24x60 report --no-pager log
	expect_width 60
	on 50x200 report --no-pager log
	expect_width 200
	[ "$(wc -L <plain)" -gt 80 ] || bad 'the terminal is 200 columns wide'
	# The text of the trace is the same at every width; a pipe has 80 columns.
	"$mprof" report log >pipe
	on 24x80 --no-pager report log
	expect_width 80
	expect_same 'a pipe' "$(cat pipe)" "$(cat plain)"
	# The sentences of --all, which are long; tables and commands are not broken.
	on 24x80 --no-pager --color=never report --all log
	sed -n '/^Findings/,/^Calls/p' out | grep -v '^      mprof ' >sentences
	expect_text sentences '  * At its peak'
	[ "$(wc -L <sentences)" -le 80 ] || bad "wider than 80: $(awk 'length > 80' sentences | head -3)"
	# Warnings go to stderr, which is the terminal, too.
	on 24x80 report hot --by function --no-pager --module words log
	expect_width 80
	on 24x80 report hot --no-pager --module words log
	expect_width 80
}

# Facts about a process tree fit on a narrow terminal.
test_terminal_narrow() {
	"$mprof" record -o log -- sh -c 'sort -rn /dev/null; cat /dev/null /dev/null; true' 2>/dev/null
	on 24x40 --no-pager report log
	expect_width 40
	expect_text plain 'sort -rn'
}

# A function with a name longer than a line; its trace is log.
long_name() {
	name=begins_$(printf 'goes_on_%.0s' {1..10})ends
	printf '#include <stdlib.h>\nvoid *p[9];\nvoid %s(int i) { p[i] = malloc(900); }\nint main(void) { for (int i = 0; i < 9; i++) %s(i); return 0; }\n' \
		"$name" "$name" >long.c
	compile long
	"$mprof" record -o log -- ./long 2>/dev/null
}

test_terminal_names_are_elided_in_their_middle() {
	local name
	long_name
	on 24x80 report hot --by function --no-pager --color=never log
	expect_width 80
	grep -q 'begins_.*….*ends (long.c)$' out || bad "not elided: $(cat out)"
	"$mprof" report hot --by function log >pipe
	on 24x80 LC_ALL=C report hot --by function --no-pager --color=never log
	expect_same 'a pipe' "$(cat pipe)" "$(cat out)"
	# COLUMNS sets a width at which names are whole.
	COLUMNS=300 run "$mprof" report hot --by function log
	expect_text out "$name"
}

test_terminal_colour() {
	words
	on 24x80 --no-pager report log
	has_colour out || bad 'no colour on a terminal'
	on 24x80 NO_COLOR=1 --no-pager report log
	! grep -q "$escape" out || bad 'colour in spite of NO_COLOR'
	on 24x80 NO_COLOR= --no-pager report log
	has_colour out || bad 'an empty NO_COLOR says nothing'
	on 24x80 TERM=dumb --no-pager report log
	! grep -q "$escape" out || bad 'colour on a dumb terminal'
	on 24x80 report --no-pager --color=never log
	! grep -q "$escape" out || bad 'colour in spite of --color=never'
	on 24x80 NO_COLOR=1 report --no-pager --color=always log
	has_colour out || bad 'no colour with --color=always'
	run "$mprof" report log
	! grep -q "$escape" out || bad 'colour in a pipe'
	run "$mprof" --color=always report log
	has_colour out || bad 'no colour with --color=always'
	run "$mprof" --color=always report --json log
	! grep -q "$escape" out || bad 'colour in JSON'
	run "$mprof" report --color=blue log
	expect_status 2
	expect_text err "invalid --color 'blue': expected auto, always, never"
}

# A name cannot smuggle in an escape sequence, coloured or not.
test_terminal_colour_smuggles_nothing() {
	local name
	name=$(printf 'a\033[31m\033]0;title\007\302\233b')
	cp "$build/preload/fixture_a" "$name"
	"$mprof" record -o "$name.log" -- "./$name" 2>/dev/null
	for what in '' peak leaks --all; do
		on 24x80 --no-pager --color=always report ${what:+"$what"} "$name.log"
		expect_end 'exit 0'
		sed "s/$escape\[\(1\|2\|33\|36\)\?m//g" out >plain
		! grep -q "$escape" plain || bad "an escape of the trace: $(cat -v plain)"
		! grep -q "$(printf '\302\233')" plain || bad 'a C1 control of the trace'
		! grep -q "$(printf '\007')" plain || bad 'a bell of the trace'
	done
}

test_terminal_bars() {
	words
	on 50x200 --no-pager report --all log
	grep -q '█' out || bad 'no blocks'
	! grep -q '##' out || bad 'bars of #'
	on 50x200 LC_ALL=C --no-pager report --all log
	! grep -q '█' out || bad 'blocks in the C locale'
	run "$mprof" report --all log
	grep -q '##' out || bad 'no bars in a pipe'
}

# Characters beyond ASCII only if the locale has them: bars, and the ellipsis of a name.
test_terminal_letters() {
	local locale name
	long_name
	for locale in LC_ALL=C 'LC_ALL= LC_CTYPE=POSIX' 'LC_ALL= LC_CTYPE= LANG=de_DE.ISO-8859-1'; do
		for view in --all top-down hot; do
			# shellcheck disable=SC2086
			on 24x60 $locale --no-pager --color=never report $view log
			! LC_ALL=C grep -q '[^ -~]' out || bad "not ASCII with $locale: $(LC_ALL=C grep -m1 '[^ -~]' out)"
		done
		expect_text out '...'
	done
	on 24x60 LC_ALL= LC_CTYPE= LANG=de_DE.UTF-8 --no-pager report hot log
	expect_text out '…'
	on 24x60 LC_ALL= LANG=C.utf8 --no-pager report --all log
	grep -q '█' out || bad 'no blocks'
	run "$mprof" report --all log
	! LC_ALL=C grep -q '[^ -~]' out || bad 'not ASCII in a pipe'
}

test_pager() {
	words
	on 24x80 MPROF_PAGER='cat >paged; printenv LESS >less; exit 7' report log
	expect_end 'exit 0'
	expect_text paged 'The whole run'
	has_colour paged || bad 'no colour in the pager'
	expect_same LESS "$(cat less)" FRX
	expect_no_text out 'The whole run'
	on 24x80 LESS=R PAGER='printenv LESS >less' report log
	expect_same 'LESS of the user' "$(cat less)" R
	rm -f paged
	# MPROF_PAGER takes precedence over PAGER; an empty one means none.
	on 24x80 PAGER='cat >wrong' MPROF_PAGER='cat >paged' report peak log
	[ -e paged ] && [ ! -e wrong ] || bad 'PAGER before MPROF_PAGER'
	on 24x80 PAGER='cat >wrong' MPROF_PAGER= report log
	expect_text out 'The whole run'
	on 24x80 PAGER=no-such-pager report log
	expect_text out 'The whole run'
	for how in --json --no-pager '--html=page.html'; do
		on 24x80 PAGER='cat >wrong' report "$how" log
		expect_end 'exit 0'
	done
	on 24x80 PAGER='cat >wrong' export --to folded -o folded log
	on 24x80 PAGER='cat >wrong' -t true
	expect_text out 'All tables'
	[ ! -e wrong ] || bad 'a pager for what has none'
	on 24x80 MPROF_PAGER='cat >paged' check --max-peak 1 log
	expect_end 'exit 1'
	expect_text paged 'peak'
	on 24x80 MPROF_PAGER='cat >paged' replay --quick --allocator glibc log
	expect_end 'exit 0'
	expect_text paged 'What was played'
	# Errors are printed as usual.
	on 24x80 report missing
	expect_end 'exit 3'
	expect_text out "'missing'"
}

# Messages of the pager, and the time when it is closed, change nothing.
test_pager_that_is_left() {
	words
	on 24x80 MPROF_PAGER='head -1' dump log
	expect_end 'exit 0'
	[ "$(wc -l <out)" -le 2 ] || bad "more than a line: $(head -3 out)"
	on 24x80 MPROF_PAGER=true report --all log
	expect_end 'exit 0'
	expect_same 'what is said' "$(cat out)" ''
}

# ^C belongs to the pager until it is closed; then mprof ends like an interrupted program.
test_pager_and_interrupts() {
	words
	waits=(-w ready '\x03')
	on 24x80 MPROF_PAGER='trap i=1 INT; cat >/dev/null; touch ready; until [ "$i" ]; do sleep 0.1; done; sleep 0.5; touch left' report log
	waits=()
	expect_end 'signal 2'
	[ -e left ] || bad 'mprof did not wait for its pager'
}

test_less_on_a_terminal() {
	command -v less >/dev/null || return 0
	words
	on 60x80 report log
	expect_end 'exit 0'
	expect_text out 'All tables'
}
