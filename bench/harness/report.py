"""Markdown tables from the raw figures."""

from harness import paired
from harness.measure import FOREIGN_LIMIT
from harness.scenarios import SCENARIOS


def good(rows):
    return [row for row in rows if not row["failed"] and not row["disturbed"]]


def by_round(rows, scenario, proxy, column):
    """round -> value of the run that counts."""
    return {
        int(row["round"]): row[column]
        for row in good(rows)
        if row["scenario"] == scenario and row["proxy"] == proxy and row[column] is not None
    }


def names(rows, column):
    """The values of a column in the order of their first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def compared_column(scenario):
    """The column whose ratio compares two proxies: less is better in all of them."""
    return "user_per_connection" if SCENARIOS[scenario].work == "connections" else "cpu_per_unit"


def ratio(rows, scenario, subject, reference):
    """(median, interval or None, number of pairs) of subject/reference; None without a pair."""
    column = compared_column(scenario)
    values = paired.ratios(by_round(rows, scenario, subject, column), by_round(rows, scenario, reference, column))
    return (paired.median(values), paired.interval(values), len(values)) if values else None


def format_ratio(result):
    if result is None:
        return "-"
    middle, bounds, pairs = result
    return f"{middle:.2f} " + (f"[{bounds[0]:.2f}, {bounds[1]:.2f}]" if bounds else f"({pairs} pairs)")


def tables(rows):
    """Everything: a section for each scenario."""
    parts = []
    for scenario in names(rows, "scenario"):
        part = [row for row in rows if row["scenario"] == scenario]
        memory = SCENARIOS[scenario].work == "connections"
        parts.append(f"### {scenario}: {SCENARIOS[scenario].what}\n")
        parts.append(_memory_table(part) if memory else _load_table(part, scenario))
        parts.append(_ratio_table(part, scenario))
        parts += _remarks(part)
    return "\n".join(parts)


def _markdown(header, lines):
    rule = ["---"] + ["--:"] * (len(header) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [header, rule, *lines]) + "\n"


def _load_table(rows, scenario):
    bulk = SCENARIOS[scenario].work in ("received", "sunk")
    scale, unit, rate_scale, rate = (1, "s/GB", 8, "Gbit/s") if bulk else (1e6, "us/exchange", 1e-3, "k/s")
    header = ["proxy", rate, f"**CPU {unit}**", "min-max", f"own {unit}", "proxy CPU", "load CPU", "pace", "p50 ms", "p99 ms"]
    header += ["PSS MiB", "errors", "runs"]
    lines = []
    for proxy in names(rows, "proxy"):
        mine = [row for row in good(rows) if row["proxy"] == proxy]
        if not mine:
            lines.append([proxy] + ["-"] * (len(header) - 2) + ["0"])
            continue

        def mid(column, factor=1.0, digits=2):
            values = [row[column] for row in mine if row[column] is not None]
            return f"{paired.median(values) * factor:.{digits}f}" if values else "-"

        digits = 4 if bulk else 2
        costs = [row["cpu_per_unit"] * scale for row in mine]
        paces = names(mine, "pace")
        lines.append([
            proxy, mid("rate", rate_scale, 1), f"**{mid('cpu_per_unit', scale, digits)}**",
            f"{min(costs):.{digits}f}-{max(costs):.{digits}f}", mid("own_per_unit", scale, digits),
            mid("proxy_cpu_busy", 100, 0) + "%", mid("load_cpu_busy", 100, 0) + "%", "/".join(paces),
            mid("p50_us", 1e-3), mid("p99_us", 1e-3), mid("peak_pss", 2**-20, 1),
            f"{sum(row['errors'] for row in mine):.0f}", str(len(mine)),
        ])
    return _markdown(header, lines)


def _memory_table(rows):
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
    return _markdown(header, lines)


def _ratio_table(rows, scenario):
    present = names(rows, "proxy")
    references = [name for name in SCENARIOS[scenario].against if name in present]
    subjects = [name for name in present if name != "none"]
    if not references or len(subjects) < 2:
        return ""
    what = "user memory" if compared_column(scenario) == "user_per_connection" else "proxy CPU per unit of work"
    header = ["proxy"] + [f"/ {name}" for name in references]
    lines = [
        [subject] + ["1" if subject == name else format_ratio(ratio(rows, scenario, subject, name)) for name in references]
        for subject in subjects
    ]
    text = f"Ratio of {what} to the one above the column, median of pairs of the same round [95% bootstrap interval]:\n\n"
    return text + _markdown(header, lines)


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
            remarks.append(f"FAILED: {row['proxy']}, round {row['round']:.0f}: {row['failed']}\n")
    return remarks
