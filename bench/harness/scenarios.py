"""The loads of the relay core."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Scenario:
    """`work` is what CPU time is divided by: received (bytes at the client), sunk (bytes at the origin), exchanges, or
    connections (memory, not time). `against`: the proxies whose ratio to the others is of interest."""

    name: str
    what: str
    origin: str  # mode of loadtool origin
    command: str  # of loadtool
    arguments: tuple
    work: str
    against: tuple
    connections: int


def _stream(name, what, streams, direction):
    return Scenario(
        name=name,
        what=what,
        origin="source" if direction == "down" else "sink",
        command="stream",
        arguments=(f"--streams={streams}", f"--direction={direction}"),
        work="received" if direction == "down" else "sunk",
        against=("floor-splice", "haproxy-splice", "haproxy-64k"),
        connections=streams,
    )


def _requests(name, what, command, connections):
    return Scenario(
        name=name,
        what=what,
        origin="pingpong",
        command=command,
        arguments=(f"--connections={connections}", "--request=1024"),
        work="exchanges",
        against=("floor-relay", "haproxy"),
        connections=connections,
    )


def _idle(name, what, connections, request):
    return Scenario(
        name=name,
        what=what,
        origin="pingpong",
        command="hold",
        arguments=(f"--request={request}",),
        work="connections",
        against=("floor-relay", "haproxy"),
        connections=connections,
    )


SCENARIOS = {
    s.name: s
    for s in (
        _stream("stream1", "one stream from the origin, as fast as it goes", 1, "down"),
        _stream("stream1-up", "one stream to the origin", 1, "up"),
        _stream("stream16", "16 streams from the origin", 16, "down"),
        _stream("stream16-up", "16 streams to the origin", 16, "up"),
        _requests("ka-1k", "1 KB request, 1 KB answer over 64 kept connections", "pingpong", 64),
        _requests("ka-1k-1000", "the same over 1000 connections", "pingpong", 1000),
        _requests("close-1k", "64 clients, a new connection for every 1 KB exchange", "close", 64),
        _idle("idle", "connections that have made one 1 KB exchange and wait", 9000, 1024),
        _idle("idle-16k", "connections that have made one 16 KB exchange and wait", 3000, 16384),
    )
}

DEFAULT = ("stream1", "stream16", "ka-1k", "ka-1k-1000", "close-1k", "idle")
