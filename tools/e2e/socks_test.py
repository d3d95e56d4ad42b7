#!/usr/bin/env python3
"""`socks` as its clients see it: the handshake in any pieces, a whole reply for every request, and what is refused."""

import hashlib
import os
import subprocess
import threading
import time

import rig
import peers
import socks_peer as socks
from name_server import NameServer
from peers import FIN, RST

LOG = 'log\nlogformat "L%p %E %U %C %R:%r %T"\n'
# First byte 2 s, handshake 3 s, connect 2 s, DNS 2 s, LINGER 1 s.
QUICK = 'timeouts 1 2 3 60 180 1800 2 60 2 5 1\n'


class Shared(rig.Case):
    """One proxy for the cases of a class, with an origin that echoes and a name server that knows few names."""

    OPTIONS = ''

    @classmethod
    def setUpClass(cls):
        cls.names = NameServer({'origin.test': ['127.0.0.1']})
        cls.origin = peers.Origin()
        cls.origin6 = peers.Origin(address=('::1', 0))
        cls.proxy = rig.Sluice(QUICK + LOG + 'nserver %s\nsocks -p0 -i127.0.0.1 %s\n' % (cls.names.where, cls.OPTIONS))
        cls.address = cls.proxy.address()

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.origin.close()
        cls.origin6.close()
        cls.names.__exit__(None, None, None)

    def setUp(self):
        self.origin.forget(peers.echo)
        self.lines = self.proxy.stdout.count()

    def tearDown(self):
        self.assertTrue(self.proxy.alive(), 'the proxy died')

    def record(self, pattern):
        return self.proxy.stdout.wait_for(pattern, after=self.lines)


class Pieces(Shared):
    """The handshake is a stream, whatever segments it comes in."""

    def _dripped(self, parts):
        """Sends each part byte by byte, expecting the answer behind it."""
        with peers.connect(self.address) as sock:
            for data, answer in parts:
                socks.drip(sock, data)
                self.assertEqual(peers.receive_exactly(sock, len(answer)), answer)
            if parts[0][0][0] == 5:
                self.assertEqual(socks.reply5(sock)[0], 0)
            else:
                self.assertEqual(socks.reply4(sock)[0], 90)
            peers.check_echo(sock)

    def test_socks5_byte_by_byte(self):
        self._dripped([(socks.NO_AUTH, b'\x05\x00'), (socks.request5(*self.origin.address), b'')])

    def test_socks5_with_a_password_byte_by_byte(self):
        self._dripped([(socks.PASSWORD, b'\x05\x02'), (socks.password(b'alice', b'secret'), b'\x01\x00'),
                       (socks.request5(b'origin.test', self.origin.port), b'')])

    def test_socks4_byte_by_byte(self):
        self._dripped([(socks.request4('127.0.0.1', self.origin.port, b'u' * 200), b'')])

    def test_socks4a_byte_by_byte(self):
        self._dripped([(socks.request4(b'origin.test', self.origin.port, b'u' * 200), b'')])

    def test_all_at_once_with_the_first_payload(self):
        stream = socks.PASSWORD + socks.password(b'bob', b'x') + socks.request5(*self.origin.address) + b'payload'
        with peers.connect(self.address) as sock:
            sock.sendall(stream)
            self.assertEqual(peers.receive_exactly(sock, 4), b'\x05\x02\x01\x00')
            self.assertEqual(socks.reply5(sock)[0], 0)
            self.assertEqual(peers.receive_exactly(sock, 7), b'payload')
            peers.check_echo(sock)
        self.record(r'^\d+ 00000 bob 127\.0\.0\.1 127\.0\.0\.1:%d CONNECT 127\.0\.0\.1:%d$' %
                    (self.origin.port, self.origin.port))

    def test_payload_behind_socks4_is_the_origins(self):
        with peers.connect(self.address) as sock:
            sock.sendall(socks.request4('127.0.0.1', self.origin.port) + b'x' * 30000)
            self.assertEqual(socks.reply4(sock)[0], 90)
            self.assertEqual(peers.receive_exactly(sock, 30000), b'x' * 30000)

    def test_cut_anywhere(self):
        stream = socks.NO_AUTH + socks.request5(b'origin.test', self.origin.port) + b'payload'
        for cut in range(1, len(stream)):
            with peers.connect(self.address) as sock:
                sock.sendall(stream[:cut])
                time.sleep(0.002)
                sock.sendall(stream[cut:])
                self.assertEqual(peers.receive_exactly(sock, 2), b'\x05\x00')
                self.assertEqual(socks.reply5(sock)[0], 0, cut)
                self.assertEqual(peers.receive_exactly(sock, 7), b'payload')


