"""Runs the real binary for black-box tests: rig.Sluice(CONFIG) is a running proxy, rig.Case a case with evidence.

A test file is a script: `FILE BINARY [--backend=uring|epoll] [-k PATTERN]`; Bazel runs it once for each event loop (see
defs.bzl). Everything listens on port 0 and reads the port from the `listening` line. SLUICE_LONG=1 asks for full sizes.
"""

import argparse
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True

import peers  # pylint: disable=wrong-import-position
import report  # pylint: disable=wrong-import-position

BINARY = None  # Set by main().
BACKEND = None
LONG = os.environ.get('SLUICE_LONG') == '1'

# Records that the tests can take apart (record_fields()).
RECORD_FORMAT = 'logformat "L%N %p %E %{result} %{path} %{errno} %C:%c %R:%r %O %I %D %T"\n'


def size(small, full):
    """The small form runs by default, the full one with SLUICE_LONG=1."""
    return full if LONG else small


def sanitized():
    """Whether the binary carries a sanitizer: sizes of memory then say nothing, and time little."""
    with open(BINARY, 'rb') as binary:
        head = binary.read()
    return b'__asan_init' in head or b'__tsan_init' in head


def scratch_folder():
    """A folder with a short path (a Unix socket's path has 107 bytes at most), removed at exit."""
    folder = tempfile.mkdtemp(prefix='sluice-e2e-', dir='/tmp')
    _FOLDERS.append(folder)
    return folder


_FOLDERS = []
_RUNNING = set()
_LAST_WORDS = []  # Of proxies that a failing case left behind.


class Lines:
    """What one output stream of the process said, line by line."""

    def __init__(self, stream, limit=200000):
        self._stream, self._limit = stream, limit
        self._lines, self._ended = [], False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        for line in self._stream:
            with self._changed:
                if len(self._lines) < self._limit:
                    self._lines.append(line.decode('utf-8', 'backslashreplace').rstrip('\n'))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def all(self):
        with self._changed:
            return list(self._lines)

    def text(self):
        return '\n'.join(self.all())

    def matching(self, pattern):
        return [line for line in self.all() if re.search(pattern, line)]

    def wait_for(self, pattern, seconds=10, count=1, after=0):
        """The first line that matches (`count`: the list of so many), looking at line number `after` and later."""
        found = []
        with self._changed:

            def ready():
                found[:] = [line for line in self._lines[after:] if re.search(pattern, line)]
                return len(found) >= count or self._ended

            self._changed.wait_for(ready, seconds)
        if len(found) < count:
            raise AssertionError('%d of %d lines like %r within %g s; the output:\n%s' %
                                 (len(found), count, pattern, seconds, self.text()[-3000:]))
        return found[0] if count == 1 else found[:count]

    def count(self):
        with self._changed:
            return len(self._lines)

    def wait_end(self, seconds=10):
        self._thread.join(seconds)


