#!/usr/bin/env python3
"""ftp URLs through `proxy`: files, folders and uploads, and what servers do wrong."""

import base64
import hashlib
import os
import re
import subprocess
import threading
import time

import rig
import peers
import ftp_peer
import http_peer as http
from peers import FIN, RST

LOG = 'log\nlogformat "L%E %{path} %C %R:%r %O %I %T"\n'
# STRING_SHORT 1 s, head 2 s, exchange 2 s, CHAIN 4 s, connect 1 s, LINGER 1 s.
QUICK = 'timeouts 1 1 1 2 2 1800 2 4 1 5 1\n'
FILES = {'hello': b'hello\n', 'empty': b'', 'pub/a b:c': b'in a folder', 'pub/sub/x': b'x', 'large': peers.payload(3 << 20)}


class Shared(rig.Case):

    @classmethod
    def setUpClass(cls):
        cls.proxy = rig.Sluice(QUICK + LOG + 'proxy -p0 -i127.0.0.1\n')

    @classmethod
    def tearDownClass(cls):
        cls.proxy.stop()

    def setUp(self):
        self.lines = self.proxy.stdout.count()

    def tearDown(self):
        self.assertTrue(self.proxy.alive(), 'the proxy died')

    def client(self):
        return http.Client(self.proxy.address())

    def record(self, pattern, count=1):
        return self.proxy.stdout.wait_for(pattern, after=self.lines, count=count)

    def server(self, **how):
        how.setdefault('files', FILES)
        server = ftp_peer.Server(**how)
        self.addCleanup(server.close)
        return server

    @staticmethod
    def request(url, method='GET', more=b'', version='1.1'):
        return b'%s %s HTTP/%s\r\nHost: a\r\n%s\r\n' % (method.encode(), url.encode(), version.encode(), more)

    def ask(self, url, method='GET', more=b'', version='1.1', body=b''):
        with self.client() as client:
            return client.ask(self.request(url, method, more, version) + body, method)


class Downloads(Shared):

    def test_files_on_one_connection(self):
        server = self.server()
        with self.client() as client:
            for name in ('hello', 'empty', 'large', 'pub/a%20b%3Ac', 'hello'):
                answer = client.ask(self.request(server.url(name)))
                self.assertEqual((answer.status, answer.body), (200, FILES[name.replace('%20', ' ').replace('%3A', ':')]))
                self.assertIsNone(answer['connection'])
            client.send(self.request(server.url('hello')) * 3)  # Pipelined.
            for _ in range(3):
                self.assertEqual(client.reader.answer().body, b'hello\n')
        line = self.record(r'GET ftp://\S+/large HTTP/1.1$').split(' ')
        self.assertEqual(line[0], '00000')
        self.assertRegex(line[1], 'splice$')
        self.assertEqual(int(line[5]), len(FILES['large']))

    def test_between_http_requests(self):
        server = self.server()
        with peers.Origin(http.serving(http.echo_path)) as origin, self.client() as client:
            self.assertEqual(client.get(origin, '/1').body, b'/1')
            self.assertEqual(client.ask(self.request(server.url('hello'))).body, b'hello\n')
            self.assertEqual(client.get(origin, '/2').body, b'/2')

    def test_a_size_that_nobody_said(self):
        server = self.server(say={'SIZE': '502 unknown'})
        with self.client() as client:
            for _ in range(2):
                answer = client.ask(self.request(server.url('large')))
                self.assertEqual(answer['transfer-encoding'], 'chunked')
                self.assertEqual(answer.body, FILES['large'])
        answer = self.ask(server.url('large'), version='1.0')
        self.assertEqual((answer.body == FILES['large'], answer.ending), (True, FIN))

    def test_http_1_0(self):
        with self.client() as client:
            server = self.server()
            for _ in range(2):
                answer = client.ask(self.request(server.url('hello'), more=b'Connection: keep-alive\r\n', version='1.0'))
                self.assertEqual((answer.body, answer['connection']), (b'hello\n', 'keep-alive'))

    def test_heads(self):
        server = self.server()
        answer = self.ask(server.url('large'), 'HEAD')
        self.assertEqual((answer.status, answer['content-length']), (200, str(len(FILES['large']))))
        self.assertEqual(self.ask(server.url('pub/'), 'HEAD')['content-type'], 'text/html; charset=utf-8')
        self.assertEqual(self.ask(server.url('none'), 'HEAD').status, 404)

    def test_over_ipv6(self):
        server = self.server(host='::1')
        self.assertEqual(self.ask(server.url('hello')).body, b'hello\n')
        self.assertIn('EPSV', server.verbs())

    def test_passive_goes_to_the_server_whatever_it_says(self):
        server = self.server(say={'EPSV': '500 unknown'})  # Its 227 names 10.0.0.1.
        self.assertEqual(self.ask(server.url('hello')).body, b'hello\n')
        self.assertIn('PASV', server.verbs())

    def test_a_cut_file_does_not_look_whole(self):
        for say, final in (({}, '426 cut'), ({'SIZE': '502 unknown'}, '426 cut'), ({'SIZE': '502 unknown'}, None)):
            server = self.server(say=say, cut_after=100000, final=final)
            with self.client() as client:
                client.send(self.request(server.url('large')))
                data, ending = client.ended()
            self.assertEqual(ending, RST, (say, final))
            self.assertFalse(data.endswith(b'0\r\n\r\n'))
        self.record(r'^00514 ', count=3)

    def test_clients_that_leave_leave_nothing(self):
        server = self.server()
        before = peers.descriptor_count(self.proxy.pid)
        for i in range(12):
            client = self.client()
            client.send(self.request(server.url('large')))
            if i % 3:
                client.sock.recv(100)
            if i % 2:
                peers.abort(client.sock)
            else:
                client.sock.close()
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before, 'descriptors', 15)


