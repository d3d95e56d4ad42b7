#!/usr/bin/env python3
"""The parts of the harness that need no network: parsing, accounting, rounds, statistics, verdicts."""

import json
import os
import signal
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

from harness import cpus, figures, goals, measure, paired, picture, processes, procfs, proxy, report, rounds, scenarios, table  # noqa: E402
from harness import link as links  # noqa: E402
from harness.proxy import Target, load_adapters  # noqa: E402
from harness.scenarios import SCENARIOS  # noqa: E402


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


class ChildrenTest(unittest.TestCase):
    """What a harness starts, and what it finds of an earlier one."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = self._folder.name

    def test_everything_is_ended(self):
        with processes.Children(self.folder) as children:
            child = children.start(["sh", "-c", "sleep 600 & exec sleep 600"])
            wait_for(lambda: len(procfs.members(child.pid)) == 2)
            session = child.pid
        self.assertEqual(procfs.members(session), [])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "state.json")))

    def test_leftovers_of_this_boot_only(self):
        with processes.Children(self.folder) as children:
            child = children.start(["sleep", "600"])
            state = os.path.join(self.folder, "state.json")
            with open(state) as file:
                said = json.load(file)
            self.assertEqual(said["processes"][0][0], child.pid)
            other = os.path.join(self.folder, "other.json")
            with open(other, "w") as file:
                json.dump({**said, "boot": "another"}, file)
            self.assertEqual(processes.end_leftovers(other), 0)
            self.assertIsNone(child.poll())
            self.assertEqual(processes.end_leftovers(state), 1)
            self.assertEqual(child.wait(10), -signal.SIGKILL)

    def test_a_broken_state_file_is_no_harm(self):
        path = os.path.join(self.folder, "state.json")
        self.assertEqual(processes.end_leftovers(path), 0)
        with open(path, "w") as file:
            file.write("{")
        self.assertEqual(processes.end_leftovers(path), 0)


def wait_for(condition):
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain")
        time.sleep(0.01)


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


KNOWN = {
    "haproxy": {"what": "", "splices": False, "floor": False},
    "nginx": {"what": "", "splices": False, "floor": False},
    "floor-relay": {"what": "", "splices": False, "floor": True},
    "sluice-epoll": {"what": "", "splices": True, "floor": False},
}


def row(proxy_name, number, cost, disturbed=0.0, failed=None, scenario="relay-ka-1k", pace="prx"):
    empty = dict.fromkeys(table.FIELDS)
    have = dict(
        rate=1 / cost, own_per_unit=cost, prx_busy=0.9, cli_busy=1.0, srv_busy=1.0, errors=0.0, peak_pss=1e6,
        softnet_drops=0.0, steered=1.0, p50_us=1000.0, p99_us=2000.0,
    )
    return empty | have | dict(
        scenario=scenario, proxy=proxy_name, round=float(number), disturbed=disturbed, failed=failed, cpu_per_unit=cost,
        pace=pace,
    )


def tables(rows, **about):
    return report.tables([({"steer": "rps", "proxies": KNOWN, **about}, rows)])


class FiguresTest(unittest.TestCase):
    def test_disturbed_and_failed_runs_do_not_count(self):
        rows = [row("haproxy", 0, 10e-6), row("sluice-epoll", 0, 99e-6, disturbed=1.0)]
        rows += [row("sluice-epoll", 0, 8e-6), row("sluice-epoll", 1, 1e-6, failed="broke")]
        middle, bounds, pairs = figures.ratio(rows, "relay-ka-1k", "sluice-epoll", "haproxy")
        self.assertAlmostEqual(middle, 0.8)
        self.assertEqual((bounds, pairs), (None, 1))

    def test_a_wide_interval_is_not_resolved(self):
        self.assertTrue(figures.resolved((1.0, (0.96, 1.04), 10)))
        self.assertFalse(figures.resolved((1.0, (0.94, 1.06), 10)))
        self.assertTrue(figures.resolved((2.0, (1.91, 2.09), 10)))
        self.assertFalse(figures.resolved((1.0, None, 2)))

    def test_the_best_and_those_that_overlap_it(self):
        cells = {"a": [10.0, 11.0, 12.0], "b": [11.5, 13.0, 14.0], "c": [12.5, 13.0, 14.0], "d": []}
        self.assertEqual(figures.best(cells, lower=True), {"a", "b"})
        self.assertEqual(figures.best(cells, lower=False), {"a", "b", "c"})
        self.assertEqual(figures.best({"a": [1.0, 2.0], "b": [2.5, 3.0]}, lower=False), {"b"})
        self.assertEqual(figures.best({"d": []}, lower=True), set())

    def test_the_load_sets_the_pace_only_where_the_proxy_does_not(self):
        def limited(*paces):
            return figures.limited_by_load([row("nginx", n, 1e-6, pace=p) for n, p in enumerate(paces)], "relay-ka-1k", "nginx")

        self.assertTrue(limited("cli+srv", "srv", "prx"))
        self.assertFalse(limited("cli+prx+srv", "cli+prx", "cli"))
        self.assertFalse(limited("none", "none"))


class ReportTest(unittest.TestCase):
    def test_marks(self):
        rows = [row(p, n, cost + n * 1e-7) for n in range(3) for p, cost in (
            ("haproxy", 10e-6), ("nginx", 12e-6), ("floor-relay", 5e-6), ("sluice-epoll", 8e-6))]
        text = tables(rows)
        self.assertIn("| load | haproxy | nginx | floor-relay | ‖ | sluice-epoll |", text)
        self.assertIn("| ka-1k, us/request | **10.10** | 12.10 | 5.10 | ‖ | **8.10** * |", text)
        self.assertIn("| ka-1k, ms | **1.00 / 2.00** * | **1.00 / 2.00** * | 1.00 / 2.00 | ‖ | **1.00 / 2.00** * |", text)

    def test_who_set_the_pace_and_what_failed(self):
        rows = [row("haproxy", n, 10e-6, pace="cli+srv") for n in range(3)]
        rows[1]["errors"] = 2.0
        self.assertIn("| ka-1k, k req/s | **100.0** ‡† * |", tables(rows))

    def test_runs_that_do_not_count_are_told(self):
        rows = [row("nginx", 0, 10e-6), row("haproxy", 0, 99e-6, disturbed=1.0), row("haproxy", 1, 1e-6, failed="broke")]
        text = tables(rows)
        self.assertIn("| ka-1k, us/request | **10.00** * | ~99.00 |", text)
        self.assertIn("1 of 3 runs were disturbed", text)
        self.assertIn("FAILED: relay-ka-1k, haproxy, round 1: broke", text)

    def test_pairs(self):
        rows = [row(p, n, c) for n in range(10) for p, c in (("haproxy", 10e-6), ("nginx", (8 + n % 2 * 4) * 1e-6))]
        self.assertIn("| ka-1k | haproxy / nginx | 1.04 [0.83, 1.25]: not resolved | 10 |", tables(rows, pairs=True))
        rows = [row(p, n, c) for n in range(10) for p, c in (("haproxy", 10e-6), ("nginx", 8e-6))]
        self.assertIn("| ka-1k | haproxy / nginx | 1.25 [1.25, 1.25] | 10 |", tables(rows, pairs=True))

    def test_figures_survive_the_file(self):
        rows = [row("haproxy", n, 10e-6 + n * 1e-6) for n in range(3)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            writer = table.Writer(path, {"kernel": "6.18", "proxies": {}})
            for each in rows:
                writer.add(each)
            writer.close()
            about, read = table.read(path)
        self.assertEqual(about, {"kernel": "6.18", "proxies": {}})
        self.assertEqual([r["cpu_per_unit"] for r in read], [10e-6, 11e-6, 12e-6])
        self.assertEqual(tables(read), tables(rows))

    def test_files_of_another_program_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "x.csv")
            for text, why in (("time,proxy\n", "not a file of raw figures"), ('# {"kernel": "6"}\ntime\n', "earlier program")):
                with open(path, "w") as file:
                    file.write(text)
                with self.assertRaisesRegex(ValueError, why):
                    table.read(path)

    def test_rounds_of_two_sessions_stay_apart(self):
        files = [({"steer": "rps", "proxies": {}}, [row("haproxy", n, 1e-6) for n in range(2)]) for _ in range(2)]
        self.assertEqual([each["round"] for each in table.together(files)[0]], [0, 1, 2, 3])
        files[1][0]["steer"] = "none"
        with self.assertRaisesRegex(ValueError, "receive steering.*: none and rps"):
            table.together(files)


class GoalsTest(unittest.TestCase):
    def test_verdicts(self):
        self.assertEqual(goals.verdict(None, 1.1), "not measured")
        self.assertEqual(goals.verdict((1.0, (0.9, 1.1), 10), 1.1), "met")
        self.assertEqual(goals.verdict((1.2, (1.11, 1.3), 10), 1.1), "**not met**")
        self.assertIn("holds the limit", goals.verdict((1.05, (0.9, 1.2), 10), 1.1))
        self.assertIn("too few", goals.verdict((1.0, (0.9, 1.1), 9), 1.1))
        self.assertEqual(goals.verdict((0.5, (0.4, 0.6), 9), 1.1), "met")
        self.assertEqual(goals.verdict((600, (599, 601), 3), 640, exact=True), "met")
        self.assertIn("open", goals.verdict((1.0, None, 1), 1.1))
        self.assertEqual(goals.verdict((600, None, 1), 640, exact=True), "met")

    def test_goals_name_what_there_is(self):
        known = load_adapters()
        for goal in goals.GOALS:
            self.assertIn(goal.scenario, SCENARIOS)
            self.assertIn(goal.reference, [*known, "", goals.BEST, goals.OTHER])
            self.assertIn(goal.column, [*table.FIELDS, "", goals.TAIL])

    def test_the_best_peer_is_neither_sluice_nor_a_floor(self):
        rows = [row(p, n, c) for n in range(3) for p, c in (("nginx", 9e-6), ("haproxy", 10e-6), ("floor-relay", 5e-6), ("sluice-epoll", 6e-6))]
        known = {**KNOWN, "sluice-epoll": {**KNOWN["sluice-epoll"], "sluice": True}}
        goal = goals.Goal("", "relay-ka-1k", goals.BEST, 1.0)
        self.assertEqual(goals.best_peer(rows, known, goal.scenario), "nginx")
        middle, _, pairs = goals.measured(rows, known, goal, "sluice-epoll")
        self.assertEqual(pairs, 3)
        self.assertAlmostEqual(middle, 6 / 9)

    def test_the_tail(self):
        rows = [row("sluice-epoll", n, 1e-6) for n in range(3)]
        goal = goals.Goal("", "relay-ka-1k", "", 3, goals.TAIL)
        self.assertEqual(goals.measured(rows, KNOWN, goal, "sluice-epoll"), (2.0, (2.0, 2.0), 3))

    def test_the_table(self):
        known = {**KNOWN, "sluice-uring": {"splices": True, "floor": False, "sluice": True}}
        rows = [row(p, n, c) for n in range(10) for p, c in (("haproxy", 10e-6), ("sluice-uring", 7e-6))]
        rows = [{**each, "scenario": "http-ka-1k"} for each in rows]
        text = goals.table(rows, known)
        self.assertIn("| 1 KB kept-alive HTTP: 1.25 times haproxy's | http-ka-1k | haproxy | 0.8 | 0.70 [0.70, 0.70] | met | - | not measured |", text)


class CpusTest(unittest.TestCase):
    def test_lists(self):
        self.assertEqual(cpus.parse("cli=0-3,prx=4,srv=5,7"), {"client": (0, 1, 2, 3), "proxy": (4,), "origin": (5, 7)})
        self.assertEqual(cpus.show(cpus.parse("cli=1,prx=0,srv=1")), "cli=1,prx=0,srv=1")
        for wrong in ("cli=0,prx=1", "cli=0,prx=0,srv=1", "cli=x,prx=0,srv=1", "a=1,prx=0,srv=1", "cli=1,cli=1,prx=0,srv=1"):
            with self.assertRaises(ValueError, msg=wrong):
                cpus.parse(wrong)

    def test_default(self):
        self.assertEqual(cpus.default({0, 1}), {"proxy": (0,), "client": (1,), "origin": (1,)})
        self.assertEqual(cpus.default({2, 3, 4, 5}), {"proxy": (2,), "client": (3, 4), "origin": (5,)})
        with self.assertRaises(ValueError):
            cpus.default({0})


class PictureTest(unittest.TestCase):
    def test_it_is_an_svg_with_a_bar_for_each_proxy(self):
        rows = [row(p, n, c) for n in range(3) for p, c in (("haproxy", 90e-6), ("nginx", 12e-6), ("sluice-epoll", 10e-6))]
        known = {**KNOWN, "<&>": KNOWN["nginx"]}
        rows += [row("<&>", n, 20e-6) for n in range(3)]
        text = picture.draw(rows, known, "relay", "sluice-epoll")
        root = xml.etree.ElementTree.fromstring(text)
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.tag, space + "svg")
        words = [each.text for each in root.iter(space + "text")]
        for word in ("ka-1k", "1.00", "1.20", "2.00", "9.00 →", "<&>", "haproxy"):
            self.assertIn(word, words)
        right = max(float(bar.get("x", 0)) + float(bar.get("width")) for bar in root.iter(space + "rect"))
        self.assertLessEqual(right, float(root.get("width")))

    def test_nothing_to_compare_is_no_picture(self):
        self.assertIsNone(picture.draw([row("nginx", 0, 1e-6)], KNOWN, "relay", "sluice-epoll"))
        self.assertIsNone(picture.draw([row("nginx", 0, 1e-6)], KNOWN, "http", "nginx"))


class LinkTest(unittest.TestCase):
    def test_what_is_said_of_a_link(self):
        link = links.parse("20M,5,0.5")
        self.assertEqual((link.rate, link.delay, link.loss), (20_000_000, 5.0, 0.5))
        self.assertEqual(str(link), "20 Mbit/s a connection, 5 ms, 0.5% lost")
        self.assertEqual(links.parse("0,2ms,0%"), links.Link(0, 2.0, 0.0))
        for wrong in ("", "20M", "20M,5", "20M,5,x", "M,5,1"):
            with self.assertRaises(ValueError, msg=wrong):
                links.parse(wrong)

    def test_how_it_is_made(self):
        link = links.parse("20M,5,0.5")
        self.assertEqual(links.kernel_commands(link, "x0")[1], "tc qdisc add dev x0 parent 1: handle 2: fq maxrate 20000000bit")
        self.assertEqual(len(links.kernel_commands(links.parse("0,5,0.5"), "x0")), 1)
        self.assertEqual(links.emulator_arguments(link, ("a", "b")), ["--tun", "a,b", "--rate=20000000", "--delay=5.0", "--loss=0.5"])


class PaceTest(unittest.TestCase):
    def test_a_role_or_one_thread_of_it(self):
        shares = {"client": 0.3, "proxy": 0.95, "origin": 0.2}
        tops = {"client": 0.2, "proxy": 0.1, "origin": 0.91}
        self.assertEqual(measure.pace(shares, tops), "prx+srv")
        self.assertEqual(measure.pace(dict.fromkeys(shares, 0.5), dict.fromkeys(tops, 0.5)), "none")

    def test_the_busiest_thread(self):
        self.assertEqual(measure.busiest({(1, 0): 5.0, (2, 0): 1.0}, {(1, 0): 6.0, (2, 0): 3.5, (3, 9): 2.0}), 2.5)
        self.assertEqual(measure.busiest({(1, 0): 5.0}, {}), 0.0)


class ScenariosTest(unittest.TestCase):
    def test_every_set_names_what_there_is(self):
        known = load_adapters()
        for part in scenarios.SETS.values():
            chosen = scenarios.select(part.scenarios)
            for name in part.proxies or ():
                self.assertTrue(set(known[name].kinds) & {s.kind for s in chosen}, name)

    def test_select(self):
        self.assertEqual([s.name for s in scenarios.select(["socks-ka-1k"])], ["socks-ka-1k"])
        self.assertEqual({s.kind for s in scenarios.select(["close-1k"])}, set(scenarios.KINDS))
        self.assertEqual({s.kind for s in scenarios.select(["http"])}, {"http"})
        self.assertEqual(len(scenarios.select(["relay-stream*", "relay-stream1"])), 4)
        with self.assertRaisesRegex(ValueError, "no scenario 'nothing'"):
            scenarios.select(["nothing"])

    def test_a_proxy_gets_absolute_urls(self):
        self.assertIn("--url=http://10.0.2.2:7006/1024", SCENARIOS["http-ka-1k"].arguments("10.0.2.2:7006"))
        self.assertIn("--url=/1024", SCENARIOS["connect-ka-1k"].arguments("10.0.2.2:7006"))


class AdapterTest(unittest.TestCase):
    def test_every_adapter_writes_what_it_needs(self):
        given = proxy.given(sluice=["x=/usr/bin/sluice --backend=epoll -s3"], threeproxy=["/3proxy:-s0"], envoy=["/envoy"])
        for each, kind in ((p, k) for p in [*load_adapters().values(), *given] for k in p.kinds):
            if not each.program:
                continue
            with self.subTest(each.name, kind=kind), tempfile.TemporaryDirectory() as folder:
                target = Target(kind, "10.0.1.1", 8000, "10.0.2.1", "10.0.2.2", 7001, "/cert.pem", folder, "/usr/bin/program", 64)
                argv = each.command(target)
                self.assertIn("/usr/bin/program", argv)
                text = " ".join(argv)
                for name in os.listdir(folder):
                    with open(os.path.join(folder, name)) as file:
                        text += file.read()
                fixed = each.program != "sluice" and "3proxy" not in each.name and "sluice" not in each.program
                asked = kind in ("connect", "socks") or (kind == "http" and (not fixed or each.name in ("squid", "tinyproxy")))
                self.assertEqual("/cert.pem" in text, kind == "tls-term")
                for part in ("10.0.1.1", "8000") if asked else ("10.0.1.1", "8000", "10.0.2.2", "7001"):
                    self.assertIn(part, text)

    def test_options_given(self):
        (sluice, old) = proxy.given(sluice=["x=/usr/bin/sluice --backend=epoll -s0 -b4096"], threeproxy=["/3proxy:-s0"])
        self.assertEqual((sluice.name, sluice.program, sluice.splices), ("x", "/usr/bin/sluice", False))
        self.assertEqual((old.name, old.program, old.splices), ("3proxy-s0", "/3proxy", False))
        with self.assertRaisesRegex(ValueError, "NAME="):
            proxy.given(sluice=["--backend=epoll"])


if __name__ == "__main__":
    unittest.main()
