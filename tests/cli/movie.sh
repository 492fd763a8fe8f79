# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# movie.sh - the options of `mprof movie`, its files and its errors. tests/web plays them.

record_here() {
	run "$mprof" record -o run.log -- sort -u /etc/services
	expect_status 0
}

nothing_else() { # FILE...: and nothing that was begun
	expect_same files "$(find . -type f ! -name out ! -name err ! -name '*.log' | sort | tr '\n' ' ')" \
		"${*:+./$* }"
}

test_movie_page() {
	record_here
	run "$mprof" movie run.log
	expect_status 0
	expect_text err 'mprof: wrote run.movie.html'
	expect_same 'standard output' "$(cat out)" ''
	expect_text run.movie.html '<!DOCTYPE html>'
	expect_text run.movie.html 'sort -u /etc/services</title>'
	# Nothing that a browser would fetch.
	expect_no_text run.movie.html 'src='
	expect_no_text run.movie.html 'http://'
	run "$mprof" movie run.log --frames 10 --by site -o -
	expect_status 0
	expect_text out '"by":"site"'
	expect_text out '</html>'
	nothing_else run.movie.html
}

# Its streams, decompressed, are the same whichever library compressed them.
test_movie_without_libdeflate() {
	record_here
	mkdir missing && echo none >missing/libdeflate.so.0
	"$mprof" movie -o with.html run.log 2>err || bad "$(cat err)"
	LD_LIBRARY_PATH=$PWD/missing "$mprof" movie -o without.html run.log 2>err || bad "$(cat err)"
	cmp -s with.html without.html && bad 'libdeflate was used'
	python3 - with.html without.html <<-'END' || bad 'the streams differ'
		import base64, re, sys, zlib

		def streams(path):
		    with open(path, encoding="utf-8") as file:
		        for text in re.findall("\"(e[AFJN][A-Za-z0-9+/]*=*)\"", file.read()):
		            yield zlib.decompress(base64.b64decode(text))

		with_it, without = (list(streams(path)) for path in sys.argv[1:])
		sys.exit(len(with_it) < 5 or with_it != without)
	END
}

test_movie_names_are_quoted() {
	cp "$(command -v sort)" './<b>&amp;"x'
	run "$mprof" record -o run.log -- './<b>&amp;"x' -u /etc/services
	run "$mprof" movie run.log -o -
	expect_status 0
	expect_text out '<title>./&lt;b&gt;&amp;amp;&quot;x -u'
	expect_text out '"title":"./\u003cb\u003e\u0026amp;\u0022x -u'
}

test_movie_allocators() {
	record_here
	run "$mprof" movie run.log --frames 10 --allocator glibc,twice=glibc -o two.html
	expect_status 0
	expect_same 'films' "$(grep -o '"name":"[a-z]*' two.html | tr '\n' ' ')" '"name":"glibc "name":"twice '
	run "$mprof" movie run.log --allocator glibc,/nowhere/lib.so -o three.html
	expect_status 2
	expect_text err /nowhere/lib.so
	run "$mprof" sort run.log -o run.play
	run "$mprof" movie run.play -o four.html
	expect_status 2
	expect_text err --allocator
	run "$mprof" movie run.play --frames 5 --allocator glibc -o four.html
	expect_status 0
	rm -f run.play
	nothing_else 'four.html ./two.html'
}

# With little space, a film does not keep its frames; colours are left out nevertheless.
test_movie_limit() {
	record_here
	run "$mprof" movie run.log --limit 1 -o small.html
	expect_status 0
	expect_text small.html 'only the first frame, the peak and the last one are shown, and age, size, thread and site of the blocks were left out.'
	run "$mprof" movie run.log -o whole.html
	expect_no_text whole.html 'were left out.",'
	[ "$(stat -c %s small.html)" -lt "$(stat -c %s whole.html)" ] || bad 'the page is not smaller'
}

