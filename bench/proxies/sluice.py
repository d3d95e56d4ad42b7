"""sluice as a TCP relay, one worker."""

from harness.proxy import Proxy


def _command(backend, options=""):
    def command(target):
        service = f"tcppm {options} -i{target.listen_ip} {target.listen_port} {target.origin_ip} {target.origin_port}"
        config = target.write("sluice.cfg", "maxconn 20000\n" + " ".join(service.split()) + "\n")
        return [target.program, f"--backend={backend}", "--workers=1", config]

    return command


def _proxy(name, what, *how):
    return Proxy(
        name,
        what,
        program="sluice",
        command=_command(*how),
        version=("version",),
        package="bazel build -c opt //:sluice",
    )


PROXIES = [
    _proxy("sluice-uring", "io_uring, -s7", "uring"),
    _proxy("sluice-epoll", "epoll, -s7", "epoll"),
    _proxy("sluice-s0", "io_uring, -s0: copies only", "uring", "-s0"),
    _proxy("sluice-epoll-s0", "epoll, -s0: copies only", "epoll", "-s0"),
]
