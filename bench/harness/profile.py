"""A CPU profile of the proxy's CPU, taken in the tail of a run: never in the part that is measured."""

import os
import subprocess

from harness.scenarios import CONNECTIONS

SECONDS = 2


def profiler(folder, prefix):
    """For rounds.run_all: writes PREFIX-SCENARIO-PROXY.perf.txt into `folder`. Only the proxy's processes are shown,
    with the interrupts that came while they ran; without a proxy, everything that the CPU did."""

    def for_run(proxy, scenario):
        if scenario.work == CONNECTIONS:
            return None
        name = os.path.join(folder, f"{prefix}-{scenario.name}-{proxy.name}.perf.txt")
        return lambda cpus, pids: _record(cpus, pids, name)

    return for_run


def _record(cpus, pids, name):
    only = ["--pid", ",".join(map(str, pids))] if pids else []
    data = name + ".data"
    record = ["perf", "record", "-q", "-F", "4999", "-C", ",".join(map(str, cpus)), "-g", "-o", data, "--", "sleep", str(SECONDS)]
    try:
        recorded = subprocess.run(record, capture_output=True, text=True)
        if recorded.returncode:
            text = "perf record failed: " + recorded.stderr
        else:
            relative = ["--percentage", "relative"]
            text = "Of the samples shown:\n" + _report(data, ["--no-children", "-F", "overhead,comm,sym", *only, *relative])
            # perf counts relative percentages with callees wrongly.
            text += "\nWith callees, of all samples of the CPU:\n" + _report(data, ["--children", "-F", "overhead_children,overhead,sym", *only])
    except FileNotFoundError:
        text = "perf is not installed: apt-get install linux-perf\n"
    with open(name, "w") as file:
        file.write(text)
    if os.path.exists(data):
        os.unlink(data)


def _report(data, options):
    argv = ["perf", "report", "--stdio", "-q", "-g", "none", "--percent-limit", "0.4", "-i", data, *options]
    lines = subprocess.run(argv, capture_output=True, text=True).stdout.splitlines()
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"
