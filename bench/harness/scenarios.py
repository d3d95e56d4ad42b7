"""The loads, and the ways they go through a proxy. A scenario is one of each: `relay-ka-1k`, `socks-stream1`."""

import dataclasses
import fnmatch

# Sizes in bytes.
KB, MB = 1024, 1024 * 1024
RECEIVED, SUNK, EXCHANGES, CONNECTIONS = "received", "sunk", "exchanges", "connections"

KINDS = {
    "relay": "TCP relay",
    "http": "HTTP proxy",
    "connect": "CONNECT tunnel",
    "socks": "SOCKS5 tunnel",
    "tls-term": "TCP relay that ends TLS",
    "tls-init": "TCP relay that begins TLS",
}
PLAIN = ("relay", "http", "connect", "socks")
MIX = "mix"  # the program of Load.command, and its origin


@dataclasses.dataclass(frozen=True)
class Load:
    """`work` is what CPU time is divided by: received (bytes at the client), sunk (bytes at the origin), exchanges, or
    connections (memory, not time)."""

    name: str
    what: str
    origin: str  # mode of loadtool origin, or MIX
    command: str  # of loadtool, or MIX
    arguments: tuple
    work: str
    connections: int
    answer: int = 0  # bytes of the body of each answer; 0: no HTTP


@dataclasses.dataclass(frozen=True)
class Scenario:
    """`name` is what a command line and a CSV row say."""

    name: str
    kind: str
    load: Load

    @property
    def work(self):
        return self.load.work

    @property
    def bulk(self):
        """Whether it is measured in bytes: Gbit/s and s/GB."""
        return self.work in (RECEIVED, SUNK)

    @property
    def what(self):
        return f"{KINDS[self.kind]}: {self.load.what}"

    def arguments(self, origin, connections=None):
        """The arguments of the load's command for an origin at ADDRESS:PORT; so many connections, if not the usual."""
        load = self.load
        if load.command == MIX:
            count = connections or load.connections
            return (f"--open={count}", f"--active={min(2000, (count + 3) // 4)}", *load.arguments)
        count = f"--{'streams' if load.command == 'stream' else 'connections'}={connections or load.connections}"
        if not load.answer:
            return (count, *load.arguments)
        url = f"http://{origin}/{load.answer}" if self.kind == "http" else f"/{load.answer}"
        return (count, f"--url={url}", f"--host={origin}", *load.arguments)

    def with_at_most(self, connections):
        """The scenario, with no more connections than that."""
        return dataclasses.replace(
            self, load=dataclasses.replace(self.load, connections=min(connections, self.load.connections))
        )


def _stream(name, what, streams, direction):
    return Load(
        name=name,
        what=what,
        origin="source" if direction == "down" else "sink",
        command="stream",
        arguments=(f"--direction={direction}",),
        work=RECEIVED if direction == "down" else SUNK,
        connections=streams,
    )


def _requests(name, what, connections, answer, *more, work=EXCHANGES):
    return Load(name, what, "http", "requests", more, work, connections, answer)


def _idle(name, what, connections, size):
    return Load(name, what, "pingpong", "hold", (f"--request={size}",), CONNECTIONS, connections)


def _mix(name, what, *more):
    # What fits under 20000 open files with two for each connection and pipes for those that are active.
    return Load(name, what, MIX, MIX, more, EXCHANGES, 8000)


LOADS = {
    load.name: load
    for load in (
        _stream("stream1", "one stream, upload", 1, "up"),
        _stream("stream1-down", "one stream, download", 1, "down"),
        _stream("stream16", "16 streams, upload", 16, "up"),
        _stream("stream16-down", "16 streams, download", 16, "down"),
        _requests("ka-1k", "1 KB answers over 64 kept connections", 64, KB),
        _requests("ka-1k-1000", "1 KB answers over 1000 kept connections", 1000, KB),
        _requests("ka-1m", "1 MB answers over 16 kept connections", 16, MB, work=RECEIVED),
        _requests("ka-50k-2000", "50 KB answers over 2000 kept connections", 2000, 50 * KB),
        _requests("ka-2k-50k-2000", "the same, each request a POST of 2 KB", 2000, 50 * KB, f"--post={2 * KB}"),
        _requests("close-1k", "1 KB answers to 64 clients, a new connection for each", 64, KB, "--close"),
        _mix("mix", "8000 connections, 2000 busy with web-like exchanges"),
        _mix("mix-3k", "the same at 3000 exchanges a second, come what may", "--rate=3000"),
        _idle("idle", "connections that have made one 1 KB exchange and wait", 9000, KB),
        _idle("idle-16k", "connections that have made one 16 KB exchange and wait", 3000, 16 * KB),
    )
}


