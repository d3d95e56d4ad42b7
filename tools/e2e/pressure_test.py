#!/usr/bin/env python3
"""Running short of descriptors, ports and slots, and what connections leave behind."""

import random
import resource
import socket
import time

import rig
import peers
from peers import FIN, RST


class Short(rig.Case):
    """Something has run out: what runs goes on, what waits is served as soon as there is room."""

    def test_out_of_descriptors_nothing_spins_and_old_tunnels_go_on(self):
        with peers.Origin() as origin:
            config = 'log\n%smaxconn 2000\nbacklog 1000\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (
                rig.RECORD_FORMAT, origin.port)
            with rig.Sluice(config) as proxy:
                old = peers.connect(proxy.address())
                peers.check_echo(old)
                used = max(int(fd) for fd in rig.os.listdir('/proc/%d/fd' % proxy.pid)) + 1
                hard = resource.prlimit(proxy.pid, resource.RLIMIT_NOFILE)[1]
                resource.prlimit(proxy.pid, resource.RLIMIT_NOFILE, (used + 64, hard))
                clients = []
                for _ in range(300):
                    sock = socket.socket()
                    sock.setblocking(False)
                    sock.connect_ex(proxy.address())
                    clients.append(sock)
                time.sleep(1)
                cpu, memory, lines = peers.cpu_seconds(proxy.pid), peers.resident_bytes(proxy.pid), proxy.stderr.count()
                watched = rig.size(4, 10)
                time.sleep(watched)
                self.assertLess(peers.cpu_seconds(proxy.pid) - cpu, 0.1 * watched, 'CPU seconds in %d s' % watched)
                self.assertLessEqual(proxy.stderr.count() - lines, 2 * watched, 'lines of complaint')
                if not rig.sanitized():
                    self.assertLess(peers.resident_bytes(proxy.pid) - memory, 1 << 20)
                peers.check_echo(old, b'the old tunnel')
                self.assertTrue(proxy.stderr.matching(r'(?i)descriptor|open files|EMFILE|nofile'),
                                'nobody was told that descriptors are short')
                for sock in clients[:270]:
                    peers.abort(sock)
                rig.eventually(lambda: self._served(peers.connect(proxy.address())), 'a new client is served', 3)
                # Whoever waited in the queue is served. While 270 sessions are taken down at once, the proxy may take
                # some before it has the second descriptor for them: those are shed at once, and the log says why.
                served = sum(self._served(sock) for sock in clients[270:])
                shed = 30 - served
                self.assertLessEqual(shed, 10)
                if shed:
                    rig.eventually(lambda: len(proxy.stdout.matching('no_descriptors')) >= shed, 'the log says why')
                peers.check_echo(old, b'the old tunnel')
                old.close()

    def _served(self, sock):
        sock.setblocking(True)
        sock.settimeout(5)
        try:
            peers.check_echo(sock, b'waited')
        except (EOFError, ConnectionResetError):
            return False
        finally:
            sock.close()
        return True

    def test_source_address_does_not_use_up_one_port_for_all_destinations(self):
        path = '/proc/sys/net/ipv4/ip_local_port_range'
        try:
            with open(path, 'r+', encoding='ascii') as knob:
                before = knob.read()
                knob.seek(0)
                knob.write('40000 40099')
        except OSError as error:
            self.skipTest('NOT RUN: %s cannot be set here: %s' % (path, error))
        try:
            self._few_ports()
        finally:
            with open(path, 'w', encoding='ascii') as knob:
                knob.write(before)

    def _few_ports(self):
        origins = [peers.Origin(address=('127.0.0.1', 21001 + i)) for i in range(3)]
        config = 'log\n' + rig.RECORD_FORMAT + 'maxconn 1000\nbacklog 500\nexternal 127.0.0.2\n'
        for i, origin in enumerate(origins):
            config += 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (22001 + i, origin.port)
        with rig.Sluice(config) as proxy:
            source_ports = rig.itertools.count(23000)

            def tunnel(ordinal):  # Our own ends must not take the few ports.
                sock = peers.connect(proxy.address(ordinal), source=('127.0.0.9', next(source_ports)))
                sock.sendall(b'through')
                return sock

            socks = [tunnel(i % 3) for i in range(270)]
            for sock in socks:
                self.assertEqual(peers.receive_exactly(sock, 7), b'through')
            self.assertEqual({peer[0] for origin in origins for peer in origin.peers}, {'127.0.0.2'})
            peers.close_all(socks)

            def none_left():
                return not any(s['state'] == 'ESTABLISHED' for s in peers.tcp_sockets())

            rig.eventually(none_left, 'all tunnels are closed')
            time.sleep(1.1)  # The kernel reuses a port in TIME_WAIT on loopback after a second.
            socks, served = [tunnel(0) for _ in range(150)], 0
            for sock in socks:
                try:
                    served += peers.receive_exactly(sock, 7) == b'through'
                except (EOFError, ConnectionResetError):
                    pass  # Closed: an orderly refusal of a relay.
            self.assertGreaterEqual(served, 90)
            self.assertLessEqual(served, 100)
            peers.close_all(socks)
            rig.eventually(none_left, 'all tunnels are closed')
            time.sleep(1.1)
            for _ in range(20):
                sock = tunnel(0)
                self.assertEqual(peers.receive_exactly(sock, 7), b'through')
                sock.close()
            proxy.stdout.wait_for('no_local_port')
        for origin in origins:
            origin.close()

    def test_one_client_more_than_maxconn_waits_and_is_served_when_one_leaves(self):
        with peers.Origin() as origin:
            config = 'maxconn 5\nbacklog 100\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port
            with rig.Sluice(config) as proxy:
                socks = [peers.connect(proxy.address()) for _ in range(5)]
                for sock in socks:
                    peers.check_echo(sock)
                waiting = [peers.connect(proxy.address()) for _ in range(3)]
                for sock in waiting:
                    sock.sendall(b'my turn?')
                for sock in waiting:
                    self.assertFalse(peers.readable_within(sock, 0.2), 'served above maxconn')
                self.assertEqual(origin.accepted, 5)
                for i, sock in enumerate(waiting):
                    socks[i].close()
                answered = rig.eventually(lambda: [s for s in waiting if peers.readable_within(s, 0)] == waiting,
                                          'those who waited are served', 5)
                self.assertTrue(answered)
                for sock in waiting:
                    self.assertEqual(peers.receive_exactly(sock, 8), b'my turn?')
                proxy.stderr.wait_for(r'(?i)maxconn|5/5', 3)
                peers.close_all(socks + waiting)
                # Slots are not lost: three times the limit, one after the other.
                for _ in range(15):
                    peers.tunnel_works(proxy.address())


