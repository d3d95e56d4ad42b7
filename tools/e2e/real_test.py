#!/usr/bin/env python3
"""Programs that people really run, at both ends of the relay."""

import hashlib
import json
import os
import re
import shutil
import statistics
import subprocess
import threading
import time

import rig
import peers
from peers import FIN
from real_programs import Program

PATHS = {'copied': '-s0', 'spliced': '-s3', 'automatic': '-s7'}


def relay(options, port):
    return 'maxconn 1000\ntcppm %s -i127.0.0.1 0 127.0.0.1 %d\n' % (options, port)


def output_of(*command, stdin=None, limit=60):
    """stdout of a program that must succeed."""
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=limit, check=False)
    if done.returncode:
        raise AssertionError('%s: exit status %d: %s' % (' '.join(command), done.returncode,
                                                        (done.stderr + done.stdout).decode('utf-8', 'replace')[-2000:]))
    return done.stdout


class Nginx(Program):
    """nginx with a small and a large file."""

    def __init__(self):
        self.port, folder = peers.free_port(), rig.scratch_folder()
        os.chmod(folder, 0o755)
        self.large = peers.payload(rig.size(20 << 20, 200 << 20))
        for name, data in (('small', b'a small answer\n'), ('large', self.large)):
            with open(os.path.join(folder, name), 'wb') as out:
                out.write(data)
        with open(os.path.join(folder, 'nginx.conf'), 'w', encoding='ascii') as out:
            # Its own user: in a user namespace there is no other.
            out.write('user root root;\ndaemon off;\nmaster_process off;\npid %s/pid;\nerror_log stderr;\n'
                      'worker_processes 1;\nevents { worker_connections 500; }\n'
                      'http { access_log off; sendfile on; keepalive_requests 100000;'
                      ' client_body_temp_path %s/b; proxy_temp_path %s/p; fastcgi_temp_path %s/f; uwsgi_temp_path %s/u;'
                      ' scgi_temp_path %s/s; server { listen 127.0.0.1:%d; root %s; } }\n' %
                      ((folder,) * 6 + (self.port, folder)))
        super().__init__(self.port, 'nginx', '-e', 'stderr', '-c', os.path.join(folder, 'nginx.conf'))


@rig.expand
class Web(rig.Case):

    @classmethod
    def setUpClass(cls):
        cls.nginx = None
        if shutil.which('nginx') and shutil.which('curl'):
            cls.nginx = Nginx()
            cls.proxy = rig.Sluice(''.join(relay(options, cls.nginx.port) for options in PATHS.values()))

    @classmethod
    def tearDownClass(cls):
        if cls.nginx:
            cls.proxy.stop()
            cls.nginx.__exit__()

    def setUp(self):
        self.need('nginx', 'curl')

    def _url(self, options, name):
        return 'http://127.0.0.1:%d/%s' % (self.proxy.port(list(PATHS.values()).index(options)), name)

    @rig.over(**PATHS)
    def test_hundred_requests_on_one_connection(self, options):
        url = self._url(options, 'small')
        out = output_of('curl', '-sS', '--fail', '-w', '%{num_connects} ', *[url] * 100)
        self.assertEqual(out.count(b'a small answer'), 100)
        connects = [int(n) for n in re.findall(rb'(\d+) ', out.replace(b'a small answer\n', b''))]
        self.assertEqual((len(connects), sum(connects)), (100, 1))

    @rig.over(**PATHS)
    def test_large_file_has_the_digest_of_the_original(self, options):
        out = output_of('curl', '-sS', '--fail', self._url(options, 'large'))
        self.assertEqual(hashlib.sha256(out).hexdigest(), hashlib.sha256(self.nginx.large).hexdigest())

    @rig.over(**PATHS)
    def test_many_parallel_downloads(self, options):
        targets = [a for i in range(60) for a in ('-o', '/dev/null', self._url(options, 'small?%d' % i))]
        out = output_of('curl', '-sS', '--fail', '--parallel', '--parallel-max', '20', '--http1.1', '-w',
                        '%{http_code} ', *targets)
        self.assertEqual(out.split(), [b'200'] * 60)


