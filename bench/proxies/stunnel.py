"""stunnel: TLS ended or begun around a TCP stream, a thread for each client."""

from harness.proxy import Proxy

_CONFIG = """
foreground = yes
pid =
debug = err
syslog = no
sslVersionMin = TLSv1.3
socket = l:TCP_NODELAY=1
socket = r:TCP_NODELAY=1
[bench]
accept = {listen_ip}:{listen_port}
connect = {origin_ip}:{origin_port}
TIMEOUTidle = 3600
{line}
"""


def _command(target):
    line = f"cert = {target.certificate}" if target.kind == "tls-term" else "client = yes"
    return [target.program, target.write("stunnel.conf", _CONFIG.format(line=line, **vars(target)))]


PROXIES = [
    Proxy(
        "stunnel",
        "a thread for each client",
        program="stunnel",
        kinds=("tls-term", "tls-init"),
        command=_command,
        most_connections=4000,
        version=("-version",),
        packages=("stunnel4",),
    )
]