class Replies(Shared):
    """Every request gets a whole reply that says why, then the end."""

    def _refused(self, data, answer, code=None):
        """`data` behind a greeting is answered so and the connection ended."""
        with socks.greeted(self.address) as sock:
            sock.sendall(data)
            self.assertEqual(peers.receive_all(sock), (answer, FIN))
        if code is not None:
            self.record(r'^\d+ %05d ' % code)

    @staticmethod
    def _reply(code):
        return bytes([5, code, 0, 1]) + bytes(6)

    def test_bound_address_is_that_of_the_outgoing_connection(self):
        sock, code, bound = socks.ask(self.address, *self.origin.address)
        with sock:
            self.assertEqual(code, 0)
            peers.check_echo(sock)
            self.assertEqual(self.origin.peers[0], bound)

    def test_ipv6(self):
        for host in ('::1', b'::1', b'[::1]'):
            sock, code, bound = socks.ask(self.address, host, self.origin6.port)
            with sock:
                self.assertEqual((code, bound[0]), (0, '::1'))
                peers.check_echo(sock)

    def test_mapped_ipv6_is_ipv4(self):
        sock, code, bound = socks.ask(self.address, '::ffff:127.0.0.1', self.origin.port)
        with sock:
            self.assertEqual((code, bound[0]), (0, '127.0.0.1'))

    def test_text_of_an_address(self):
        before = len(self.names.asked)
        sock, code, _ = socks.ask(self.address, b'127.0.0.1', self.origin.port)
        sock.close()
        self.assertEqual(code, 0)
        self.assertEqual(self.names.asked[before:], [])

    def test_unknown_command(self):
        for command in (0, 4, 9, 255):
            self._refused(bytes([5, command, 0]) + socks.encode_address('127.0.0.1', 80), self._reply(7))
        self.record(r'^\d+ 00407 - 127\.0\.0\.1 127\.0\.0\.1:80 UNKNOWN 127\.0\.0\.1:80$')

    def test_unknown_address_type(self):
        for kind in (0, 2, 9):
            self._refused(bytes([5, 1, 0, kind, 1, 2, 3, 4, 5, 6]), self._reply(8), 997)

    def test_refusal_is_read_whatever_the_client_still_sends(self):
        with socks.greeted(self.address) as sock:
            sock.sendall(bytes([5, 9, 0]) + socks.encode_address('127.0.0.1', 80) + b'x' * 300000)
            self.assertEqual(peers.receive_exactly(sock, 10), self._reply(7))

    def test_other_version_in_the_request(self):
        with socks.greeted(self.address) as sock:
            sock.sendall(bytes([4, 1, 0, 1]))
            answer, end = peers.receive_all(sock)
            self.assertEqual(answer, b'')
            self.assertIn(end, (FIN, RST))
        self.record(r'^\d+ 00401 ')

    def test_no_acceptable_method(self):
        for greeting in (socks.NO_METHODS, b'\x05\x01\x80', b'\x05\x02\x01\x03'):
            self.assertEqual(peers.answer_of(self.address, greeting), (b'\x05\xff', FIN))
        self.record(r'^\d+ 00402 ')

    def test_other_protocols_are_closed(self):
        for data in (b'GET / HTTP/1.1\r\n\r\n', b'\x16\x03\x01', b'\x00'):
            answer, end = peers.answer_of(self.address, data)
            self.assertEqual(answer, b'')
            self.assertIn(end, (FIN, RST))

    def test_closed_port(self):
        self._refused(socks.request5('127.0.0.1', peers.free_port()), self._reply(5), 13)

    def test_name_that_does_not_exist(self):
        self._refused(socks.request5(b'missing.test', 80), self._reply(4), 100)

    def test_names_that_are_none(self):
        before = len(self.names.asked)
        for name in (b'a' * 64 + b'.test', b'', b'a\x00b.test', b'a b', b'a\r\nHost: x', b'127.1', b'0x7f.1', b'2130706433',
                     b'a..test', b'\xff\xfe', b'x' * 255):
            self._refused(socks.request5(name, 80), self._reply(4))
        self.assertEqual(self.names.asked[before:], [])
        self.proxy.stdout.wait_for('^\\d+ 00100 ', count=11, after=self.lines)
        # One line each, whatever the name holds; those of earlier cases may come late.
        lines = self.proxy.stdout.all()[self.lines:]
        for line in lines:
            self.assertRegex(line, r'^\d+ \d{5} (-|\S+) 127\.0\.0\.1 ')

    def test_longest_name_is_a_name(self):
        name = b'.'.join([b'a' * 63, b'b' * 63, b'c' * 63, b'd' * 61])
        self._refused(socks.request5(name, 80), self._reply(4))
        self.assertIn(name.decode(), {asked for asked, _ in self.names.asked})

    def test_no_destination(self):
        for host, port in (('0.0.0.0', 80), ('::', 80), ('127.0.0.1', 0), (b'0.0.0.0', 80), (b'origin.test', 0)):
            self._refused(socks.request5(host, port), self._reply(1), 421)

    def test_connect_that_is_not_answered(self):
        with peers.BlackHole() as hole:
            started = time.monotonic()
            self._refused(socks.request5(*hole.address), self._reply(6), 13)
            self.assertLess(time.monotonic() - started, 4)

    def test_unreachable_network(self):
        with open('/proc/net/route', encoding='ascii') as routes:
            if len(routes.read().splitlines()) > 1:
                self.skipTest('NOT RUN: this machine has routes, needs a network namespace without any')
        self._refused(socks.request5('192.0.2.1', 80), self._reply(3), 13)
        self._refused(socks.request5('2001:db8::1', 80), self._reply(3), 13)

    def test_socks4_refusals(self):
        refused = b'\x00\x5b' + bytes(6)
        for data in (socks.request4('127.0.0.1', peers.free_port()), socks.request4('0.0.0.0', 80),
                     socks.request4('127.0.0.1', self.origin.port, command=9), socks.request4(b'missing.test', 80),
                     socks.request4(b'', 80), socks.request4(b'a\nb', 80)):
            self.assertEqual(peers.answer_of(self.address, data), (refused, FIN), data)

    def test_strings_without_an_end(self):
        memory = peers.anonymous_bytes(self.proxy.pid)
        for data in (b'\x04\x01\x00\x50\x00\x00\x00\x01' + b'u' * 1000000,
                     b'\x04\x01\x00\x50\x00\x00\x00\x01\x00' + b'h' * 1000000):
            answer, _ = peers.answer_of(self.address, data)
            self.assertIn(answer, (b'\x00\x5b' + bytes(6), b''))
        if not rig.sanitized():
            self.assertLess(peers.anonymous_bytes(self.proxy.pid) - memory, 1 << 20)

    def test_user_id_is_one_line_of_the_log(self):
        with peers.connect(self.address) as sock:
            sock.sendall(socks.request4('127.0.0.1', self.origin.port, b'a\r\nb c'))
            self.assertEqual(socks.reply4(sock)[0], 90)
        self.record(r'^\d+ 00000 a\S+ 127\.0\.0\.1 127\.0\.0\.1:%d CONNECT ' % self.origin.port)