@rig.expand
class Throughput(rig.Case):

    @rig.over(**PATHS)
    def test_iperf3_in_both_directions(self, options):
        self.need('iperf3')
        port = peers.free_port()
        with Program(port, 'iperf3', '-s', '-p', str(port), '-B', '127.0.0.1'):
            with rig.Sluice(relay(options, port)) as proxy:
                for extra in ([], ['-R']):
                    out = output_of('iperf3', '-c', '127.0.0.1', '-p', str(proxy.port()), '-t', str(rig.size(1, 10)),
                                    '-J', *extra)
                    result = json.loads(out)['end']['sum_received']
                    print('iperf3 %s %s: %.1f Gbit/s' % (options, ' '.join(extra), result['bits_per_second'] / 1e9))
                    self.assertGreater(result['bits_per_second'], 1e8 if not rig.sanitized() else 1e7)


@rig.expand
class Interactive(rig.Case):

    @rig.over(**PATHS)
    def test_single_keystrokes_echo_at_once(self, options):
        with peers.Origin() as origin, rig.Sluice(relay(options, origin.port)) as proxy:
            with peers.connect(proxy.address()) as sock:
                trips = []
                for i in range(300):
                    started = time.monotonic()
                    peers.check_echo(sock, bytes([i & 255]))
                    trips.append(time.monotonic() - started)
                    time.sleep(0.002)
        self.assertLess(statistics.median(trips), 0.01)
        self.assertLess(statistics.quantiles(trips, n=20)[18], 0.1)

    def test_keystrokes_beside_a_bulk_transfer(self):
        """One session that moves all it can does not hold the others on its worker."""
        flood = threading.Event()

        def handler(sock, _):
            if sock.recv(1) == b'b':
                while not flood.is_set():
                    sock.sendall(bytes(1 << 18))
            else:
                peers.echo(sock, None)

        with peers.Origin(handler) as origin, rig.Sluice(relay('-s7', origin.port), '--workers=1') as proxy:
            bulk = peers.connect(proxy.address())
            bulk.sendall(b'b')
            moved = [0]

            def drain():
                buffer = bytearray(1 << 18)
                while not flood.is_set():
                    moved[0] += bulk.recv_into(buffer)

            thread = threading.Thread(target=drain, daemon=True)
            thread.start()
            with peers.connect(proxy.address()) as sock:
                sock.sendall(b'k')
                trips = []
                for i in range(100):
                    started = time.monotonic()
                    peers.check_echo(sock, bytes([i & 255]))
                    trips.append(time.monotonic() - started)
                    time.sleep(0.005)
            flood.set()
            thread.join(5)
            bulk.close()
        self.assertGreater(moved[0], 10 << 20)
        self.assertLess(statistics.median(trips), 0.05)


