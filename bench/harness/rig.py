"""One run: a fresh network, the origin, the proxy, the load, and what was measured."""

import dataclasses
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from harness import counters, network, procfs
from harness.cpus import ROLES
from harness.proxy import Target
from harness.scenarios import MIX

LISTEN_PORT = 8000
ORIGIN_PORTS = {"pingpong": 7001, "source": 7002, "sink": 7003, "echo": 7004, "idle": 7005, "http": 7006}
MIX_PORT, TLS_ORIGIN_PORT, TLS_CLIENT_PORT = 7007, 7443, 9000
_TLS_KINDS = ("tls-term", "tls-init")


class RunError(Exception):
    """The run could not be made: what and why."""


@dataclasses.dataclass(frozen=True)
class Setup:
    """What all runs of a session share."""

    children: object  # processes.Children, confined
    binaries: str
    cpus: dict  # role -> CPUs
    warmup: float
    seconds: float
    tail: float
    steer: bool  # receive work to the role's CPUs
    repeats: int  # of a disturbed run
    patience: float  # how long to wait before a run for other programs to leave the machine alone

    link: object = None  # link.Link; None: as fast as veth is
    certificate: str = ""  # of proxies that end TLS; "" where none of them do

    def loadtool(self):
        return os.path.join(self.binaries, "bench/load/loadtool")

    def mix(self):
        return os.path.join(self.binaries, "bench/mix/mix")

    def emulator(self):
        return os.path.join(self.binaries, "bench/link/link_emulator")


