#!/usr/bin/env python3
"""The parts of the harness that need no network: parsing, accounting, rounds, statistics, verdicts."""

import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

from harness import goals, paired, procfs, report, rounds, table  # noqa: E402
from harness.proxy import Target, load_adapters  # noqa: E402
from harness.scenarios import DEFAULT, SCENARIOS  # noqa: E402


def process(pid, seconds, session=1, kernel=False):
    return procfs.Process(pid, "S", session, kernel, 0, seconds, seconds)


def snapshot(wall, idle, processes, steal=0.0):
    return procfs.Snapshot(wall, {0: (idle, steal)}, {p.pid: p for p in processes}, 0)


class ProcfsTest(unittest.TestCase):
    def test_a_process_name_may_hold_anything(self):
        text = "42 (a) b (c)) S 1 40 39 0 -1 2097152 0 0 0 0 150 50 25 25 20 0 1 0 777 0 0\n"
        parsed = procfs.parse_process(text)
        self.assertEqual((parsed.pid, parsed.state, parsed.session, parsed.start), (42, "S", 39, 777))
        self.assertTrue(parsed.kernel)
        self.assertAlmostEqual(parsed.own_seconds, 200 * procfs.TICK)
        self.assertAlmostEqual(parsed.seconds, 250 * procfs.TICK)

    def test_this_process_parses(self):
        self.assertEqual(procfs.process_table()[os.getpid()].session, os.getsid(0))

    def test_cpus(self):
        text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 400 50 6 7 8 0 0\ncpu1 1 2 3 100 0 6 7 0 0 0\nintr 5\n"
        cpus = procfs.parse_cpus(text)
        self.assertEqual(sorted(cpus), [0, 1])
        self.assertAlmostEqual(cpus[0][0], 450 * procfs.TICK)
        self.assertAlmostEqual(cpus[0][1], 8 * procfs.TICK)

    def test_busy_time_leaves_out_idle_and_stolen_time(self):
        used = procfs.usage(snapshot(10, 100, []), snapshot(13, 101, [], steal=0.5), set(), set())
        self.assertAlmostEqual(used.busy[0], 3 - 1 - 0.5)
        self.assertAlmostEqual(used.stolen, 0.5)

    def test_foreign_time_sees_what_ended_in_between(self):
        # A make (2) whose compiler (3) had used 1 s, used another 2 s and ended: make's figure has them all now.
        before = snapshot(0, 0, [process(2, 5.0), process(3, 1.0)])
        after = snapshot(10, 0, [process(2, 5.0 + 3.0)])
        self.assertAlmostEqual(procfs.usage(before, after, set(), {77}).foreign, 2.0)

    def test_ours_and_the_kernels_time_is_not_foreign(self):
        before = snapshot(0, 0, [])
        after = snapshot(10, 0, [process(2, 3, session=50), process(3, 4, kernel=True), process(4, 5, session=60)])
        used = procfs.usage(before, after, own_sessions={50}, our_sessions={50, 60})
        self.assertEqual((used.foreign, used.own), (0, 3))

    def test_kilobytes(self):
        self.assertEqual(procfs.parse_kilobytes("Pss:  12 kB\nName: x\nHugePages_Total: 0\n"), {"Pss": 12288})


class PairedTest(unittest.TestCase):
    def test_only_rounds_that_both_have(self):
        self.assertEqual(paired.ratios({0: 2.0, 1: 3.0, 3: 9.0}, {1: 2.0, 2: 5.0, 3: 3.0}), [1.5, 3.0])

    def test_the_interval_holds_the_median_and_repeats(self):
        values = [1.0, 1.1, 0.9, 1.05, 0.95, 1.2, 0.98, 1.01, 1.03, 1.0]
        low, high = paired.interval(values)
        self.assertLessEqual(low, paired.median(values))
        self.assertGreaterEqual(high, paired.median(values))
        self.assertGreaterEqual(low, min(values))
        self.assertLessEqual(high, max(values))
        self.assertEqual(paired.interval(values), (low, high))

    def test_two_values_have_no_interval(self):
        self.assertIsNone(paired.interval([1.0, 2.0]))


class RoundsTest(unittest.TestCase):
    def test_each_proxy_comes_at_each_place(self):
        proxies = ["a", "b", "c"]
        orders = [rounds.order(proxies, n) for n in range(6)]
        for each in orders:
            self.assertEqual(sorted(each), proxies)
        for place in range(3):
            self.assertEqual({each[place] for each in orders}, set(proxies))

    def test_two_proxies_alternate(self):
        firsts = [rounds.order(["a", "b"], n)[0] for n in range(4)]
        self.assertEqual(firsts.count("a"), 2)


