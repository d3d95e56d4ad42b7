"""The goals, as ratios to runs of the same rounds or as limits of a figure."""

import dataclasses

from harness import figures, paired
from harness.scenarios import SCENARIOS

BEST = "the best peer"  # whichever proxy but sluice and the floors has the lowest median


@dataclasses.dataclass(frozen=True)
class Goal:
    """`reference` is a proxy, BEST, or "" where `limit` is one of the figure itself: `column`, or how many times the
    median the 99th percentile of latency is."""

    text: str
    scenario: str
    subject: str
    reference: str
    limit: float
    column: str = ""


def _both(text, scenarios, reference, limit, column=""):
    return [
        Goal(text, scenario, subject, reference, limit, column)
        for scenario in scenarios.split()
        for subject in ("sluice-uring", "sluice-epoll")
    ]


TAIL = "p99/p50"
GOALS = [
    *_both("bulk relay within 15% of a bare splice loop", "relay-stream1-down relay-stream16 relay-ka-1m", "floor-splice", 1.15),
    *_both(
        "bulk relay, CONNECT, SOCKS, 1 MB answers: less CPU per GB than the best peer",
        "relay-stream1-down relay-stream16 relay-ka-1m http-ka-1m connect-stream1-down connect-stream16 socks-stream1-down "
        "socks-stream16", BEST, 1.0,
    ),
    *_both("1 KB kept-alive relay within 10% of a bare epoll relay", "relay-ka-1k", "floor-relay", 1.10),
    *_both("1 KB kept-alive HTTP: 1.25 times haproxy's", "http-ka-1k", "haproxy", 1 / 1.25),
    *_both("a connection per request: 1.2 times haproxy's", "relay-close-1k http-close-1k", "haproxy", 1 / 1.2),
    *_both("2000 clients, 50 KB: 1.2 times the best peer's", "relay-ka-50k-2000 http-ka-50k-2000", BEST, 1 / 1.2),
    *_both("2000 clients, 50 KB: p99 at most 3 times p50", "relay-ka-50k-2000 http-ka-50k-2000", "", 3, TAIL),
    *_both("an idle relayed connection: 640 bytes of user memory", "relay-idle", "", 640, "user_per_connection"),
    *_both(
        "an idle HTTP, CONNECT, SOCKS connection: 1 KB of user memory", "http-idle connect-idle socks-idle", "", 1024,
        "user_per_connection",
    ),
    *[
        Goal("epoll and io_uring within 10% of each other", scenario, *order, 1.10)
        for scenario in ("relay-stream1-down", "relay-ka-1k", "relay-ka-50k-2000", "relay-close-1k")
        for order in (("sluice-epoll", "sluice-uring"), ("sluice-uring", "sluice-epoll"))
    ],
]

_PAIRS_NEAR_THE_LIMIT = 10
_NEAR = 0.2


def verdict(measured, limit, exact=False):
    """Of (median, interval or None, pairs): an interval on one side of the limit decides; across it nothing does.

    Within 20% of the limit ten pairs are needed, unless the figure is an exact one: bytes, not seconds.
    """
    if measured is None:
        return "not measured"
    middle, bounds, pairs = measured
    near = not exact and abs(middle / limit - 1) < _NEAR
    if bounds is None or (near and pairs < _PAIRS_NEAR_THE_LIMIT):
        return f"open: {pairs} pairs are too few"
    if bounds[1] <= limit:
        return "met"
    return "**not met**" if bounds[0] > limit else "open: the interval holds the limit"


def best_peer(rows, known, scenario):
    """The name of the cheapest that is neither sluice nor a floor nor no proxy at all; None without one."""
    column = figures.compared_column(scenario)
    medians = {}
    for proxy in figures.names(rows, "proxy"):
        some = figures.values(rows, scenario, proxy, column)
        if some and not known[proxy]["floor"] and not known[proxy].get("sluice"):
            medians[proxy] = paired.median(some)
    return min(medians, key=medians.get, default=None)


def measured(rows, known, goal):
    """((median, interval or None, pairs) or None, what it is compared with)."""
    if goal.reference:
        reference = best_peer(rows, known, goal.scenario) if goal.reference == BEST else goal.reference
        return figures.ratio(rows, goal.scenario, goal.subject, reference), reference or BEST
    if goal.column == TAIL:
        tops = figures.by_round(rows, goal.scenario, goal.subject, "p99_us")
        each = paired.ratios(tops, figures.by_round(rows, goal.scenario, goal.subject, "p50_us"))
    else:
        each = figures.values(rows, goal.scenario, goal.subject, goal.column)
    return ((paired.median(each), paired.interval(each), len(each)) if each else None), "-"


def table(rows, known):
    lines = ["| goal | load | proxy | against | at most | measured | verdict |", "|---|---|---|---|--:|--:|---|"]
    for goal in GOALS:
        result, reference = measured(rows, known, goal)
        exact = SCENARIOS[goal.scenario].work == "connections"
        shown = f"{result[0]:.0f}" if result and exact else figures.format_ratio(result)
        lines.append(
            f"| {goal.text} | {goal.scenario} | {goal.subject} | {reference} | {goal.limit:.4g} | {shown} "
            f"| {verdict(result, goal.limit, exact=exact)} |"
        )
    return "\n".join(lines) + "\n"