class Credentials(rig.Case):
    """-u, -u1, -u2: which method is chosen."""

    def test_method_of_each_policy(self):
        config = LOG + ''.join('socks -p0 -i127.0.0.1 %s\n' % option for option in ('', '-u', '-u1', '-u2'))
        expected = {  # Greeting: the answer of '', -u, -u1, -u2.
            socks.NO_AUTH: (0, 0, 0, 255),
            socks.PASSWORD: (2, 255, 2, 2),
            b'\x05\x02\x00\x02': (2, 0, 2, 2),
            b'\x05\x02\x02\x00': (2, 0, 2, 2),
        }
        with rig.Sluice(config) as proxy:
            for greeting, methods in expected.items():
                for ordinal, method in enumerate(methods):
                    with peers.connect(proxy.address(ordinal)) as sock:
                        sock.sendall(greeting)
                        self.assertEqual(peers.receive_exactly(sock, 2), bytes([5, method]), (greeting, ordinal))
            proxy.stdout.wait_for(r'^\d+ 00004 ')

    def test_other_version_of_the_subnegotiation(self):
        with rig.Sluice('socks -p0 -i127.0.0.1\n') as proxy:
            self.assertEqual(peers.answer_of(proxy.address(), socks.PASSWORD + b'\x05\x01'), (b'\x05\x02\x01\x01', FIN))


