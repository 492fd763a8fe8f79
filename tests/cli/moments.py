#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What lived at moments of a run, by size: from `mprof dump`, and from `mprof report peak --at`.

    moments.py MPROF LOG

Prints one line for each moment that differs; exit status 1 if any does.
"""
import collections
import json
import subprocess
import sys

import model

MOMENTS = 24


def ask(mprof, log, when):
    out = subprocess.check_output([mprof, 'report', 'peak', '--json', '--by', 'size',
                                   '--at', when, log])
    answer = json.loads(out)
    rows = {row['size']: (row['value'], row['blocks']['peak']) for row in answer['rows']}
    return rows, (answer['moment_of_peak'] or {'bytes': 0})['bytes']


class Live:
    """The blocks of all processes; a child's are those that it allocated itself."""

    def __init__(self):
        self.block = {}

    def apply(self, event):
        of = event['process']
        old = int(event.get('pointer', '0'), 16)
        if event['function'] in model.MAPS:
            return
        if event['function'] in model.ENDING:
            self.block.pop((of, old), None)
            return
        addr, size = int(event['result'], 16), event['size'] * event.get('count', 1)
        if old and (addr or not size):
            self.block.pop((of, old), None)
        if addr:
            self.block[of, addr] = size

    def rows(self):
        count = collections.Counter(self.block.values())
        return {size: (size * n, n) for size, n in count.items()}


def main():
    mprof, log = sys.argv[1:]
    dump = subprocess.check_output([mprof, 'dump', '--json-lines', log]).splitlines()
    events = [json.loads(line) for line in dump]
    last = {}  # a process's last event: its blocks may be gone after it
    for i, event in enumerate(events):
        last[event['process']] = i
    wanted = {(i + 1) * len(events) // (MOMENTS + 1) for i in range(MOMENTS)}
    live, wrong, asked = Live(), 0, 0
    for i, event in enumerate(events[:-1]):
        live.apply(event)
        # Between two times, and while all processes run that have blocks.
        if not any(i >= w for w in wanted) or event['time_ns'] + 2 >= events[i + 1]['time_ns']:
            continue
        live.block = {key: size for key, size in live.block.items() if last[key[0]] >= i}
        wanted = {w for w in wanted if w > i}
        asked += 1
        rows, total = ask(mprof, log, f"{event['time_ns'] + 1}ns")
        if rows != live.rows() or total != sum(live.block.values()):
            wrong += 1
            print(f"after event {i}: {rows} instead of {live.rows()}")
    if asked < MOMENTS // 3:
        print(f'only {asked} moments could be asked for')
        wrong += 1
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
