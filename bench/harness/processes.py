"""Starting programs for a measurement, and never leaving one behind.

Every program started here leads a session of its own, dies with the harness (PR_SET_PDEATHSIG), and is written down with
its start time in a state file. A later harness that finds the file ends what is still there: a recorded process, one of
its session that is in a recorded network namespace, or one in a recorded cgroup; and removes the cgroups. Nothing is
ever ended by name.
"""

import ctypes
import fcntl
import json
import os
import resource
import signal
import subprocess
import time

from harness import cpus as cpu_sets
from harness import procfs

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


class Busy(Exception):
    """Another harness is running on this machine."""


class Children:
    """The programs of this harness. Use as a context manager: all of them are gone when it ends."""

    def __init__(self, folder):
        """`folder` holds the lock and the state file; one harness at a time per folder."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._state = os.path.join(folder, "state.json")
        self._lock = open(os.path.join(folder, "lock"), "a")
        self._running = []
        self._cpus = {}
        self._cpusets = cpu_sets.Cpusets({})

    def __enter__(self):
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Busy(f"another benchmark holds {self._lock.name}; two at a time would measure each other") from None
        self.ended_leftovers = end_leftovers(self._state)
        self._write_state()
        return self

    def __exit__(self, *_):
        self.stop_all()
        for folder in self._cpusets.roots():
            cpu_sets.remove(folder)
        try:
            os.unlink(self._state)
        except FileNotFoundError:
            pass
        self._lock.close()

    def confine(self, cpus):
        """Holds what is started for a role from now on to its CPUs; True if by cgroups, False if by affinity alone."""
        self._cpus = cpus
        self._cpusets = cpu_sets.Cpusets.make(cpus)
        self._write_state()
        return bool(self._cpusets.folders)

    def start(self, argv, role=None, **popen):
        """Starts a program on the CPUs of its role (None: any), with as many open files as allowed."""

        def prepare():
            _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            self._cpusets.join(role)
            if role in self._cpus:
                os.sched_setaffinity(0, self._cpus[role])

        child = subprocess.Popen(argv, start_new_session=True, preexec_fn=prepare, **popen)
        self._running.append(child)
        self._write_state()
        return child

    def sessions(self):
        """The session ids of everything started and not stopped."""
        return {child.pid for child in self._running}

    def stop(self, child, grace=2.0):
        """SIGTERM to the leader, SIGKILL to what is left of its session after `grace` seconds."""
        if child not in self._running:
            return
        if child.poll() is None and grace > 0:
            child.terminate()
            try:
                child.wait(grace)
            except subprocess.TimeoutExpired:
                pass
        kill_session(child.pid)
        child.wait()
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream:
                stream.close()
        self._running.remove(child)
        self._write_state()

    def stop_all(self):
        for child in reversed(list(self._running)):
            self.stop(child, grace=0)

    def _write_state(self):
        recorded = []
        for child in self._running:
            start = procfs.start_time(child.pid)
            if start is not None:
                recorded.append([child.pid, start, procfs.network_namespace(child.pid)])
        text = json.dumps({
            "boot": procfs.boot_id(),
            "harness": os.getpid(),
            "processes": recorded,
            "cgroups": self._cpusets.roots(),
        })
        with open(self._state + ".new", "w") as file:
            file.write(text)
        os.replace(self._state + ".new", self._state)


def kill_session(leader):
    """Ends every process of the session that `leader` leads or led."""
    for _ in range(50):
        members = [p.pid for p in procfs.process_table().values() if p.session == leader and p.state != "Z"]
        if not members:
            return
        for pid in members:
            _kill(pid)
        time.sleep(0.01)


def end_leftovers(state_file):
    """Ends what an earlier harness left running; the number of processes that were."""
    try:
        with open(state_file) as file:
            state = json.load(file)
    except (FileNotFoundError, ValueError):
        return 0
    if state.get("boot") != procfs.boot_id():
        return 0
    recorded = {pid: start for pid, start, _ in state["processes"]}
    namespaces = {namespace for _, _, namespace in state["processes"] if namespace is not None}
    grouped = {pid for folder in state.get("cgroups", []) for pid in cpu_sets.processes(folder)}
    ended = 0
    for process in procfs.process_table().values():
        leader = recorded.get(process.pid) == process.start
        member = process.session in recorded and procfs.network_namespace(process.pid) in namespaces
        if (leader or member or process.pid in grouped) and process.pid != os.getpid() and process.state != "Z":
            _kill(process.pid)
            ended += 1
    for folder in state.get("cgroups", []):
        cpu_sets.remove(folder)
    return ended


def _kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
