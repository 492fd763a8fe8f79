# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# options.sh - the options of all commands, from the rows that help, pages and completions are
# generated from: a new option is tested as soon as it has a row.

# The rows as "COMMAND<US>LETTER<US>NAME<US>TYPE<US>COMPLETIONS<US>OPTIONAL"; the first form has no
# command.  OPTIONAL: 1 if the value may be missing.
option_rows() {
	{ "$mprof" --rows; "$mprof" help --rows; } | awk -F '\t' -v OFS='\037' '
		/^C/ { command = $2 }
		/^O/ { print command, $2, $3, $7, $8, $5 }'
}

# One line names the option, the value, and what would be valid; nothing is started.
test_invalid_values() {
	local command letter name type words optional value n=0
	"$mprof" record -o log -- "$build/preload/fixture_a" 2>err
	while IFS=$'\037' read -r command letter name type words optional; do
		value=@bad@
		case $type in
		flag | text) continue ;;
		file | directory | change | glob | thread) value= ;; # any other name may be one
		regex) value='[' ;;
		esac
		case $command in
		'') set -- "--$name=$value" ;;
		record | profile | stat | test) set -- "$command" "--$name=$value" -- touch started ;;
		diff) set -- diff "--$name=$value" log log ;;
		*) set -- "$command" "--$name=$value" log ;;
		esac
		n=$((n + 1))
		run "$mprof" "$@"
		[ "$status" = 2 ] || bad "mprof $*: exit status $status"
		[ "$(wc -l <err)" = 1 ] || bad "mprof $*: $(wc -l <err) lines of errors"
		grep -qF -e "invalid --$name '$value': expected " err || bad "mprof $*: $(cat err)"
		[ ! -s out ] || bad "mprof $*: it printed an answer"
	done < <(option_rows)
	[ "$n" -ge 150 ] || bad "only $n options were found"
	[ ! -e started ] || bad 'a program was started'
}

