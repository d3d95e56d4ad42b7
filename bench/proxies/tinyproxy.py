"""tinyproxy as an HTTP proxy and for CONNECT: a thread for each client, which it serves one request."""

from harness.proxy import Proxy

_CONFIG = """
User root
Group root
Port {listen_port}
Listen {listen_ip}
Timeout 3600
LogFile "/dev/null"
LogLevel Critical
MaxClients 4100
DisableViaHeader Yes
"""


def _command(target):
    return [target.program, "-d", "-c", target.write("tinyproxy.conf", _CONFIG.format(**vars(target)))]


PROXIES = [
    Proxy(
        "tinyproxy",
        "critical messages only, DisableViaHeader",
        program="tinyproxy",
        kinds=("http", "connect"),
        command=_command,
        most_connections=4000,
        unfit={"http-idle": "ends each connection after one request"},
        version=("-v",),
        packages=("tinyproxy-bin",),
    )
]
