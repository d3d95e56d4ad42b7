#!/usr/bin/env python3
"""`tlspr` and `auto`: which upstream a client gets by what it says first, and that not a byte of it is lost."""

import ssl
import subprocess
import time

import rig
import peers
import socks_peer as socks
import tls_peer as tls
from name_server import NameServer
from peers import FIN, RST

# First byte 1 s, the hello 2 s, the first request 3 s.
QUICK = 'timeouts 1 1 2 3 180 1800 2 60 2 5 1\n'
LOG = 'log\nlogformat "L%N %E %{result} %C %R:%r %n %O %I %T"\n'
TLS12 = ssl.TLSVersion.TLSv1_2
DECODE_ERROR, INTERNAL_ERROR, ACCESS_DENIED, UNRECOGNIZED_NAME = 50, 80, 49, 112


class Shared(rig.Case):
    """A name server for the cases of a class, and a proxy whose configuration SERVICES says; {port} is the origins'."""

    SERVICES = ''

    @classmethod
    def setUpClass(cls):
        cls.material = tls.Material()
        cls.names = NameServer({'one.test': ['127.0.0.1'], 'two.test': ['127.0.0.2'], 'nobody.test': ['127.0.0.3']})
        cls.origin = peers.Origin(cls._note)
        cls.other = peers.Origin(cls._note, ('127.0.0.2', cls.origin.port))
        cls.proxy = rig.Sluice(QUICK + LOG + 'nserver %s\n' % cls.names.where +
                               cls.SERVICES.replace('{port}', str(cls.origin.port)))
        cls.address = cls.proxy.address()

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.origin.close()
        cls.other.close()
        cls.names.__exit__(None, None, None)

    @staticmethod
    def _note(sock, origin):
        """Notes everything up to the end, then answers with how much it was."""
        data, _ = peers.receive_all(sock)
        origin.note(data)
        sock.sendall(b'%d' % len(data))

    def setUp(self):
        self.origin.forget(self._note)
        self.other.forget(self._note)
        self.lines = self.proxy.stdout.count()

    def tearDown(self):
        self.assertTrue(self.proxy.alive(), 'the proxy died')

    def record(self, pattern):
        return self.proxy.stdout.wait_for(pattern, after=self.lines)

    def arrives(self, pieces, at=None, service=0):
        """What a client sends in these pieces comes to this origin, whole and unchanged."""
        origin = at or self.origin
        origin.forget(self._note)
        with peers.connect(self.proxy.address(service)) as sock:
            for piece in pieces:
                sock.sendall(piece)
                if len(pieces) > 1:
                    time.sleep(0.001)
            peers.finish_sending(sock)
            sent = b''.join(pieces)
            self.assertEqual(peers.receive_all(sock), (b'%d' % len(sent), FIN))
        self.assertEqual(origin.wait_seen(1), [sent])

    def refused(self, data, code, alert=None, service=0):
        before = self.origin.accepted + self.other.accepted
        answer, end = peers.answer_of(self.proxy.address(service), data)
        self.assertEqual(tls.alert_of(answer) if answer else None, alert)
        self.assertIn(end, (FIN, RST))
        self.assertEqual(self.origin.accepted + self.other.accepted, before)
        return self.record(r'^(TLSPR|AUTO) %05d ' % code)


