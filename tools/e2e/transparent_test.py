#!/usr/bin/env python3
"""`-T`: clients whose connections a firewall has turned to the proxy get where they were going."""

import itertools
import socket
import time

import namespaces
import rig
import peers
import socks_peer as socks
import tls_peer as tls
from name_server import NameServer
from namespaces import Neighbour
from peers import FIN, RST

LOG = 'log\nlogformat "L%N %E %{result} %C %R:%r %n %T"\n'
QUICK = 'timeouts 1 1 2 3 180 1800 2 60 2 5 1\n'
# All of these are here; which of them a connection is for is what the firewall must not make us forget.
FOUR, SIX = '10.9.0.%d', 'fd00:9::%x'


def say_where(sock, _):
    """Says at which address it was reached, then echoes."""
    sock.sendall(b'%s %d\n' % (sock.getsockname()[0].encode(), sock.getsockname()[1]))
    peers.echo(sock, None)


def listen_anywhere(family, handler):
    """An origin at every address of the family, on a port of its own."""
    return peers.Origin(handler, ('0.0.0.0' if family == socket.AF_INET else '::', 0))


class Shared(rig.Case):
    """Services with -T for each kind of client, and their ports under REDIRECT and under TPROXY."""

    SERVICES = ('tcppm -T -i%s 0 127.0.0.1 11111\n', 'proxy -T -p0 -i%s\n', 'socks -T -p0 -i%s\n', 'tlspr -T -p0 -i%s\n',
                'auto -T -p0 -i%s\n', 'tlspr -T -c1 -p0 -i%s\n')
    TCPPM, PROXY, SOCKS, TLSPR, AUTO, TLSPR1 = range(6)

    @classmethod
    def setUpClass(cls):
        cls.proxy = cls.neighbour = cls.firewall = None
        cls.why = ''
        try:
            cls.neighbour = Neighbour()
            cls.firewall = namespaces.Firewall()
        except OSError as error:
            cls.why = str(error)
            return
        for words in (('route', 'replace', 'local', '10.9.0.0/24'), ('-6', 'route', 'replace', 'local', 'fd00:9::/64')):
            namespaces.command('ip', *words, 'dev', 'lo')
        cls.names = NameServer({'one.test': ['10.9.0.1'], 'two.test': ['10.9.0.2']})
        cls.proxy = rig.Sluice(QUICK + LOG + 'nserver %s\nmaxconn 1000\n' % cls.names.where +
                               ''.join(service % '0.0.0.0' for service in cls.SERVICES) +
                               ''.join(service % '::' for service in cls.SERVICES), '--workers=2')
        cls.origins = {family: listen_anywhere(family, say_where) for family in (socket.AF_INET, socket.AF_INET6)}

    @classmethod
    def tearDownClass(cls):
        if cls.proxy:
            cls.proxy.stop()
            cls.names.__exit__(None, None, None)
            for origin in cls.origins.values():
                origin.close()
        if cls.firewall:
            cls.firewall.close()
        if cls.neighbour:
            cls.neighbour.close()

    def setUp(self):
        if self.why:
            self.skipTest('NOT RUN: needs root in a network namespace of its own and nftables: ' + self.why)
        self.lines = self.proxy.stdout.count()
        for origin in self.origins.values():
            origin.forget(say_where)

    def record(self, pattern):
        return self.proxy.stdout.wait_for(pattern, after=self.lines)

    def turn(self, how, service, family, untracked=False):
        """Has the firewall give what is for the origin's port to this service; returns that port."""
        six = family == socket.AF_INET6
        listener = self.proxy.port(service + (len(self.SERVICES) if six else 0))
        # A rule for each test: a port of its own, which the origin is given under another number.
        port = self.origins[family].port
        for chain in ('untracked', 'taken', 'turned'):
            namespaces.command('nft', 'flush chain inet test ' + chain)
        match = 'meta nfproto %s tcp dport %d ' % ('ipv6' if six else 'ipv4', port)
        if untracked:
            self.firewall.add('untracked', match + 'notrack')
        if how == 'redirect':
            self.firewall.add('turned', match + 'redirect to :%d' % listener)
        else:
            self.firewall.add('taken', match + 'tproxy %s to :%d meta mark set 1 accept' % ('ip6' if six else 'ip', listener))
        return port

    # A port of its own for each: two clients with one port, whose different destinations are turned to the same one,
    # are one connection to the kernel (6.18 drops the second where it is IPv6).
    source_ports = itertools.count(20000)

    def connect(self, host, port):
        source = (Neighbour.THERE6 if ':' in host else Neighbour.THERE, next(self.source_ports))
        return self.neighbour.call(lambda: peers.connect((host, port), source=source))

    @staticmethod
    def where(sock):
        """What the origin says of where it was reached."""
        line = b''
        while not line.endswith(b'\n'):
            line += peers.receive_exactly(sock, 1)
        host, port = line.split()
        return host.decode(), int(port)


