#!/usr/bin/env python3
"""Starts and reloads where the surroundings do not play along: pipes nobody reads, limits, paths, ports of our own."""

import os
import resource
import signal
import subprocess

import rig
import peers


def relay_to(port, options='-i127.0.0.1', at=0):
    return 'tcppm %s %d 127.0.0.1 %d\n' % (options, at, port)


@rig.expand
class Surroundings(rig.Case):

    def test_term_is_heard_while_nobody_reads_standard_error(self):
        folder = rig.scratch_folder()
        path = os.path.join(folder, 'sluice.cfg')
        port = peers.free_port()
        with peers.Origin() as origin:
            with open(path, 'w', encoding='utf-8') as config:
                config.write(relay_to(origin.port, at=port))
            read_end, write_end = os.pipe()
            # A page of a pipe holds one short line if it must: it is full after sixteen of them.
            process = subprocess.Popen([rig.BINARY, path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=write_end)
            try:
                rig.eventually(lambda: peers.listeners(port), 'the port')
                os.set_blocking(write_end, False)
                with self.assertRaises(BlockingIOError):
                    while True:
                        os.write(write_end, b'x' * 4096)
                os.set_blocking(write_end, True)
                for _ in range(20):
                    os.kill(process.pid, signal.SIGHUP)
                    peers.tunnel_works(('127.0.0.1', port))
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(10), 0)
            finally:
                process.kill()
                process.wait()
                os.close(read_end)
                os.close(write_end)

    @rig.over(of_the_configuration='', of_an_included_file='include ')
    def test_reload_of_a_pipe_is_refused_and_hangs_nothing(self, include):
        folder = rig.scratch_folder()
        pipe, path = os.path.join(folder, 'pipe'), os.path.join(folder, 'sluice.cfg')
        os.mkfifo(pipe)
        with peers.Origin() as origin:
            if include:
                with open(path, 'w', encoding='utf-8') as config:
                    config.write('include %s\n' % pipe)
            process = subprocess.Popen([rig.BINARY, path if include else pipe], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                with open(pipe, 'w', encoding='utf-8') as writer:
                    writer.write(relay_to(origin.port))
                said = rig.Lines(process.stderr)
                said.wait_for('^ready')
                address = rig.parse_address(said.matching('^listening')[0].split()[2])
                process.send_signal(signal.SIGHUP)
                said.wait_for('failed: nothing was changed')
                self.assertTrue(said.matching('error: .*it is a pipe'))
                peers.tunnel_works(address)
                process.send_signal(signal.SIGTERM)
                self.assertEqual(process.wait(10), 0)
            finally:
                process.kill()
                process.wait()

    def test_no_memory_for_threads_is_an_error_and_no_abort(self):
        self.need_plain_build('A limit of address space')
        folder = rig.scratch_folder()
        path = os.path.join(folder, 'sluice.cfg')
        with open(path, 'w', encoding='utf-8') as config:
            config.write(relay_to(9, '-iunix:%s/listener' % folder))
        limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (60 << 20, 60 << 20))
        done = subprocess.run([rig.BINARY, '--workers=64', path], stdin=subprocess.DEVNULL, capture_output=True,
                              preexec_fn=limit, timeout=20, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.decode(), r'(?m)thread of worker \d+ of 64: Resource temporarily unavailable')
        self.assertEqual(os.listdir(folder), ['sluice.cfg'])


