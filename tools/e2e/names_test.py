#!/usr/bin/env python3
"""Destinations given as names: where the address comes from, and whom a slow answer may hold."""

import os
import subprocess
import time

import rig
import peers
from name_server import AAAA, NameServer
from peers import FIN, RST

# CONNECT 15 s, one DNS try 1 s.
TIMEOUTS = 'timeouts 1 5 30 60 180 1800 1\n'
LOG = 'log\n' + rig.RECORD_FORMAT


def say_which(text):
    """An origin that says which one it is."""
    return lambda sock, _: sock.sendall(text)


class Sources(rig.Case):
    """Name servers, /etc/hosts, /etc/resolv.conf."""

    def _with_files(self, hosts=None, resolv=None):
        """A wrapper that gives the proxy its own /etc/hosts and /etc/resolv.conf; skips where that is not allowed."""
        folder, mounts = rig.scratch_folder(), []
        for text, target in ((hosts, '/etc/hosts'), (resolv, '/etc/resolv.conf')):
            if text is not None:
                source = os.path.join(folder, os.path.basename(target))
                with open(source, 'w', encoding='ascii') as out:
                    out.write(text)
                mounts.append('mount --bind %s %s' % (source, os.path.realpath(target)))
        script = ' && '.join(mounts)
        wrapper = ['unshare', '-m', 'sh', '-c', script + ' && exec "$@"', 'sh']
        tried = subprocess.run(wrapper + ['true'], capture_output=True, check=False)
        if tried.returncode:
            self.skipTest('NOT RUN: a mount namespace is not allowed here: %s' % tried.stderr.decode().strip())
        return wrapper

    def test_name_server_of_the_configuration(self):
        with peers.Origin() as origin, NameServer({'origin.test': ['127.0.0.1']}) as names:
            config = LOG + 'nserver %s\ntcppm -i127.0.0.1 0 origin.test %d\n' % (names.where, origin.port)
            with rig.Sluice(config) as proxy:
                for _ in range(3):
                    peers.tunnel_works(proxy.address())
                self.assertIn('origin.test', {name for name, _ in names.asked})
                proxy.stdout.wait_for(r'127\.0\.0\.1:%d ' % origin.port, count=3)

    def test_hosts_file(self):
        wrapper = self._with_files(hosts='127.0.0.1 localhost\n127.0.0.7 Box.Example.test alias # comment\n')
        with peers.Origin(say_which(b'seven'), ('127.0.0.7', 0)) as origin:
            config = 'tcppm -i127.0.0.1 0 box.example.TEST %d\ntcppm -i127.0.0.1 0 alias %d\n' % (
                origin.port, origin.port)
            with rig.Sluice(config, wrapper=wrapper) as proxy:
                self.assertEqual(peers.answer_of(proxy.address(0)), (b'seven', FIN))
                self.assertEqual(peers.answer_of(proxy.address(1)), (b'seven', FIN))

    def test_resolver_file_of_the_system_is_read_when_no_name_server_is_given(self):
        try:
            names = NameServer({'from.resolv.test': ['127.0.0.1']}, host='127.0.0.53', port=53)
        except PermissionError as error:
            self.skipTest('NOT RUN: port 53: %s' % error)
        wrapper = self._with_files(resolv='nameserver 127.0.0.53\noptions timeout:1\n')
        with names, peers.Origin() as origin:
            config = 'tcppm -i127.0.0.1 0 from.resolv.test %d\n' % origin.port
            with rig.Sluice(config, wrapper=wrapper) as proxy:
                peers.tunnel_works(proxy.address())

    def test_localhost_reaches_whichever_family_listens(self):
        wrapper = self._with_files(hosts='127.0.0.1 localhost\n::1 localhost ip6-localhost\n')
        for address in (('127.0.0.1', 0), ('::1', 0)):
            with peers.Origin(address=address) as origin:
                with rig.Sluice('tcppm -i127.0.0.1 0 localhost %d\n' % origin.port, wrapper=wrapper) as proxy:
                    peers.tunnel_works(proxy.address())

    def test_second_name_server_is_asked_when_the_first_is_silent(self):
        with peers.Origin() as origin, NameServer(silent='*') as silent, \
                NameServer({'origin.test': ['127.0.0.1']}) as names:
            config = TIMEOUTS + 'nserver %s\nnserver %s\ntcppm -i127.0.0.1 0 origin.test %d\n' % (
                silent.where, names.where, origin.port)
            with rig.Sluice(config) as proxy:
                started = time.monotonic()
                peers.tunnel_works(proxy.address(), timeout=10)
                self.assertLess(time.monotonic() - started, 5)


