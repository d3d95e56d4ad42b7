#!/usr/bin/env python3
"""The count of tools/test: what a report says, and what must not get lost."""

import io
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
for folder in ('tools', 'tools/e2e'):
    sys.path.insert(0, os.path.join(os.getcwd(), folder))

import report  # pylint: disable=wrong-import-position
import test_report  # pylint: disable=wrong-import-position

GTEST = '''<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="1" disabled="1" errors="0" name="AllTests">
  <testsuite name="Pipe" tests="4" failures="1" disabled="1" skipped="1" errors="0">
    <testcase name="Pass" status="run" result="completed" classname="Pipe" />
    <testcase name="Skip" status="run" result="skipped" classname="Pipe">
      <skipped message="a.cc:3&#x0A;this kernel has no &lt;tls&gt;"><![CDATA[a.cc:3]]></skipped>
    </testcase>
    <testcase name="DISABLED_Old" status="notrun" result="suppressed" classname="Pipe" />
    <testcase name="Fail" status="run" result="completed" classname="Pipe">
      <failure message="a.cc:5&#x0A;Expected equality&#x0A;why" type=""><![CDATA[a.cc:5]]></failure>
      <failure message="a second one" type=""/>
    </testcase>
  </testsuite>
  <testsuite name="All/P" tests="1"><testcase name="Works/0" status="run" classname="All/P" /></testsuite>
</testsuites>
'''
PASSING = '<testsuites><testsuite name="s"><testcase name="one"/><testcase name="two"/></testsuite></testsuites>'
# What Bazel writes for a script that writes nothing itself.
GENERATED = '''<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="tools/x_test" tests="1" failures="0" errors="%d">
<testcase name="tools/x_test" status="run" duration="1" time="1">%s</testcase><system-out/></testsuite></testsuites>
'''


class Folder(unittest.TestCase):
    """Reports and events in a temporary folder."""

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(dir='/tmp', prefix='a report ')
        self.addCleanup(self._folder.cleanup)

    def file(self, name, text):
        path = os.path.join(self._folder.name, name)
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text)
        return path

    def event(self, label, status, path, attempt=1, shard=1):
        outputs = [{'name': 'test.log', 'uri': 'file:///nowhere/test.log'}]
        if path:
            outputs.append({'name': 'test.xml', 'uri': 'file://' + path.replace(' ', '%20')})
        return json.dumps({
            'id': {'testResult': {'label': label, 'run': 1, 'shard': shard, 'attempt': attempt}},
            'testResult': {'status': status, 'cachedLocally': True, 'testActionOutput': outputs},
        })

    def verdict(self, targets=(), events=(), xml=(), faults=()):
        """Runs the whole program; returns (exit status, lines)."""
        out = io.StringIO()
        noise = [json.dumps({'id': {'started': {}}, 'started': {'uuid': 'x'}})]
        paths = [self.file('events.json', '\n'.join(noise + list(events)) + '\n')] if events else []
        status = test_report.report(test_report.gather(list(targets), paths, list(xml), list(faults)), out)
        return status, out.getvalue().splitlines()


class CasesTest(Folder):

    def test_googletest_report(self):
        cases = test_report.read_cases(GTEST, '//a:b')
        self.assertEqual([(c.name, c.outcome) for c in cases], [
            ('//a:b Pipe.Pass', 'passed'),
            ('//a:b Pipe.Skip', 'skipped'),
            ('//a:b Pipe.DISABLED_Old', 'skipped'),
            ('//a:b Pipe.Fail', 'failed'),
            ('//a:b All/P.Works/0', 'passed'),
        ])
        self.assertEqual(cases[1].detail, 'this kernel has no <tls>')
        self.assertIn('Expected equality', cases[3].detail)

    def test_script_without_cases_is_one_case(self):
        self.assertEqual(test_report.read_cases(GENERATED % (0, ''), '//tools:x_test'),
                         [('//tools:x_test', 'passed', '')])
        failed = test_report.read_cases(GENERATED % (1, '<error message="exited with error code 1"/>'), '//t:x')
        self.assertEqual([c.outcome for c in failed], ['failed'])

    def test_report_without_cases_is_an_error(self):
        with self.assertRaises(ValueError):
            test_report.read_cases('<testsuites/>', '//a:b')


