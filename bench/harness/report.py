"""Markdown tables from raw figures."""

import dataclasses
from typing import Callable

from harness import paired, table
from harness.figures import (
    Columns, format_ratio, good, limited_by_load, names, ratio, resolved, shown, values,
)
from harness.measure import FOREIGN_LIMIT
from harness.scenarios import CONNECTIONS, KINDS, SCENARIOS

LEGEND = """Copying proxies first; after ‖ those that splice. **Bold** is the best median of its group and any other whose runs overlap it,
`*` the best of the row over both groups by the same rule; floors get no marks. ‡: client or origin set the pace, not the proxy,
which can do at least that much. †: some requests failed. ~: only disturbed runs, to see that it works and for nothing else.
"""


def tables(files):
    """Everything, of a list of (about, rows)."""
    rows, known = table.together(files)
    parts = []
    for kind in KINDS:
        part = [row for row in rows if SCENARIOS[row["scenario"]].kind == kind]
        if part:
            parts.append(f"### {KINDS[kind]}\n")
            parts += _kind(part, known, all(about.get("pairs") for about, _ in files))
    return "\n".join([LEGEND] + parts) if parts else "nothing was measured\n"


def _kind(rows, known, pairs):
    loads = [row for row in rows if SCENARIOS[row["scenario"]].work != CONNECTIONS]
    held = [row for row in rows if SCENARIOS[row["scenario"]].work == CONNECTIONS]
    parts = []
    if pairs:
        parts.append(_pairs(rows))
    if loads:
        parts += [_table(loads, known, what) for what in (_CPU, _RATE, _LATENCY, _PSS)]
        parts.append(_own(loads, known))
    parts += [_idle(held, scenario) for scenario in names(held, "scenario")]
    return [part for part in parts if part] + _remarks(rows)


@dataclasses.dataclass(frozen=True)
class Figure:
    """One sort of table: how a cell is made."""

    title: str
    column: str
    lower: bool  # less is better
    unit: Callable  # scenario -> text
    show: Callable  # (scenario, value) -> text
    pace: bool = False  # whether ‡ is of interest


def _significant(value):
    return f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 100 else f"{value:.0f}"


_CPU = Figure(
    "CPU time of the proxy's CPUs per unit of work, kernel work included", "cpu_per_unit", True,
    lambda s: "s/GB" if s.bulk else "us/request", lambda s, v: _significant(v if s.bulk else v * 1e6),
)
_RATE = Figure(
    "Throughput", "rate", False,
    lambda s: "Gbit/s" if s.bulk else "k req/s", lambda s, v: f"{v * 8:.{3 if v < 0.125 else 1}f}" if s.bulk else f"{v / 1000:.1f}", pace=True,
)
_LATENCY = Figure("Latency, the 50th / 99th percentile", "p99_us", True, lambda s: "ms", lambda s, v: _significant(v / 1000))
_PSS = Figure("Peak memory of the proxy's processes (PSS)", "peak_pss", True, lambda s: "MiB", lambda s, v: f"{v / 2**20:.1f}")


