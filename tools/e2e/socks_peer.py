"""The client's side of SOCKS, byte by byte: what a well-behaved library would not send can be sent with it."""

import socket
import struct
import time

import peers

CONNECT, BIND, ASSOCIATE = 1, 2, 3
NO_METHODS, NO_AUTH, PASSWORD = b'\x05\x00', b'\x05\x01\x00', b'\x05\x01\x02'


def encode_address(host, port):
    """ATYP, address, port: of a numeric address, or of a name (bytes, of any kind)."""
    if isinstance(host, bytes):
        return b'\x03' + bytes([len(host)]) + host + struct.pack('>H', port)
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    return (b'\x04' if ':' in host else b'\x01') + socket.inet_pton(family, host) + struct.pack('>H', port)


def request5(host, port, command=CONNECT):
    return bytes([5, command, 0]) + encode_address(host, port)


def request4(host, port, user=b'', command=CONNECT):
    """SOCKS 4, or 4a where `host` is a name (bytes)."""
    head = bytes([4, command]) + struct.pack('>H', port)
    if isinstance(host, bytes):
        return head + b'\x00\x00\x00\x01' + user + b'\x00' + host + b'\x00'
    return head + socket.inet_aton(host) + user + b'\x00'


def password(user, secret):
    return b'\x01' + bytes([len(user)]) + user + bytes([len(secret)]) + secret


def drip(sock, data, pause=0.01):
    """One byte a segment."""
    for i in range(len(data)):
        sock.sendall(data[i:i + 1])
        time.sleep(pause)


def reply5(sock):
    """(code, (host, port)) of a reply, which must be whole."""
    head = peers.receive_exactly(sock, 4)
    if head[0] != 5 or head[2] != 0 or head[3] not in (1, 4):
        raise AssertionError('no reply: %r' % head)
    rest = peers.receive_exactly(sock, 6 if head[3] == 1 else 18)
    host = socket.inet_ntop(socket.AF_INET if head[3] == 1 else socket.AF_INET6, rest[:-2])
    return head[1], (host, struct.unpack('>H', rest[-2:])[0])


def reply4(sock):
    """(code, (host, port)) of a reply."""
    reply = peers.receive_exactly(sock, 8)
    if reply[0] != 0:
        raise AssertionError('no reply: %r' % reply)
    return reply[1], (socket.inet_ntoa(reply[4:]), struct.unpack('>H', reply[2:4])[0])


def greeted(proxy, timeout=10.0):
    """A connection that has agreed on no authentication."""
    sock = peers.connect(proxy, timeout)
    sock.sendall(NO_AUTH)
    answer = peers.receive_exactly(sock, 2)
    if answer != b'\x05\x00':
        raise AssertionError('greeting was answered with %r' % answer)
    return sock


def ask(proxy, host, port, command=CONNECT, timeout=10.0):
    """(socket, reply code, bound address) of one request of SOCKS 5."""
    sock = greeted(proxy, timeout)
    sock.sendall(request5(host, port, command))
    code, bound = reply5(sock)
    return sock, code, bound


def tunnel(proxy, address, timeout=10.0):
    """A connection through the proxy."""
    sock, code, _ = ask(proxy, address[0], address[1], timeout=timeout)
    if code:
        sock.close()
        raise AssertionError('reply %d' % code)
    return sock


def datagram(host, port, payload=b'', fragment=0):
    return b'\x00\x00' + bytes([fragment]) + encode_address(host, port) + payload


class Association:
    """A UDP association: the control connection and a socket that sends through it."""

    def __init__(self, proxy, source='127.0.0.1', udp_source=None, timeout=5.0):
        self.control = greeted(proxy, timeout)
        self.control.sendall(request5('::' if ':' in source else '0.0.0.0', 0, ASSOCIATE))
        self.code, self.relay = reply5(self.control)
        self.udp = socket.socket(socket.AF_INET6 if ':' in source else socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.udp.bind((udp_source or source, 0))
        self.udp.settimeout(timeout)

    def send(self, host, port, payload=b'', fragment=0):
        self.udp.sendto(datagram(host, port, payload, fragment), self.relay)

    def receive(self):
        """(payload, source)."""
        data = self.udp.recv(65536)
        if data[:3] != b'\x00\x00\x00' or data[3] not in (1, 4):
            raise AssertionError('no header: %r' % data[:10])
        size = 4 if data[3] == 1 else 16
        host = socket.inet_ntop(socket.AF_INET if size == 4 else socket.AF_INET6, data[4:4 + size])
        return data[6 + size:], (host, struct.unpack('>H', data[4 + size:6 + size])[0])

    def nothing_comes(self, seconds=0.3):
        return not peers.readable_within(self.udp, seconds)

    def close(self):
        self.control.close()
        self.udp.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
