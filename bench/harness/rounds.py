"""The order of the runs: rounds in which every proxy is measured once, so that ratios are of runs made together."""

import sys
import time

from harness import procfs
from harness.measure import FOREIGN_LIMIT, measure
from harness.network import NetworkError
from harness.rig import RunError, check_proxy
from harness.scenarios import SCENARIOS

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


def checked(setup, proxies):
    """The proxies that pass bodies unchanged, and the failures of the others, by name."""
    good, failures = [], {}
    for proxy in proxies:
        try:
            check_proxy(setup, proxy)
            good.append(proxy)
            say(f"check {proxy.name}: bodies pass both ways, half-close too")
        except (RunError, NetworkError) as error:
            failures[proxy.name] = str(error)
            say(f"check {proxy.name}: FAILED, left out: {error}")
    return good, failures


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


def run_all(setup, proxies, scenarios, pairs, keep, profiler=None):
    """Calls keep(row) after every run, also the disturbed and the failed ones. `profiler(proxy, scenario)` gives what is
    called in the tail of a first-round run, or None."""
    for scenario in scenarios:
        for number in range(pairs):
            for proxy in order(proxies, number):
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
        wait_for_quiet(setup, setup.patience)
        try:
            row.update(measure(setup, proxy, scenario, profile))
        except (RunError, NetworkError) as error:
            row["failed"] = str(error)
        keep(row)
        say(describe(row))
        if row.get("failed") or not row["disturbed"]:
            return


def describe(row):
    head = f"{row['scenario']} round {row['round']} {row['proxy']}:"
    if row.get("failed"):
        return f"{head} FAILED: {row['failed']}"
    tail = f"foreign {row['foreign']:.0%} steal {row['steal']:.0%}" + (" DISTURBED" if row["disturbed"] else "")
    if "user_per_connection" in row:
        return f"{head} {row['user_per_connection']:.0f} B/connection of user memory, {tail}"
    if SCENARIOS[row["scenario"]].work in ("received", "sunk"):
        return f"{head} {row['rate'] * 8:.1f} Gbit/s, {row['cpu_per_unit']:.4f} s/GB, {tail}"
    return f"{head} {row['rate']:.0f}/s, {row['cpu_per_unit'] * 1e6:.2f} us, {tail}"
