#!/usr/bin/env python3
"""UDP through `socks`: whose datagrams go where, what is dropped, and when an association ends."""

import os
import socket
import time

import rig
import peers
import socks_peer as socks
from name_server import NameServer
from peers import FIN, RST
from udp_peer import UdpOrigin

LOG = 'log\nlogformat "L%p %E %U %C %R:%r %O %I %T"\n'


class Shared(rig.Case):
    """One proxy for all cases of a class."""

    @classmethod
    def setUpClass(cls):
        cls.names = NameServer({'origin.test': ['127.0.0.1']}, silent=['slow.test'])
        cls.proxy = rig.Sluice('timeouts 1 2 3 60 180 1800 1\nnserver %s\n%ssocks -p0 -i127.0.0.1\nsocks -p0 -i::1\n' %
                               (cls.names.where, LOG))
        cls.address = cls.proxy.address()

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.names.close()

    def setUp(self):
        self.lines = self.proxy.stdout.count()

    def tearDown(self):
        self.assertTrue(self.proxy.alive(), 'the proxy died')


class Datagrams(Shared):
    """What goes through, and to whom."""

    def test_there_and_back(self):
        with UdpOrigin() as origin, socks.Association(self.address) as client:
            self.assertEqual((client.code, client.relay[0]), (0, '127.0.0.1'))
            for payload in (b'one', b'', b'x' * 1350, b'y' * 60000):
                client.send(*origin.address, payload)
                self.assertEqual(client.receive(), (payload, origin.address))

    def test_every_datagram_has_its_own_destination(self):
        with UdpOrigin() as one, UdpOrigin() as two, UdpOrigin('::1') as six, socks.Association(self.address) as client:
            where = {b'one': (one.address, '127.0.0.1'), b'two': (two.address, '127.0.0.1'), b'six': (six.address, '::1'),
                     b'name': (one.address, b'origin.test'), b'text': (two.address, b'127.0.0.1'),
                     b'mapped': (one.address, '::ffff:127.0.0.1')}
            for _ in range(3):
                for payload, (address, host) in where.items():
                    client.send(host, address[1], payload)
                    self.assertEqual(client.receive(), (payload, address))

    def test_order_and_bursts(self):
        with UdpOrigin() as origin, socks.Association(self.address) as client:
            for _ in range(20):
                sent = [b'%06d' % i + b'x' * (i % 7 * 100) for i in range(50)]
                for payload in sent:
                    client.send(*origin.address, payload)
                self.assertEqual([client.receive()[0] for _ in sent], sent)

    def test_largest(self):
        """65,507 bytes are the most that a datagram carries; the client's have a header of ten in front."""
        with UdpOrigin(handler=lambda *_: []) as origin, socks.Association(self.address) as client:
            client.send(*origin.address, b'x' * 65497)
            self.assertEqual(origin.wait_seen(1), [b'x' * 65497])
        with UdpOrigin(handler=lambda *_: [b'x' * 65497, b'y' * 65507, b'z']) as origin:
            with socks.Association(self.address) as client:
                client.send(*origin.address, b'?')
                self.assertEqual(client.receive()[0], b'x' * 65497)
                self.assertEqual(client.receive()[0], b'z')

    def test_replies_from_anybody_have_their_true_source(self):
        with UdpOrigin() as other, UdpOrigin(handler=lambda data, peer, _: other._socket.sendto(data, peer) and []) as first:
            with socks.Association(self.address) as client:
                client.send(*first.address, b'who')
                self.assertEqual(client.receive(), (b'who', other.address))

    def test_malformed_is_dropped_and_the_next_goes_on(self):
        good = None
        with UdpOrigin() as origin, socks.Association(self.address) as client:
            for size in range(10):
                client.udp.sendto(socks.datagram(*origin.address)[:size], client.relay)
            client.send(*origin.address, b'fragment', fragment=1)
            client.send(*origin.address, b'fragment', fragment=0x81)
            client.udp.sendto(b'\x00\x00\x00\x03\xffshort', client.relay)
            client.udp.sendto(b'\x00\x00\x00\x07' + bytes(10), client.relay)
            client.send('127.0.0.1', 0, b'port 0')
            client.send('0.0.0.0', origin.port, b'nowhere')
            client.send(b'a\x00b', origin.port, b'no name')
            client.send(b'missing.test', origin.port, b'no such name')
            client.send(*origin.address, b'')
            client.send(*origin.address, b'good')
            self.assertEqual(client.receive(), (b'', origin.address))
            self.assertEqual(client.receive(), (b'good', origin.address))
            self.assertTrue(client.nothing_comes())
            good = [data for data, _ in origin.seen]
        self.assertEqual(good, [b'', b'good'])

    def test_destinations_that_bring_errors(self):
        with UdpOrigin() as origin, socks.Association(self.address) as client:
            closed = peers.free_port()
            for _ in range(70):
                client.send('127.0.0.1', closed, b'x')
                client.send('255.255.255.255', 9, b'x')
                client.send('::ffff:255.255.255.255', 9, b'x')
            client.send(*origin.address, b'alive')
            self.assertEqual(client.receive(), (b'alive', origin.address))
            self.assertTrue(client.nothing_comes())

    def test_only_the_client_and_its_first_port(self):
        with UdpOrigin() as origin, socks.Association(self.address) as client:
            with socks.Association(self.address, udp_source='127.0.0.2') as stranger:
                stranger.udp.sendto(socks.datagram(*origin.address, b'stranger'), client.relay)
                client.send(*origin.address, b'mine')
                self.assertEqual(client.receive()[0], b'mine')
                stranger.udp.sendto(socks.datagram(*origin.address, b'stranger'), client.relay)
            with socks.Association(self.address) as late:
                late.udp.sendto(socks.datagram(*origin.address, b'late'), client.relay)
            client.send(*origin.address, b'mine again')
            self.assertEqual(client.receive()[0], b'mine again')
            self.assertEqual([data for data, _ in origin.seen], [b'mine', b'mine again'])

    def test_client_on_ipv6(self):
        with UdpOrigin() as origin, UdpOrigin('::1') as six, socks.Association(self.proxy.address(1), '::1') as client:
            self.assertEqual(client.relay[0], '::1')
            for there in (origin, six):
                client.send(*there.address, b'hello')
                self.assertEqual(client.receive(), (b'hello', there.address))

    def test_slow_name_holds_nobody_and_keeps_little(self):
        with UdpOrigin() as origin, socks.Association(self.address) as client:
            for i in range(100):
                client.send(b'slow.test', origin.port, b'%d' % i)
            for i in range(10):
                client.send(*origin.address, b'%d' % i)
                self.assertEqual(client.receive(), (b'%d' % i, origin.address))
        self.proxy.stderr.wait_for(r'datagrams were dropped, too many waited for a name: .* \(92 times')

    def test_name_that_must_be_asked_for_keeps_the_first_datagrams_in_order(self):
        with UdpOrigin() as origin, NameServer({'fresh%d.test' % i: ['127.0.0.1'] for i in range(20)}) as names:
            with rig.Sluice('nserver %s\nsocks -p0 -i127.0.0.1\n' % names.where) as proxy:
                with socks.Association(proxy.address()) as client:
                    for i in range(20):
                        for number in range(3):
                            client.send(b'fresh%d.test' % i, origin.port, b'%d/%d' % (i, number))
                        self.assertEqual([client.receive()[0] for _ in range(3)], [b'%d/%d' % (i, n) for n in range(3)])

    def test_records(self):
        with UdpOrigin() as origin:
            with socks.Association(self.address) as client:
                client.send(b'origin.test', origin.port, b'12345')
                client.receive()
                client.send('127.0.0.1', origin.port, b'123')
                client.receive()
            self.proxy.stdout.wait_for(r'^\d+ 00000 - 127\.0\.0\.1 127\.0\.0\.1:%d 8 8 UDPMAP origin\.test:%d$' %
                                       (origin.port, origin.port), after=self.lines)