class Folders(Shared):

    def test_listings(self):
        for say in ({}, {'MLSD': '500 unknown'}):
            server = self.server(say=say)
            page = self.ask(server.url()).body.decode()
            self.assertIn('<a href="hello">hello</a>  6', page)
            self.assertIn('<a href="pub/">pub/</a>', page)
            self.assertNotIn('../', page)
            page = self.ask(server.url('pub/')).body.decode()
            self.assertIn('<a href="../">../</a>', page)
            self.assertIn('<a href="a%20b%3Ac">a b:c</a>  11', page)
            self.assertNotIn('total', page)

    def test_links_lead_to_the_files(self):
        server = self.server()
        page = self.ask(server.url('pub/')).body.decode()
        for link in re.findall('href="([^".][^"]*)"', page):
            self.assertEqual(self.ask(server.url('pub/' + link)).status, 200, link)

    def test_without_its_slash(self):
        answer = self.ask(self.server().url('pub'))
        self.assertEqual((answer.status, answer['location']), (301, '/pub/'))

    def test_an_empty_and_a_long_one(self):
        self.assertEqual(self.ask(self.server(files={}).url()).status, 200)
        many = {'%05d-%s' % (i, 'n' * 100): b'' for i in range(20000)}
        page = self.ask(self.server(files=many).url()).body
        self.assertIn(b'longer than what is shown', page)
        self.assertLess(len(page), 8 << 20)

    def test_what_a_server_says_is_text(self):
        page = self.ask(self.server(files={'<script>"': b''}).url()).body
        self.assertNotIn(b'<script>', page)