class ReportTest(unittest.TestCase):
    def row(self, proxy, number, cost, disturbed=0.0, failed=None):
        empty = dict.fromkeys(table.FIELDS)
        figures = dict(rate=1000.0, own_per_unit=cost, proxy_cpu_busy=0.9, load_cpu_busy=1.0, errors=0.0)
        return empty | figures | dict(
            scenario="ka-1k", proxy=proxy, round=float(number), disturbed=disturbed, failed=failed, cpu_per_unit=cost,
            pace="both", peak_pss=1e6, softnet_drops=0.0, steered=1.0,
        )

    def test_disturbed_and_failed_runs_do_not_count(self):
        rows = [self.row("haproxy", 0, 10e-6), self.row("sluice-epoll", 0, 99e-6, disturbed=1.0)]
        rows += [self.row("sluice-epoll", 0, 8e-6), self.row("sluice-epoll", 1, 1e-6, failed="broke")]
        middle, bounds, pairs = report.ratio(rows, "ka-1k", "sluice-epoll", "haproxy")
        self.assertAlmostEqual(middle, 0.8)
        self.assertEqual((bounds, pairs), (None, 1))
        text = report.tables(rows)
        self.assertIn("| sluice-epoll | 1.0 | **8.00** |", text)
        self.assertIn("1 of 4 runs were disturbed", text)
        self.assertIn("FAILED: sluice-epoll, round 1: broke", text)

    def test_figures_survive_the_file(self):
        rows = [self.row("haproxy", n, 10e-6 + n * 1e-6) for n in range(3)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            writer = table.Writer(path, {"kernel": "6.18"})
            for row in rows:
                writer.add(row)
            writer.close()
            about, read = table.read(path)
        self.assertEqual(about, {"kernel": "6.18"})
        self.assertEqual([r["cpu_per_unit"] for r in read], [10e-6, 11e-6, 12e-6])
        self.assertEqual(report.tables(read), report.tables(rows))

    def test_rounds_of_two_sessions_stay_apart(self):
        files = [({"steer": "rps"}, [self.row("haproxy", n, 1e-6) for n in range(2)]) for _ in range(2)]
        self.assertEqual([row["round"] for row in table.together(files)], [0, 1, 2, 3])
        files[1][0]["steer"] = "none"
        with self.assertRaisesRegex(ValueError, "none and rps"):
            table.together(files)

    def test_verdicts(self):
        self.assertEqual(goals.verdict(None, 1.1), "not measured")
        self.assertEqual(goals.verdict((1.0, (0.9, 1.1), 10), 1.1), "met")
        self.assertEqual(goals.verdict((1.2, (1.11, 1.3), 10), 1.1), "**not met**")
        self.assertIn("holds the limit", goals.verdict((1.05, (0.9, 1.2), 10), 1.1))
        self.assertIn("too few", goals.verdict((1.0, (0.9, 1.1), 9), 1.1))
        self.assertEqual(goals.verdict((0.5, (0.4, 0.6), 9), 1.1), "met")
        self.assertEqual(goals.verdict((600, (599, 601), 3), 640, exact=True), "met")
        self.assertIn("open", goals.verdict((1.0, None, 1), 1.1))

    def test_goals_name_what_there_is(self):
        known = load_adapters()
        for goal in goals.GOALS:
            self.assertIn(goal.scenario, SCENARIOS)
            self.assertIn(goal.subject, known)
            self.assertIn(goal.reference, [*known, ""])
        self.assertTrue(set(DEFAULT) <= set(SCENARIOS))


class AdapterTest(unittest.TestCase):
    def test_every_adapter_writes_what_it_needs(self):
        for proxy in load_adapters().values():
            if not proxy.program:
                continue
            with self.subTest(proxy.name), tempfile.TemporaryDirectory() as folder:
                target = Target("10.0.1.1", 8000, "10.0.2.2", 7001, folder, "/usr/bin/program", 64)
                argv = proxy.command(target)
                self.assertEqual(argv[0], "/usr/bin/program")
                text = " ".join(argv)
                for name in os.listdir(folder):
                    with open(os.path.join(folder, name)) as file:
                        text += file.read()
                for part in ("10.0.1.1", "8000", "10.0.2.2", "7001"):
                    self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
