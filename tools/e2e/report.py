"""A unittest runner that counts cases: JUnit XML to $XML_OUTPUT_FILE, one testcase a case, a deadline for each."""

import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
import unittest
from xml.sax import saxutils

CASE_SECONDS = 120


class CaseTimeout(Exception):
    """The case ran out of its time."""


class Result(unittest.TestResult):
    """Collects (name, seconds, kind, message), kind None for a pass, and says each on stdout as it ends."""

    def __init__(self):
        super().__init__()
        self.cases = []
        self._started = 0.0
        self._trouble = {}

    def startTest(self, test):
        super().startTest(test)
        self._started = time.monotonic()
        self._trouble.pop(test.id(), None)
        seconds = getattr(getattr(test, test._testMethodName, None), 'seconds', CASE_SECONDS)

        def late(*_):
            faulthandler.dump_traceback(all_threads=True)
            raise CaseTimeout('the case took longer than %d s' % seconds)

        signal.signal(signal.SIGALRM, late)
        signal.alarm(seconds)
        # Where even that does not get through, the whole test ends, saying where it hung.
        faulthandler.dump_traceback_later(seconds + 30, exit=True)

    def stopTest(self, test):
        signal.alarm(0)
        faulthandler.cancel_dump_traceback_later()
        kind, message = self._trouble.pop(test.id(), (None, ''))
        self._record(test.id(), time.monotonic() - self._started, kind, message)
        super().stopTest(test)

    def _record(self, name, seconds, kind, message):
        name = name.replace('__main__.', '')
        self.cases.append((name, seconds, kind, message))
        print('%-7s %s (%.2f s)%s' % (kind or 'ok', name, seconds, '\n' + message if message else ''), flush=True)

    def _fault(self, test, error):
        text = ''.join(traceback.format_exception(*error))
        evidence = getattr(test, 'evidence', None)
        if evidence:
            try:
                text += '\n' + evidence()
            except Exception as also:  # Evidence is best effort: the fault itself matters more.
                text += '\n(no evidence: %r)' % also
        if isinstance(test, unittest.TestCase):
            self._trouble[test.id()] = ('failure', text)
        else:  # setUpClass failed: there is no stopTest to record it.
            self._record(str(test), 0.0, 'failure', text)

    def addError(self, test, err):
        super().addError(test, err)
        self._fault(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fault(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self._fault(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        if isinstance(test, unittest.TestCase):
            self._trouble[test.id()] = ('skipped', reason)
        else:
            self._record(str(test), 0.0, 'skipped', reason)

    def count(self, kind):
        return sum(1 for case in self.cases if case[2] == kind)


def _clean(text):
    return ''.join(c if c in '\t\n' or ' ' <= c < '\ud800' else '?' for c in text)


def write_xml(path, suite, cases):
    """The form that Bazel and CI servers read; every fault counts as a failure."""
    failures = sum(1 for c in cases if c[2] == 'failure')
    skipped = sum(1 for c in cases if c[2] == 'skipped')
    counts = 'tests="%d" failures="%d" errors="0" skipped="%d" time="%.3f"' % (len(cases), failures, skipped,
                                                                                sum(c[1] for c in cases))
    with open(path, 'w', encoding='utf-8') as out:
        name = saxutils.quoteattr(suite)
        out.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name=%s %s>\n<testsuite name=%s %s>\n' %
                  (name, counts, name, counts))
        for case, seconds, kind, message in cases:
            out.write('<testcase classname=%s name=%s time="%.3f"' % (name, saxutils.quoteattr(case), seconds))
            if not kind:
                out.write('/>\n')
                continue
            first = _clean(message.strip().splitlines()[-1] if message.strip() else '')
            out.write('><%s message=%s>%s</%s></testcase>\n' %
                      (kind, saxutils.quoteattr(_clean(message) if kind == 'skipped' else first),
                       saxutils.escape(_clean(message)), kind))
        out.write('</testsuite>\n</testsuites>\n')


def run(suite_name, patterns):
    """Runs the cases of the main module; returns the exit status, 0 only if at least one ran and none failed."""
    loader = unittest.TestLoader()
    if patterns:
        loader.testNamePatterns = ['*%s*' % p for p in patterns]
    tests = loader.loadTestsFromModule(sys.modules['__main__'])
    result = Result()
    threading.excepthook = lambda args: print('thread: %r' % args.exc_value, file=sys.stderr)
    tests.run(result)
    if os.environ.get('XML_OUTPUT_FILE'):
        write_xml(os.environ['XML_OUTPUT_FILE'], suite_name, result.cases)
    failed, skipped = result.count('failure'), result.count('skipped')
    print('%s: %d passed, %d failed, %d skipped' %
          (suite_name, len(result.cases) - failed - skipped, failed, skipped), flush=True)
    return 0 if result.cases and not failed else 1