class Data(Shared):
    """The tunnel is the relay's: nothing is lost at its seams."""

    def test_large_both_ways(self):
        data = peers.payload(1 << 20) * rig.size(8, 64)
        with socks.tunnel(self.address, self.origin.address, 60) as sock:
            sender = threading.Thread(target=lambda: (sock.sendall(data), peers.finish_sending(sock)))
            sender.start()
            received, end = peers.receive_all(sock)
            sender.join()
        self.assertEqual((hashlib.sha256(received).digest(), end), (hashlib.sha256(data).digest(), FIN))

    def test_origin_that_speaks_first(self):
        self.origin.forget(peers.source(b'220 ready\r\n'))
        with socks.tunnel(self.address, self.origin.address) as sock:
            self.assertEqual(peers.receive_all(sock), (b'220 ready\r\n', FIN))

    def test_upload_then_receipt(self):
        self.origin.forget(peers.count_upload)
        with socks.tunnel(self.address, self.origin.address) as sock:
            sock.sendall(b'x' * 100000)
            peers.finish_sending(sock)
            self.assertEqual(peers.receive_all(sock), (b'FIN 100000', FIN))

    def test_request_and_end_in_one_segment(self):
        self.origin.forget(peers.count_upload)
        with peers.connect(self.address) as sock:
            sock.sendall(socks.NO_AUTH + socks.request5(*self.origin.address) + b'four')
            peers.finish_sending(sock)
            answer, end = peers.receive_all(sock)
            self.assertEqual((answer[12:], end), (b'FIN 4', FIN))


    def test_tiny_segments_to_a_slow_reader(self):
        count = rig.size(5000, 50000)

        def many(sock, _):
            for i in range(count):
                sock.sendall(b'%05d' % (i % 100000))

        self.origin.forget(many)
        with socks.tunnel(self.address, self.origin.address, 30) as sock:
            time.sleep(0.3)
            received, end = peers.receive_all(sock)
        self.assertEqual((received, end), (b''.join(b'%05d' % (i % 100000) for i in range(count)), FIN))

    def test_aborted_downloads(self):
        self.origin.forget(peers.source(b'x' * 4000000))
        for _ in range(20):
            sock = socks.tunnel(self.address, self.origin.address)
            peers.receive_exactly(sock, 1000)
            peers.abort(sock)
        rig.eventually(lambda: not peers.tcp_states(self.origin.port).get('ESTABLISHED'), 'origins are let go')


class LocalPorts(rig.Case):
    """One origin, more tunnels than there are local ports for it."""

    RANGE = '/proc/sys/net/ipv4/ip_local_port_range'

    def test_reply_when_they_have_run_out(self):
        if not os.access(self.RANGE, os.W_OK):
            self.skipTest('NOT RUN: needs root in a network namespace')
        with open(self.RANGE, encoding='ascii') as file:
            before = file.read()
        with peers.Origin() as origin, rig.Sluice(LOG + 'socks -p0 -i127.0.0.1\n') as proxy:
            try:
                with open(self.RANGE, 'w', encoding='ascii') as file:
                    file.write('40000 40029')
                open_ones, refused = [], 0
                for i in range(50):
                    sock = peers.connect(proxy.address(), source=('127.0.1.%d' % (i + 1), 0))
                    sock.sendall(socks.NO_AUTH + socks.request5(*origin.address))
                    peers.receive_exactly(sock, 2)
                    code, _ = socks.reply5(sock)
                    if code:
                        self.assertEqual((code, peers.receive_all(sock)), (1, (b'', FIN)))
                        refused += 1
                        sock.close()
                    else:
                        open_ones.append(sock)
                self.assertGreater(refused, 10)
                self.assertGreater(len(open_ones), 10)
                for sock in open_ones:
                    peers.check_echo(sock)
                peers.close_all(open_ones)
            finally:
                with open(self.RANGE, 'w', encoding='ascii') as file:
                    file.write(before)


