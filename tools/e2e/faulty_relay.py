#!/usr/bin/env python3
"""A small relay with the command line of sluice and one fault on demand: it proves that the relay tests can fail.

It knows tcppm, timeouts and maxconn, one thread a direction. $RELAY_FAULT names the fault (FAULTS); without one it is a
right relay, though a slow one, and every case of relay_test passes over it. rig_test.py runs both.
"""

import os
import signal
import socket
import struct
import sys
import threading
import time

FAULTS = {
    'eof_ends_both': 'the first end of a stream ends the session',
    'drops_tail': 'at the end, what the output does not take at once is dropped',
    'rst_overtakes': 'an abort of one side is passed on before the bytes it sent earlier',
    'forgets_readiness': 'once the output was blocked, the input is not looked at again',
    'spins': 'asks again and again while the output is blocked',
    'corks': 'holds each small piece back for a while',
    'repeats': 'a write that was taken in part is begun again',
    'mixes': 'the rest that an aborted session leaves goes to the next one',
    'no_half_close_timer': 'a half-closed session waits for ever',
    'hoards': 'reads on while the output is blocked',
    'no_idle_timer': 'an idle session stays',
    'idle_is_silent': 'an idle session is forgotten without telling either side',
    'dies_of_sigpipe': 'a write into a dead socket ends the process',
    'leaks_descriptors': 'the upstream socket of an aborted session stays open',
    'keeps_client': 'a refused destination leaves the client waiting',
}
FAULT = os.environ.get('RELAY_FAULT', '')
assert not FAULT or FAULT in FAULTS, FAULT
LEFT_OVER = []
LEAKED = []


def open_socket(address, listen):
    if address.startswith('unix:'):
        sock, where = socket.socket(socket.AF_UNIX), address[5:]
    else:
        host, _, port = address.rpartition(':')
        host = host.strip('[]')
        sock = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
        where = (host, int(port))
    if not listen:
        sock.settimeout(5)
        sock.connect(where)
        return sock
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind(where)
    sock.listen(1024)
    return sock


def abort(sock):
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))


class Session:
    """Two directions; `idle` seconds without a byte end it, `half` once one side has ended."""

    def __init__(self, client, upstream, idle, half, keep_half):
        self.socks, self.idle, self.half, self.keep_half = (client, upstream), idle, half, keep_half
        self.last = time.monotonic()
        self.ended, self.over = 0, threading.Event()

    def run(self):
        threads = [threading.Thread(target=self.pump, args=pair, daemon=True)
                   for pair in (self.socks, self.socks[::-1])]
        for thread in threads:
            thread.start()
        self.watch()
        if FAULT == 'idle_is_silent' and self.ended < 2:
            LEAKED.append(self.socks)
            return
        for sock in self.socks:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        for thread in threads:
            thread.join()
        if FAULT == 'leaks_descriptors' and self.ended > 2:
            LEAKED.append(self.socks)
            return
        for sock in self.socks:
            sock.close()

    def watch(self):
        while not self.over.wait(0.05):
            limit = self.half if self.ended else self.idle
            endless = 'no_half_close_timer' if self.ended else 'no_idle_timer'
            if FAULT != endless and time.monotonic() - self.last > limit:
                return

    def pump(self, source, target):
        try:
            if FAULT == 'mixes' and LEFT_OVER:
                target.sendall(LEFT_OVER.pop())
            while True:
                data = source.recv(16384)
                self.last = time.monotonic()
                if not data:
                    break
                if FAULT == 'corks' and len(data) < 1000:
                    time.sleep(0.04)
                self.send(source, target, data)
                self.last = time.monotonic()
            if FAULT == 'eof_ends_both':
                source.shutdown(socket.SHUT_RDWR)  # First, or the answer may be faster.
            target.shutdown(socket.SHUT_WR)
            self.ended += 1
            if FAULT == 'eof_ends_both' or not self.keep_half:
                source.shutdown(socket.SHUT_RDWR)
                self.ended = 2
            if self.ended == 2:
                self.over.set()
        except OSError:
            if FAULT == 'mixes':
                LEFT_OVER.append(b'somebody else')
            # No RST for the other side: it would overtake what the kernel still has to deliver.
            self.ended = 3
            self.over.set()

    def send(self, source, target, data):
        if FAULT == 'hoards':
            self.send_hoarding(source, target, data)
        elif FAULT == 'rst_overtakes':
            time.sleep(0.05)
            if source.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 7:
                raise ConnectionResetError
            target.sendall(data)
        elif FAULT == 'forgets_readiness':
            n = 0
            try:
                n = target.send(data, socket.MSG_DONTWAIT)
            except BlockingIOError:
                pass
            if n < len(data):
                target.sendall(data[n:])
                self.over.wait(30)
        elif FAULT in ('spins', 'repeats', 'drops_tail', 'dies_of_sigpipe'):
            self.send_without_waiting(target, data)
        else:
            target.sendall(data)

    def send_without_waiting(self, target, data):
        while data:
            try:
                n = target.send(data, socket.MSG_DONTWAIT | (0 if FAULT == 'dies_of_sigpipe' else socket.MSG_NOSIGNAL))
                data = data if FAULT == 'repeats' and n < len(data) else data[n:]
            except BlockingIOError:
                if FAULT == 'drops_tail':
                    return
                if FAULT != 'spins':
                    time.sleep(0.001)
                if self.over.is_set():
                    raise ConnectionResetError from None

    def send_hoarding(self, source, target, data):
        held = bytearray(data)
        while held:
            try:
                del held[:target.send(held[:65536], socket.MSG_DONTWAIT)]
            except BlockingIOError:
                try:
                    held += source.recv(1 << 20, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    time.sleep(0.01)


def serve(listener, target, idle, half, keep_half):
    def one(client):
        try:
            upstream = open_socket(target, False)
        except OSError:
            if FAULT == 'keeps_client':
                LEAKED.append(client)
            else:
                abort(client)
                client.close()
            return
        for sock in (client, upstream):
            sock.settimeout(None)
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Session(client, upstream, idle, half, keep_half).run()

    while True:
        client, _ = listener.accept()
        threading.Thread(target=one, args=(client,), daemon=True).start()


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL if FAULT == 'dies_of_sigpipe' else signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    threading.stack_size(256 << 10)
    times = [1, 5, 30, 60, 180, 1800]
    print('event loop: threads (a test double)', file=sys.stderr)
    with open(sys.argv[-1], encoding='utf-8') as config:
        lines = config.read().splitlines()
    for line in lines:
        words = line.split()
        if words[:1] == ['timeouts']:
            times = [int(w) for w in words[1:]] + times[len(words) - 1:]
        if words[:1] != ['tcppm']:
            continue
        options = [w for w in words[1:] if w.startswith('-')]
        port, host, target_port = [w for w in words[1:] if not w.startswith('-')]
        address = ([o[2:] for o in options if o.startswith('-i')] or ['127.0.0.1'])[0]
        if not address.startswith('unix:'):
            address = ('[%s]:%s' if ':' in address else '%s:%s') % (address, port)
        listener = open_socket(address, True)
        if not address.startswith('unix:'):
            address = address.rsplit(':', 1)[0] + ':%d' % listener.getsockname()[1]
        target = host if host.startswith('unix:') else ('[%s]:%s' if ':' in host else '%s:%s') % (host, target_port)
        threading.Thread(target=serve, args=(listener, target, times[5], times[4], '-C' not in options),
                         daemon=True).start()
        print('listening tcppm ' + address, file=sys.stderr)
    print('ready', file=sys.stderr, flush=True)
    while True:
        signal.pause()


if __name__ == '__main__':
    main()
