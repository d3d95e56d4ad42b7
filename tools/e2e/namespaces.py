"""A second network namespace beside the one in which the proxy and the origins are, and a cable between them.

Whoever connects from there comes over the cable like any machine of a local network, through the firewall's prerouting
hooks, which nothing on the loopback passes.
"""

import ctypes
import os
import subprocess
import threading

CLONE_NEWNET = 0x40000000


def _libc(name, *arguments):
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, '%s: %s' % (name, os.strerror(number)))


def in_thread(work):
    """The value of work(), called on a thread of its own: what it does to the thread ends with it."""
    outcome = []

    def run():
        try:
            outcome.append((work(), None))
        except BaseException as error:  # Raised below.
            outcome.append((None, error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    value, error = outcome[0]
    if error:
        raise error
    return value


def command(*words, stdin=None):
    done = subprocess.run(words, input=stdin, capture_output=True, timeout=20, check=False)
    if done.returncode:
        raise OSError('%s: %s' % (' '.join(words), done.stderr.decode('utf-8', 'replace').strip()))


class Neighbour:
    """A namespace with the addresses 10.9.1.1 and fd00:9:1::1, for which this one, at .2, is the router.

    OSError where this process may not make one.
    """

    HERE, HERE6, THERE, THERE6 = '10.9.1.2', 'fd00:9:1::2', '10.9.1.1', 'fd00:9:1::1'

    def __init__(self):

        def make():
            _libc('unshare', CLONE_NEWNET)
            return os.open('/proc/thread-self/ns/net', os.O_RDONLY | os.O_CLOEXEC)

        self._fd = in_thread(make)
        try:
            command('ip', 'link', 'add', 'cable', 'type', 'veth', 'peer', 'name', 'cable', 'netns',
                    '/proc/%d/fd/%d' % (os.getpid(), self._fd))
            for address in (self.HERE + '/24', self.HERE6 + '/64'):
                command('ip', 'address', 'add', address, 'dev', 'cable', *(('nodad',) if ':' in address else ()))
            command('ip', 'link', 'set', 'cable', 'up')
            for words in (('link', 'set', 'lo', 'up'), ('address', 'add', self.THERE + '/24', 'dev', 'cable'),
                          ('address', 'add', self.THERE6 + '/64', 'dev', 'cable', 'nodad'), ('link', 'set', 'cable', 'up'),
                          ('route', 'add', 'default', 'via', self.HERE), ('-6', 'route', 'add', 'default', 'via', self.HERE6)):
                self.call(lambda words=words: command('ip', *words))
        except OSError:
            os.close(self._fd)
            raise

    def call(self, work):
        """work() with this namespace around it; sockets that it makes stay there."""

        def run():
            _libc('setns', self._fd, CLONE_NEWNET)
            return work()

        return in_thread(run)

    def close(self):
        subprocess.run(['ip', 'link', 'delete', 'cable'], capture_output=True, timeout=20, check=False)
        os.close(self._fd)


class Firewall:
    """nftables of this namespace, for what comes over the cable."""

    def __init__(self):
        command('nft', '-f', '-', stdin=b'''
            table inet test {
              chain untracked { type filter hook prerouting priority raw; }
              chain taken { type filter hook prerouting priority mangle; }
              chain turned { type nat hook prerouting priority dstnat; }
            }
        ''')
        # What TPROXY has marked is delivered here, wherever it is for.
        for words in (('rule', 'add', 'fwmark', '1', 'lookup', '100'), ('-6', 'rule', 'add', 'fwmark', '1', 'lookup', '100'),
                      ('route', 'add', 'local', 'default', 'dev', 'lo', 'table', '100'),
                      ('-6', 'route', 'add', 'local', 'default', 'dev', 'lo', 'table', '100')):
            command('ip', *words)

    @staticmethod
    def add(chain, rule):
        command('nft', 'add rule inet test %s iifname cable %s' % (chain, rule))

    @staticmethod
    def close():
        subprocess.run(['nft', 'delete table inet test'], capture_output=True, timeout=20, check=False)
        for family in ((), ('-6',)):
            for words in (('rule', 'delete', 'fwmark', '1', 'lookup', '100'), ('route', 'flush', 'table', '100')):
                subprocess.run(('ip',) + family + words, capture_output=True, timeout=20, check=False)