class Families(rig.Case):
    """A name with addresses of both families."""

    NAMES = {'both.test': ['::1', '127.0.0.1'], 'only4.test': ['127.0.0.1'], 'only6.test': ['::1']}

    def _two_origins(self):
        four = peers.Origin(say_which(b'4'))
        return four, peers.Origin(say_which(b'6'), ('::1', four.port))

    def test_options_4_and_6_choose_the_family(self):
        four, six = self._two_origins()
        with four, six, NameServer(self.NAMES) as names:
            config = LOG + TIMEOUTS + 'nserver %s\n' % names.where
            for options, name in (('-4', 'both'), ('-6', 'both'), ('-46', 'both'), ('-64', 'both'), ('-46', 'only6'),
                                  ('-64', 'only4'), ('-4', 'only6'), ('-6', 'only4')):
                config += 'tcppm %s -i127.0.0.1 0 %s.test %d\n' % (options, name, four.port)
            with rig.Sluice(config) as proxy:
                got = [peers.answer_of(proxy.address(i))[0] for i in range(8)]
                self.assertEqual(got, [b'4', b'6', b'4', b'6', b'6', b'4', b'', b''])
                proxy.stdout.wait_for(r' 00100 ', count=2)

    def test_silent_ipv6_address_does_not_hold_a_name_that_also_has_ipv4(self):
        for options in ('', '-64'):
            with peers.Origin(say_which(b'4')) as four, peers.BlackHole(('::1', four.port)), \
                    NameServer(self.NAMES) as names:
                config = 'nserver %s\ntcppm %s -i127.0.0.1 0 both.test %d\n' % (names.where, options, four.port)
                with rig.Sluice(config) as proxy:
                    for _ in range(3):
                        started = time.monotonic()
                        self.assertEqual(peers.answer_of(proxy.address()), (b'4', FIN))
                        self.assertLess(time.monotonic() - started, 0.5 if not rig.sanitized() else 1)

    def test_silent_ipv4_address_does_not_hold_a_name_that_also_has_ipv6(self):
        with peers.Origin(say_which(b'6'), ('::1', 0)) as six, peers.BlackHole(('127.0.0.1', six.port)), \
                NameServer(self.NAMES) as names:
            with rig.Sluice('nserver %s\ntcppm -46 -i127.0.0.1 0 both.test %d\n' % (names.where, six.port)) as proxy:
                started = time.monotonic()
                self.assertEqual(peers.answer_of(proxy.address()), (b'6', FIN))
                self.assertLess(time.monotonic() - started, 0.5 if not rig.sanitized() else 1)

    def test_refused_address_is_followed_by_the_next_at_once(self):
        with peers.Origin(say_which(b'4')) as four, NameServer(
            {'three.test': ['127.0.0.5', '127.0.0.6', '127.0.0.1']}) as names:
            with rig.Sluice('nserver %s\ntcppm -i127.0.0.1 0 three.test %d\n' % (names.where, four.port)) as proxy:
                started = time.monotonic()
                self.assertEqual(peers.answer_of(proxy.address()), (b'4', FIN))
                self.assertLess(time.monotonic() - started, 1)

    def test_silence_about_one_family_does_not_hold_the_other(self):
        """A broken name server that answers A but never AAAA."""

        class OnlyA(NameServer):

            def _answer(self, query, name, kind, question):
                return b'' if kind == AAAA else super()._answer(query, name, kind, question)

        with peers.Origin(say_which(b'4')) as four, OnlyA({'half.test': ['127.0.0.1']}) as names:
            config = TIMEOUTS + 'nserver %s\ntcppm -i127.0.0.1 0 half.test %d\n' % (names.where, four.port)
            with rig.Sluice(config) as proxy:
                started = time.monotonic()
                self.assertEqual(peers.answer_of(proxy.address()), (b'4', FIN))
                self.assertLess(time.monotonic() - started, 3)


