"""The house rules. Each takes a Tree and returns its complaints, one line each: `FILE:LINE: what, what instead`."""

import ast
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess

import layers

CODE = ('.cc', '.h')
CLANG_FORMAT = 'clang-format-14'


class Tree:
    """The tracked files under `root`, as paths relative to it."""

    def __init__(self, root, files=None):
        self.root = root
        self.files = sorted(files if files is not None else self._tracked())
        self.file_set = set(self.files)
        self._texts = {}

    def _tracked(self):
        if os.path.exists(os.path.join(self.root, '.git')) and shutil.which('git'):
            output = subprocess.run(['git', '-c', 'safe.directory=*', '-C', self.root, 'ls-files', '-z'],
                                    stdout=subprocess.PIPE, check=True).stdout.decode()
            names = output.split('\0')
        else:  # A release archive, or a machine without git: everything that is there.
            names = []
            for folder, folders, files in os.walk(self.root):
                folders[:] = [f for f in folders if not f.startswith('bazel-') and f not in ('.git', '__pycache__')]
                names += [os.path.relpath(os.path.join(folder, f), self.root) for f in files]
        return [n for n in names if n and os.path.isfile(os.path.join(self.root, n))]

    def named(self, *endings):
        return [f for f in self.files if f.endswith(endings)]

    def builds(self):
        return [f for f in self.files if os.path.basename(f) in ('BUILD', 'BUILD.bazel') or f.endswith('.bzl')]

    def text(self, path):
        if path not in self._texts:
            with open(os.path.join(self.root, path), encoding='utf-8', errors='replace') as file:
                self._texts[path] = file.read()
        return self._texts[path]

    def lines(self, path):
        return self.text(path).splitlines()

    def first_line(self, path):
        with open(os.path.join(self.root, path), 'rb') as file:
            return file.readline(200)


def is_test(path):
    return path.endswith(('_test.cc', '_bench.cc')) or '/testing/' in path or path.startswith(('bench/', 'tools/e2e/'))


def check_format(tree):
    """clang-format has nothing to change."""
    files = tree.named(*CODE)

    def some(part):
        if not part:
            return []
        done = subprocess.run([CLANG_FORMAT, '--dry-run', '--style=file'] + part, cwd=tree.root, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, timeout=120, check=False)
        text = done.stderr.decode(errors='replace')
        found = re.findall(r'^(\S+?):(\d+):\d+: warning: code should be clang-formatted', text, re.M)
        complaints = {}
        for file, line in found:
            complaints.setdefault(file, '%s:%s: not formatted, run %s -i %s' % (file, line, CLANG_FORMAT, file))
        if done.returncode and not complaints:
            return ['%s: exit status %d: %s' % (CLANG_FORMAT, done.returncode, text.strip()[:300])]
        return list(complaints.values())

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return sum(pool.map(some, [files[0::2], files[1::2]]), [])


# (pattern, what is wrong and what instead, which files)
Ban = collections.namedtuple('Ban', 'pattern what where')


def _everywhere(_):
    return True


_MAY_START_THREADS = ('sys/', 'relay/worker', 'protocols/service/', 'protocols/accounting/log_thread',
                      'protocols/accounting/counters/counter_keeper', 'protocols/dns/',
                      'tools/', 'bench/')
BANS = [
    Ban(r'\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca)\s*\(', 'no bound, or hidden state: use absl strings',
        _everywhere),
    Ban(r'\b(atoi|atol|atoll|atof)\s*\(', 'takes bad input for 0: use absl::SimpleAtoi',
        lambda p: not is_test(p)),
    Ban(r'\b(gethostbyname\w*|getaddrinfo|getservbyname\w*|getpwnam\w*|getgrnam\w*)\s*\(',
        'loads NSS libraries, which a static binary has not: use protocols/dns, sys/process', _everywhere),
    Ban(r'\babsl::(Mutex|MutexLock|CondVar|Notification|ReaderMutexLock)\b',
        'not seen by ThreadSanitizer: use sys/thread/mutex.h', _everywhere),
    Ban(r'\bstd::(mutex|condition_variable|shared_mutex|recursive_mutex|lock_guard|unique_lock|scoped_lock)\b',
        'not annotated: use sys/thread/mutex.h', lambda p: p != 'sys/thread/mutex.h' and not is_test(p)),
    Ban(r'\bstd::(jthread|thread(?!::id|::hardware_concurrency))\b', 'threads belong to the pools and the workers',
        lambda p: not is_test(p) and not p.startswith(_MAY_START_THREADS)),
    Ban(r'\bthrow\b', 'no exceptions of ours: absl::Status or ErrnoOr', lambda p: not is_test(p)),
    Ban(r'\b(sleep_for|sleep_until|usleep|nanosleep)\s*\(|(?<![\w.>:])sleep\s*\(',
        'sleeping hides what is waited for: wait for the condition with a deadline', _everywhere),
    Ban(r'\bstd::(cout|cerr|clog)\b', 'standard output belongs to access records, messages to the log',
        lambda p: not is_test(p) and not p.startswith('tools/')),
    Ban(r'\bSPLICE_F_MORE\b', 'holds back the last piece for 200 ms', _everywhere),
]
_UNFINISHED = re.compile(r'\b(TODO|FIXME|XXX|HACK)\b')
# Comments and string literals, which may speak of what is banned.
_NO_CODE = re.compile(r'//.*|"(?:\\.|[^"\\])*"')


