# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# forms.sh - the words of the command line: help, versions, mistakes.

test_help() {
	run "$mprof" --help
	expect_status 0
	for word in Usage: record report --counts 'mprof help settings'; do
		expect_text out "$word"
	done
	# Commands come before options.
	expect_same order "$(grep -o -e '^Run a program:' -e '^  -t, --test' out | tr '\n' ' ')" 'Run a program:   -t, --test '
	expect_lines err 0
	run "$mprof" -h
	expect_status 0
	run "$mprof" help
	expect_status 0
	expect_text out 'count, record and report in one go'
	[ "$(wc -l <out)" -le 48 ] || bad "it takes $(wc -l <out) lines"
	run "$mprof" help settings
	expect_status 0
	for word in LogMmap LD_NEXT COUNTS_PATH; do
		expect_text out "$word"
	done
	# A key that is longer than its column has a line of its own.
	expect_same 'a long key' "$(grep -A1 '^  LAST_SECONDS=SECONDS' out | tr -s ' \n' ' ' | cut -c1-40)" ' LAST_SECONDS=SECONDS keep only the last'
	expect_same 'its line' "$(grep '^  LAST_SECONDS=' out)" '  LAST_SECONDS=SECONDS'
}

test_help_of_every_command() {
	local command n=0
	for command in $(sed -n 's/^MPROF_COMMAND("\([a-z]*\)".*/\1/p' "$root/src/mprof/cmd/commands.def"); do
		n=$((n + 1))
		run "$mprof" help "$command"
		expect_status 0
		expect_text out "Usage: mprof $command"
		cp out first
		[ "$command" = help ] && continue
		run "$mprof" "$command" --help
		expect_status 0
		expect_same "--help of $command" "$(cat out)" "$(cat first)"
		expect_same "lines of --help of $command beyond two screens" "$(sed -n '49,$p' out)" ''
		expect_same "--help of $command beyond 80 columns" "$(grep -E '.{80}' out)" ''
		expect_same "examples of $command" "$(sed -n '/^Examples:/,$s/^  mprof //p' out | wc -l)" 3
		run "$mprof" "$command" -h
		expect_same "-h of $command" "$(cat out)" "$(cat first)"
	done
	[ "$n" -ge 9 ] || bad "only $n commands were found"
}

# Examples must at least have options that exist.
test_examples_of_help() {
	local line n=0
	while read -r line; do
		n=$((n + 1))
		# shellcheck disable=SC2086
		set -f -- $line
		run "$mprof" "$2" "${@:3}" --help
		expect_status 0
		expect_lines err 0
	done < <("$mprof" help --rows | sed -n "s/^X\t\([^\t]*\)\t.*/\1/p" | sed -e "s/ -- .*//; s/ |.*//; s/'//g" | grep -v '^mprof test')
	set +f
	[ "$n" -ge 30 ] || bad "only $n examples were found"
}

test_nothing_said() {
	run "$mprof"
	expect_status 0
	expect_lines err 0
	expect_same 'commands to start with' "$(grep -c '^  mprof ' out)" 5
	run "$mprof" stat -c mprof.counts -o /dev/null -- true
	run "$mprof"
	expect_status 0
	expect_same 'the first line' "$(head -1 out)" mprof.counts
}

test_version() {
	run "$mprof" --version
	expect_status 0
	expect_same version "$(cat out)" "mprof $(sed -n 's/^VERSION := //p' "$root/Makefile")"
}

test_unknown_command() {
	run "$mprof" repotr
	expect_status 2
	expect_one_line_error
	expect_text err "'report'"
	run "$mprof" zzzzzzzz
	expect_status 2
	expect_one_line_error
	while read -r word means; do
		run "$mprof" "$word"
		expect_status 2
		expect_one_line_error
		expect_text err "did you mean '$means'?"
	done <<'END'
count stat
guard -m Guard
sizes report --all
compactness report --all
serve view
video movie
benchmark compare
folded export --to folded
rep report
END
	run "$mprof" report leak log # as near to peak, but its beginning
	expect_text err "; did you mean 'leaks'?"
	run "$mprof" report fragmentation log
	expect_status 2
	expect_text err "did you mean 'report --all'?"
	run "$mprof" help recrod
	expect_status 2
	expect_text err "'record'"
}