class Lifetime(Shared):
    """An association lives as long as its connection."""

    def test_ends_with_its_connection(self):
        for leave in (lambda sock: sock.close(), peers.abort):
            with UdpOrigin() as origin, socks.Association(self.address) as client:
                client.send(*origin.address, b'before')
                client.receive()
                before = peers.descriptor_count(self.proxy.pid)
                leave(client.control)
                rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before - 3, 'its sockets are closed')
                client.send(*origin.address, b'after')
                self.assertTrue(client.nothing_comes())
                self.assertEqual([data for data, _ in origin.seen], [b'before'])

    def test_bytes_on_the_connection_mean_nothing(self):
        with UdpOrigin() as origin, socks.Association(self.address) as client:
            client.control.sendall(b'x' * 100000)
            client.send(*origin.address, b'still here')
            self.assertEqual(client.receive()[0], b'still here')

    @rig.seconds(20)
    def test_idle_time_counts_datagrams(self):
        with rig.Sluice('timeouts 1 2 3 60 1 1\n' + LOG + 'socks -p0 -i127.0.0.1\n') as proxy, UdpOrigin() as origin:
            with socks.Association(proxy.address()) as busy, socks.Association(proxy.address()) as idle:
                for _ in range(6):
                    busy.send(*origin.address, b'x')
                    busy.receive()
                    time.sleep(0.5)
                idle.control.settimeout(3)
                self.assertEqual(peers.receive_all(idle.control), (b'', FIN))
                busy.send(*origin.address, b'alive')
                self.assertEqual(busy.receive()[0], b'alive')
            proxy.stdout.wait_for(r'^\d+ 00092 ')

    def test_many_leave_nothing(self):
        before = peers.descriptor_count(self.proxy.pid)
        count = rig.size(200, 200)
        with UdpOrigin() as origin:
            clients = [socks.Association(self.address) for _ in range(count)]
            for client in clients:
                client.send(*origin.address, b'x')
                client.receive()
            for client in clients:
                peers.abort(client.control)
                client.udp.close()
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before, 'descriptors are back', 5)

    def test_shutdown_ends_it(self):
        proxy = rig.Sluice('socks -p0 -i127.0.0.1\n')
        with socks.Association(proxy.address()) as client:
            proxy.stop()
            self.assertIn(peers.receive_all(client.control)[1], (FIN, RST))


