#!/usr/bin/env python3
"""`-H`: services behind a balancer that begins each connection with a PROXY header."""

import os
import socket
import struct
import time

import rig
import peers
import socks_peer as socks
from peers import FIN, RST
from real_programs import Haproxy

# First byte 1 s, a header 1 s and again 1 s.
QUICK = 'timeouts 1 1 1 5\n'
LOG = 'log\nlogformat "L%N %E %{result} %C:%c %R:%r %T"\n'
SIGNATURE = b'\r\n\r\n\x00\r\nQUIT\n'
LINE = b'PROXY TCP4 192.0.2.9 192.0.2.1 1111 80\r\n'


def binary(command=0x21, family=0x11, body=None):
    """A header of version 2: of 192.0.2.9:1111 unless the body says otherwise."""
    if body is None:
        body = socket.inet_aton('192.0.2.9') + socket.inet_aton('192.0.2.1') + struct.pack('>HH', 1111, 80)
    return SIGNATURE + bytes([command, family]) + struct.pack('>H', len(body)) + body


SIX = socket.inet_pton(socket.AF_INET6, '2001:db8::9') * 2 + struct.pack('>HH', 1111, 80)
TLVS = binary()[16:] + b'\x04\x00\x03abc\x01\x00\x02h2'
NAMED = {  # Header: the client that it names.
    LINE: '192.0.2.9:1111',
    b'PROXY TCP6 2001:db8::9 2001:db8::1 1111 80\r\n': '2001:db8::9:1111',
    binary(): '192.0.2.9:1111',
    binary(family=0x21, body=SIX): '2001:db8::9:1111',
    binary(body=TLVS): '192.0.2.9:1111',
}
UNNAMED = (b'PROXY UNKNOWN\r\n', b'PROXY UNKNOWN ff:: whatever\r\n', binary(0x20), binary(0x20, 0, b''), binary(0x21, 0, b''),
           binary(0x21, 0x31, b'u' * 216))


class Shared(rig.Case):
    """tcppm, socks, proxy and tcppm for listed sources, all with -H."""

    @classmethod
    def setUpClass(cls):
        cls.origin = peers.Origin()
        relay = '0 127.0.0.1 %d\n' % cls.origin.port
        cls.proxy = rig.Sluice(QUICK + LOG + 'tcppm -H -i127.0.0.1 ' + relay + 'socks -H -p0 -i127.0.0.1\n'
                               'proxy -H -p0 -i127.0.0.1\ntcppm -H127.0.0.2,127.1.0.0/16 -i127.0.0.1 ' + relay +
                               'tcppm -H -iunix:{folder}/relay ' + relay)

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.origin.close()

    def setUp(self):
        self.origin.forget(peers.echo)
        self.lines = self.proxy.stdout.count()

    def record(self, pattern):
        return self.proxy.stdout.wait_for(pattern, after=self.lines)


class Headers(Shared):
    """What a header means, in whatever pieces it comes."""

    @staticmethod
    def _note_request(sock, origin):
        origin.note(sock.recv(4096))
        sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')

    def _echo_behind(self, header, pieces=None, service=0):
        """The origin gets `payload` and nothing else; returns the port that the client really has."""
        with peers.connect(self.proxy.address(service)) as sock:
            for piece in pieces or [header + b'payload']:
                sock.sendall(piece)
                if pieces:
                    time.sleep(0.002)
            self.assertEqual(peers.receive_exactly(sock, 7), b'payload', header)
            peers.finish_sending(sock)
            self.assertEqual(peers.receive_all(sock), (b'', FIN))
            return sock.getsockname()

    def test_named_client_is_the_client(self):
        for header, client in NAMED.items():
            self._echo_behind(header)
            self.record(r'^TCPPM 00000 ok %s ' % client)

    def test_without_a_name_it_is_who_connects(self):
        for header in UNNAMED:
            real = self._echo_behind(header)
            self.record(r'^TCPPM 00000 ok %s:%d ' % real[:2])

    def test_byte_by_byte_and_cut_anywhere(self):
        for header in (LINE, binary(body=TLVS)):
            stream = header + b'payload'
            self._echo_behind(header, [stream[i:i + 1] for i in range(len(stream))])
            for cut in range(1, len(header) + 1):
                self._echo_behind(header, [stream[:cut], stream[cut:]])

    def test_longest(self):
        body = binary()[16:]
        self._echo_behind(binary(body=body + b'\x04' * (65535 - len(body))))

    def test_the_client_may_speak_much_later(self):
        with peers.connect(self.proxy.address(0)) as sock:
            sock.sendall(LINE)
            time.sleep(1.5)
            peers.check_echo(sock)

    def test_over_a_unix_socket(self):
        path = os.path.join(self.proxy.folder, 'relay')
        with peers.connect(path) as sock:
            data = peers.payload(300000)
            sock.sendall(LINE + data)
            self.assertEqual(peers.receive_exactly(sock, len(data)), data)
        self.record(r'^TCPPM 00000 ok 192\.0\.2\.9:1111 ')

    def test_socks_and_http(self):
        with peers.connect(self.proxy.address(1)) as sock:
            sock.sendall(LINE + socks.NO_AUTH + socks.request5(*self.origin.address))
            self.assertEqual(peers.receive_exactly(sock, 2), b'\x05\x00')
            self.assertEqual(socks.reply5(sock)[0], 0)
            peers.check_echo(sock)
        self.record(r'^SOCK5 00000 ok 192\.0\.2\.9:1111 ')
        with peers.connect(self.proxy.address(2)) as sock:
            self.origin.forget(self._note_request)
            sock.sendall(LINE + b'GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n\r\n' % self.origin.port)
            self.assertIn(b'for="192.0.2.9:1111"', self.origin.wait_seen(1)[0])
        self.record(r'^PROXY \d+ \S+ 192\.0\.2\.9:1111 ')


