#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What a report should say, made from `mprof dump` with sets and dictionaries.

    model.py MPROF LOG      a trace of one process, without exec; only one thread
                            may call realloc, as a line does not tell when it began

Prints one line for each figure that differs; exit status 1 if any does.
"""
import collections
import json
import subprocess
import sys

PAGE = 4096
ENDING = {'free', 'cfree', 'operator delete', 'operator delete[]', 'free_sized',
          'free_aligned_sized'}
MAPS = {'mmap', 'munmap', 'mremap', 'brk', 'sbrk'}


class Model:
    def __init__(self):
        self.live = {}  # address: size, time, thread
        self.pages = collections.Counter()
        self.classes = collections.Counter()
        self.ratios = []
        self.figures = collections.Counter()

    def touch(self, addr, size, by):
        for page in range(addr // PAGE, (addr + size + PAGE - 1) // PAGE if size else 0):
            self.pages[page] += by
            if not self.pages[page]:
                del self.pages[page]

    def begin(self, addr, size, event):
        self.live[addr] = size, event['time_ns'], event['thread']
        self.touch(addr, size, 1)
        self.classes[size] += 1
        f = self.figures
        f['bytes now'] += size
        f['total_bytes'] += size
        f['waste_bytes'] += max(0, event.get('usable', 0) - size)
        f['peak_bytes'] = max(f['peak_bytes'], f['bytes now'])
        f['peak_blocks'] = max(f['peak_blocks'], len(self.live))

    def end(self, addr, event):
        size, time, thread = self.live.pop(addr)
        self.touch(addr, size, -1)
        lived = event['time_ns'] - time
        f = self.figures
        f['bytes now'] -= size
        f['blocks'] += 1
        # The report converts a difference of ticks, we subtract two conversions.
        f['under_1us'] += lived < 1000
        f['under_1ms'] += lived < 1000000
        f['other thread'] += thread != event['thread']

    def look(self):
        if self.pages:
            needed = (self.figures['bytes now'] + PAGE - 1) // PAGE
            self.ratios.append(needed / len(self.pages))
        self.figures['pages'] = max(self.figures['pages'], len(self.pages))

    def allocate(self, event):
        if 'size' not in event:  # a product that overflowed: it failed
            return
        addr, size = int(event['result'], 16), event['size'] * event.get('count', 1)
        old = int(event.get('pointer', '0'), 16)
        if old and (addr or not size):
            if addr and addr != old:
                self.figures['copied'] += min(self.live[old][0], size)
            self.end(old, event)
        if addr:
            self.begin(addr, size, event)
        if addr or (old and not size):
            self.look()

    def apply(self, event):
        if event['function'] in MAPS:
            return
        if event['function'] not in ENDING:
            self.allocate(event)
        elif int(event['pointer'], 16):
            self.end(int(event['pointer'], 16), event)
            self.look()


def compare(model, report):
    f, virtual = model.figures, report['compactness']['virtual']
    lifetimes = report['lifetimes']
    rows = [
        ('live_bytes', f['bytes now'], report['live_bytes']),
        ('live_blocks', len(model.live), report['live_blocks']),
        ('high water', f['pages'], report['high_water']['pages']),
        ('min', round(min(model.ratios), 4), virtual['min']),
        ('max', round(max(model.ratios), 4), virtual['max']),
        ('copied', f['copied'], report['realloc']['copied_bytes']),
        ('size classes', sorted(model.classes.items()),
         [(c['size'], c['count']) for c in report['size_classes']]),
        ('lifetimes', f['blocks'], lifetimes['blocks']),
        ('other thread', f['other thread'], lifetimes['freed_by_other_thread']),
    ]
    rows += [(k, f[k], report[k]) for k in
             ('peak_bytes', 'peak_blocks', 'total_bytes', 'waste_bytes')]
    wrong = [row for row in rows if row[1] != row[2]]
    near = [('mean', sum(model.ratios) / len(model.ratios), virtual['mean'], 1e-4)]
    near += [(k, f[k], lifetimes[k], f['blocks'] // 1000 + 1) for k in ('under_1us', 'under_1ms')]
    return wrong + [row[:3] for row in near if abs(row[1] - row[2]) > row[3]]


def main():
    mprof, log = sys.argv[1:]
    report = json.loads(subprocess.check_output([mprof, 'report', '--json', log]))
    model = Model()
    with subprocess.Popen([mprof, 'dump', '--json-lines', log], stdout=subprocess.PIPE) as dump:
        for line in dump.stdout:
            model.apply(json.loads(line))
    wrong = compare(model, report)
    for name, want, got in wrong:
        print(f'{name}: {str(got)[:200]} instead of {str(want)[:200]}')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