test_movie_refuses() {
	local words
	record_here
	for words in '--by colour' '--frames 0' '--frames many' '--fps 1000' '--limit 0' \
		'-o film.avi' '-o .html' '--touch it' '--process x' 'run.log'; do
		run "$mprof" movie run.log $words
		expect_status 2
		expect_same 'standard output' "$(cat out)" ''
		expect_text err 'mprof movie: '
	done
	run "$mprof" movie
	expect_status 2
	run "$mprof" movie none.log
	expect_status 3
	expect_one_line_error
	echo 'no trace' >bad.log
	run "$mprof" movie bad.log
	expect_status 3
	expect_one_line_error
	nothing_else
}

test_movie_that_cannot_be_written() {
	local file
	record_here
	for file in run.log/x.html run.log/x.apng run.log/x.y4m; do
		run "$mprof" movie run.log --frames 5 -o $file
		expect_status 1
		expect_text err "run.log/"
	done
	mkdir full.apng
	run "$mprof" movie run.log --frames 5 -o full.apng
	expect_status 2
	expect_one_line_error
	expect_text err "'full.apng': it is a directory"
	[ -w /dev/full ] || return 0
	status=0
	"$mprof" movie run.log -o - >/dev/full 2>err || status=$?
	expect_status 1
	nothing_else
}

test_movie_without_ffmpeg() {
	record_here
	mkdir bin
	run env PATH="$PWD/bin" "$mprof" movie run.log --frames 5 -o x.mp4
	expect_status 1
	expect_one_line_error
	expect_text err ffmpeg
	# One that fails, and one that is killed: neither leaves files behind.
	printf '#!/bin/sh\nexit 7\n' >bin/ffmpeg
	chmod +x bin/ffmpeg
	run env PATH="$PWD/bin:$PATH" "$mprof" movie run.log --frames 50 -o x.mp4
	expect_status 1
	expect_text err 'status 7'
	printf '#!/bin/sh\nkill -9 $$\n' >bin/ffmpeg
	run env PATH="$PWD/bin:$PATH" "$mprof" movie run.log --frames 50 -o x.webm
	expect_status 1
	expect_text err 'signal 9'
	rm -r bin
	nothing_else
}

has_begun() { # PID: it writes a file, which has no name yet, or a temporary one
	readlink /proc/"$1"/fd/* | grep -qE '/(#[0-9]+ \(deleted\)|x\.(mp4|apng)\..*)$'
}

is_over() { # PID; killed, it may still wait for somebody to ask how it ended
	! grep -qs '^State:.*[^Z] (' "/proc/$1/status"
}

test_movie_interrupted() {
	local file pid
	record_here
	# One that never reads its input.
	mkdir bin
	printf '#!/bin/sh\necho $$ >pid\nexec sleep 1000\n' >bin/ffmpeg
	chmod +x bin/ffmpeg
	for file in x.mp4 x.apng; do
		env PATH="$PWD/bin:$PATH" "$mprof" movie run.log --frames 5000 -o $file >out 2>err &
		pid=$!
		wait_for has_begun $pid
		[ $file = x.apng ] || wait_for test -s pid
		kill -TERM $pid
		status=0
		wait $pid || status=$?
		expect_status $((128 + 15))
	done
	wait_for is_over "$(cat pid)"
	rm -r bin pid
	nothing_else
}

test_movie_videos() {
	local file frames
	record_here
	for file in x.apng x.png x.y4m x.mp4 x.webm; do
		case $file in
		*.apng | *.png) ;;
		*) command -v ffmpeg >/dev/null || continue ;;
		esac
		run "$mprof" movie run.log --frames 8 --fps 8 -o $file
		expect_status 0
		expect_text err "mprof: wrote $file"
		[ -s $file ] || bad "$file is empty"
		command -v ffprobe >/dev/null || continue
		frames=$(ffprobe -v error -count_frames -select_streams v \
			-show_entries stream=nb_read_frames -of csv=p=0 $file)
		# Equal frames of an APNG are one frame.
		[ "${frames%,}" -ge 6 ] && [ "${frames%,}" -le 9 ] || bad "$file has $frames frames"
	done
}
