"""The floors: what a relay in user space costs at least."""

from harness.proxy import Proxy


def _command(target):
    return [target.program, str(target.listen_port), target.origin_ip, str(target.origin_port), target.listen_ip]


PROXIES = [
    Proxy(
        "floor-relay",
        "bare epoll relay, recv and send through one 64 KB buffer",
        program="bench/floor/floor_relay",
        command=_command,
        build="//bench/floor:floor_relay",
        floor=True,
    ),
    Proxy(
        "floor-splice",
        "bare epoll relay, two splice calls through a pooled 256 KB pipe",
        program="bench/floor/floor_splice",
        command=_command,
        build="//bench/floor:floor_splice",
        floor=True,
        splices=True,
    ),
]
