#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""
The netlink family by the kernel's own client and by gdactl --json: they agree on every value.

The client (tools/net/ynl of linux-source-6.12) and the schema are in the folder argv[1], flat.
It wants a package "lib" beside itself, and the schema beside the folder of the specification.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

SPEC = 'Documentation/netlink/specs/gda.yaml'


def client(linux, tmp):
    os.makedirs(tmp + '/lib')
    os.makedirs(tmp + '/Documentation/netlink/specs')
    for name in '__init__.py', 'nlspec.py', 'ynl.py':
        shutil.copy(f'{linux}/{name}', f'{tmp}/lib/{name}')
    shutil.copy(linux + '/genetlink-legacy.yaml', tmp + '/Documentation/netlink')
    shutil.copy(SPEC, f'{tmp}/{SPEC}')
    sys.path.insert(0, tmp)
    from lib import YnlFamily
    return YnlFamily(f'{tmp}/{SPEC}', schema='')


def plain(value):
    """As JSON has it: sets and bytes are no types there."""
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def gdactl(*args):
    out = subprocess.run(['build/tools/gdactl', '--json', *args], check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return [{k: sorted(v) if isinstance(v, list) else v for k, v in o.items()}
            for o in json.loads(out)]


class Tap:
    def __init__(self, plan):
        self.n = self.failed = 0
        print('TAP version 13')
        print(f'1..{plan}')

    def same(self, name, ours, theirs):
        self.n += 1
        if ours == theirs and ours:
            print(f'ok {self.n} {name}')
            return
        self.failed += 1
        print(f'# gdactl: {ours}')
        print(f'# client: {theirs}')
        print(f'not ok {self.n} {name}')


def main():
    holder = subprocess.Popen(['build/selftests/tools/holder'], stdout=subprocess.PIPE, text=True)
    pid = holder.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as tmp:
        ynl = client(sys.argv[1], tmp)
        kinds = ['device', 'context', 'qp', 'cq', 'mr', 'counter']
        tap = Tap(2 * len(kinds) + 8)
        context = gdactl('context', 'pid', pid)[0]['id']
        for kind in kinds:
            theirs = [plain(o) for o in ynl.dump(kind + '-get', {})]
            ours = gdactl(kind)
            for o in ours:
                # what only an answer about one QP has
                o.pop('written', None)
            tap.same(f'dump of {kind}', ours, theirs)
            first = ours[0]
            if kind in ('device', 'context'):
                key = {'id': first['id']}
            else:
                key = {'context': first['context'], 'handle': first['handle']}
            one = plain(ynl.do(kind + '-get', key))
            one.pop('written', None)
            tap.same(f'do of {kind}', [first], [one])
        # counts of what is open change with the client itself: it has no context
        tap.same('stats', gdactl('stats'), [plain(ynl.do('stats-get', {}))])
        limits = plain(ynl.do('limits-get', {}))
        tap.same('limits', gdactl('limits'), [limits])
        ynl.do('limits-set', limits)
        tap.same('limits after they were set to what they are', gdactl('limits'), [limits])
        entries = [plain(o)['entry'] for o in ynl.dump('record-get', {'context': context})
                   if 'entry' in o]
        tap.same('record', gdactl('record', 'show', 'ctx', str(context)), entries)
        waits = next(q for q in gdactl('qp', 'pid', pid) if q['state'] == 'wait')
        key = {k: waits[k] for k in ('context', 'handle')}
        wqes = gdactl('wqe', 'ctx', str(key['context']), 'handle', str(key['handle']))
        tap.same('wqe', wqes, [plain(o) for o in ynl.dump('wqe-get', key)])
        tap.same('do of wqe', [wqes[1]],
                 [plain(ynl.do('wqe-get', {**key, 'index': wqes[1]['index']}))])
        dead = [plain(o) for o in ynl.dump('dead-get', {})]
        tap.same('dead', gdactl('record', 'show', 'dead'),
                 [o.get('entry', o) for o in dead])
        first = next(o for o in dead if 'dead' in o)
        tap.same('do of dead', [first], [plain(ynl.do('dead-get', {'dead': first['dead']}))])
    holder.kill()
    holder.wait()
    return 1 if tap.failed else 0


if __name__ == '__main__':
    sys.exit(main())