def _possible(kind, load):
    if kind == "http":
        return load.command != "stream"
    return kind in PLAIN or load.command != MIX


def _scenario(kind, load):
    if kind == "http" and load.command == "hold":
        # There is no bare stream in HTTP: the exchange is a request.
        size = KB if load.name == "idle" else 16 * KB
        load = dataclasses.replace(load, origin="http", arguments=(), answer=size)
    return Scenario(load.name.replace("mix", f"mix-{kind}") if load.command == MIX else f"{kind}-{load.name}", kind, load)


SCENARIOS = {
    s.name: s for s in (_scenario(kind, load) for kind in KINDS for load in LOADS.values() if _possible(kind, load))
}

_TABLE = "stream1 stream1-down stream16 ka-1k ka-1m ka-50k-2000 ka-2k-50k-2000 close-1k".split()
_TLS = "stream1-down stream16 ka-1k ka-1m close-1k".split()
_TUNNEL = "stream1-down stream16 ka-1k ka-50k-2000 ka-2k-50k-2000 close-1k".split()


@dataclasses.dataclass(frozen=True)
class Set:
    """A named part of it all, for one command. None: whatever is there."""

    what: str
    scenarios: tuple
    proxies: tuple = None
    seconds: float = 3.0
    repetitions: int = 3


SETS = {
    "all": Set("every scenario through every proxy that is there", ("*",)),
    "relay": Set(
        "the table of the TCP relay",
        tuple(f"relay-{name}" for name in _TABLE),
        "sluice-uring sluice-epoll haproxy haproxy-64k nginx haproxy-auto haproxy-splice floor-relay floor-splice".split(),
        2.5,
    ),
    "forward": Set(
        "the tables of the HTTP proxy and of the CONNECT and SOCKS tunnels",
        tuple(f"http-{name}" for name in _TABLE if not name.startswith("stream"))
        + tuple(f"{kind}-{name}" for kind in ("connect", "socks") for name in _TUNNEL),
        "sluice-uring sluice-epoll haproxy haproxy-auto nginx squid tinyproxy dante microsocks".split(),
        1.6,
    ),
    "tls": Set(
        "the tables of TLS ended and begun in the proxy",
        tuple(f"{kind}-{name}" for kind in ("tls-term", "tls-init") for name in _TLS),
        "sluice-uring sluice-epoll sluice-ktls haproxy nginx stunnel none".split(),
        2.5,
    ),
    "mix": Set(
        "many connections with web-like exchanges, as fast as it goes and at a fixed rate",
        ("mix-*",),
        "sluice-uring sluice-epoll haproxy haproxy-auto nginx squid tinyproxy dante floor-relay floor-splice".split(),
        5.0,
    ),
    "idle": Set(
        "the memory of idle connections",
        ("*-idle", "relay-idle-16k"),
        "sluice-uring sluice-epoll haproxy nginx squid tinyproxy dante microsocks stunnel floor-relay none".split(),
        1.0,
        1,
    ),
    "quick": Set(
        "a few minutes: one scenario of each sort, the nearest competitor of each",
        ("relay-stream1-down", "relay-ka-1k", "relay-close-1k", "http-ka-1k", "http-close-1k", "connect-ka-1k", "socks-ka-1k"),
        "sluice-uring sluice-epoll haproxy haproxy-splice floor-relay floor-splice squid dante".split(),
        2.0,
        1,
    ),
}


def select(patterns):
    """The scenarios that one of the patterns names: by name, by kind, by load, or with * for any text. ValueError names
    a pattern that fits none."""
    chosen = {}
    for pattern in patterns:
        fitting = [
            s for s in SCENARIOS.values()
            if pattern in (s.kind, s.load.name) or fnmatch.fnmatchcase(s.name, pattern)
        ]
        if not fitting:
            raise ValueError(f"there is no scenario '{pattern}'; there are: {', '.join(SCENARIOS)}")
        chosen.update((s.name, s) for s in fitting)
    return list(chosen.values())