def _excepted(lines, index):
    """A comment `Exception: REASON` on the line or in the comment block right above it."""
    if 'Exception:' in lines[index]:
        return True
    for line in reversed(lines[:index]):
        if not line.strip().startswith('//'):
            return False
        if 'Exception:' in line:
            return True
    return False


def check_words(tree):
    """No function that cannot be used safely, nothing left unfinished; `// Exception: REASON` permits one."""
    complaints = []
    for path in tree.named(*CODE):
        bans = [(re.compile(b.pattern), b.what) for b in BANS if b.where(path)]
        lines = tree.lines(path)
        for index, line in enumerate(lines):
            code = _NO_CODE.sub('""', line)
            for pattern, what in bans:
                found = pattern.search(code)
                if found and not _excepted(lines, index):
                    complaints.append('%s:%d: %s: %s' % (path, index + 1, found.group(0).strip(' ({'), what))
    for path in tree.named('.cc', '.h', '.py', '.sh', '.bzl', '.md', 'BUILD'):
        if path.startswith('tools/lint/'):
            continue  # Names what it forbids.
        for index, line in enumerate(tree.lines(path)):
            if _UNFINISHED.search(line):
                complaints.append('%s:%d: unfinished work: finish it, or say what is missing' % (path, index + 1))
    return complaints


_INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')
_QUOTED_LIBRARIES = ('absl/', 'gtest/', 'gmock/', 'benchmark/')


def includes_of(tree, path):
    """(line number, quoted, name) of each #include."""
    result = []
    for index, line in enumerate(tree.lines(path)):
        found = _INCLUDE.match(line)
        if found:
            result.append((index + 1, found.group(1) == '"', found.group(2)))
    return result


def _include_complaint(tree, path, quoted, name):
    package = os.path.dirname(path)
    if not quoted:
        return 'one of ours, write it in quotes' if name in tree.file_set else None
    if name.startswith(_QUOTED_LIBRARIES):
        return None
    if name not in tree.file_set:
        return 'no such file: own headers by their path from the root, the system\'s in angle brackets'
    if not layers.may_use(package, os.path.dirname(name)):
        return '%s must not use %s (tools/lint/layers.py)' % (package, os.path.dirname(name))
    return None


def check_includes(tree):
    """Own headers in quotes by full path, others in angle brackets; includes go down the layers only."""
    complaints = []
    for path in tree.named(*CODE):
        for number, quoted, name in includes_of(tree, path):
            what = _include_complaint(tree, path, quoted, name)
            library = next((l for l in layers.THIRD_PARTY if re.match(re.escape(l) + r'\b', name)), None)
            if not what and library and name not in tree.file_set:
                owners = layers.THIRD_PARTY[library]
                if not any(layers.within(os.path.dirname(path), o) for o in owners):
                    what = 'only for %s' % ', '.join(owners)
            if what:
                complaints.append('%s:%d: #include %s: %s' % (path, number, name, what))
    return complaints


def check_guards(tree):
    """#ifndef SLUICE_FOLDER_FILE_H_, and no header directly in sys/, where it would shadow <sys/...>."""
    complaints = []
    for path in tree.named('.h'):
        guard = 'SLUICE_' + re.sub(r'[^A-Z0-9]', '_', path.upper()) + '_'
        text = tree.text(path)
        if not re.search(r'^#ifndef %s\n#define %s\n' % (guard, guard), text, re.M):
            complaints.append('%s: include guard must be %s' % (path, guard))
        if os.path.dirname(path) == 'sys':
            complaints.append('%s: would shadow a header of libc: use a folder below sys/' % path)
        for index, line in enumerate(tree.lines(path)):
            if line.startswith('using namespace'):
                complaints.append('%s:%d: using namespace in a header' % (path, index + 1))
    return complaints


