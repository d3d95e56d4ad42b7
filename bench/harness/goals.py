"""The goals of the relay core, as ratios to runs of the same rounds."""

import dataclasses

from harness import paired, report


@dataclasses.dataclass(frozen=True)
class Goal:
    text: str
    scenario: str
    subject: str
    reference: str  # "" for an absolute limit in the scenario's own unit
    limit: float


_SUBJECTS = ("sluice-uring", "sluice-epoll")


def _both(text, scenario, reference, limit):
    return [Goal(text, scenario, subject, reference, limit) for subject in _SUBJECTS]


GOALS = [
    *_both("bulk relay within 15% of a bare splice loop", "stream1", "floor-splice", 1.15),
    *_both("bulk relay, 16 streams, within 15% of a bare splice loop", "stream16", "floor-splice", 1.15),
    *_both("bulk relay at less CPU than haproxy splicing", "stream1", "haproxy-splice", 1.0),
    *_both("bulk relay at less CPU than haproxy's 64 KB copy", "stream1", "haproxy-64k", 1.0),
    *_both("1 KB kept-alive relay within 10% of a bare epoll relay", "ka-1k", "floor-relay", 1.10),
    *_both("1 KB kept-alive relay, 1000 clients, within 10% of a bare epoll relay", "ka-1k-1000", "floor-relay", 1.10),
    *_both("1 KB kept-alive relay: 1.25 times haproxy's requests per CPU second", "ka-1k", "haproxy", 1 / 1.25),
    *_both("a connection per request: 1.2 times haproxy's", "close-1k", "haproxy", 1 / 1.2),
    *_both("an idle relayed connection: 640 bytes of user memory", "idle", "", 640),
    Goal("epoll against io_uring within 10%", "stream1", "sluice-epoll", "sluice-uring", 1.10),
    Goal("epoll against io_uring within 10%", "ka-1k", "sluice-epoll", "sluice-uring", 1.10),
    Goal("io_uring against epoll within 10%", "stream1", "sluice-uring", "sluice-epoll", 1.10),
    Goal("io_uring against epoll within 10%", "ka-1k", "sluice-uring", "sluice-epoll", 1.10),
    Goal("io_uring against epoll within 10%, 1000 clients", "ka-1k-1000", "sluice-uring", "sluice-epoll", 1.10),
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


def table(rows):
    lines = ["| goal | load | proxy | against | at most | measured | verdict |", "|---|---|---|---|--:|--:|---|"]
    for goal in GOALS:
        if goal.reference:
            measured = report.ratio(rows, goal.scenario, goal.subject, goal.reference)
            shown = report.format_ratio(measured)
        else:
            column = report.compared_column(goal.scenario)
            values = list(report.by_round(rows, goal.scenario, goal.subject, column).values())
            measured = (paired.median(values), paired.interval(values), len(values)) if values else None
            shown = f"{measured[0]:.0f}" if measured else "-"
        lines.append(
            f"| {goal.text} | {goal.scenario} | {goal.subject} | {goal.reference or '-'} | {goal.limit:.4g} | {shown} "
            f"| {verdict(measured, goal.limit, exact=not goal.reference)} |"
        )
    return "\n".join(lines) + "\n"
