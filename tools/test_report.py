#!/usr/bin/env python3
"""Counts test cases: reads Bazel's build events and the JUnit reports they name, prints one verdict.

usage: test_report.py [--targets FILE] [--events FILE]... [--xml FILE]... [--fault TEXT]...

  --targets  labels that must have run, one a line: one without a result counts as a failed case
  --events   what `bazel test --build_event_json_file` wrote: where each target's report is, cached results included
  --xml      a JUnit report that did not come through Bazel
  --fault    something else that went wrong: one failed case

Failures are listed by name, skips by reason; the last line is `N passed, N failed, N skipped`. The exit status is 0 only
if at least one case passed and none failed.

Nothing may get lost between a test and the count, so all of these are failed cases: a target that was not built or not
run, one without a report or with one that cannot be parsed, one whose report holds no case, and one that exited with an
error after reporting only passes (a leak report, a crash at exit).
"""

import argparse
import collections
import json
import sys
import urllib.parse
import xml.etree.ElementTree as ElementTree

PASSED, FAILED, SKIPPED = 'passed', 'failed', 'skipped'
Case = collections.namedtuple('Case', 'name outcome detail')


def detail_of(element):
    """The message of a <failure>, <error> or <skipped>; GoogleTest puts FILE:LINE on a line before the reason."""
    lines = [line.strip() for line in (element.get('message') or element.text or '').splitlines() if line.strip()]
    if element.tag == 'skipped':
        return lines[-1] if lines else 'no reason given'
    return '; '.join(lines[:4]) + ('; and %d lines more' % (len(lines) - 4) if len(lines) > 4 else '')


def read_cases(xml_text, label):
    """The cases of one JUnit report. Raises ElementTree.ParseError, or ValueError for a report without a case."""
    cases = []
    for element in ElementTree.fromstring(xml_text).iter('testcase'):
        names = [n for n in (element.get('classname'), element.get('name')) if n]
        # A script that knows no cases is one case, named after its target by Bazel.
        name = label if names == [label[2:].replace(':', '/')] else '%s %s' % (label, '.'.join(names))
        faults = element.findall('failure') + element.findall('error')
        skipped = element.find('skipped')
        if faults:
            cases.append(Case(name, FAILED, detail_of(faults[0])))
        elif skipped is not None:
            cases.append(Case(name, SKIPPED, detail_of(skipped)))
        elif element.get('status') == 'notrun':
            cases.append(Case(name, SKIPPED, 'disabled in the source'))
        else:
            cases.append(Case(name, PASSED, ''))
    if not cases:
        raise ValueError('no case in it')
    return cases


def read_file(path):
    with open(path, 'rb') as file:
        return file.read()


def target_cases(label, status, xml_path):
    """What one run of a test target adds: the cases of its report, held against how the target ended."""
    if not xml_path:
        return [Case(label, FAILED, 'no report (%s)' % status)]
    try:
        cases = read_cases(read_file(xml_path), label)
    except (OSError, ValueError, ElementTree.ParseError) as error:
        return [Case(label, FAILED, 'report not readable: %s (%s)' % (error, status))]
    if status != 'PASSED' and not any(case.outcome == FAILED for case in cases):
        cases.append(Case(label, FAILED, '%s, though no case in its report failed' % status))
    return cases


def read_events(lines):
    """Bazel's build events (one JSON object a line) -> {(label, run, shard): (attempt, status, path of test.xml)}."""
    results = {}
    for line in lines:
        event = json.loads(line)
        key = event.get('id', {}).get('testResult')
        if not key or 'testResult' not in event:
            continue
        result = event['testResult']
        path = None
        for output in result.get('testActionOutput', []):
            if output.get('name') == 'test.xml':
                path = urllib.parse.unquote(urllib.parse.urlparse(output.get('uri', '')).path)
        where = (key['label'], key.get('run', 1), key.get('shard', 1))
        attempt = key.get('attempt', 1)
        if where not in results or attempt >= results[where][0]:
            results[where] = (attempt, result.get('status', 'NO_STATUS'), path)
    return results


def gather(targets, event_files, xml_files, faults):
    """All cases, in a stable order."""
    cases = []
    results = {}
    for path in event_files:
        try:
            with open(path, encoding='utf-8') as file:
                results.update(read_events(file))
        except (OSError, ValueError, KeyError) as error:
            cases.append(Case('build events', FAILED, 'cannot read what Bazel did: %s' % error))
    for (label, _, _), (_, status, path) in sorted(results.items()):
        cases += target_cases(label, status, path)
    ran = {label for label, _, _ in results}
    cases += [Case(label, FAILED, 'did not build, or was not run') for label in targets if label not in ran]
    for path in xml_files:
        cases += target_cases(path.rsplit('/', 1)[-1].replace('.xml', ''), 'PASSED', path)
    return cases + [Case(text, FAILED, '') for text in faults]


def report(cases, out):
    """Prints failures, skips by reason and the verdict; returns the exit status."""
    skipped = collections.OrderedDict()
    for case in cases:
        if case.outcome == SKIPPED:
            skipped.setdefault(case.detail, []).append(case.name)
    for reason, names in skipped.items():
        print('SKIPPED %d: %s' % (len(names), reason), file=out)
        for name in names:
            print('        %s' % name, file=out)
    for case in cases:
        if case.outcome == FAILED:
            print('FAILED  %s%s' % (case.name, ': ' + case.detail if case.detail else ''), file=out)
    count = collections.Counter(case.outcome for case in cases)
    if not count[PASSED] and not count[FAILED]:
        # Nothing ran: that is no pass.
        print('FAILED  no test case ran', file=out)
        count[FAILED] = 1
    print('%d passed, %d failed, %d skipped' % (count[PASSED], count[FAILED], count[SKIPPED]), file=out)
    return 1 if count[FAILED] else 0


def main(arguments):
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--targets')
    parser.add_argument('--events', action='append', default=[])
    parser.add_argument('--xml', action='append', default=[])
    parser.add_argument('--fault', action='append', default=[])
    options = parser.parse_args(arguments)
    targets = []
    if options.targets:
        targets = read_file(options.targets).decode().split()
    return report(gather(targets, options.events, options.xml, options.fault), sys.stdout)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
