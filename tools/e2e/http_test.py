#!/usr/bin/env python3
"""`proxy` as its clients and origins see it: one reading of every message, each answer to its request, and tunnels."""

import hashlib
import os
import signal
import subprocess
import threading
import time

import rig
import peers
import http_peer as http
from peers import FIN, RST

LOG = 'log\nlogformat "L%E %{path} %C %R:%r %O %I %T"\n'
# BYTE_LONG 1 s, head 2 s, exchange 2 s, connect 1 s, DNS 2 s, LINGER 1 s.
QUICK = 'timeouts 1 1 2 2 2 1800 2 60 1 5 1\n'


class Shared(rig.Case):
    """One proxy for the cases of a class, with an origin or two."""

    OPTIONS = ''

    @classmethod
    def setUpClass(cls):
        cls.proxy = rig.Sluice(QUICK + LOG + 'proxy -p0 -i127.0.0.1 %s\n' % cls.OPTIONS)
        cls.address = cls.proxy.address()

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()

    def setUp(self):
        self.serve(http.serving(http.echo_path))
        self.other = self.fresh_origin(http.serving(lambda request: http.reply(b'other')))
        self.lines = self.proxy.stdout.count()

    def tearDown(self):
        self.assertTrue(self.proxy.alive(), 'the proxy died')

    def client(self):
        return http.Client(self.address)

    def record(self, pattern, count=1):
        return self.proxy.stdout.wait_for(pattern, after=self.lines, count=count)

    def serve(self, handler):
        """Another origin: an idle connection would lead to the handler of a case before."""
        self.origin = self.fresh_origin(handler)

    def fresh_origin(self, handler):
        origin = peers.Origin(handler)
        self.addCleanup(origin.close)
        return origin