class Rig:
    """A network with an origin and a proxy of some kind in it. Use as a context manager."""

    def __init__(self, setup, proxy, kind, mode, connections):
        self.setup = setup
        self.proxy = proxy
        self._kind = kind
        self._mode = mode
        self._connections = connections
        self._started = []

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="sluice-bench-")
        os.chmod(self.folder, 0o755)  # proxies that give up root read their configuration
        self._network = None
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for child in reversed(self._started):
            # Killed, not asked: a drain would only be waited for.
            self.setup.children.stop(child, grace=0)
        if self._network:
            self._network.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _build(self):
        setup = self.setup
        self._network = network.Network(
            setup.children, setup.cpus if setup.steer else None, not self.proxy.program, setup.link, setup.emulator()
        )
        self.steered = self._network.steered
        self.sessions = {role: set() for role in ROLES}
        if self._network.emulator:
            self.sessions["client"].add(self._network.emulator.pid)
        self.origin_counters = counters.Counters(os.path.join(self.folder, "origin.counters"))
        self._start_origin()
        if self.proxy.program:
            self._start_proxy()
        if self._kind == "tls-term":
            self._wrap("client", "--connect", f"127.0.0.1:{TLS_CLIENT_PORT}", self._first_hop())

    def _start_origin(self):
        if self._mode == MIX:
            self._start_ready("origin", [self.setup.mix(), "origin", "--listen", self.origin()])
        else:
            modes = [f"{mode}={port}" for mode, port in ORIGIN_PORTS.items()]
            arguments = [f"--counters={self.origin_counters.path}", *modes]
            origin = self._start_ready("origin", [self.setup.loadtool(), "origin", *arguments])
            if not self.origin_counters.wait(counters.RUNNING, origin, 5):
                raise RunError("the origin did not start: " + _said(origin))
        # Without a proxy in between, both ends of the connection speak TLS.
        if self._kind == "tls-init" or (self._kind in _TLS_KINDS and not self.proxy.program):
            self._wrap("origin", "--accept", f"{network.ORIGIN_IP}:{TLS_ORIGIN_PORT}", self.origin())

    def _wrap(self, role, way, listen, to):
        """Starts what speaks TLS in the place of a load or an origin that does not."""
        self._start_ready(role, [self.setup.mix(), "tls", way, "--listen", listen, "--to", to, "--tls", "1.3"])

    def _start_ready(self, role, argv):
        """Starts a program and waits until it says that it is ready."""
        child = self.start(role, argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.sessions[role].add(child.pid)
        if not select.select([child.stdout], [], [], 5)[0] or not child.stdout.readline().startswith(b"ready"):
            child.terminate()
            child.wait()
            raise RunError(f"{' '.join(argv[:2])} did not start: {_said(child)}")
        return child

    @property
    def proxy_session(self):
        """The session of the proxy's processes; None where there is no proxy."""
        return next(iter(self.sessions["proxy"]), None)

    def _start_proxy(self):
        folder = os.path.join(self.folder, "proxy")
        os.mkdir(folder)
        target = Target(
            kind=self._kind,
            listen_ip=network.PROXY_IP,
            listen_port=LISTEN_PORT,
            origin_side_ip=network.PROXY_ORIGIN_SIDE_IP,
            origin_ip=network.ORIGIN_IP,
            origin_port=TLS_ORIGIN_PORT if self._kind == "tls-init" else self._port(),
            certificate=self.setup.certificate,
            folder=folder,
            program=self.proxy.find(self.setup.binaries),
            connections=self._connections,
        )
        errors = os.path.join(folder, "stderr")
        with open(errors, "wb") as file:
            child = self.start("proxy", self.proxy.command(target), stdout=file, stderr=file)
        deadline = time.monotonic() + 10
        while not procfs.listens(self._network.holder("proxy"), LISTEN_PORT):
            if child.poll() is not None or time.monotonic() > deadline:
                with open(errors, errors="replace") as file:
                    raise RunError(f"{self.proxy.name} does not listen: {file.read()[-600:].strip()}")
            time.sleep(0.005)
        self.sessions["proxy"].add(child.pid)

    def start(self, role, argv, **popen):
        popen.setdefault("stdin", subprocess.DEVNULL)
        child = self.setup.children.start(self._network.inside(role, argv), role, **popen)
        self._started.append(child)
        return child

    def load(self, command, arguments, **popen):
        """Starts the client: a loadtool command or MIX."""
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        program = [self.setup.mix(), "load"] if command == MIX else [self.setup.loadtool(), command]
        child = self.start("client", [*program, *arguments], **popen)
        self.sessions["client"].add(child.pid)
        return child

    def origin(self):
        """ADDRESS:PORT of what the load is to reach."""
        return f"{network.ORIGIN_IP}:{self._port()}"

    def _port(self):
        return MIX_PORT if self._mode == MIX else ORIGIN_PORTS[self._mode]

    def _first_hop(self):
        """Where the client's connections go."""
        if self.proxy.program:
            return f"{network.PROXY_IP}:{LISTEN_PORT}"
        return f"{network.ORIGIN_IP}:{TLS_ORIGIN_PORT}" if self._kind in _TLS_KINDS else self.origin()

    def route(self):
        """The options that tell the load where to go."""
        if self._mode == MIX:
            if not self.proxy.program:
                return ["--via=none", f"--origin={self.origin()}"]
            return [f"--via={self._kind}", f"--proxy={self._first_hop()}", f"--origin={self.origin()}"]
        if self._kind == "tls-term":
            return [f"--connect=127.0.0.1:{TLS_CLIENT_PORT}"]
        route = [f"--connect={self._first_hop()}"]
        if self._kind in ("connect", "socks"):
            route += [f"--tunnel={self._kind}", f"--target={self.origin()}"]
        return route

    def finish(self, child, patience=60):
        """The JSON that a load prints when it ends."""
        try:
            output, errors = child.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            raise RunError("the load does not end") from None
        if not output.strip():
            raise RunError("the load failed: " + errors.decode(errors="replace").strip()[-300:])
        return json.loads(output.splitlines()[-1])


def _said(child):
    return child.stderr.read().decode(errors="replace").strip() if child.poll() is not None else "not ready in time"
