#!/usr/bin/env python3
"""The access log: right records, one line each, and a target that fails costs records, never time."""

import json
import os
import re
import signal
import statistics
import subprocess
import time

import rig
import peers
from peers import FIN


def log(target=''):
    return 'log %s\n%s' % (target, rig.RECORD_FORMAT)


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


@rig.expand
class Records(rig.Case):

    @rig.over(copied=('-s0', 'copy/copy'), spliced=('-s3', 'splice/splice'), automatic=('-s7', 'both/both'))
    def test_byte_counts_are_exact(self, variant):
        options, path = variant
        up, down = 3000017, 7000003

        def handler(sock, origin):
            origin.note(peers.digest_all(sock)[1])
            sock.sendall(bytes(down))

        with peers.Origin(handler) as origin:
            config = log() + 'tcppm %s -i127.0.0.1 0 127.0.0.1 %d\n' % (options, origin.port)
            with rig.Sluice(config) as proxy:
                with peers.connect(proxy.address()) as sock:
                    client = '%s:%d' % sock.getsockname()
                    sock.sendall(bytes(up))
                    peers.finish_sending(sock)
                    self.assertEqual(len(peers.receive_all(sock)[0]), down)
                record = rig.record_fields(proxy.stdout.wait_for('^TCPPM'))
        self.assertEqual(record['from_client'], up)
        self.assertEqual(record['from_upstream'], down)
        self.assertEqual((record['code'], record['result'], record['errno']), ('00000', 'ok', '-'))
        self.assertEqual(record['client'], client)
        self.assertEqual(record['upstream'], '127.0.0.1:%d' % origin.port)
        self.assertEqual(record['port'], proxy.port())
        self.assertEqual(record['path'], path)

    def test_default_record_has_the_fields_in_their_order(self):
        with peers.Origin() as origin, rig.Sluice('log\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port) as proxy:
            with peers.connect(proxy.address()) as sock:
                client = sock.getsockname()
                peers.check_echo(sock, b'12345')
                now = time.gmtime()
            line = proxy.stdout.wait_for('.')
        self.assertRegex(line, r'^%s\d{4}\.\d{3} %d 00000 - 127\.0\.0\.1:%d 127\.0\.0\.1:%d 5 5 0 ?$' %
                         (time.strftime('%y%m%d%H', now), proxy.port(), client[1], origin.port))

    def test_duration_and_direction(self):
        def handler(sock, _):
            sock.sendall(b'a banner of 24 bytes long'[:24])
            time.sleep(0.5)
            sock.recv(100)

        with peers.Origin(handler) as origin:
            with rig.Sluice(log() + 'tcppm -i::1 0 127.0.0.1 %d\n' % origin.port) as proxy:
                with peers.connect(proxy.address()) as sock:
                    sock.sendall(b'7 bytes')
                    peers.receive_all(sock)
                line = proxy.stdout.wait_for('^TCPPM')
        record = rig.record_fields(line)
        self.assertEqual((record['from_client'], record['from_upstream']), (7, 24))
        self.assertGreaterEqual(record['millis'], 490)
        self.assertLess(record['millis'], 3000)
        self.assertTrue(record['client'].startswith('::1:') or record['client'].startswith('[::1]:'), line)

    @rig.over(refused='refused', idle='idle', client_aborts='client', origin_aborts='origin')
    def test_result_names_what_happened(self, what):
        port = peers.free_port()

        def handler(sock, _):
            sock.recv(10)
            if what == 'origin':
                peers.abort(sock)
            else:
                peers.receive_all(sock)

        with peers.Origin(handler) as origin:
            config = log() + 'timeouts 1 5 30 60 1 1\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (
                port if what == 'refused' else origin.port)
            with rig.Sluice(config) as proxy:
                if what == 'refused':
                    peers.answer_of(proxy.address())
                else:
                    sock = peers.connect(proxy.address())
                    sock.sendall(b'hello')
                    rig.eventually(lambda: origin.accepted, 'the origin is reached')
                    if what == 'client':
                        time.sleep(0.1)
                        peers.abort(sock)
                    else:
                        peers.receive_all(sock)
                        sock.close()
                record = rig.record_fields(proxy.stdout.wait_for('^TCPPM'))
        expected = {
            'refused': ('00013', 'connect_refused', 'ECONNREFUSED'),
            'idle': ('00092', 'timeout', '-'),
            'client': ('00095', 'client_read_failed', 'ECONNRESET'),
            'origin': ('00096', 'upstream_read_failed', 'ECONNRESET'),
        }[what]
        self.assertEqual((record['code'], record['result'], record['errno']), expected)
        self.assertEqual(record['from_client'], 0 if what == 'refused' else 5)
        if what == 'refused':
            self.assertEqual(record['upstream'], '127.0.0.1:%d' % port)

    def test_json_parses_and_has_the_same_facts(self):
        with peers.Origin() as origin:
            config = 'log\nlogformat json\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port
            with rig.Sluice(config) as proxy:
                for i in range(3):
                    peers.tunnel_works(proxy.address(), b'x' * (i + 1))
                lines = proxy.stdout.wait_for(r'^\{', count=3)
        records = [json.loads(line) for line in lines]
        self.assertEqual(sorted(str(r.get('result')) for r in records), ['ok'] * 3)
        text = json.dumps(records)
        self.assertIn('127.0.0.1', text)
        self.assertIn(str(origin.port), text)
        counts = [sorted(v for v in r.values() if isinstance(v, int) and not isinstance(v, bool)) for r in records]
        for i, numbers in enumerate(counts):
            self.assertGreaterEqual(numbers.count(i + 1), 2, records[i])

    def test_logdump_tells_a_long_session_in_pieces_that_add_up(self):
        total = 5 << 20

        with peers.Origin(peers.source(bytes(total))) as origin:
            config = log() + 'logdump 1000000 1000000\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port
            with rig.Sluice(config) as proxy:
                data, ending = peers.answer_of(proxy.address())
                self.assertEqual((len(data), ending), (total, FIN))
                rig.eventually(lambda: sum(rig.record_fields(line)['from_upstream'] for line in proxy.stdout.all()) ==
                               total, lambda: 'the records add up: %s' % proxy.stdout.text())
                self.assertGreaterEqual(len(proxy.stdout.all()), 4)

    def test_path_of_a_unix_target_cannot_forge_a_line(self):
        """What a tcppm record carries of foreign text: a path with blanks, quotes and bytes that do not print."""
        folder = rig.scratch_folder()
        path = os.path.join(folder, 'a\x1b[2J\x7f')
        with peers.Origin(address=path):
            for form in (rig.RECORD_FORMAT, 'logformat json\n'):
                config = 'log\n' + form + 'tcppm -i127.0.0.1 0 unix:%s 1\n' % path
                with rig.Sluice(config) as proxy:
                    for _ in range(3):
                        peers.tunnel_works(proxy.address())
                    lines = proxy.stdout.wait_for('.', count=3)
                    self.assertEqual(len(proxy.stdout.all()), 3)
                    for line in lines:
                        self.assertFalse([c for c in line if ord(c) < 0x20 or ord(c) == 0x7f], line)
                        if 'json' in form:
                            json.loads(line)

    def test_one_line_a_session_under_load(self):
        with peers.Origin() as origin:
            folder = rig.scratch_folder()
            path = os.path.join(folder, 'access.log')
            config = log(path) + 'maxconn 1000\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port
            count = rig.size(600, 5000)
            with rig.Sluice(config) as proxy:
                for _ in range(count // 50):
                    peers.together(lambda i: peers.tunnel_works(proxy.address(), b'%03d' % i), range(50))
            lines = read(path).splitlines()
            self.assertEqual(len(lines), count)
            for line in lines:
                record = rig.record_fields(line)
                self.assertEqual((record['from_client'], record['from_upstream']), (3, 3))


class Rotation(rig.Case):

    def test_renamed_file_is_opened_anew_by_a_reload(self):
        with peers.Origin() as origin:
            folder = rig.scratch_folder()
            path = os.path.join(folder, 'access.log')
            config = log(path) + 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (peers.free_port(), origin.port)
            with rig.Sluice(config) as proxy:
                peers.tunnel_works(proxy.address(), b'1')
                rig.eventually(lambda: os.path.getsize(path) > 0, 'the first record is written')
                os.rename(path, path + '.1')
                proxy.reload()
                peers.tunnel_works(proxy.address(), b'22')
                rig.eventually(lambda: os.path.exists(path) and read(path), 'the new file has a record')
            self.assertEqual([rig.record_fields(x)['from_client'] for x in read(path + '.1').splitlines()], [1])
            self.assertEqual([rig.record_fields(x)['from_client'] for x in read(path).splitlines()], [2])

    def test_daily_file_carries_the_date(self):
        with peers.Origin() as origin:
            folder = rig.scratch_folder()
            config = 'log %s/access.log D\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (folder, origin.port)
            with rig.Sluice(config) as proxy:
                peers.tunnel_works(proxy.address())
                rig.eventually(lambda: any(os.path.getsize(os.path.join(folder, f)) for f in os.listdir(folder)),
                               'a record is written')
            names = os.listdir(folder)
            self.assertEqual(len(names), 1)
            self.assertRegex(names[0], r'^access\.log\.\d{4}\.?-?\d{2}\.?-?\d{2}$')


class Failing(rig.Case):
    """Each case: requests stay fast and memory bounded while the target fails; later the loss is told."""

    def _requests(self, address, count, rate=200):
        """Paced requests; returns their times."""
        took, begun = [], time.monotonic()
        for i in range(count):
            started = time.monotonic()
            peers.tunnel_works(address)
            took.append(time.monotonic() - started)
            time.sleep(max(0, begun + (i + 1) / rate - time.monotonic()))
        return took

    def _stays_fast(self, proxy, count=None):
        memory = peers.resident_bytes(proxy.pid)
        took = self._requests(proxy.address(), count or rig.size(300, 2000))
        self.assertLess(statistics.median(took), 0.02)
        self.assertLess(statistics.quantiles(took, n=20)[18], 0.2)
        if not rig.sanitized():
            self.assertLess(peers.resident_bytes(proxy.pid) - memory, 16 << 20)
        return took

    def _relay(self, origin):
        return 'maxconn 1000\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port

    def _flood(self, address, count):
        """Many short sessions, to fill the queues of the log."""
        peers.together(lambda _: [peers.tunnel_works(address, b'.') for _ in range(count // 16)], range(16))

    def test_fifo_whose_reader_has_stopped(self):
        folder = rig.scratch_folder()
        path = os.path.join(folder, 'fifo')
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with peers.Origin() as origin:
            # A long record fills pipe (64 KB), buffers and queue soon.
            form = 'logformat "L%%N %%E %s%%T"\n' % ('x' * 2000)
            with rig.Sluice('log %s\n' % path + form + self._relay(origin)) as proxy:
                self._flood(proxy.address(), 3200)
                self._stays_fast(proxy)
                got = bytearray()

                def drain():
                    try:
                        while True:
                            piece = os.read(reader, 1 << 16)
                            if not piece:
                                break
                            got.extend(piece)
                    except BlockingIOError:
                        pass
                    return re.search(rb'dropped \d+ records?', got)

                peers.tunnel_works(proxy.address())
                rig.eventually(drain, 'the gap is told in the log', 15)
                proxy.stderr.wait_for(r'(?i)dropped', 10)
                # And it records again.
                at = len(got)
                peers.tunnel_works(proxy.address())
                rig.eventually(lambda: drain() and b'TCPPM' in got[at:], 'records are written again')
                lines = bytes(got).split(b'\n')
                self.assertEqual(lines[-1], b'')
                for line in lines[:-1]:
                    self.assertTrue(line.startswith(b'TCPPM') or b'dropped' in line, line[:100])
        os.close(reader)

    def test_fifo_without_a_reader_and_one_that_leaves(self):
        folder = rig.scratch_folder()
        path = os.path.join(folder, 'fifo')
        os.mkfifo(path)
        with peers.Origin() as origin:
            with rig.Sluice(log(path) + self._relay(origin)) as proxy:
                self._stays_fast(proxy, 100)
                with open(path, 'rb') as reader:
                    rig.eventually(lambda: peers.tunnel_works(proxy.address()) is None and
                                   peers.readable_within(reader, 0.2), 'records reach the reader that came late', 10)
                self._stays_fast(proxy, 100)  # Writing to nobody again: no SIGPIPE.
                self.assertTrue(proxy.alive())

    def test_device_that_is_always_full(self):
        with peers.Origin() as origin, rig.Sluice(log('/dev/full') + self._relay(origin)) as proxy:
            self._stays_fast(proxy)
            proxy.stderr.wait_for(r'/dev/full.*No space left', 10)
            self.assertLess(proxy.stderr.count(), 30, 'complaints are not one a record')

    def test_file_system_that_fills_up_and_is_emptied(self):
        folder = rig.scratch_folder()
        mount = os.path.join(folder, 'small')
        os.mkdir(mount)
        done = subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mount], capture_output=True,
                              check=False)
        if done.returncode:
            self.skipTest('NOT RUN: tmpfs cannot be mounted here: %s' % done.stderr.decode().strip())
        try:
            with peers.Origin() as origin:
                form = 'logformat "L%%N %%E %s%%T"\n' % ('x' * 2000)
                path = os.path.join(mount, 'access.log')
                with rig.Sluice('log %s\n' % path + form + self._relay(origin)) as proxy:
                    filler = os.path.join(mount, 'filler')
                    with open(filler, 'wb') as out:
                        out.write(bytes(700 << 10))
                    self._flood(proxy.address(), 1600)
                    proxy.stderr.wait_for(r'(?i)no space left', 10)
                    self._stays_fast(proxy, 200)
                    os.remove(filler)
                    before = os.path.getsize(path)

                    def grows():
                        peers.tunnel_works(proxy.address())
                        return os.path.getsize(path) > before

                    rig.eventually(grows, 'records are written again')
                    rig.eventually(lambda: re.search(r'dropped \d+ record', read(path)) or
                                   not proxy.stderr.matching('(?i)dropped'), 'what was lost is told in the log')
                lines = read(path).splitlines()
                self.assertTrue(all(x.startswith('TCPPM') or 'dropped' in x for x in lines), 'no torn line')
        finally:
            subprocess.run(['umount', '-l', mount], check=False)

    def test_syslog_that_is_missing(self):
        if os.path.exists('/dev/log'):
            self.skipTest('NOT RUN: this machine has a /dev/log')
        with peers.Origin() as origin, rig.Sluice(log('@sluice-e2e') + self._relay(origin)) as proxy:
            self._stays_fast(proxy)
            proxy.stderr.wait_for(r'(?i)/dev/log|syslog', 10)
            self.assertLess(proxy.stderr.count(), 30)

    def test_standard_output_whose_reader_died(self):
        with peers.Origin() as origin:
            reader, writer = os.pipe()
            with rig.Sluice(log() + self._relay(origin), stdout=writer) as proxy:
                os.close(writer)
                peers.tunnel_works(proxy.address())
                self.assertTrue(os.read(reader, 10), 'the log is written')
                os.close(reader)
                self._stays_fast(proxy, 100)
                self.assertTrue(proxy.alive())

    def test_log_reader_that_stops_does_not_hold_the_end(self):
        reader, writer = os.pipe()
        with peers.Origin() as origin:
            form = 'logformat "L%%N %%E %s%%T"\n' % ('x' * 3000)
            proxy = rig.Sluice('log\n' + form + self._relay(origin), stdout=writer)
            os.close(writer)
            self._flood(proxy.address(), 320)
            started = time.monotonic()
            proxy.send_signal(signal.SIGTERM)
            self.assertEqual(proxy.wait_exit(15), 0)
            self.assertLess(time.monotonic() - started, 6)
        os.close(reader)


if __name__ == '__main__':
    rig.main()
