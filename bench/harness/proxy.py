"""What an adapter in bench/proxies/ says about a proxy."""

import dataclasses
import importlib
import os
import pkgutil
import shutil
from typing import Callable, Optional


@dataclasses.dataclass(frozen=True)
class Target:
    """What the proxy is to do: relay LISTEN to ORIGIN. `folder` is empty and its own, for configuration files."""

    listen_ip: str
    listen_port: int
    origin_ip: str
    origin_port: int
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
    command: Optional[Callable[[Target], list]] = None
    most_connections: int = 9500
    version: tuple = ()  # arguments that print the version
    needs: tuple = ()  # files it cannot do without
    package: str = ""  # what to install or build when it is missing

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