class Exchanges(Shared):
    """One request after the other."""

    def test_many_on_one_connection(self):
        with self.client() as client:
            for i in range(20):
                self.assertEqual(client.get(self.origin, '/%d' % i).body, b'/%d' % i)
        self.assertEqual(self.origin.accepted, 1)
        self.assertEqual(len(self.record(r'^00000 .*GET http://\S+/\d+ HTTP/1.1$', count=20)), 20)

    def test_pipelined_are_answered_in_order(self):
        with self.client() as client:
            requests = [(self.origin, '/%d' % i) for i in range(5)] + [(self.other, '/x'), (self.origin, '/last')]
            client.send(b''.join(http.get(*request) for request in requests))
            answers = [client.reader.answer().body for _ in requests]
        self.assertEqual(answers, [b'/0', b'/1', b'/2', b'/3', b'/4', b'other', b'/last'])

    def test_another_origin_on_the_same_connection(self):
        with self.client() as client:
            for i in range(6):
                if i % 2:
                    self.assertEqual(client.get(self.other).body, b'other')
                else:
                    self.assertEqual(client.get(self.origin, '/a').body, b'/a')
        hosts = [request['host'] for request in self.origin.wait_seen(3)]
        self.assertEqual(set(hosts), {http.host_of(self.origin.address)})

    def test_a_head_in_single_bytes_first_and_later(self):
        with self.client() as client:
            for i in range(2):
                http.drip(client.sock, http.get(self.origin, '/%d' % i))
                self.assertEqual(client.reader.answer().body, b'/%d' % i)

    def test_bodies_up_and_down(self):
        data = peers.payload(3 << 20)
        self.serve(http.serving(lambda request: http.reply(request.body)))
        with self.client() as client:
            for i in range(2):
                more = b'Content-Length: %d\r\n' % len(data)
                got = client.ask(http.get(self.origin, '/', more, b'PUT') + data)
                self.assertEqual(hashlib.sha256(got.body).digest(), hashlib.sha256(data).digest())
        line = self.record(r'^00000 .*PUT ', count=2)[1].split(' ')
        self.assertRegex(line[1], '^(splice|both)/(splice|both)$')
        self.assertGreater(int(line[4]), len(data))
        self.assertLess(int(line[4]), len(data) + 300)
        self.assertLess(int(line[5]), len(data) + 300)

    def test_chunks_up_and_down_in_any_pieces(self):
        data = peers.payload(600000)
        sizes = [1, 2, 3, 100, 4095, 4096, 4097, 16384, 65536, 100000]
        body, at, i = b'', 0, 0
        while at < len(data):
            piece = data[at:at + sizes[i % len(sizes)]]
            body += b'%s;ext="a;b" \r\n%s\r\n' % (b'%06x ' % len(piece) if i % 2 else b'%X' % len(piece), piece)
            at, i = at + len(piece), i + 1
        body += b'000;last\r\nX-Sum: 1\r\nContent-Length: 7\r\n\r\n'
        self.serve(http.serving(
            lambda request: b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n' + body))
        with self.client() as client:
            for piece in (1 << 20, 977):
                client.send(http.get(self.origin, '/', b'Transfer-Encoding: chunked\r\n', b'POST'))
                for start in range(0, len(body), piece):
                    client.send(body[start:start + piece])
                self.assertEqual(client.reader.answer().body, data)
        for request in self.origin.wait_seen(2):
            self.assertEqual(request.body, data)
            self.assertEqual(request.trailer, [b'X-Sum: 1'])

    def test_answers_without_a_body(self):
        answers = {
            '/head': b'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n',
            '/chunked': b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
            '/304': b'HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n',
            '/204': b'HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n',
            '/marker': http.reply(b'marker'),
        }
        self.serve(http.serving(lambda request: answers[request.line.split(' ')[1]]))
        with self.client() as client:
            started = time.monotonic()
            for path, method in (('/head', 'HEAD'), ('/chunked', 'HEAD'), ('/304', 'GET'), ('/204', 'GET')):
                self.assertEqual(client.ask(http.get(self.origin, path, method=method.encode()), method).body, b'')
            self.assertEqual(client.get(self.origin, '/marker').body, b'marker')
            self.assertLess(time.monotonic() - started, 1)
        self.assertEqual(self.origin.accepted, 1)

    def test_what_comes_behind_an_answer_goes_nowhere(self):
        for method, stray in ((b'GET', b'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray'), (b'HEAD', b'ok')):
            origin = self.fresh_origin(http.serving(lambda request: http.reply(b'ok') + stray
                                                    if request.line.startswith(method.decode()) else
                                                    http.reply(b'right')))
            with self.client() as client:
                client.ask(http.get(origin, '/', method=method), method.decode())
                self.assertEqual(client.ask(http.get(origin, '/next', method=b'PUT')).body, b'right')

    def test_stray_bytes_on_an_idle_connection(self):
        gate = threading.Event()

        def handler(sock, origin):
            reader = http.Reader(sock)
            origin.note(reader.request())
            sock.sendall(http.reply(b'first'))
            gate.wait(10)
            sock.sendall(http.reply(b'stray'))
            peers.receive_all(sock)
            origin.note('ended')

        origin = self.fresh_origin(handler)
        with self.client() as client:
            self.assertEqual(client.get(origin).body, b'first')
            origin.handler = http.serving(http.echo_path)
            gate.set()
            origin.wait_seen(2)  # The proxy has ended that connection.
            self.assertEqual(client.get(origin, '/second').body, b'/second')

    def test_a_body_behind_a_head_is_not_the_next_answer(self):
        """The client has sent both requests; the origin sends the body that is none a moment after the head."""
        stray = http.reply(b'stray')

        def handler(sock, origin):
            reader = http.Reader(sock)
            request = reader.request()
            origin.note(request.line)
            if request.line.startswith('HEAD'):
                sock.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n' % len(stray))
                time.sleep(0.05)
                sock.sendall(stray)
            else:
                sock.sendall(http.reply(b'right'))
            peers.receive_all(sock)

        self.serve(handler)
        with self.client() as client:
            client.send(http.get(self.origin, '/', method=b'HEAD') + http.get(self.origin, '/next'))
            self.assertEqual(client.reader.answer('HEAD').status, 200)
            self.assertEqual(client.reader.answer().body, b'right')

    def test_answers_of_the_proxy_leave_the_connection(self):
        with self.client() as client:
            for i in range(3):
                answer = client.ask(http.get(self.origin, '/', b'Max-Forwards: 0\r\n', b'OPTIONS'))
                self.assertEqual((answer.status, answer['connection']), (200, None))
                self.assertIn(b'OPTIONS ended here', answer.body)
                self.assertEqual(client.get(self.origin, '/%d' % i).body, b'/%d' % i)
            host = http.host_of(self.origin.address).encode()
            client.send(b'OPTIONS http://%s/ HTTP/1.0\r\nConnection: keep-alive\r\nMax-Forwards: 0\r\n\r\n' % host)
            self.assertEqual(client.reader.answer()['connection'], 'keep-alive')
            self.assertEqual(client.get(self.origin, '/last').body, b'/last')
        with self.client() as client:  # Many at once: each has its answer.
            ask = http.get(self.origin, '/', b'Max-Forwards: 0\r\n', b'OPTIONS')
            client.send(ask)
            client.reader.answer()
            client.send(ask)
            self.assertEqual(client.reader.answer().status, 200)

    def test_http_1_0(self):
        self.serve(http.serving(lambda request: b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
                                        b'5\r\nhello\r\n0\r\nT: x\r\n\r\n'))
        host = http.host_of(self.origin.address).encode()
        with self.client() as client:
            client.send(b'GET http://%s/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n' % host)
            answer = client.reader.answer()
        self.assertEqual((answer.body, answer.ending), (b'hello', FIN))
        self.assertEqual(answer['connection'], 'close')
        self.serve(http.serving(http.echo_path))
        host = http.host_of(self.origin.address).encode()
        with self.client() as client:
            for i in range(2):
                client.send(b'GET http://%s/%d HTTP/1.0\r\nProxy-Connection: Keep-Alive\r\n\r\n' % (host, i))
                answer = client.reader.answer()
                self.assertEqual((answer.body, answer['connection']), (b'/%d' % i, 'keep-alive'))
            client.send(b'GET http://%s/z HTTP/1.0\r\n\r\n' % host)
            self.assertEqual(client.reader.answer().body, b'/z')
            self.assertEqual(client.ended(), (b'', FIN))

    def test_answers_until_the_end(self):
        data = peers.payload(1 << 20)
        self.serve(http.saying(b'HTTP/1.0 200 OK\r\n\r\n' + data))
        with self.client() as client:
            answer = client.get(self.origin)
        self.assertEqual(answer.ending, FIN)
        self.assertEqual(answer.body, data)
        self.assertEqual(answer['connection'], 'close')

    def test_a_cut_answer_does_not_look_whole(self):
        for head in (b'Content-Length: 100000', b'Transfer-Encoding: chunked'):
            self.serve(http.saying(b'HTTP/1.1 200 OK\r\n%s\r\n\r\nffff\r\n' % head + b'x' * 5000))
            with self.client() as client:
                client.send(http.get(self.origin))
                data, ending = client.ended()
            self.assertIn(ending, (FIN, RST))
            self.assertLess(len(data), 6000)
            self.assertFalse(data.endswith(b'0\r\n\r\n'))
            self.record(r'^00514 ')

    def test_the_client_that_half_closes_gets_its_answer(self):
        with self.client() as client:
            client.send(http.get(self.origin, '/half'))
            peers.finish_sending(client.sock)
            self.assertEqual(client.reader.answer().body, b'/half')
            self.assertEqual(client.ended(), (b'', FIN))

    def test_connection_close_is_done(self):
        with self.client() as client:
            self.assertEqual(client.get(self.origin, '/', b'Connection: close\r\n')['connection'], 'close')
            self.assertEqual(client.ended(), (b'', FIN))

    def test_clients_that_leave_leave_nothing(self):
        self.serve(http.saying(b'HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n' + b'x' * 1000000,
                                       close=False))
        before = peers.descriptor_count(self.proxy.pid)
        for i in range(30):
            client = self.client()
            client.send(http.get(self.origin))
            client.sock.recv(1000)
            if i % 2:
                peers.abort(client.sock)
            else:
                client.sock.close()
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before + 2, 'descriptors', 15)


    def test_the_rest_of_an_aborted_download_is_nobodys(self):
        self.serve(http.serving(lambda request: http.reply(b'x' * 10000000 if 'big' in request.line else b'small')))
        for i in range(10):
            with self.client() as client:
                client.send(http.get(self.origin, '/big'))
                client.sock.recv(1000)
                if i % 2:
                    peers.abort(client.sock)
            with self.client() as client:
                self.assertEqual(client.get(self.origin, '/small').body, b'small')

    @rig.seconds(30)
    def test_uploads_to_a_stalled_origin_do_not_grow_the_process(self):
        self.need_plain_build('memory')
        gate = threading.Event()
        self.addCleanup(gate.set)
        self.serve(lambda sock, origin: gate.wait(20))
        before = peers.resident_bytes(self.proxy.pid)
        clients = []
        self.addCleanup(lambda: peers.close_all([client.sock for client in clients]))

        def upload(i):
            client = self.client()
            clients.append(client)
            more = b'Transfer-Encoding: chunked\r\n' if i % 2 else b'Content-Length: 100000000\r\n'
            client.send(http.get(self.origin, '/', more, b'PUT') + (b'5f5e100\r\n' if i % 2 else b''))
            client.sock.settimeout(1)
            try:
                client.sock.sendall(b'y' * 20000000)
            except OSError:
                pass

        peers.together(upload, range(20))
        self.assertLess(peers.resident_bytes(self.proxy.pid) - before, 16 << 20)

    def test_no_line_of_the_log_is_forged(self):
        with self.client() as client:
            answer = client.get(self.origin, '/%0a00000"\u00e9\u009b1m')
            self.assertEqual(answer.status, 200)
        line = self.record(r'GET http://')
        self.assertNotIn('\x9b', line)
        with self.client() as client:
            self.assertEqual(client.ask(b'GET http://a/\x1b[1m HTTP/1.1\r\nHost: a\r\n\r\n').status, 400)


class Smuggling(Shared):
    """Nothing that two readers could read in two ways gets through."""

    BAD = {
        'both_framings': b'Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG',
        'both_framings_turned': b'TRANSFER-ENCODING: CHUNKED\r\ncontent-length: 6\r\n\r\n0\r\n\r\nG',
        'two_lengths': b'Content-Length: 1\r\nContent-Length: 2\r\n\r\nab',
        'length_list': b'Content-Length: 2,2\r\n\r\nab',
        'length_signed': b'Content-Length: +2\r\n\r\nab',
        'length_hex': b'Content-Length: 0x2\r\n\r\nab',
        'length_empty': b'Content-Length: \r\n\r\n',
        'length_huge': b'Content-Length: 18446744073709551618\r\n\r\nab',
        'coding_unknown': b'Transfer-Encoding: gzip\r\n\r\nab',
        'coding_not_last': b'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
        'blank_before_colon': b'Content-Length : 2\r\n\r\nab',
        'fold': b'Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n',
        'nul': b'A: b\0c\r\n\r\n',
        'bare_cr': b'A: b\rc\r\n\r\n',
        'bare_lf': b'A: b\n\r\n',
        'empty_name': b': v\r\n\r\n',
        'second_host': b'Host: other\r\n\r\n',
        'del_in_name': b'A\x7f: 1\r\n\r\n',
    }

    @rig.over(**{name: name for name in BAD})
    def test_refused(self, name):
        head = b'POST http://%s/ HTTP/1.1\r\nHost: x\r\n' % http.host_of(self.origin.address).encode()
        with self.client() as client:
            answer = client.ask(head + self.BAD[name] + http.get(self.origin, '/smuggled'))
            self.assertEqual(answer.status, 400)
            self.assertEqual(client.ended(), (b'', FIN))
        with self.client() as client:  # Behind a good request as well.
            self.assertEqual(client.get(self.origin, '/good').body, b'/good')
            self.assertEqual(client.ask(head + self.BAD[name]).status, 400)
            self.assertEqual(client.ended(), (b'', FIN))
        self.assertEqual([request.line for request in self.origin.seen], ['GET /good HTTP/1.1'])

    BAD_CHUNKS = {
        'lf': b'5\nhello', 'overflow': b'fffffffffffffffff\r\n', 'negative': b'8000000000000000\r\n',
        'signed': b'-5\r\n', 'hex': b'0x5\r\n', 'empty': b'\r\n', 'cr': b'5\rX', 'extension': b'5;' + b'a' * (1 << 20),
        'no_end': b'5\r\nhelloGET / HTTP/1.1\r\n',
    }

    @rig.over(**{name: name for name in BAD_CHUNKS})
    def test_bad_chunks(self, name):
        with self.client() as client:
            client.send(http.get(self.origin, '/', b'Transfer-Encoding: chunked\r\n', b'POST'))
            try:
                client.send(self.BAD_CHUNKS[name])
            except OSError:
                pass  # It may have been refused before all of it was sent.
            self.assertEqual(client.reader.answer().status, 400)
        self.record(r'^00501 ')
        self.assertEqual(self.origin.seen, [])

    def test_bad_answers(self):
        for bad in (b'HTTP/1.1 65736 X\r\nContent-Length: 0\r\n\r\n', b'HTTP/1.1 20 X\r\n\r\n', b'garbage\r\n\r\n',
                    b'HTTP/2.0 200 X\r\n\r\n', b'HTTP/1.1 200 OK\nContent-Length: 0\n\n', b'x' * (1 << 20),
                    b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
                    b'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nab',
                    b'HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nab', b'HTTP/1.1 200 OK\r\nA : b\r\n\r\n',
                    b'HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', b''):
            self.serve(http.saying(bad))
            with self.client() as client:
                answer = client.get(self.origin)
                self.assertEqual(answer.status, 502, bad[:60])
                self.assertIn('sluice; error=', answer['proxy-status'])

    def test_an_answer_in_single_bytes(self):
        def handler(sock, origin):
            http.Reader(sock).head()
            http.drip(sock, b'HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok', 0.002)
            peers.receive_all(sock)

        self.serve(handler)
        with self.client() as client:
            answer = client.get(self.origin)
        self.assertEqual((answer.status, answer.body), (200, b'ok'))

    def test_the_url_wins_over_host(self):
        host = http.host_of(self.origin.address).encode()
        with self.client() as client:
            client.ask(b'GET http://%s/ HTTP/1.1\r\nHost: denied.test\r\n\r\n' % host)
            client.ask(b'GET / HTTP/1.1\r\nHost: %s\r\n\r\n' % host)
        self.assertEqual([request['host'] for request in self.origin.wait_seen(2)], [host.decode()] * 2)

    def test_targets_that_are_none(self):
        for target in (b'foo', b'http:///', b'https://a/', b'gopher://a/', b'http://a:0/', b'http://a:65616/', b'*'):
            with self.client() as client:
                self.assertEqual(client.ask(b'GET %s HTTP/1.1\r\nHost: a\r\n\r\n' % target).status, 400, target)
        for target in (b'o', b'o:', b'o:0', b'o:65616', b'o:-1', b'o:443x', b'http://o:443', b'o:443/', b'[::1', b'::1:443',
                       b'[fe80::1%25lo]:443'):
            with self.client() as client:
                self.assertEqual(client.ask(b'CONNECT %s HTTP/1.1\r\nHost: o\r\n\r\n' % target).status, 400, target)

    def test_what_is_refused_is_in_the_log(self):
        with self.client() as client:
            self.assertEqual(client.ask(b'GET http://me:secret@a/x HTTP/1.1\r\nHost: a\r\nB : c\r\n\r\n').status, 400)
        self.record(r'^00501 .* GET http://a/x HTTP/1\.1$')
        with self.client() as client:
            self.assertEqual(client.ask(b'\x16\x03\x01hello\r\n\r\n').status, 400)
        self.record(r'^00501 .*hello$')

    def test_long_heads(self):
        host = http.host_of(self.origin.address).encode()
        for size in (1000, 4096, 16384, 60000, 65536, 1 << 20):
            for head, status in ((b'GET http://%s/%s HTTP/1.1\r\nHost: a\r\n\r\n' % (host, b'u' * size), 414),
                                 (b'GET http://%s/ HTTP/1.1\r\nHost: a\r\nA: %s\r\n\r\n' % (host, b'v' * size), 431)):
                with self.client() as client:
                    try:
                        client.send(head)
                    except OSError:
                        pass
                    self.assertEqual(client.reader.answer().status, 200 if size < 65000 else status, (size, head[:80]))
        with self.client() as client:
            self.assertEqual(client.get(self.origin, '/', b'A: b\r\n' * 2000).status, 431)


class Informational(Shared):
    """1xx, uploads that are answered early, upgrades."""

    def test_several_before_the_answer(self):
        hints = b'HTTP/1.1 100 Continue\r\n\r\n' + b'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n' * 2
        self.serve(http.serving(lambda request: hints + http.reply(b'ok')))
        with self.client() as client:
            client.send(http.get(self.origin))
            self.assertEqual([client.reader.answer().status for _ in range(4)], [100, 103, 103, 200])
        with self.client() as client:
            client.send(b'GET http://%s/ HTTP/1.0\r\n\r\n' % http.host_of(self.origin.address).encode())
            self.assertEqual(client.reader.answer().status, 200)

    def test_the_100_is_the_origins(self):
        gate = threading.Event()

        def handler(sock, origin):
            reader = http.Reader(sock)
            _, fields = reader.head()
            origin.note(http.value_of(fields, 'expect'))
            gate.wait(10)
            sock.sendall(b'HTTP/1.1 100 Continue\r\n\r\n')
            sock.sendall(http.reply(reader.exactly(5)))
            peers.receive_all(sock)

        self.serve(handler)
        with self.client() as client:
            client.send(http.get(self.origin, '/', b'Expect: 100-continue\r\nContent-Length: 5\r\n', b'PUT'))
            self.assertEqual(self.origin.wait_seen(), ['100-continue'])
            self.assertIsNone(http.readable(client.sock, 0.2))  # Not before the origin has said it.
            client.sock.settimeout(10)
            gate.set()
            self.assertEqual(client.reader.answer().status, 100)
            client.send(b'hello')
            self.assertEqual(client.reader.answer().body, b'hello')

    def test_there_is_an_end_of_1xx(self):
        self.serve(http.saying(b'HTTP/1.1 103 Early Hints\r\n\r\n' * 100000))
        with self.client() as client:
            client.send(http.get(self.origin))
            answers = []
            while not answers or answers[-1] < 200:
                answers.append(client.reader.answer().status)
        self.assertEqual(answers[-1], 502)
        self.assertLess(len(answers), 200)

    def test_a_client_that_waits_for_100_does_not_wait_for_ever(self):
        """The origin knows nothing of Expect."""
        def handler(sock, origin):
            reader = http.Reader(sock)
            reader.head()
            origin.note(reader.exactly(5))
            sock.sendall(b'HTTP/1.1 100 Continue\r\n\r\n' + http.reply(b'ok'))
            peers.receive_all(sock)

        self.serve(handler)
        with self.client() as client:
            for i in range(2):
                started = time.monotonic()
                client.send(http.get(self.origin, '/', b'Expect: 100-continue\r\nContent-Length: 5\r\n', b'PUT'))
                self.assertEqual(client.reader.answer().status, 100)
                self.assertTrue(0.9 < time.monotonic() - started < 3)  # BYTE_LONG
                client.send(b'hello')
                self.assertEqual(client.reader.answer().body, b'ok')
                self.serve(handler)

    @rig.seconds(60)
    def test_an_upload_that_is_refused_at_once(self):
        self.serve(http.saying(http.reply(b'big', b'Connection: close\r\n', b'413 Too Large')))
        block = b'\0' * (1 << 20)
        for _ in range(rig.size(10, 50)):
            with self.client() as client:
                client.send(http.get(self.origin, '/', b'Content-Length: 52428800\r\n', b'PUT'))
                try:
                    for _ in range(50):
                        client.send(block)
                except OSError:
                    pass
                answer = client.reader.answer()
                self.assertEqual((answer.status, answer.body), (413, b'big'))

    def test_an_upgrade_becomes_a_tunnel(self):
        def handler(sock, origin):
            reader = http.Reader(sock)
            line, fields = reader.head()
            origin.note((http.value_of(fields, 'upgrade'), http.value_of(fields, 'connection')))
            sock.sendall(b'HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nHELLO')
            origin.note(reader.exactly(5))
            while True:
                piece = sock.recv(1 << 16)
                if not piece:
                    break
                sock.sendall(piece)

        self.serve(handler)
        with self.client() as client:
            client.send(http.get(self.origin, '/', b'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n') + b'EARLY')
            self.assertEqual(client.reader.answer()['upgrade'], 'websocket')
            self.assertEqual(client.reader.exactly(5), b'HELLO')
            self.assertEqual(self.origin.wait_seen(2), [('websocket', 'Upgrade'), b'EARLY'])
            data = peers.payload(1 << 20)
            threading.Thread(target=client.send, args=(data,)).start()
            self.assertEqual(client.reader.exactly(len(data)), data)


class Upstreams(Shared):
    """Connections to origins and who gets them."""

    def test_other_clients_use_them(self):
        origin = self.fresh_origin(http.serving(http.echo_path))
        for i in range(10):
            with self.client() as client:
                self.assertEqual(client.get(origin, '/%d' % i).body, b'/%d' % i)
            self.record(r'GET http://127.0.0.1:%d/%d ' % (origin.port, i))
            time.sleep(0.01)  # The upstream is given back in the turn after the client has left.
        self.assertLess(origin.accepted, 10)

    def test_uploads_use_them(self):
        origin = self.fresh_origin(http.serving(lambda request: http.reply(request.body)))
        for i in range(10):
            with self.client() as client:
                body = b'%d' % i
                answer = client.ask(http.get(origin, '/%d' % i, b'Content-Length: 1\r\n', b'POST') + body)
                self.assertEqual(answer.body, body)
            self.record(r'POST http://127.0.0.1:%d/%d ' % (origin.port, i))
            time.sleep(0.01)
        self.assertLess(origin.accepted, 10)

    def test_those_that_end_while_they_wait_are_closed(self):
        def handler(sock, origin):
            http.Reader(sock).request()
            sock.sendall(http.reply(b'bye'))
            gate.wait(10)

        gate = threading.Event()
        origin = self.fresh_origin(handler)
        before = peers.descriptor_count(self.proxy.pid)
        clients = [self.client() for _ in range(5)]
        for client in clients:
            client.send(http.get(origin))
        for client in clients:
            client.reader.answer()
            client.sock.close()
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) == before + 5, 'upstreams are kept')
        gate.set()
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before, 'they are closed', 5)

    def test_one_that_has_ended_is_not_used(self):
        def once(sock, origin):
            reader = http.Reader(sock)
            origin.note(reader.request())
            sock.sendall(http.reply(b'once'))

        origin = self.fresh_origin(once)
        for client in (self.client(), self.client()):
            with client:
                for _ in range(5):
                    self.assertEqual(client.get(origin).body, b'once')
        self.assertEqual(origin.accepted, 10)

    def test_a_request_that_came_too_late_is_sent_again(self):
        """The origin closes the kept connection when the second request comes, without a word."""
        def handler(sock, origin):
            reader = http.Reader(sock)
            origin.note(reader.request().line)
            sock.sendall(http.reply(b'first'))
            origin.note(reader.request().line)

        origin = self.fresh_origin(handler)
        with self.client() as client:
            self.assertEqual(client.get(origin, '/1').body, b'first')
            self.assertEqual(client.get(origin, '/2').body, b'first')  # On a fresh connection.
            answer = client.ask(http.get(origin, '/3', b'Content-Length: 2\r\n', b'POST') + b'ab')
            self.assertEqual(answer.status, 502)  # It may have been carried out.

    def test_authentication_of_the_connection_pins_it(self):
        def handler(sock, origin):
            reader = http.Reader(sock)
            while True:
                try:
                    origin.note((sock.fileno(), reader.request()['x-client']))
                except http.Broken:
                    return
                sock.sendall(http.reply(b'no', b'WWW-Authenticate: NTLM\r\n', b'401 Unauthorized'))

        origin = self.fresh_origin(handler)
        for name in (b'a', b'b'):
            with self.client() as client:
                for _ in range(3):
                    answer = client.get(origin, '/', b'X-Client: %s\r\n' % name)
                    self.assertEqual(answer['proxy-support'], 'Session-Based-Authentication')
        self.assertEqual(origin.accepted, 2)

    def test_none_are_kept_with_k0(self):
        with rig.Sluice(QUICK + LOG + 'proxy -p0 -i127.0.0.1 -k0\n') as proxy:
            for i in range(5):
                with http.Client(proxy.address()) as client:
                    self.assertEqual(client.get(self.origin, '/a').body, b'/a')
                    self.assertEqual(client.get(self.origin, '/b').body, b'/b')
        self.assertEqual(self.origin.accepted, 5)

    def test_failures_have_their_status(self):
        port = peers.free_port()
        with self.client() as client:
            answer = client.ask(b'GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: a\r\n\r\n' % port)
            self.assertEqual((answer.status, answer['proxy-status']), (502, 'sluice; error=connection_refused'))
            self.assertEqual(client.ended(), (b'', FIN))
        silent = self.fresh_origin(lambda sock, origin: peers.receive_all(sock))
        with self.client() as client:
            started = time.monotonic()
            self.assertEqual(client.get(silent).status, 504)
            self.assertLess(time.monotonic() - started, 6)

    @rig.seconds(20)
    def test_an_origin_that_never_answers_a_syn(self):
        with peers.BlackHole() as hole, self.client() as client:
            started = time.monotonic()
            answer = client.ask(b'GET http://%s/ HTTP/1.1\r\nHost: a\r\n\r\n' % http.host_of(hole.address).encode())
            self.assertEqual((answer.status, answer['proxy-status']), (504, 'sluice; error=connection_timeout'))
            self.assertLess(time.monotonic() - started, 6)

    def test_this_proxy_is_no_origin(self):
        before = peers.descriptor_count(self.proxy.pid)
        port = self.address[1]
        for host in ('127.0.0.1', '0.0.0.0', 'localhost', '[::ffff:127.0.0.1]'):
            with self.client() as client:
                answer = client.ask(b'GET http://%s:%d/ HTTP/1.1\r\nHost: a\r\n\r\n' % (host.encode(), port))
                self.assertEqual(answer.status, 508, host)
            with self.client() as client:
                self.assertEqual(client.ask(b'CONNECT %s:%d HTTP/1.1\r\n\r\n' % (host.encode(), port)).status, 508, host)
            self.record(r'^00519 ')
        self.assertLess(peers.descriptor_count(self.proxy.pid), before + 10)


