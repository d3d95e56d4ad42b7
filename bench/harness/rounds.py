"""The order of the runs: rounds in which every proxy is measured once, so that ratios are of runs made together."""

import sys
import time

from harness import procfs
from harness.checks import check_proxy
from harness.measure import FOREIGN_LIMIT, measure
from harness.network import NetworkError
from harness.rig import RunError
from harness.scenarios import CONNECTIONS

_QUIET_SECONDS = 1.0


def order(proxies, number):
    """The proxies of round `number`: every other round backwards, and rotated by one after two."""
    if not proxies:
        return []
    start = number // 2 % len(proxies)
    rotated = proxies[start:] + proxies[:start]
    return rotated if number % 2 == 0 else rotated[::-1]


def say(text):
    print(text, file=sys.stderr, flush=True)


def checked(setup, proxies, kinds):
    """{(proxy name, kind)} that pass bodies unchanged; and by "NAME KIND" the failures of the others, what the good ones
    lack, and which are not there at all."""
    good, failures, lacking, absent = set(), {}, {}, {}
    for kind in kinds:
        for proxy in proxies:
            if kind not in proxy.kinds:
                continue
            name = f"{proxy.name} {kind}"
            reason = proxy.lacks and proxy.lacks(proxy.find(setup.binaries), kind, setup.certificate)
            if reason:
                absent[name] = reason
                say(f"LEFT OUT: {name}: {reason}")
                continue
            try:
                missing = _check_twice(setup, proxy, kind)
                good.add((proxy.name, kind))
                say(f"check {name}: bodies pass" + (f"; not: {', '.join(missing)}" if missing else ""))
                if missing:
                    lacking[name] = missing
            except (RunError, NetworkError) as error:
                failures[name] = str(error)
                say(f"check {name}: FAILED, left out: {error}")
    return good, failures, lacking, absent


def _check_twice(setup, proxy, kind):
    """A proxy that passes at the second try is measured, but it is told."""
    try:
        return check_proxy(setup, proxy, kind)
    except (RunError, NetworkError) as error:
        return check_proxy(setup, proxy, kind) + [f"that each time (once: {error})"]


def wait_for_quiet(setup, patience):
    """Waits until other programs leave the machine alone, at most `patience` seconds; whether they do."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        before = procfs.snapshot()
        time.sleep(_QUIET_SECONDS)
        used = procfs.usage(before, procfs.snapshot(), set(), setup.children.sessions())
        if (used.foreign + used.stolen) / used.wall <= FOREIGN_LIMIT:
            return True
    return False


def run_all(setup, proxies, scenarios, count, keep, profiler=None):
    """Runs `count` rounds of each scenario. `proxies` maps a kind to those that serve it. Calls keep(row) after every run,
    also the disturbed and the failed ones. `profiler(proxy, scenario)` gives what is called in the tail of a first-round
    run, or None."""
    wait_for_quiet(setup, setup.patience)
    for scenario in scenarios:
        for number in range(count):
            for proxy in order([p for p in proxies[scenario.kind] if scenario.name not in p.unfit], number):
                profile = profiler(proxy, scenario) if profiler and number == 0 else None
                _run_one(setup, proxy, scenario, number, keep, profile)


def _run_one(setup, proxy, scenario, number, keep, profile):
    """One undisturbed run, if one of the tries is."""
    for attempt in range(1 + setup.repeats):
        row = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S"),
            "scenario": scenario.name,
            "proxy": proxy.name,
            "round": number,
            "attempt": attempt,
        }
        try:
            row.update(measure(setup, proxy, scenario, profile))
        except (RunError, NetworkError) as error:
            row["failed"] = str(error)
        keep(row)
        say(describe(row, scenario))
        if row.get("failed") or not row["disturbed"]:
            return
        wait_for_quiet(setup, setup.patience)


def describe(row, scenario):
    head = f"{row['scenario']} round {row['round']} {row['proxy']}:"
    if row.get("failed"):
        return f"{head} FAILED: {row['failed']}"
    tail = f"foreign {row['foreign']:.0%} steal {row['steal']:.0%}" + (" DISTURBED" if row["disturbed"] else "")
    tail = (f"{row['errors']:.0f} failed, " if row["errors"] else "") + tail
    if scenario.work == CONNECTIONS:
        return f"{head} {row['user_per_connection']:.0f} B/connection of user memory, {tail}"
    tail = f"pace {row['pace']}, {tail}"
    if scenario.bulk:
        return f"{head} {row['rate'] * 8:.1f} Gbit/s, {row['cpu_per_unit']:.4f} s/GB, {tail}"
    return f"{head} {row['rate']:.0f}/s, {row['cpu_per_unit'] * 1e6:.2f} us, {tail}"
