#!/usr/bin/env python3
"""TLS that the proxy speaks itself: to clients (ssl_serv), to upstreams (ssl_cli), with other programs at the far end."""

import hashlib
import os
import shutil
import socket
import ssl
import subprocess
import threading

import rig
import peers
import socks_peer as socks
from peers import FIN, RST
from real_programs import Program

FOLDER = os.path.abspath('testdata/tls')
VERSIONS = {'tls12': ssl.TLSVersion.TLSv1_2, 'tls13': ssl.TLSVersion.TLSv1_3}
LOG = 'log\nlogformat "L%N %E %{result} %{errno} %{path} %O %I %T"\n'
# A handshake has 2 s.
QUICK = 'timeouts 1 2 2 5 20 20\n'
SERVE = 'ssl_server_cert {certs}/server.pem\nssl_server_key {certs}/server.key\nssl_serv\n'
CONNECT = 'ssl_client_verify\nssl_client_ca_file {certs}/ca.pem\nssl_cli\n'


def pem(name):
    return os.path.join(FOLDER, name)


def configuration(text):
    return text.replace('{certs}', FOLDER)


def client_context(version=None, certificate=None):
    context = ssl.create_default_context(cafile=pem('ca.pem'))
    if version:
        context.minimum_version = context.maximum_version = version
    if certificate:
        context.load_cert_chain(pem(certificate + '.pem'), pem(certificate + '.key'))
    return context


def server_context(version=None, name='server'):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem(name + '.pem'), pem(name + '.key'))
    if version:
        context.minimum_version = context.maximum_version = version
    return context