class Tunnels(Shared):
    """CONNECT."""

    def setUp(self):
        super().setUp()
        self.serve(peers.echo)

    def connect(self, client, host, early=b''):
        return client.ask(b'CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' % (host, host) + early, 'CONNECT')

    def open(self, client, host, early=b''):
        client.send(b'CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' % (host, host) + early)
        line, fields = client.reader.head()
        self.assertEqual(line.split(' ')[1], '200')
        self.assertEqual(fields, [])

    def test_early_data_and_a_half_close(self):
        data = peers.payload(1 << 20)
        with self.client() as client:
            self.open(client, http.host_of(self.origin.address).encode(), b'EARLY')
            threading.Thread(target=lambda: (client.send(data), peers.finish_sending(client.sock))).start()
            got, ending = client.ended()
        self.assertEqual((got, ending), (b'EARLY' + data, FIN))
        self.record(r'^00000 .* CONNECT 127.0.0.1:\d+ HTTP/1.1$')

    def test_an_answer_before_a_reset_is_whole(self):
        data = peers.payload(3 << 20)

        def handler(sock, origin):
            peers.receive_exactly(sock, 4)
            sock.sendall(data)
            peers.receive_exactly(sock, 4)
            peers.abort(sock)

        self.serve(handler)
        for _ in range(10):
            with self.client() as client:
                self.open(client, http.host_of(self.origin.address).encode(), b'ask.')
                self.assertEqual(client.reader.exactly(len(data)), data)
                client.send(b'bye.')
                self.assertEqual(client.ended()[0], b'')

    def test_clients_that_leave_at_once_leave_nothing(self):
        host = http.host_of(self.origin.address).encode()
        before = peers.descriptor_count(self.proxy.pid)
        for i in range(40):
            client = self.client()
            client.send(b'CONNECT %s HTTP/1.1\r\n\r\n' % host)
            if i % 4:
                client.sock.recv(100)
            if i % 2:
                peers.abort(client.sock)
            else:
                client.sock.close()
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before + 2, 'descriptors', 15)

    def test_ipv6(self):
        with peers.Origin(address=('::1', 0)) as origin, self.client() as client:
            self.open(client, http.host_of(origin.address).encode())
            peers.check_echo(client.sock)

    def test_refused_is_said(self):
        with self.client() as client:
            answer = client.ask(b'CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n' % peers.free_port())
            self.assertEqual(answer.status, 502)
            self.assertEqual(client.ended(), (b'', FIN))
        self.record(r'^00013 ')

    def test_behind_an_exchange_on_the_same_connection(self):
        self.other = self.fresh_origin(http.serving(http.echo_path))
        with self.client() as client:
            self.assertEqual(client.get(self.other, '/x').body, b'/x')
            self.open(client, http.host_of(self.origin.address).encode())
            peers.check_echo(client.sock)


