#!/usr/bin/env python3
"""bench/run on sluice and the floors, for a few seconds in a network of its own: every kind of load, the raw figures, the tables.

    smoke_test.py BINARY...   any of the built programs: their folder is what --binaries gets

Says nothing about speed. Also kills a harness in the middle and sees that the next one cleans up.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)

from harness import procfs, processes, table  # noqa: E402

RUN, REPORT = os.path.join(HERE, "run"), os.path.join(HERE, "report")
# Binaries lie at DIR/bench/load/loadtool and so on.
BINARIES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[1]))))
PROXIES = ["floor-relay", "floor-splice", "sluice-epoll", "none"]
RELAYED = ["relay-stream1", "relay-stream16-down", "relay-ka-1k", "relay-close-1k", "relay-idle"]
FORWARDED = ["http-ka-1k", "http-idle", "connect-stream1-down", "connect-close-1k", "socks-ka-2k-50k-2000", "mix-socks"]


def usable_sluice():
    """With io_uring where the kernel lets us."""
    try:
        with open("/proc/sys/kernel/io_uring_disabled") as file:
            return "sluice-epoll" if file.read().strip() == "2" else "sluice-uring"
    except FileNotFoundError:
        return "sluice-uring"


_CPUS = sorted(os.sched_getaffinity(0))


def command(folder, *arguments):
    cpus = f"prx={_CPUS[0]},cli={_CPUS[-1]},srv={_CPUS[-1]}"
    quick = ["--reps", "1", "--seconds", "0.3", "--patience", "0", "--repeats", "0", "--connections", "300"]
    return [RUN, *quick, "--binaries", BINARIES, "--data", folder, "--cpus", cpus, *arguments]


def wait_for(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("waited in vain for " + what)
        time.sleep(0.02)


class SmokeTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = self._folder.name
        os.environ["TEST_TMPDIR"] = self.folder

    def tearDown(self):
        self._folder.cleanup()

    def test_every_load(self):
        self.measure(PROXIES, RELAYED)

    def test_every_way_and_the_report(self):
        figures = self.measure([usable_sluice()], FORWARDED)
        results = os.path.join(self.folder, "RESULTS.md")
        subject = ["--subject", usable_sluice()]
        done = subprocess.run([REPORT, figures, "--output", results, *subject], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(results) as file:
            text = file.read()
        for part in ("## Goals", "## Reading", "### SOCKS5 tunnel", "raw figures: " + os.path.basename(figures)):
            self.assertIn(part, text)

    def measure(self, proxies, scenarios):
        names = ["--proxies", ",".join(proxies), "--scenarios", ",".join(scenarios)]
        done = subprocess.run(command(self.folder, *names), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        (name,) = [n for n in os.listdir(self.folder) if n.endswith(".csv")]
        about, rows = table.read(os.path.join(self.folder, name))
        self.assertEqual((about["check_failures"], about["lacking"]), ({}, {}))
        self.assertEqual({(r["scenario"], r["proxy"]) for r in rows}, {(s, p) for s in scenarios for p in proxies})
        for row in rows:
            self.assertIsNone(row["failed"], row)
            self.assertEqual(row["errors"], 0, row)
            if row["scenario"].endswith("-idle"):
                self.assertLess(row["user_per_connection"], 4096, row)
                if row["proxy"] != "none":
                    self.assertGreater(row["user_per_connection"], 0, row)
            else:
                self.assertGreater(row["rate"], 0, row)
                self.assertGreater(row["cpu_per_unit"], 0, row)
        for proxy in proxies:
            self.assertIn(f" {proxy} |", done.stdout)
        return os.path.join(self.folder, name)

    def test_an_interrupted_run_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                running = self.start_and_wait_for_load()
                started, groups = self.recorded(), self.state()["cgroups"]
                running.send_signal(number)
                self.assertEqual(running.wait(20), 130)
                self.assert_gone(started)
                for path in [os.path.join(self.folder, "state.json"), *groups]:
                    self.assertFalse(os.path.exists(path), path)

    def test_the_next_run_ends_what_a_killed_one_left(self):
        # A program that, unlike ours, outlives its parent: as if the kernel had not delivered the parent's death.
        orphan = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.addCleanup(orphan.wait)
        self.addCleanup(orphan.kill)
        bystander = subprocess.Popen(["sleep", "600"], start_new_session=True)
        self.addCleanup(bystander.wait)
        self.addCleanup(bystander.kill)
        state = os.path.join(self.folder, "state.json")
        start = procfs.start_time(orphan.pid)
        other = procfs.start_time(bystander.pid) + 1  # its number was another process's then
        with open(state, "w") as file:
            recorded = [[orphan.pid, start, None], [bystander.pid, other, None]]
            file.write(f'{{"boot": "{procfs.boot_id()}", "harness": 1, "processes": {recorded}}}'.replace("None", "null"))
        with processes.Children(self.folder) as children:
            self.assertEqual(children.ended_leftovers, 1)
        self.assertEqual(orphan.wait(10), -signal.SIGKILL)
        self.assertIsNone(bystander.poll())

    def test_a_killed_harness_takes_its_programs_with_it(self):
        running = self.start_and_wait_for_load()
        started, groups = self.recorded(), self.state()["cgroups"]
        running.kill()
        running.wait()
        self.assert_gone(started)
        with processes.Children(self.folder) as children:
            self.assertEqual(children.ended_leftovers, 0)
        for folder in groups:
            self.assertFalse(os.path.exists(folder), folder)

    def test_two_at_a_time_are_refused(self):
        with processes.Children(self.folder):
            done = subprocess.run(command(self.folder), capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("another benchmark holds", done.stderr)

    def test_what_is_not_there_is_said(self):
        done = subprocess.run(command(self.folder, "--proxies", "nothing"), capture_output=True, text=True)
        self.assertIn("there is no proxy 'nothing'; there are: ", done.stderr)
        self.assertEqual(done.returncode, 1)

    def start_and_wait_for_load(self):
        names = ["--proxies", "floor-relay", "--scenarios", "relay-ka-1k", "--seconds", "30"]
        running = subprocess.Popen(command(self.folder, *names), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(running.stderr.close)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        # Three holders of namespaces, the origin, the floor and the load.
        wait_for(lambda: len(self.recorded()) == 6 and self.loaded(), "the load to run")
        return running

    def loaded(self):
        """Whether the load of the last scenario (not of the checks) is among the recorded processes."""
        for pid, _ in self.recorded():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if b"requests\0--connect" in file.read():
                        return True
            except OSError:
                continue
        return False

    def state(self):
        with open(os.path.join(self.folder, "state.json")) as file:
            return json.load(file)

    def recorded(self):
        try:
            return [(pid, start) for pid, start, _ in self.state()["processes"]]
        except FileNotFoundError:
            return []

    def assert_gone(self, recorded):
        self.assertEqual(len(recorded), 6)

        def gone():
            table_now = procfs.process_table()
            return not any(
                pid in table_now and table_now[pid].start == start and table_now[pid].state != "Z"
                for pid, start in recorded
            )

        wait_for(gone, "every program to end")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
