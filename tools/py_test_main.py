"""Runs the unittest cases of a script under Bazel: one testcase a case in $XML_OUTPUT_FILE, so that each is counted."""

import os
import sys
import unittest
from xml.sax import saxutils


class _Result(unittest.TextTestResult):
    """Keeps (name, tag, message) for each case; tag is None for a pass."""

    def __init__(self, *args):
        super().__init__(*args)
        self.cases = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.cases.append((test, None, ''))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.cases.append((test, 'failure', self.failures[-1][1]))

    def addError(self, test, err):
        super().addError(test, err)
        self.cases.append((test, 'failure', self.errors[-1][1]))

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.cases.append((test, 'skipped', reason))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.cases.append((subtest, 'failure', str(err[1])))


def main():
    runner = unittest.TextTestRunner(verbosity=2, resultclass=_Result)
    result = runner.run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules['__main__']))
    path = os.environ.get('XML_OUTPUT_FILE')
    if path:
        with open(path, 'w', encoding='utf-8') as out:
            out.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites><testsuite name="python">\n')
            for test, tag, message in result.cases:
                out.write('<testcase name=%s>' % saxutils.quoteattr(test.id().replace('__main__.', '')))
                if tag:
                    out.write('<%s message=%s/>' % (tag, saxutils.quoteattr(message)))
                out.write('</testcase>\n')
            out.write('</testsuite></testsuites>\n')
    sys.exit(0 if result.wasSuccessful() and result.cases else 1)