class Bind(Shared):
    """BIND: two replies, and only the announced peer comes in between."""

    def _listening(self, host='127.0.0.1', port=0):
        """(client, where the proxy listens for it)."""
        sock, code, bound = socks.ask(self.address, host, port, socks.BIND)
        self.assertEqual(code, 0)
        self.assertTrue(peers.listeners(bound[1]), 'the port of the reply is open')
        return sock, bound

    def _gone(self, port, seconds=1.5):
        rig.eventually(lambda: not peers.listeners(port), 'port %d is closed' % port, seconds)

    def test_both_replies_and_both_directions(self):
        client, bound = self._listening()
        self.assertEqual(bound[0], '127.0.0.1')
        with client, peers.connect(bound) as peer:
            port = peer.getsockname()[1]
            self.assertEqual(socks.reply5(client), (0, peer.getsockname()))
            peer.sendall(b'from the peer')
            self.assertEqual(peers.receive_exactly(client, 13), b'from the peer')
            client.sendall(b'from the client')
            peers.finish_sending(client)
            self.assertEqual(peers.receive_all(peer), (b'from the client', FIN))
            peer.sendall(b'x' * 100000)
            peers.finish_sending(peer)
            self.assertEqual(peers.receive_all(client), (b'x' * 100000, FIN))
            self._gone(bound[1])
        self.record(r'^\d+ 00000 - 127\.0\.0\.1 127\.0\.0\.1:%d BIND 127\.0\.0\.1:0$' % port)

    def test_peer_that_speaks_and_ends_at_once(self):
        client, bound = self._listening()
        with client:
            with peers.connect(bound) as peer:
                peer.sendall(b'gone')
            self.assertEqual(socks.reply5(client)[0], 0)
            self.assertEqual(peers.receive_exactly(client, 4), b'gone')

    def test_strangers_are_turned_away(self):
        client, bound = self._listening('127.0.0.1')
        with client:
            for _ in range(40):
                try:
                    stranger = peers.connect(bound, source=('127.0.0.2', 0))
                except ConnectionResetError:
                    continue  # Before connect() had returned.
                with stranger:
                    self.assertEqual(peers.receive_all(stranger), (b'', RST))
            with peers.connect(bound) as peer:
                self.assertEqual(socks.reply5(client), (0, peer.getsockname()))
                peer.sendall(b'the right one')
                self.assertEqual(peers.receive_exactly(client, 13), b'the right one')

    def test_anybody_may_come_where_nobody_was_named(self):
        for host in ('0.0.0.0', b'0.0.0.0'):
            client, bound = self._listening(host)
            with client, peers.connect(bound, source=('127.0.0.3', 0)) as peer:
                self.assertEqual(socks.reply5(client), (0, peer.getsockname()))

    def test_only_one_comes(self):
        client, bound = self._listening()
        with client, peers.connect(bound) as peer:
            self.assertEqual(socks.reply5(client), (0, peer.getsockname()))
            self._gone(bound[1])

    def test_peer_by_name_and_by_ipv6(self):
        for host, address in ((b'origin.test', '127.0.0.1'), ('::1', '::1')):
            client, bound = self._listening(host)
            self.assertEqual(bound[0], address)
            with client, peers.connect(bound) as peer:
                self.assertEqual(socks.reply5(client), (0, peer.getsockname()[:2]))

    def test_name_that_does_not_exist(self):
        sock, code, _ = socks.ask(self.address, b'missing.test', 0, socks.BIND)
        with sock:
            self.assertEqual(code, 4)
            self.assertEqual(peers.receive_all(sock), (b'', FIN))

    def test_port_is_closed_with_the_client(self):
        for leave in (peers.abort, lambda sock: sock.close()):
            client, bound = self._listening()
            leave(client)
            self._gone(bound[1])

    def test_client_that_speaks_before_anybody_has_come(self):
        early = b'early' * 4000
        for together in (True, False):
            client = socks.greeted(self.address)
            client.sendall(socks.request5('127.0.0.1', 0, socks.BIND) + (early if together else b''))
            code, bound = socks.reply5(client)
            self.assertEqual(code, 0)
            if not together:
                client.sendall(early)
            with client, peers.connect(bound) as peer:
                self.assertEqual(peers.receive_exactly(peer, len(early)), early)
                self.assertEqual(socks.reply5(client), (0, peer.getsockname()))

    def test_client_that_fills_its_connection_and_leaves(self):
        """Its end is behind what it sends, and the port does not wait for that."""
        client, bound = self._listening()
        with client:
            client.setblocking(False)
            try:
                for _ in range(1000):
                    client.send(b'x' * 65536)
            except OSError:
                pass
            client.settimeout(10)
            try:
                self.assertEqual(socks.reply5(client)[0], 1)
            except OSError:
                pass  # A reset, where it still sent.
        self._gone(bound[1])
        self.record(r'^\d+ 00093 ')

    def test_socks4(self):
        with peers.connect(self.address) as client:
            client.sendall(socks.request4('127.0.0.1', 0, b'ftp', socks.BIND))
            code, bound = socks.reply4(client)
            self.assertEqual((code, bound[0]), (90, '127.0.0.1'))
            with peers.connect(bound) as peer:
                self.assertEqual(socks.reply4(client), (90, peer.getsockname()))
                peer.sendall(b'x')
                self.assertEqual(peers.receive_exactly(client, 1), b'x')

    def test_time_limit(self):
        with rig.Sluice('timeouts 1 2 3 60 1 1\n' + LOG + 'socks -p0 -i127.0.0.1\n') as proxy:
            client, code, bound = socks.ask(proxy.address(), '127.0.0.1', 0, socks.BIND)
            with client:
                self.assertEqual(code, 0)
                self.assertEqual(socks.reply5(client)[0], 6)
                self.assertEqual(peers.receive_all(client), (b'', FIN))
                self._gone(bound[1])

    def test_told_and_external_address(self):
        with rig.Sluice('socks -p0 -i127.0.0.1 -e127.0.0.9 -Ne192.0.2.7\n') as proxy:
            client, code, bound = socks.ask(proxy.address(), '127.0.0.1', 0, socks.BIND)
            with client:
                self.assertEqual((code, bound[0]), (0, '192.0.2.7'))
                with peers.connect(('127.0.0.9', bound[1])) as peer:
                    self.assertEqual(socks.reply5(client), (0, peer.getsockname()))

    def test_no_thread_waits(self):
        threads = peers.thread_count(self.proxy.pid)
        waiting = [self._listening()[0] for _ in range(50)]
        self.assertEqual(peers.thread_count(self.proxy.pid), threads)
        peers.close_all(waiting)


