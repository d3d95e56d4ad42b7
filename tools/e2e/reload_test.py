#!/usr/bin/env python3
"""A reload is a transaction: nobody notices a good one but by its effect, and a bad one changes nothing."""

import os
import signal
import threading
import time

import rig
import peers
from peers import FIN


class Load:
    """Clients that connect, echo and leave, all the time; counts what went wrong and how long it took."""

    def __init__(self, address, threads=4):
        self.address, self.faults, self.trips = address, [], []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        while not self._stop.is_set():
            started = time.monotonic()
            try:
                peers.tunnel_works(self.address, timeout=10)
            except Exception as error:  # Any fault is what this class is there to see.
                self.faults.append(repr(error))
            self.trips.append(time.monotonic() - started)
            time.sleep(0.004)

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join()


class Good(rig.Case):

    def test_fifty_reloads_under_load_break_nothing(self):
        with peers.Origin() as origin:
            port, other = peers.free_port(), peers.free_port()
            keep = 'maxconn 2000\ntcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (port, origin.port)
            moved = 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (other, origin.port)
            with rig.Sluice(keep, '--workers=2') as proxy:
                old = peers.connect(proxy.address())
                peers.check_echo(old)
                descriptors, inodes = peers.descriptor_count(proxy.pid), self._inodes(port)
                self.assertEqual(len(inodes), 2)
                load = Load(proxy.address())
                for i in range(rig.size(50, 200)):
                    proxy.reload(keep + (moved if i % 2 else '') + '# %d\n' % i)
                    self.assertEqual(self._inodes(port), inodes, 'a kept listener keeps its sockets')
                    rig.eventually(lambda: not any(s['receive_queue'] for s in peers.listeners(port)),
                                   'accept queues run empty')
                    rig.eventually(lambda wanted=2 * (i % 2): len(peers.listeners(other)) == wanted,
                                   'the second service comes and goes')
                load.stop()
                self.assertEqual(load.faults, [])
                self.assertLess(max(load.trips), 1 if not rig.sanitized() else 5,
                                peers.tcp_counters('ListenOverflows', 'ListenDrops', 'TCPSynRetrans', 'TCPTimeouts'))
                self.assertGreater(len(load.trips), 100)
                peers.check_echo(old, b'older than all reloads')
                old.close()
                proxy.reload(keep)
                rig.eventually(lambda: peers.descriptor_count(proxy.pid) <= descriptors + 2,
                               lambda: 'descriptors are back: %d, were %d' %
                               (peers.descriptor_count(proxy.pid), descriptors))

    def _inodes(self, port):
        return {s['inode'] for s in peers.listeners(port)}

    def test_both_signals_reload(self):
        with peers.Origin() as origin:
            lines = ['tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (peers.free_port(), origin.port) for _ in range(3)]
            with rig.Sluice(lines[0]) as proxy:
                for number, count in ((signal.SIGHUP, 2), (signal.SIGUSR1, 3)):
                    proxy.reload(''.join(lines[:count]), by=number)
                    for line in lines[:count]:
                        port = int(line.split()[2])
                        rig.eventually(lambda p=port: peers.listeners(p), 'port %d listens' % port)
                        peers.tunnel_works(('127.0.0.1', port))

    def test_new_target_holds_for_new_clients_and_old_tunnels_go_on(self):
        with peers.Origin() as one, peers.Origin(peers.source(b'the other')) as other:
            config = 'tcppm -i127.0.0.1 %d 127.0.0.1 %%d\n' % peers.free_port()
            with rig.Sluice(config % one.port) as proxy:
                with peers.connect(proxy.address()) as old:
                    peers.check_echo(old)
                    proxy.reload(config % other.port)
                    rig.eventually(lambda: peers.answer_of(proxy.address()) == (b'the other', FIN),
                                   'new clients reach the new target')
                    peers.check_echo(old, b'I stay where I am')

    def test_dropped_service_refuses_new_clients_and_its_tunnels_go_on(self):
        with peers.Origin() as origin:
            kept, dropped = ('tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (peers.free_port(), origin.port) for _ in range(2))
            with rig.Sluice(kept + dropped) as proxy:
                gone = proxy.address(1)
                with peers.connect(gone) as old:
                    peers.check_echo(old)
                    proxy.reload(kept)
                    rig.eventually(lambda: not peers.listeners(gone[1]), 'the listener is closed')
                    with self.assertRaises(ConnectionRefusedError):
                        peers.connect(gone)
                    peers.check_echo(old, b'still here')
                peers.tunnel_works(proxy.address(0))

    def test_clients_in_the_queue_of_a_dropped_service_are_served(self):
        with peers.Origin() as origin:
            kept, dropped = ('backlog 50\ntcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (peers.free_port(), origin.port)
                             for _ in range(2))
            with rig.Sluice(kept + dropped) as proxy:
                proxy.send_signal(signal.SIGSTOP)
                waiting = [peers.connect(proxy.address(1)) for _ in range(20)]
                proxy.write_config(kept)
                proxy.send_signal(signal.SIGHUP)
                proxy.send_signal(signal.SIGCONT)
                for sock in waiting:
                    peers.check_echo(sock, b'came before the reload')
                peers.close_all(waiting)

    def test_unix_listener_stays_over_a_reload(self):
        with peers.Origin() as origin:
            config = 'tcppm -iunix:{folder}/s 0 127.0.0.1 %d\n' % origin.port
            with rig.Sluice(config) as proxy:
                path = os.path.join(proxy.folder, 's')
                before = os.stat(path).st_ino
                for _ in range(3):
                    proxy.reload(config)
                    self.assertEqual(os.stat(path).st_ino, before)
                    peers.tunnel_works(path)
                proxy.reload('tcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port)
                rig.eventually(lambda: not os.path.exists(path), 'the file of the dropped service is removed')

    def test_connection_limit_counts_on_over_a_reload(self):
        with peers.Origin() as origin:
            config = 'maxconn 3\nbacklog 20\ntcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (peers.free_port(), origin.port)
            with rig.Sluice(config) as proxy:
                socks = [peers.connect(proxy.address()) for _ in range(3)]
                for sock in socks:
                    peers.check_echo(sock)
                for _ in range(3):
                    proxy.reload(config)
                fourth = peers.connect(proxy.address())
                fourth.sendall(b'fourth')
                self.assertFalse(peers.readable_within(fourth, 0.5), 'the limit was forgotten')
                self.assertEqual(origin.accepted, 3)
                socks[0].close()
                self.assertEqual(peers.receive_exactly(fourth, 6), b'fourth')
                proxy.reload(config.replace('maxconn 3', 'maxconn 4'))
                fifth = peers.connect(proxy.address())
                peers.check_echo(fifth, b'the higher limit lets the fourth and fifth in')
                peers.close_all(socks + [fourth, fifth])

    def test_monitored_file_triggers_a_reload(self):
        """The files are looked at once a minute or so: the full form only."""
        if not rig.LONG:
            self.skipTest('takes more than a minute; SLUICE_LONG=1 runs it')
        with peers.Origin() as origin:
            folder = rig.scratch_folder()
            watched = os.path.join(folder, 'version')
            with open(watched, 'w', encoding='ascii') as out:
                out.write('1')
            config = 'monitor %s\ntcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (watched, peers.free_port(), origin.port)
            port = peers.free_port()
            with rig.Sluice(config) as proxy:
                proxy.write_config(config + 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (port, origin.port))
                with open(watched, 'w', encoding='ascii') as out:
                    out.write('22')
                rig.eventually(lambda: peers.listeners(port), 'the change was noticed', 100)
                peers.tunnel_works(('127.0.0.1', port))


@rig.expand
class Bad(rig.Case):

    @rig.over(unknown_word='bogus 1 2\n', unterminated_quote='tcppm 0 "x\n', missing_file='allow $/no/such/file\n',
              bad_number='maxconn minus\n', empty='', only_a_comment='# nothing\n', removed=None, port_in_use='TAKEN',
              address_of_nobody='tcppm -i203.0.113.1 0 127.0.0.1 1\n', log_in_no_folder='log /no/such/folder/x\n'
              'tcppm -i127.0.0.1 0 127.0.0.1 1\n')
    def test_bad_file_leaves_all_as_it_was_and_says_why(self, bad):
        with peers.Origin() as origin, peers.Origin() as taken:
            port, second = peers.free_port(), peers.free_port()
            good = 'log\n%smaxconn 7\ntcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (rig.RECORD_FORMAT, port, origin.port)
            with rig.Sluice(good) as proxy:
                old = peers.connect(proxy.address())
                peers.check_echo(old)
                inodes = {s['inode'] for s in peers.listeners(port)}
                if bad is None:
                    os.remove(proxy.config_path)
                    said = proxy.reload()
                elif bad == 'TAKEN':
                    # The port comes last: what was opened for the reload before has to go again.
                    said = proxy.reload(good + 'tcppm -i127.0.0.1 %d 127.0.0.1 1\ntcppm -i127.0.0.1 %d 127.0.0.1 1\n' %
                                        (second, taken.port))
                else:
                    said = proxy.reload(good + bad if bad and not bad.startswith('#') else bad)
                self.assertRegex(said, r'^reload \(signal\) failed: nothing was changed')
                self.assertTrue(proxy.stderr.matching(r'^%s:\d+: error: .{5,}' % proxy.config_path))
                self.assertEqual({s['inode'] for s in peers.listeners(port)}, inodes)
                self.assertEqual(peers.listeners(second), [])
                peers.check_echo(old, b'undisturbed')
                old.close()
                peers.tunnel_works(proxy.address())
                proxy.stdout.wait_for(r'^TCPPM %d 00000 ' % port, count=2)  # The log goes on.
                # And the next good one takes effect.
                proxy.reload(good + 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (second, origin.port))
                rig.eventually(lambda: peers.listeners(second), 'the good reload takes effect')
                peers.tunnel_works(('127.0.0.1', second))

    def test_many_bad_reloads_leave_nothing_behind(self):
        with peers.Origin() as origin:
            good = 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (peers.free_port(), origin.port)
            with rig.Sluice(good) as proxy:
                for i in range(10):
                    proxy.reload(good + 'tcppm -i127.0.0.1 0 127.0.0.1 1\nbogus %d\n' % i)
                descriptors, memory = peers.descriptor_count(proxy.pid), peers.resident_bytes(proxy.pid)
                for i in range(rig.size(50, 100)):
                    proxy.reload(good + 'tcppm -i127.0.0.1 0 127.0.0.1 1\n' + ('bogus %d\n' % i if i % 2 else 'tcppm '
                                 '-i127.0.0.1 %d 127.0.0.1 1\n' % origin.port))
                self.assertLessEqual(peers.descriptor_count(proxy.pid), descriptors)
                if not rig.sanitized():
                    self.assertLess(peers.resident_bytes(proxy.pid) - memory, 1 << 20)
                peers.tunnel_works(proxy.address())


class Signals(rig.Case):

    def test_storm_of_signals_during_transfers(self):
        data = peers.payload(4 << 20)

        def handler(sock, _):
            for at in range(0, len(data), 1 << 16):
                sock.sendall(data[at:at + (1 << 16)])
                time.sleep(0.03)

        with peers.Origin(handler) as origin:
            config = 'maxconn 2000\ntcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (peers.free_port(), origin.port)
            with rig.Sluice(config) as proxy:
                address, got = proxy.address(), []

                def download(_):
                    with peers.connect(address, timeout=30) as sock:
                        got.append(peers.receive_all(sock))

                count = rig.size(40, 200)
                threads = [threading.Thread(target=download, args=(i,)) for i in range(count)]
                for thread in threads:
                    thread.start()
                until = time.monotonic() + rig.size(3, 10)
                numbers = (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGWINCH,
                           signal.SIGSTOP, signal.SIGCONT)
                for number in rig.itertools.cycle(numbers):
                    proxy.send_signal(number)
                    time.sleep(0.02)
                    if number == signal.SIGCONT and time.monotonic() > until:
                        break
                for thread in threads:
                    thread.join()
                self.assertTrue(proxy.alive())
                self.assertEqual(len(got), count)
                for received, ending in got:
                    self.assertEqual((len(received), ending), (len(data), FIN))
                    self.assertEqual(received, data)
                before = peers.cpu_seconds(proxy.pid)
                time.sleep(1)
                self.assertLess(peers.cpu_seconds(proxy.pid) - before, 0.2, 'CPU seconds after the storm')


if __name__ == '__main__':
    rig.main()
