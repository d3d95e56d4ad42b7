#!/usr/bin/env python3
"""link_emulator between two network namespaces. e2e_test.py LINK_EMULATOR"""

import contextlib
import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tools', 'e2e'))

import report  # noqa: E402  pylint: disable=wrong-import-position

EMULATOR = os.path.abspath(sys.argv[1])
NEAR, FAR, PORT = '10.9.0.1', '10.9.0.2', 7000

# What listens at the far end: sends back what it gets, and the client's end.
ECHO = '''
import socket, threading
def serve(connection):
    with connection:
        while True:
            piece = connection.recv(65536)
            if not piece:
                return
            connection.sendall(piece)
listener = socket.create_server(('0.0.0.0', %d))
print('listening', flush=True)
while True:
    threading.Thread(target=serve, args=listener.accept()[:1], daemon=True).start()
''' % PORT


def run(*arguments):
    return subprocess.run([EMULATOR, *arguments], capture_output=True, text=True, timeout=20, check=False)


class Link:
    """The emulator, its device near0 here and far0 in a namespace of its own, where something echoes."""

    def __init__(self, case, *arguments):
        self._case, self._processes = case, []
        self.emulator = self._start([EMULATOR, '--tun', 'near0,far0', *arguments], 'ready near0 far0')
        holder = self._start(['unshare', '--net', 'sh', '-c', 'echo held; exec cat'], 'held', stdin=subprocess.PIPE)
        inside = ['nsenter', '--net=/proc/%d/ns/net' % holder.pid]
        self._run('ip', 'link', 'set', 'far0', 'netns', str(holder.pid))
        for prefix, name, address, other in ((inside, 'far0', FAR, NEAR), ([], 'near0', NEAR, FAR)):
            self._run(*prefix, 'ip', 'address', 'add', address, 'peer', other, 'dev', name)
            self._run(*prefix, 'ip', 'link', 'set', name, 'up')
        self._start(inside + [sys.executable, '-c', ECHO], 'listening')

    def _run(self, *command):
        subprocess.run(command, check=True, capture_output=True)

    def _start(self, command, expected, stdin=subprocess.DEVNULL):
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self._processes.append(process)
        said = process.stdout.readline().strip()
        if said != expected:
            process.kill()
            self._case.fail('%s: %s %s' % (command[0], said, process.communicate()[1]))
        return process

    def connect(self):
        return socket.create_connection((FAR, PORT), timeout=20)

    def end(self):
        """Exit status, and {(from, to): [arrived, lost, queue full, refused]}."""
        self.emulator.send_signal(signal.SIGTERM)
        _, said = self.emulator.communicate(timeout=10)
        lines = re.findall(r'^(\w+) to (\w+): (\d+) \D*(\d+) \D*(\d+) \D*(\d+)', said, re.M)
        return self.emulator.returncode, {(a, b): [int(c) for c in counts] for a, b, *counts in lines}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._processes:
            process.kill()
            with contextlib.suppress(ValueError):  # Its output was read to the end already.
                process.communicate()


def echo(connection, data):
    """What came back; the data is sent meanwhile."""

    def send():
        with contextlib.suppress(OSError):
            connection.sendall(data)

    sender = threading.Thread(target=send)
    sender.start()
    received = bytearray()
    while len(received) < len(data):
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
    sender.join()
    return bytes(received)


class LinkTest(unittest.TestCase):

    def setUp(self):
        if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
            self.skipTest('/dev/net/tun is not here')

    def test_everything_takes_the_delay_both_ways(self):
        with Link(self, '--delay', '30') as link:
            before = time.monotonic()
            with link.connect() as connection:
                connected = time.monotonic()
                self.assertEqual(echo(connection, b'there and back'), b'there and back')
                answered = time.monotonic()
            status, counts = link.end()
        self.assertGreaterEqual(connected - before, 0.060)
        self.assertGreaterEqual(answered - connected, 0.060)
        self.assertEqual(status, 0)
        for arrived, lost, _, _ in counts.values():
            self.assertGreater(arrived, 2)
            self.assertEqual(lost, 0)

    def test_a_lossy_slow_link_loses_packets_and_not_bytes(self):
        data = os.urandom(300000)
        with Link(self, '--rate', '40M', '--delay', '1', '--loss', '2', '--queue', '40') as link:
            before = time.monotonic()
            with link.connect() as connection:
                came = echo(connection, data)
            took = time.monotonic() - before
            status, counts = link.end()
        self.assertEqual(hashlib.sha256(came).hexdigest(), hashlib.sha256(data).hexdigest())
        self.assertEqual(status, 0)
        self.assertGreater(sum(lost for _, lost, _, _ in counts.values()), 0)
        self.assertGreater(took, len(data) * 8 / 40e6)

    def test_a_removed_device_ends_it(self):
        with Link(self) as link:
            subprocess.run(['ip', 'link', 'delete', 'near0'], check=True)
            self.assertEqual(link.emulator.wait(10), 1)
            self.assertIn('link_emulator: reading from a device: ', link.emulator.stderr.read())

    def test_the_devices_go_with_it(self):
        with Link(self) as link:
            link.end()
            self.assertFalse(os.path.exists('/proc/sys/net/ipv4/conf/near0'))

    def test_a_name_that_is_taken(self):
        with Link(self):
            done = run('--tun', 'near0,other0')
        self.assertEqual(done.returncode, 1)
        self.assertIn('making the device near0: ', done.stderr)


class CommandLine(unittest.TestCase):

    def test_help(self):
        done = run('--help')
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        self.assertIn('usage: link_emulator', done.stdout)

    def test_wrong_usage(self):
        for words, what in ((['--tun', 'a'], '--tun A,B is needed'), (['--tun', 'a,b', 'c'], 'unknown argument: c')):
            done = run(*words)
            self.assertEqual((done.returncode, done.stdout), (2, ''))
            self.assertIn(what, done.stderr)


if __name__ == '__main__':
    sys.exit(report.run('link_e2e', []))
