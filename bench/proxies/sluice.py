"""sluice, one worker, no log."""

import dataclasses
import os
import shlex
import subprocess

from harness.proxy import Proxy

_RELAY = "tcppm {options} -i{listen_ip} {listen_port} {origin_ip} {origin_port}"
_PROXY = "proxy {options} -i{listen_ip} -p{listen_port}"
# Kind -> lines before the service, and the service.
_SERVICES = {
    "relay": ("", _RELAY),
    "http": ("", _PROXY),
    "connect": ("", _PROXY),
    "socks": ("", "socks {options} -i{listen_ip} -p{listen_port}"),
    "tls-term": ("ssl_server_cert {certificate}\nssl_server_key {certificate}\nssl_server_min_proto_version TLSv1.3\nssl_serv", _RELAY),
    "tls-init": ("ssl_client_min_proto_version TLSv1.3\nssl_cli", _RELAY),
}
_TLS = ("tls-term", "tls-init")


def _command(flags, options="", before=""):
    def command(target):
        preamble, service = (part.format(options=options, **vars(target)) for part in _SERVICES[target.kind])
        lines = ["maxconn 20000", preamble, before, " ".join(service.split())]
        config = target.write("sluice.cfg", "\n".join(line for line in lines if line) + "\n")
        workers = [] if any(flag.startswith("--workers") for flag in flags) else ["--workers=1"]
        return [target.program, *flags, *workers, config]

    return command


def _lacks(before):
    """TLS services are asked for with `sluice check`: a program that has none yet says so."""

    def lacks(path, kind, certificate):
        if kind not in _TLS:
            return None
        preamble = _SERVICES[kind][0].format(certificate=certificate)
        config = f"{preamble}\n{before}\ntcppm 8000 10.0.2.2 7001\n"
        done = subprocess.run([path, "check", "-"], input=config, capture_output=True, text=True)
        return None if done.returncode == 0 else "service not there yet: " + done.stderr.strip().splitlines()[0]

    return lacks


def _proxy(name, what, backend, options="", splices=True, kinds=tuple(_SERVICES), before=""):
    return Proxy(
        name,
        what,
        program="sluice",
        kinds=kinds,
        splices=splices,
        command=_command([f"--backend={backend}"], options, before),
        version=("version",),
        lacks=_lacks(before),
        build="//:sluice",
    )


PROXIES = [
    _proxy("sluice-uring", "io_uring, -s7: splices where it pays", "uring"),
    _proxy("sluice-epoll", "epoll, -s7", "epoll"),
    _proxy("sluice-s0", "io_uring, -s0: copies only", "uring", "-s0", splices=False),
    _proxy("sluice-epoll-s0", "epoll, -s0: copies only", "epoll", "-s0", splices=False),
    _proxy("sluice-ktls", "io_uring, TLS in the kernel where it can", "uring", kinds=_TLS, before="ssl_ktls"),
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
