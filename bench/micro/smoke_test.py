#!/usr/bin/env python3
"""Each benchmark program runs through, shortly. smoke_test.py PROGRAM..."""

import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, 'tools', 'e2e'))

import report  # noqa: E402  pylint: disable=wrong-import-position


class Smoke(unittest.TestCase):
    """One case for each program."""


def runs(program):

    def case(self):
        done = subprocess.run([program, '--benchmark_min_time=0.0001', '--benchmark_format=json'], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        results = json.loads(done.stdout)['benchmarks']
        self.assertTrue(results)
        for result in results:
            self.assertNotIn('error_occurred', result, result.get('error_message'))
            self.assertGreater(result['iterations'], 0)

    return case


if __name__ == '__main__':
    for argument in sys.argv[1:]:
        setattr(Smoke, 'test_' + os.path.basename(argument), runs(os.path.abspath(argument)))
    sys.exit(report.run('micro_smoke', []))
