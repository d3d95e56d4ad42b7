"""How a check ends: complaints on standard error, one case a rule in a JUnit report, the exit status."""

import os
import sys
from xml.sax import saxutils

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def finish(check, cases, xml_path):
    """`cases`: (rule, complaints). Writes the report to `xml_path` unless that is None; returns the exit status."""
    failed = False
    for rule, complaints in cases:
        for complaint in complaints:
            failed = True
            print('%s: %s: %s' % (check, rule, complaint), file=sys.stderr)
    if xml_path:
        with open(xml_path, 'w', encoding='utf-8') as out:
            out.write('<testsuites><testsuite name="lint">\n')
            for rule, complaints in cases:
                out.write('<testcase name=%s>' % saxutils.quoteattr(rule))
                if complaints:
                    out.write('<failure message=%s/>' % saxutils.quoteattr('\n'.join(complaints)))
                out.write('</testcase>\n')
            out.write('</testsuite></testsuites>\n')
    return 1 if failed else 0
