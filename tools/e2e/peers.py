"""The two ends that a relay stands between: clients, origins, and what /proc says about the process in the middle.

Addresses are (host, port) or the path of a Unix socket. Blocking sockets with a timeout; an origin runs one thread a
connection, except HoldingOrigin, which is for thousands of idle ones.
"""

import hashlib
import os
import random
import select
import socket
import struct
import threading
import time

CHUNK = 65536

# How a stream ended, as receive_all() tells it.
FIN, RST, TIMEOUT, LIMIT = 'FIN', 'RST', 'TIMEOUT', 'LIMIT'


def family_of(address):
    if isinstance(address, str):
        return socket.AF_UNIX
    return socket.AF_INET6 if ':' in address[0] else socket.AF_INET


def _real(address):
    return '\0' + address[1:] if isinstance(address, str) and address.startswith('@') else address


def connect(address, timeout=10.0, receive_buffer=0, source=None):
    """A connected stream socket; `receive_buffer` makes it a slow reader."""
    sock = socket.socket(family_of(address), socket.SOCK_STREAM)
    if receive_buffer:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if source:
        sock.bind(source)
    sock.settimeout(timeout)
    try:
        sock.connect(_real(address))
    except OSError:
        sock.close()
        raise
    return sock


def answer_of(address, data=b'', timeout=10.0):
    """One shot: connect, send, read to the end. A reset is one even where it comes before connect() has returned."""
    try:
        sock = connect(address, timeout)
    except ConnectionResetError:
        return b'', RST
    with sock:
        try:
            sock.sendall(data)
        except OSError:
            pass  # The reading side tells how it ended.
        return receive_all(sock)


def receive_all(sock, limit=1 << 31, pause=None):
    """Reads to the end: (bytes, FIN | RST | TIMEOUT | LIMIT). `pause` is called before each read."""
    data = bytearray()
    while len(data) < limit:
        if pause:
            pause()
        try:
            piece = sock.recv(min(CHUNK, limit - len(data)))
        except socket.timeout:
            return bytes(data), TIMEOUT
        except OSError:
            return bytes(data), RST
        if not piece:
            return bytes(data), FIN
        data += piece
    return bytes(data), LIMIT


def digest_all(sock, pause=None):
    """Reads to the end without keeping it: (SHA-256, byte count, how it ended)."""
    digest, count = hashlib.sha256(), 0
    buffer = bytearray(1 << 18)
    view = memoryview(buffer)
    while True:
        if pause:
            pause()
        try:
            n = sock.recv_into(buffer)
        except socket.timeout:
            return digest.hexdigest(), count, TIMEOUT
        except OSError:
            return digest.hexdigest(), count, RST
        if not n:
            return digest.hexdigest(), count, FIN
        digest.update(view[:n])
        count += n


def receive_exactly(sock, count):
    """`count` bytes, or EOFError with what came before the end."""
    data = bytearray()
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            raise EOFError(bytes(data))
        data += piece
    return bytes(data)


def abort(sock):
    """Closes with RST."""
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
    sock.close()


def finish_sending(sock):
    sock.shutdown(socket.SHUT_WR)


def payload(count, seed=1):
    """`count` bytes that no part of the stream repeats; equal for equal seeds."""
    return random.Random(seed).randbytes(count)


def send_stream(sock, total, block, piece=1 << 18):
    """Sends `total` bytes made of repetitions of `block`; returns their SHA-256."""
    digest, sent, at = hashlib.sha256(), 0, 0
    view = memoryview(block)
    while sent < total:
        part = view[at:at + min(piece, total - sent)]
        sock.sendall(part)
        digest.update(part)
        sent += len(part)
        at = (at + len(part)) % len(block)
    return digest.hexdigest()


