"""3proxy, from a binary that is given: Debian has none."""

import os

from harness.proxy import Proxy

PROXIES = []

_SERVICES = {
    "relay": "tcppm {options} -i{listen_ip} {listen_port} {origin_ip} {origin_port}",
    "http": "proxy {options} -i{listen_ip} -p{listen_port}",
    "connect": "proxy {options} -i{listen_ip} -p{listen_port}",
    "socks": "socks {options} -i{listen_ip} -p{listen_port}",
    "tls-term": (
        "ssl_server_cert {certificate}\nssl_server_key {certificate}\nssl_server_min_proto_version TLSv1.3\nssl_serv\n"
        "tcppm {options} -i{listen_ip} {listen_port} {origin_ip} {origin_port}"
    ),
    "tls-init": "ssl_cli\ntcppm {options} -i{listen_ip} {listen_port} {origin_ip} {origin_port}",
}


def given(text):
    """From --3proxy PATH[:OPTIONS], OPTIONS for the service lines, as in -s0 -ocTCP_NODELAY."""
    path, _, options = text.partition(":")
    words = options.split()

    def command(target):
        service = _SERVICES[target.kind].format(options=options, **vars(target))
        return [target.program, target.write("3proxy.cfg", f"maxconn 9500\nbacklog 4096\nauth none\n{service}\n")]

    return Proxy(
        "3proxy" + "".join(words),
        options or "as it is",
        program=os.path.abspath(path),
        kinds=tuple(_SERVICES),
        splices="-s0" not in words,
        command=command,
        most_connections=3200,
    )
