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
import signal
import subprocess
import sys
import tempfile
import time

SPEC = 'Documentation/netlink/specs/gda.yaml'
HOLDER = 'build/selftests/tools/holder'


def client(linux, tmp):
    os.makedirs(tmp + '/lib', exist_ok=True)
    os.makedirs(tmp + '/Documentation/netlink/specs', exist_ok=True)
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


def test_record(tap, ynl, context):
    """The switch for work, of which gdactl prints a sentence."""
    for records in 64, 0:
        ynl.do('record-set', {'context': context, 'records': records})
        text = subprocess.run(['build/tools/gdactl', 'record', 'show', 'ctx', str(context)],
                              check=True, text=True, stdout=subprocess.PIPE).stdout
        # How to switch it on follows where it is off.
        said = f'context {context}: work is {"" if records else "not "}recorded'
        tap.same(f'do of record, {records} records', [text.startswith(said), records],
                 [True, ynl.do('record-get', {'context': context}).get('records')])


def one_life():
    """Events of two contexts, from their beginning to their end."""
    with subprocess.Popen([HOLDER], stdout=subprocess.PIPE, text=True) as p:
        pid = int(p.stdout.readline())
        p.kill()
    return pid


class Heard:
    """Events as the client, which subscribed first, and as gdactl monitor have them."""

    def __init__(self, ynl, tmp):
        ynl.ntf_subscribe('events')
        self.ynl = ynl
        self.path = tmp + '/monitor'
        self.theirs = []
        with open(self.path, 'w', encoding='ascii') as out:
            self.monitor = subprocess.Popen(['build/tools/gdactl', '--json', 'monitor'],
                                            stdout=out, stderr=subprocess.DEVNULL)

    def ours(self):
        with open(self.path, encoding='ascii') as f:
            return [json.loads(line) for line in f if line.endswith('\n')]

    def update(self):
        self.ynl.check_ntf()
        self.theirs += [plain(m['msg']) for m in self.ynl.async_msg_queue]
        self.ynl.async_msg_queue.clear()

    def wait_for_end(self, pid, end):
        """Until both have the ends of both contexts of a process."""
        def whole(events):
            return sum(e['kind'] == 'context-gone' and e.get('pid') == pid for e in events) == 2

        while time.monotonic() < end and not (whole(self.theirs) and whole(self.ours())):
            time.sleep(0.05)
            self.update()


def test_events(tap, ynl, tmp):
    heard = Heard(ynl, tmp)
    end = time.monotonic() + 200
    # it listens as soon as something is told
    while not heard.ours() and time.monotonic() < end:
        one_life()
        heard.update()
    heard.wait_for_end(one_life(), end)
    heard.monitor.send_signal(signal.SIGINT)
    heard.monitor.wait()
    ours = heard.ours()
    tap.same('events', ours, heard.theirs[-len(ours):])


def main():
    holder = subprocess.Popen([HOLDER], stdout=subprocess.PIPE, text=True)
    pid = holder.stdout.readline().strip()
    with tempfile.TemporaryDirectory() as tmp:
        ynl = client(sys.argv[1], tmp)
        kinds = ['device', 'context', 'qp', 'cq', 'mr', 'counter']
        tap = Tap(2 * len(kinds) + 11)
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
        test_record(tap, ynl, context)
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
        test_events(tap, client(sys.argv[1], tmp), tmp)
    holder.kill()
    holder.wait()
    return 1 if tap.failed else 0


if __name__ == '__main__':
    sys.exit(main())
