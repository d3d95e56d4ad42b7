#!/usr/bin/env python3
"""Each house rule finds what it forbids, and leaves alone what it permits."""

import importlib.machinery
import importlib.util
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
for folder in ('tools/e2e', 'tools/lint'):
    sys.path.insert(0, os.path.join(os.getcwd(), folder))

import layers  # pylint: disable=wrong-import-position
import report  # pylint: disable=wrong-import-position
import rules  # pylint: disable=wrong-import-position


def load_script(path):
    loader = importlib.machinery.SourceFileLoader(os.path.basename(path) + '_script', path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class RuleTest(unittest.TestCase):

    def complaints(self, rule, files):
        """What `rule` says about a tree of these files (path -> text)."""
        with tempfile.TemporaryDirectory(dir='/tmp') as root:
            for path, text in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), 'w', encoding='utf-8') as out:
                    out.write(text)
            return rules.RULES[rule](rules.Tree(root))

    def assert_finds(self, rule, text, path='relay/a.cc', others=None):
        found = self.complaints(rule, {path: text, **(others or {})})
        self.assertEqual(len(found), 1, '%s must say one thing about: %s: %s' % (rule, text, found))
        self.assertTrue(found[0].startswith(path), found)

    def assert_permits(self, rule, text, path='relay/a.cc', others=None):
        self.assertEqual(self.complaints(rule, {path: text, **(others or {})}), [])

    def test_words(self):
        for text in ('strcpy(a, b);', 'sprintf(a, "x");', 'int x = atoi(s);', 'getaddrinfo(a, b, c, d);',
                     'absl::Mutex m;', 'std::mutex m;', 'std::thread t;', 'std::jthread t;', 'throw 1;',
                     'usleep(1);', 'std::this_thread::sleep_for(x);', '  sleep(1);', 'std::cout << 1;',
                     'f(SPLICE_F_MORE);', '// TODO: later'):
            with self.subTest(text=text):
                self.assert_finds('words', text)
        for text in ('snprintf(a, n, "x");', '// strcpy(a, b) has no bound', 'Log("use sprintf(");',
                     'std::thread::id id;', 'wheel.sleep(1);', 'int throwing = 1;', 'retry (x);',
                     '// Exception: the tool has one thread.\n// No lock is needed.\nstd::mutex m;',
                     'std::mutex m;  // Exception: measured'):
            with self.subTest(text=text):
                self.assert_permits('words', text)
        self.assert_permits('words', 'std::thread t;', 'relay/worker_pool.cc')
        self.assert_permits('words', 'std::thread t;', 'protocols/http/a_test.cc')
        self.assert_finds('words', 'std::thread t;', 'protocols/http/a.cc')

    def test_includes(self):
        others = {'sys/base/b.h': '', 'tls/t.h': '', 'relay/r.h': '', 'protocols/http/h.h': ''}
        for path, text in (('relay/a.cc', '#include <relay/r.h>'), ('relay/a.cc', '#include "r.h"'),
                           ('relay/a.cc', '#include "tls/t.h"'), ('tls/a.cc', '#include "relay/r.h"'),
                           ('sys/base/a.cc', '#include "relay/r.h"'), ('relay/a.cc', '#include "protocols/http/h.h"'),
                           ('relay/a.cc', '#include "string"'), ('relay/a.cc', '#include <liburing.h>'),
                           ('relay/a.cc', '#include <openssl/ssl.h>')):
            with self.subTest(path=path, text=text):
                self.assert_finds('includes', text, path, others)
        for path, text in (('relay/a.cc', '#include "sys/base/b.h"'), ('relay/a.cc', '#include <sys/socket.h>'),
                           ('relay/a.cc', '#include "absl/status/status.h"'), ('tls/a.cc', '#include <openssl/ssl.h>'),
                           ('tools/sluice/a.cc', '#include "protocols/http/h.h"')):
            with self.subTest(path=path, text=text):
                self.assert_permits('includes', text, path, others)

    def test_guards(self):
        good = '#ifndef SLUICE_RELAY_A_B_H_\n#define SLUICE_RELAY_A_B_H_\n#endif\n'
        self.assert_permits('guards', good, 'relay/a_b.h')
        self.assert_finds('guards', good, 'relay/a_c.h')
        self.assert_finds('guards', '#pragma once\n', 'relay/a.h')
        self.assert_finds('guards', good.replace('RELAY_A_B', 'SYS_A'), 'sys/a.h')
        self.assert_finds('guards', good + 'using namespace std;\n', 'relay/a_b.h')

    def test_threads(self):
        self.assert_finds('threads', '// A pipe.\nclass Pipe\n    : public Base {\n};\n', 'relay/a.h')
        for text in ('// A pipe. Worker\n// only.\nclass Pipe {', '// Threads: any.\nclass Pipe {', 'class Pipe;\n',
                     'enum class Kind { kA };\n', 'struct Values {\n'):
            with self.subTest(text=text):
                self.assert_permits('threads', text, 'relay/a.h')
        self.assert_permits('threads', 'class Fake {', 'relay/testing/a.h')

    def test_build_files(self):
        for text in ('includes = ["."]', 'includes = [\n    "x",\n]', 'copts = ["-I."]', 'strip_include_prefix = "x"',
                     'tags = [\n  "exclusive",\n]'):
            with self.subTest(text=text):
                self.assert_finds('build_files', text, 'relay/BUILD')
        self.assert_permits('build_files', '# includes = ["x"]\npackage_group(includes = [":tools"])', 'BUILD')

    def test_docs(self):
        self.assert_finds('docs', 'see [x](y.md)', 'relay/README.md')
        self.assert_finds('docs', 'see `relay/flow.h`', 'README.md')
        others = {'relay/flow.h': '', 'relay/README.md': ''}
        for text in ('see [x](relay/README.md#part)', 'see [x](#here)', 'see [x](https://example.com/y)',
                     'see `relay/flow.h`', 'the pair `relay/flow`', 'the folder `relay/`', 'run `tools X`'):
            with self.subTest(text=text):
                self.assert_permits('docs', text, 'README.md', others)

    def test_sizes(self):
        self.assert_finds('sizes', 'x\n' * 151, 'README.md')
        self.assert_permits('sizes', 'x\n' * 150, 'README.md')
        self.assert_finds('sizes', '\n' * 201, 'tools/sluice/main.cc')

    def test_scripts(self):
        self.assert_finds('scripts', '#!/bin/sh\n', 'tools/x')
        self.assert_finds('scripts', 'def f(:\n', 'tools/x.py')
        self.assert_finds('scripts', 'if true; then\n', 'tools/x.sh')
        self.assert_permits('scripts', 'x = 1\n', 'tools/x.py')

    def test_headers_proven_by_their_source(self):
        headers = load_script('tools/lint/headers')
        with tempfile.TemporaryDirectory(dir='/tmp') as root:
            for name, text in (('a.h', ''), ('a.cc', '// A.\n#include "a.h"\n#include <map>\n'), ('b.h', ''),
                               ('b.cc', '#include <map>\n#include "b.h"\n'), ('c.h', '')):
                with open(os.path.join(root, name), 'w', encoding='utf-8') as out:
                    out.write(text)
            tree = rules.Tree(root)
            self.assertEqual([headers.proven(tree, h) for h in ('a.h', 'b.h', 'c.h')], [True, False, False])


