"""RESULTS.md: written by the program from raw figures, never by hand."""

import os

from harness import goals, report

_HEAD = """# Results of the relay core

Written by `bench/core --from CSV... --results bench/RESULTS.md`; do not edit. README.md says how the figures are made
and what they are worth. Ratios of runs made together count; single figures drift by 30% and more over minutes.
"""


def write(path, abouts, rows, sources):
    parts = [_HEAD, "## Goals\n", goals.table(rows), "## Where and how\n"]
    for about, source in zip(abouts, sources):
        parts.append(_about(about, source))
    parts += ["## Figures\n", report.tables(rows)]
    with open(path, "w") as file:
        file.write("\n".join(parts).rstrip("\n") + "\n")


def _about(about, source):
    versions = "; ".join(about["versions"].values())
    lines = [
        f"* {about['started']}, commit {about['commit']}, load tool {about['build']}; raw figures: {os.path.basename(source)}",
        f"* kernel {about['kernel']}, {about['cpu']}; proxy on CPU {about['proxy_cpu']}, client and origin on CPU "
        f"{about['load_cpu']}; receive steering: {about['steer']}; {about['congestion_control']}; {about['seconds']} s a run",
        f"* {versions}" if versions else "* no versions known",
    ]
    for name, failure in about.get("check_failures", {}).items():
        lines.append(f"* LEFT OUT, because it does not pass bodies unchanged: {name}: {failure}")
    return "\n".join(lines) + "\n"
