"""sluice, one worker, no log."""

import dataclasses
import os
import shlex

from harness.proxy import Proxy

_SERVICES = {
    "relay": "tcppm {options} -i{listen_ip} {listen_port} {origin_ip} {origin_port}",
    "http": "proxy {options} -i{listen_ip} -p{listen_port}",
    "connect": "proxy {options} -i{listen_ip} -p{listen_port}",
    "socks": "socks {options} -i{listen_ip} -p{listen_port}",
}


def _command(flags, options=""):
    def command(target):
        service = _SERVICES[target.kind].format(options=options, **vars(target))
        config = target.write("sluice.cfg", "maxconn 20000\n" + " ".join(service.split()) + "\n")
        workers = [] if any(flag.startswith("--workers") for flag in flags) else ["--workers=1"]
        return [target.program, *flags, *workers, config]

    return command


def _proxy(name, what, backend, options="", splices=True):
    return Proxy(
        name,
        what,
        program="sluice",
        kinds=tuple(_SERVICES),
        splices=splices,
        command=_command([f"--backend={backend}"], options),
        version=("version",),
        build="//:sluice",
    )


PROXIES = [
    _proxy("sluice-uring", "io_uring, -s7: splices where it pays", "uring"),
    _proxy("sluice-epoll", "epoll, -s7", "epoll"),
    _proxy("sluice-s0", "io_uring, -s0: copies only", "uring", "-s0", splices=False),
    _proxy("sluice-epoll-s0", "epoll, -s0: copies only", "epoll", "-s0", splices=False),
]


def given(text):
    """From --sluice "NAME=[PATH] OPTION...": options that begin with -- are the program's, others the services'."""
    name, equals, rest = text.partition("=")
    words = shlex.split(rest)
    if not equals or not name or name.startswith("-"):
        raise ValueError(f"--sluice {text}: NAME=[PATH] OPTION... is needed, as in old=/tmp/sluice --backend=epoll -s0")
    program = os.path.abspath(words.pop(0)) if words and not words[0].startswith("-") else "sluice"
    flags = [word for word in words if word.startswith("--")]
    options = " ".join(word for word in words if not word.startswith("--"))
    return dataclasses.replace(
        _proxy(name, rest or "as it is", "auto", splices="-s0" not in words),
        program=program,
        command=_command(flags, options),
    )