class LayersTest(unittest.TestCase):

    def test_directions(self):
        for user, used in (('sys/base', 'relay'), ('relay', 'tls'), ('tls', 'relay'), ('relay', 'protocols/service'),
                           ('protocols/access', 'protocols/service'), ('protocols/service', 'protocols/http'),
                           ('protocols/http', 'protocols/config'), ('protocols/config', 'tools/sluice'),
                           ('relay', 'protocols/testing'), ('elsewhere', 'sys/base'), ('relay', 'elsewhere')):
            self.assertFalse(layers.may_use(user, used), '%s -> %s' % (user, used))
        for user, used in (('relay', 'sys/loop'), ('sys/loop', 'sys/base'), ('relay/testing', 'relay'),
                           ('protocols/access', 'relay'), ('protocols/upstream', 'protocols/dns'),
                           ('protocols/gateways', 'protocols/http'), ('protocols/config/commands', 'protocols/admin'),
                           ('tools/sluice', 'protocols/config'), ('', 'tools/sluice'), ('tools/e2e', ''),
                           ('protocols/http', 'testdata/http'), ('protocols/http', 'protocols/testing'),
                           ('relay', 'tools/bazel'), ('bench/loop', 'relay')):
            self.assertTrue(layers.may_use(user, used), '%s -> %s' % (user, used))

    def test_judge_names_the_edge(self):
        judge = load_script('tools/lint/layers').judge
        graph = 'digraph mygraph {\n  "//relay:flow" -> "//sys/base:fd"\n  "//sys/base:fd" -> "//relay:flow"\n}\n'
        cases = dict(judge(graph))
        self.assertEqual(cases['layers.sys'], ['//sys/base:fd depends on //relay:flow'])
        self.assertEqual(cases['layers.relay'], [])

    def test_judge_of_nothing_fails(self):
        cases = load_script('tools/lint/layers').judge('digraph mygraph {\n}\n')
        self.assertTrue(any(complaints for _, complaints in cases))


if __name__ == '__main__':
    sys.exit(report.run('lint_test', sys.argv[1:]))
