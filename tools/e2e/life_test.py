#!/usr/bin/env python3
"""Start, end and everything that scripts rely on: exit status, stdout, stderr, signals."""

import errno
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import time

import rig
import peers
from peers import FIN, RST

FOLDER = os.path.dirname(os.path.abspath(__file__))
REFUSER = os.path.join(FOLDER, 'refuse_io_uring.py')


def relay_to(origin, before=''):
    return '%stcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (before, origin.port)


class Start(rig.Case):

    def test_what_stderr_says_and_that_stdout_is_silent(self):
        with peers.Origin() as origin:
            config = ('tcppm -i127.0.0.1 0 127.0.0.1 %d\ntcppm -i::1 0 127.0.0.1 %d\n'
                      'tcppm -iunix:{folder}/listener 0 127.0.0.1 %d\n') % ((origin.port,) * 3)
            with rig.Sluice(config) as proxy:
                lines = proxy.stderr.all()
                self.assertEqual(sum(1 for line in lines if re.match(r'event loop: (io_uring|epoll) \(.+\)$', line)), 1)
                listening = [line for line in lines if line.startswith('listening ')]
                self.assertEqual(len(listening), 3)
                self.assertRegex(listening[0], r'^listening TCPPM 127\.0\.0\.1:[1-9]\d*$')
                self.assertRegex(listening[1], r'^listening TCPPM \[::1\]:[1-9]\d*$')
                self.assertEqual(listening[2], 'listening TCPPM unix:%s/listener' % proxy.folder)
                self.assertGreater(lines.index('ready'), max(lines.index(line) for line in listening))
                for i in range(3):
                    peers.tunnel_works(proxy.address(i))
                if rig.BACKEND:
                    self.assertTrue(proxy.stderr.matching('event loop: ' + rig.BACKEND.replace('uring', 'io_uring')))
            self.assertEqual(proxy.stdout.all(), [])

    def test_access_records_go_to_stdout_only_where_log_says_so(self):
        with peers.Origin() as origin:
            config = relay_to(origin) + relay_to(origin, 'log\n')
            with rig.Sluice(config) as proxy:
                peers.tunnel_works(proxy.address(0))
                peers.tunnel_works(proxy.address(1))
                port = proxy.port(1)
                proxy.stdout.wait_for(r' %d 00000 ' % port)
            self.assertEqual(len(proxy.stdout.all()), 1)

    def test_free_port_is_one_port_for_all_workers(self):
        with peers.Origin() as origin, rig.Sluice(relay_to(origin), '--workers=3') as proxy:
            self.assertEqual(len(proxy.services()), 1)
            self.assertEqual(len(peers.listeners(proxy.port())), 3)
            for _ in range(20):
                peers.tunnel_works(proxy.address())

    def test_configuration_from_standard_input(self):
        with peers.Origin() as origin:
            command = [rig.BINARY] + (['--backend=' + rig.BACKEND] if rig.BACKEND else []) + ['-']
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE) as process:
                process.stdin.write(relay_to(origin).encode())
                process.stdin.close()
                lines = rig.Lines(process.stderr)
                lines.wait_for('^ready')
                match = re.search(r'listening \S+ (\S+)', lines.text())
                peers.tunnel_works(rig.parse_address(match.group(1)))
                process.terminate()
                self.assertEqual(process.wait(10), 0)

    def test_port_in_use_is_named_with_service_address_and_port(self):
        with socket.socket() as other, peers.Origin() as origin:
            other.bind(('127.0.0.1', 0))
            other.listen()
            port = other.getsockname()[1]
            config = 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (port, origin.port)
            proxy = rig.Sluice(config, ready=False)
            self.assertEqual(proxy.wait_exit(), 1)
            self.assertNotIn('ready', proxy.stderr.all())
            line = proxy.stderr.matching(r'127\.0\.0\.1:%d' % port)[0]
            self.assertRegex(line, r'(?i)tcppm')
            self.assertRegex(line, r'(?i)in use')

    def test_second_instance_on_the_same_port_is_refused_and_the_first_goes_on(self):
        with peers.Origin() as origin:
            with rig.Sluice(relay_to(origin)) as first:
                config = 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (first.port(), origin.port)
                second = rig.Sluice(config, ready=False)
                self.assertEqual(second.wait_exit(), 1)
                for _ in range(20):
                    peers.tunnel_works(first.address())

    def test_restart_finds_its_port_although_old_connections_linger(self):
        with peers.Origin() as origin:
            port = peers.free_port()
            config = 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (port, origin.port)
            for _ in range(3):
                with rig.Sluice(config) as proxy:
                    kept = peers.connect(proxy.address())
                    peers.check_echo(kept)
                kept.close()

    def test_closed_standard_streams_do_not_become_sockets(self):
        """With descriptor 1 closed, the first socket would get its number, and the log would go to a client."""
        with peers.Origin() as origin:
            config = relay_to(origin, 'log\n')
            proxy = rig.Sluice(config, wrapper=['sh', '-c', 'exec "$@" <&- >&-', 'sh'])
            with proxy:
                socks = [peers.connect(proxy.address()) for _ in range(20)]
                for i, sock in enumerate(socks):
                    peers.check_echo(sock, b'mine is %d' % i)
                    peers.finish_sending(sock)
                    self.assertEqual(peers.receive_all(sock), (b'', FIN))
                peers.close_all(socks)


