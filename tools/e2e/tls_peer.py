"""TLS at both ends of a proxy that only looks on: real handshakes, and hellos that no library would send."""

import os
import socket
import ssl
import struct
import subprocess

import peers
import rig

NAMES = ('one.test', 'two.test')


class Material:
    """A certificate for the names of the tests, its key, and the same as a client's."""

    def __init__(self):
        folder = rig.scratch_folder()
        self.certificate, self.key = os.path.join(folder, 'certificate'), os.path.join(folder, 'key')
        names = ','.join('DNS:' + name for name in NAMES)
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
                        '-days', '2', '-subj', '/CN=one.test', '-addext', 'subjectAltName=' + names, '-keyout', self.key,
                        '-out', self.certificate], check=True, capture_output=True, timeout=30)

    def server(self, highest=None, ask=False, curve=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, self.key)
        context.set_alpn_protocols(['http/1.1'])
        if highest:
            context.maximum_version = highest
        if curve:
            context.set_ecdh_curve(curve)
        if ask:
            context.load_verify_locations(self.certificate)
            context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def client(self, highest=None, show=False):
        context = ssl.create_default_context(cafile=self.certificate)
        context.set_alpn_protocols(['h2', 'http/1.1'])
        if highest:
            context.maximum_version = highest
        if show:
            context.load_cert_chain(self.certificate, self.key)
        return context


class TlsOrigin:
    """Ends TLS and echoes."""

    def __init__(self, context, address):
        def serve(sock, _):
            tls = context.wrap_socket(sock, server_side=True)
            try:
                while True:
                    data = tls.recv(65536)
                    if not data:
                        break
                    tls.sendall(data)
                tls.unwrap()
            except (OSError, ValueError):
                pass

        self._origin = peers.Origin(serve, address)
        self.address, self.port = self._origin.address, self._origin.port

    @property
    def accepted(self):
        return self._origin.accepted

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._origin.close()


def real_hello(name='one.test', protocols=('h2', 'http/1.1'), highest=None):
    """What OpenSSL sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if protocols:
        context.set_alpn_protocols(list(protocols))
    if highest:
        context.maximum_version = highest
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def counted(data, size):
    return len(data).to_bytes(size, 'big') + data


def extension(kind, data):
    return struct.pack('>H', kind) + counted(data, 2)


def server_name(name):
    return extension(0, counted(b'\x00' + counted(name, 2), 2))


GREASE = extension(0x0a0a, b'') + extension(43, counted(struct.pack('>HHH', 0x3a3a, 0x0304, 0x0303), 1))


def body_of(extensions):
    suites = struct.pack('>HHH', 0x2a2a, 0x1301, 0xc02f)
    return b'\x03\x03' + b'r' * 32 + counted(b's' * 32, 1) + counted(suites, 2) + counted(b'\x00', 1) + counted(extensions, 2)


def message(body, kind=1):
    return bytes([kind]) + counted(body, 3)


def records(data, most=16384, kind=22):
    return b''.join(bytes([kind, 3, 1]) + counted(data[i:i + most], 2) for i in range(0, len(data), most))


def hello(name=b'one.test', more=b'', most=16384):
    """A hello of our own, with GREASE, in records of at most so many bytes."""
    return records(message(body_of(GREASE + server_name(name) + more)), most)


def padded(size, name=b'one.test', most=16384):
    """One whose body has exactly so many bytes."""
    bare = len(body_of(GREASE + server_name(name) + extension(21, b'')))
    return hello(name, extension(21, bytes(size - bare)), most)


def alert_of(data):
    """The description of a fatal alert, or None."""
    return data[6] if len(data) == 7 and data[:1] == b'\x15' and data[5] == 2 else None


def handshake(address, context, name='one.test', timeout=10.0, source=None):
    """A TLS connection; the socket's errors are the caller's."""
    sock = peers.connect(address, timeout, source=source)
    try:
        return context.wrap_socket(sock, server_hostname=name)
    except (OSError, socket.timeout):
        sock.close()
        raise
