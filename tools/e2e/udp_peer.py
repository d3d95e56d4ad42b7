"""A UDP server that answers, and remembers what came."""

import socket
import threading


class UdpOrigin:
    """`handler(data, peer, origin)` gives the answers to a datagram; the default sends it back."""

    def __init__(self, host='127.0.0.1', handler=None):
        self.handler = handler or (lambda data, *_: [data])
        self.seen = []  # (data, peer)
        self._changed = threading.Condition()
        self._socket = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind((host, 0))
        self.address = self._socket.getsockname()[:2]
        self.port = self.address[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                data, peer = self._socket.recvfrom(65536)
            except OSError:
                return
            with self._changed:
                self.seen.append((data, peer[:2]))
                self._changed.notify_all()
            for answer in self.handler(data, peer, self):
                self._socket.sendto(answer, peer)

    def wait_seen(self, count=1, seconds=5):
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.seen) >= count, seconds):
                raise AssertionError('%d of %d datagrams came within %g s' % (len(self.seen), count, seconds))
            return [data for data, _ in self.seen]

    def close(self):
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
