"""The goals, as ratios to runs of the same rounds or as limits of a figure."""

import dataclasses

from harness import figures, paired
from harness.scenarios import CONNECTIONS, SCENARIOS

BEST = "the best peer"  # whichever proxy but sluice and the floors has the lowest median


SUBJECTS = ("sluice-uring", "sluice-epoll")
OTHER = "the other event loop"
TAIL = "p99/p50"


@dataclasses.dataclass(frozen=True)
class Goal:
    """`reference` is a proxy, BEST, OTHER, or "" where `limit` is one of the figure itself: `column`, or TAIL for how many
    times the median the 99th percentile of latency is."""

    text: str
    scenario: str
    reference: str
    limit: float
    column: str = ""


def _each(text, scenarios, reference, limit, column=""):
    return [Goal(text, scenario, reference, limit, column) for scenario in scenarios.split()]


GOALS = [
    *_each("bulk relay within 15% of a bare splice loop", "relay-stream1-down relay-stream16 relay-ka-1m", "floor-splice", 1.15),
    *_each(
        "bulk: less CPU per GB than the best peer",
        "relay-stream1-down relay-stream16 relay-ka-1m http-ka-1m connect-stream1-down connect-stream16 socks-stream1-down "
        "socks-stream16", BEST, 1.0,
    ),
    *_each("1 KB kept-alive relay within 10% of a bare epoll relay", "relay-ka-1k", "floor-relay", 1.10),
    *_each("1 KB kept-alive HTTP: 1.25 times haproxy's", "http-ka-1k", "haproxy", 1 / 1.25),
    *_each("a connection per request: 1.2 times haproxy's", "relay-close-1k http-close-1k", "haproxy", 1 / 1.2),
    *_each("2000 clients, 50 KB: 1.2 times the best peer's", "relay-ka-50k-2000 http-ka-50k-2000", BEST, 1 / 1.2),
    *_each("2000 clients, 50 KB: p99 at most 3 times p50", "relay-ka-50k-2000 http-ka-50k-2000", "", 3, TAIL),
    *_each("TLS, bulk: at least level with the best", "tls-term-stream1-down tls-term-ka-1m tls-init-stream1-down tls-init-ka-1m", BEST, 1.0),
    *_each("TLS, 1 KB: 1.15 times the best", "tls-term-ka-1k tls-init-ka-1k", BEST, 1 / 1.15),
    *_each("TLS, new connections: at least level with the best", "tls-term-close-1k tls-init-close-1k", BEST, 1.0),
    *_each("an idle relayed connection: 640 bytes of user memory", "relay-idle", "", 640, "user_per_connection"),
    *_each("an idle connection: 1 KB of user memory", "http-idle connect-idle socks-idle", "", 1024, "user_per_connection"),
    *_each("an idle TLS connection: less user memory than nginx's", "tls-term-idle", "nginx", 1.0),
    *_each("an idle TLS connection: less user memory than haproxy's", "tls-term-idle", "haproxy", 1.0),
    *_each("epoll and io_uring within 10% of each other", "relay-stream1-down relay-ka-1k relay-ka-50k-2000 relay-close-1k", OTHER, 1.10),
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
    if exact and bounds is None:
        bounds = (middle, middle)
    near = not exact and abs(middle / limit - 1) < _NEAR
    if bounds is None or (near and pairs < _PAIRS_NEAR_THE_LIMIT):
        return f"open: {pairs} {'pair is' if pairs == 1 else 'pairs are'} too few"
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


def measured(rows, known, goal, subject):
    """(median, interval or None, pairs), or None."""
    if goal.reference:
        reference = goal.reference
        if reference == BEST:
            reference = best_peer(rows, known, goal.scenario)
        elif reference == OTHER:
            reference = next(name for name in SUBJECTS if name != subject)
        return figures.ratio(rows, goal.scenario, subject, reference)
    if goal.column == TAIL:
        tops = figures.by_round(rows, goal.scenario, subject, "p99_us")
        each = paired.ratios(tops, figures.by_round(rows, goal.scenario, subject, "p50_us"))
    else:
        each = figures.values(rows, goal.scenario, subject, goal.column)
    return (paired.median(each), paired.interval(each), len(each)) if each else None


def table(rows, known):
    rule = ["---", "---", "---", "--:", *["--:", "---"] * len(SUBJECTS)]
    header = ["goal", "load", "against", "at most", *[cell for name in SUBJECTS for cell in (name, "verdict")]]
    lines = [header, rule]
    for goal in GOALS:
        exact = SCENARIOS[goal.scenario].work == CONNECTIONS
        reference = goal.reference or "-"
        if reference == BEST:
            reference += f": {best_peer(rows, known, goal.scenario) or 'not measured'}"
        line = [goal.text, goal.scenario, reference, f"{goal.limit:.4g}"]
        for subject in SUBJECTS:
            result = measured(rows, known, goal, subject)
            shown = f"{result[0]:.0f}" if result and not goal.reference and exact else figures.format_ratio(result)
            line += [shown, verdict(result, goal.limit, exact)]
        lines.append(line)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"
