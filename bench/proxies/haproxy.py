"""haproxy as a TCP relay, one thread, no log."""

from harness.proxy import Proxy

_CONFIG = """
global
    nbthread 1
    maxconn {most}
    {global_line}
defaults
    mode tcp
    timeout connect 10s
    timeout client 1h
    timeout server 1h
    {options}
listen relay
    bind {listen_ip}:{listen_port} backlog 4096
    maxconn {most}
    server origin {origin_ip}:{origin_port}
"""


def _command(most, options="", global_line=""):
    def command(target):
        config = target.write(
            "haproxy.cfg",
            _CONFIG.format(most=most, options=options, global_line=global_line, **vars(target)),
        )
        return [target.program, "-db", "-q", "-f", config]

    return command


def _proxy(name, what, most, **how):
    return Proxy(
        name,
        what,
        program="haproxy",
        command=_command(most, **how),
        most_connections=most - 100,
        version=("-v",),
        package="apt-get install haproxy",
    )


# maxconn: what fits under 20000 open files, two for each connection and more where it may take pipes.
PROXIES = [
    _proxy("haproxy", "mode tcp, 16 KB buffers", 9900),
    _proxy("haproxy-64k", "mode tcp, tune.bufsize 65536", 9900, global_line="tune.bufsize 65536"),
    _proxy("haproxy-auto", "mode tcp, option splice-auto", 6000, options="option splice-auto"),
    _proxy(
        "haproxy-splice",
        "mode tcp, option splice-request and splice-response",
        6000,
        options="option splice-request\n    option splice-response",
    ),
]