class Uploads(Shared):

    def test_with_a_length_and_in_chunks(self):
        server = self.server()
        data = peers.payload(1 << 20)
        with self.client() as client:
            answer = client.ask(self.request(server.url('up'), 'PUT', b'Content-Length: %d\r\n' % len(data)) + data)
            self.assertEqual((answer.status, answer['connection']), (201, None))
            self.assertEqual(server.files['up'], data)
            body = b''.join(b'%x;e\r\n%s\r\n' % (len(data[i:i + 70001]), data[i:i + 70001])
                            for i in range(0, len(data), 70001)) + b'0\r\n\r\n'
            client.send(self.request(server.url('chunks'), 'PUT', b'Transfer-Encoding: chunked\r\n') + body +
                        self.request(server.url('hello')))
            self.assertEqual(client.reader.answer().status, 201)
            self.assertEqual(client.reader.answer().body, b'hello\n')
        self.assertEqual(server.files['chunks'], data)
        line = self.record(r'^00000 .*PUT \S+/up ').split(' ')
        self.assertGreater(int(line[4]), len(data))

    def test_an_empty_one(self):
        server = self.server()
        self.assertEqual(self.ask(server.url('none'), 'PUT', b'Content-Length: 0\r\n').status, 201)
        self.assertEqual(server.files['none'], b'')

    def test_a_client_that_expects_100(self):
        server = self.server()
        with self.client() as client:
            client.send(self.request(server.url('up'), 'PUT', b'Expect: 100-continue\r\nContent-Length: 3\r\n'))
            self.assertEqual(client.reader.answer().status, 100)
            client.send(b'abc')
            self.assertEqual(client.reader.answer().status, 201)
        self.assertEqual(server.files['up'], b'abc')

    def test_refused(self):
        data = b'x' * 1000000
        more = b'Content-Length: %d\r\n' % len(data)
        for say, final, status in (({'STOR': '550 read only'}, '226', 403), ({}, '552 full', 413), ({}, None, 502)):
            answer = self.ask(self.server(say=say, final=final).url('up'), 'PUT', more, body=data)
            self.assertEqual((answer.status, answer['connection']), (status, 'close'), (say, final))
        self.assertEqual(self.ask(self.server().url('pub/'), 'PUT', more).status, 400)

    def test_a_malformed_one_and_one_that_is_cut_are_no_files(self):
        server = self.server()
        answer = self.ask(server.url('bad'), 'PUT', b'Transfer-Encoding: chunked\r\n', body=b'5\r\nhelloXX')
        self.assertEqual(answer.status, 400)
        with self.client() as client:
            client.send(self.request(server.url('cut'), 'PUT', b'Content-Length: 100\r\n') + b'half')
            server.wait_for('STOR')
        self.record(r'^00509 ')
        rig.eventually(lambda: [c for c in server.commands if c.startswith('DATA')] != [], 'the upload ended')
        self.assertEqual({'bad', 'cut'} & set(server.files), set())