class Missing(rig.Case):
    """Names that lead nowhere end in result code 100."""

    def _ends(self, config, at_most, at_least=0.0):
        with rig.Sluice(LOG + TIMEOUTS + config) as proxy:
            started = time.monotonic()
            data, ending = peers.answer_of(proxy.address(), timeout=at_most + 5)
            took = time.monotonic() - started
            self.assertEqual(data, b'')
            self.assertIn(ending, (FIN, RST))
            self.assertLess(took, at_most)
            self.assertGreaterEqual(took, at_least)
            self.assertIn('name_not_resolved', proxy.stdout.wait_for(r' 00100 '))

    def test_name_that_does_not_exist(self):
        with NameServer() as names:
            self._ends('nserver %s\ntcppm -i127.0.0.1 0 missing.test 80\n' % names.where, 1)

    def test_silent_name_server(self):
        with NameServer(silent='*') as names:
            self._ends('nserver %s\ntcppm -i127.0.0.1 0 missing.test 80\n' % names.where, 6, 0.8)

    def test_name_server_that_refuses(self):
        self._ends('nserver 127.0.0.1:1\ntcppm -i127.0.0.1 0 missing.test 80\n', 6)


class Held(rig.Case):
    """Clients that wait for a dead destination hold nobody else."""

    CLIENTS = rig.size(300, 2000)

    def _others_are_served(self, config, origin, clients_are_let_go=None):
        config = ('maxconn 5000\nbacklog 4096\n' + TIMEOUTS + config +
                  'tcppm -i127.0.0.1 0 127.0.0.1 %d\ntcppm -i127.0.0.1 0 live.test %d\n' % (origin.port, origin.port))
        with rig.Sluice(config) as proxy:
            peers.tunnel_works(proxy.address(2))
            held = [peers.connect(proxy.address(0)) for _ in range(self.CLIENTS)]
            slowest = {1: 0.0, 2: 0.0}
            for _ in range(10):
                for ordinal in slowest:
                    started = time.monotonic()
                    peers.tunnel_works(proxy.address(ordinal))
                    slowest[ordinal] = max(slowest[ordinal], time.monotonic() - started)
                time.sleep(0.05)
            limit = 0.2 if not rig.sanitized() else 1
            self.assertLess(slowest[1], limit, 'to a numeric address')
            self.assertLess(slowest[2], limit, 'to a name that resolves')
            if clients_are_let_go:
                for sock in held:
                    sock.settimeout(clients_are_let_go)
                    self.assertIn(peers.receive_all(sock)[1], (FIN, RST))
            peers.close_all(held)

    def test_by_an_address_that_never_answers(self):
        with peers.Origin() as origin, peers.BlackHole() as hole, NameServer({'live.test': ['127.0.0.1']}) as names:
            self._others_are_served('nserver %s\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (names.where, hole.port), origin)

    def test_by_a_name_whose_address_never_answers(self):
        with peers.Origin() as origin, peers.BlackHole() as hole, \
                NameServer({'hole.test': ['127.0.0.1'], 'live.test': ['127.0.0.1']}) as names:
            self._others_are_served('nserver %s\ntcppm -i127.0.0.1 0 hole.test %d\n' % (names.where, hole.port), origin)

    def test_by_a_silent_name_server(self):
        with peers.Origin() as origin, NameServer({'live.test': ['127.0.0.1']}, silent=['dead.test']) as names:
            self._others_are_served('nserver %s\ntcppm -i127.0.0.1 0 dead.test 80\n' % names.where, origin, 20)


if __name__ == '__main__':
    rig.main()