def wait_until(condition, seconds, what):
    """Polls `condition` until it is true; returns its value. AssertionError with `what` after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError('not within %g s: %s' % (seconds, what() if callable(what) else what))
        time.sleep(0.01)


def together(work, items):
    """Runs work(item) in a thread each; raises the first fault with its item."""
    faults = []

    def one(item):
        try:
            work(item)
        except BaseException as error:  # Told below, with the item.
            faults.append((item, error))

    threads = [threading.Thread(target=one, args=(item,), daemon=True) for item in items]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise AssertionError('%d of %d: %s: %r' % (len(faults), len(threads), *faults[0])) from faults[0][1]


def free_port(host='127.0.0.1'):
    """A port that was free a moment ago; safe where the test has a network namespace of its own."""
    with socket.socket(family_of((host, 0))) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


# Handlers of an Origin: handler(sock, origin), one call a connection.


def echo(sock, _):
    while True:
        data = sock.recv(CHUNK)
        if not data:
            break
        sock.sendall(data)
    finish_sending(sock)


def sink(sock, origin):
    """Keeps (bytes, ending) of each connection in origin.seen."""
    origin.note(receive_all(sock))


def source(data):
    """Sends `data` and closes."""

    def handler(sock, _):
        sock.sendall(data)

    return handler


def count_upload(sock, _):
    """Reads to the end, then answers how much it was: what a client does that uploads and waits for a receipt."""
    data, ending = receive_all(sock)
    sock.sendall(b'%s %d' % (ending.encode(), len(data)))


class Origin:
    """A TCP or Unix server. `handler` may be exchanged at any time; it holds for connections accepted later."""

    def __init__(self, handler=echo, address=('127.0.0.1', 0), receive_buffer=0, send_buffer=0):
        self.handler = handler
        self.seen = []
        self.peers = []
        self.errors = []
        self.accepted = 0
        self._changed = threading.Condition()
        self._case, self._of_thread = 0, threading.local()
        self._listener = socket.socket(family_of(address), socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if send_buffer:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        self._listener.bind(_real(address))
        self._listener.listen(4096)
        self.address = address if isinstance(address, str) else self._listener.getsockname()[:2]
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def port(self):
        return self.address[1]

    def note(self, value):
        with self._changed:
            if getattr(self._of_thread, 'case', self._case) != self._case:
                return  # A late connection of an earlier case.
            self.seen.append(value)
            self._changed.notify_all()

    def wait_seen(self, count=1, seconds=10):
        """The first `count` notes of the handlers."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.seen) >= count, seconds):
                raise AssertionError('the origin noted %d of %d within %g s (errors: %s)' %
                                     (len(self.seen), count, seconds, self.errors[:3]))
            return self.seen[:count]

    def forget(self, handler=None):
        """Starts the next case: a new handler, nothing seen."""
        with self._changed:
            self.seen, self.errors, self.peers, self.accepted = [], [], [], 0
            self._case += 1
        if handler:
            self.handler = handler

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self):
        while True:
            try:
                sock, peer = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            self.peers.append(peer)
            sock.settimeout(600)
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(self.handler, sock, self._case), daemon=True).start()

    def _serve(self, handler, sock, case):
        self._of_thread.case = case
        try:
            handler(sock, self)
        except Exception as error:  # A handler's fault is evidence for the case, not the end of the origin.
            self.errors.append(repr(error))
        finally:
            sock.close()


class HoldingOrigin:
    """Accepts and keeps connections without a thread each, as non-blocking sockets."""

    def __init__(self, host='127.0.0.1'):
        self._listener = socket.socket(family_of((host, 0)))
        self._listener.bind((host, 0))
        self._listener.listen(4096)
        self.address = self._listener.getsockname()[:2]
        self.port = self.address[1]
        self.held = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            sock.setblocking(False)
            self.held.append(sock)

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        for sock in self.held:
            sock.close()


class BlackHole:
    """A port whose SYNs get no answer, without a firewall: a listener whose accept queue is full."""

    def __init__(self, address=('127.0.0.1', 0)):
        self._listener = socket.socket(family_of(address))
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(address)
        self._listener.listen(0)
        self.address = self._listener.getsockname()[:2]
        self.port = self.address[1]
        self._fillers = []
        while True:
            filler = socket.socket(family_of(address))
            filler.settimeout(0.5)
            self._fillers.append(filler)
            try:
                filler.connect(self.address)
            except socket.timeout:
                return

    def close(self):
        close_all(self._fillers)
        self._listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def tunnel_works(address, token=b'still here', timeout=5.0):
    """One echo through `address`; raises when it is not what was sent."""
    with connect(address, timeout) as sock:
        check_echo(sock, token)