@rig.expand
class UnixListener(rig.Case):

    def test_socket_file_has_mode_0660_and_is_removed_at_the_end(self):
        with peers.Origin() as origin:
            with rig.Sluice('tcppm -iunix:{folder}/s 0 127.0.0.1 %d\n' % origin.port) as proxy:
                path = os.path.join(proxy.folder, 's')
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o660)
                peers.tunnel_works(path)
            self.assertFalse(os.path.exists(path))

    def test_stale_socket_file_is_replaced(self):
        folder = rig.scratch_folder()
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(os.path.join(folder, 's'))
        with peers.Origin() as origin:
            with rig.Sluice('tcppm -iunix:{folder}/s 0 127.0.0.1 %d\n' % origin.port, folder=folder):
                peers.tunnel_works(os.path.join(folder, 's'))

    @rig.over(socket_in_use='socket', ordinary_file='file')
    def test_what_belongs_to_somebody_else_is_left_alone(self, what):
        folder = rig.scratch_folder()
        path = os.path.join(folder, 's')
        owner = peers.Origin(address=path) if what == 'socket' else None
        if not owner:
            with open(path, 'w', encoding='ascii') as out:
                out.write('precious')
        proxy = rig.Sluice('tcppm -iunix:{folder}/s 0 127.0.0.1 1\n', folder=folder, ready=False)
        self.assertEqual(proxy.wait_exit(), 1)
        self.assertTrue(proxy.stderr.matching(re.escape(path)))
        if owner:
            peers.tunnel_works(path)
            owner.close()
        else:
            with open(path, encoding='ascii') as file:
                self.assertEqual(file.read(), 'precious')

    def test_abstract_socket(self):
        name = '@sluice-e2e-%d' % os.getpid()
        with peers.Origin() as origin, rig.Sluice('tcppm -iunix:%s 0 127.0.0.1 %d\n' % (name, origin.port)) as proxy:
            self.assertEqual(proxy.address(), name)
            peers.tunnel_works(name)
        with peers.Origin(address=name + '-origin'), \
                rig.Sluice('tcppm -i127.0.0.1 0 unix:%s-origin 1\n' % name) as proxy:
            peers.tunnel_works(proxy.address())


