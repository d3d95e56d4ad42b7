"""dante as a SOCKS proxy: no authentication, one process tree, no log."""

from harness.proxy import Proxy

_CONFIG = """
logoutput: /dev/null
internal: {listen_ip} port = {listen_port}
external: {origin_side_ip}
clientmethod: none
socksmethod: none
user.privileged: root
user.unprivileged: root
client pass {{ from: 0.0.0.0/0 to: 0.0.0.0/0 }}
socks pass {{ from: 0.0.0.0/0 to: 0.0.0.0/0 }}
"""


def _command(target):
    config = target.write("danted.conf", _CONFIG.format(**vars(target)))
    return [target.program, "-N", "1", "-f", config, "-p", f"{target.folder}/pid"]


PROXIES = [
    Proxy(
        "dante",
        "no authentication, -N 1",
        program="danted",
        kinds=("socks",),
        command=_command,
        most_connections=4000,
        version=("-v",),
        packages=("dante-server",),
    )
]