class VerdictTest(Folder):

    def test_all_passed(self):
        path = self.file('a.xml', PASSING)
        status, lines = self.verdict(['//a:b'], [self.event('//a:b', 'PASSED', path)])
        self.assertEqual((status, lines), (0, ['2 passed, 0 failed, 0 skipped']))

    def test_failures_and_skips_are_named_and_the_verdict_is_last(self):
        path = self.file('a.xml', GTEST)
        status, lines = self.verdict(['//a:b'], [self.event('//a:b', 'FAILED', path)])
        self.assertEqual(status, 1)
        self.assertIn('SKIPPED 1: this kernel has no <tls>', lines)
        self.assertTrue([line for line in lines if line.startswith('FAILED  //a:b Pipe.Fail')])
        self.assertEqual(lines[-1], '2 passed, 1 failed, 2 skipped')

    def test_target_that_was_not_run(self):
        path = self.file('a.xml', PASSING)
        status, lines = self.verdict(['//a:b', '//a:broken'], [self.event('//a:b', 'PASSED', path)])
        self.assertEqual(status, 1)
        self.assertIn('FAILED  //a:broken: did not build, or was not run', lines)
        self.assertEqual(lines[-1], '2 passed, 1 failed, 0 skipped')

    def test_target_without_a_report(self):
        status, lines = self.verdict(['//a:b'], [self.event('//a:b', 'TIMEOUT', None)])
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'))
        status, lines = self.verdict(['//a:b'], [self.event('//a:b', 'PASSED', '/nowhere/test.xml')])
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'))

    def test_report_that_cannot_be_parsed(self):
        for text in ('', '<testsuites><testsuite>', 'plain text', '<testsuites/>'):
            with self.subTest(text=text):
                path = self.file('a.xml', text)
                status, lines = self.verdict(['//a:b'], [self.event('//a:b', 'PASSED', path)])
                self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'))

    def test_error_after_all_cases_passed(self):
        path = self.file('a.xml', PASSING)
        status, lines = self.verdict(['//a:b'], [self.event('//a:b', 'FAILED', path)])
        self.assertEqual((status, lines[-1]), (1, '2 passed, 1 failed, 0 skipped'))

    def test_every_shard_counts_and_the_last_attempt(self):
        good, bad = self.file('good.xml', PASSING), self.file('bad.xml', GTEST)
        status, lines = self.verdict(['//a:b'], [
            self.event('//a:b', 'FAILED', bad, attempt=1),
            self.event('//a:b', 'PASSED', good, attempt=2),
            self.event('//a:b', 'PASSED', good, shard=2),
        ])
        self.assertEqual((status, lines), (0, ['4 passed, 0 failed, 0 skipped']))

    def test_reports_from_outside_bazel_and_faults(self):
        path = self.file('lint.xml', PASSING)
        status, lines = self.verdict(xml=[path])
        self.assertEqual((status, lines), (0, ['2 passed, 0 failed, 0 skipped']))
        status, lines = self.verdict(xml=[path], faults=['bazel build //...'])
        self.assertEqual((status, lines), (1, ['FAILED  bazel build //...', '2 passed, 1 failed, 0 skipped']))

    def test_nothing_ran(self):
        status, lines = self.verdict()
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'))

    def test_events_that_cannot_be_read(self):
        out = io.StringIO()
        status = test_report.report(test_report.gather([], ['/nowhere/events.json'], [], []), out)
        self.assertEqual(status, 1)
        status, lines = self.verdict(events=['{"id": broken'])
        self.assertEqual((status, lines[-1]), (1, '0 passed, 1 failed, 0 skipped'))


if __name__ == '__main__':
    sys.exit(report.run('test_report_test', sys.argv[1:]))