class End(rig.Case):

    def test_term_without_connections_ends_at_once(self):
        with peers.Origin() as origin:
            proxy = rig.Sluice(relay_to(origin))
            peers.tunnel_works(proxy.address())
            started = time.monotonic()
            proxy.send_signal(signal.SIGTERM)
            self.assertEqual(proxy.wait_exit(), 0)
            self.assertLess(time.monotonic() - started, 2)

    def test_interrupt_ends_as_term_does(self):
        with peers.Origin() as origin:
            proxy = rig.Sluice(relay_to(origin), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            proxy.send_signal(signal.SIGINT)
            self.assertEqual(proxy.wait_exit(), 0)

    def test_term_under_load_loses_no_byte(self):
        data = peers.payload(8 << 20)

        def handler(sock, _):
            for at in range(0, len(data), 1 << 18):
                sock.sendall(data[at:at + (1 << 18)])
                time.sleep(0.05)

        with peers.Origin(handler) as origin:
            proxy = rig.Sluice(relay_to(origin), '--drain-timeout=30')
            address = proxy.address()
            received = []

            def download(_):
                with peers.connect(address, timeout=30) as sock:
                    received.append(peers.receive_all(sock))

            threads = [threading.Thread(target=download, args=(i,)) for i in range(20)]
            for thread in threads:
                thread.start()
            rig.eventually(lambda: origin.accepted == 20, 'all downloads run')
            proxy.send_signal(signal.SIGTERM)
            rig.eventually(lambda: not peers.listeners(address[1]), 'the listeners are closed')
            with self.assertRaises(ConnectionRefusedError):
                peers.connect(address)
            for thread in threads:
                thread.join()
            ended = time.monotonic()
            self.assertEqual(proxy.wait_exit(), 0)
            self.assertLess(time.monotonic() - ended, 2, 'seconds from the last byte to the exit')
            for got, ending in received:
                self.assertEqual((len(got), ending), (len(data), FIN))
                self.assertEqual(got, data)

    def test_clients_in_the_accept_queue_are_still_served(self):
        """A stopped process accepts nothing; who connected meanwhile must not be reset by the closing listener."""
        with peers.Origin() as origin:
            proxy = rig.Sluice(relay_to(origin, 'backlog 100\n'))
            proxy.send_signal(signal.SIGSTOP)
            waiting = [peers.connect(proxy.address()) for _ in range(20)]
            proxy.send_signal(signal.SIGTERM)
            proxy.send_signal(signal.SIGCONT)
            for sock in waiting:
                peers.check_echo(sock, b'was in the queue')
            peers.close_all(waiting)
            self.assertEqual(proxy.wait_exit(), 0)

    def test_drain_timeout_ends_a_tunnel_for_both_sides_and_says_so(self):
        with peers.Origin(peers.sink) as origin:
            proxy = rig.Sluice(relay_to(origin, 'log\n' + rig.RECORD_FORMAT), '--drain-timeout=1')
            with peers.connect(proxy.address()) as sock:
                sock.sendall(b'held')
                rig.eventually(lambda: origin.accepted, 'the tunnel runs')
                time.sleep(0.1)
                started = time.monotonic()
                proxy.send_signal(signal.SIGTERM)
                self.assertEqual(peers.receive_all(sock), (b'', FIN))
                self.assertGreater(time.monotonic() - started, 0.8)
                self.assertLess(time.monotonic() - started, 4)
                data, ending = origin.wait_seen()[0]
                self.assertEqual((data, ending), (b'held', FIN))
            self.assertEqual(proxy.wait_exit(), 0)
            self.assertTrue(proxy.stdout.matching(r'00090 .*shutdown'))

    def test_second_term_ends_at_once(self):
        with peers.Origin() as origin:
            proxy = rig.Sluice(relay_to(origin), '--drain-timeout=60')
            with peers.connect(proxy.address()) as sock:
                peers.check_echo(sock)
                proxy.send_signal(signal.SIGTERM)
                rig.eventually(lambda: not peers.listeners(proxy.port()), 'the listeners are closed')
                peers.check_echo(sock, b'the tunnel goes on')
                started = time.monotonic()
                proxy.send_signal(signal.SIGTERM)
                self.assertIn(peers.receive_all(sock)[1], (FIN, RST))
                self.assertEqual(proxy.wait_exit(), 0)
                self.assertLess(time.monotonic() - started, 2)

    def test_lameduck_accepts_for_a_while_after_term(self):
        with peers.Origin() as origin:
            proxy = rig.Sluice(relay_to(origin), '--lameduck=2', '--drain-timeout=1')
            started = time.monotonic()
            proxy.send_signal(signal.SIGTERM)
            while time.monotonic() - started < 1.5:
                peers.tunnel_works(proxy.address())
                time.sleep(0.05)
            self.assertEqual(proxy.wait_exit(), 0)
            self.assertGreater(time.monotonic() - started, 1.9)

    def test_signals_without_a_meaning_do_not_end_it(self):
        with peers.Origin() as origin, rig.Sluice(relay_to(origin)) as proxy:
            with peers.connect(proxy.address()) as sock:
                for number in (signal.SIGUSR2, signal.SIGCHLD, signal.SIGWINCH, signal.SIGPIPE, signal.SIGCONT,
                               signal.SIGURG):
                    proxy.send_signal(number)
                    peers.check_echo(sock)
            self.assertTrue(proxy.alive())


class Places(rig.Case):
    """Where and how it may be started."""

    def test_as_process_1(self):
        probe = subprocess.run(['unshare', '-pf', 'true'], capture_output=True, check=False)
        if probe.returncode:
            self.skipTest('NOT RUN: no process namespaces here: %s' % probe.stderr.decode().strip())
        with peers.Origin() as origin:
            proxy = rig.Sluice(relay_to(origin), wrapper=['unshare', '-pf', '--kill-child'])
            with open('/proc/%d/task/%d/children' % (proxy.pid, proxy.pid), encoding='ascii') as children:
                child = int(children.read().split()[0])
            peers.tunnel_works(proxy.address())
            os.kill(child, signal.SIGUSR1)
            proxy.stderr.wait_for('^reloaded')
            peers.tunnel_works(proxy.address())
            os.kill(child, signal.SIGTERM)
            self.assertEqual(proxy.wait_exit(), 0)

    def test_under_nohup_the_hangup_is_ignored_and_usr1_reloads(self):
        with peers.Origin() as origin:
            with rig.Sluice(relay_to(origin), wrapper=['nohup']) as proxy:
                before = proxy.stderr.count()
                proxy.send_signal(signal.SIGHUP)
                peers.tunnel_works(proxy.address())
                time.sleep(0.3)
                self.assertEqual([line for line in proxy.stderr.all()[before:] if line.startswith('reload')], [])
                proxy.reload(by=signal.SIGUSR1)
                peers.tunnel_works(proxy.address())

    def test_with_an_empty_environment_in_the_root_folder(self):
        with peers.Origin() as origin:
            with rig.Sluice(relay_to(origin), wrapper=['env', '-i'], cwd='/') as proxy:
                peers.tunnel_works(proxy.address())


@rig.expand
class WithoutRing(rig.Case):
    """io_uring is refused by container runtimes, limits and administrators."""

    def _falls_back(self, wrapper):
        with peers.Origin() as origin:
            started = time.monotonic()
            with rig.Sluice(relay_to(origin), wrapper=wrapper, backend='auto') as proxy:
                self.assertLess(time.monotonic() - started, 2 if not rig.sanitized() else 6)
                line = proxy.stderr.wait_for('^event loop: ')
                peers.tunnel_works(proxy.address())
                return line

    def _refuses(self, wrapper):
        port = peers.free_port()
        started = time.monotonic()
        proxy = rig.Sluice('tcppm -i127.0.0.1 %d 127.0.0.1 1\n' % port, wrapper=wrapper, backend='uring', ready=False)
        self.assertEqual(proxy.wait_exit(), 1)
        self.assertLess(time.monotonic() - started, 3 if not rig.sanitized() else 8)
        self.assertTrue(proxy.stderr.matching('io_uring'), proxy.stderr.text())
        self.assertFalse(proxy.stderr.matching('^listening|^ready'))
        return proxy.stderr.matching('io_uring')[0]

    @rig.over(EPERM='EPERM', ENOSYS='ENOSYS', EACCES='EACCES')
    def test_seccomp_filter(self, error):
        wrapper = ['python3', REFUSER, error]
        line = self._falls_back(wrapper)
        self.assertRegex(line, r'^event loop: epoll \(.*io_uring')
        said = self._refuses(wrapper)
        text = os.strerror(getattr(errno, error))
        self.assertTrue(text in line or error in line, line)
        self.assertTrue(text in said or error in said, said)

    @rig.over(of_64_kb=64 << 10, of_nothing=0)
    def test_limit_of_locked_memory(self, limit):
        wrapper = ['prlimit', '--memlock=%d' % limit]
        self.assertRegex(self._falls_back(wrapper), r'^event loop: (io_uring|epoll) \(')

    def test_switch_of_the_administrator(self):
        path = '/proc/sys/kernel/io_uring_disabled'
        try:
            with open(path, encoding='ascii') as knob:
                before = knob.read().strip()
            if before != '2':
                with open(path, 'w', encoding='ascii') as knob:
                    knob.write('2')
        except OSError as error:
            self.skipTest('NOT RUN: %s cannot be set here (%s); the seccomp cases take the same way' % (path, error))
        try:
            self.assertRegex(self._falls_back([]), r'^event loop: epoll \(.*io_uring')
            self._refuses([])
        finally:
            with open(path, 'w', encoding='ascii') as knob:
                knob.write(before)

    def test_epoll_on_demand_says_so(self):
        with peers.Origin() as origin, rig.Sluice(relay_to(origin), backend='epoll') as proxy:
            self.assertRegex(proxy.stderr.wait_for('^event loop: '), r'^event loop: epoll \(.+\)$')


if __name__ == '__main__':
    rig.main()
