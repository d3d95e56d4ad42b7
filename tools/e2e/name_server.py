"""A name server on UDP that answers from a table, or not at all, and remembers what it was asked."""

import socket
import struct
import threading

A, PTR, AAAA = 1, 12, 28
NO_ERROR, NXDOMAIN = 0, 3


def _name(question):
    labels, at = [], 0
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode('latin-1').lower())
        at += 1 + question[at]
    return '.'.join(labels), at + 1


class NameServer:
    """`table`: {name: [addresses], or a function that gives them}; other names do not exist. `silent` names, or all with
    '*', get no answer. `pointers`: {address: name}."""

    def __init__(self, table=None, silent=(), host='127.0.0.1', port=0, ttl=60, pointers=None):
        self.table, self.silent, self.ttl = dict(table or {}), set(silent), ttl
        self.pointers = {'.'.join(reversed(a.split('.'))) + '.in-addr.arpa': n for a, n in (pointers or {}).items()}
        self.asked = []  # (name, type)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind((host, port))
        self.port = self._socket.getsockname()[1]
        self.where = '%s:%d' % (host, self.port)
        threading.Thread(target=self._run, daemon=True).start()

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _run(self):
        while True:
            try:
                query, peer = self._socket.recvfrom(4096)
            except OSError:
                return
            name, length = _name(query[12:])
            kind = struct.unpack('>H', query[12 + length:14 + length])[0]
            self.asked.append((name, kind))
            if name not in self.silent and '*' not in self.silent:
                self._socket.sendto(self._answer(query, name, kind, query[12:16 + length]), peer)

    def _answer(self, query, name, kind, question):
        addresses = self.table.get(name)
        if callable(addresses):
            addresses = addresses()
        family = {A: socket.AF_INET, AAAA: socket.AF_INET6}.get(kind)
        records = [socket.inet_pton(family, a) for a in addresses or [] if family and (':' in a) == (kind == AAAA)]
        if kind == PTR and name in self.pointers:
            labels = self.pointers[name].encode().split(b'.')
            addresses, records = [], [b''.join(bytes([len(l)]) + l for l in labels) + b'\x00']
        code = NXDOMAIN if addresses is None else NO_ERROR
        head = query[:2] + struct.pack('>HHHHH', 0x8180 | code, 1, len(records), 0, 0)
        return head + question + b''.join(
            b'\xc0\x0c' + struct.pack('>HHIH', kind, 1, self.ttl, len(record)) + record for record in records)
