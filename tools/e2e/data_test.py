#!/usr/bin/env python3
"""Large streams arrive whole, and by the path that -s asks for: counted from the system calls of the proxy."""

import os
import re
import threading

import rig
import peers
from peers import FIN

TOTAL = rig.size(64 << 20, 1 << 30)
TRACED = 16 << 20
BLOCK = peers.payload((1 << 20) + 7)  # Not a power of two: no buffer size of the proxy divides it.


def exchange(address, origin, up, down):
    """Sends `up` bytes and receives `down` at once: {'up' | 'down': (sent digest, received digest, count, end)}."""
    result = {}

    def handler(sock, origin):
        sender = threading.Thread(target=lambda: (result.__setitem__('down sent', peers.send_stream(sock, down, BLOCK)),
                                                  peers.finish_sending(sock)), daemon=True)
        sender.start()
        received = peers.digest_all(sock)
        sender.join(60)
        origin.note(received)

    origin.forget(handler)
    with peers.connect(address, timeout=60) as sock:

        def send():
            result['up sent'] = peers.send_stream(sock, up, BLOCK)
            peers.finish_sending(sock)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        down_received = peers.digest_all(sock)
        sender.join(60)
        up_received = origin.wait_seen(1, 60)[0]
    return {'up': (result['up sent'],) + up_received, 'down': (result['down sent'],) + down_received}