test_unknown_option() {
	local command
	for command in '' record stat report test counts; do
		run "$mprof" ${command:+"$command"} --nonsense
		expect_status 2
		expect_text err "'--nonsense'"
		expect_lines out 0
	done
}

test_full_disk_under_stdout() {
	[ -c /dev/full ] || return 0
	local form
	run "$mprof" record -o log -- ls
	run "$mprof" stat -c counts -o /dev/null -- true
	for form in help --help --version 'report log' 'report --json log' 'dump log' 'counts counts' \
		'stat -- true' 'doctor' 'image -o - log' 'image --json -o x.png log' \
		'export --to jsonl log' 'report --html - log'; do
		# shellcheck disable=SC2086
		"$mprof" $form >/dev/full 2>err && bad "'$form' into a full disk succeeds"
		grep -v 'mprof: wrote x.png\|mprof: warning' err >said
		expect_same "stderr of $form" "$(cat said)" "mprof: the output is incomplete: cannot \
write to standard output: No space left on device"
	done
	run "$mprof" stat -o /dev/full -- true
	[ "$status" != 0 ] || bad "'stat -o' into a full disk succeeds"
}

test_mode_list_and_mistakes() {
	run "$mprof" -m HELP
	expect_status 0
	expect_text out LogFD
	run "$mprof" -m Cuont -- touch started
	expect_status 2
	expect_one_line_error
	expect_text err "'Cuont'"
	expect_text err 'Null, LogFD, Count, LogMmap'
	run "$mprof" -m Count
	expect_status 2
	run env MPROF_CONF='MODE=Nothing' "$mprof" record -- touch started
	expect_status 2
	[ ! -e started ] || bad 'the program was started'
}

test_configuration_mistakes() {
	local text
	for text in 'LOGQTY=5' 'LOG_QTY=many' 'LOG_QTY=0' 'LOG_QTY=-1' 'CACHE_QTY=65537' \
		"LOG_PATH='x" 'just words' 'LOG_PATH=%q' 'UNWIND=all' 'INIT=LDNEXT' \
		"LOG_PATH='a'b" "LOG_PATH='a'LOG_QTY=5" 'LOG_FD=' 'MODE=/no/such.so' 'LOG_QTY=99999999999999999999'; do
		run env MPROF_CONF="$text" "$mprof" record -o log -- touch started
		expect_status 2
		expect_one_line_error
		[ ! -e started ] || bad "the program was started with $text"
		rm -f started
	done
	run "$mprof" record --log-qty x -- touch started
	expect_status 2
	run "$mprof" record --cache-qty 0 -- touch started
	expect_status 2
	[ ! -e started ] || bad 'the program was started'
}

test_configuration_is_taken_over() {
	mkdir 'a directory'
	run env MPROF_CONF="LOG_PATH='a directory/it is.log' UNWIND=none LOG_QTY=7" \
		"$mprof" record -- true
	expect_status 0
	[ -s 'a directory/it is.log' ] || bad 'LOG_PATH of MPROF_CONF was not used'
	run env MPROF_CONF="MODE=Null LOG_PATH=other.log" "$mprof" record -o mine.log -- true
	[ -s mine.log ] || bad '-o does not come before LOG_PATH'
	[ ! -e other.log ] || bad 'LOG_PATH was written as well'
	run "$mprof" record -o "a'b.log" -- true
	expect_status 0
	[ -s "a'b.log" ] || bad 'a path with a quote does not work'
	run "$mprof" record -o "a'\"b.log" -- true
	expect_status 2
}

test_path_expansion() {
	# shellcheck disable=SC2016
	run env JOB_ID=j17 PMI_RANK=3 "$mprof" record -o 'log.%j.%r.%e.%p.%%' -- sh -c 'echo $$'
	expect_status 0
	[ -s "log.j17.3.$(basename "$(realpath "$(command -v sh)")").$(cat out).%" ] ||
		bad "no expanded path among: $(ls)"
	run "$mprof" record -o 'log.%h' -- true
	[ -s "log.$(hostname)" ] || bad '%h'
}

