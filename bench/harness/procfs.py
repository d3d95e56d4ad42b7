"""What the kernel says about CPU time, processes and memory."""

import dataclasses
import os
import time

TICK = 1 / os.sysconf("SC_CLK_TCK")
_KTHREAD = 0x200000  # PF_KTHREAD


def _read(path):
    with open(path) as file:
        return file.read()


def boot_id():
    return _read("/proc/sys/kernel/random/boot_id").strip()


@dataclasses.dataclass(frozen=True)
class Process:
    pid: int
    state: str
    session: int
    kernel: bool
    start: int  # ticks since boot: with the pid it names a process for ever
    own_seconds: float
    seconds: float  # with its ended and waited-for children


def parse_process(text):
    """A Process from the text of /proc/PID/stat. The name may hold spaces and brackets."""
    pid = int(text[: text.index("(")])
    fields = text[text.rindex(")") + 2 :].split()
    own = int(fields[11]) + int(fields[12])
    children = int(fields[13]) + int(fields[14])
    return Process(
        pid=pid,
        state=fields[0],
        session=int(fields[3]),
        kernel=bool(int(fields[6]) & _KTHREAD),
        start=int(fields[19]),
        own_seconds=own * TICK,
        seconds=(own + children) * TICK,
    )


def process_table():
    """All processes that can be seen, by pid."""
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                process = parse_process(_read(f"/proc/{name}/stat"))
            except (FileNotFoundError, ProcessLookupError):
                continue
            table[process.pid] = process
    return table


def start_time(pid):
    """When a process started, in ticks since boot; None if there is none."""
    try:
        return parse_process(_read(f"/proc/{pid}/stat")).start
    except (FileNotFoundError, ProcessLookupError):
        return None


def network_namespace(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/net")
    except OSError:
        return None


def parse_cpus(text):
    """CPU number -> (seconds neither busy nor stolen, seconds stolen), from the text of /proc/stat."""
    cpus = {}
    for line in text.splitlines():
        if line.startswith("cpu") and line[3].isdigit():
            name, *ticks = line.split()
            idle, iowait, steal = int(ticks[3]), int(ticks[4]), int(ticks[7])
            cpus[int(name[3:])] = ((idle + iowait) * TICK, steal * TICK)
    return cpus


def softnet_drops():
    """Packets dropped because a CPU's backlog was full."""
    return sum(int(line.split()[1], 16) for line in _read("/proc/net/softnet_stat").splitlines())


@dataclasses.dataclass(frozen=True)
class Snapshot:
    wall: float
    cpus: dict
    processes: dict
    drops: int


def snapshot():
    wall = time.monotonic()
    cpus = parse_cpus(_read("/proc/stat"))
    return Snapshot(wall, cpus, process_table(), softnet_drops())


@dataclasses.dataclass(frozen=True)
class Usage:
    """What happened between two snapshots."""

    wall: float
    busy: dict  # CPU -> seconds, interrupts and softirqs included, stolen time not
    stolen: float
    own: float  # seconds of the processes of `sessions`
    foreign: float  # seconds of other programs
    drops: int


def usage(before, after, own_sessions, our_sessions):
    """`own_sessions`: the proxy; `our_sessions`: everything of this measurement.

    Foreign time is a difference of sums over all live processes, each with its ended children: what ends in between is
    in its parent's figure, so compilers that live for a tenth of a second are seen.
    """
    wall = after.wall - before.wall
    busy, stolen = {}, 0.0
    for cpu, (idle, steal) in after.cpus.items():
        idle_before, steal_before = before.cpus.get(cpu, (0, 0))
        busy[cpu] = max(0.0, wall - (idle - idle_before) - (steal - steal_before))
        stolen += steal - steal_before

    def total(processes, wanted):
        return sum(p.seconds for p in processes.values() if wanted(p))

    def own(process):
        return process.session in own_sessions

    def foreign(process):
        return not process.kernel and process.session not in our_sessions and process.pid != os.getpid()

    return Usage(
        wall=wall,
        busy=busy,
        stolen=stolen,
        own=total(after.processes, own) - total(before.processes, own),
        foreign=max(0.0, total(after.processes, foreign) - total(before.processes, foreign)),
        drops=after.drops - before.drops,
    )


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of some processes: all of it (PSS), and what no file backs (anonymous and shared)."""

    pss: int = 0
    user: int = 0


def members(session):
    """The pids of the processes of a session; none for None."""
    return [p.pid for p in process_table().values() if p.session == session and p.state != "Z"]


def memory(session):
    """The memory of every process of a session; none for None."""
    pss = user = 0
    for pid in members(session):
        try:
            fields = parse_kilobytes(_read(f"/proc/{pid}/smaps_rollup"))
        except (FileNotFoundError, ProcessLookupError):
            continue
        pss += fields.get("Pss", 0)
        user += fields.get("Pss_Anon", 0) + fields.get("Pss_Shmem", 0)
    return Memory(pss, user)


def threads(sessions):
    """(thread id, start) -> seconds, for every thread of the processes of these sessions."""
    found = {}
    for process in process_table().values():
        if process.session not in sessions:
            continue
        try:
            names = os.listdir(f"/proc/{process.pid}/task")
        except (FileNotFoundError, ProcessLookupError):
            continue
        for name in names:
            try:
                thread = parse_process(_read(f"/proc/{process.pid}/task/{name}/stat"))
            except (FileNotFoundError, ProcessLookupError):
                continue
            found[thread.pid, thread.start] = thread.own_seconds
    return found


def peak_resident(session):
    """The sum of the largest resident sizes the processes of a session have had."""
    peak = 0
    for pid in members(session):
        try:
            peak += parse_kilobytes(_read(f"/proc/{pid}/status")).get("VmHWM", 0)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return peak


def kernel_memory():
    """Bytes of the machine's slabs, kernel stacks and page tables."""
    fields = parse_kilobytes(_read("/proc/meminfo"))
    return fields["Slab"] + fields["KernelStack"] + fields["PageTables"]


def parse_kilobytes(text):
    """Name -> bytes for every line "Name:  N kB"."""
    result = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[2] == "kB":
            result[words[0].rstrip(":")] = int(words[1]) * 1024
    return result


def listens(pid, port):
    """Whether a socket listens on the port in the network namespace of `pid` (IPv4)."""
    for line in _read(f"/proc/{pid}/net/tcp").splitlines()[1:]:
        words = line.split()
        if words[3] == "0A" and int(words[1].split(":")[1], 16) == port:
            return True
    return False