class Heads(Shared):
    """What goes on to origins and clients, by option."""

    SENT = (b'Connection: X-Mine, keep-alive\r\nX-Mine: 1\r\nProxy-Authorization: Basic dTpw\r\nKeep-Alive: 3\r\n'
            b'Proxy-Connection: keep-alive\r\nTE: trailers\r\nX-Forwarded-For: 9.9.9.9\r\nKept: yes\r\n')

    def seen_by_origin(self, option):
        self.serve(http.serving(lambda request: http.reply(
            b'ok', b'Connection: X-Theirs\r\nX-Theirs: 1\r\nProxy-Authenticate: Basic\r\nKept: too\r\n')))
        with rig.Sluice(LOG + 'proxy -p0 -i127.0.0.1 %s\n' % option) as proxy:
            with http.Client(proxy.address()) as client:
                self.answer = client.get(self.origin, '/', self.SENT)
            port = proxy.port()
        return self.origin.wait_seen()[0], port

    def test_what_ends_at_the_proxy(self):
        request, _ = self.seen_by_origin('')
        for name in ('connection', 'x-mine', 'proxy-authorization', 'keep-alive', 'proxy-connection', 'te'):
            self.assertIsNone(request[name], name)
        self.assertEqual(request['kept'], 'yes')
        for name in ('x-theirs', 'proxy-authenticate', 'connection'):
            self.assertIsNone(self.answer[name], name)
        self.assertEqual(self.answer['kept'], 'too')

    def test_disclosure(self):
        request, port = self.seen_by_origin('')
        self.assertRegex(request['forwarded'], r'^for="127\.0\.0\.1:\d+";by="[^"]+:%d"$' % port)
        self.assertEqual(request['x-forwarded-for'], '9.9.9.9')
        request, _ = self.seen_by_origin('-a')
        self.assertEqual([request[name] for name in ('forwarded', 'x-forwarded-for', 'via')], [None] * 3)
        request, port = self.seen_by_origin('-a1')
        self.assertRegex(request['via'], r'^1\.1 \S+:%d \(sluice\)$' % port)
        self.assertNotIn('9.9.9.9', request['x-forwarded-for'])
        self.assertNotEqual(request['x-forwarded-for'], '127.0.0.1')
        request, _ = self.seen_by_origin('-a2')
        self.assertEqual(request['x-forwarded-for'], '9.9.9.9, 127.0.0.1')

    def test_a_circle_is_seen(self):
        with self.client() as client:
            client.get(self.origin)
        request = self.origin.wait_seen()[0]
        own = request['forwarded'].split('by="')[1].rstrip('"')
        with self.client() as client:
            self.assertEqual(client.get(self.origin, '/', b'Via: 1.1 %s\r\n' % own.encode()).status, 508)

    def test_requests_that_name_nobody(self):
        origin = self.fresh_origin(http.serving(http.echo_path))
        with rig.Sluice(LOG + 'proxy -p0 -i127.0.0.1 -h127.0.0.1:%d\n' % origin.port) as proxy:
            with http.Client(proxy.address()) as client:
                client.send(b'GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n')
                self.assertEqual(client.reader.answer().body, b'/old')
                client.send(b'GET /empty HTTP/1.1\r\nHost:\r\n\r\n')
                self.assertEqual(client.reader.answer().body, b'/empty')
                self.assertEqual(client.get(self.origin, '/named').body, b'/named')
                self.assertEqual(client.ask(b'GET /none HTTP/1.1\r\n\r\n').status, 400)
        self.assertEqual([request['host'] for request in origin.seen], [http.host_of(origin.address)] * 2)
        with self.client() as client:
            self.assertEqual(client.ask(b'GET /old HTTP/1.0\r\n\r\n').status, 400)

    def test_credentials_are_asked_for(self):
        with rig.Sluice(LOG + 'proxy -p0 -i127.0.0.1 -u2\n') as proxy:
            with http.Client(proxy.address()) as client:
                answer = client.get(self.origin)
                self.assertEqual(answer.status, 407)
                self.assertIn('Basic realm=', answer['proxy-authenticate'])
            with http.Client(proxy.address()) as client:
                answer = client.get(self.origin, '/in', b'Proxy-Authorization: Basic dTpw\r\n')
                self.assertEqual(answer.body, b'/in')
                self.assertEqual(client.get(self.origin, '/out').status, 407)
                answer = client.get(self.origin, '/again', b'Proxy-Authorization: Basic dTpw\r\n')
                self.assertEqual(answer.body, b'/again')
        self.assertIsNone(self.origin.wait_seen()[0]['proxy-authorization'])


