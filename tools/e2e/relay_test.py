#!/usr/bin/env python3
"""What a TCP relay must never do to a stream: over every kind of address, copied and spliced."""

import os
import random
import statistics
import struct
import threading
import time

import rig
import peers
from peers import FIN, RST

HALF_CLOSED_SECONDS, IDLE_SECONDS = 3, 2

# name -> (options, listen on, target). A path is a listener of the one proxy that all cases share.
PATHS = {
    'v4_copied': ('-s0', 'v4', 'v4'),
    'v4_spliced': ('-s3', 'v4', 'v4'),
    'v4_automatic': ('-s7', 'v4', 'v4'),
    'v6_copied': ('-s0', 'v6', 'v6'),
    'v6_automatic': ('-s7', 'v6', 'v6'),
    'v4_to_unix_copied': ('-s0', 'v4', 'unix'),
    'v4_to_unix_spliced': ('-s3', 'v4', 'unix'),
    'unix_to_v4_copied': ('-s0', 'unix', 'v4'),
    'unix_to_v4_spliced': ('-s3', 'unix', 'v4'),
    'one_close_ends_both': ('-s7 -C', 'v4', 'v4'),
    'idle_copied': ('-s0', 'v4', 'v4'),
    'idle_spliced': ('-s3', 'v4', 'v4'),
}
EVERY = {name: name for name in PATHS if '_to_' in name or name.startswith('v')}
PLAIN = {name: name for name in ('v4_copied', 'v4_spliced', 'v4_automatic')}


class Setup(rig.Case):
    """One proxy and one origin of each kind of address for all cases of this file."""

    @classmethod
    def setUpClass(cls):
        folder = rig.scratch_folder()
        cls.origins = {
            'v4': peers.Origin(),
            'v6': peers.Origin(address=('::1', 0)),
            'unix': peers.Origin(address=os.path.join(folder, 'origin')),
        }
        lines = ['maxconn 5000', 'timeouts 1 5 30 60 %d 1800' % HALF_CLOSED_SECONDS]
        for number, (name, (options, listen, target)) in enumerate(PATHS.items()):
            if name == 'idle_copied':
                lines.append('timeouts 1 5 30 60 %d %d' % (HALF_CLOSED_SECONDS, IDLE_SECONDS))
            at = {'v4': '-i127.0.0.1', 'v6': '-i::1', 'unix': '-iunix:{folder}/listener%d' % number}[listen]
            origin = cls.origins[target]
            host, port = ('unix:' + origin.address, 1) if target == 'unix' else origin.address
            lines.append('tcppm %s %s 0 %s %d' % (options, at, host, port))
        cls.proxy = rig.Sluice('\n'.join(lines) + '\n', folder=folder)

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        for origin in cls.origins.values():
            origin.close()

    def path(self, name, handler=None):
        """(address of the relay, its origin), the origin answering with `handler`."""
        origin = self.origins[PATHS[name][2]]
        origin.forget(handler)
        return self.proxy.address(list(PATHS).index(name)), origin

    def tearDown(self):
        self.assertTrue(self.proxy.alive(), 'the proxy died')


