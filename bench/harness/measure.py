"""Measuring one scenario through one proxy, once."""

import json
import os
import resource
import select
import time

from harness import counters, procfs
from harness.cpus import ROLES, SHORT
from harness.rig import Rig, RunError
from harness.scenarios import CONNECTIONS, MIX, RECEIVED, SUNK

FOREIGN_LIMIT = 0.06  # of the window: more than that of other programs or of steal, and the run does not count
PACE = 0.9  # a role whose CPUs, or one thread of which, are at least so busy sets the pace
_SETTLE_PATIENCE = 4.0


def measure(setup, proxy, scenario, profile=None):
    """A dict with the figures of one run; see table.FIELDS. `profile` is called in the tail, with the load still on."""
    if scenario.work == CONNECTIONS:
        return _measure_memory(setup, proxy, scenario)
    scenario = scenario.with_at_most(proxy.most_connections)
    with Rig(setup, proxy, scenario.kind, scenario.load.origin, scenario.load.connections) as rig:
        return _measure_load(rig, scenario, profile)


def _measure_load(rig, scenario, profile):
    setup = rig.setup
    client_counters = counters.Counters(os.path.join(rig.folder, "client.counters"))
    if scenario.load.command == MIX:
        # It has no tail: what it measures is longer than what is measured here.
        times = [f"--warmup={setup.warmup}", f"--seconds={setup.seconds + setup.tail}", "--json"]
    else:
        times = [f"--warmup={setup.warmup}", f"--seconds={setup.seconds}", f"--tail={setup.tail}"]
    arguments = [*rig.route(), f"--counters={client_counters.path}", *scenario.arguments(rig.origin()), *times]
    load = rig.load(scenario.load.command, arguments)
    begun = client_counters.wait(counters.RUNNING, load, 70)
    if begun is None:
        load.terminate()
        raise RunError("the load did not start: " + load.stderr.read().decode(errors="replace").strip()[-300:])
    _sleep_until(begun.started + setup.warmup)
    peak = procfs.memory(rig.proxy_session).pss
    threads_before = _threads(rig)
    before, work_before = procfs.snapshot(), _work(rig, client_counters, scenario)
    _sleep_until(before.wall + setup.seconds)
    after, work_after = procfs.snapshot(), _work(rig, client_counters, scenario)
    threads_after = _threads(rig)
    peak = max(peak, procfs.memory(rig.proxy_session).pss)
    resident = procfs.peak_resident(rig.proxy_session)
    if profile:
        profile(setup.cpus["proxy"], procfs.members(rig.proxy_session))
    result = rig.finish(load)
    client_counters.close()
    rig.origin_counters.close()
    used = _usage(rig, before, after)
    work = work_after - work_before
    if work <= 0:
        raise RunError(f"nothing was done in {setup.seconds} s: {result}")
    unit = 1e9 if scenario.bulk else 1
    busy = {role: sum(used.busy[cpu] for cpu in setup.cpus[role]) for role in ROLES}
    shares = {role: busy[role] / used.wall / len(setup.cpus[role]) for role in ROLES}
    # Threads are read outside the snapshots: their time is of a slightly longer window.
    tops = {role: min(1.0, busiest(threads_before[role], threads_after[role]) / used.wall) for role in ROLES}
    return {
        **_quality(setup, rig, used),
        "rate": work / unit / used.wall,
        "cpu_per_unit": busy["proxy"] * unit / work,
        "own_per_unit": used.own * unit / work,
        **{f"{SHORT[role]}_busy": shares[role] for role in ROLES},
        **{f"{SHORT[role]}_thread": tops[role] for role in ROLES},
        "pace": pace(shares, tops),
        "p50_us": result.get("p50_us"),
        "p99_us": result.get("p99_us"),
        "p999_us": result.get("p999_us"),
        "errors": result.get("errors", result.get("failed")),
        "connections": scenario.load.connections,
        "peak_pss": peak,
        "peak_rss": resident,
        "softnet_drops": used.drops,
    }


def _work(rig, client_counters, scenario):
    if scenario.work == SUNK:
        return rig.origin_counters.read().received_bytes
    counts = client_counters.read()
    return counts.received_bytes if scenario.work == RECEIVED else counts.exchanges


def _usage(rig, before, after):
    return procfs.usage(before, after, rig.sessions["proxy"], rig.setup.children.sessions())


def _threads(rig):
    return {role: procfs.threads(rig.sessions[role]) for role in ROLES}


def busiest(before, after):
    """The seconds that the busiest thread used; one that was not there before counts from 0."""
    return max((seconds - before.get(thread, 0.0) for thread, seconds in after.items()), default=0.0)


def pace(shares, tops):
    """The roles that set the pace, as in "cli+srv"; "none" if nothing was busy enough."""
    return "+".join(SHORT[role] for role in ROLES if max(shares[role], tops[role]) >= PACE) or "none"


def _quality(setup, rig, used):
    foreign, stolen = used.foreign / used.wall, used.stolen / used.wall
    return {
        "window": used.wall,
        "foreign": foreign,
        "steal": stolen,
        "disturbed": int(foreign + stolen > FOREIGN_LIMIT),
        "steered": int(rig.steered),
    }


def _measure_memory(setup, proxy, scenario):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = min(scenario.load.connections, proxy.most_connections, (files - 200) // 2)
    with Rig(setup, proxy, scenario.kind, scenario.load.origin, count) as rig:
        before = procfs.snapshot()
        kernel_base = _settled_kernel_memory()
        base = procfs.memory(rig.proxy_session)
        arguments = [*rig.route(), *scenario.arguments(rig.origin(), count)]
        # Its standard input is what holds it.
        load = rig.load(scenario.load.command, arguments, stdin=-1, bufsize=0)
        opened = _line(load, "open")
        kernel = _settled_kernel_memory()
        held = procfs.memory(rig.proxy_session)
        used = _usage(rig, before, procfs.snapshot())
        load.stdin.write(b"probe\n")
        alive = _line(load, "alive")
        load.stdin.close()
        if opened < count or alive < count:
            raise RunError(f"{opened} of {count} connections were opened, {alive} alive at the end")
        return {
            **_quality(setup, rig, used),
            "disturbed": 0,  # by busy CPUs: memory is what it is. The report is careful with the kernel's only.
            "connections": count,
            "user_per_connection": (held.user - base.user) / count,
            "pss_per_connection": (held.pss - base.pss) / count,
            # Of the whole machine: the client's and the origin's sockets too. The report takes those off.
            "kernel_per_connection": (kernel - kernel_base) / count,
            "base_pss": base.pss,
            "peak_pss": held.pss,
            "errors": 0,
        }


def _settled_kernel_memory():
    """What the kernel holds once it changes by less than 64 KB in a fifth of a second; the last seen after 4 s."""
    deadline = time.monotonic() + _SETTLE_PATIENCE
    last = procfs.kernel_memory()
    while time.monotonic() < deadline:
        time.sleep(0.2)
        now = procfs.kernel_memory()
        if abs(now - last) < 64 << 10:
            return now
        last = now
    return last


def _line(load, key, patience=60):
    """The number that `hold` prints under `key`."""
    if not select.select([load.stdout], [], [], patience)[0]:
        raise RunError("the load does not answer")
    line = load.stdout.readline()
    if not line:
        raise RunError("the load failed: " + load.stderr.read().decode(errors="replace").strip()[-300:])
    return json.loads(line)[key]


def _sleep_until(moment):
    time.sleep(max(0.0, moment - time.monotonic()))
