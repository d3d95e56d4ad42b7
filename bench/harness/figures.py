"""What the rows of raw figures say: which runs count, medians, ratios of pairs, the best of a row."""

import dataclasses

from harness import paired
from harness.scenarios import CONNECTIONS, SCENARIOS

RESOLVED = 0.05  # half the width of an interval that says something: 5% of the ratio


def good(rows):
    """The runs that count."""
    return [row for row in rows if not row["failed"] and not row["disturbed"]]


def names(rows, column):
    """The values of a column in the order of their first appearance."""
    return list(dict.fromkeys(row[column] for row in rows))


def values(rows, scenario, proxy, column):
    """What the runs that count have in a column."""
    return list(by_round(rows, scenario, proxy, column).values())


def shown(rows):
    """The runs that a table is made of: those that count, and for a proxy that has none in a scenario, the disturbed
    ones, with True."""
    mine = good(rows)
    return (mine, False) if mine else ([row for row in rows if not row["failed"]], True)


def by_round(rows, scenario, proxy, column):
    """round -> value of the run that counts."""
    return {
        int(row["round"]): row[column]
        for row in good(rows)
        if row["scenario"] == scenario and row["proxy"] == proxy and row.get(column) is not None
    }


def compared_column(scenario):
    """The column whose ratio compares two proxies: less is better in all of them."""
    return "user_per_connection" if SCENARIOS[scenario].work == CONNECTIONS else "cpu_per_unit"


def ratio(rows, scenario, subject, reference):
    """(median, interval or None, number of pairs) of subject/reference; None without a pair."""
    column = compared_column(scenario)
    each = paired.ratios(by_round(rows, scenario, subject, column), by_round(rows, scenario, reference, column))
    return (paired.median(each), paired.interval(each), len(each)) if each else None


def resolved(result):
    """Whether the interval of a ratio is narrow enough to claim anything."""
    middle, bounds, _ = result
    return bounds is not None and (bounds[1] - bounds[0]) / 2 <= RESOLVED * middle


def format_ratio(result):
    if result is None:
        return "-"
    middle, bounds, pairs = result
    return f"{middle:.2f} " + (f"[{bounds[0]:.2f}, {bounds[1]:.2f}]" if bounds else f"({pairs} pair{'s' * (pairs != 1)})")


def best(cells, lower):
    """The names whose runs cannot be told from the best's: of {name: values}, that with the best median, and those whose
    best run reaches its worst. `lower`: less is better."""
    cells = {name: (some if lower else [-value for value in some]) for name, some in cells.items() if some}
    if not cells:
        return set()
    first = min(cells, key=lambda name: paired.median(cells[name]))
    return {name for name, some in cells.items() if min(some) <= max(cells[first]) or name == first}


@dataclasses.dataclass(frozen=True)
class Columns:
    """The proxies of a table: those that copy, then those that splice; floors last in each group. `floors` get no marks:
    nobody can choose them."""

    copying: tuple
    splicing: tuple
    floors: frozenset

    @classmethod
    def of(cls, proxies, known):
        """`known`: name -> {"splices", "floor"}, as a file of raw figures says about its proxies."""

        def group(splices):
            mine = [p for p in proxies if p in known and bool(known[p]["splices"]) == splices]
            return tuple(sorted(mine, key=lambda p: bool(known[p]["floor"])))

        return cls(group(False), group(True), frozenset(p for p in proxies if p in known and known[p]["floor"]))

    def marks(self, cells, lower):
        """(bold, starred) of {proxy: values}: the best of each group, and of the row."""
        contestants = {p: some for p, some in cells.items() if p not in self.floors}
        bold = set()
        for group in (self.copying, self.splicing):
            bold |= best({p: contestants[p] for p in group if p in contestants}, lower)
        return bold, best(contestants, lower)


def limited_by_load(rows, scenario, proxy):
    """Whether the client or the origin, and not the proxy, set the pace of most runs."""
    mine = [row for row in good(rows) if row["scenario"] == scenario and row["proxy"] == proxy and row.get("pace")]
    limited = [row for row in mine if "prx" not in row["pace"] and row["pace"] != "none"]
    return len(limited) * 2 > len(mine)
