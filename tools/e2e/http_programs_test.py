#!/usr/bin/env python3
"""`proxy` between programs that people use: clients in front of it, servers behind it."""

import hashlib
import http.server
import io
import json
import os
import shutil
import ssl
import subprocess
import tarfile
import threading
import urllib.request

import rig
import peers

LOG = 'log\nlogformat "L%E %{path} %C %R:%r %O %I %T"\n'
PYTHON = '/usr/bin/python3'  # The one that Debian's packages are for.
LARGE = peers.payload(3 << 20)


class Certificate:
    """For localhost and 127.0.0.1, of nobody's."""

    def __init__(self, folder):
        self.path = os.path.join(folder, 'certificate.pem')
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                        '-keyout', self.path + '.key', '-out', self.path, '-days', '2', '-subj', '/CN=localhost',
                        '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], check=True, capture_output=True)
        with open(self.path, 'ab') as all_in_one, open(self.path + '.key', 'rb') as key:
            all_in_one.write(key.read())


class Nginx:
    """A folder over HTTP/1.1, and over TLS with HTTP/2; uploads by DAV."""

    def __init__(self, folder, certificate):
        self.plain, self.secure = peers.free_port(), peers.free_port()
        os.chmod(folder, 0o755)
        temporary = ' '.join('%s %s/%s;' % (name, folder, name) for name in
                             ('client_body_temp_path', 'proxy_temp_path', 'fastcgi_temp_path', 'uwsgi_temp_path',
                              'scgi_temp_path'))
        path = os.path.join(folder, 'nginx.conf')
        with open(path, 'w', encoding='ascii') as out:
            out.write('user root root;\ndaemon off;\nmaster_process off;\npid %s/pid;\nerror_log stderr;\n'
                      'events { worker_connections 500; }\nhttp { access_log off; keepalive_requests 100000; '
                      'client_max_body_size 1000m; gzip on; gzip_types text/plain; %s server { '
                      'listen 127.0.0.1:%d; listen 127.0.0.1:%d ssl http2; ssl_certificate %s; ssl_certificate_key %s; '
                      'root %s; dav_methods PUT DELETE MKCOL; location /count { return 200 "$request_method $http_range"; } '
                      'location /late { return 417; } } }\n' %
                      (folder, temporary, self.plain, self.secure, certificate, certificate, folder))
        self.process = subprocess.Popen(['nginx', '-e', 'stderr', '-c', path], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.said = rig.Lines(self.process.stderr)
        rig.eventually(lambda: peers.listeners(self.secure) or self.process.poll() is not None, 'nginx listens')

    def close(self):
        self.process.terminate()
        self.process.wait(10)


class GitServer:
    """`git http-backend` as a program of the web, on a port of its own; over TLS with a certificate."""

    def __init__(self, folder, certificate=None):

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def log_message(self, *_):
                pass

            def do_GET(self):
                path, _, query = self.path.partition('?')
                body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
                if self.headers.get('Transfer-Encoding'):
                    while (size := int(self.rfile.readline(), 16)) > 0:
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                environment = dict(os.environ, GIT_PROJECT_ROOT=folder, GIT_HTTP_EXPORT_ALL='1', PATH_INFO=path,
                                   QUERY_STRING=query, REQUEST_METHOD=self.command, REMOTE_USER='me',
                                   REMOTE_ADDR='127.0.0.1', CONTENT_TYPE=self.headers.get('Content-Type', ''),
                                   HTTP_CONTENT_ENCODING=self.headers.get('Content-Encoding', ''),
                                   GIT_PROTOCOL=self.headers.get('Git-Protocol', ''), HOME=folder)
                answer = subprocess.run(['git', 'http-backend'], input=body, env=environment, capture_output=True,
                                        check=False).stdout
                head, _, content = answer.partition(b'\r\n\r\n')
                fields = dict(line.split(': ', 1) for line in head.decode().split('\r\n'))
                self.send_response(int(fields.pop('Status', '200').split(' ')[0]))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header('Content-Length', str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_POST = do_GET

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = '%s://127.0.0.1:%d' % ('https' if certificate else 'http', self.server.server_port)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Shared(rig.Case):

    @classmethod
    def setUpClass(cls):
        cls.proxy = rig.Sluice(LOG + 'proxy -p0 -i127.0.0.1\n')
        cls.proxy_url = 'http://%s:%d' % cls.proxy.address()
        cls.folder = rig.scratch_folder()
        cls.certificate = Certificate(cls.folder).path if shutil.which('openssl') else None
        cls.nginx = Nginx(cls.folder, cls.certificate) if shutil.which('nginx') and cls.certificate else None
        with open(os.path.join(cls.folder, 'large'), 'wb') as out:
            out.write(LARGE)
        with open(os.path.join(cls.folder, 'page.txt'), 'wb') as out:
            out.write(b'a page ' * 1000)

    @classmethod
    def tearDownClass(cls):
        if cls.nginx:
            cls.nginx.close()
        cls.proxy.stop()

    def setUp(self):
        self.lines = self.proxy.stdout.count()

    def tearDown(self):
        self.assertTrue(self.proxy.alive(), 'the proxy died')

    def url(self, path, secure=False):
        self.need('nginx', 'openssl')
        if secure:
            return 'https://127.0.0.1:%d/%s' % (self.nginx.secure, path)
        return 'http://127.0.0.1:%d/%s' % (self.nginx.plain, path)

    def run_program(self, *command, stdin=None, environment=None, status=0):
        """stdout of a program that finds the proxy in its environment."""
        self.need(command[0])
        proxies = {name: self.proxy_url for name in ('http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY')}
        env = dict(os.environ, HOME=self.folder, no_proxy='', NO_PROXY='', **proxies)
        env.update(environment or {})
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False, env=env, cwd=self.folder)
        self.assertEqual(done.returncode, status, (done.stdout[-500:] + done.stderr[-2000:]).decode('utf-8', 'replace'))
        return done.stdout

    def record(self, pattern, count=1):
        return self.proxy.stdout.wait_for(pattern, after=self.lines, count=count)


class Curl(Shared):

    def curl(self, *arguments, status=0):
        return self.run_program('curl', '-sS', '-k', '-m', '30', '-x', self.proxy_url, *arguments, status=status)

    def test_every_method(self):
        for method in ('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'X-OWN'):
            out = self.curl('-X', method, '--data-binary', 'body', self.url('count'), '--next', '-x', self.proxy_url,
                            self.url('count'))
            if method not in ('PUT', 'DELETE', 'OPTIONS'):
                self.assertIn(b'%s ' % method.encode(), out)
            self.record('%s http' % method)
        self.assertIn(b'200 OK', self.curl('-I', self.url('page.txt')))
        self.curl('-X', 'TRACE', self.url('count'))

    def test_ranges_and_compression(self):
        self.assertEqual(self.curl('-r', '1000-1999', self.url('large')), LARGE[1000:2000])
        self.assertEqual(self.curl('-r', '-5', self.url('large')), LARGE[-5:])
        self.assertEqual(self.curl('--compressed', self.url('page.txt')), b'a page ' * 1000)
        self.assertEqual(self.curl('-H', 'Accept-Encoding: gzip', '-o', 'packed', '-w', '%{size_download}',
                                   self.url('page.txt')).isdigit(), True)

    def test_uploads(self):
        size = rig.size(20, 200) << 20
        with open(os.path.join(self.folder, 'up'), 'wb') as out:
            out.write(LARGE)
            out.truncate(size)
        for i, more in enumerate(([], ['-H', 'Expect: 100-continue'], ['-H', 'Expect:'],
                                  ['-H', 'Transfer-Encoding: chunked'])):
            self.curl('--fail', '-T', 'up', *more, self.url('uploaded%d' % i))
            with open(os.path.join(self.folder, 'uploaded%d' % i), 'rb') as up:
                self.assertEqual(hashlib.sha256(up.read(len(LARGE))).digest(), hashlib.sha256(LARGE).digest())
            self.assertEqual(os.path.getsize(os.path.join(self.folder, 'uploaded%d' % i)), size)
        out = self.curl('-H', 'Expect: 100-continue', '--expect100-timeout', '20', '-m', '5', '-T', 'up', '-o', '/dev/null',
                        '-w', '%{http_code} %{size_upload}', self.url('late'))
        self.assertEqual(out, b'417 0')

    def test_tunnels_with_http_1_and_2_inside(self):
        for version, said in (('--http1.1', b'1.1'), ('--http2', b'2')):
            urls = [self.url('large', secure=True)] * 3
            out = self.curl(version, '-w', '%{stderr}%{http_version} ', *urls)
            self.assertEqual(hashlib.sha256(out).digest(), hashlib.sha256(LARGE * 3).digest())
            self.assertEqual(self.curl(version, '-o', '/dev/null', '-w', '%{http_version}', self.url('large', True)), said)
        self.assertEqual(self.curl('--proxytunnel', self.url('large')), LARGE)
        self.assertEqual(self.curl('--http2', '--parallel', '--parallel-max', '30', '-w', '%{http_code} ',
                                   *[a for i in range(100) for a in ('-o', '/dev/null', self.url('page.txt?%d' % i, True))]
                                   ).split(), [b'200'] * 100)
        self.record(r'^00000 .*CONNECT 127.0.0.1:%d HTTP/1.1' % self.nginx.secure, count=4)

    def test_many_at_once(self):
        out = self.curl('--parallel', '--parallel-max', '40', '-w', '%{http_code} ',
                        *[a for i in range(200) for a in ('-o', '/dev/null', self.url('page.txt?%d' % i))])
        self.assertEqual(out.split(), [b'200'] * 200)


class Others(Shared):

    def test_wget(self):
        self.assertEqual(self.run_program('wget', '-q', '-O', '-', self.url('large')), LARGE)
        self.assertEqual(self.run_program('wget', '-q', '--no-check-certificate', '-O', '-', self.url('large', True)), LARGE)
        with open(os.path.join(self.folder, 'begun'), 'wb') as out:
            out.write(LARGE[:1000])
        self.run_program('wget', '-q', '-c', '-O', 'begun', self.url('large'))
        with open(os.path.join(self.folder, 'begun'), 'rb') as whole:
            self.assertEqual(whole.read(), LARGE)

    def test_git(self):
        self.need('git', 'openssl')
        environment = {'GIT_CONFIG_NOSYSTEM': '1', 'GIT_SSL_NO_VERIFY': '1', 'GIT_TERMINAL_PROMPT': '0',
                       'GIT_AUTHOR_NAME': 'a', 'GIT_AUTHOR_EMAIL': 'a@b', 'GIT_COMMITTER_NAME': 'a',
                       'GIT_COMMITTER_EMAIL': 'a@b'}

        def git(*arguments):
            self.run_program('git', *arguments, environment=environment)

        git('init', '-q', '-b', 'main', 'work')
        with open(os.path.join(self.folder, 'work', 'file'), 'wb') as out:
            out.write(LARGE)
        git('-C', 'work', 'add', 'file')
        git('-C', 'work', 'commit', '-q', '-m', 'one')
        git('clone', '-q', '--bare', 'work', 'shared.git')
        git('-C', 'shared.git', 'config', 'http.receivepack', 'true')
        for i, certificate in enumerate((None, self.certificate)):
            server = GitServer(self.folder, certificate)
            self.addCleanup(server.close)
            copy = 'copy%d' % i
            git('clone', '-q', server.url + '/shared.git', copy)
            with open(os.path.join(self.folder, copy, 'file'), 'rb') as file:
                self.assertEqual(hashlib.sha256(file.read(len(LARGE))).digest(), hashlib.sha256(LARGE).digest())
                self.assertEqual(len(file.read()), i * (2 << 20))  # What was pushed before.
            with open(os.path.join(self.folder, copy, 'file'), 'ab') as out:
                out.write(peers.payload(2 << 20, seed=i))
            git('-C', copy, 'commit', '-q', '-a', '-m', 'more')
            git('-C', copy, '-c', 'http.postBuffer=65536', 'push', '-q', 'origin', 'main')  # In chunks.
        self.record(r'POST http://\S+/shared.git/git-upload-pack ')
        self.record(r'POST http://\S+/shared.git/git-receive-pack ')
        self.record(r'CONNECT 127')

    def test_apt(self):
        self.need('apt-get')
        packages = os.path.join(self.folder, 'apt')
        os.mkdir(packages)
        deb = make_deb()
        with open(os.path.join(packages, 'thing.deb'), 'wb') as out:
            out.write(deb)
        with open(os.path.join(packages, 'Packages'), 'w', encoding='ascii') as out:
            out.write('Package: thing\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: a thing\n'
                      'Filename: ./thing.deb\nSize: %d\nSHA256: %s\n\n' % (len(deb), hashlib.sha256(deb).hexdigest()))
        root = os.path.join(self.folder, 'root')
        for name in ('state/lists/partial', 'cache/archives/partial', 'etc/apt/preferences.d', 'log'):
            os.makedirs(os.path.join(root, name))
        with open(os.path.join(root, 'status'), 'w', encoding='ascii'):
            pass
        with open(os.path.join(root, 'sources.list'), 'w', encoding='ascii') as out:
            out.write('deb [trusted=yes] %s ./\n' % self.url('apt'))
        options = []
        for option in ('Dir::State=%s/state' % root, 'Dir::State::status=%s/status' % root, 'Dir::Cache=%s/cache' % root,
                       'Dir::Etc=%s/etc/apt' % root, 'Dir::Etc::sourcelist=%s/sources.list' % root,
                       'Dir::Etc::sourceparts=-', 'Dir::Log=%s/log' % root, 'APT::Sandbox::User=root',
                       'APT::Architecture=amd64', 'Acquire::Languages=none', 'Acquire::http::Proxy=' + self.proxy_url):
            options += ['-o', option]
        self.run_program('apt-get', *options, 'update')
        self.run_program('apt-get', *options, 'download', 'thing')
        with open(os.path.join(self.folder, 'thing_1_all.deb'), 'rb') as out:
            self.assertEqual(out.read(), deb)
        self.record(r'GET http://\S+/apt/\S*thing.deb ')

    def test_urllib(self):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({'http': self.proxy_url, 'https': self.proxy_url}),
                                             urllib.request.HTTPSHandler(context=ssl._create_unverified_context()))
        for secure in (False, True):
            with opener.open(self.url('large', secure), timeout=20) as answer:
                self.assertEqual(answer.read(), LARGE)

    def test_httpx(self):
        self.need_module('httpx')
        out = self.run_program(PYTHON, '-c', '''
import hashlib, httpx, json, sys
digests = []
with httpx.Client(proxies=sys.argv[1], verify=False) as client:
    for url in sys.argv[2:]:
        for _ in range(3):
            digests.append(hashlib.sha256(client.get(url).content).hexdigest())
    def pieces():
        for _ in range(10):
            yield b"x" * 10000
    assert client.put(sys.argv[2].rsplit("/", 1)[0] + "/pieces", content=pieces()).status_code in (201, 204)
print(json.dumps(digests))
''', self.proxy_url, self.url('large'), self.url('large', True))
        self.assertEqual(json.loads(out), [hashlib.sha256(LARGE).hexdigest()] * 6)
        self.assertEqual(os.path.getsize(os.path.join(self.folder, 'pieces')), 100000)

    def test_node(self):
        script = r'''
const http = require('http'), tls = require('tls'), crypto = require('crypto');
const [proxy, plain, secure] = process.argv.slice(1).map((u) => new URL(u));
const agent = new http.Agent({keepAlive: true, maxSockets: 4});
const digest = (response) => new Promise((resolve, reject) => {
  const hash = crypto.createHash('sha256');
  response.on('data', (d) => hash.update(d)).on('end', () => resolve(hash.digest('hex'))).on('error', reject);
});
const ask = (options) => new Promise((resolve, reject) =>
  http.request(options, (r) => resolve(digest(r))).on('error', reject).end());
const at = {host: proxy.hostname, port: proxy.port, agent};
const tunnelled = () => new Promise((resolve, reject) =>
  http.request({...at, agent: undefined, method: 'CONNECT', path: secure.host}).on('connect', (_, socket) => {
    const inside = tls.connect({socket, rejectUnauthorized: false}, () =>
      resolve(ask({createConnection: () => inside, path: secure.pathname, headers: {host: secure.host}})));
  }).on('error', reject).end());
Promise.all([...Array(20)].map(() => ask({...at, path: plain.href, headers: {host: plain.host}})).concat([tunnelled()]))
  .then((all) => { console.log(JSON.stringify(all)); process.exit(0); });
'''
        out = self.run_program('node', '-e', script, self.proxy_url, self.url('large'), self.url('large', True))
        self.assertEqual(json.loads(out), [hashlib.sha256(LARGE).hexdigest()] * 21)

    def need_module(self, name):
        if subprocess.run([PYTHON, '-c', 'import ' + name], capture_output=True, check=False).returncode:
            self.skipTest('NOT RUN: python3-%s is not installed' % name)

    def test_websockets(self):
        self.need_module('websockets')
        port = peers.free_port()
        with subprocess.Popen([PYTHON, '-c', '''
import asyncio, sys, websockets
async def echo(socket):
    async for message in socket:
        await socket.send(message)
async def main():
    async with websockets.serve(echo, "127.0.0.1", int(sys.argv[1]), max_size=None):
        await asyncio.Future()
asyncio.run(main())
''', str(port)]) as server:
            try:
                rig.eventually(lambda: peers.listeners(port), 'it listens')
                out = self.run_program(PYTHON, '-c', '''
import asyncio, os, socket, sys, websockets
async def main():
    for tunnel in (False, True):
        sock = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
        if tunnel:
            sock.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n" % int(sys.argv[2]))
            assert b" 200 " in sock.recv(1000)
        async with websockets.connect("ws://127.0.0.1:%s/" % sys.argv[2], sock=sock, max_size=None) as client:
            for size in (0, 1, 125, 126, 65536, 1000000):
                message = os.urandom(size)
                await client.send(message)
                assert await client.recv() == message
            await client.ping()
    print("all")
asyncio.run(main())
''', str(self.proxy.port()), str(port))
                self.assertEqual(out, b'all\n')
            finally:
                server.terminate()
        self.record(r'GET / HTTP/1.1')

    def test_wrk_through_nginx_and_haproxy(self):
        self.need('wrk', 'haproxy')
        port, path = peers.free_port(), os.path.join(self.folder, 'haproxy.cfg')
        with open(path, 'w', encoding='ascii') as out:
            out.write('defaults\n mode http\n timeout connect 5s\n timeout client 60s\n timeout server 60s\n'
                      'listen web\n bind 127.0.0.1:%d\n server origin 127.0.0.1:%d\n' % (port, self.nginx.plain))
        with subprocess.Popen(['haproxy', '-db', '-f', path], stderr=subprocess.DEVNULL) as haproxy:
            try:
                rig.eventually(lambda: peers.listeners(port), 'haproxy listens')
                for origin in (self.nginx.plain, port):
                    # wrk knows no proxies: a path that is a URL makes one of it.
                    out = self.run_program('wrk', '-t1', '-c40', '-d%ds' % rig.size(1, 10), '-s', self.absolute(origin),
                                           self.proxy_url).decode()
                    self.assertNotIn('Non-2xx', out)
                    self.assertNotIn('Socket errors', out)
                    self.assertRegex(out, r'[1-9]\d+ requests in')
            finally:
                haproxy.terminate()

    def absolute(self, port):
        path = os.path.join(self.folder, 'absolute%d.lua' % port)
        with open(path, 'w', encoding='ascii') as out:
            out.write('request = function() return "GET http://127.0.0.1:%d/page.txt HTTP/1.1\\r\\n'
                      'Host: 127.0.0.1:%d\\r\\n\\r\\n" end\n' % (port, port))
        return path


def make_deb():
    """A package with nothing in it: an ar archive of three members."""

    def packed(files):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode='w:gz') as tar:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
        return out.getvalue()

    control = b'Package: thing\nVersion: 1\nArchitecture: all\nMaintainer: a <a@b>\nDescription: a thing\n'
    members = (('debian-binary', b'2.0\n'), ('control.tar.gz', packed({'./control': control})),
               ('data.tar.gz', packed({'./nothing': peers.payload(200000)})))
    deb = b'!<arch>\n'
    for name, data in members:
        deb += b'%-16s%-12d%-6d%-6d%-8s%-10d`\n' % (name.encode(), 0, 0, 0, b'100644', len(data)) + data
        deb += b'\n' * (len(data) % 2)
    return deb


if __name__ == '__main__':
    rig.main()
