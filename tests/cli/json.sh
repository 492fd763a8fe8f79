# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# json.sh - compares the answers of all commands with the reference that is generated from the rows
# that emit them. Views and reports are in report.sh, views.sh, trees.sh and diff.sh.

asked() { # COMMAND...: its JSON in out
	run "$mprof" "$@"
	[ -s out ] || bad "mprof $*: $(head -c 600 err)"
}

test_json_of_programs() {
	asked stat -c counts --json -- sh -c 'ls / | sort >sorted'
	expect_documented stat out
	asked stat -r 2 --json -- true
	expect_documented stat out
	asked counts --json counts
	expect_documented counts out
	asked doctor --json -- ls
	expect_documented examined out
}

test_json_of_profiles() {
	run "$mprof" profile -o exact -- sh -c 'ls / | sort >sorted'
	run "$mprof" profile --sample=1K -o estimate -- sh -c 'ls / | sort >sorted'
	for file in exact estimate; do
		asked report --json $file
		expect_documented profile out
		asked report peak --json $file
		expect_documented flat_view out
		asked report leaks --json $file
		expect_documented leaks_view out
		asked image --json -o x.png $file
		expect_documented charts out
	done
}

test_json_of_real_traces() {
	run "$mprof" record -o shell.log -- sh -c 'ls -l / | sort; exit 3'
	run "$mprof" record -o awk.log -- awk 'BEGIN { for (i = 0; i < 3000; i++) a[i] = i "x" }'
	run "$mprof" record -o threads.log -- "$build/preload/threads" 4 2000
	run "$mprof" record -o maps.log -- "$build/preload/maps"
	for log in shell awk threads maps; do
		asked report --json $log.log
		expect_documented run out
		asked dump --json-lines --stacks --files --marks --numbers $log.log
		expect_documented 'dump_call|dump_mark|dump_frame|dump_file' out
		[ $log = maps ] && continue
		asked sort --json -o $log.play $log.log
		expect_documented playback out
		for by in occupancy age size thread; do
			asked image --json --by $by -o x.png $log.log
			expect_documented image out
		done
		asked image --json --layout time -o x.png $log.log
		expect_documented image out
		asked check --max-peak 1K --json $log.log
		expect_documented checks out
	done
	asked diff --json --by stack awk.log shell.log
	expect_documented diff out
	asked check --baseline awk.log --no-new-leaks --json shell.log
	expect_documented checks out
	asked compare --json -o picture.svg -a glibc threads.log
	expect_documented replay out
}

test_json_of_changes() {
	run "$mprof" record -o log -- "$build/preload/threads" 2 500
	asked report hot --by function --json log
	function=$(json out '.rows[0].function')
	for change in --drop-site=$function --resize=$function=x2 --pool-site=$function; do
		asked replay --json --reps 2 -a glibc "$change" log
		expect_documented change out
	done
}

# Fields that are unknown, have another type, or are missing are found.
test_json_reference_is_strict() {
	run "$mprof" record -o log -- ls /
	asked report peak --json log
	cp out good
	expect_documented flat_view good
	"$build/gendoc" --json >rows
	while IFS='|' read -r filter wrong; do
		jq "$filter" good >changed
		run "$interpreter" -I -S "$here/json_reference.py" rows flat_view changed
		expect_status 1
		expect_text out "$wrong"
	done <<-'END'
		.surplus = 1|changed.surplus: is not in the reference
		.rows[0].sizes.middle = 1|changed.rows[0].sizes.middle: is not in the reference
		.rows[0].sites = "1"|changed.rows[0].sites: '1' is not of type number
		.rows[0].sites = 1.5|1.5 is not of type number
		del(.total.figures)|changed.total.figures: is missing
		.rows[0].stack[0].line = true|True is not of type number
	END
}
