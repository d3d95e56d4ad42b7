#!/usr/bin/env python3
"""Who may do what: credentials, rules and reloads as clients, origins and the log see them."""

import base64
import socket
import subprocess
import time

import rig
import peers
import http_peer as http
import socks_peer as socks
from name_server import NameServer
from peers import FIN, RST
from udp_peer import UdpOrigin

LOG = 'log\nlogformat "L%N %E %{result} %U %R:%r %T"\n'
# "password", hashed so that checking it takes a thread.
HASHED = '"carol:CR:$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/"'
USERS = 'users alice:CL:one bob:CL:two "u:CL:p:w d" %s\n' % HASHED


def basic(user, password):
    return b'Proxy-Authorization: Basic %s\r\n' % base64.b64encode(('%s:%s' % (user, password)).encode())


def connect_tunnel(proxy, address, more=b''):
    """(status, socket) of a CONNECT."""
    client = http.Client(proxy)
    host = http.host_of(address).encode()
    client.send(b'CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n' % (host, host, more))
    line, fields = client.reader.head()
    status = int(line.split(' ')[1])
    if status != 200:
        client.reader.body(fields)
    return status, client.sock


def socks_login(proxy, user, password, host, port, command=socks.CONNECT):
    """(subnegotiation's status, reply or None, socket)."""
    sock = peers.connect(proxy)
    sock.sendall(socks.PASSWORD)
    if peers.receive_exactly(sock, 2) != b'\x05\x02':
        raise AssertionError('the method is not chosen')
    sock.sendall(socks.password(user, password))
    status = peers.receive_exactly(sock, 2)[1]
    if status:
        return status, None, sock
    sock.sendall(socks.request5(host, port, command))
    return status, socks.reply5(sock)[0], sock


