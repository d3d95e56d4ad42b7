"""microsocks: a SOCKS proxy with a thread for each client."""

from harness.proxy import Proxy


def _command(target):
    # It tells of every client on standard error, and cannot be asked not to.
    quiet = ["sh", "-c", 'exec "$0" "$@" 2>/dev/null', target.program]
    return [*quiet, "-i", target.listen_ip, "-p", str(target.listen_port)]


PROXIES = [
    Proxy(
        "microsocks",
        "a thread for each client, 1 KB reads",
        program="microsocks",
        kinds=("socks",),
        command=_command,
        packages=("microsocks",),
    )
]