@rig.expand
class Relay(Shared):
    """tcppm -T: every client gets the destination that it asked for."""

    WAYS = {'redirect': ('redirect', False), 'tproxy': ('tproxy', False), 'tproxy_untracked': ('tproxy', True)}

    def _each_its_own(self, way, family, pattern):
        port = self.turn(way[0], self.TCPPM, family, way[1])
        count = rig.size(254, 10000)
        for first in range(0, count, 127):
            open_ones = {}
            for i in range(first, min(first + 127, count)):
                host = pattern % (i % 254 + 1)
                open_ones[i] = (host, self.connect(host, port))
            for host, sock in open_ones.values():
                with sock:
                    self.assertEqual(self.where(sock), (host, port))
                    peers.check_echo(sock)
        self.record(r'^TCPPM 00000 ok %s %s:%d ' % (
            (Neighbour.THERE, '10.9.0.7', port) if family == socket.AF_INET else (Neighbour.THERE6, 'fd00:9::7', port)))

    @rig.seconds(120)
    @rig.over(**WAYS)
    def test_ipv4(self, way):
        self._each_its_own(way, socket.AF_INET, FOUR)

    @rig.seconds(120)
    @rig.over(**WAYS)
    def test_ipv6(self, way):
        self._each_its_own(way, socket.AF_INET6, SIX)

    def test_direct_connection_is_a_loop(self):
        before = peers.descriptor_count(self.proxy.pid)
        for host, service in (('127.0.0.1', 0), ('127.0.0.5', 0), ('::1', len(self.SERVICES))):
            answer, end = peers.answer_of((host, self.proxy.port(service)))
            self.assertEqual(answer, b'')
            self.assertIn(end, (FIN, RST))
        for host, service in ((Neighbour.HERE, 0), (Neighbour.HERE6, len(self.SERVICES))):
            with self.connect(host, self.proxy.port(service)) as sock:
                self.assertEqual(peers.receive_all(sock)[0], b'')
        self.proxy.stdout.wait_for(r'^TCPPM 00519 loop_to_self ', count=5, after=self.lines)
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before, 'no chain is left')

    def test_redirected_to_another_of_our_ports_is_a_loop(self):
        """Whoever was going to one of our own services, and is turned to the relay, would come back by it."""
        for how in ('redirect', 'tproxy'):
            for chain in ('taken', 'turned'):
                namespaces.command('nft', 'flush chain inet test ' + chain)
            match = 'tcp dport %d ' % self.proxy.port(self.AUTO)
            if how == 'redirect':
                self.firewall.add('turned', match + 'redirect to :%d' % self.proxy.port(self.TCPPM))
            else:
                self.firewall.add('taken', match + 'tproxy ip to :%d meta mark set 1 accept' % self.proxy.port(self.TCPPM))
            with self.connect(Neighbour.HERE, self.proxy.port(self.AUTO)) as sock:
                self.assertEqual(peers.receive_all(sock)[0], b'')
        self.proxy.stdout.wait_for(r'^TCPPM 00519 loop_to_self ', count=2, after=self.lines)

    def test_destination_that_is_not_there(self):
        port = self.turn('redirect', self.TCPPM, socket.AF_INET)
        dead = peers.free_port()
        self.firewall.add('turned', 'tcp dport %d redirect to :%d' % (dead, self.proxy.port(self.TCPPM)))
        with self.connect('10.9.0.1', dead) as sock:
            self.assertEqual(peers.receive_all(sock)[0], b'')
        self.record(r'^TCPPM 00013 connect_refused %s 10\.9\.0\.1:%d ' % (Neighbour.THERE, dead))
        with self.connect('10.9.0.1', port) as sock:
            self.assertEqual(self.where(sock), ('10.9.0.1', port))

    def test_half_close_and_large_transfer(self):
        port = self.turn('tproxy', self.TCPPM, socket.AF_INET)
        self.origins[socket.AF_INET].forget(peers.count_upload)
        with self.connect('10.9.0.9', port) as sock:
            sock.sendall(peers.payload(1 << 20) * 4)
            peers.finish_sending(sock)
            self.assertEqual(peers.receive_all(sock), (b'FIN %d' % (4 << 20), FIN))

    def test_with_a_proxy_header(self):
        """The client is the header's, the destination the socket's."""
        with rig.Sluice(LOG + 'tcppm -T -H 0 127.0.0.1 1\n') as proxy:
            namespaces.command('nft', 'flush chain inet test turned')
            port = self.origins[socket.AF_INET].port
            self.firewall.add('turned', 'tcp dport %d redirect to :%d' % (port, proxy.port()))
            with self.connect('10.9.0.3', port) as sock:
                sock.sendall(b'PROXY TCP4 192.0.2.9 192.0.2.1 1111 80\r\n')
                self.assertEqual(self.where(sock), ('10.9.0.3', port))
            proxy.stdout.wait_for(r'^TCPPM 00000 ok 192\.0\.2\.9 10\.9\.0\.3:%d ' % port)