class Addresses(rig.Case):
    """What the client is told, where the proxy listens."""

    def test_told_addresses(self):
        config = 'socks -p0 -i127.0.0.1 -Ne192.0.2.7\nsocks -p0 -i127.0.0.1 -N2001:db8::7\n'
        with peers.Origin() as origin, rig.Sluice(config) as proxy:
            for ordinal, told in ((0, '192.0.2.7'), (1, '2001:db8::7')):
                sock, code, bound = socks.ask(proxy.address(ordinal), *origin.address)
                with sock:
                    self.assertEqual((code, bound[0]), (0, told))
                    peers.check_echo(sock)
                    self.assertEqual(bound[1], origin.peers[-1][1])

    def test_external_address(self):
        with peers.Origin() as origin, rig.Sluice('socks -p0 -i127.0.0.1 -e127.0.0.9\n') as proxy:
            sock, code, bound = socks.ask(proxy.address(), *origin.address)
            with sock:
                self.assertEqual((code, bound[0]), (0, '127.0.0.9'))

    def test_unix_and_ipv6_listeners(self):
        config = 'socks -iunix:{folder}/socks\nsocks -p0 -i::1\n'
        with peers.Origin() as origin, rig.Sluice(config) as proxy:
            for ordinal in (0, 1):
                with socks.tunnel(proxy.address(ordinal), origin.address) as sock:
                    peers.check_echo(sock)

    def test_our_own_listeners_are_refused(self):
        config = QUICK + LOG + 'socks -p0 -i127.0.0.1\nsocks -p0 -i0.0.0.0\nsocks -p0 -i::\n'
        with rig.Sluice(config) as proxy:
            one, wild, wild6 = (proxy.port(i) for i in range(3))
            before = peers.descriptor_count(proxy.pid)
            for host, port in (('127.0.0.1', one), (b'localhost', one), (b'127.0.0.1', one), ('127.0.0.1', wild),
                               ('127.0.0.5', wild), ('::1', wild6), ('::ffff:127.0.0.1', one)):
                sock, code, _ = socks.ask(proxy.address(), host, port)
                sock.close()
                self.assertEqual(code, 2, (host, port))
            proxy.stdout.wait_for(r'^\d+ 00519 ', count=7)
            rig.eventually(lambda: peers.descriptor_count(proxy.pid) <= before, 'descriptors are back')

    def test_other_services_of_ours_are_not(self):
        with peers.Origin() as origin:
            config = 'socks -p0 -i127.0.0.1\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port
            with rig.Sluice(config) as proxy, socks.tunnel(proxy.address(0), proxy.address(1)) as sock:
                peers.check_echo(sock)

    def test_started_without_a_configuration(self):
        if peers.listeners(1080):
            self.skipTest('NOT RUN: port 1080 is taken, needs a network namespace')
        backend = ['--backend=' + rig.BACKEND] if rig.BACKEND else []
        with subprocess.Popen([rig.BINARY] + backend, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                errors = rig.Lines(process.stderr)
                errors.wait_for('^listening SOCKS 127.0.0.1:1080$')
                errors.wait_for('^ready')
                with peers.Origin() as origin, socks.tunnel(('127.0.0.1', 1080), origin.address) as sock:
                    peers.check_echo(sock)
                rig.Lines(process.stdout).wait_for('CONNECT 127.0.0.1:%d' % origin.port)
            finally:
                process.terminate()
            self.assertEqual(process.wait(10), 0)


class Time(rig.Case):
    """Deadlines are absolute, and waiting costs no thread."""

    CONFIG = QUICK + LOG + 'socks -p0 -i127.0.0.1\n'

    @rig.seconds(20)
    def test_silent_and_dripping_clients(self):
        with rig.Sluice(self.CONFIG) as proxy:
            threads = peers.thread_count(proxy.pid)
            started = time.monotonic()
            silent = [peers.connect(proxy.address()) for _ in range(50)]
            dripping = [peers.connect(proxy.address()) for _ in range(50)]
            stream = socks.PASSWORD + b'\x01\xff' + b'u' * 255
            ends = {}
            for at in range(100):
                for sock in [d for d in dripping if d not in ends]:
                    try:
                        sock.sendall(stream[at:at + 1])
                    except OSError:
                        ends[sock] = time.monotonic() - started
                if at == 3:
                    self.assertEqual(peers.thread_count(proxy.pid), threads)
                if len(ends) == len(dripping):
                    break
                time.sleep(0.1)
            self.assertEqual(len(ends), 50)
            self.assertGreater(min(ends.values()), 2.5)
            self.assertLess(max(ends.values()), 6)
            for sock in silent:
                self.assertEqual(peers.receive_all(sock)[0], b'')
            self.assertLess(time.monotonic() - started, 8)
            proxy.stdout.wait_for(r'^\d+ 00092 ', count=100)
            peers.close_all(silent + dripping)

    @rig.seconds(60)
    def test_nothing_is_left_of_failures(self):
        count = rig.size(200, 2000)
        with peers.Origin() as origin, NameServer({}) as names, peers.BlackHole() as hole:
            with rig.Sluice('nserver %s\n' % names.where + self.CONFIG) as proxy:
                address, dead = proxy.address(), peers.free_port()

                def leave(data):
                    sock = peers.connect(address)
                    sock.sendall(data)
                    peers.abort(sock)

                def refused(data):
                    peers.answer_of(address, socks.NO_AUTH + data)

                with socks.tunnel(address, origin.address) as sock:
                    peers.check_echo(sock)
                rig.eventually(lambda: peers.tcp_states(origin.port).get('ESTABLISHED', 0) == 0, 'the first one is over')
                before = peers.descriptor_count(proxy.pid)
                for _ in range(count):
                    refused(socks.request5('127.0.0.1', dead))
                    refused(socks.request5(b'missing.test', 80))
                    refused(bytes([5, 9, 0]) + socks.encode_address('127.0.0.1', 80))
                    leave(b'\x05')
                    leave(socks.PASSWORD + b'\x01\x05al')
                    leave(socks.NO_AUTH + socks.request5(*origin.address))
                for _ in range(50):
                    leave(socks.NO_AUTH + socks.request5('127.0.0.1', 0, socks.BIND))
                for _ in range(20):
                    leave(socks.NO_AUTH + socks.request5(*hole.address))
                rig.eventually(lambda: peers.descriptor_count(proxy.pid) <= before,
                               lambda: '%d descriptors, %d before' % (peers.descriptor_count(proxy.pid), before))
                with socks.tunnel(address, origin.address) as sock:
                    peers.check_echo(sock)


class RealClients(Shared):
    """Programs that speak SOCKS."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.web = peers.Origin(cls._web)

    @classmethod
    def tearDownClass(cls):
        cls.web.close()
        super().tearDownClass()

    @staticmethod
    def _web(sock, _):
        sock.recv(4096)
        sock.sendall(b'HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello')

    def _run(self, *command, **keywords):
        done = subprocess.run(command, capture_output=True, timeout=20, check=False, **keywords)
        self.assertEqual(done.returncode, 0, done.stderr.decode('utf-8', 'replace'))
        return done.stdout

    def test_curl(self):
        self.need('curl')
        where = '127.0.0.1:%d' % self.address[1]
        for option in ('--socks4', '--socks4a', '--socks5', '--socks5-hostname'):
            for host in ('127.0.0.1',) + (('origin.test',) if option in ('--socks4a', '--socks5-hostname') else ()):
                for login in ('', 'alice:secret@' if '5' in option else 'alice@'):
                    url = 'http://%s:%d/' % (host, self.web.port)
                    self.assertEqual(self._run('curl', '-sS', option, login + where, url), b'hello')
        self.record(r'^\d+ 00000 alice 127\.0\.0\.1 ')

    def test_curl_to_ipv6(self):
        self.need('curl')
        with peers.Origin(self._web, ('::1', 0)) as web:
            for option in ('--socks5', '--socks5-hostname'):
                got = self._run('curl', '-sSg', option, '127.0.0.1:%d' % self.address[1], 'http://[::1]:%d/' % web.port)
                self.assertEqual(got, b'hello')

    def test_proxychains(self):
        self.need('proxychains4', 'curl')
        folder = rig.scratch_folder()
        for kind in ('socks4', 'socks5'):
            path = os.path.join(folder, kind)
            with open(path, 'w', encoding='ascii') as out:
                out.write('strict_chain\ntcp_read_time_out 5000\ntcp_connect_time_out 5000\n[ProxyList]\n%s 127.0.0.1 %d\n' %
                          (kind, self.address[1]))
            got = self._run('proxychains4', '-q', '-f', path, 'curl', '-sS', 'http://127.0.0.1:%d/' % self.web.port)
            self.assertEqual(got, b'hello')

    def test_nc(self):
        self.need('nc')
        for version in ('4', '5'):
            got = self._run('nc', '-X', version, '-x', '127.0.0.1:%d' % self.address[1], '127.0.0.1',
                            str(self.web.port), input=b'GET / HTTP/1.0\r\n\r\n')
            self.assertTrue(got.endswith(b'hello'), got)


if __name__ == '__main__':
    rig.main()
