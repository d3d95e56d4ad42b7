#!/usr/bin/env python3
"""`udppm`: a session for each client, whose datagrams are whose, and what a flood of clients costs."""

import socket
import time

import rig
import peers
from name_server import NameServer
from udp_peer import UdpOrigin

LOG = 'log\nlogformat "L%N %E %C:%c %R:%r %O %I"\n'
QUICK = 'timeouts 1 2 3 1\n'  # STRING_LONG, the idle time of a session: 1 s.


class Client:
    """A UDP socket that talks to one address and takes answers from nobody else."""

    def __init__(self, address, source=None):
        self.sock = socket.socket(socket.AF_INET6 if ':' in address[0] else socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        if source:
            self.sock.bind((source, 0))
        self.sock.settimeout(5)
        self.sock.connect(address)

    def ask(self, data):
        self.sock.send(data)
        return self.sock.recv(65536)

    def nothing_comes(self, seconds=0.3):
        return not peers.readable_within(self.sock, seconds)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Relay(rig.Case):
    """There and back."""

    def test_each_client_has_its_own_answers(self):
        with UdpOrigin() as origin, rig.Sluice(LOG + QUICK + 'udppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port) as proxy:
            clients = [Client(proxy.address()) for _ in range(50)]
            for number in range(5):
                for i, client in enumerate(clients):
                    self.assertEqual(client.ask(b'%d/%d' % (i, number)), b'%d/%d' % (i, number))
            self.assertEqual(len({peer for _, peer in origin.seen}), 50)
            for client in clients:
                client.close()
            proxy.stdout.wait_for(r'^UDPPM 00000 127\.0\.0\.1:\d+ 127\.0\.0\.1:%d \d+ \d+$' % origin.port, count=50)

    def test_sizes_bursts_and_order(self):
        with UdpOrigin() as origin, rig.Sluice('udppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port) as proxy:
            with Client(proxy.address()) as client:
                for size in (0, 1, 1350, 9000, 65507):
                    self.assertEqual(client.ask(b'x' * size), b'x' * size)
                for _ in range(20):
                    sent = [b'%06d' % i + b'x' * (i % 7 * 100) for i in range(50)]
                    for data in sent:
                        client.sock.send(data)
                    self.assertEqual([client.sock.recv(65536) for _ in sent], sent)

    def test_ipv6_and_wildcard(self):
        with UdpOrigin() as four, UdpOrigin('::1') as six:
            config = 'udppm -i::1 0 ::1 %d\nudppm 0 127.0.0.1 %d\nudppm -6 0 ::1 %d\n' % (six.port, four.port, six.port)
            with rig.Sluice(config) as proxy:
                with Client(proxy.address(0)) as client:
                    self.assertEqual(client.ask(b'six'), b'six')
                # The answer must come from the address that was sent to, or a connected socket does not take it.
                for host in ('127.0.0.1', '127.0.0.7', '127.1.2.3'):
                    with Client((host, proxy.port(1))) as client:
                        self.assertEqual(client.ask(b'from there'), b'from there')
                with Client(('::1', proxy.port(2))) as client:
                    self.assertEqual(client.ask(b'from there'), b'from there')
                # One socket that talks to two of our addresses is one client, answered from where it sent to.
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                    sock.settimeout(5)
                    for host in ('127.0.0.1', '127.0.0.7', '127.0.0.1'):
                        sock.sendto(b'x', (host, proxy.port(1)))
                        self.assertEqual(sock.recvfrom(10), (b'x', (host, proxy.port(1))))

    def test_tcp_and_udp_share_a_port_number(self):
        with UdpOrigin() as udp, peers.Origin() as tcp:
            port = peers.free_port()
            config = 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\nudppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (port, tcp.port, port, udp.port)
            with rig.Sluice(config) as proxy, Client(proxy.address(1)) as client:
                peers.tunnel_works(proxy.address(0))
                self.assertEqual(client.ask(b'x'), b'x')

    def test_target_by_name(self):
        with UdpOrigin() as origin, NameServer({'origin.test': ['127.0.0.1']}) as names:
            config = LOG + 'nserver %s\nudppm -i127.0.0.1 0 origin.test %d\nudppm -i127.0.0.1 0 missing.test 53\n' % (
                names.where, origin.port)
            with rig.Sluice(config) as proxy, Client(proxy.address(0)) as client:
                sent = [b'%d' % i for i in range(5)]
                for data in sent:
                    client.sock.send(data)
                self.assertEqual([client.sock.recv(100) for _ in sent], sent)
                with Client(proxy.address(1)) as lost:
                    lost.sock.send(b'x')
                    self.assertTrue(lost.nothing_comes())
                self.assertEqual(client.ask(b'alive'), b'alive')

    def test_single(self):
        answers = lambda data, *_: [data, data]
        with UdpOrigin(handler=answers) as origin:
            with rig.Sluice('udppm -s -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port) as proxy, Client(proxy.address()) as client:
                before = peers.descriptor_count(proxy.pid)
                for i in range(100):
                    self.assertEqual(client.ask(b'%d' % i), b'%d' % i)
                self.assertTrue(client.nothing_comes(), 'one answer each')
                self.assertGreater(len({peer for _, peer in origin.seen}), 90)  # A port may be used again.
                rig.eventually(lambda: peers.descriptor_count(proxy.pid) <= before, 'sessions are over')

    def test_closed_target(self):
        port = peers.free_port()
        with rig.Sluice('udppm -i127.0.0.1 0 127.0.0.1 %d\n' % port) as proxy, Client(proxy.address()) as client:
            used = peers.cpu_seconds(proxy.pid)
            for _ in range(70):
                client.sock.send(b'x')
            self.assertTrue(client.nothing_comes(1))
            if not rig.sanitized():
                self.assertLess(peers.cpu_seconds(proxy.pid) - used, 0.2)
            # It opens: the session that has met errors goes on.
            late = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            late.bind(('127.0.0.1', port))
            late.settimeout(5)
            client.sock.send(b'now')
            data, peer = late.recvfrom(100)
            late.sendto(b'yes', peer)
            self.assertEqual((data, client.sock.recv(100)), (b'now', b'yes'))
            late.close()

    def test_loop_is_refused(self):
        port = peers.free_port()
        config = LOG + 'udppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (port, port)
        with rig.Sluice(config) as proxy, Client(proxy.address()) as client:
            client.sock.send(b'x')
            self.assertTrue(client.nothing_comes())
            self.assertLessEqual(len(proxy.stdout.wait_for(r'^UDPPM 00519 ', count=1).splitlines()), 1)


class Bounds(rig.Case):
    """Sessions end, and there are never too many."""

    def test_idle_sessions_end(self):
        with UdpOrigin() as origin, rig.Sluice(QUICK + 'udppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port) as proxy:
            before = peers.descriptor_count(proxy.pid)
            with Client(proxy.address()) as busy:
                idle = [Client(proxy.address()) for _ in range(20)]
                for client in idle:
                    client.ask(b'x')
                for _ in range(6):
                    busy.ask(b'x')
                    time.sleep(0.4)
                self.assertEqual(len({peer for data, peer in origin.seen}), 21)
                self.assertLessEqual(peers.descriptor_count(proxy.pid), before + 1)
                for client in idle:
                    client.close()
            rig.eventually(lambda: peers.descriptor_count(proxy.pid) <= before, 'descriptors are back')

    @rig.seconds(30)
    def test_flood_of_clients(self):
        """The oldest silent one makes room; those who talk are served, and so is TCP."""
        count = rig.size(2000, 5000)
        with UdpOrigin() as origin, peers.Origin() as tcp:
            config = 'maxconn 100\nudppm -i127.0.0.1 0 127.0.0.1 %d\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (origin.port, tcp.port)
            with rig.Sluice(config, '--workers=2') as proxy, Client(proxy.address()) as talker:
                before = peers.descriptor_count(proxy.pid)
                most = 0
                for i in range(count):
                    with Client(proxy.address()) as client:
                        client.sock.send(b'x')
                    if i % 20 == 0:
                        self.assertEqual(talker.ask(b'%d' % i), b'%d' % i)
                        most = max(most, peers.descriptor_count(proxy.pid) - before)
                    if i % 500 == 0:
                        peers.tunnel_works(proxy.address(1))
                self.assertLess(most, 200)
                with Client(proxy.address()) as fresh:
                    self.assertEqual(fresh.ask(b'fresh'), b'fresh')
                talkers = [peer for data, peer in origin.seen if data != b'x' and data != b'fresh']
                self.assertEqual(len(set(talkers)), 1, 'it has kept its session')

    def test_reload_and_shutdown(self):
        with UdpOrigin() as origin, UdpOrigin(handler=lambda data, *_: [b'other']) as other:
            config = 'udppm -i127.0.0.1 %d 127.0.0.1 %d\n'
            port = peers.free_port()
            proxy = rig.Sluice(config % (port, origin.port))
            def ask_anew():
                with Client(('127.0.0.1', port)) as new:
                    return new.ask(b'?')

            with Client(('127.0.0.1', port)) as old:
                self.assertEqual(old.ask(b'before'), b'before')
                proxy.reload(config % (port, other.port))
                # A worker may learn of it a moment after it was said; who comes before that keeps what was.
                rig.eventually(lambda: ask_anew() == b'other', 'new clients follow the new configuration')
                self.assertEqual(old.ask(b'after'), b'after', 'a session keeps what it began with')
                proxy.reload('tcppm -i127.0.0.1 0 127.0.0.1 1\n')
                rig.eventually(lambda: not _udp_port_open(port), 'the port is closed')
            proxy.stop()


def _udp_port_open(port):
    with open('/proc/net/udp', encoding='ascii') as table:
        return any(line.split()[1].endswith(':%04X' % port) for line in table.read().splitlines()[1:])


if __name__ == '__main__':
    rig.main()