@rig.expand
class HalfClose(rig.Case):

    @rig.over(**PATHS)
    def test_netcat_uploads_shuts_down_and_gets_its_receipt(self, options):
        self.need('nc')
        with peers.Origin(peers.count_upload) as origin, rig.Sluice(relay(options, origin.port)) as proxy:
            out = output_of('nc', '-N', '127.0.0.1', str(proxy.port()), stdin=bytes(5000000))
        self.assertEqual(out, b'FIN 5000000')

    @rig.over(**PATHS)
    def test_socat_pipes_a_file_through_sort(self, options):
        """The origin is a program that answers only after the end of its input."""
        self.need('socat', 'sort')
        port = peers.free_port()
        lines = [b'%06d' % (i * 7919 % 100003) for i in range(50000)]
        with Program(port, 'socat', 'TCP-LISTEN:%d,bind=127.0.0.1,fork,reuseaddr' % port, 'EXEC:sort'):
            with rig.Sluice(relay(options, port)) as proxy:
                out = output_of('socat', '-t', '30', '-', 'TCP:127.0.0.1:%d' % proxy.port(),
                                stdin=b'\n'.join(lines) + b'\n')
        self.assertEqual(out.split(), sorted(lines))

    def test_through_another_relay(self):
        """haproxy behind sluice: ends and bytes pass both."""
        self.need('haproxy')
        with peers.Origin(peers.count_upload) as origin:
            port, folder = peers.free_port(), rig.scratch_folder()
            path = os.path.join(folder, 'haproxy.cfg')
            with open(path, 'w', encoding='ascii') as out:
                out.write('defaults\n mode tcp\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n'
                          'listen relay\n bind 127.0.0.1:%d\n server origin 127.0.0.1:%d\n' % (port, origin.port))
            with Program(port, 'haproxy', '-db', '-f', path), rig.Sluice(relay('-s7', port)) as proxy:
                for _ in range(10):
                    with peers.connect(proxy.address()) as sock:
                        sock.sendall(bytes(1000000))
                        peers.finish_sending(sock)
                        self.assertEqual(peers.receive_all(sock), (b'FIN 1000000', FIN))


class GraceDelay(rig.Case):
    """-g: fewer and larger reads of a steady stream of small pieces."""

    def _reads(self, options, pieces=1000):
        """How many pieces a stream of 200 bytes every millisecond arrives in; (reads, bytes, longest delay)."""

        def handler(sock, _):
            begun = time.monotonic()
            for i in range(pieces):
                sock.sendall(b'%-20.6f' % time.monotonic() * 10)
                time.sleep(max(0, begun + (i + 1) / 1000 - time.monotonic()))

        with peers.Origin(handler) as origin, rig.Sluice(relay(options, origin.port)) as proxy:
            with peers.connect(proxy.address()) as sock:
                reads, data, latest = 0, bytearray(), []
                while True:
                    piece = sock.recv(1 << 16)
                    if not piece:
                        break
                    reads += 1
                    data += piece
                    now = time.monotonic()
                    latest.append(now - float(data[len(data) // 20 * 20 - 20:len(data) // 20 * 20]))
        self.assertEqual(len(data), pieces * 200)
        stamps = [float(data[i:i + 20]) for i in range(0, len(data), 200)]
        self.assertEqual(stamps, sorted(stamps), 'the stream is in order')
        return reads, statistics.median(latest)

    def test_small_pieces_are_gathered(self):
        plain, _ = self._reads('-s0')
        gathered, _ = self._reads('-s0 -g8000,2,20')
        self.assertGreater(plain, 200)
        # At most one read in 20 ms, and two more at the begin of each second: some 60 for the whole stream.
        self.assertLess(gathered, plain / 3, 'reads of %d pieces: %d plain, %d gathered' % (1000, plain, gathered))

    def test_last_piece_of_each_gathered_read_is_fresh(self):
        """The wait comes before the read: what arrives last is not held for the whole delay."""
        _, delay = self._reads('-s0 -g8000,2,2')
        self.assertLess(delay, 0.03)

    def test_question_and_answer_is_not_delayed(self):
        """Each read of the other direction restarts the count."""
        with peers.Origin() as origin, rig.Sluice(relay('-g8000,2,100', origin.port)) as proxy:
            with peers.connect(proxy.address()) as sock:
                started = time.monotonic()
                for _ in range(30):
                    peers.check_echo(sock, b'question')
                self.assertLess(time.monotonic() - started, 1.5)

    def test_bulk_is_not_delayed(self):
        data = peers.payload(20 << 20)
        with peers.Origin(peers.source(data)) as origin, rig.Sluice(relay('-s0 -g1000,2,50', origin.port)) as proxy:
            started = time.monotonic()
            received, ending = peers.answer_of(proxy.address(), timeout=30)
            self.assertEqual((len(received), ending), (len(data), FIN))
            self.assertEqual(received, data)
            self.assertLess(time.monotonic() - started, 5 if not rig.sanitized() else 20)


if __name__ == '__main__':
    rig.main()