class Ports(rig.Case):
    """udp_ports, -Ni, -e."""

    def test_range(self):
        config = 'udp_ports 41000-41003\nsocks -p0 -i127.0.0.1\n'
        with rig.Sluice(config, '--workers=2') as proxy, UdpOrigin() as origin:
            clients = [socks.Association(proxy.address()) for _ in range(4)]
            self.assertEqual(sorted(client.relay[1] for client in clients), [41000, 41001, 41002, 41003])
            for client in clients:
                client.send(*origin.address, b'x')
                client.receive()
            refused = socks.greeted(proxy.address())
            refused.sendall(socks.request5('0.0.0.0', 0, socks.ASSOCIATE))
            self.assertEqual(socks.reply5(refused)[0], 1)
            refused.close()
            clients[0].close()
            freed = clients[0].relay[1]

            def again():
                with socks.greeted(proxy.address()) as sock:
                    sock.sendall(socks.request5('0.0.0.0', 0, socks.ASSOCIATE))
                    return socks.reply5(sock) == (0, ('127.0.0.1', freed))

            rig.eventually(again, 'the port is used again')
            for client in clients[1:]:
                client.close()

    def test_one_port_for_all(self):
        config = LOG + 'udp_ports 42000\nsocks -p0\n'
        with rig.Sluice(config, '--workers=2') as proxy, UdpOrigin() as origin:
            before = peers.descriptor_count(proxy.pid)
            clients = [socks.Association(proxy.address(host=host)) for host in ('127.0.0.1', '127.0.0.7') * 10]
            self.assertEqual({client.relay for client in clients}, {('127.0.0.1', 42000), ('127.0.0.7', 42000)})
            for number in range(5):
                for i, client in enumerate(clients):
                    client.udp.connect(client.relay)  # Takes answers only from where it sends to.
                    client.udp.send(socks.datagram(*origin.address, b'%d/%d' % (i, number)))
                    self.assertEqual(client.receive(), (b'%d/%d' % (i, number), origin.address))
            self.assertEqual(len({peer for _, peer in origin.seen}), 20, 'each has its own way out')
            with socks.Association(proxy.address()) as other:
                with socks.Association(proxy.address(), udp_source='127.0.0.2') as stranger:
                    stranger.send(*origin.address, b'stranger')
                    other.send(*origin.address, b'mine')
                    self.assertEqual(other.receive()[0], b'mine')
                    self.assertTrue(stranger.nothing_comes())
            half = clients[::2]
            for client in half:
                client.close()
            for client in clients[1::2]:
                client.udp.send(socks.datagram(*origin.address, b'alive'))
                self.assertEqual(client.receive()[0], b'alive')
                client.close()
            rig.eventually(lambda: peers.descriptor_count(proxy.pid) <= before, 'nothing is left but the port')
            with socks.Association(proxy.address()) as again:
                again.send(*origin.address, b'again')
                self.assertEqual(again.receive()[0], b'again')

    def test_one_port_is_open_from_the_start(self):
        """Who has it already keeps sluice from starting, or a reload from changing anything."""
        services = 'socks -p0 -i127.0.0.1\nsocks -p0 -i127.0.0.1\nsocks -iunix:{folder}/socks\n'

        def config(port):
            return LOG + 'udp_ports %d\n' % port + services

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as holder:
            holder.bind(('127.0.0.1', 0))
            taken = holder.getsockname()[1]
            proxy = rig.Sluice(config(taken), ready=False)
            self.assertEqual(proxy.wait_exit(), 1)
            self.assertRegex(proxy.stderr.text(), r'sluice\.cfg:4: error: SOCKS: udp_ports %d: listen on 127\.0\.0\.1:%d: ' %
                             (taken, taken))
            with rig.Sluice(config(42001)) as proxy, UdpOrigin() as origin:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
                    self.assertRaises(OSError, other.bind, ('127.0.0.1', 42001))
                    other.sendto(b'before anybody', ('127.0.0.1', 42001))
                with socks.Association(proxy.address()) as client:
                    self.assertIn('failed', proxy.reload(config(taken)))
                    self.assertIn('reloaded', proxy.reload(config(42002)))
                    for _ in range(2):
                        client.send(*origin.address, b'x')
                        self.assertEqual(client.receive()[0], b'x')
                    for ordinal in (0, 1, os.path.join(proxy.folder, 'socks')):
                        where = ordinal if isinstance(ordinal, str) else proxy.address(ordinal)
                        with socks.Association(where) as other:
                            self.assertEqual(other.relay, ('127.0.0.1', 42002))
                            other.send(*origin.address, b'y')
                            self.assertEqual(other.receive()[0], b'y')
                rig.eventually(lambda: 42001 not in peers.udp_ports(), 'the old port is closed with its last association')

    def test_told_and_external_addresses(self):
        with rig.Sluice('socks -p0 -i127.0.0.1 -Ni192.0.2.7 -e127.0.0.9\n') as proxy, UdpOrigin() as origin:
            with socks.Association(proxy.address()) as client:
                self.assertEqual(client.relay[0], '192.0.2.7')
                client.relay = ('127.0.0.1', client.relay[1])
                client.send(*origin.address, b'x')
                client.receive()
                self.assertEqual(origin.seen[0][1][0], '127.0.0.9')

    def test_records_of_each_policy(self):
        for option, count in (('-U0', 1), ('-U1', 3), ('-U2', 1), ('-U3', 3), ('', 3)):
            with UdpOrigin() as one, UdpOrigin() as two, rig.Sluice(LOG + 'socks -p0 -i127.0.0.1 %s\n' % option) as proxy:
                with socks.Association(proxy.address()) as client:
                    for _ in range(3):
                        for origin in (one, two):
                            client.send(*origin.address, b'x')
                            client.receive()
                proxy.stdout.wait_for(r' 6 6 UDPMAP 127\.0\.0\.1:%d$' % one.port)
                self.assertEqual(len(proxy.stdout.matching('UDPMAP')), count, option)

    def test_unix_listener(self):
        with rig.Sluice('socks -iunix:{folder}/socks\n') as proxy, UdpOrigin() as origin:
            with socks.Association(os.path.join(proxy.folder, 'socks')) as client:
                client.send(*origin.address, b'x')
                self.assertEqual(client.receive(), (b'x', origin.address))


if __name__ == '__main__':
    rig.main()
