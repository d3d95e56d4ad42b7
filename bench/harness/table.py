"""The file of raw figures: CSV, one row a run, with what was measured and where in comment lines above."""

import csv
import json

FIELDS = (
    "time scenario proxy round attempt failed disturbed foreign steal steered window rate cpu_per_unit own_per_unit "
    "cli_busy prx_busy srv_busy cli_thread prx_thread srv_thread pace p50_us p99_us p999_us errors peak_pss peak_rss "
    "softnet_drops connections "
    "user_per_connection pss_per_connection kernel_per_connection base_pss"
).split()
_TEXT = {"time", "scenario", "proxy", "failed", "pace"}


class Writer:
    """Each row is on disk when add() returns: an interrupted session leaves what it has measured."""

    def __init__(self, path, about):
        self._file = open(path, "w", newline="")
        self._file.write(f"# {json.dumps(about)}\n")
        self._writer = csv.DictWriter(self._file, FIELDS)
        self._writer.writeheader()
        self._file.flush()

    def add(self, row):
        self._writer.writerow({k: f"{v:.6g}" if isinstance(v, float) and abs(v) < 1e5 else v for k, v in row.items()})
        self._file.flush()

    def close(self):
        self._file.close()


def read(path):
    """(about, rows) of a file that Writer made; numbers as floats, what is missing as None."""
    with open(path, newline="") as file:
        first = file.readline()
        if not first.startswith("# {"):
            raise ValueError(f"{path} is not a file of raw figures: its first line does not say what was measured")
        about = json.loads(first[2:])
        if "proxies" not in about:
            raise ValueError(f"{path} was made by an earlier program, with other scenarios")
        rows = []
        for raw in csv.DictReader(file):
            rows.append({k: (v if k in _TEXT else float(v)) if v != "" else None for k, v in raw.items()})
    return about, rows


def together(files):
    """(rows of several (about, rows), name -> what is known of a proxy). The rounds are kept apart: only runs of one
    session make a pair."""
    for key, what in (("steer", "receive steering"), ("link", "link"), ("cpus", "CPUs")):
        found = {str(about.get(key, "")) for about, _ in files}
        if len(found) > 1:
            raise ValueError(f"runs with different {what} are not of one kind: {' and '.join(sorted(found))}")
    rows, known = [], {}
    first = 0
    for about, part in files:
        known.update(about["proxies"])
        rows += [{**row, "round": row["round"] + first} for row in part]
        first = 1 + int(max((row["round"] for row in rows), default=-1))
    return rows, known