class Time(Shared):
    """Deadlines, and the end of the process."""

    def cut(self, client):
        started = time.monotonic()
        head = http.get(self.origin, '/' + 'x' * 200)
        try:
            while time.monotonic() - started < 8:
                client.send(head[:1])
                head = head[1:]
                if http.readable(client.sock, 0.2) is not None:
                    break
        except OSError:
            pass
        return time.monotonic() - started

    @rig.seconds(30)
    def test_a_dripped_head_has_one_deadline(self):
        with self.client() as client:
            self.assertTrue(1.5 < self.cut(client) < 5)
        with self.client() as client:
            self.assertEqual(client.get(self.origin, '/good').body, b'/good')
            self.assertTrue(1.5 < self.cut(client) < 5)

    @rig.seconds(30)
    def test_a_dripped_answer_has_one_deadline(self):
        def handler(sock, origin):
            http.Reader(sock).request()
            http.drip(sock, b'HTTP/1.1 200 OK\r\nA: ' + b'x' * 1000, 0.2)

        self.serve(handler)
        with self.client() as client:
            started = time.monotonic()
            self.assertEqual(client.get(self.origin).status, 504)
            self.assertTrue(1.5 < time.monotonic() - started < 6)
        self.record(r'^00512 ')

    @rig.seconds(30)
    def test_idle_connections_end(self):
        with self.client() as client:
            self.assertEqual(client.get(self.origin, '/good').body, b'/good')
            started = time.monotonic()
            self.assertEqual(client.ended(), (b'', FIN))
            self.assertTrue(1.5 < time.monotonic() - started < 6)

    def test_a_drain_ends_idle_connections_and_no_exchange(self):
        gate = threading.Event()

        def handler(sock, origin):
            http.Reader(sock).request()
            origin.note('asked')
            gate.wait(10)
            sock.sendall(http.reply(b'late'))
            peers.receive_all(sock)

        slow = self.fresh_origin(handler)
        proxy = rig.Sluice(QUICK + 'log\nproxy -p0 -i127.0.0.1\n')
        with http.Client(proxy.address()) as idle, http.Client(proxy.address()) as busy:
            self.assertEqual(idle.get(self.origin, '/a').body, b'/a')
            busy.send(http.get(slow))
            slow.wait_seen()
            proxy.send_signal(signal.SIGTERM)
            self.assertEqual(idle.ended(), (b'', FIN))
            gate.set()
            self.assertEqual(busy.reader.answer().body, b'late')
            self.assertEqual(busy.ended(), (b'', FIN))
            self.assertEqual(proxy.wait_exit(), 0)


class Default(rig.Case):
    """Started without a configuration."""

    def test_it_listens_on_3128(self):
        for port in (3128, 1080):
            if peers.listeners(port):
                self.skipTest('port %d is taken' % port)
        process = subprocess.Popen([rig.BINARY], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            said = rig.Lines(process.stderr)
            said.wait_for(r'^ready')
            with peers.Origin(http.serving(http.echo_path)) as origin, http.Client(('127.0.0.1', 3128)) as client:
                self.assertEqual(client.get(origin, '/default').body, b'/default')
            rig.Lines(process.stdout).wait_for(r'GET http://\S+/default ')
        finally:
            process.terminate()
            self.assertEqual(process.wait(30), 0)


for _cls in (Smuggling,):
    rig.expand(_cls)

if __name__ == '__main__':
    rig.main()
