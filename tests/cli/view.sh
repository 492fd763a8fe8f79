# SPDX-License-Identifier: LGPL-3.0-or-later
# shellcheck shell=bash
#
# view.sh - mprof view: who gets an answer, which answers, and how it ends.

view_start() { # OPTION...: its process in $view, its address in $url
	rm -f url # of an earlier one: it would be taken for this one's
	"$mprof" view "$@" >url 2>err </dev/null &
	view=$!
	wait_for test -s url
	url=$(cat url)
	[ "$url" ] || kill -KILL "$view" # it may not heed SIGINT yet
}

view_end() {
	kill -INT "$view"
	status=0
	wait "$view" || status=$?
	expect_status 0
}

view_status() { # CURL OPTION...: the status of an answer
	curl -s -o answer -w '%{http_code}' "$@"
}

view_ask() { # ID QUERY: the answer in `answer`
	local i
	expect_same 'status of a question' "$(view_status "${url}ask?id=$1&$2")" 200
	for ((i = 0; i < 500; i++)); do
		curl -s "${url}answer?id=$1" >answer
		[ "$(json answer 'has("percent")')" = true ] || return
		sleep 0.02
	done
	bad "no answer to $2"
}

test_view_who_may_ask() {
	local port token
	command -v curl >/dev/null || return 0
	at_record
	view_start raw
	port=$(sed 's|^http://127.0.0.1:\([0-9]*\)/.*|\1|' <<<"$url")
	token=$(sed 's|.*/\([0-9a-f]*\)/$|\1|' <<<"$url")
	expect_same 'length of the token' "${#token}" 32
	expect_text err 'Ctrl-C stops the server'
	expect_same 'the page' "$(view_status "$url")" 200
	expect_text answer '<!doctype html>'
	expect_text answer "connect-src 'self'"
	expect_same 'by another name' "$(view_status -H "Host: localhost:$port" "$url")" 200
	expect_same 'HEAD' "$(view_status -I "$url")" 200
	expect_same 'without the token' "$(view_status "http://127.0.0.1:$port/")" 404
	expect_same 'a wrong token' "$(view_status "http://127.0.0.1:$port/${token//[0-9]/0}/")" 404
	expect_same 'a part of it' "$(view_status "http://127.0.0.1:$port/${token:0:31}/")" 404
	expect_same 'a foreign host' "$(view_status -H 'Host: example.com' "$url")" 403
	expect_same 'another port' "$(view_status -H "Host: 127.0.0.1:1$port" "$url")" 403
	expect_same 'no host' "$(view_status -0 -H 'Host:' "$url")" 403
	expect_same 'a foreign page' "$(view_status -H 'Origin: http://example.com' "$url")" 403
	expect_same 'an opaque page' "$(view_status -H 'Origin: null' "$url")" 403
	expect_same 'our page' "$(view_status -H "Origin: http://127.0.0.1:$port" "$url")" 200
	expect_same 'another site' "$(view_status -H 'Sec-Fetch-Site: cross-site' "$url")" 403
	expect_same 'POST' "$(view_status -d x=1 "$url")" 405
	expect_same 'PUT' "$(view_status -T raw "${url}raw")" 405
	expect_same 'a file' "$(view_status --path-as-is "$url../../../etc/passwd")" 404
	expect_same 'the trace' "$(view_status "${url}raw")" 404
	expect_same 'a second trace' "$(view_status "${url}1/")" 404
	expect_same 'a bad question' "$(view_status "${url}ask?id=1&kind=all")" 400
	expect_same 'a bad number' "$(view_status "${url}ask?id=1&kind=end&to=-1")" 400
	curl -s -D headers -o /dev/null "$url"
	for header in "Content-Security-Policy: default-src 'none'" "frame-ancestors 'none'" \
		'X-Content-Type-Options: nosniff' 'Referrer-Policy: no-referrer' 'Cache-Control: no-store' \
		'Cross-Origin-Resource-Policy: same-origin'; do
		expect_text headers "$header"
	done
	expect_no_text headers 'Access-Control'
	expect_no_text headers "'unsafe-inline'"
	# Others have no access.
	expect_same 'where it listens' "$(awk -v port=":$(printf %04X "$port")" '
		index($2, port) && $4 == "0A" { print $2 }' /proc/net/tcp /proc/net/tcp6)" "0100007F:$(printf %04X "$port")"
	view_end
	expect_same 'after the end' "$(view_status "$url")" 000
}