class Loops(rig.Case):
    """A relay that is told to connect to itself."""

    def _bounded(self, config, ports):
        with rig.Sluice('log\n' + rig.RECORD_FORMAT + config) as proxy:
            before = peers.descriptor_count(proxy.pid)
            for ordinal in range(ports):
                started = time.monotonic()
                data, ending = peers.answer_of(proxy.address(ordinal), b'round and round', timeout=5)
                self.assertLess(peers.descriptor_count(proxy.pid) - before, 10)
                self.assertIn(ending, (FIN, RST))
                self.assertEqual(data, b'')
                self.assertLess(time.monotonic() - started, 2)
            self.assertTrue(proxy.stdout.wait_for('loop_to_self'))

    def test_relay_to_its_own_port_is_refused(self):
        port = peers.free_port()
        self._bounded('tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (port, port), 1)

    def test_relay_on_any_address_to_its_own_port_is_refused(self):
        port = peers.free_port()
        self._bounded('tcppm -i0.0.0.0 %d 127.0.0.3 %d\n' % (port, port), 1)

    def test_relay_to_its_own_port_by_name_is_refused(self):
        port = peers.free_port()
        self._bounded('tcppm -i0.0.0.0 %d localhost %d\n' % (port, port), 1)

    def test_relay_to_its_own_ipv6_port_is_refused(self):
        port = peers.free_port('::1')
        self._bounded('tcppm -i::1 %d ::1 %d\n' % (port, port), 1)

    def test_two_relays_in_a_circle_are_refused(self):
        one = peers.free_port()
        other = peers.free_port()
        self._bounded('tcppm -i127.0.0.1 %d 127.0.0.1 %d\ntcppm -i127.0.0.1 %d 127.0.0.1 %d\n' %
                      (one, other, other, one), 2)


@rig.expand
class Remains(rig.Case):
    """Sessions that fail in every way leave nothing behind."""

    ROUNDS = rig.size(200, 2000)

    @rig.over(refused='refused', unresolvable='unresolvable', aborted_while_connecting='black hole',
              connect_timeout='connect timeout', aborted_in_the_middle='middle', aborted_before_a_byte='early',
              origin_aborts='origin aborts')
    def test_nothing_is_left_of(self, how):
        def misbehave(sock, _):
            sock.recv(10)
            if how == 'origin aborts':
                peers.abort(sock)
            else:
                peers.receive_all(sock)

        origin, hole, refused = peers.Origin(misbehave), peers.BlackHole(), peers.free_port()
        host, port = {'refused': ('127.0.0.1', refused), 'unresolvable': ('no-such-host.invalid', 80),
                      'black hole': hole.address, 'connect timeout': hole.address}.get(how, origin.address)
        connect_seconds = 2 if how == 'connect timeout' else 15
        config = 'log\n%stimeouts 1 5 30 60 180 1800 1 60 %d\nmaxconn 5000\nbacklog 4000\nnserver 127.0.0.1:1\n' % (
            rig.RECORD_FORMAT, connect_seconds)
        config += 'tcppm -i127.0.0.1 0 %s %d\n' % (host, port)
        with rig.Sluice(config) as proxy:
            self._round(proxy, how, 40)
            rig.eventually(lambda: self._quiet(proxy), 'the first sessions are gone', 20)
            descriptors, memory = peers.descriptor_count(proxy.pid), peers.resident_bytes(proxy.pid)
            for _ in range(self.ROUNDS // 100):
                self._round(proxy, how, 100)
            rig.eventually(lambda: peers.descriptor_count(proxy.pid) <= descriptors + 2,
                           lambda: 'descriptors are back: %d, were %d' %
                           (peers.descriptor_count(proxy.pid), descriptors), 20)
            if not rig.sanitized():
                self.assertLess(peers.resident_bytes(proxy.pid) - memory, 5 << 20)
            proxy.stdout.wait_for(' ', 10, count=self.ROUNDS + 40)  # One record each.
        origin.close()
        hole.close()

    def _quiet(self, proxy):
        port = proxy.address()[1]
        return not any(s['state'] in ('ESTABLISHED', 'SYN_SENT', 'CLOSE_WAIT') and
                       port in (s['local_port'], s['remote_port']) for s in peers.tcp_sockets())

    def _round(self, proxy, how, count):
        if how in ('refused', 'unresolvable', 'connect timeout'):
            peers.together(lambda _: self.assertIn(peers.answer_of(proxy.address(), timeout=20)[1], (FIN, RST)),
                           range(count))
            return
        socks = [peers.connect(proxy.address(), timeout=20) for _ in range(count)]
        for sock in socks:
            if how != 'early':
                try:
                    sock.sendall(b'0123456789')
                except OSError:
                    pass
            if how == 'origin aborts':
                self.assertIn(peers.receive_all(sock)[1], (FIN, RST))
        if how == 'black hole':
            time.sleep(0.2)
        for sock in socks:
            peers.abort(sock)


class Waiting(rig.Case):
    """A destination that does not answer holds nobody else."""

    def test_connect_has_its_own_deadline(self):
        with peers.BlackHole() as hole:
            config = 'log\n%stimeouts 1 5 30 60 180 1800 15 60 2\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (
                rig.RECORD_FORMAT, hole.port)
            with rig.Sluice(config) as proxy:
                started = time.monotonic()
                with peers.connect(proxy.address(), timeout=10) as sock:
                    self.assertEqual(peers.receive_all(sock)[0], b'')
                took = time.monotonic() - started
                self.assertGreater(took, 1.7)
                self.assertLess(took, 4)
                record = rig.record_fields(proxy.stdout.wait_for(r' 00013 '))
                self.assertEqual((record['result'], record['errno']), ('connect_timeout', 'ETIMEDOUT'))
                self.assertEqual(record['upstream'], '127.0.0.1:%d' % hole.port)

    def test_client_that_drips_while_the_connect_hangs_does_not_prolong_it(self):
        with peers.BlackHole() as hole:
            config = 'timeouts 1 5 30 60 180 1800 15 60 2\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % hole.port
            with rig.Sluice(config) as proxy, peers.connect(proxy.address()) as sock:
                started = time.monotonic()
                with self.assertRaises(OSError):
                    while time.monotonic() - started < 8:
                        sock.sendall(b'.')
                        time.sleep(0.1)
                self.assertLess(time.monotonic() - started, 5)


class Idle(rig.Case):

    COUNT = rig.size(1500, 9000)

    def test_idle_connections_cost_little_memory_and_no_thread(self):
        self.need_plain_build('memory of a connection')
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        if hard < 2 * self.COUNT + 200:
            self.skipTest('NOT RUN: %d descriptors are not enough for %d connections' % (hard, self.COUNT))
        origin = peers.HoldingOrigin()
        config = 'maxconn 20000\nbacklog 4096\ntimeouts 1 5 30 60 900 1800\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (
            origin.port)
        with rig.Sluice(config) as proxy:
            warm = self._open(proxy, origin, 200)
            before = peers.anonymous_bytes(proxy.pid)
            threads = peers.thread_count(proxy.pid)
            socks = self._open(proxy, origin, self.COUNT)
            grown = peers.anonymous_bytes(proxy.pid) - before
            print('%d idle connections: %.0f bytes of user memory each' % (self.COUNT, grown / self.COUNT))
            self.assertLessEqual(peers.thread_count(proxy.pid), threads + 2)
            self.assertLess(grown / self.COUNT, rig.size(900, 700), 'bytes of user memory a connection')
            cpu = peers.cpu_seconds(proxy.pid)
            time.sleep(2)
            self.assertLess(peers.cpu_seconds(proxy.pid) - cpu, 0.1, 'CPU seconds of idle connections in 2 s')
            # They all still work: each carries its own number to the origin.
            chosen = random.Random(3).sample(range(self.COUNT), 200)
            for i in chosen:
                socks[i].sendall(b'%08d' % i)
            got = set()

            def collect():
                for sock in origin.held:
                    try:
                        data = sock.recv(8)
                    except BlockingIOError:
                        continue
                    got.add(int(data))
                return got == set(chosen)

            rig.eventually(collect, lambda: '%d of 200 arrived' % len(got), 20)
            peers.close_all(warm + socks)
        origin.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def _open(self, proxy, origin, count):
        """Opens connections that have moved a few bytes, and waits until all have reached the origin."""
        wanted = len(origin.held) + count
        socks = []
        for i in range(count):
            sock = peers.connect(proxy.address())
            socks.append(sock)
            if i % 100 == 99:
                rig.eventually(lambda n=wanted - count + i + 1: len(origin.held) >= n, 'connections reach the origin')
        rig.eventually(lambda: len(origin.held) >= wanted, 'all connections reach the origin')
        for upstream in origin.held[wanted - count:]:
            upstream.sendall(b'hello')
        for sock in socks:
            peers.receive_exactly(sock, 5)
        return socks


if __name__ == '__main__':
    rig.main()