@rig.expand
class Ends(Setup):
    """How the end of a stream travels."""

    @rig.over(**EVERY)
    def test_answer_after_the_client_has_finished_sending(self, name):
        address, _ = self.path(name, peers.count_upload)
        with peers.connect(address) as sock:
            sock.sendall(b'x' * 100000)
            peers.finish_sending(sock)
            self.assertEqual(peers.receive_all(sock), (b'FIN 100000', FIN))

    @rig.over(**EVERY)
    def test_upload_after_the_origin_has_finished_sending(self, name):

        def handler(sock, origin):
            sock.sendall(b'that is all')
            peers.finish_sending(sock)
            origin.note(peers.receive_all(sock))

        address, origin = self.path(name, handler)
        with peers.connect(address) as sock:
            self.assertEqual(peers.receive_all(sock), (b'that is all', FIN))
            for _ in range(10):
                sock.sendall(b'y' * 10000)
                time.sleep(0.01)
            peers.finish_sending(sock)
            data, ending = origin.wait_seen()[0]
        self.assertEqual((len(data), ending), (100000, FIN))

    @rig.over(**PLAIN)
    def test_end_without_a_byte_travels_both_ways(self, name):
        address, origin = self.path(name, peers.sink)
        with peers.connect(address) as sock:
            peers.finish_sending(sock)
            self.assertEqual(peers.receive_all(sock), (b'', FIN))
        self.assertEqual(origin.wait_seen()[0], (b'', FIN))

    def test_last_bytes_and_end_reach_a_reader_that_slept(self):
        data = peers.payload(5000000)
        for name in ('v4_copied', 'v6_automatic', 'v4_to_unix_spliced'):
            self.path(name, peers.source(data))

        def one(item):
            address, _ = item
            with peers.connect(address, receive_buffer=4096) as sock:
                time.sleep(2)
                started = time.monotonic()
                received, ending = peers.receive_all(sock)
                self.assertEqual((len(received), ending), (len(data), FIN))
                self.assertEqual(received, data)
                self.assertLess(time.monotonic() - started, 15)

        runs = rig.size(2, 50)
        addresses = [self.proxy.address(list(PATHS).index(name)) for name in EVERY]
        for _ in range(rig.size(1, 5)):
            peers.together(one, [(address, i) for address in addresses for i in range(max(1, runs // 5))])

    @rig.over(**PLAIN)
    def test_whole_answer_arrives_though_the_origin_aborts_after_it(self, name):

        def handler(sock, _):
            request = peers.receive_exactly(sock, 2)
            sock.sendall(b'R' * (1000 if request == b's\n' else 200000))
            time.sleep(0.3)
            peers.abort(sock)

        address, _ = self.path(name, handler)

        def one(item):
            request, expected, pause = item[:3]
            with peers.connect(address, receive_buffer=8192 if pause else 0) as sock:
                sock.sendall(request)
                time.sleep(pause)
                data, ending = peers.receive_all(sock)
                self.assertIn(ending, (FIN, RST))
                self.assertEqual(len(data), expected)

        peers.together(one, [(b's\n', 1000, 0, i) for i in range(rig.size(10, 100))] +
                 [(b'l\n', 200000, 1, i) for i in range(rig.size(10, 100))])

    @rig.over(**PLAIN)
    def test_abort_of_the_client_reaches_the_origin(self, name):
        address, origin = self.path(name, peers.sink)
        sock = peers.connect(address)
        sock.sendall(b'half a requ')
        rig.eventually(lambda: origin.accepted, 'the origin saw the connection')
        time.sleep(0.05)
        peers.abort(sock)
        data, ending = origin.wait_seen(1, 5)[0]
        self.assertIn((data, ending), ((b'half a requ', RST), (b'half a requ', FIN)))

    def test_refused_destination_closes_the_client_at_once(self):
        port = peers.free_port()
        with rig.Sluice('tcppm -i127.0.0.1 0 127.0.0.1 %d\n' % port) as proxy:
            for _ in range(5):
                data, ending = peers.answer_of(proxy.address(), timeout=3)
                self.assertEqual(data, b'')
                self.assertIn(ending, (FIN, RST))

    def test_option_C_ends_both_directions_with_the_first(self):
        address, origin = self.path('one_close_ends_both', peers.sink)
        with peers.connect(address, timeout=5) as sock:
            sock.sendall(b'z' * 50000)
            peers.finish_sending(sock)
            data, ending = origin.wait_seen()[0]
            self.assertEqual((len(data), ending), (50000, FIN))
            self.assertIn(peers.receive_all(sock)[1], (FIN, RST))

        def handler(sock, origin):  # The origin ends first; what it had sent arrives, then both ends close.
            sock.sendall(b'w' * 300000)
            peers.finish_sending(sock)
            origin.note(peers.receive_all(sock)[1])

        address, origin = self.path('one_close_ends_both', handler)
        with peers.connect(address, timeout=5) as sock:
            data, ending = peers.receive_all(sock)
            self.assertEqual((len(data), ending), (300000, FIN))
            self.assertIn(origin.wait_seen(1, 5)[0], (FIN, RST))


@rig.expand
class Streams(Setup):
    """What happens to the bytes on the way."""

    @rig.over(v4_copied=('v4_copied', 100, 60000), v4_spliced=('v4_spliced', 100, 60000),
              v4_automatic=('v4_automatic', 100, 60000), single_bytes_copied=('v4_copied', 1, 60000),
              single_bytes_spliced=('v4_spliced', 1, 60000))
    def test_thousands_of_tiny_segments_reach_a_slow_reader(self, variant):
        name, length, count = variant
        expected = b''.join(bytes([i & 255]) * length for i in range(count))

        def handler(sock, _):
            for i in range(count):
                sock.sendall(bytes([i & 255]) * length)
            peers.finish_sending(sock)
            peers.receive_all(sock)

        address, _ = self.path(name, handler)
        with peers.connect(address, receive_buffer=4096) as sock:
            time.sleep(1)
            started = time.monotonic()
            data, ending = peers.receive_all(sock)
            self.assertEqual((len(data), ending), (len(expected), FIN))
            self.assertEqual(data, expected)
            self.assertLess(time.monotonic() - started, 10)

    @rig.over(**EVERY)
    def test_small_messages_are_not_held_back(self, name):
        address, _ = self.path(name, peers.echo)
        trips = []
        with peers.connect(address) as sock:
            for i in range(50):
                started = time.monotonic()
                peers.check_echo(sock, struct.pack('>Q', i))
                trips.append(time.monotonic() - started)
        # A corked socket stalls every trip by 40 or 200 ms; a busy machine only a few.
        self.assertLess(statistics.median(trips), 0.02)
        self.assertLess(statistics.quantiles(trips, n=10)[8], 0.1)

    @rig.over(**PLAIN)
    def test_banner_of_an_origin_that_speaks_first_comes_at_once(self, name):

        def handler(sock, _):
            sock.sendall(b'220 ready\r\n')
            peers.receive_all(sock)

        address, _ = self.path(name, handler)
        waits = []
        for _ in range(9):
            started = time.monotonic()
            with peers.connect(address) as sock:
                peers.receive_exactly(sock, 11)
            waits.append(time.monotonic() - started)
        self.assertLess(statistics.median(waits), 0.05)

    @rig.over(**PLAIN)
    def test_both_directions_at_once_with_faltering_readers(self, name):
        down, up = peers.payload(rig.size(6 << 20, 64 << 20), 1), peers.payload(rig.size(6 << 20, 64 << 20), 2)

        def faltering(seed):
            dice = random.Random(seed)
            return lambda: time.sleep(dice.choice((0, 0, 0, 0, 0, 0, 0, 0.002, 0.01)))

        def both(sock, outgoing, seed):
            sender = threading.Thread(target=lambda: (sock.sendall(outgoing), peers.finish_sending(sock)), daemon=True)
            sender.start()
            received, ending = peers.receive_all(sock, pause=faltering(seed))
            sender.join(30)
            return received, ending

        address, origin = self.path(name, lambda sock, origin: origin.note(both(sock, down, 1)))
        for _ in range(rig.size(1, 20)):
            origin.forget()
            with peers.connect(address, timeout=30, receive_buffer=32768) as sock:
                received, ending = both(sock, up, 2)
            self.assertEqual((len(received), ending), (len(down), FIN))
            self.assertEqual(received, down)
            received, ending = origin.wait_seen(1, 30)[0]
            self.assertEqual((len(received), ending), (len(up), FIN))
            self.assertEqual(received, up)

    @rig.over(**PLAIN)
    def test_rest_of_an_aborted_download_never_reaches_another_client(self, name):

        def handler(sock, _):
            kind = peers.receive_exactly(sock, 1)
            if kind == b'e':
                peers.echo(sock, None)
                return
            for i in range(100000):
                sock.sendall(b'A%06d|' % i * 1000)

        address, _ = self.path(name, handler)
        dice = random.Random(7)
        for i in range(rig.size(60, 500)):
            victim = peers.connect(address, receive_buffer=8192)
            victim.sendall(b'd')
            victim.recv(dice.randrange(1, 8000))
            peers.abort(victim)
            with peers.connect(address) as sock:
                token = b'e' + b'token %d of a stranger' % i
                sock.sendall(token)
                self.assertEqual(peers.receive_exactly(sock, len(token) - 1), token[1:])

    @rig.over(**PLAIN)
    @rig.seconds(240)
    def test_no_session_ever_sees_a_byte_of_another(self, name):
        address, _ = self.path(name, peers.echo)
        peers.tunnel_works(address)
        rig.eventually(lambda: not self._established(address), 'earlier sessions are gone', 20)
        before = peers.descriptor_count(self.proxy.pid)
        until = time.monotonic() + rig.size(4, 60)

        def churn(seed):
            dice = random.Random(seed)
            while time.monotonic() < until:
                sock = peers.connect(address)
                token = dice.randbytes(16)
                for _ in range(dice.randrange(1, rig.size(30, 200))):
                    peers.check_echo(sock, token)
                how = dice.randrange(3)
                if how == 2:
                    sock.setblocking(False)
                    try:
                        sock.send(token * 10000)
                    except BlockingIOError:
                        pass
                if how:
                    peers.abort(sock)
                else:
                    sock.close()

        peers.together(churn, range(8))
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before + 16,
                       lambda: 'descriptors are back: %d, were %d' %
                       (peers.descriptor_count(self.proxy.pid), before), 20)
        peers.tunnel_works(address)

    def _established(self, address):
        return peers.tcp_states(address[1]).get('ESTABLISHED', 0)

    @rig.over(**PLAIN)
    def test_clients_that_abort_downloads_do_not_end_the_process(self, name):
        data = bytes(10 << 20)

        address, _ = self.path(name, peers.source(data))
        for _ in range(rig.size(60, 500)):
            sock = peers.connect(address, receive_buffer=65536)
            peers.receive_exactly(sock, 100000)
            peers.abort(sock)
            self.assertTrue(self.proxy.alive())
        self.path(name, peers.echo)
        peers.tunnel_works(address)
        self.assertTrue(self.proxy.alive())


@rig.expand
class Pressure(Setup):
    """Slow and vanished ends must cost nothing that grows."""

    def _stalled(self, name, count):
        """`count` clients that read nothing, of an origin that sends for ever and says how much it got rid of."""

        def handler(sock, origin):
            sent = 0
            sock.settimeout(60)
            try:
                while True:
                    sent += sock.send(bytes(65536))
                    origin.rid[id(sock)] = sent
            except OSError:
                pass

        address, origin = self.path(name, handler)
        origin.rid = {}
        clients = [peers.connect(address, receive_buffer=4096) for _ in range(count)]
        rig.eventually(lambda: len(origin.rid) == count, 'all sessions began')
        total = [-1]

        def settled():  # All buffers on the way are full.
            now = sum(origin.rid.values())
            same, total[0] = now == total[0], now
            time.sleep(0.3)
            return same

        rig.eventually(settled, 'the origin is blocked', 20)
        return clients, origin

    @rig.over(**PLAIN)
    def test_stalled_reader_costs_no_cpu(self, name):
        for count in (1, rig.size(20, 100)):
            clients, _ = self._stalled(name, count)
            before = peers.cpu_seconds(self.proxy.pid)
            time.sleep(rig.size(2, 5))
            spent = peers.cpu_seconds(self.proxy.pid) - before
            peers.close_all(clients)
            self.assertLess(spent, rig.size(0.15, 0.25), 'CPU seconds with %d stalled readers' % count)

    @rig.over(**PLAIN)
    def test_stalled_readers_cost_bounded_memory(self, name):
        self.need_plain_build('resident memory')
        count = rig.size(20, 50)
        before = peers.resident_bytes(self.proxy.pid)
        clients, origin = self._stalled(name, count)
        grown = peers.resident_bytes(self.proxy.pid) - before
        most = max(origin.rid.values())
        peers.close_all(clients)
        print('%s: %.1f MB of kernel buffers, %.1f MB of memory in all' % (name, most / 1e6, grown / 1e6))
        self.assertLess(grown, 32 << 20, 'bytes of resident memory for %d stalled readers' % count)
        # What the kernel buffers of the origin and of both sides of the proxy hold at most, and 1 MB of ours.
        limit = peers.most_buffered('rmem') + 2 * peers.most_buffered('wmem') + (1 << 20)
        self.assertLess(most, limit, 'bytes that one origin got rid of')

    @rig.over(client='client', origin='origin')
    def test_half_closed_session_whose_other_side_vanished_ends(self, who):
        """The side that is still open neither reads nor writes: only a timer can end this."""
        gone = threading.Event()

        def handler(sock, _):
            if who == 'origin':
                peers.finish_sending(sock)
            gone.wait(60)

        address, origin = self.path('v4_automatic', handler)
        before = peers.descriptor_count(self.proxy.pid)
        count = rig.size(50, 200)
        clients = [peers.connect(address) for _ in range(count)]
        try:
            for sock in clients:
                sock.sendall(b'0123456789')
                if who == 'client':
                    peers.finish_sending(sock)
            rig.eventually(lambda: origin.accepted == count, 'all reached the origin')

            def ended():
                # Our own ends of these sockets are in the table as well: only the proxy's side counts.
                return peers.descriptor_count(self.proxy.pid) <= before + 4

            rig.eventually(ended, lambda: 'descriptors are back: %d, were %d; %s' %
                           (peers.descriptor_count(self.proxy.pid), before, peers.tcp_states(address[1])),
                           HALF_CLOSED_SECONDS + 8)
        finally:
            gone.set()
            peers.close_all(clients)

    @rig.over(idle_copied='idle_copied', idle_spliced='idle_spliced')
    def test_idle_session_ends_for_both_sides(self, name):
        address, origin = self.path(name, lambda sock, origin: origin.note((peers.receive_all(sock), time.monotonic())))
        with peers.connect(address, timeout=IDLE_SECONDS + 4) as sock:
            started = time.monotonic()
            data, ending = peers.receive_all(sock)
            self.assertEqual(data, b'')
            self.assertIn(ending, (FIN, RST))
            self.assertGreater(time.monotonic() - started, IDLE_SECONDS - 0.3)
            (data, ending), _ = origin.wait_seen(1, 3)[0]
            self.assertEqual(data, b'')
            self.assertIn(ending, (FIN, RST))

    def test_traffic_in_one_direction_keeps_a_session_alive(self):
        address, origin = self.path('idle_spliced', peers.sink)
        with peers.connect(address) as sock:
            for _ in range(int(IDLE_SECONDS * 2 / 0.25)):
                sock.sendall(b'tick')
                time.sleep(0.25)
        data, ending = origin.wait_seen()[0]
        self.assertEqual((len(data), ending), (int(IDLE_SECONDS * 2 / 0.25) * 4, FIN))


if __name__ == '__main__':
    rig.main()