test_completion() {
	run bash -c '. "$1"; COMP_WORDS=(mprof re); COMP_CWORD=1; _mprof; echo "${COMPREPLY[@]}"' \
		- "$build/completions/mprof.bash"
	expect_same 'completion of re' "$(cat out)" 'record report replay'
	run bash -c '. "$1"; COMP_WORDS=("$2" record --no); COMP_CWORD=2; _mprof; echo "${COMPREPLY[@]}"' \
		- "$build/completions/mprof.bash" "$mprof"
	expect_same 'completion of record --no' "$(cat out)" '--no-totals --no-compress --no-sample --no-children'
	run bash -c '. "$1"; COMP_WORDS=(mprof -m Log); COMP_CWORD=2; _mprof; echo "${COMPREPLY[@]}"' \
		- "$build/completions/mprof.bash"
	expect_same 'completion of -m Log' "$(cat out)" 'LogFD LogMmap'
	run bash -c '. "$1"; COMP_WORDS=(mprof export --to fo); COMP_CWORD=3; _mprof; echo "${COMPREPLY[@]}"' \
		- "$build/completions/mprof.bash"
	expect_same 'completion of --to fo' "$(cat out)" folded
	run bash -c '. "$1"; COMP_WORDS=(mprof help se); COMP_CWORD=2; _mprof; echo "${COMPREPLY[@]}"
		COMPREPLY=(); COMP_WORDS=(mprof help report ""); COMP_CWORD=3; _mprof; echo "${COMPREPLY[@]}"' \
		- "$build/completions/mprof.bash"
	expect_same 'completion of help' "$(tr '\n' , <out)" settings,,
	>lines.log
	run bash -c '. "$1"; COMP_WORDS=(mprof report l); COMP_CWORD=2; _mprof; echo "${COMPREPLY[@]}"
		COMP_WORDS=(mprof report callers l); COMP_CWORD=3; _mprof; echo "${COMPREPLY[@]}"' \
		- "$build/completions/mprof.bash"
	expect_same 'completion of a view, of its arguments' "$(tr '\n' , <out)" \
		'lines.log leaks lifetimes,lines.log,'
	if command -v fish >/dev/null; then
		run fish -c 'source $argv[1]; for line in "mprof re" "mprof report l" "mprof report callers l" "mprof export --to fo" "mprof help se" "mprof help report "
			complete -C $line | string replace -r "\t.*" "" | string join " "; end' "$build/completions/mprof.fish"
		expect_same 'completion of fish' "$(cat out)" \
			$'record replay report\nleaks lifetimes lines.log\nlines.log\nfolded\nsettings'
	fi
	command -v zsh >/dev/null || return 0
	run zsh -n "$build/completions/_mprof"
	expect_status 0
	expect_text "$build/completions/_mprof" "'report:"
}

test_manual_pages() {
	local page
	for page in "$build"/man/*.[157]; do
		! grep -q '@[A-Z_]*@' "$page" || bad "a marker is left in $page"
		command -v mandoc >/dev/null || continue
		run mandoc -Tlint -W warning "$page"
		expect_same "lint of $page" "$(cat out err)" ''
		run mandoc -Tascii "$page"
		expect_no_text out '.Bl'
		expect_no_text out '.Pp'
	done
	expect_text "$build/man/libmprof.7" LogMmap
	expect_text "$build/man/libmprof.7" COUNTS_PATH
	for page in $(sed -n 's/^MPROF_COMMAND("\([a-z]*\)".*/\1/p' "$root/src/mprof/cmd/commands.def"); do
		expect_text "$build/man/mprof.1" ".It Cm $page"
		[ "$page" = help ] || [ -s "$build/man/mprof-$page.1" ] || bad "no manual page of $page"
	done
	[ "$(wc -l <"$root/man/mprof.1.in")" -le 300 ] || bad 'mprof(1) is longer than 300 lines'
}

# Compares the program's own rows with what is generated from them.
# options_missing WHERE: reports those in the file `options` that no line of stdin is
options_missing() {
	local option
	for option in $(sort -u | comm -23 options -); do
		bad "$1 does not have --$option"
	done
}