class Refusals(Shared):
    """What is not to be believed is closed, and said in the log."""

    def _closed(self, data, ordinal=0, source=None):
        with peers.connect(self.proxy.address(ordinal), source=source) as sock:
            sock.sendall(data)
            answer, end = peers.receive_all(sock)
            self.assertEqual(answer, b'', data)
            self.assertIn(end, (FIN, RST))

    def test_no_header_or_a_bad_one(self):
        bad = (b'GET / HTTP/1.1\r\nHost: x\r\n\r\n', socks.NO_AUTH, b'PROXY TCP4 192.0.2.9 192.0.2.1 1111 80\n',
               b'PROXY TCP4 a\r\nFAKE 1\r\n', b'PROXY TCP4 192.0.2.9 192.0.2.1 1111 65536\r\n', b'PROXY UNKNOWN ' + b'x' * 200,
               binary(0x22), binary(0x31), binary(body=b'1234'), SIGNATURE[:-1] + b'XXXXX')
        for data in bad:
            for ordinal in (0, 1, 2):
                self._closed(data, ordinal)
        lines = self.proxy.stdout.wait_for(r' 00090 bad_proxy_header 127\.0\.0\.1:\d+ 0\.0\.0\.0:0 PROXY header: ',
                                           count=3 * len(bad), after=self.lines)
        self.assertEqual(len(lines), 3 * len(bad))
        self.assertEqual(self.origin.accepted, 0)

    def test_cut_short(self):
        with peers.connect(self.proxy.address(0)) as sock:
            sock.sendall(LINE[:20])
        self.record(r'bad_proxy_header .*cut short$')

    def test_sources(self):
        for source in ('127.0.0.2', '127.1.2.3'):
            with peers.connect(self.proxy.address(3), source=(source, 0)) as sock:
                sock.sendall(LINE)
                peers.check_echo(sock)
        self.record(r'^TCPPM 00000 ok 192\.0\.2\.9:1111 ')
        accepted = self.origin.accepted
        for source in ('127.0.0.1', '127.2.0.1'):
            self._closed(LINE + b'x', 3, (source, 0))
            self.record(r'^TCPPM 00001 proxy_header_not_allowed %s:\d+ ' % source)
        self.assertEqual(self.origin.accepted, accepted)

    def test_services_without_it_do_not_honour_it(self):
        with peers.Origin() as origin, rig.Sluice(LOG + 'proxy -p0 -i127.0.0.1\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' %
                                                  origin.port) as proxy:
            request = LINE + b'GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n\r\n' % origin.port
            self.assertIn(b' 400 ', peers.answer_of(proxy.address(0), request)[0].split(b'\r\n')[0])
            with peers.connect(proxy.address(1)) as sock:
                peers.check_echo(sock, LINE)
            proxy.stdout.wait_for(r'^PROXY \d+ \S+ 127\.0\.0\.1:')

    @rig.seconds(20)
    def test_silent_and_dripping_ones_do_not_keep_their_slots(self):
        config = QUICK + LOG + 'maxconn 20\ntcppm -H -i127.0.0.1 0 127.0.0.1 %d\n' % self.origin.port
        with rig.Sluice(config) as proxy:
            threads = peers.thread_count(proxy.pid)
            started = time.monotonic()
            waiting = [peers.connect(proxy.address()) for _ in range(20)]
            ends = set()
            stream = binary(body=TLVS)
            for at in range(len(stream)):
                for sock in [s for s in waiting[10:] if s not in ends]:
                    try:
                        sock.sendall(stream[at:at + 1])
                    except OSError:
                        ends.add(sock)
                if len(ends) == 10:
                    break
                time.sleep(0.1)
            self.assertEqual(peers.thread_count(proxy.pid), threads)
            self.assertEqual(len(ends), 10)
            proxy.stdout.wait_for(r'^TCPPM 00092 timeout 127\.0\.0\.1:\d+ .* it did not come in time$', count=20)
            self.assertLess(time.monotonic() - started, 5)
            with peers.connect(proxy.address()) as sock:
                sock.sendall(LINE)
                peers.check_echo(sock)
            peers.close_all(waiting)


class Balancer(Shared):
    """haproxy in front."""

    def test_haproxy_sends_either_version(self):
        self.need('haproxy')
        for version in ('send-proxy', 'send-proxy-v2', 'send-proxy-v2-ssl-cn', 'send-proxy-v2 proxy-v2-options unique-id,crc32c'):
            with Haproxy(self.proxy.port(0), version) as balancer, peers.connect(balancer.address, source=('127.0.0.77', 0)) as sock:
                peers.check_echo(sock)
                port = sock.getsockname()[1]
                sock.close()
                self.record(r'^TCPPM 00000 ok 127\.0\.0\.77:%d ' % port)

    def test_health_checks_of_haproxy(self):
        self.need('haproxy')
        with Haproxy(self.proxy.port(0), 'send-proxy-v2 check check-send-proxy inter 100ms') as balancer:
            # LOCAL, then a reset, often before we have read it.
            self.record(r'^TCPPM \d+ \S+ 127\.0\.0\.1:\d+ 127\.0\.0\.1:%d ' % self.origin.port)
            with peers.connect(balancer.address) as sock:
                peers.check_echo(sock)
        self.assertEqual([line for line in self.proxy.stdout.all()[self.lines:] if 'header' in line], [])


if __name__ == '__main__':
    rig.main()