class Sluice:
    """A running proxy. Use as a context manager, or stop() it; stop() insists on a clean exit status.

    `config` is text (a trailing newline may be missing); {folder} in it is the scratch folder of this process.
    `wrapper` is a command that starts it, `ready=False` skips the wait for the `ready` line.
    """

    def __init__(self, config, *flags, wrapper=(), env=None, ready=True, stdout=None, backend=None, start_seconds=20,
                 folder=None, **popen):
        self.folder = folder or scratch_folder()
        self.config_path = os.path.join(self.folder, 'sluice.cfg')
        self.write_config(config)
        backend = BACKEND if backend is None else backend
        command = list(wrapper) + [BINARY] + (['--backend=' + backend] if backend else []) + list(flags)
        self.command = command + [self.config_path]
        environment = dict(os.environ, **(env or {}))
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=stdout or subprocess.PIPE,
                                        stderr=subprocess.PIPE, env=environment, **popen)
        _RUNNING.add(self)
        self.pid = self.process.pid
        self.stderr = Lines(self.process.stderr)
        self.stdout = Lines(self.process.stdout) if self.process.stdout else None
        self.stopped = False
        if ready:
            self.wait_ready(start_seconds)

    def write_config(self, config):
        text = config.replace('{folder}', self.folder)
        temporary = self.config_path + '.new'
        with open(temporary, 'w', encoding='utf-8') as out:
            out.write(text)
        os.replace(temporary, self.config_path)

    def wait_ready(self, seconds=20, after=0):
        """The services in the order of the configuration: [(name, address)]."""
        self.stderr.wait_for(r'^ready\b', seconds, after=after)
        return self.services(after)

    def services(self, after=0):
        found = []
        for line in self.stderr.all()[after:]:
            match = re.match(r'listening (\S+) (\S+)', line)
            if match:
                found.append((match.group(1).lower(), parse_address(match.group(2))))
        return found

    def address(self, ordinal=0, host=None):
        """Where to connect for the service number `ordinal` of the configuration."""
        address = self.services()[ordinal][1]
        if isinstance(address, str):
            return address
        any_host = {'0.0.0.0': '127.0.0.1', '::': '::1'}.get(address[0], address[0])
        return (host or any_host, address[1])

    def port(self, ordinal=0):
        return self.address(ordinal)[1]

    def alive(self):
        return self.process.poll() is None

    def send_signal(self, number):
        os.kill(self.pid, number)

    def reload(self, config=None, by=signal.SIGHUP, seconds=10):
        """Rewrites the configuration, asks for a reload and waits for the line that says how it went."""
        if config is not None:
            self.write_config(config)
        before = self.stderr.count()
        self.send_signal(by)
        return self.stderr.wait_for(r'^reload', seconds, after=before)

    def wait_exit(self, seconds=10):
        status = self.process.wait(seconds)
        self.stopped = True
        _RUNNING.discard(self)
        self.stderr.wait_end(5)
        if self.stdout:
            self.stdout.wait_end(5)
        return status

    def stop(self, seconds=15):
        """SIGTERM, a moment later a second one (end at once); AssertionError unless the exit status is 0."""
        if self.stopped:
            return
        if self.alive():
            self.send_signal(signal.SIGTERM)
            try:
                self.process.wait(0.3)
            except subprocess.TimeoutExpired:
                self.send_signal(signal.SIGTERM)
        try:
            status = self.wait_exit(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError('still running %g s after two SIGTERMs; stderr:\n%s' %
                                 (seconds, self.stderr.text()[-3000:])) from None
        if status != 0:
            raise AssertionError('exit status %d; stderr:\n%s' % (status, self.stderr.text()[-5000:]))

    def kill(self):
        if self.alive():
            self.process.kill()
        self.wait_exit()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            _LAST_WORDS.append(self.evidence())
            self.kill()
        else:
            self.stop()

    def evidence(self):
        state = 'running' if self.alive() else 'exit status %s' % self.process.poll()
        records = self.stdout.text()[-1000:] if self.stdout else ''
        return '--- %s: %s\n%s\n--- its records\n%s' % (' '.join(self.command[:-1]), state,
                                                       self.stderr.text()[-3000:], records)


def parse_address(text):
    """'1.2.3.4:5', '[::1]:5' or 'unix:/path' as peers wants it."""
    if text.startswith('unix:'):
        return text[5:]
    host, _, port = text.rpartition(':')
    return (host.strip('[]'), int(port))


def run(*arguments, stdin=None, seconds=20, env=None, cwd=None):
    """Runs the binary to its end: (exit status, stdout, stderr)."""
    done = subprocess.run([BINARY] + list(arguments), input=stdin, capture_output=True, timeout=seconds, check=False,
                          env=dict(os.environ, **(env or {})), cwd=cwd)
    return done.returncode, done.stdout.decode('utf-8', 'replace'), done.stderr.decode('utf-8', 'replace')


class Case(unittest.TestCase):
    """A case whose failure shows what every running sluice wrote on stderr."""

    longMessage = True

    def evidence(self):
        said = _LAST_WORDS + [s.evidence() for s in list(_RUNNING)]
        _LAST_WORDS.clear()
        return '\n'.join(said) or '(no sluice is running)'

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest('%s is not installed' % program)

    def need_root(self):
        if os.geteuid() != 0:
            self.skipTest('NOT RUN: needs root, this is uid %d' % os.geteuid())

    def need_plain_build(self, what):
        if sanitized():
            self.skipTest('%s says nothing about a binary with a sanitizer' % what)


def over(**variants):
    """Class decorator helper: the method becomes one case for each keyword, called with the keyword's value."""

    def mark(method):
        method.variants = variants
        return method

    return mark


def seconds(limit):
    """The deadline of a case that may take longer (or must take less) than report.CASE_SECONDS."""

    def mark(method):
        method.seconds = limit
        return method

    return mark


def expand(cls):
    """Class decorator that carries out @over."""
    for name, method in list(vars(cls).items()):
        variants = getattr(method, 'variants', None)
        if variants is None:
            continue
        delattr(cls, name)
        for key, value in variants.items():

            def case(self, _method=method, _value=value):
                return _method(self, _value)

            case.__doc__ = None
            if hasattr(method, 'seconds'):
                case.seconds = method.seconds
            setattr(cls, '%s__%s' % (name, key), case)
    return cls


def eventually(condition, what, limit=10):
    return peers.wait_until(condition, limit, what)


RECORD_NAMES = ('service', 'port', 'code', 'result', 'path', 'errno', 'client', 'upstream', 'from_client',
                'from_upstream', 'millis')


def record_fields(line):
    """A line of RECORD_FORMAT as a dict; counts are numbers."""
    fields = dict(zip(RECORD_NAMES, line.split(' ')))
    for name in ('port', 'from_client', 'from_upstream', 'millis'):
        fields[name] = int(fields[name])
    return fields


def _clean_up():
    for proxy in list(_RUNNING):
        try:
            proxy.kill()
        except Exception:  # Nothing may keep the folders from being removed.
            pass
    for folder in _FOLDERS:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    """Every test file ends with it."""
    global BINARY, BACKEND  # pylint: disable=global-statement
    parser = argparse.ArgumentParser()
    parser.add_argument('binary')
    parser.add_argument('--backend', default='')
    parser.add_argument('-k', action='append', default=[], metavar='PATTERN')
    options = parser.parse_args()
    BINARY, BACKEND = os.path.abspath(options.binary), options.backend
    name = os.path.splitext(os.path.basename(sys.argv[0]))[0] + ('.' + BACKEND if BACKEND else '')
    started = time.monotonic()
    try:
        status = report.run(name, options.k)
    finally:
        _clean_up()
    print('%.1f s' % (time.monotonic() - started))
    sys.stdout.flush()
    os._exit(status)  # Threads of origins may still sit in a read.