class Credentials(rig.Case):
    """Right, wrong and no credentials at each service."""

    def test_curl_at_every_service(self):
        self.need('curl')
        with peers.Origin(http.serving(http.echo_path)) as origin:
            config = (LOG + USERS + 'auth strong\nallow alice,carol\ndeny *\nproxy -i127.0.0.1 -p0\n'
                      'socks -i127.0.0.1 -p0\nauto -i127.0.0.1 -p0\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n'
                      'flush\nauth iponly\nallow *\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (origin.port, origin.port))
            with rig.Sluice(config) as proxy:
                for way, service, refused in (('http', 0, '407'), ('tunnel', 0, '000'), ('socks5', 1, '000'),
                                              ('socks5h', 1, '000'), ('http', 2, '407'), ('socks5', 2, '000')):
                    where = '%s://%%s127.0.0.1:%d' % ('http' if way == 'tunnel' else way, proxy.port(service))
                    for login, allowed in (('alice:one@', True), ('carol:password@', True), ('alice:two@', False),
                                           ('carol:passwor@', False), ('eve:one@', False), ('bob:two@', None), ('', False)):
                        command = ['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', '--max-time', '10', '-x',
                                   where % login, 'http://127.0.0.1:%d/x' % origin.port]
                        done = subprocess.run(command + (['-p'] if way == 'tunnel' else []), capture_output=True, check=False)
                        wanted = '200' if allowed else '403' if allowed is None and refused == '407' else refused
                        self.assertEqual(done.stdout.decode(), wanted, (way, service, login))
                # Nobody can say a name to tcppm.
                self.assertIn(peers.answer_of(proxy.address(3), b'GET / HTTP/1.0\r\n\r\n')[1], (FIN, RST))
                self.assertIn(b'HTTP/1.1 200', peers.answer_of(proxy.address(4), b'GET / HTTP/1.0\r\n\r\n', 1)[0])
                codes = [line.split(' ')[1] for line in proxy.stdout.all()]
                for code in ('00000', '00001', '00004', '00005', '00006', '00007'):
                    self.assertIn(code, codes)
                self.assertEqual(len(proxy.stdout.matching('^TCPPM 00004 ')), 1)

    def test_basic_credentials_to_the_letter(self):
        with peers.Origin(http.serving(http.echo_path)) as origin:
            with rig.Sluice(LOG + USERS + 'auth strong\nproxy -i127.0.0.1 -p0\n') as proxy:
                right = base64.b64encode(b'u:p:w d')
                table = {b'Basic ' + right: 200, b'basic   ' + right: 200, b'BASIC ' + right: 200,
                         b'Basic ' + base64.b64encode(b'u:p:w'): 407, b'Basic ' + base64.b64encode(b'u:p:w d '): 407,
                         b'Basic ' + base64.b64encode(b'u:'): 407, b'Basic ' + base64.b64encode(b'U:p:w d'): 407,
                         b'Basic ' + right[:-1]: 407, b'Basic ' + right + b'!': 407, b'Basic ' + right.rstrip(b'='): 407,
                         b'Basic': 407, b'Basic ': 407, b'Digest ' + right: 407, b'Basic ' + b'QUJD' * 2048: 407,
                         b'Basic\t' + right: 407, b'Basic ' + right + b' ' + right: 407}
                with http.Client(proxy.address()) as client:
                    for value, status in table.items():
                        answer = client.get(origin, more=b'Proxy-Authorization: %s\r\n' % value)
                        self.assertEqual(answer.status, status, value[:60])
                        if status == 407:
                            self.assertEqual(answer['proxy-authenticate'], 'Basic realm="proxy", charset="UTF-8"')
                    twice = b'Proxy-Authorization: Basic %s\r\n' % right
                    self.assertEqual(client.get(origin, more=twice * 2).status, 407)
            self.assertTrue(all(request['proxy-authorization'] is None for request in origin.seen))

    def test_no_user_is_lost_in_a_large_table(self):
        count = rig.size(600, 5000)
        with peers.Origin(http.serving(http.echo_path)) as origin:
            folder = rig.scratch_folder()
            with open(folder + '/passwd', 'w', encoding='ascii') as out:
                out.write(''.join('user%d:CL:pass%d\n' % (i, i) for i in range(5000)))
            with rig.Sluice('users $%s/passwd\nauth strong\nproxy -i127.0.0.1 -p0\n' % folder) as proxy:
                with http.Client(proxy.address()) as client:
                    for i in range(0, 5000, 5000 // count):
                        self.assertEqual(client.get(origin, more=basic('user%d' % i, 'pass%d' % i)).status, 200, i)
                        self.assertEqual(client.get(origin, more=basic('user%d' % i, 'pass%d' % (i + 1))).status, 407, i)

    def test_each_request_on_a_connection_is_its_own(self):
        """What one request was allowed is nothing to the next one."""
        with peers.Origin(http.serving(http.echo_path)) as one, peers.Origin(http.serving(http.echo_path)) as other:
            config = (LOG + USERS + 'auth strong\nallow alice * * %d\nallow bob * * %d HTTP_GET\ndeny *\n'
                      'proxy -i127.0.0.1 -p0\n' % (one.port, other.port))
            with rig.Sluice(config) as proxy, http.Client(proxy.address()) as client:
                alice, bob = basic('alice', 'one'), basic('bob', 'two')
                for origin, more, status in ((one, alice, 200), (one, alice, 200), (one, b'', 407), (one, bob, 403),
                                             (other, alice, 403), (other, bob, 200), (one, alice, 200),
                                             (one, basic('alice', 'two'), 407), (one, alice, 200)):
                    self.assertEqual(client.get(origin, more=more).status, status)
                self.assertEqual(client.ask(http.get(other, more=bob, method=b'DELETE')).status, 403)
                fields = [line.split(' ') for line in proxy.stdout.wait_for('PROXY', count=10)]
            self.assertEqual([(f[1], f[3]) for f in fields],
                             [('00000', 'alice'), ('00000', 'alice'), ('00004', '-'), ('00001', 'bob'), ('00001', 'alice'),
                              ('00000', 'bob'), ('00000', 'alice'), ('00006', 'alice'), ('00000', 'alice'), ('00001', 'bob')])

    def test_socks_credentials_by_policy(self):
        """Lazy: the request is refused. -u3: the password is. -u: nobody is asked."""
        with peers.Origin() as origin:
            config = (LOG + USERS + 'auth strong\nsocks -i127.0.0.1 -p0\nsocks -i127.0.0.1 -p0 -u3\nsocks -i127.0.0.1 -p0 -u2\n'
                      'socks -i127.0.0.1 -p0 -u\n')
            with rig.Sluice(config) as proxy:
                for user, password, right in ((b'alice', b'one', True), (b'alice', b'x', False), (b'carol', b'password', True),
                                              (b'carol', b'x', False), (b'', b'', False)):
                    for service, wanted in ((0, (0, 0 if right else 2)), (1, (0, 0) if right else (1, None))):
                        status, code, sock = socks_login(proxy.address(service), user, password, '127.0.0.1', origin.port)
                        self.assertEqual((status, code), wanted, (user, service))
                        if right:
                            peers.check_echo(sock)
                        else:
                            self.assertEqual(peers.receive_all(sock), (b'', FIN))
                        sock.close()
                for service in (1, 2):
                    self.assertEqual(peers.answer_of(proxy.address(service), socks.NO_AUTH), (b'\x05\xff', FIN))
                sock = peers.connect(proxy.address(3))
                sock.sendall(b'\x05\x02\x00\x02')
                self.assertEqual(peers.receive_exactly(sock, 2), b'\x05\x00')
                sock.sendall(socks.request5('127.0.0.1', origin.port))
                self.assertEqual(socks.reply5(sock)[0], 2)
                # Everything in one segment, before the password has been looked at.
                sock = peers.connect(proxy.address(1))
                sock.sendall(socks.PASSWORD + socks.password(b'carol', b'password') +
                             socks.request5('127.0.0.1', origin.port) + b'early')
                self.assertEqual(peers.receive_exactly(sock, 4), b'\x05\x02\x01\x00')
                self.assertEqual(socks.reply5(sock)[0], 0)
                self.assertEqual(peers.receive_exactly(sock, 5), b'early')
                # SOCKS 4 has a name and no password.
                sock = peers.connect(proxy.address(0))
                sock.sendall(socks.request4('127.0.0.1', origin.port, b'alice'))
                self.assertEqual(socks.reply4(sock)[0], 91)

    def test_the_clients_name_server_names_it(self):
        with peers.Origin() as origin, NameServer({'client.test': ['127.0.0.1'], 'liar.test': ['127.0.0.1']},
                                                  pointers={'127.0.0.1': 'client.test', '127.0.0.2': 'liar.test'}) as names:
            config = LOG + ('nserver %s\nauth dnsname\nallow client.test,liar.test\n'
                            'tcppm -i0.0.0.0 0 127.0.0.1 %d\n' % (names.where, origin.port))
            with rig.Sluice(config) as proxy:
                peers.tunnel_works(('127.0.0.1', proxy.port()))
                for source in ('127.0.0.2', '127.0.0.3'):
                    sock = peers.connect(('127.0.0.1', proxy.port()), source=(source, 0))
                    self.assertIn(peers.receive_all(sock)[1], (FIN, RST))
                proxy.stdout.wait_for(r'^TCPPM 00000 ok client\.test ')
                self.assertEqual(len(proxy.stdout.wait_for(r'^TCPPM 00004 no_client_name - ', count=2)), 2)

    def test_a_user_name_cannot_forge_the_log(self):
        with peers.Origin(http.serving(http.echo_path)) as origin:
            with rig.Sluice(LOG + USERS + 'auth strong\nproxy -i127.0.0.1 -p0\nsocks -i127.0.0.1 -p0\n') as proxy:
                nasty = 'a\nPROXY 00000 ok root\r\x1b[2J"\\\x00\x7f'
                with http.Client(proxy.address()) as client:
                    self.assertEqual(client.get(origin, more=basic(nasty, 'x')).status, 407)
                socks_login(proxy.address(1), nasty.encode(), b'x', '127.0.0.1', origin.port)[2].close()
                proxy.stdout.wait_for('^SOCK5 00005 ')
                lines = proxy.stdout.all()
                self.assertEqual(len(lines), 2)
                for line in lines:
                    self.assertTrue(all(' ' <= c < '\x7f' for c in line), line)
                    self.assertEqual(line.split(' ')[2], 'unknown_user')


class Rules(rig.Case):

    def test_local_is_local_however_it_is_spelled(self):
        with peers.Origin(http.serving(http.echo_path)) as origin, UdpOrigin() as udp, \
                NameServer({'inside.test': ['127.0.0.1'], 'mixed.test': ['127.0.0.1', '::1']}) as names:
            config = LOG + ('nserver %s\nauth iponly\ndeny * * local\nallow *\nproxy -i127.0.0.1 -p0\nsocks -i127.0.0.1 -p0\n'
                            'tcppm -i127.0.0.1 0 inside.test %d\nudppm -i127.0.0.1 0 127.0.0.1 %d\n' %
                            (names.where, origin.port, udp.port))
            with rig.Sluice(config) as proxy:
                for host in ('127.0.0.1', '127.1', '0.0.0.0', '0', '2130706433', '0x7f.1', '017700000001', '[::]', '[::1]',
                             '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '169.254.169.254', '[fe80::1]',
                             'localhost', 'LOCALHOST.', 'inside.test', 'INSIDE.test.', 'mixed.test', '127.255.255.254'):
                    for method in (b'GET', b'CONNECT'):
                        where = '%s:%d' % (host, origin.port)
                        target = where if method == b'CONNECT' else 'http://%s/' % where
                        with http.Client(proxy.address()) as client:
                            client.send(b'%s %s HTTP/1.1\r\nHost: %s\r\n\r\n' % (method, target.encode(), where.encode()))
                            self.assertIn(client.reader.answer().status, (400, 403, 502), (method, host))
                    bare = host.strip('[]')
                    for request in (socks.request5(bare.encode(), origin.port), socks.request4(bare.encode(), origin.port)):
                        data, _ = peers.answer_of(proxy.address(1), (socks.NO_AUTH if request[0] == 5 else b'') + request)
                        data = data[2:] if request[0] == 5 else data
                        self.assertIn(data[:2], (b'\x05\x02', b'\x05\x04', b'\x05\x01', b'\x00\x5b'), (host, data))
                for host in ('127.0.0.1', '::1', '::ffff:127.0.0.1', '127.0.0.9', '64:ff9b::7f00:1'):
                    sock, code, _ = socks.ask(proxy.address(1), host, origin.port)
                    self.assertEqual(code, 2, host)
                    sock.close()
                with socks.Association(proxy.address(1)) as client:
                    self.assertEqual(client.code, 0)
                    for host in ('127.0.0.1', b'localhost', b'inside.test', '::1', '::ffff:127.0.0.1'):
                        client.send(host, udp.port, b'x')
                    self.assertTrue(client.nothing_comes())
                self.assertIn(peers.answer_of(proxy.address(2), b'x')[1], (FIN, RST))
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                    sock.sendto(b'x', proxy.address(3))
                    proxy.stdout.wait_for('^UDPPM 00001 denied')
            self.assertEqual((origin.accepted, udp.seen), (0, []))

    def test_the_address_that_was_judged_is_the_one_that_is_reached(self):
        """A name whose address changes with each answer: what is denied is never reached."""
        with peers.Origin(http.serving(http.echo_path)) as origin:
            bad = peers.Origin(http.serving(http.echo_path), ('127.0.0.9', origin.port))
            self.addCleanup(bad.close)
            flip = [0]

            def addresses():
                flip[0] += 1
                return ['127.0.0.1'] if flip[0] % 2 else ['127.0.0.9']

            with NameServer({'flip.test': addresses, 'both.test': ['127.0.0.9', '127.0.0.1']}, ttl=0) as names:
                config = LOG + ('nserver %s\nauth iponly\ndeny * * 127.0.0.9\nallow *\nproxy -i127.0.0.1 -4 -p0 -k0\n' %
                                names.where)
                with rig.Sluice(config) as proxy:
                    statuses = set()
                    for _ in range(rig.size(60, 500)):
                        with http.Client(proxy.address()) as client:
                            where = 'flip.test:%d' % origin.port
                            client.send(b'GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n' % (where.encode(), where.encode()))
                            statuses.add(client.reader.answer().status)
                    self.assertEqual(statuses, {200, 403})
                    with http.Client(proxy.address()) as client:
                        where = 'both.test:%d' % origin.port
                        client.send(b'GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n' % (where.encode(), where.encode()))
                        self.assertEqual(client.reader.answer().status, 200)
            self.assertEqual(bad.accepted, 0)

    def test_each_datagram_is_judged(self):
        with UdpOrigin() as good, UdpOrigin() as bad:
            config = LOG + ('auth iponly\nallow * * * %d\nsocks -i127.0.0.1 -p0\nsocks -i127.0.0.1 -p0 -U0\n' % good.port)
            with rig.Sluice(config) as proxy:
                with socks.Association(proxy.address()) as client:
                    client.send(*bad.address, b'denied at first')
                    client.send(*good.address, b'one')
                    self.assertEqual(client.receive(), (b'one', good.address))
                    client.send(*bad.address, b'denied')
                    client.send(*good.address, b'two')
                    self.assertEqual(client.receive(), (b'two', good.address))
                # -U0: the first destination decides for all.
                with socks.Association(proxy.address(1)) as client:
                    client.send(*bad.address, b'denied at first')
                    client.send(*good.address, b'one')
                    self.assertEqual(client.receive(), (b'one', good.address))
                    client.send(*bad.address, b'trusted')
                    self.assertEqual(client.receive(), (b'trusted', bad.address))
            self.assertEqual([data for data, _ in bad.seen], [b'trusted'])

    def test_an_association_that_may_send_nowhere_is_refused(self):
        with rig.Sluice(LOG + 'auth iponly\nallow * * * * CONNECT\ndeny *\nsocks -i127.0.0.1 -p0\n') as proxy:
            sock, code, _ = socks.ask(proxy.address(), '0.0.0.0', 0, socks.ASSOCIATE)
            self.assertEqual((code, peers.receive_all(sock)), (2, (b'', FIN)))

    def test_udppm_by_client_and_target(self):
        with UdpOrigin() as origin:
            config = LOG + ('auth iponly\nallow * 127.0.0.1 127.0.0.0/8 %d UDPASSOC\ndeny *\nudppm -i0.0.0.0 0 127.0.0.1 %d\n' %
                            (origin.port, origin.port))
            with rig.Sluice(config) as proxy, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as good, \
                    socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as bad:
                good.settimeout(5)
                bad.bind(('127.0.0.2', 0))
                where = ('127.0.0.1', proxy.port())
                bad.sendto(b'bad', where)
                good.sendto(b'good', where)
                self.assertEqual(good.recv(100), b'good')
                proxy.stdout.wait_for('^UDPPM 00001 denied')
                self.assertEqual(origin.wait_seen(), [b'good'])

    def test_nolog_and_denials_in_the_log(self):
        with peers.Origin(http.serving(http.echo_path)) as origin:
            config = LOG + ('auth iponly\nallow * * * %d HTTP_GET\nnolog\nallow * * * %d HTTP_POST\nallow * 10.0.0.1\n'
                            'proxy -i127.0.0.1 -p0\n' % (origin.port, origin.port))
            with rig.Sluice(config) as proxy, http.Client(proxy.address()) as client:
                self.assertEqual(client.get(origin).status, 200)
                self.assertEqual(client.get(origin).status, 200)
                self.assertEqual(client.ask(http.get(origin, method=b'PUT')).status, 407)
                self.assertEqual(client.ask(http.get(origin, more=b'Content-Length: 0\r\n', method=b'POST')).status, 200)
                proxy.stdout.wait_for('POST')
                self.assertEqual([line.split(' ')[1:3] for line in proxy.stdout.all()],
                                 [['00003', 'no_rule_matched'], ['00000', 'ok']])

    def test_who_is_turned_away_leaves_nothing_behind(self):
        with peers.Origin() as origin, peers.Origin(http.serving(http.echo_path)) as web:
            config = LOG + USERS + ('auth strong\nallow alice * * %d\ndeny *\nproxy -i127.0.0.1 -p0\nsocks -i127.0.0.1 -p0\n'
                                    'tcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (web.port, origin.port))
            with rig.Sluice(config) as proxy:
                socks_login(proxy.address(1), b'carol', b'x', '127.0.0.1', origin.port)[2].close()
                rig.eventually(lambda: proxy.stdout.matching('00007'), 'a thread has run')
                before = peers.descriptor_count(proxy.pid)

                def one(i):
                    user, password = [(b'bob', b'two'), (b'alice', b'x'), (b'carol', b'x'), (b'eve', b'x')][i % 4]
                    if i % 3 == 0:
                        status, sock = connect_tunnel(proxy.address(), origin.address, basic(user.decode(), password.decode()))
                        self.assertIn(status, (403, 407))
                    elif i % 3 == 1:
                        status, code, sock = socks_login(proxy.address(1), user, password, '127.0.0.1', origin.port)
                        self.assertEqual((status, code), (0, 2))
                    else:
                        sock = peers.connect(proxy.address(2))
                        self.assertIn(peers.receive_all(sock)[1], (FIN, RST))
                    sock.close()

                for first in range(0, rig.size(240, 2000), 60):
                    peers.together(one, range(first, first + 60))
                rig.eventually(lambda: peers.descriptor_count(proxy.pid) <= before + 1, 'descriptors are back')
                with http.Client(proxy.address()) as client:
                    self.assertEqual(client.get(web, more=basic('alice', 'one')).status, 200)
            self.assertEqual(origin.accepted, 0)


class Reloads(rig.Case):
    """`force`: a new configuration is asked about the sessions that run."""

    def config(self, rules, more=''):
        return LOG + USERS + more + 'auth strong\n' + rules + ('proxy -i127.0.0.1 -p%d\nsocks -i127.0.0.1 -p%d\n' % self.ports)

    def setUp(self):
        self.ports = (peers.free_port(), peers.free_port())
        self.origin = peers.Origin(self.echo_to_the_end)
        self.addCleanup(self.origin.close)

    @staticmethod
    def echo_to_the_end(sock, origin):
        peers.echo(sock, origin)
        origin.note('end')

    def tunnels(self, proxy):
        """One of alice's and one of bob's, through each service."""
        opened = {}
        for user, password in (('alice', 'one'), ('bob', 'two')):
            status, sock = connect_tunnel(proxy.address(), self.origin.address, basic(user, password))
            self.assertEqual(status, 200)
            opened[user, 'http'] = sock
            opened[user, 'socks'] = socks_login(proxy.address(1), user.encode(), password.encode(), '127.0.0.1',
                                                self.origin.port)[2]
        for sock in opened.values():
            peers.check_echo(sock)
        return opened

    def test_who_is_denied_now_ends_and_nobody_else(self):
        with rig.Sluice(self.config('allow alice,bob\n')) as proxy:
            tunnels = self.tunnels(proxy)
            started = time.monotonic()
            said = proxy.reload(self.config('deny alice\nallow alice,bob\n'))
            self.assertIn('2 sessions kept, 2 closed, 0 changed', said)
            for (user, _), sock in tunnels.items():
                if user == 'alice':
                    self.assertEqual(peers.receive_all(sock), (b'', FIN))
                else:
                    peers.check_echo(sock, b'I was not meant')
            self.assertLess(time.monotonic() - started, 2)
            self.assertEqual(self.origin.wait_seen(2), ['end'] * 2)
            self.assertEqual(len(proxy.stdout.wait_for(r'00001 revoked alice', count=2)), 2)
            status, _ = connect_tunnel(proxy.address(), self.origin.address, basic('alice', 'one'))
            self.assertEqual(status, 403)

    def test_a_changed_password_ends_the_sessions_of_its_user(self):
        with rig.Sluice(self.config('allow alice,bob\n')) as proxy:
            tunnels = self.tunnels(proxy)
            said = proxy.reload(self.config('allow alice,bob\n').replace('bob:CL:two', 'bob:CL:three'))
            self.assertIn('2 sessions kept, 2 closed, 0 changed', said)
            self.assertEqual(peers.receive_all(tunnels['bob', 'socks']), (b'', FIN))
            peers.check_echo(tunnels['alice', 'http'])

    def test_noforce_leaves_sessions_alone(self):
        with rig.Sluice(self.config('allow alice,bob\n')) as proxy:
            tunnels = self.tunnels(proxy)
            said = proxy.reload(self.config('deny alice\nallow alice,bob\n', 'noforce\n'))
            self.assertIn('4 sessions kept, 0 closed, 0 changed', said)
            for sock in tunnels.values():
                peers.check_echo(sock)

    def test_another_rule_is_a_change(self):
        with rig.Sluice(self.config('allow alice,bob\n')) as proxy:
            tunnels = self.tunnels(proxy)
            said = proxy.reload(self.config('allow alice\nallow alice,bob\n'))
            self.assertIn('2 sessions kept, 0 closed, 2 changed', said)
            for sock in tunnels.values():
                peers.check_echo(sock)

    def test_a_kept_connection_is_judged_by_the_new_rules(self):
        with peers.Origin(http.serving(http.echo_path)) as web, rig.Sluice(self.config('allow alice,bob\n')) as proxy:
            clients = {}
            for user, password in (('alice', 'one'), ('bob', 'two')):
                clients[user] = http.Client(proxy.address()), basic(user, password)
                self.assertEqual(clients[user][0].get(web, more=clients[user][1]).status, 200)
            proxy.reload(self.config('deny * * * * HTTP_GET\nallow alice,bob\n'))
            for client, more in clients.values():
                try:
                    status = client.get(web, more=more).status
                except (http.Broken, OSError):
                    status = 403  # an idle client that may no longer do what it did last is closed
                self.assertEqual(status, 403)

    def test_udp_clients_are_judged_anew(self):
        with UdpOrigin() as one, UdpOrigin() as other, rig.Sluice(self.config('', 'auth none\n').replace(
                'auth strong', 'auth iponly')) as proxy:
            with socks.Association(proxy.address(1)) as client:
                for origin in (one, other):
                    client.send(*origin.address, b'1')
                    self.assertEqual(client.receive(), (b'1', origin.address))
                proxy.reload(self.config('allow * * * %d\n' % one.port).replace('auth strong', 'auth iponly'))
                client.send(*other.address, b'2')
                client.send(*one.address, b'2')
                self.assertEqual(client.receive(), (b'2', one.address))
                self.assertTrue(client.nothing_comes())
                said = proxy.reload(self.config('deny *\n').replace('auth strong', 'auth iponly'))
                self.assertIn('0 sessions kept, 1 closed', said)
                self.assertEqual(peers.receive_all(client.control), (b'', FIN))
            self.assertEqual([data for data, _ in other.seen], [b'1'])

    def test_reloads_with_other_rules_under_load_break_nothing(self):
        config = 'auth iponly\nallow * 127.0.0.0/8%s\ntcppm -i127.0.0.1 %d 127.0.0.1 %d\n'
        port = peers.free_port()
        with rig.Sluice(config % ('', port, self.origin.port), '--workers=2') as proxy:
            inodes = {s['inode'] for s in peers.listeners(port)}
            faults, stop = [], []

            def clients(_):
                while not stop:
                    try:
                        peers.tunnel_works(('127.0.0.1', port), timeout=10)
                    except Exception as error:  # Any fault is what this case is there to see.
                        faults.append(repr(error))
                    time.sleep(0.003)

            def reloads():
                for i in range(rig.size(20, 100)):
                    proxy.reload(config % (' 127.0.0.1-127.0.0.%d,::1' % (i + 1), port, self.origin.port))
                stop.append(True)

            peers.together(lambda work: work(), [reloads] + [lambda: clients(0)] * 3)
            self.assertEqual(faults, [])
            self.assertEqual({s['inode'] for s in peers.listeners(port)}, inodes)
            rig.eventually(lambda: not any(s['receive_queue'] for s in peers.listeners(port)), 'queues are empty')


if __name__ == '__main__':
    rig.main()
