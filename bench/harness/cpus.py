"""Which CPUs each role has, and how it is held to them."""

import dataclasses
import os
import time

ROLES = ("client", "proxy", "origin")
_PREFIX = "sluice-bench."  # and the harness's process id
_SHORT = {"cli": "client", "prx": "proxy", "srv": "origin"}
SHORT = {role: short for short, role in _SHORT.items()}


def parse_list(text):
    """The numbers of "0-3,5"; ValueError for anything else."""
    numbers = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    if not numbers:
        raise ValueError(text)
    return tuple(sorted(numbers))


def parse(text):
    """role -> CPUs of "cli=0-3,prx=4,srv=5,6" (a comma may also be within a list)."""
    words = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if equals:
            if name not in _SHORT or _SHORT[name] in words:
                raise ValueError(f"--cpus: '{name}' is none of cli, prx, srv, or is there twice")
            role = _SHORT[name]
            words[role] = value
        elif words:
            words[role] += "," + part
    if set(words) != set(ROLES):
        raise ValueError(f"--cpus {text}: cli=.., prx=.. and srv=.. are needed, as in cli=0-3,prx=4,srv=5-7")
    try:
        cpus = {role: parse_list(words[role]) for role in ROLES}
    except ValueError:
        raise ValueError(f"--cpus {text}: a list of CPUs looks like 0-3,5") from None
    if set(cpus["proxy"]) & (set(cpus["client"]) | set(cpus["origin"])):
        raise ValueError(f"--cpus {text}: the proxy's CPUs must be its own, or nothing is measured")
    return cpus


def default(usable):
    """The proxy alone on the first CPU; client and origin share the second, or halve the others."""
    usable = sorted(usable)
    if len(usable) < 2:
        raise ValueError("two CPUs are needed: one for the proxy alone")
    rest = usable[1:]
    half = (len(rest) + 1) // 2
    if len(rest) == 1:
        return {"proxy": (usable[0],), "client": tuple(rest), "origin": tuple(rest)}
    return {"proxy": (usable[0],), "client": tuple(rest[:half]), "origin": tuple(rest[half:])}


def show(cpus):
    return ",".join(f"{SHORT[role]}={','.join(map(str, cpus[role]))}" for role in ROLES)


@dataclasses.dataclass
class Cpusets:
    """A cpuset cgroup for each role, which no program can leave by setting its own affinity, as nginx and haproxy may.
    `folders` is empty where there is no cpuset controller to write to; affinity alone must do then."""

    folders: dict

    @classmethod
    def make(cls, cpus):
        name = f"{_PREFIX}{os.getpid()}"
        for root, controller in (("/sys/fs/cgroup/cpuset", None), ("/sys/fs/cgroup", "cpuset")):
            _remove_abandoned(root)
            folder = os.path.join(root, name)
            try:
                return cls(_make_below(root, folder, controller, cpus))
            except OSError:
                remove(folder)
        return cls({})

    def join(self, role):
        """Moves this process. Called between fork and exec."""
        if role in self.folders:
            _write(os.path.join(self.folders[role], "cgroup.procs"), "0")

    def roots(self):
        return sorted({os.path.dirname(folder) for folder in self.folders.values()})


def _remove_abandoned(root):
    """Removes the empty groups of harnesses that are no more and whose state file is lost too."""
    for name in os.listdir(root) if os.path.isdir(root) else []:
        if name.startswith(_PREFIX) and not os.path.exists("/proc/" + name[len(_PREFIX):]):
            remove(os.path.join(root, name), patience=0)


def _make_below(root, folder, controller, cpus):
    if controller:
        # What the machine gives to its groups is not changed: either they have the controller, or affinity must do.
        with open(os.path.join(root, "cgroup.subtree_control")) as file:
            if controller not in file.read().split():
                raise OSError("no cpuset controller")
    elif not os.path.exists(os.path.join(root, "cpuset.cpus")):
        raise OSError("no cpuset controller")
    os.mkdir(folder)
    _inherit(root, folder, controller, set().union(*cpus.values()))
    folders = {}
    for role in ROLES:
        folders[role] = os.path.join(folder, role)
        os.mkdir(folders[role])
        _inherit(folder, folders[role], None, cpus[role])
    return folders


def _inherit(parent, folder, controller, cpus):
    _write(os.path.join(folder, "cpuset.cpus"), ",".join(map(str, sorted(cpus))))
    if controller:
        _write(os.path.join(folder, "cgroup.subtree_control"), "+" + controller)
    mems = os.path.join(parent, "cpuset.mems")
    if os.path.exists(mems):
        with open(mems) as file:
            text = file.read().strip()
        if text:
            _write(os.path.join(folder, "cpuset.mems"), text)


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


def processes(folder):
    """The pids in a role's folder, or in all below `folder`."""
    found = []
    for path, _, names in os.walk(folder):
        if "cgroup.procs" in names:
            with open(os.path.join(path, "cgroup.procs")) as file:
                found += [int(line) for line in file]
    return found


def remove(folder, patience=2.0):
    """Removes the cgroups of a Cpusets; what has just been ended may hold them a moment longer."""
    deadline = time.monotonic() + patience
    while os.path.isdir(folder):
        try:
            for role in ROLES:
                if os.path.isdir(os.path.join(folder, role)):
                    os.rmdir(os.path.join(folder, role))
            os.rmdir(folder)
        except OSError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.02)