# A long uncompressed trace is answered from a compressed copy, which is removed afterwards.
test_view_long_raw() {
	local ns i=0 seconds
	command -v curl >/dev/null || return 0
	milestones_source >long.c
	cc -g -O1 -fno-builtin -fno-inline -o longer long.c -lpthread || bad 'long.c does not compile'
	run "$mprof" record --no-compress -o long -- ./longer
	expect_status 0
	cp long before
	mkdir temporary
	TMPDIR=$PWD/temporary view_start long
	expect_same 'what is there' "$(ls temporary)" ''
	expect_same 'descriptors of files without a name' \
		"$(find "/proc/$view/fd" -lname "$PWD/temporary/*" | wc -l)" 2
	curl -s "$url" >answer
	expect_text answer '<title>'
	expect_same 'the size of the trace' "$(page_head answer | grep -o '"trace_bytes":[0-9]*' | head -1)" \
		"\"trace_bytes\":$(stat -c %s long)"
	seconds=$("$mprof" report --json long | jq '[.threads[].last_ns] | max')
	for part in 20 71 98; do
		ns=$((seconds * part / 100))
		view_ask $((++i)) "kind=end&to=$ns"
		expect_same "at $part %" "$(json answer '"\(.total_bytes) \(.total_blocks)"')" \
			"$("$mprof" report peak --json --at "${ns}ns" long |
				jq -r '.moment_of_peak | "\(.bytes) \(.calls)"')"
	done
	view_end
	cmp long before || bad 'the trace was changed'
	# If the copy cannot be written, the answers are the same.
	TMPDIR=/nowhere view_start long
	expect_text err 'no compressed copy of'
	view_ask 9 "kind=end&to=$ns"
	expect_same 'without a copy' "$(json answer '"\(.total_bytes) \(.total_blocks)"')" \
		"$("$mprof" report peak --json --at "${ns}ns" long |
			jq -r '.moment_of_peak | "\(.bytes) \(.calls)"')"
	view_end
}

test_view_answers() {
	local ns
	command -v curl >/dev/null || return 0
	at_record
	"$mprof" dump raw >dump
	# Between the 20th and the 21st call of the only thread at that time.
	ns=$(awk 'NR == 20 { split($1, t, "."); printf "%d", t[1] * 1e9 + substr(t[2] "000000000", 1, 9) }' dump)
	view_start raw
	view_ask 1 "kind=end&to=$ns"
	expect_same 'at that time' "$(json answer '"\(.total_bytes) \(.total_blocks) \(.bytes | add)"')" \
		"$(at_rows raw --at "${ns}ns" | sed 's/.*all \(.*\)/\1/' | awk '{ print $1, $2, $1 }')"
	view_ask 2 "kind=total"
	run "$mprof" report raw --json
	expect_same 'all of it' "$(json answer '"\(.total_bytes) \(.total_blocks)"')" \
		"$(json out '"\(.total_bytes) \(.total_blocks)"')"
	view_ask 3 "kind=total&from=$ns"
	run "$mprof" report hot --json --time "$((ns + 1))ns.." raw
	expect_same 'from there on' "$(json answer '"\(.total_bytes) \(.total_blocks)"')" \
		"$(json out '.total | "\(.figures.total) \(.figures.calls)"')"
	view_ask 4 "kind=peak"
	run "$mprof" report raw --json
	expect_same 'the peak' "$(json answer .total_bytes)" "$(json out .peak_bytes)"
	view_ask 5 "kind=end&to=$ns&size_from=2000&size_to=2000"
	expect_same 'of a size' "$(json answer '"\(.total_bytes) \(.total_blocks)"')" '10000 5'
	view_ask 6 "kind=kept&from=$ns&to=$ns"
	expect_same 'an empty window' "$(json answer .error)" 'the window ends before it begins'
	# A new question replaces the current one.
	curl -s "${url}ask?id=7&kind=peak" >/dev/null
	view_ask 8 "kind=total"
	expect_same 'the second one' "$(json answer '.id, has("node")' | tr '\n' ' ')" '8 true '
	curl -s "${url}answer?id=7" >answer
	expect_same 'the first one' "$(json answer 'has("node")')" false
	view_end
}

# The blocks of a child are gone when a later window begins, though no call was made since.
test_view_peak_after_a_child() {
	local ended next
	command -v curl >/dev/null || return 0
	cat >child.c <<-'END'
		#include <stdlib.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *volatile kept;
		int main(void)
		{
			kept = malloc(700);
			if (!fork()) {
				kept = malloc(5000);
				_exit(0);
			}
			wait(NULL);
			usleep(300000);
			kept = malloc(10);
			return 0;
		}
	END
	compile child
	run "$mprof" record -o raw -- ./child
	run "$mprof" report --json raw
	ended=$(json out '[.processes[] | .end_ns] | min')
	next=$(json out '[.threads[].last_ns] | max')
	view_start raw
	view_ask 1 "kind=peak&from=1&to=$next"
	expect_same 'with the child' "$(json answer .total_bytes)" 5700
	view_ask 2 "kind=peak&from=$((ended + 1000000))&to=$((next - 1000000))"
	expect_same 'after the child' "$(json answer '"\(.total_bytes) \(.total_blocks)"')" '700 1'
	view_ask 3 "kind=peak&from=$((ended + 1000000))&to=$next"
	expect_same 'with the next call' "$(json answer .total_bytes)" 710
	view_end
}

# Threads that exchange blocks, and children that use inherited ones.
view_source() {
	cat <<'END'
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { BLOCKS = 2000, CALLS = 25000 };
static void *shared[64];
static void *one(size_t n) { return malloc(n); }
static void *two(size_t n) { return calloc(1, n); }
static void *three(void *p, size_t n) { return realloc(p, n); }
static void hand_over(void *p, unsigned k)
{
	free(__atomic_exchange_n(&shared[k % 64], p, __ATOMIC_ACQ_REL));
}
static void churn(void **p, uint64_t *s, int calls)
{
	for (int i = 0; i < calls; i++) {
		uint64_t r = *s = *s * 6364136223846793005u + 1442695040888963407u;
		size_t k = (r >> 33) % BLOCKS, n = 1 + (r >> 20) % 700;
		switch (r >> 60) {
		case 0: hand_over(one(n), (unsigned)k); break;
		case 1: free(p[k]); p[k] = NULL; break;
		case 2: case 3: p[k] = three(p[k], n); break;
		case 4: case 5: free(p[k]); p[k] = two(n); break;
		default: free(p[k]); p[k] = one(n);
		}
	}
}
static void *run(void *arg)
{
	void **p = calloc(BLOCKS, sizeof(*p));
	uint64_t s = (uintptr_t)arg;
	for (int i = 0; i < 4; i++) {
		churn(p, &s, CALLS);
		if ((uintptr_t)arg > 2)
			continue;
		if (!fork()) {
			churn(p, &s, CALLS / 4);
			if (i == 1)
				execl("/bin/true", "true", (char *)NULL);
			_exit(0);
		}
		wait(NULL);
	}
	return p;
}
int main(void)
{
	pthread_t t[8];
	for (uintptr_t i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, run, (void *)(i + 1));
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	return 0;
}
END
}

# A compressed trace is answered from snapshots, an uncompressed one by a walk from its start.
test_view_windows() {
	command -v curl >/dev/null || return 0
	view_source >windows.c
	cc -g -O0 -fno-builtin -pthread -o windows windows.c || bad 'windows.c does not compile'
	run "$mprof" record --no-compress -o raw -- ./windows
	expect_status 0
	cp raw packed
	run "$mprof" compress --exact packed
	expect_status 0
	run "$mprof" report raw --json
	view_start raw packed
	python3 - "$url" "$(json out .duration_ns)" >out 2>&1 <<'END' || bad "$(tail -5 out)"
import json, random, sys, time, urllib.request
root, end = sys.argv[1], int(sys.argv[2])
questions = 0

def get(path):
    return urllib.request.urlopen(root + path).read()

def ask(page, query):
    global questions
    questions += 1
    get(f'{page}/ask?id={questions}&{query}')
    while True:
        answer = json.loads(get(f'{page}/answer?id={questions}'))
        if 'percent' not in answer:
            del answer['id']
            return answer
        time.sleep(0.01)

random.seed(1)
blocks = 0
filters = ['', '', '', '&thread=3', '&process=1', '&process=2', '&size_from=64&size_to=255',
           '&size_from=100&size_to=199']
for i in range(40):
    begin, last = sorted(random.randrange(end) for _ in range(2))
    if i % 5 == 0:
        last = begin + random.randrange(end // 100) + 1
    kind = ['end', 'kept', 'total', 'peak'][i % 4]
    query = f'kind={kind}&from={begin}&to={last}{random.choice(filters)}'
    raw, packed = ask(0, query), ask(1, query)
    assert raw == packed, f'{query}: {raw} but {packed}'
    blocks += packed['total_blocks']
assert blocks > 10000, blocks
END
	view_end
}

test_view_socket_and_several() {
	command -v curl >/dev/null || return 0
	at_record
	cp raw other
	view_start --socket sock raw other
	expect_text err 'ssh -L 8000:sock HOST'
	expect_same "the socket's mode" "$(stat -c %a sock)" 600
	expect_same 'the list' "$(view_status --unix-socket sock "$url")" 200
	expect_text answer '<a href="1/">other</a>'
	expect_same 'the second page' "$(view_status --unix-socket sock "${url}1/")" 200
	expect_same 'through any port' "$(view_status --unix-socket sock -H 'Host: localhost:9000' "$url")" 200
	expect_same 'a foreign host' "$(view_status --unix-socket sock -H 'Host: localhost.example.com' "$url")" 403
	run "$mprof" view --socket sock raw
	expect_status 1
	expect_text err "cannot listen on 'sock': a file, or the socket of another server, is there"
	view_end
	[ ! -e sock ] || bad 'the socket is left behind'
	view_start --diff raw other
	expect_same 'the address of a comparison' "${url#*/*/*/*/}" '1/#page=compare&with=0'
	view_end
	echo kept >file
	run "$mprof" view --socket file raw
	expect_status 1
	expect_same 'a file of that name' "$(cat file)" kept
}

test_view_words() {
	at_record
	run "$mprof" view
	expect_status 2
	expect_text err 'no trace given'
	run "$mprof" view --port 0 raw
	expect_status 2
	expect_text err "invalid --port '0'"
	run "$mprof" view --socket x --open raw
	expect_status 2
	run "$mprof" view --diff raw
	expect_status 2
	expect_text err '--diff takes two traces, not 1'
	run "$mprof" view nothing.log
	expect_status 3
	expect_text err 'nothing.log'
}

# A page without blocks would look like an answer.
test_view_refuses_names_that_the_trace_lacks() {
	"$mprof" record -q -o log -- "$build/preload/fixture_a" >/dev/null
	"$mprof" profile -q -o p -- "$build/preload/fixture_a" >/dev/null
	local file
	for file in log p; do
		run timeout 600 "$mprof" view --function nowhere $file
		expect_status 2
		expect_same 'the reason' "$(cat err)" "mprof: no stack in '$file' goes through a function 'nowhere'"
	done
	run timeout 600 "$mprof" view --thread 'nobody*' log
	expect_status 2
	expect_one_line_error
}
