"""squid as an HTTP proxy and for CONNECT: no cache, no logs, one process."""

from harness.proxy import Proxy

_CONFIG = """
http_port {listen_ip}:{listen_port}
workers 1
cache deny all
cache_mem 8 MB
access_log none
cache_log /dev/null
cache_store_log none
netdb_filename none
pid_filename none
coredump_dir none
via off
forwarded_for delete
http_access allow all
client_persistent_connections on
server_persistent_connections on
max_filedescriptors 20000
pinger_enable off
dns_nameservers 127.0.0.1
visible_hostname bench
shutdown_lifetime 0 seconds
"""


def _command(target):
    return [target.program, "-N", "-f", target.write("squid.conf", _CONFIG.format(**vars(target)))]


PROXIES = [
    Proxy(
        "squid",
        "no cache, no logs, via off",
        program="squid",
        kinds=("http", "connect"),
        command=_command,
        most_connections=9000,
        version=("-v",),
        packages=("squid",),
    )
]