class Hellos(Shared):
    """The hello in any form leads where it says, and goes on as it came."""

    SERVICES = 'tlspr -p0 -i127.0.0.1 -P{port}\n'

    def test_name_says_where(self):
        self.arrives([tls.real_hello('one.test')])
        self.record(r'^TLSPR 00000 ok 127\.0\.0\.1 127\.0\.0\.1:%d one\.test \d+ 3 TLSv1\.3 one\.test h2,http/1\.1$' %
                    self.origin.port)
        self.arrives([tls.real_hello('two.test', None, TLS12)], self.other)
        self.record(r'^TLSPR 00000 ok 127\.0\.0\.1 127\.0\.0\.2:%d two\.test \d+ 3 TLSv1\.2 two\.test -$' % self.origin.port)
        self.arrives([tls.hello(b'TWO.Test')], self.other)
        self.arrives([tls.hello(b'127.0.0.2')], self.other)

    def test_byte_by_byte_and_cut_anywhere(self):
        stream = tls.hello()
        self.arrives([stream[i:i + 1] for i in range(len(stream))])
        for cut in range(1, len(stream)):
            self.arrives([stream[:cut], stream[cut:] + b'behind it'])

    def test_any_size_up_to_16_kilobytes(self):
        for size in (1500, 2100, 4096, 9000, 16000, 16384):
            self.arrives([tls.padded(size)])
            self.arrives([tls.padded(size, most=size // 7)])

    def test_split_over_records(self):
        whole = tls.message(tls.body_of(tls.GREASE + tls.server_name(b'one.test')))
        for count in range(2, 21):
            self.arrives([tls.records(whole, -(-len(whole) // count))])
        at = whole.index(b'one.test')
        for cut in range(at - 9, at + 9):  # In the lengths before the name, and in the name.
            self.arrives([tls.records(whole[:cut]) + tls.records(whole[cut:])])
        self.arrives([tls.hello(most=1)])

    def test_post_quantum_grease_and_ech(self):
        self.arrives([tls.hello(more=tls.extension(51, bytes(1216)) + tls.extension(0xfafa, b'\x00'))])
        self.arrives([tls.hello(more=tls.extension(0xfe0d, bytes(300)))])

    def test_what_could_be_read_in_two_ways(self):
        name = tls.server_name(b'one.test')
        for extensions in (name + tls.server_name(b'two.test'),
                           tls.extension(0, tls.counted((b'\x00' + tls.counted(b'one.test', 2)) * 2, 2)),
                           tls.server_name(b'one.test\x00.two.test'), tls.server_name(b''), tls.server_name(b'x' * 256),
                           name + b'\x00\x10\x00\x05'):
            self.refused(tls.records(tls.message(tls.body_of(extensions))), 301, DECODE_ERROR)
        self.refused(tls.padded(16385)[:2000], 301, DECODE_ERROR)
        # 16 KB in records of a byte each.
        self.refused(tls.padded(16000, most=1)[:60000], 301, DECODE_ERROR)

    def test_no_name_no_tls_no_end(self):
        self.refused(tls.real_hello(None), 303, UNRECOGNIZED_NAME)
        for data in (b'GET / HTTP/1.1\r\nHost: one.test\r\n\r\n', socks.NO_AUTH, b'\x80\x2e\x01\x00\x02',
                     tls.records(tls.message(b'x' * 40, 2)), tls.records(b'\x02\x28', kind=21)):
            self.refused(data, 300)
        with peers.connect(self.address) as sock:
            sock.sendall(tls.hello()[:50])
            peers.finish_sending(sock)
            self.assertEqual(peers.receive_all(sock)[0], b'')
        self.record(r'^TLSPR 00302 client_hello_cut .*cut short$')

    def test_names_that_lead_nowhere(self):
        for name in (b'missing.test', b'a b', b'127.1', b'0x7f.1', b'one.test\nTLSPR 00000 ok', b'\x1b[2J"\\', b'a' * 64 + b'.test'):
            self.refused(tls.hello(name), 100, UNRECOGNIZED_NAME)
        answer, _ = peers.answer_of(self.address, tls.hello(b'nobody.test'))
        self.assertEqual(tls.alert_of(answer), INTERNAL_ERROR)
        self.record(r'^TLSPR 00013 connect_refused ')

    def test_name_and_protocols_do_not_forge_a_line(self):
        protocols = tls.extension(16, tls.counted(tls.counted(b'h2\nTLSPR 00000', 1) + tls.counted(b'a b,c', 1), 2))
        self.refused(tls.hello(b'x\nTLSPR 00000 ok 127.0.0.1', protocols), 100, UNRECOGNIZED_NAME)
        self.proxy.stdout.wait_for(r'^TLSPR 00100 ', after=self.lines)
        lines = self.proxy.stdout.all()[self.lines:]
        self.assertEqual(len(lines), 1, lines)
        self.assertRegex(lines[0], r'^TLSPR 00100 name_not_resolved .* TLSv1\.3 x\S+ h2\S+,a\?b\?c$')

    def test_long_list_of_protocols(self):
        protocols = tls.extension(16, tls.counted(b'\x02h2' + (b'\xff' + b'p' * 255) * 30, 2))
        self.arrives([tls.hello(more=protocols)])
        self.record(r' TLSv1\.3 one\.test h2,\.\.\.$')


class Handshakes(Shared):
    """Real TLS from end to end."""

    SERVICES = ''.join('tlspr -p0 -i127.0.0.1 -P{port} %s\n' % level for level in ('', '-c1', '-c2', '-c3', '-c4'))

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.origin.close()
        cls.other.close()

    def _origin(self, **options):
        return tls.TlsOrigin(self.material.server(**options), ('127.0.0.1', self.origin.port))

    def _works(self, service, **options):
        with tls.handshake(self.proxy.address(service), self.material.client(**options)) as client:
            for _ in range(20):  # Not more at a time than the sockets hold: a TLS object has one user.
                data = peers.payload(10000)
                client.sendall(data)
                self.assertEqual(peers.receive_exactly(client, len(data)), data)
            return client.version()

    def _fails(self, service, **options):
        with self.assertRaises(OSError):
            with tls.handshake(self.proxy.address(service), self.material.client(**options)) as client:
                client.sendall(b'x')
                peers.receive_exactly(client, 1)
        return self.record(r'^TLSPR 00310 tls_check_failed ')

    def test_every_level_that_has_what_it_wants(self):
        with self._origin():
            for service in (0, 1, 2):
                self.assertEqual(self._works(service), 'TLSv1.3')
                self.assertEqual(self._works(service, highest=TLS12), 'TLSv1.2')
            self._works(3, highest=TLS12)
        with self._origin(ask=True):
            self._works(4, highest=TLS12, show=True)
            self.record(r'^TLSPR 00000 ok ')

    def test_certificates_that_are_not_shown(self):
        with self._origin():
            self._fails(3)  # TLS 1.3 encrypts it.
            self._fails(4)
            self._fails(4, highest=TLS12, show=True)  # The server does not ask.
        with self._origin(ask=True):
            self._fails(4, highest=TLS12)

    def test_server_that_speaks_something_else(self):
        for answer in (b'HTTP/1.1 400 Bad Request\r\n\r\n', tls.records(b'\x01', kind=20), tls.records(tls.message(b'x', 4)), b''):
            with peers.Origin(peers.source(answer), ('127.0.0.1', self.origin.port)):
                for service in (2, 3, 4):
                    with peers.connect(self.proxy.address(service)) as sock:
                        sock.sendall(tls.hello())
                        self.assertEqual(peers.receive_all(sock), (b'', FIN), answer)
                    self.record(r'^TLSPR 00310 tls_check_failed ')
        # What the upstream says against the client, the client may know.
        with peers.Origin(peers.source(tls.records(b'\x02\x28', kind=21)), ('127.0.0.1', self.origin.port)):
            with peers.connect(self.proxy.address(2)) as sock:
                sock.sendall(tls.hello())
                self.assertEqual(tls.alert_of(peers.receive_all(sock)[0]), 40)

    def test_server_that_says_nothing(self):
        with peers.Origin(lambda sock, _: sock.recv(1 << 20) and sock.recv(1), ('127.0.0.1', self.origin.port)):
            started = time.monotonic()
            with peers.connect(self.proxy.address(2)) as sock:
                sock.sendall(tls.hello())
                self.assertEqual(peers.receive_all(sock), (b'', FIN))
            self.assertLess(time.monotonic() - started, 4)

    def test_second_hello(self):
        """A server that wants another key share asks for a second hello (HelloRetryRequest)."""
        with self._origin(curve='secp521r1'):
            descriptors = peers.descriptor_count(self.proxy.pid)
            for _ in range(rig.size(20, 1000)):
                for service in (0, 2):
                    with tls.handshake(self.proxy.address(service), self.material.client()) as client:
                        peers.check_echo(client)
            rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= descriptors, 'descriptors are back')

    def test_curl(self):
        self.need('curl')

        def web(sock, _):
            with self.material.server().wrap_socket(sock, server_side=True) as client:
                client.recv(4096)
                client.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello')

        with peers.Origin(web, ('127.0.0.1', self.origin.port)):
            port = self.proxy.port(2)
            done = subprocess.run(['curl', '-sS', '--cacert', self.material.certificate, '--resolve',
                                   'one.test:%d:127.0.0.1' % port, 'https://one.test:%d/' % port],
                                  capture_output=True, timeout=20, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, b'hello'), done.stderr)


class Defaults(Shared):
    """-h, and who may be silent."""

    SERVICES = ('tlspr -p0 -i127.0.0.1 -P{port} -htwo.test\ntlspr -p0 -i127.0.0.1 -P{port} -c1 -h127.0.0.2:{port}\n'
                'tlspr -p0 -i127.0.0.1 -P{port}\n')

    def test_who_names_nobody(self):
        for service in (0, 1):
            self.arrives([tls.real_hello(None)], self.other, service)
            self.arrives([tls.real_hello('one.test')], self.origin, service)

    def test_other_protocols(self):
        request = b'SSH-2.0-client\r\n'
        self.arrives([request], self.other)
        self.arrives([request[:1], request[1:]], self.other)
        self.refused(request, 300, service=1)
        self.refused(request, 300, service=2)

    def test_server_that_speaks_first(self):
        self.other.forget(lambda sock, _: (sock.sendall(b'220 ready\r\n'), peers.echo(sock, None)))
        with peers.connect(self.address) as sock:
            started = time.monotonic()
            self.assertEqual(peers.receive_exactly(sock, 11), b'220 ready\r\n')
            self.assertGreater(time.monotonic() - started, 0.8)
            peers.check_echo(sock)
        self.record(r'^TLSPR 00000 ok ')

    @rig.seconds(20)
    def test_silent_and_dripping_ones(self):
        config = QUICK + LOG + 'maxconn 20\nnserver %s\ntlspr -p0 -i127.0.0.1 -P%d\n' % (self.names.where, self.origin.port)
        with rig.Sluice(config) as proxy:
            threads = peers.thread_count(proxy.pid)
            started = time.monotonic()
            waiting = [peers.connect(proxy.address()) for _ in range(20)]
            ends, stream = set(), tls.hello()
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
            proxy.stdout.wait_for(r'^TLSPR 00092 timeout ', count=20)
            self.assertLess(time.monotonic() - started, 5)
            with peers.connect(proxy.address()) as sock:
                sock.sendall(tls.hello())
                peers.finish_sending(sock)
                self.assertEqual(peers.receive_all(sock)[1], FIN)
            peers.close_all(waiting)

    def test_own_port_is_a_loop(self):
        port = peers.free_port()
        with rig.Sluice(QUICK + LOG + 'nserver %s\ntlspr -p%d -i127.0.0.1 -P%d\n' % (self.names.where, port, port)) as proxy:
            answer, _ = peers.answer_of(proxy.address(), tls.hello())
            self.assertEqual(tls.alert_of(answer), ACCESS_DENIED)
            proxy.stdout.wait_for(r'^TLSPR 00519 loop_to_self ')


class Auto(Shared):
    """One port for three protocols."""

    SERVICES = 'auto -p0 -i127.0.0.1 -P{port}\nauto -p0 -i127.0.0.1 -P{port} -H -u2\n'

    def test_three_protocols(self):
        self.origin.forget(peers.echo)
        for pieces in (1, 2):
            with peers.connect(self.address) as sock:
                for part in ([socks.NO_AUTH] if pieces == 1 else [socks.NO_AUTH[:1], socks.NO_AUTH[1:]]):
                    sock.sendall(part)
                    time.sleep(0.01)
                self.assertEqual(peers.receive_exactly(sock, 2), b'\x05\x00')
                sock.sendall(socks.request5(*self.origin.address))
                self.assertEqual(socks.reply5(sock)[0], 0)
                peers.check_echo(sock)
        with peers.connect(self.address) as sock:
            sock.sendall(socks.request4(*self.origin.address))
            self.assertEqual(socks.reply4(sock)[0], 90)
            peers.check_echo(sock)
        with peers.connect(self.address) as sock:
            request = b'CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n' % self.origin.port
            sock.sendall(request[:1])
            time.sleep(0.01)
            sock.sendall(request[1:])
            self.assertTrue(sock.recv(4096).startswith(b'HTTP/1.1 200 '))
            peers.check_echo(sock)
        stream = tls.hello()
        self.arrives([stream[:1], stream[1:]])
        for name in ('SOCK5', 'SOCK4', 'PROXY', 'TLSPR'):
            self.record(r'^%s 00000 ok 127\.0\.0\.1 127\.0\.0\.1:%d ' % (name, self.origin.port))

    def test_options_of_each(self):
        line = b'PROXY TCP4 192.0.2.9 192.0.2.1 1111 80\r\n'
        with peers.connect(self.proxy.address(1)) as sock:
            sock.sendall(line + socks.NO_AUTH)
            self.assertEqual(peers.receive_all(sock), (b'\x05\xff', FIN))
        answer, _ = peers.answer_of(self.proxy.address(1), line + b'GET http://one.test/ HTTP/1.1\r\nHost: one.test\r\n\r\n')
        self.assertIn(b' 407 ', answer.split(b'\r\n')[0])
        self.record(r'^SOCK5 00004 \S+ 192\.0\.2\.9 ')
        self.record(r'^PROXY \d+ \S+ 192\.0\.2\.9 ')

    def test_who_says_nothing_has_asked_for_nothing(self):
        with peers.connect(self.address):
            pass
        started = time.monotonic()
        with peers.connect(self.address) as sock:
            self.assertEqual(peers.receive_all(sock)[0], b'')
        self.assertLess(time.monotonic() - started, 5)
        self.assertEqual(self.proxy.stdout.all()[self.lines:], [])

    def test_its_own_port_by_each_protocol(self):
        for data, code in ((socks.NO_AUTH + socks.request5(*self.address), 'SOCK5 00519'),
                           (b'CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n' % self.address[1], 'PROXY 00519')):
            peers.answer_of(self.address, data)
            self.record('^' + code)


if __name__ == '__main__':
    rig.main()
