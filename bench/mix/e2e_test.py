#!/usr/bin/env python3
"""mix through the real sluice, through TLS, and through relays that have a fault. e2e_test.py MIX SLUICE"""

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tools', 'e2e'))

import report  # noqa: E402  pylint: disable=wrong-import-position

MIX, SLUICE = (os.path.abspath(path) for path in sys.argv[1:3])
FIELDS = ('open active exchanges failed bytes seconds p50_us p90_us p99_us p999_us max_us cpu_us_per_exchange').split()


@contextlib.contextmanager
def started(*command, ready, stream):
    """A program that has said all of `ready` (prefixes of lines); gives the last words of those lines."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    try:
        words, wanted = [], list(ready)
        for line in getattr(process, stream):
            if wanted and line.startswith(wanted[0]):
                words.append(line.split()[-1])
                wanted.pop(0)
            if not wanted:
                break
        if wanted:
            raise AssertionError('%s never said %s' % (command, wanted))
        yield words
        process.terminate()
        if process.wait(10) != 0:
            raise AssertionError('%s: exit status %d' % (command, process.returncode))
    finally:
        process.kill()
        process.communicate()


def origin():
    return started(MIX, 'origin', '--listen', '127.0.0.1:0', ready=['ready'], stream='stdout')


def tls(*arguments):
    return started(MIX, 'tls', '--listen', '127.0.0.1:0', *arguments, ready=['ready'], stream='stdout')


@contextlib.contextmanager
def sluice(origin_address):
    with tempfile.NamedTemporaryFile('w', suffix='.cfg') as config:
        config.write('proxy -p0 -i127.0.0.1\nsocks -p0 -i127.0.0.1\n')
        config.write('tcppm -i127.0.0.1 0 %s\n' % origin_address.replace(':', ' '))
        config.flush()
        with started(SLUICE, config.name, ready=['listening'] * 3 + ['ready'], stream='stderr') as words:
            yield dict(zip(('http', 'socks', 'relay'), words), connect=words[0])


def mix(*arguments):
    return subprocess.run([MIX, *arguments], capture_output=True, text=True, timeout=60, check=False)


def load(via, proxy, origin_address, *arguments):
    """(exit status, figures, standard error)"""
    through = [] if proxy is None else ['--proxy', proxy]
    short = ['--open=40', '--active=10', '--seconds=0.4', '--warmup=0.1', '--half-closing=20', '--json']
    given = {argument.split('=')[0] for argument in arguments}
    short = [argument for argument in short if argument.split('=')[0] not in given]
    done = mix('load', '--via', via, *through, '--origin', origin_address, *short, *arguments)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


class Relay:
    """Relays to `address`, and lets `change(chunk, number, total)` have what comes from there: a chunk of the answer,
    which chunk of this connection it is, how many bytes came before. None ends the connection."""

    def __init__(self, address, change):
        host, port = address.split(':')
        self._to, self._change = (host, int(port)), change
        self._listener = socket.create_server(('127.0.0.1', 0), backlog=128)
        self.address = '127.0.0.1:%d' % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=self._listener.accept()[:1], daemon=True).start()

    def _serve(self, client):
        number = total = 0
        with client, socket.create_connection(self._to) as upstream, contextlib.suppress(OSError):
            while True:
                for ready in select.select([client, upstream], [], [])[0]:
                    chunk = ready.recv(65536)
                    if not chunk:
                        return
                    if ready is client:
                        upstream.sendall(chunk)
                        continue
                    changed = self._change(chunk, number, total)
                    number, total = number + 1, total + len(chunk)
                    if changed is None:
                        return
                    client.sendall(changed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._listener.close()


class ThroughSluice(unittest.TestCase):

    def check(self, via, *arguments):
        with origin() as (at,), sluice(at) as services:
            status, figures, said = load(via, services.get(via), at, *arguments)
        self.assertEqual((status, figures['failed'], figures['failures']), (0, 0, {}), said)
        for field in FIELDS:
            self.assertIn(field, figures)
        self.assertEqual((figures['open'], figures['active'], figures['unfinished']), (40, 10, 0))
        self.assertGreater(figures['exchanges'], 10)
        self.assertGreater(figures['bytes'], figures['exchanges'])
        self.assertGreater(figures['cpu_us_per_exchange'], 0)
        latencies = [figures[field] for field in FIELDS[6:11]]
        self.assertEqual(latencies, sorted(latencies))
        self.assertGreater(latencies[0], 0)
        return figures

    def test_none(self):
        self.check('none')

    def test_http(self):
        self.check('http')

    def test_http_with_half_close(self):
        self.check('http', '--http-half-close')

    def test_connect(self):
        self.check('connect')

    def test_socks(self):
        self.check('socks')

    def test_relay(self):
        self.check('relay')

    def test_open_loop(self):
        figures = self.check('relay', '--rate=200', '--seconds=0.5')
        self.assertLess(figures['per_second'], 300)

    def test_every_exchange_the_last(self):
        self.check('connect', '--half-closing=100')


class OverTls(unittest.TestCase):

    def check(self, *arguments):
        with origin() as (at,), tls('--accept', '--to', at, *arguments) as (outer,), \
                tls('--connect', '--to', outer) as (inner,):
            status, figures, said = load('relay', inner, at)
        self.assertEqual((status, figures['failed']), (0, 0), said)
        self.assertGreater(figures['exchanges'], 10)

    def test_1_3(self):
        self.check('--tls=1.3')

    def test_1_2(self):
        self.check('--tls=1.2')

    def test_a_plain_client_is_refused(self):
        with origin() as (at,), tls('--accept', '--to', at) as (outer,):
            status, figures, _ = load('relay', outer, at, '--open=1', '--active=1')
        self.assertEqual((status, figures['exchanges']), (1, 0))
        self.assertEqual(set(figures['failures']), {'no_answer'})


class Faults(unittest.TestCase):

    def failures(self, change, *arguments, half_closing=0):
        with origin() as (at,), Relay(at, change) as relay:
            status, figures, said = load('relay', relay.address, at, '--open=10', '--active=5', *arguments,
                                         '--half-closing=%d' % half_closing)
        self.assertEqual(status, 1)
        self.assertIn('the first one was', said)
        self.assertEqual(figures['failed'], sum(figures['failures'].values()))
        return set(figures['failures'])

    def test_an_answer_cut_short(self):
        self.assertIn('cut', self.failures(lambda chunk, number, total: chunk if total == 0 else None))

    def test_a_relay_that_ends_with_the_clients_side(self):
        found = self.failures(lambda chunk, number, total: chunk, half_closing=50)
        self.assertTrue(found <= {'no_answer', 'cut'}, found)

    def test_a_wrong_byte_at_the_end_of_a_piece(self):
        found = self.failures(lambda chunk, number, total: chunk[:-1] + bytes([chunk[-1] ^ 1]))
        self.assertIn('content', found)

    def test_bytes_behind_the_answer(self):
        found = self.failures(lambda chunk, number, total: chunk + b'x', '--seed=3')
        self.assertTrue(found & {'extra', 'content'}, found)

    def test_silence(self):
        found = self.failures(lambda chunk, number, total: b'', '--timeout=0.3')
        self.assertEqual(found, {'stall'})

    def test_an_answer_of_somebody_else(self):
        found = self.failures(lambda chunk, number, total: chunk.replace(b'X-Exchange: ', b'X-Exchange: 9', 1))
        self.assertEqual(found, {'head'})

    def test_nobody_there(self):
        with socket.create_server(('127.0.0.1', 0)) as reserved:
            address = '127.0.0.1:%d' % reserved.getsockname()[1]
        status, figures, said = load('relay', address, '127.0.0.1:1')
        self.assertEqual((status, figures['exchanges']), (1, 0))
        self.assertIn('only 0 of 40 connections could be opened', said)
        self.assertIn('Connection refused', said)

    def test_a_pause_of_the_proxy_is_charged_for_all_that_was_due(self):
        """100 of 200 exchanges are due in the pause; only the five under way notice it if the clock is stopped."""
        paused = threading.Event()
        lock = threading.Lock()

        def pause(chunk, number, _):
            with lock:
                if number > 0 and not paused.is_set():
                    paused.wait(0.5)
                    paused.set()
            return chunk

        with origin() as (at,), Relay(at, pause) as relay:
            status, figures, said = load('relay', relay.address, at, '--open=20', '--active=5', '--rate=200',
                                         '--seconds=1', '--half-closing=0')
        self.assertEqual(status, 0, said)
        self.assertGreater(figures['p90_us'], 100000)


class CommandLine(unittest.TestCase):

    def test_help(self):
        for command in ([], ['load'], ['origin'], ['tls']):
            done = mix(*command, '--help')
            self.assertEqual((done.returncode, done.stderr), (0, ''), command)
            self.assertIn('usage: mix', done.stdout)

    def test_wrong_usage(self):
        for command, what in (
            ([], 'usage: mix'),
            (['lode'], 'there is no command lode'),
            (['load'], '--via'),
            (['load', '--via', 'none', '--origin', '127.0.0.1:1', '--opne', '3'], 'unknown argument: --opne'),
            (['origin'], '--listen ADDRESS:PORT is needed'),
            (['tls', '--listen', '127.0.0.1:0', '--to', '127.0.0.1:1'], '--accept or --connect is needed'),
            (['tls', '--accept', '--cert', 'x', '--listen', '127.0.0.1:0', '--to', '127.0.0.1:1'], 'together'),
        ):
            done = mix(*command)
            self.assertEqual((done.returncode, done.stdout), (2, ''), command)
            self.assertIn(what, done.stderr)

    def test_what_cannot_run(self):
        with socket.create_server(('127.0.0.1', 0)) as taken:
            done = mix('origin', '--listen', '127.0.0.1:%d' % taken.getsockname()[1])
        self.assertEqual(done.returncode, 1)
        self.assertIn('Address already in use', done.stderr)
        done = mix('tls', '--accept', '--listen', '127.0.0.1:0', '--to', '127.0.0.1:1', '--cert', '/x', '--key', '/y')
        self.assertEqual(done.returncode, 1)
        self.assertIn('--cert /x', done.stderr)

    def test_servers_end_by_themselves(self):
        done = mix('origin', '--listen', '127.0.0.1:0', '--seconds', '0.05')
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith('ready 127.0.0.1:'), done.stdout)

    def test_a_signal_ends_the_load_with_what_it_has(self):
        with origin() as (at,):
            process = subprocess.Popen([MIX, 'load', '--via', 'none', '--origin', at, '--open=5', '--seconds=60',
                                        '--warmup=0', '--cpu=%d' % min(os.sched_getaffinity(0))],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            # Blocked from its first moments on, before which the signal would just end it.
            while 'SigBlk:\t0000000000000000' in open('/proc/%d/status' % process.pid, encoding='ascii').read():
                self.assertIsNone(process.poll())
            process.send_signal(signal.SIGTERM)
            said, errors = process.communicate(timeout=20)
        self.assertEqual(process.returncode, 1)
        self.assertIn('5 connections', said)
        self.assertIn('ended by a signal', errors)


if __name__ == '__main__':
    sys.exit(report.run('mix_e2e', []))
