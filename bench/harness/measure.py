"""Measuring one scenario through one proxy, once."""

import json
import os
import resource
import select
import time

from harness import counters, procfs
from harness.rig import Rig, RunError

FOREIGN_LIMIT = 0.06  # of the window: more than that of other programs or of steal, and the run does not count
PACE = 0.9  # a CPU at least so busy sets the pace
_SETTLE_PATIENCE = 4.0


def measure(setup, proxy, scenario, profile=None):
    """A dict with the figures of one run; see FIELDS. `profile` is called in the tail, with the load still on."""
    if scenario.work == "connections":
        return _measure_memory(setup, proxy, scenario)
    with Rig(setup, proxy, scenario.origin, scenario.connections) as rig:
        return _measure_load(rig, scenario, profile)


def _measure_load(rig, scenario, profile):
    setup = rig.setup
    client_counters = counters.Counters(os.path.join(rig.folder, "client.counters"))
    times = [f"--warmup={setup.warmup}", f"--seconds={setup.seconds}", f"--tail={setup.tail}"]
    load = rig.load(
        scenario.command, [rig.connect(), f"--counters={client_counters.path}", *scenario.arguments, *times]
    )
    begun = client_counters.wait(counters.RUNNING, load, 25)
    if begun is None:
        load.terminate()
        raise RunError("the load did not start: " + load.stderr.read().decode(errors="replace").strip()[-300:])
    _sleep_until(begun.started + setup.warmup)
    peak = procfs.memory(rig.proxy_session).pss
    before, work_before = procfs.snapshot(), _work(rig, client_counters, scenario)
    _sleep_until(before.wall + setup.seconds)
    after, work_after = procfs.snapshot(), _work(rig, client_counters, scenario)
    peak = max(peak, procfs.memory(rig.proxy_session).pss)
    resident = procfs.peak_resident(rig.proxy_session)
    if profile:
        profile(setup.proxy_cpu, procfs.members(rig.proxy_session))
    result = rig.finish(load)
    client_counters.close()
    rig.origin_counters.close()
    used = _usage(rig, before, after)
    work = work_after - work_before
    if work <= 0:
        raise RunError(f"nothing was done in {setup.seconds} s: {result}")
    unit = 1e9 if scenario.work in ("received", "sunk") else 1
    busy_proxy, busy_load = used.busy[setup.proxy_cpu], used.busy[setup.load_cpu]
    return {
        **_quality(setup, rig, used),
        "rate": work / unit / used.wall,
        "cpu_per_unit": busy_proxy * unit / work,
        "own_per_unit": used.own * unit / work,
        "proxy_cpu_busy": busy_proxy / used.wall,
        "load_cpu_busy": busy_load / used.wall,
        "pace": _pace(busy_proxy / used.wall, busy_load / used.wall),
        "p50_us": result.get("p50_us"),
        "p99_us": result.get("p99_us"),
        "errors": result["errors"],
        "peak_pss": peak,
        "peak_rss": resident,
        "softnet_drops": used.drops,
    }


def _work(rig, client_counters, scenario):
    if scenario.work == "sunk":
        return rig.origin_counters.read().received_bytes
    counts = client_counters.read()
    return counts.received_bytes if scenario.work == "received" else counts.exchanges


def _usage(rig, before, after):
    own = {rig.proxy_session} if rig.proxy_session else set()
    return procfs.usage(before, after, own, rig.setup.children.sessions())


def _quality(setup, rig, used):
    foreign, stolen = used.foreign / used.wall, used.stolen / used.wall
    return {
        "window": used.wall,
        "foreign": foreign,
        "steal": stolen,
        "disturbed": int(foreign + stolen > FOREIGN_LIMIT),
        "steered": int(rig.steered),
    }


def _pace(proxy, load):
    names = {(True, True): "both", (True, False): "proxy", (False, True): "load", (False, False): "neither"}
    return names[(proxy >= PACE, load >= PACE)]


def _measure_memory(setup, proxy, scenario):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    count = min(scenario.connections, proxy.most_connections, (files - 200) // 2)
    with Rig(setup, proxy, scenario.origin, count) as rig:
        before = procfs.snapshot()
        kernel_base = _settled_kernel_memory()
        base = procfs.memory(rig.proxy_session)
        # Its standard input is what holds it.
        load = rig.load(
            scenario.command, [rig.connect(), f"--connections={count}", *scenario.arguments], stdin=-1, bufsize=0
        )
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