@rig.expand
class Bulk(rig.Case):

    @rig.over(copied='-s0', spliced='-s3', automatic='-s7', small_reads='-s0 -b4096', with_grace_delay='-s7 -g8000,2,2')
    @rig.seconds(300)
    def test_digest_of_a_large_stream_each_way(self, options):
        total = TOTAL if 'b4096' not in options else TOTAL // 4
        with peers.Origin() as origin:
            config = 'tcppm %s -i127.0.0.1 0 127.0.0.1 %d\n' % (options, origin.port)
            with rig.Sluice(config) as proxy:
                for up, down in ((total, 0), (0, total), (total // 4, total // 4)):
                    result = exchange(proxy.address(), origin, up, down)
                    for way, wanted in (('up', up), ('down', down)):
                        sent, received, count, ending = result[way]
                        self.assertEqual((count, ending), (wanted, FIN), way)
                        self.assertEqual(received, sent, way)


class Trace:
    """Bytes by system call, from strace's file."""

    CALLS = ('splice', 'recvfrom', 'recvmsg', 'read', 'readv', 'sendto', 'sendmsg', 'write', 'writev')

    def __init__(self, path):
        self._path, self._at = path, 0

    @classmethod
    def wrapper(cls, path):
        """-D: the proxy stays our own child, strace is the bystander."""
        return ['strace', '-D', '-f', '-s', '0', '-o', path, '-e', 'trace=' + ','.join(cls.CALLS)]

    def since_last(self):
        """{call: [returned byte counts]} of everything since the last time."""
        with open(self._path, encoding='utf-8', errors='replace') as trace:
            trace.seek(self._at)
            text = trace.read()
            self._at = trace.tell()
        counts = {call: [] for call in self.CALLS}
        for line in text.splitlines():
            match = re.search(r'\b(%s)(?:\(| resumed).*= (\d+)$' % '|'.join(self.CALLS), line)
            if match:
                counts[match.group(1)].append(int(match.group(2)))
        return counts


def received(counts):
    return sum(sum(counts[call]) for call in ('recvfrom', 'recvmsg', 'read', 'readv'))


# option -> (download spliced, upload spliced)
MODES = {'-s0': (False, False), '-s1': (True, False), '-s2': (False, True), '-s3': (True, True),
         '-s5': (True, False), '-s6': (False, True), '-s7': (True, True), '': (True, True)}


@rig.expand
class Paths(rig.Case):

    @classmethod
    def setUpClass(cls):
        cls.proxy = None
        if not rig.shutil.which('strace'):
            return
        cls.origin = peers.Origin()
        folder = rig.scratch_folder()
        trace = os.path.join(folder, 'trace')
        lines = ['tcppm %s -i127.0.0.1 0 127.0.0.1 %d' % (options, cls.origin.port) for options in list(MODES) +
                 ['-s0 -b4096', '-s7:16384,1000,4096']]
        # The leak check of a sanitizer wants to trace the process itself.
        sanitizer = {'ASAN_OPTIONS': os.environ.get('ASAN_OPTIONS', '') + ':detect_leaks=0'}
        cls.proxy = rig.Sluice('\n'.join(lines) + '\n', folder=folder, wrapper=Trace.wrapper(trace), env=sanitizer,
                               start_seconds=60)
        cls.trace = Trace(trace)

    @classmethod
    def tearDownClass(cls):
        if cls.proxy:
            cls.proxy.stop(60)
            cls.origin.close()

    def setUp(self):
        self.need('strace')
        self.trace.since_last()

    def moved(self, ordinal, up, down):
        """Transfers and returns the byte counts of the system calls."""
        result = exchange(self.proxy.address(ordinal), self.origin, up, down)
        for way in ('up', 'down'):
            self.assertEqual(result[way][0], result[way][1])
        counts = self.trace.since_last()
        # Each byte is read once and written once; a splice does one of the two, so nothing is missing from the sum.
        self.assertGreaterEqual(sum(sum(c) for c in counts.values()), 2 * (up + down) * 0.98,
                                'the trace is incomplete')
        return counts

    @rig.over(**{(mode or 'default').strip('-'): mode for mode in MODES})
    def test_bytes_take_the_path_of_the_mode(self, mode):
        ordinal = list(MODES).index(mode)
        for (up, down), spliced in (((0, TRACED), MODES[mode][0]), ((TRACED, 0), MODES[mode][1])):
            counts = self.moved(ordinal, up, down)
            way = 'download' if down else 'upload'
            if spliced:
                self.assertGreaterEqual(sum(counts['splice']) / 2, 0.95 * TRACED, way)
            else:
                self.assertEqual(sum(counts['splice']), 0, way)
                self.assertGreaterEqual(received(counts), TRACED, way)

    def test_automatic_mode_leaves_small_messages_alone(self):
        self.origin.forget(peers.echo)
        with peers.connect(self.proxy.address(list(MODES).index('-s7'))) as sock:
            for _ in range(100):
                peers.check_echo(sock, bytes(1000))
        counts = self.trace.since_last()
        self.assertEqual(sum(counts['splice']), 0)
        self.assertGreaterEqual(received(counts), 200000)

    def test_automatic_mode_goes_back_to_copying_when_the_pieces_become_small(self):
        self.origin.forget(peers.echo)
        with peers.connect(self.proxy.address(list(MODES).index('-s7'))) as sock:
            for _ in range(8):
                sender = threading.Thread(target=sock.sendall, args=(bytes(1 << 20),))
                sender.start()
                peers.receive_exactly(sock, 1 << 20)
                sender.join()
            self.assertGreater(sum(self.trace.since_last()['splice']), 1 << 20)
            for _ in range(10):
                peers.check_echo(sock, bytes(1000))
            self.trace.since_last()
            for _ in range(50):
                peers.check_echo(sock, bytes(1000))
            counts = self.trace.since_last()
        self.assertEqual(sum(counts['splice']), 0)
        self.assertGreaterEqual(received(counts), 100000)

    def test_streak_that_the_stream_never_reaches_keeps_copying(self):
        counts = self.moved(len(MODES) + 1, 0, TRACED)
        self.assertEqual(sum(counts['splice']), 0)

    def test_option_b_bounds_a_copying_read(self):
        counts = self.moved(len(MODES), 0, 2 << 20)
        self.assertLessEqual(max(counts['recvfrom'] + counts['recvmsg'] + counts['read'] + [0]), 4096)
        self.assertGreaterEqual(received(counts), 2 << 20)


if __name__ == '__main__':
    rig.main()
