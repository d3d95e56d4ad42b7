"""The counters that loadtool keeps in a mapped file (bench/load/counters.h)."""

import dataclasses
import mmap
import os
import struct
import time

_MAGIC = 0x31756F6C73636E62
_SIZE = 64
CONNECTING, RUNNING, DONE = 0, 1, 2


@dataclasses.dataclass(frozen=True)
class Counts:
    phase: int
    started: float  # time.monotonic() when the load began
    exchanges: int
    received_bytes: int
    sent_bytes: int
    errors: int
    connections: int


class Counters:
    """`path` may not exist yet: loadtool makes it."""

    def __init__(self, path):
        self.path = path
        self._map = None

    def read(self):
        """The counts, or None before loadtool has made them."""
        if self._map is None and not self._open():
            return None
        magic, phase, started, *rest = struct.unpack("=8Q", self._map[:_SIZE])
        return Counts(phase, started * 1e-9, *rest) if magic == _MAGIC else None

    def wait(self, phase, child, patience):
        """Waits until loadtool has come to `phase`; None if it ended before or `patience` seconds were not enough."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            counts = self.read()
            if counts and counts.phase >= phase:
                return counts
            if child.poll() is not None:
                return None
            time.sleep(0.005)
        return None

    def close(self):
        if self._map is not None:
            self._map.close()
            self._map = None

    def _open(self):
        try:
            with open(self.path, "rb") as file:
                if os.fstat(file.fileno()).st_size < _SIZE:
                    return False
                self._map = mmap.mmap(file.fileno(), _SIZE, prot=mmap.PROT_READ)
        except FileNotFoundError:
            return False
        return True