def check_echo(sock, token=b'still here'):
    sock.sendall(token)
    answer = receive_exactly(sock, len(token))
    if answer != token:
        raise AssertionError('sent %r, got %r' % (token, answer))


def close_all(socks):
    for sock in socks:
        sock.close()


# What the kernel says about a process and about sockets.


def cpu_seconds(pid):
    with open('/proc/%d/stat' % pid) as stat:
        fields = stat.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def descriptor_count(pid):
    return len(os.listdir('/proc/%d/fd' % pid))


def thread_count(pid):
    return len(os.listdir('/proc/%d/task' % pid))


def resident_bytes(pid):
    with open('/proc/%d/statm' % pid) as statm:
        return int(statm.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


def anonymous_bytes(pid):
    """User memory that no file backs: what a connection costs beside its sockets."""
    with open('/proc/%d/smaps_rollup' % pid) as rollup:
        for line in rollup:
            if line.startswith('Anonymous:'):
                return int(line.split()[1]) * 1024
    raise AssertionError('no Anonymous line in smaps_rollup')


def most_buffered(kind):
    """The most that a TCP socket holds in the kernel: `kind` is rmem or wmem."""
    with open('/proc/sys/net/ipv4/tcp_' + kind, encoding='ascii') as knob:
        return int(knob.read().split()[2])


TCP_STATES = {
    '01': 'ESTABLISHED', '02': 'SYN_SENT', '03': 'SYN_RECV', '04': 'FIN_WAIT1', '05': 'FIN_WAIT2', '06': 'TIME_WAIT',
    '07': 'CLOSE', '08': 'CLOSE_WAIT', '09': 'LAST_ACK', '0A': 'LISTEN', '0B': 'CLOSING'
}


def tcp_sockets():
    """All TCP sockets of this network namespace: dicts of local_port, remote_port, state, receive_queue, inode."""
    found = []
    for table in ('/proc/net/tcp', '/proc/net/tcp6'):
        with open(table) as lines:
            for line in lines.read().splitlines()[1:]:
                word = line.split()
                found.append({
                    'local_port': int(word[1].rsplit(':', 1)[1], 16),
                    'remote_port': int(word[2].rsplit(':', 1)[1], 16),
                    'state': TCP_STATES.get(word[3], word[3]),
                    'receive_queue': int(word[4].split(':')[1], 16),
                    'inode': int(word[9]),
                })
    return found


def tcp_states(port):
    """How many sockets touch `port` (on either side), by state."""
    states = {}
    for sock in tcp_sockets():
        if port in (sock['local_port'], sock['remote_port']):
            states[sock['state']] = states.get(sock['state'], 0) + 1
    return states


def tcp_counters(*names):
    """Counters of this network namespace as nstat has them, TcpExt without its prefix: {name: value}."""
    with open('/proc/net/netstat', encoding='ascii') as table:
        lines = table.read().splitlines()
    counters = {}
    for head, values in zip(lines[::2], lines[1::2]):
        counters.update(zip(head.split()[1:], (int(v) for v in values.split()[1:])))
    return {name: counters.get(name) for name in names}


def listeners(port):
    """The listening sockets of `port`; `receive_queue` is the length of the accept queue."""
    return [s for s in tcp_sockets() if s['state'] == 'LISTEN' and s['local_port'] == port]


def udp_ports():
    """The ports of all UDP sockets of this network namespace."""
    ports = set()
    for table in ('/proc/net/udp', '/proc/net/udp6'):
        with open(table, encoding='ascii') as lines:
            ports.update(int(line.split()[1].rsplit(':', 1)[1], 16) for line in lines.read().splitlines()[1:])
    return ports


def readable_within(sock, seconds):
    poll = select.poll()  # Not select(): descriptors may be above 1024.
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))