@rig.expand
class Sniffed(Shared):
    """The services that look at what a client says: what it names, and where it was going if it names nothing."""

    WAYS = {'redirect': 'redirect', 'tproxy': 'tproxy'}

    @rig.over(**WAYS)
    def test_proxy(self, how):
        port = self.turn(how, self.PROXY, socket.AF_INET)

        def answer(sock, origin):
            head = b''
            while b'\r\n\r\n' not in head:
                head += sock.recv(4096)
            origin.note((sock.getsockname()[0], head))
            sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')

        origin = self.origins[socket.AF_INET]
        for request, host in ((b'GET / HTTP/1.0\r\n\r\n', '10.9.0.4'),  # Names nobody.
                              (b'GET / HTTP/1.1\r\nHost: 10.9.0.4:%d\r\nConnection: close\r\n\r\n' % port, '10.9.0.4'),
                              (b'GET / HTTP/1.1\r\nHost: two.test:%d\r\nConnection: close\r\n\r\n' % port, '10.9.0.2'),
                              (b'GET http://two.test:%d/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' % port, '10.9.0.2')):
            origin.forget(answer)
            with self.connect('10.9.0.4', port) as sock:
                sock.sendall(request)
                self.assertTrue(peers.receive_all(sock)[0].endswith(b'\r\n\r\nok'))
            self.assertEqual(origin.wait_seen(1)[0][0], host)

    @rig.over(**WAYS)
    def test_tlspr(self, how):
        port = self.turn(how, self.TLSPR, socket.AF_INET)
        for data, host in ((tls.real_hello('two.test'), '10.9.0.2'), (tls.real_hello(None), '10.9.0.5'),
                           (b'another protocol', '10.9.0.5')):
            with self.connect('10.9.0.5', port) as sock:
                sock.sendall(data)
                self.assertEqual(self.where(sock), (host, port))
                self.assertEqual(peers.receive_exactly(sock, len(data)), data)
        started = time.monotonic()
        with self.connect('10.9.0.6', port) as sock:  # Waits for the server to speak.
            self.assertEqual(self.where(sock), ('10.9.0.6', port))
            peers.check_echo(sock)
        self.assertGreater(time.monotonic() - started, 0.8)
        self.turn(how, self.TLSPR1, socket.AF_INET)
        with self.connect('10.9.0.5', port) as sock:
            sock.sendall(b'another protocol')
            self.assertEqual(peers.receive_all(sock)[0], b'')
        self.record(r'^TLSPR 00300 not_tls ')

    @rig.over(**WAYS)
    def test_socks(self, how):
        port = self.turn(how, self.SOCKS, socket.AF_INET6)
        for host, there in (('0.0.0.0', SIX % 7), ('::', SIX % 7), ('10.9.0.8', '10.9.0.8')):
            named = self.origins[socket.AF_INET].port if host == '10.9.0.8' else 0
            with self.connect(SIX % 7, port) as sock:
                sock.sendall(socks.NO_AUTH + socks.request5(host, named))
                self.assertEqual(peers.receive_exactly(sock, 2), b'\x05\x00')
                self.assertEqual(socks.reply5(sock)[0], 0)
                self.assertEqual(self.where(sock), (there, named or port))
        with self.connect(SIX % 7, port) as sock:
            sock.sendall(socks.request4('0.0.0.0', 0))
            self.assertEqual(socks.reply4(sock)[0], 90)
            self.assertEqual(self.where(sock), (SIX % 7, port))
        self.record(r'^SOCK4 00000 ok %s fd00:9::7:%d ' % (Neighbour.THERE6, port))

    @rig.over(**WAYS)
    def test_auto(self, how):
        port = self.turn(how, self.AUTO, socket.AF_INET)
        with self.connect('10.9.0.9', port) as sock:
            sock.sendall(tls.real_hello(None))
            self.assertEqual(self.where(sock), ('10.9.0.9', port))

    def test_direct_ones_that_name_nobody(self):
        answer, _ = peers.answer_of(self.proxy.address(self.PROXY), b'GET / HTTP/1.0\r\n\r\n')
        self.assertIn(b' 400 ', answer.split(b'\r\n')[0])
        answer, _ = peers.answer_of(self.proxy.address(self.TLSPR), tls.real_hello(None))
        self.assertEqual(tls.alert_of(answer), 112)
        for data in (b'another protocol', b''):
            self.assertEqual(peers.answer_of(self.proxy.address(self.TLSPR), data)[0], b'')
        self.proxy.stdout.wait_for(r'^TLSPR 00519 ', count=3, after=self.lines)
        with socks.greeted(self.proxy.address(self.SOCKS)) as sock:
            sock.sendall(socks.request5('0.0.0.0', 0))
            self.assertEqual(socks.reply5(sock)[0], 2)
        self.record(r'^SOCK5 00519 ')

    def test_direct_ones_that_name_somebody(self):
        origin = self.origins[socket.AF_INET]
        with socks.tunnel(self.proxy.address(self.SOCKS), ('10.9.0.1', origin.port)) as sock:
            self.assertEqual(self.where(sock), ('10.9.0.1', origin.port))


class Rights(rig.Case):
    """Without the right to be transparent, REDIRECT still works, and the log says what does not."""

    def test_warned_of(self):
        self.need_root()
        self.need('setpriv')
        with rig.Sluice(LOG + 'tcppm -T 0 127.0.0.1 1\n', wrapper=('setpriv', '--bounding-set=-all', '--inh-caps=-all', '--')) as proxy:
            proxy.stderr.wait_for(r'warning: socket option IP_TRANSPARENT=1: .*not for TPROXY, which needs CAP_NET_ADMIN')


if __name__ == '__main__':
    rig.main()