@rig.expand
class Leftovers(rig.Case):

    def test_failed_reload_leaves_no_socket_file(self):
        with peers.Origin() as origin, rig.Sluice(relay_to(origin.port)) as proxy:
            before = peers.descriptor_count(proxy.pid)
            good = relay_to(origin.port)
            said = proxy.reload(good + relay_to(9, '-iunix:{folder}/new') + relay_to(9, '-i192.0.2.1'))
            self.assertIn('failed', said)
            self.assertEqual(os.listdir(proxy.folder), ['sluice.cfg'])
            self.assertEqual(peers.descriptor_count(proxy.pid), before)
            self.assertIn('reloaded', proxy.reload(good + relay_to(origin.port, '-iunix:{folder}/new')))
            peers.tunnel_works(os.path.join(proxy.folder, 'new'))

    @rig.over(second_service=relay_to(9, '-i192.0.2.1'), user='setuid nobody-of-this-name\n')
    def test_failed_start_leaves_no_socket_file_and_no_pid_file(self, bad):
        folder = rig.scratch_folder()
        config = 'pidfile %s/pid\n%s%s' % (folder, relay_to(9, '-iunix:%s/listener' % folder), bad)
        status, _, said = rig.run('-', stdin=config.encode())
        self.assertEqual(status, 1, said)
        self.assertEqual(os.listdir(folder), [], said)

    def test_two_services_on_one_socket_file_are_told_from_another_process(self):
        folder = rig.scratch_folder()
        line = relay_to(9, '-iunix:%s/listener' % folder)
        status, _, said = rig.run('-', stdin=(line + line).encode())
        self.assertEqual(status, 1)
        self.assertRegex(said, r'<stdin>:2: error: .*another service listens there')


@rig.expand
class Addresses(rig.Case):

    def test_reload_moves_a_service_to_all_addresses_of_its_port_and_back(self):
        port = peers.free_port()
        with peers.Origin() as origin, rig.Sluice(relay_to(origin.port, at=port)) as proxy:
            for options in ('', '-i127.0.0.1', '-i0.0.0.0'):
                self.assertIn('reloaded', proxy.reload(relay_to(origin.port, options, at=port)))
                peers.tunnel_works(('127.0.0.1', port))

    @rig.over(backlog=('backlog 7\n', ''), option=('', '-olTCP_DEFER_ACCEPT=5 '), interface=('', '-Dilo '))
    def test_what_a_reload_cannot_change_on_an_open_port_is_warned_of(self, change):
        before, option = change
        port = peers.free_port()
        with peers.Origin() as origin, rig.Sluice(relay_to(origin.port, at=port)) as proxy:
            self.assertIn('reloaded', proxy.reload(relay_to(origin.port, at=port)))
            self.assertEqual(proxy.stderr.matching('warning'), [])
            self.assertIn('reloaded', proxy.reload(before + relay_to(origin.port, option + '-i127.0.0.1', at=port)))
            self.assertTrue(proxy.stderr.matching(r'TCPPM 127\.0\.0\.1:%d .*warning: .*restart' % port))
            peers.tunnel_works(proxy.address())

    def test_small_burst_at_many_workers_waits_for_no_second(self):
        """Each worker's queue holds a burst: a client that finds it full tries again after a second."""
        with peers.Origin() as origin, rig.Sluice('maxconn 100\n' + relay_to(origin.port), '--workers=16') as proxy:
            self.need('ss')
            shares = listen_queues(proxy.port())
            self.assertEqual(len(shares), 16)
            self.assertGreaterEqual(min(shares), 32)


def listen_queues(port):
    """The most clients that may wait for accept(), for each listening socket of `port`."""
    lines = subprocess.run(['ss', '-ltnH', 'sport = :%d' % port], capture_output=True, check=True).stdout.decode()
    return [int(line.split()[2]) for line in lines.splitlines()]


@rig.expand
class Ends(rig.Case):

    @rig.over(copied='-s0', spliced='-s3', spliced_soon='-s7:1,1,1')
    def test_urgent_byte_right_before_the_end_arrives(self, options):
        received = []

        def keep(sock, _):
            received.append(peers.receive_all(sock))

        with peers.Origin(keep) as origin, rig.Sluice(relay_to(origin.port, '-i127.0.0.1 ' + options)) as proxy:
            for round_number in range(20):
                with peers.connect(proxy.address()) as client:
                    sent = os.urandom(100) * (1 + round_number * 50)
                    client.sendall(sent)
                    client.send(b'!', peers.socket.MSG_OOB)
                    peers.finish_sending(client)
                    client.recv(1)
                rig.eventually(lambda: len(received) > round_number, 'the end')
                self.assertEqual(received[round_number][0][len(sent):], b'!')


if __name__ == '__main__':
    rig.main()