# One rule for numbers: digits, a point, a unit. Nothing takes an empty value.  Options of one name and
# type share their function: the first one gets all values.
test_numbers_and_empty_values() {
	local command letter name type words optional value values n=0 seen=' '
	while IFS=$'\037' read -r command letter name type words optional; do
		case $type in
		flag) continue ;;
		number | numbers | percent | percentage | size | sizes | time | times | limit | when | process)
			values='0x10 1e3 @5 +5 nan inf 5kk 0x10% @5% 99999999999999999999% '
			;;
		*) values= ;;
		esac
		[[ $seen != *" $type--$name "* ]] || values=
		seen+="$type--$name "
		# "" is the first value.
		while read -rd ' ' value; do
			value=${value//@/ }
			run "$mprof" $command "--$name=$value" --zzz
			grep -qF -e "invalid --$name '$value': expected " err || bad "mprof $command --$name='$value': $(cat err)"
			n=$((n + 1))
		done <<<" $values"
	done < <(option_rows)
	[ "$n" -ge 700 ] || bad "only $n values were tried"
	for value in 'diff --min-change=0x5%' 'image --size=+800x600' 'image --size=@800x600' 'profile --threads=0' \
		'profile --threads=0-3' 'replay --resize=f=x0x10' 'replay --resize=f=x@2'; do
		value=${value//@/ }
		name=${value#* }
		run "$mprof" "${value%% *}" "$name" --zzz
		grep -qF -e "invalid ${name%%=*} '${name#*=}': expected " err || bad "mprof $value: $(cat err)"
	done
}

# Expects exit status 2, nothing on stdout, and on stderr only the line $1. The rest is the command.
expect_refused() {
	local line=$1 said
	shift
	run "$mprof" "$@"
	[ "$status" = 2 ] || bad "mprof $*: exit status $status"
	mapfile -t said <err # hundreds of calls: without starting a program
	[ ${#said[@]} = 1 ] || bad "mprof $*: ${#said[@]} lines of errors"
	[[ ${said-} == *"$line"* ]] || bad "mprof $*: ${said[*]}, expected '$line'"
	[ ! -s out ] || bad "mprof $*: it printed an answer"
}

test_unknown_and_incomplete() {
	local command letter name type words optional like n=0
	while IFS=$'\037' read -r command letter name type words optional; do
		set -- $command
		if [ "$type" = flag ]; then
			expect_refused "--$name takes no value: got '3=4'" "$@" "--$name=3=4"
		elif [ "$optional" = 0 ]; then
			expect_refused "--$name needs a value: expected " "$@" "--$name"
			[ -z "$letter" ] || expect_refused "--$name needs a value: expected " "$@" "-$letter"
		fi
		like=${name%?}@${name: -1}
		[ ${#name} -lt 4 ] || expect_refused "unknown option '--$like': did you mean '--" "$@" "--$like=x"
		n=$((n + 1))
	done < <(option_rows)
	[ "$n" -ge 250 ] || bad "only $n options were found"
	for command in '' $(option_rows | cut -d $'\037' -f 1 | sort -u); do
		set -- $command
		expect_refused "unknown option '--zzzzzz': 'mprof${command:+ $command} --help" "$@" --zzzzzz
		expect_refused "unknown option '-Z': 'mprof${command:+ $command} --help" "$@" -Z
	done
	expect_refused "unknown option '--modle': did you mean '--module'?" report --modle=libc
	expect_refused "unknown option '-Z'" report -jZ
	expect_refused "ambiguous option '--m': expected one of --min-percent, --module, --memory" report --m=3
	expect_refused "--top needs a value: expected N, for example 20" report --top
}

# An option of another command is not taken for a longer one of this command, unless that means the same.
test_options_of_other_commands() {
	local command name like n=0
	while read -r command name like; do
		case $name in
		json | thread) continue ;; # --json-lines, --threads
		esac
		[ "$command" != : ] || command=
		expect_refused "--$name" $command "--$name"
		expect_refused "--$name" $command "--$name=1"
		n=$((n + 1))
	done < <(option_rows | awk -F '\037' '
		{ command[NR] = $1 == "" ? ":" : $1; name[NR] = $3; has[$1, $3]; any[$3] }
		END {
			for (i = 1; i <= NR; i++)
				for (word in any)
					if (word != name[i] && index(name[i], word) == 1 &&
					    !((command[i] == ":" ? "" : command[i], word) in has))
						print command[i], word, name[i]
		}')
	[ "$n" -ge 20 ] || bad "only $n options were found"
	local pair
	for pair in $(sed -n 's/{ "\([a-z-]*\)", "\([a-z]*\)" },*/\1:\2\n/gp' "$root/src/mprof/cmd/usage.c" | grep -o '[a-z-]*:[a-z]*$'); do
		"$mprof" "${pair#*:}" --help=all | grep -q -e "--${pair%:*}\b" || bad "mprof ${pair#*:} has no --${pair%:*}"
		expect_refused "unknown option '--${pair%:*}': it is an option of 'mprof ${pair#*:}'" stat "--${pair%:*}" -- true
	done
	expect_refused "unknown option '--sample': it is an option of 'mprof profile'" record --sample -- true
	expect_refused "unknown option '--last': it is an option of 'mprof record'" profile --last 60s -- true
	expect_refused "unknown option '--threads': did you mean '--thread'?" report --threads 1 log
	expect_refused "unknown option '--log': did you mean '--log-qty'?" record --log 5 -- true
	expect_refused "unknown option '--all': did you mean '--allocator'?" replay --all log
}

# The next option is not taken as a value; joined to its option, or as - where that is stdout, it is one.
test_options_as_values() {
	local command letter name type words optional n=0
	while IFS=$'\037' read -r command letter name type words optional; do
		[ "$optional" = 0 ] || continue
		set -- $command
		case $type in
		file | directory | allocator)
			expect_refused "before '-q'; if that is its name, write ./-q" "$@" "--$name" -q
			expect_refused "before '--'; if that is its name, write ./--" "$@" "--$name" --
			[ -z "$letter" ] || expect_refused "--$name needs a " "$@" "-$letter" --json
			;;
		text | glob | regex) expect_refused "before '--json'; if that is its value, write --$name=--json" "$@" "--$name" --json ;;
		*) continue ;;
		esac
		n=$((n + 1))
	done < <(option_rows)
	[ "$n" -ge 70 ] || bad "only $n options were found"
	expect_refused "--test needs a COMMAND before '--': a line of shell in quotes" -t -- ls
	"$mprof" record -o log -- "$build/preload/fixture_a" 2>err
	for n in 'stat --output' 'record --output' 'merge --output' 'check --junit' 'check --markdown' 'report --suppressions'; do
		expect_refused "invalid ${n#* } '-': expected the name of a file, not a standard stream" $n - log
	done
	for n in 'export --to folded --output' 'report --html' 'image --output' 'movie --output'; do
		run "$mprof" $n - log
		expect_status 0
		[ -s out ] || bad "mprof $n - printed nothing"
	done
	expect_refused "--sample takes its value after '=': write --sample=64K" profile --sample 64K -- true
	expect_refused "invalid --stop-at '': expected a regular expression" export --to folded --stop-at '' log
	run "$mprof" export --to folded -o-q log
	expect_refused "unexpected argument 'log': expected one file; to compare two: mprof diff log log" compare log log
	expect_refused "unexpected argument 'err': expected one file" compare log err
	local like='mprof report: --html takes the name of the page, before that of the trace; for example: mprof report --html report.html'
	run "$mprof" report --html log
	expect_status 2
	expect_same 'a page in place of the trace' "$(cat err)" "$like log"
	(mkdir empty && cd empty && "$mprof" report --html ../log; rmdir ../empty) 2>err
	expect_same 'the same elsewhere' "$(cat err)" "$like ../log"
	cp log "it's one"
	expect_refused "unexpected argument 'it's one': expected one file; to compare two: mprof diff log 'it'\\''s one'" compare log "it's one"
	run "$mprof" report --html "it's one"
	expect_same 'a page with a space' "$(cat err)" "$like 'it'\\''s one'"
	rm "it's one"
	run "$mprof" report --html $$
	expect_same 'a process in place of the trace' "$(cat err)" "$like $$"
	run "$mprof" report --html=--json log
	run "$mprof" report leaks --function -q log
	expect_text err "no stack in 'log' goes through a function '-q'"
	expect_same 'what is here' "$(ls)" "$(printf '%s\n' --json -q err log out)"
}

# All filters must match, so a second one must not replace the first without a word.
test_filters_given_twice() {
	local option
	"$mprof" record -o log -- "$build/preload/fixture_a" 2>err
	for option in 'function main' 'file *.c' 'module libc*' 'without main' 'thread 1' 'process 1' \
		'size 1..9' 'lifetime ..1s' 'time ..1s' 'temporary 2'; do
		set -- --${option/ /=} --${option/ /=}
		expect_refused "--${option% *} may be given only once" report hot "$@" log
		expect_refused "--${option% *} may be given only once" export "$@" log
	done
	for option in 'process 1' 'pid 1' 'thread 1' 'from 0' 'to 1'; do
		expect_refused "--${option% *} may be given only once" dump --${option/ /=} --${option/ /=} log
	done
	"$mprof" report hot --json --kind malloc --kind calloc log >out || bad 'a list of kinds was refused'
	"$mprof" report hot --json --kind malloc,calloc log >one
	cmp -s out one || bad 'two lists of kinds are not their union'
}

test_letters() {
	expect_same 'letters with two meanings' \
		"$(option_rows | awk -F '\037' '$2 && !seen[$2 " " $3]++ && letter[$2]++ { print $2 }')" ''
	expect_same 'options that take -h' "$(option_rows | awk -F '\037' '$2 == "h"')" ''
	expect_same 'options of the same name with a letter in some commands only' \
		"$(option_rows | awk -F '\037' '
			$1 { if ($3 in letter && letter[$3] != $2) print $3; letter[$3] = $2 }' | sort -u)" ''
}

test_values_are_completed() {
	local command letter name type words optional n=0
	# shellcheck disable=SC1091
	. "$build/completions/mprof.bash"
	mkdir here
	cd here || return
	: >a.file
	mkdir a.directory
	while IFS=$'\037' read -r command letter name type words optional; do
		[ -n "${words// }" ] || continue
		grep -F "'$command --$name='" "$build/completions/_mprof" | grep -qF ") values='$words' ;;" ||
			bad "zsh does not complete $command --$name"
		COMP_WORDS=(mprof ${command:+"$command"} "--$name" = '')
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMPREPLY=()
		case $words in *@command*) continue ;; esac
		_mprof
		words=$(echo ${words/@file/ a.directory a.file})
		words=${words/@directory/a.directory}
		expect_same "what bash completes of $command --$name" "$(printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' ')" \
			"$(printf '%s\n' $words | sort | tr '\n' ' ')"
		n=$((n + 1))
	done < <(option_rows)
	[ "$n" -ge 60 ] || bad "only $n options were found"
	expect_same 'completed of mprof -m' "$(COMP_WORDS=(mprof -m LogM) COMP_CWORD=2; _mprof; echo "${COMPREPLY[@]}")" LogMmap
}
