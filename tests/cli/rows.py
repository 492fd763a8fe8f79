#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""What the rows of views and the sums of exports should say, made from `mprof dump`.

    rows.py MPROF LOG PROGRAM

Names are those of PROGRAM's own functions.  Prints one line for each figure that differs; exit
status 1 if any does.
"""
import collections
import csv
import io
import json
import os
import subprocess
import sys

import model


def lines_of(program, addresses):
    """The function and line of each return address."""
    out = subprocess.run(['addr2line', '-f', '-e', program], text=True, check=True,
                         input='\n'.join(hex(a - 1) for a in addresses), capture_output=True)
    said = out.stdout.splitlines()
    places = [place.rpartition(':')[2].split(' ')[0] for place in said[1::2]]
    return {a: (name, int(line) if line.isdigit() else None)
            for a, name, line in zip(addresses, said[::2], places)}


class Block:
    """end: how it ended, None if it was never freed; old: size of the block that realloc had."""

    def __init__(self, event, size, old, moved):
        self.size, self.old, self.moved = size, old, moved
        self.process, self.thread = event['process'], event['thread']
        self.kind, self.stack = event['function'], event.get('stack', 0)
        self.slack = max(0, event.get('usable', 0) - size)
        self.begin = event['time_ns']
        self.call = self.end = self.to = self.freed_by = self.to_call = None
        self.at_peak = False

    def freed(self):
        return self.end in ('free', 'realloc')

    def temporary(self, calls=1, ns=0):
        return self.end == 'free' and self.freed_by == self.thread and (
            self.to_call - self.call <= calls or self.to - self.begin < ns)


class Run:
    def __init__(self, mprof, log, program):
        self.mprof, self.log = mprof, log
        self.blocks, self.steps, self.live = [], [], collections.defaultdict(dict)
        self.calls = collections.Counter()
        self.caller, self.address = {}, {}
        self.report = self.ask()
        out = subprocess.check_output([mprof, 'dump', '--json-lines', '--stacks', '--numbers',
                                       '--marks', log])
        self.read([json.loads(line) for line in out.splitlines()], program)
        self.ends()
        now, self.peak, steps = 0, 0, 0
        for i, (_, by, block) in enumerate(self.steps):
            now += by * block.size
            if now > self.peak:
                self.peak, steps = now, i + 1
        for _, by, block in self.steps[:steps]:
            block.at_peak = by > 0
        names = lines_of(program, sorted({a for a in self.address.values() if a}))
        self.names = {stack: self.path(stack, names) for stack in {b.stack for b in self.blocks}}

    def ask(self, *words):
        return json.loads(subprocess.check_output([self.mprof, 'report', '--json', *words,
                                                   self.log], stderr=subprocess.DEVNULL))

    def path(self, stack, names):
        """Own functions of a stack, innermost first."""
        path = []
        while stack:
            if self.address[stack]:
                path.append(names[self.address[stack]])
            stack = self.caller[stack]
        return path

    def read(self, events, program):
        pids = {(p['parent'], p['pid']): p['process'] for p in self.report['processes']}
        forks, children = {}, {}
        for e in events:  # a fork takes place at the first mark; the second one has the pid
            who = e.get('process'), e.get('thread')
            if e.get('mark') == 'fork':
                forks[who] = e['event']
            elif e.get('mark') == 'forked':
                children[forks.get(who)] = pids.get((e['process'], e['value']))
        for e in events:
            if 'define' in e:
                self.caller[e['define']] = e['caller']
                own = os.path.realpath(e.get('path', '')) == os.path.realpath(program)
                self.address[e['define']] = int(e['address'], 16) if own else 0
            elif e.get('mark') == 'fork' and children.get(e['event']):
                # None: a block of the parent, whose end in the child changes nothing.
                live = self.live[e['process']]
                self.live[children[e['event']]] = {a: (None, s) for a, (_, s) in live.items()}
            elif e.get('mark') == 'exec':
                for address in list(self.live[e['process']]):
                    self.over(e, address, 'exec')
            elif 'function' in e:
                self.calls[e['thread']] += 1
                if e['function'] not in model.MAPS:
                    self.call(e)

    def over(self, e, address, how):
        """Ends the block there; returns its size."""
        block, size = self.live[e['process']].pop(address)
        if block:
            block.end, block.to, block.freed_by = how, e['time_ns'], e['thread']
            block.to_call = self.calls[e['thread']]
            self.steps.append((e['time_ns'], -1, block))
        return size

    def call(self, e):
        address, old = int(e.get('result', '0'), 16), int(e.get('pointer', '0'), 16)
        if e['function'] in model.ENDING:
            if old:
                self.over(e, old, 'free')
            return
        if not address:
            return
        size = e['size'] * e.get('count', 1)
        had = self.over(e, old, 'realloc') if old else None
        block = Block(e, size, had, old and old != address)
        block.call = self.calls[e['thread']]
        self.blocks.append(block)
        self.live[e['process']][address] = block, size
        self.steps.append((e['time_ns'], 1, block))

    def ends(self):
        """What is left is live until its process ends."""
        end = {p['process']: p['end_ns'] for p in self.report['processes']}
        left = [(end[p], -1, block) for p, live in self.live.items()
                for block, _ in live.values() if block and end[p] is not None]
        order = [(s[0], 0, i) for i, s in enumerate(self.steps)]
        order += [(s[0], 1, i) for i, s in enumerate(left)]
        self.steps = [(left if late else self.steps)[i] for _, late, i in sorted(order)]


def total(blocks, temporary):
    """The figures of some blocks."""
    freed, live = [b for b in blocks if b.freed()], [b for b in blocks if b.end is None]
    peak, soon = [b for b in blocks if b.at_peak], [b for b in blocks if temporary(b)]
    again = [b for b in blocks if b.old is not None]
    f = {'calls': len(blocks), 'freed_calls': len(freed), 'live_calls': len(live),
         'peak_calls': len(peak), 'temporary_calls': len(soon),
         'slack': sum(b.slack for b in blocks), 'peak_slack': sum(b.slack for b in peak),
         'foreign_frees': sum(b.freed_by != b.thread for b in freed),
         'reallocs': len(again), 'realloc_moved': sum(b.moved for b in again),
         'realloc_bytes': sum(min(b.old, b.size) for b in again if b.moved),
         'size_min': min(b.size for b in blocks), 'size_max': max(b.size for b in blocks)}
    for name, some in (('bytes', blocks), ('freed_bytes', freed), ('live_bytes', live),
                       ('peak_bytes', peak), ('temporary_bytes', soon)):
        f[name] = sum(b.size for b in some)
    return f


def said(row):
    """The same figures of a row of a view."""
    f = {'calls': row['figures']['calls'], 'bytes': row['figures']['total'],
         'slack': row['figures']['waste'], 'temporary_calls': row['figures']['temporary'],
         'peak_slack': row['peak_waste_bytes'], 'reallocs': row['reallocs']['calls'],
         'realloc_moved': row['reallocs']['moved'],
         'realloc_bytes': row['reallocs']['copied_bytes'],
         'size_min': row['sizes']['min'], 'size_max': row['sizes']['max']}
    for name in ('freed', 'live', 'peak'):
        f[name + '_calls'] = row['blocks'][name]
    for name in ('live', 'peak'):
        f[name + '_bytes'] = row['figures'][name]
    for name in ('freed_bytes', 'temporary_bytes', 'foreign_frees'):
        f[name] = row[name]
    return f


def most(run, blocks):
    """The most bytes that the blocks held at any one time."""
    these, now, best = set(map(id, blocks)), 0, 0
    for _, by, block in run.steps:
        if id(block) in these:
            now += by * block.size
            best = max(best, now)
    return best


class Check:
    def __init__(self, run, program):
        self.run, self.module, self.wrong = run, os.path.basename(program), []

    def same(self, what, found, wanted):
        if found != wanted:
            self.wrong.append(f'{what}: {str(found)[:200]} instead of {str(wanted)[:200]}')

    def figures(self, what, found, wanted):
        for name, value in wanted.items():
            self.same(f'{what}, {name}', found[name], value)

    def key(self, by, row):
        if by in ('function', 'line'):
            names = row['function'], row['line']
            return (names if by == 'line' else names[0]) if row['module'] == self.module else None
        return row[by]

    def key_of(self, by, block):
        if by in ('function', 'line'):
            path = self.run.names[block.stack]
            return (path[0] if by == 'line' else path[0][0]) if path else None
        return getattr(block, by)

    def view(self, by, *words, passes=lambda b: True, temporary=Block.temporary):
        what = ' '.join(['by', by, *words])
        answer = self.run.ask('hot', '--top', '0', '--by', by, *words)
        blocks = [b for b in self.run.blocks if passes(b)]
        groups, rows = collections.defaultdict(list), collections.defaultdict(list)
        for block in blocks:
            groups[self.key_of(by, block)].append(block)
        for row in answer['rows']:
            rows[self.key(by, row)].append(row)
        self.same(f'{what}: rows', sorted(map(str, rows)), sorted(map(str, groups)))
        for key in groups.keys() & rows.keys() - {None}:
            row = rows[key][0]
            self.same(f'{what}: rows of {key}', len(rows[key]), 1)
            self.figures(f'{what}: {key}', said(row), total(groups[key], temporary))
            self.same(f'{what}: own peak of {key}', row['figures']['local'],
                      most(self.run, groups[key]))
        if blocks:
            self.figures(what, said(answer['total']), total(blocks, temporary))

    def views(self):
        births = sorted(b.begin for b in self.run.blocks)
        third, half = births[len(births) // 3], births[len(births) // 2]
        thread = self.run.blocks[len(births) // 2].thread
        through = self.run.names
        for by in ('function', 'line', 'thread', 'process', 'size'):
            self.view(by)
        self.view('line', '--time', f'{third}ns..{half}ns',
                  passes=lambda b: third <= b.begin <= half)
        self.view('function', '--size', '10..300', passes=lambda b: 10 <= b.size <= 300)
        self.view('function', '--size', '..0', passes=lambda b: not b.size)
        self.view('function', '--thread', str(thread), passes=lambda b: b.thread == thread)
        self.view('line', '--kind', 'calloc,realloc',
                  passes=lambda b: b.kind in ('calloc', 'realloc'))
        self.view('function', '--function', 'deep',
                  passes=lambda b: any(f == 'deep' for f, _ in through[b.stack]))
        self.view('function', '--without', 'work', '--size', '1..',
                  passes=lambda b: b.size and all(f != 'work' for f, _ in through[b.stack]))
        self.view('function', '--temporary', '5', temporary=lambda b: b.temporary(5))
        self.view('function', '--temporary', '1000s', temporary=lambda b: b.temporary(1, 10**12))

    def whole(self):
        report = self.run.report
        self.same('peak', report['peak_bytes'], self.run.peak)
        self.same('blocks at the peak', report['blocks_at_peak'],
                  sum(b.at_peak for b in self.run.blocks))
        pairs = collections.Counter()
        for b in self.run.blocks:
            if b.freed() and b.freed_by != b.thread:
                pairs[b.thread, b.freed_by] += 1
        answer = self.run.ask('threads')
        self.same('pairs of threads', pairs, collections.Counter(
            {(r['from_thread'], r['to_thread']): r['blocks'] for r in answer['rows']}))
        foreign = sum(site['foreign_frees'] for site in answer['sites'])
        self.same('lines of blocks that others free', foreign, sum(pairs.values()))

    def export(self, form, *words):
        return subprocess.check_output([self.run.mprof, 'export', '--to', form, *words,
                                        self.run.log], text=True, stderr=subprocess.DEVNULL)

    def exports(self):
        wanted = total(self.run.blocks, Block.temporary)
        rows = list(csv.DictReader(io.StringIO(self.export('csv'))))
        for name, value in wanted.items():
            values = [int(row[name]) for row in rows]
            found = min(values) if name == 'size_min' else (
                max(values) if name == 'size_max' else sum(values))
            self.same(f'csv, {name}', found, value)
        for value, name in (('calls', 'calls'), ('total', 'bytes'), ('live', 'live_bytes'),
                            ('peak', 'peak_bytes'), ('waste', 'slack')):
            lines = self.export('folded', '--value', value).splitlines()
            self.same(f'folded {value}', sum(int(x.rpartition(' ')[2]) for x in lines),
                      wanted[name])


def main():
    mprof, log, program = sys.argv[1:]
    check = Check(Run(mprof, log, program), program)
    check.whole()
    check.views()
    check.exports()
    print('\n'.join(check.wrong[:20]))
    sys.exit(bool(check.wrong))


if __name__ == '__main__':
    main()
