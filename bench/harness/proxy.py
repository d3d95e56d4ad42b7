"""What an adapter in bench/proxies/ says about a proxy."""

import dataclasses
import importlib
import os
import pkgutil
import shutil
from typing import Callable, Optional


@dataclasses.dataclass(frozen=True)
class Target:
    """What the proxy is to do on LISTEN: relay to ORIGIN, or for other kinds what its clients ask for, which is ORIGIN
    too. `folder` is empty and its own, for configuration files."""

    kind: str  # scenarios.KINDS
    listen_ip: str
    listen_port: int
    origin_side_ip: str  # the proxy's address on the link to the origin
    origin_ip: str
    origin_port: int
    certificate: str  # PEM, certificate and key in one file
    folder: str
    program: str
    connections: int  # the most that the proxy may have to relay at once

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path


@dataclasses.dataclass(frozen=True)
class Proxy:
    """One column of the comparison.

    `program`: looked for among the built binaries if it has a slash, else in PATH; "" for no proxy at all.
    `command`: writes the configuration and returns the arguments; the process must stay in the foreground.
    `most_connections`: how many idle ones it can hold with its configuration under the usual 20000 open files.
    """

    name: str
    what: str
    program: str
    kinds: tuple = ("relay",)
    splices: bool = False  # which group of the tables it is in
    command: Optional[Callable[[Target], list]] = None
    most_connections: int = 9500
    version: tuple = ()  # arguments that print the version
    needs: tuple = ()  # files it cannot do without
    packages: tuple = ()  # Debian's, for `--install`
    build: str = ""  # what Bazel makes it from
    lacks: Optional[Callable] = None  # (path of the program, kind, certificate) -> why it does not serve that kind, or None
    unfit: dict = dataclasses.field(default_factory=dict)  # scenario -> why this proxy cannot do it
    floor: bool = False  # no proxy to choose, but a limit to compare with: gets no marks in the tables

    def missing(self):
        """What to do about a program that is not there."""
        return f"bazel build -c opt {self.build}" if self.build else f"apt-get install {' '.join(self.packages)}"

    def find(self, binaries):
        """The path of the program, or None. "" needs none."""
        if any(not os.path.exists(path) for path in self.needs):
            return None
        if not self.program:
            return ""
        if "/" in self.program or self.program == "sluice":
            path = os.path.join(binaries, self.program)
            return path if os.access(path, os.X_OK) else None
        return shutil.which(self.program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def load_adapters():
    """name -> Proxy, from every module of bench/proxies."""
    package = importlib.import_module("proxies")
    found = {}
    for module in sorted(m.name for m in pkgutil.iter_modules(package.__path__)):
        for proxy in importlib.import_module(f"proxies.{module}").PROXIES:
            found[proxy.name] = proxy
    return found


def given(**texts):
    """Proxies from what the command line says of them: module of bench/proxies -> texts for its given()."""
    return [importlib.import_module(f"proxies.{module}").given(text) for module, some in texts.items() for text in some]