def _markdown(header, lines):
    rule = ["---"] + ["--:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *lines]) + "\n"


def _table(rows, known, figure):
    proxies = names(rows, "proxy")
    columns = Columns.of(proxies, known)
    order = [*columns.copying, "‖", *columns.splicing] if columns.splicing and columns.copying else [*columns.copying, *columns.splicing]
    lines = []
    for scenario in names(rows, "scenario"):
        cells = {p: values(rows, scenario, p, figure.column) for p in order if p != "‖"}
        if all(row[figure.column] is None for row in rows if row["scenario"] == scenario):
            continue
        bold, star = columns.marks(cells, figure.lower)
        what = SCENARIOS[scenario]
        line = [f"{what.load.name}, {figure.unit(what)}"]
        for proxy in order:
            line.append("‖" if proxy == "‖" else _cell(rows, what, proxy, figure, cells[proxy], bold, star))
        lines.append(line)
    return f"{figure.title}:\n\n" + _markdown(["load", *order], lines) if lines else ""


def _cell(rows, scenario, proxy, figure, some, bold, star):
    mine, disturbed = shown([row for row in rows if row["scenario"] == scenario.name and row["proxy"] == proxy])
    mine = [row for row in mine if row[figure.column] is not None]
    if not mine:
        return "-"
    text = figure.show(scenario, paired.median([row[figure.column] for row in mine]))
    if figure is _LATENCY:
        text = figure.show(scenario, paired.median([row["p50_us"] for row in mine])) + " / " + text
    if disturbed:
        return "~" + text
    if proxy in bold:
        text = f"**{text}**"
    marks = "‡" if figure.pace and limited_by_load(rows, scenario.name, proxy) else ""
    marks += "†" if sum(row["errors"] for row in mine) else ""
    return " ".join([text] + ([marks] if marks else []) + (["*"] if proxy in star else []))


def _own(rows, known):
    """Of the CPU time, the part that the proxy's own processes used, and how busy everything was."""
    lines = []
    for scenario in names(rows, "scenario"):
        what = SCENARIOS[scenario]
        for proxy in names([row for row in rows if row["scenario"] == scenario], "proxy"):
            mine = [row for row in good(rows) if row["scenario"] == scenario and row["proxy"] == proxy]
            if not mine:
                lines.append([what.load.name, proxy] + ["-"] * 7 + ["0"])
                continue

            def mid(column, factor=1.0):
                return paired.median([row[column] for row in mine]) * factor

            scale = 1 if what.bulk else 1e6
            costs = [row["cpu_per_unit"] * scale for row in mine]
            lines.append([
                what.load.name, proxy, _significant(mid("cpu_per_unit", scale)),
                f"{_significant(min(costs))}-{_significant(max(costs))}", _significant(mid("own_per_unit", scale)),
                f"{mid('prx_busy', 100):.0f}%", f"{mid('cli_busy', 100):.0f}% {mid('srv_busy', 100):.0f}%",
                "/".join(names(mine, "pace")), f"{sum(row['errors'] for row in mine):.0f}", str(len(mine)),
            ])
    header = ["load", "proxy", "CPU", "min-max", "own", "proxy busy", "client, origin busy", "pace", "failed requests", "runs"]
    return "<details><summary>All of it</summary>\n\n" + _markdown(header, lines) + "\n</details>\n"


def _idle(rows, scenario):
    rows = [row for row in rows if row["scenario"] == scenario]
    header = ["proxy", "connections", "**user B**", "PSS B", "kernel B", "PSS MiB before", "runs"]

    def kernel_of(proxy):
        # Other programs move the machine's slabs too.
        return [r["kernel_per_connection"] for r in good(rows) if r["proxy"] == proxy and r["foreign"] <= FOREIGN_LIMIT]

    direct = kernel_of("none")
    lines = []
    for proxy in names(rows, "proxy"):
        mine = [row for row in good(rows) if row["proxy"] == proxy]
        if not mine:
            lines.append([proxy] + ["-"] * 5 + ["0"])
            continue

        def mid(column):
            return paired.median([row[column] for row in mine])

        own = kernel_of(proxy)
        kernel = f"{paired.median(own) - paired.median(direct):.0f}" if direct and own and proxy != "none" else "-"
        lines.append([
            proxy, f"{mid('connections'):.0f}", f"**{mid('user_per_connection'):.0f}**",
            f"{mid('pss_per_connection'):.0f}", kernel, f"{mid('base_pss') / 2**20:.1f}", str(len(mine)),
        ])
    what = SCENARIOS[scenario].load
    return f"{what.name}: {what.what}; bytes per connection:\n\n" + _markdown(header, lines)


def _pairs(rows):
    """The two proxies of --pairs against each other."""
    lines = []
    for scenario in names(rows, "scenario"):
        first, *others = names([row for row in rows if row["scenario"] == scenario], "proxy")
        for other in others:
            result = ratio(rows, scenario, first, other)
            verdict = "-" if result is None else format_ratio(result)
            if result is not None and not resolved(result):
                verdict += ": not resolved"
            lines.append([SCENARIOS[scenario].load.name, f"{first} / {other}", verdict, str(result[2] if result else 0)])
    if not lines:
        return ""
    text = "Paired ratio of CPU per unit of work (memory per connection where idle), its 95% bootstrap interval; one wider than ±5%\nsays nothing:\n\n"
    return text + _markdown(["load", "ratio of", "ratio", "pairs"], lines)


def _remarks(rows):
    """What a reader has to know about the runs that do not count."""
    remarks = []
    disturbed = sum(1 for row in rows if row["disturbed"])
    if disturbed:
        remarks.append(f"{disturbed} of {len(rows)} runs were disturbed by other programs and do not count.\n")
    if any(row["steered"] == 0 for row in rows):
        remarks.append("Receive work was not steered: it ran on the CPU that sent.\n")
    drops = sum(row["softnet_drops"] or 0 for row in good(rows))
    if drops:
        remarks.append(f"The kernel dropped {drops:.0f} packets at a full backlog in the runs shown.\n")
    for row in rows:
        if row["failed"]:
            remarks.append(f"FAILED: {row['scenario']}, {row['proxy']}, round {row['round']:.0f}: {row['failed']}\n")
    return remarks