class Refusals(Shared):

    def test_logins(self):
        server = self.server(users={'me': 's@cret', 'free': None})
        self.assertEqual(self.ask(server.url('hello').replace('//', '//me:s%40cret@')).body, b'hello\n')
        basic = b'Authorization: Basic ' + base64.b64encode(b'me:s@cret') + b'\r\n'
        self.assertEqual(self.ask(server.url('hello'), more=basic).body, b'hello\n')
        self.assertEqual(self.ask(server.url('hello').replace('//', '//free@')).body, b'hello\n')
        for url in (server.url('hello'), server.url('hello').replace('//', '//me:wrong@')):
            answer = self.ask(url)
            self.assertEqual(answer.status, 401)
            self.assertIn('Basic realm="ftp 127.0.0.1"', answer['www-authenticate'])
            self.assertNotIn(b'wrong', answer.body)
        self.assertNotIn('cret', self.proxy.stdout.text() + self.proxy.stderr.text())
        self.record(r'^00515 ', count=2)

    def test_what_is_not_there(self):
        answer = self.ask(self.server().url('none'))
        self.assertEqual(answer.status, 404)
        self.assertIn(b'550 no such file', answer.body)
        self.assertEqual(self.ask(self.server().url('none/')).status, 404)
        self.assertEqual(self.ask(self.server().url('hello'), 'DELETE').status, 501)
        for path in ('a%0d%0aDELE%20hello', 'a%00', 'a;type=x'):
            self.assertEqual(self.ask(self.server().url(path)).status, 400, path)

    def test_servers_that_do_not_work(self):
        closed = peers.free_port()
        self.assertEqual(self.ask('ftp://127.0.0.1:%d/x' % closed).status, 502)
        cases = (({'banner': '421 too many'}, 503), ({'banner': 'SSH-2.0'}, 502), ({'banner': '220 ' + 'x' * 100000}, 502),
                 ({'say': {'USER': None}}, 502), ({'say': {'TYPE': '500 no'}}, 502), ({'say': {'RETR': None}}, 502),
                 ({'say': {'EPSV': '229 (|||p|)'}}, 502), ({'say': {'EPSV': '229 (||||)'}}, 502),
                 ({'say': {'EPSV': '500', 'PASV': '227 (127,0,0,1,0,0)'}}, 502),
                 ({'say': {'EPSV': '500', 'PASV': '227 (999,1,1,1,1,1)'}}, 502),
                 ({'say': {'EPSV': '229 (|||%d|)' % closed}}, 502), ({'say': {'RETR': '450 busy'}}, 503))
        for how, status in cases:
            answer = self.ask(self.server(**how).url('hello'))
            self.assertEqual(answer.status, status, how)
            self.assertEqual(answer['connection'], 'close')

    def test_silent_ones_have_their_time(self):
        before = peers.descriptor_count(self.proxy.pid)
        started = time.monotonic()

        def one(how):
            self.assertEqual(self.ask(self.server(**how).url('hello')).status, 504, how)

        peers.together(one, ({'banner': None}, {'banner': '220-part'}))
        self.assertLess(time.monotonic() - started, 4)
        rig.eventually(lambda: peers.descriptor_count(self.proxy.pid) <= before, 'descriptors')

    def test_replies_in_pieces_and_many_lines(self):
        banner = '220-a\r\n 220 not end\r\n220-b\r\n' + '220-more\r\n' * 200 + '220 end\r\n'
        server = self.server(banner=banner, drip=True)
        self.assertEqual(self.ask(server.url('hello')).body, b'hello\n')

    def test_this_proxy_is_no_server(self):
        answer = self.ask('ftp://127.0.0.1:%d/' % self.proxy.port())
        self.assertEqual(answer.status, 508)
        server = self.server(say={'EPSV': '229 (|||%d|)' % self.proxy.port()})
        self.assertEqual(self.ask(server.url('hello')).status, 508)


class Programs(Shared):
    """curl, and a server that people use."""

    def curl(self, *arguments, fails=None):
        self.need('curl')
        done = subprocess.run(['curl', '-sS', '-m', '30', '-x', 'http://%s:%d' % self.proxy.address()] + list(arguments),
                              capture_output=True, check=False, env=dict(os.environ, no_proxy=''))
        self.assertEqual(done.returncode, fails or 0, done.stderr)
        return done.stdout

    def test_curl_and_pyftpdlib(self):
        if subprocess.run(['/usr/bin/python3', '-c', 'import pyftpdlib'], capture_output=True, check=False).returncode:
            self.skipTest('NOT RUN: python3-pyftpdlib is not installed')
        folder, port = rig.scratch_folder(), peers.free_port()
        os.mkdir(os.path.join(folder, 'sub'))
        with open(os.path.join(folder, 'sub', 'large'), 'wb') as out:
            out.write(FILES['large'])
        with subprocess.Popen(['/usr/bin/python3', '-W', 'ignore', '-m', 'pyftpdlib', '-i', '127.0.0.1', '-p', str(port),
                               '-w', '-d', folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            try:
                rig.eventually(lambda: peers.listeners(port), 'it listens')
                url = 'ftp://127.0.0.1:%d/' % port
                self.assertEqual(hashlib.sha256(self.curl(url + 'sub/large')).digest(),
                                 hashlib.sha256(FILES['large']).digest())
                self.assertIn(b'href="sub/"', self.curl(url))
                self.assertIn(b'href="large"', self.curl('-L', url + 'sub'))
                self.curl('-T', os.path.join(folder, 'sub', 'large'), url + 'copy')
                with open(os.path.join(folder, 'copy'), 'rb') as copy:
                    self.assertEqual(copy.read(), FILES['large'])
                self.assertIn(b'Content-Length: %d' % len(FILES['large']), self.curl('-I', url + 'copy'))
                self.curl('--fail', url + 'none', fails=22)
            finally:
                server.terminate()


if __name__ == '__main__':
    rig.main()