test_each_option_is_in_page_and_completion() {
	local command n=0
	for command in $("$mprof" help --rows | sed -n 's/^C\t//p'); do
		"$mprof" "$command" --rows | awk -F '\t' '/^O/ { print $3 }' | sort -u >options
		n=$((n + $(wc -l <options)))
		options_missing "mprof-$command(1)" \
			< <(sed -n 's/^\.It .*Fl -\([^ ]*\).*/\1/p' "$build/man/mprof-$command.1")
		options_missing "$command --help=all" \
			< <("$mprof" "$command" --help=all | sed -nE 's/^[^-]*(-., )?--([a-z0-9-]+)([ =[].*)?$/\2/p')
		bash -c '. "$1"; COMP_WORDS=(mprof "$2" --); COMP_CWORD=2; _mprof; printf "%s\n" "${COMPREPLY[@]}"' \
			- "$build/completions/mprof.bash" "$command" >words
		options_missing "bash for $command" < <(sed -n 's/^--//p' words)
		sed -n "s/^\t$command) options=//p" "$build/completions/_mprof" >words
		options_missing "zsh for $command" < <(grep -o "'--[^:]*:" words | tr -d "':" | sed 's/^--//')
		grep -F "'__mprof_is \"$command\"'" "$build/completions/mprof.fish" >words
		options_missing "fish for $command" < <(sed -n 's/.* -l \([^ ]*\) .*/\1/p' words)
	done
	[ "$n" -ge 200 ] || bad "only $n options were found"
}

test_install_and_uninstall() {
	make -s -C "$root" O="${build#"$root"/}" DESTDIR="$PWD/i" PREFIX=/usr install >/dev/null ||
		return
	run i/usr/bin/mprof record -o log -- env
	expect_status 0
	expect_text out "LD_PRELOAD=$PWD/i/usr/lib/libmprof.so"
	expect_text i/usr/lib/pkgconfig/mprof.pc "Version: $(sed -n 's/^VERSION := //p' "$root/Makefile")"
	expect_text i/usr/lib/pkgconfig/mprof.pc "libdir=/usr/lib"
	expect_no_text i/usr/lib/pkgconfig/mprof.pc '@'
	for file in lib/libmprof.a lib/pkgconfig/mprof.pc include/mprof/format.h share/man/man1/mprof.1 \
		share/man/man1/mprof-report.1 share/man/man5/mprof-trace.5 share/man/man7/libmprof.7 share/bash-completion/completions/mprof \
		share/zsh/site-functions/_mprof; do
		[ -s "i/usr/$file" ] || bad "$file is not installed"
	done
	expect_same 'documents among the headers' "$(ls i/usr/include/mprof | grep -v '\.h$\|\.def$')" ''
	make -s -C "$root" O="${build#"$root"/}" DESTDIR="$PWD/i" PREFIX=/usr uninstall >/dev/null
	expect_same 'files left' "$(find i ! -type d)" ''
}

test_forms_with_an_allocator() {
	local so
	so=$(ls /usr/lib/*/libjemalloc.so.2 2>/dev/null | head -1)
	[ "$so" ] || return 0
	run "$mprof" -m LogMmap -a jemalloc "$build/preload/fixture_a"
	expect_status 0
	run "$mprof" report --json mprof.log
	expect_same '-m' "$(json out '.processes[0].programs[0].allocator')" "$so"
	run "$mprof" -t "exec $build/preload/fixture_a" --allocator "$so"
	expect_status 0
	run "$mprof" report --json mprof.log
	expect_same '-t' "$(json out '[.processes[].programs[].allocator] | unique | join(" ")')" "$so"
	run "$mprof" test -a jemalloc -- "$build/preload/fixture_a"
	expect_status 0
	expect_words out "Allocator: $so"
	run "$mprof" -m Count -a nonsuch true
	expect_status 2
	expect_text err "invalid --allocator 'nonsuch'"
	run "$mprof" -a jemalloc
	expect_status 2
	expect_text err 'these options belong to -m and -t'
}