class Tls:
    """A session over a socket that can end one direction by itself, which the library's sockets cannot."""

    def __init__(self, sock, context, server_side=False, host='localhost', session=None):
        self.sock = sock
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_side=server_side,
                                    server_hostname=None if server_side else host, session=session)
        self._until(self.tls.do_handshake)

    def _flush(self):
        data = self._out.read()
        if data:
            self.sock.sendall(data)

    def _until(self, call):
        while True:
            try:
                result = call()
                self._flush()
                return result
            except ssl.SSLWantReadError:
                self._flush()
                data = self.sock.recv(1 << 17)
                if data:
                    self._in.write(data)
                else:
                    self._in.write_eof()

    def send(self, data):
        view = memoryview(data)
        for at in range(0, len(view), 1 << 16):
            self.tls.write(view[at:at + (1 << 16)])
            self._flush()

    def finish(self):
        """close_notify and FIN."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self._flush()
        self.sock.shutdown(socket.SHUT_WR)

    def recv(self, count=1 << 16):
        """b'' at close_notify; ssl.SSLEOFError where there is none."""
        try:
            return self._until(lambda: self.tls.read(count))
        except ssl.SSLZeroReturnError:
            return b''

    def receive_all(self):
        parts = []
        while True:
            part = self.recv()
            if not part:
                return b''.join(parts)
            parts.append(part)

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def over_tls(context, handler):
    """A handler of an Origin that speaks TLS; `handler` gets the session."""

    def serve(sock, origin):
        with Tls(sock, context, server_side=True) as session:
            handler(session, origin)

    return serve


def echo(session, _):
    while True:
        data = session.recv()
        if not data:
            break
        session.send(data)
    session.finish()
    session.sock.recv(1)


def digest_then_answer(size):
    """Reads to the end, notes what it was, sends `size` bytes and ends."""

    def handler(stream, origin):
        whole = stream.receive_all() if isinstance(stream, Tls) else peers.receive_all(stream)[0]
        origin.note(hashlib.sha256(whole).hexdigest())
        answer = peers.payload(size, 7)
        stream.send(answer) if isinstance(stream, Tls) else stream.sendall(answer)
        if isinstance(stream, Tls):
            stream.finish()
            stream.sock.recv(1)

    return handler


class Rigged(rig.Case):
    """tcppm with TLS towards the client, towards the origin, towards both; proxy and socks with TLS towards clients."""

    @classmethod
    def setUpClass(cls):
        cls.plain, cls.secure = peers.Origin(), peers.Origin()
        cls.proxy = rig.Sluice(configuration(
            QUICK + LOG + SERVE + 'tcppm -i127.0.0.1 0 127.0.0.1 %d\n' % cls.plain.port + CONNECT +
            'tcppm -i127.0.0.1 0 localhost %d\nssl_noserv\ntcppm -i127.0.0.1 0 127.0.0.1 %d\nssl_nocli\nssl_serv\n'
            'proxy -p0 -i127.0.0.1\nsocks -p0 -i127.0.0.1\n' % (cls.secure.port, cls.secure.port)))

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()
        cls.plain.close()
        cls.secure.close()

    def setUp(self):
        self.plain.forget(peers.echo)
        self.secure.forget(over_tls(server_context(), echo))
        self.lines = self.proxy.stdout.count()

    def record(self, pattern, seconds=10):
        return self.proxy.stdout.wait_for(pattern, seconds, after=self.lines)

    def dial(self, service, version=None, **options):
        return Tls(peers.connect(self.proxy.address(service)), client_context(version, **options))


@rig.expand
class Relaying(Rigged):
    """Bytes and ends, through each role."""

    @rig.over(**VERSIONS)
    def test_bulk_both_ways(self, version):
        """20 MB up, an end of its own, 20 MB down, an end; in each role."""
        count = rig.size(20_000_000, 1 << 30)
        data = peers.payload(20_000_000)
        up = hashlib.sha256()
        for _ in range(count // len(data)):
            up.update(data)
        down = hashlib.sha256(peers.payload(20_000_000, 7)).hexdigest()
        self.plain.handler = digest_then_answer(20_000_000)
        self.secure.handler = over_tls(server_context(version), digest_then_answer(20_000_000))
        for service in (0, 1, 2):
            if service == 2:
                sock = peers.connect(self.proxy.address(2))
                for _ in range(count // len(data)):
                    sock.sendall(data)
                peers.finish_sending(sock)
                answer, ending = peers.receive_all(sock)
                self.assertEqual(ending, FIN)
                sock.close()
            else:
                with self.dial(service, version) as session:
                    for _ in range(count // len(data)):
                        session.send(data)
                    session.finish()
                    answer = session.receive_all()
                    self.assertEqual(session.tls.version(), version.name.replace('_', '.'))
            self.assertEqual(hashlib.sha256(answer).hexdigest(), down)
            origin = self.plain if service == 0 else self.secure
            self.assertEqual(origin.wait_seen(1 if service < 2 else 2)[-1], up.hexdigest())
        self.proxy.stdout.wait_for(r'TCPPM 00000 ok - copy', count=3, after=self.lines)

    def test_origin_that_speaks_first(self):
        self.plain.handler = peers.source(b'220 hello\r\n')
        with self.dial(0) as session:
            self.assertEqual(session.receive_all(), b'220 hello\r\n')

    def test_client_that_only_sends_and_goes(self):
        """No ticket waits unread to turn its close into a reset that destroys what it has sent."""
        self.plain.handler = peers.sink
        data = peers.payload(1_000_000)
        for _ in range(rig.size(10, 200)):
            session = self.dial(0)
            session.send(data)
            session.finish()
            session.close()
        for seen, ending in self.plain.wait_seen(rig.size(10, 200)):
            self.assertEqual((len(seen), ending), (len(data), FIN))

    def test_stream_that_is_cut_does_not_look_whole(self):
        self.plain.handler = peers.sink
        with self.dial(0) as session:
            session.send(b'not all')
            session.sock.shutdown(socket.SHUT_WR)
            self.assertEqual(self.plain.wait_seen()[0], (b'not all', RST))
        self.record(r'TCPPM 00095 client_tls_truncated ECONNABORTED')

        def cut(session, _):
            session.send(b'not all')
            session.sock.shutdown(socket.SHUT_WR)
            session.sock.recv(1)

        self.secure.handler = over_tls(server_context(), cut)
        with peers.connect(self.proxy.address(2)) as sock:
            self.assertEqual(peers.receive_all(sock), (b'not all', RST))
        self.record(r'TCPPM 00096 upstream_tls_truncated ECONNABORTED')

    def test_garbage_ends_the_session(self):
        with self.dial(0) as session:
            session.sock.sendall(b'\x17\x03\x03\x00\x20' + b'x' * 32)
            with self.assertRaises((ssl.SSLError, OSError)):
                while session.recv():
                    pass
        self.record(r'TCPPM 00095 client_tls_failed EBADMSG')

    def test_keys_change_under_way(self):
        self.need('openssl')
        with subprocess.Popen(
            ['openssl', 's_client', '-connect', '127.0.0.1:%d' % self.proxy.port(0), '-CAfile', pem('ca.pem'),
             '-tls1_3'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as peer:
            said = rig.Lines(peer.stdout)
            said.wait_for('Verify return code: 0')
            for i in range(5):
                peer.stdin.write(b'K\n')
                peer.stdin.flush()
                said.wait_for('KEYUPDATE', count=i + 1)
                peer.stdin.write(b'round %d\n' % i)
                peer.stdin.flush()
                said.wait_for('^round %d$' % i)
            peer.kill()

    def test_stalled_reader_holds_little(self):
        self.need_plain_build('memory')
        stop, sent = threading.Event(), [0]

        def endless(sock, _):
            while not stop.is_set():
                sent[0] += sock.send(b'x' * 65536)

        def stands_still():
            before = sent[0]
            return before and not stop.wait(0.2) and sent[0] == before

        self.plain.handler = endless
        with self.dial(0) as session:
            before = peers.resident_bytes(self.proxy.pid)
            session.recv(1)
            rig.eventually(stands_still, 'every buffer on the way is full')
            self.assertLess(peers.resident_bytes(self.proxy.pid) - before, 3_000_000)
            stop.set()
            peers.abort(session.sock)
        peers.tunnel_works(self.proxy.address(2))

    def test_aborted_download_ends_one_session(self):
        def flood(sock, _):
            for _ in range(100):
                sock.sendall(b'x' * 65536)

        for service in (0, 1):
            self.plain.handler = flood
            self.secure.handler = over_tls(server_context(), lambda s, _: [s.send(b'x' * 65536) for _ in range(100)])
            for _ in range(5):
                session = self.dial(service)
                session.recv()
                peers.abort(session.sock)
        self.assertTrue(self.proxy.alive())


class Handshakes(Rigged):
    """Who is let in, how long it may take, and what is resumed."""

    def test_resumption_with_clients(self):
        for version in VERSIONS.values():
            context, session = client_context(version), None
            for again in (False, True):
                with Tls(peers.connect(self.proxy.address(0)), context, session=session) as tls:
                    tls.send(b'x')
                    self.assertEqual(tls.recv(), b'x')
                    self.assertEqual(tls.tls.session_reused, again, version)
                    session = tls.tls.session

    def test_resumption_with_upstreams(self):
        for version in VERSIONS.values():
            reused, context = [], server_context(version)

            def once(session, origin):
                reused.append(session.tls.session_reused)
                echo(session, origin)

            self.secure.handler = over_tls(context, once)
            for i in range(3):
                with peers.connect(self.proxy.address(2)) as sock:
                    peers.check_echo(sock)
                    peers.finish_sending(sock)
                    peers.receive_all(sock)
                rig.eventually(lambda: len(reused) == i + 1, 'the origin served it')
            self.assertEqual(reused, [False, True, True], version)

    def test_wrong_upstreams_are_refused(self):
        wrong = configuration(QUICK + LOG + CONNECT + 'tcppm -i127.0.0.1 0 127.0.0.1 %d\nssl_client_sni elsewhere.test\n'
                              'tcppm -i127.0.0.1 0 127.0.0.1 %d\nssl_client_sni\nssl_client_ca_file {certs}/ca2.pem\n'
                              'proxy -p0 -i127.0.0.1\nsocks -p0 -i127.0.0.1\n' % (self.plain.port, self.secure.port))
        self.plain.handler = peers.source(b'220 hello\r\n')  # no TLS at all
        with rig.Sluice(wrong) as proxy:
            for service in (0, 1):
                self.assertEqual(peers.answer_of(proxy.address(service), b'secret')[0], b'')
                proxy.stdout.wait_for('TCPPM 00096 upstream_tls_failed EPROTO .* upstream TLS: ', count=service + 1)
            proxy.stdout.wait_for(r'hostname mismatch')
            target = 'http://127.0.0.1:%d/' % self.secure.port
            answer = peers.answer_of(proxy.address(2), b'GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' %
                                     target.encode())[0]
            self.assertIn(b'HTTP/1.1 502 ', answer)
            with peers.connect(proxy.address(3)) as sock:
                sock.sendall(socks.NO_AUTH + socks.request5('127.0.0.1', self.secure.port))
                answer = peers.receive_all(sock)[0]
                self.assertEqual(answer[:2], b'\x05\x00')
                self.assertNotEqual(answer[3], 0)
        self.assertEqual(self.secure.seen, [])

    def test_client_certificates(self):
        text = configuration(QUICK + LOG + SERVE + 'ssl_server_verify\nssl_server_ca_file {certs}/ca.pem\n'
                             'tcppm -i127.0.0.1 0 127.0.0.1 %d\nssl_noserv\n' % self.plain.port + CONNECT +
                             'ssl_client_cert {certs}/client.pem\nssl_client_key {certs}/client.key\n'
                             'tcppm -i127.0.0.1 0 127.0.0.1 %d\n' % self.secure.port)
        asks = server_context()
        asks.load_verify_locations(pem('ca.pem'))
        asks.verify_mode = ssl.CERT_REQUIRED
        self.secure.handler = over_tls(asks, echo)
        with rig.Sluice(text) as proxy:
            with Tls(peers.connect(proxy.address(0)), client_context(certificate='client')) as session:
                session.send(b'known')
                self.assertEqual(session.recv(), b'known')
            for name in ('stranger', None):
                with self.assertRaises((ssl.SSLError, OSError)):
                    with Tls(peers.connect(proxy.address(0)), client_context(certificate=name)) as session:
                        session.send(b'x')
                        session.recv()
            proxy.stdout.wait_for('TCPPM 00095 client_tls_failed EPROTO .* TLS: certificate verify failed', count=1)
            proxy.stdout.wait_for('TLS: peer did not return a certificate')
            peers.tunnel_works(proxy.address(1))

    def test_names_choose_certificates(self):
        text = configuration('ssl_server_cert {certs}/server.pem\nssl_server_key {certs}/server.key\n'
                             'ssl_server_cert {certs}/other.pem\nssl_server_key {certs}/other.key\nssl_serv\n'
                             'tcppm -i127.0.0.1 0 127.0.0.1 %d\n' % self.plain.port)
        with rig.Sluice(text) as proxy:
            for host in ('localhost', 'other.test', 'OTHER.test', 'www.example.test'):
                with Tls(peers.connect(proxy.address(0)), client_context(), host=host) as session:
                    session.send(b'x')
                    self.assertEqual(session.recv(), b'x')

    def test_clients_that_never_finish(self):
        """Silent ones and ones that drip are gone in their time, and hold nobody up meanwhile."""
        hello = b'\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'
        silent = [peers.connect(self.proxy.address(0)) for _ in range(10)]
        dripping = [peers.connect(self.proxy.address(0)) for _ in range(10)]
        for sock in dripping:
            sock.sendall(hello[:5])
        with self.dial(0) as session:
            session.send(b'x')
            self.assertEqual(session.recv(), b'x')
        for sock in silent + dripping:
            try:
                self.assertEqual(sock.recv(1), b'')
            except ConnectionResetError:
                pass
        peers.close_all(silent + dripping)
        self.proxy.stdout.wait_for(r'TCPPM 00092 timeout ETIMEDOUT', count=20, after=self.lines)

    def test_failed_handshakes_leave_nothing_behind(self):
        def fail(kind):
            sock = peers.connect(self.proxy.address(kind % 2))
            with sock:
                if kind % 3 == 0:
                    sock.sendall(b'GET / HTTP/1.1\r\n\r\n')
                elif kind % 3 == 1:
                    sock.sendall(b'\x16\x03\x01\x02\x00\x01')
                    return peers.abort(sock)
                else:
                    context = ssl.create_default_context(cafile=pem('ca2.pem'))
                    try:
                        Tls(sock, context)
                    except ssl.SSLError:
                        return None
                peers.receive_all(sock)
            return None

        def works():
            with self.dial(0) as session:
                session.send(b'x')
                self.assertEqual(session.recv(), b'x')
                session.finish()
                session.receive_all()

        for kind in range(60):
            fail(kind)
        works()
        descriptors = peers.descriptor_count(self.proxy.pid)
        memory = peers.resident_bytes(self.proxy.pid)
        for kind in range(rig.size(300, 10000)):
            fail(kind)
        for _ in range(rig.size(100, 3000)):
            works()
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= descriptors, 'descriptors are back')
        if not rig.sanitized():
            self.assertLess(peers.resident_bytes(self.proxy.pid) - memory, 3_000_000)

    def test_reload_with_a_broken_certificate_harms_nothing(self):
        folder = rig.scratch_folder()

        def put(certificate, key):
            shutil.copy(pem(certificate), os.path.join(folder, 'cert'))
            shutil.copy(pem(key), os.path.join(folder, 'key'))

        put('server.pem', 'server.key')
        text = ('ssl_server_cert %s/cert\nssl_server_key %s/key\nssl_serv\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' %
                (folder, folder, self.plain.port))

        def name_of(proxy, host):
            with Tls(peers.connect(proxy.address(0)), client_context(), host=host) as session:
                session.send(b'x')
                self.assertEqual(session.recv(), b'x')
                return dict(field[0] for field in session.tls.getpeercert()['subject'])['commonName']

        with rig.Sluice(text) as proxy, Tls(peers.connect(proxy.address(0)), client_context()) as old:
            old.send(b'x')
            for certificate, key in (('server.pem', 'other.key'), ('expired.pem', 'expired.key'), ('ca.key', 'ca.key')):
                put(certificate, key)
                self.assertIn('failed', proxy.reload())
                self.assertEqual(name_of(proxy, 'localhost'), 'server')
            os.unlink(os.path.join(folder, 'cert'))
            self.assertIn('failed', proxy.reload())
            self.assertEqual(name_of(proxy, 'localhost'), 'server')
            put('other.pem', 'other.key')
            self.assertNotIn('failed', proxy.reload())
            self.assertEqual(name_of(proxy, 'other.test'), 'other')
            self.assertEqual(old.recv(), b'x')
            old.send(b'still here')
            self.assertEqual(old.recv(), b'still here')


class Protocols(Rigged):
    """What is spoken inside."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = rig.scratch_folder()
        cls.data = peers.payload(300_000)
        with open(os.path.join(cls.folder, 'file'), 'wb') as out:
            out.write(cls.data)
        cls.nginx = None
        if shutil.which('nginx'):
            port, cls.web_port = peers.free_port(), peers.free_port()
            path = os.path.join(cls.folder, 'nginx.conf')
            with open(path, 'w', encoding='ascii') as out:
                out.write('daemon off; master_process off; pid %s/pid; error_log stderr; user root root;\n'
                          'events { worker_connections 100; }\nhttp { access_log off; root %s; client_body_temp_path %s/body; server {\n'
                          'listen 127.0.0.1:%d ssl; listen 127.0.0.1:%d; server_name localhost;\n'
                          'ssl_certificate %s; ssl_certificate_key %s; } }\n' %
                          (cls.folder, cls.folder, cls.folder, port, cls.web_port, pem('server.pem'), pem('server.key')))
            cls.nginx = Program(port, 'nginx', '-e', 'stderr', '-c', path, '-p', cls.folder)
            cls.nginx.port = port

    @classmethod
    def tearDownClass(cls):
        if cls.nginx:
            cls.nginx.__exit__()
        super().tearDownClass()

    def curl(self, *words):
        self.need('curl', 'nginx')
        done = subprocess.run(['curl', '-sS', '--max-time', '10', '--cacert', pem('ca.pem')] + list(words),
                              capture_output=True, check=False, timeout=20)
        return done.returncode, done.stdout, done.stderr

    def test_https_proxy(self):
        """Requests, tunnels and TLS in them, over a proxy that is spoken to by TLS."""
        self.need('curl', 'nginx')
        by = ['--proxy', 'https://localhost:%d' % self.proxy.port(3), '--proxy-cacert', pem('ca.pem')]
        plain, secure = 'http://localhost:%d/file' % self.web_port, 'https://localhost:%d/file' % self.nginx.port
        self.assertEqual(self.curl(*by, plain), (0, self.data, b''))
        self.assertEqual(self.curl(*by, plain, plain, secure), (0, self.data * 3, b''))
        self.assertEqual(self.curl(*by, '--proxytunnel', plain), (0, self.data, b''))
        self.assertEqual(self.curl(*by, '-T', os.path.join(self.folder, 'file'), '-o', '/dev/null', '-w', '%{http_code}',
                                   plain)[1], b'405')
        self.record('PROXY 00000 ok')

    def test_requests_to_other_origins_on_one_connection(self):
        """The client leaves its session and comes back, with all that TLS had read ahead."""
        self.need('nginx')
        one = b'GET http://localhost:%d/file HTTP/1.1\r\nHost: x\r\n\r\n' % self.web_port
        two = b'GET http://127.0.0.1:%d/none HTTP/1.1\r\nHost: x\r\n\r\n' % self.web_port
        last = two.replace(b'\r\n\r\n', b'\r\nConnection: close\r\n\r\n')
        with self.dial(3) as session:
            session.send(one + two + one + last)
            answer = session.receive_all()
        self.assertEqual(answer.count(self.data), 2)
        self.assertEqual(answer.count(b'HTTP/1.1 404'), 2)

    def test_tls_to_a_web_server(self):
        self.need('curl', 'nginx')
        text = configuration(CONNECT + 'tcppm -i127.0.0.1 0 localhost %d\nproxy -p0 -i127.0.0.1\n' % self.nginx.port)
        with rig.Sluice(text) as proxy:
            self.assertEqual(self.curl('http://localhost:%d/file' % proxy.port(0)), (0, self.data, b''))
            by = ['--proxy', 'http://127.0.0.1:%d' % proxy.port(1)]
            inside = 'http://localhost:%d/file' % self.nginx.port
            self.assertEqual(self.curl(*by, inside, inside), (0, self.data * 2, b''))

    def test_web_server_behind_tls(self):
        self.need('curl', 'nginx')
        text = configuration(SERVE + 'tcppm -i127.0.0.1 0 127.0.0.1 %d\n' % self.web_port)
        with rig.Sluice(text) as proxy:
            self.assertEqual(self.curl('https://localhost:%d/file' % proxy.port(0)), (0, self.data, b''))
            for version in ('1.2', '1.3'):
                self.assertEqual(self.curl('--tlsv' + version, '--tls-max', version,
                                           'https://localhost:%d/file' % proxy.port(0))[1], self.data)

    def test_socks(self):
        with self.dial(4) as session:
            session.send(socks.NO_AUTH + socks.request5('127.0.0.1', self.plain.port))
            self.assertEqual(session.recv(2), b'\x05\x00')
            answer = b''
            while len(answer) < 10:
                answer += session.recv(10 - len(answer))
            self.assertEqual(answer[:4], b'\x05\x00\x00\x01')
            session.send(b'inside')
            self.assertEqual(session.recv(), b'inside')
        with self.dial(4) as session:
            session.send(socks.NO_AUTH + socks.request5('127.0.0.1', 0, socks.ASSOCIATE))
            self.assertEqual(session.receive_all()[:4], b'\x05\x00\x05\x07')


if __name__ == '__main__':
    rig.main()