_THREADS = re.compile(
    r'thread-safe|thread-compatible|\bthreads:|(worker|main thread|handshake threads?) only|'
    r'start-up (and reload )?only', re.I)
_CLASS = re.compile(r'^class [^;]*?\{', re.M)


def check_threads(tree):
    """Each header with a class says which threads may call it. Plain values and free functions need not."""
    complaints = []
    for path in tree.named('.h'):
        words = re.sub(r'\s*\n\s*//\s*', ' ', tree.text(path))
        if not is_test(path) and _CLASS.search(tree.text(path)) and not _THREADS.search(words):
            complaints.append('%s: must say who may call it: Thread-safe, Thread-compatible, Worker only, '
                              'Handshake thread only (may block), Start-up only, or "Threads: ..."' % path)
    return complaints


_BUILD_BANS = [
    # The `includes` of a package_group are labels; those of a library are folders.
    (re.compile(r'\bincludes\s*=\s*\[\s*["\'](?![:/])'), 'lets <sys/...> find our headers'),
    (re.compile(r'\b(strip_include_prefix|include_prefix)\s*='), 'lets <sys/...> find our headers'),
    (re.compile(r'["\']-(I|isystem)'), 'lets <sys/...> find our headers'),
    (re.compile(r'["\']exclusive["\']'), 'in Bazel 4 this means the host, without a sandbox'),
]


def check_build_files(tree):
    """No include folders in BUILD files, no test outside the sandbox by accident."""
    complaints = []
    for path in tree.builds():
        code = re.sub(r'#.*', '', tree.text(path))
        for pattern, what in _BUILD_BANS:
            for found in pattern.finditer(code):
                line = code.count('\n', 0, found.start()) + 1
                complaints.append('%s:%d: %s: %s' % (path, line, found.group(0).split()[0], what))
    return complaints


_LINK = re.compile(r'\[[^\]]*\]\(([^)\s]+)\)')
_PATH = re.compile(r'`((?:sys|relay|tls|protocols|tools|bench|testdata)/[\w./-]+)`')


def check_docs(tree):
    """Links and `paths/like/this` in documents lead somewhere."""
    folders = {os.path.dirname(f) for f in tree.files}
    known = set(tree.files)
    for folder in folders:
        while folder:
            known.add(folder)
            folder = os.path.dirname(folder)
    complaints = []
    for path in tree.named('.md'):
        for index, line in enumerate(tree.lines(path)):
            for target in _LINK.findall(line):
                if re.match(r'[a-z]+:|#', target):
                    continue
                goal = os.path.normpath(os.path.join(os.path.dirname(path), target.split('#')[0]))
                if goal not in known:
                    complaints.append('%s:%d: link to nothing: %s' % (path, index + 1, target))
            for target in _PATH.findall(line):
                # A pair of files is named without its ending: `relay/flow` is flow.h.
                goal = target.rstrip('/')
                if goal not in known and goal + '.h' not in known:
                    complaints.append('%s:%d: no such file: %s' % (path, index + 1, target))
    return complaints


# Where more lines mean that something belongs elsewhere.
_MOST_LINES = {'README.md': 150, 'tools/sluice/main.cc': 200}


def check_sizes(tree):
    """README.md stays one that is read, main.cc one that only puts parts together."""
    complaints = []
    for path, most in _MOST_LINES.items():
        if path in tree.file_set and len(tree.lines(path)) > most:
            complaints.append('%s: %d lines, at most %d' % (path, len(tree.lines(path)), most))
    return complaints


def check_scripts(tree):
    """Scripts with #! are executable and parse."""
    complaints = []
    for path in tree.files:
        first = tree.first_line(path)
        full = os.path.join(tree.root, path)
        script = first.startswith(b'#!')
        if script and not os.access(full, os.X_OK):
            complaints.append('%s: starts with #! and is not executable' % path)
        if path.endswith('.py') or (script and b'python' in first):
            try:
                ast.parse(tree.text(path), path)
            except SyntaxError as error:
                complaints.append('%s:%s: %s' % (path, error.lineno, error.msg))
        elif path.endswith('.sh') or (script and re.search(rb'\b(ba)?sh\b', first)):
            done = subprocess.run(['bash', '-n', full], stderr=subprocess.PIPE, check=False)
            if done.returncode:
                complaints.append(done.stderr.decode(errors='replace').strip().replace(tree.root + '/', ''))
    return complaints


RULES = {
    'format': check_format,
    'words': check_words,
    'includes': check_includes,
    'guards': check_guards,
    'threads': check_threads,
    'build_files': check_build_files,
    'docs': check_docs,
    'sizes': check_sizes,
    'scripts': check_scripts,
}
