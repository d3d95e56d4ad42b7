"""haproxy as a TCP relay, with or without TLS, and as an HTTP proxy for one origin, one thread, no log."""

from harness.proxy import Proxy

_CONFIG = """
global
    nbthread 1
    maxconn {most}
    {global_line}
defaults
    mode {mode}
    timeout connect 10s
    timeout client 1h
    timeout server 1h
    {options}
listen bench
    bind {listen_ip}:{listen_port} backlog 4096 {bind_tls}
    maxconn {most}
    {reuse}
    server origin {origin_ip}:{origin_port} {server_tls}
"""


def _command(most, options="", global_line=""):
    def command(target):
        http = target.kind == "http"
        text = _CONFIG.format(
            most=most, options=options, global_line=global_line, mode="http" if http else "tcp",
            reuse="http-reuse always" if http else "",
            bind_tls=f"ssl crt {target.certificate} ssl-min-ver TLSv1.3" if target.kind == "tls-term" else "",
            server_tls="ssl verify none ssl-min-ver TLSv1.3" if target.kind == "tls-init" else "", **vars(target)
        )
        return [target.program, "-db", "-q", "-f", target.write("haproxy.cfg", text)]

    return command


def _proxy(name, what, most, splices=False, **how):
    return Proxy(
        name,
        what,
        program="haproxy",
        kinds=("relay", "http", "tls-term", "tls-init"),
        splices=splices,
        command=_command(most, **how),
        most_connections=most - 100,
        version=("-v",),
        packages=("haproxy",),
    )


# maxconn: what fits under 20000 open files, two for each connection and more where it may take pipes.
PROXIES = [
    _proxy("haproxy", "16 KB buffers; HTTP with http-reuse always", 9900),
    _proxy("haproxy-64k", "tune.bufsize 65536", 9900, global_line="tune.bufsize 65536"),
    _proxy("haproxy-auto", "option splice-auto", 6000, splices=True, options="option splice-auto"),
    _proxy(
        "haproxy-splice",
        "option splice-request and splice-response",
        6000,
        splices=True,
        options="option splice-request\n    option splice-response",
    ),
]
