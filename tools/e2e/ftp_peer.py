"""A small FTP server for tests: files in a dictionary, passive transfers, and the faults of servers that people meet."""

import socket
import threading

import peers


class Server:
    """Serves `files`, {path without leading slash: bytes}; folders are what their names imply. Notes each command.

    `say` replaces the reply to a verb ({'EPSV': '500 no'}); None for a reply: none is given, the connection ends.
    """

    def __init__(self, files=None, users=None, host='127.0.0.1', say=None, banner='220 hello\r\n', drip=False,
                 cut_after=None, final='226 done'):
        self.files, self.users = dict(files or {}), users or {'anonymous': None}
        self.say, self.banner, self.drip, self.cut_after, self.final = say or {}, banner, drip, cut_after, final
        self.commands, self.accepted = [], 0
        self._changed = threading.Condition()
        self._listener = socket.socket(peers.family_of((host, 0)))
        self._listener.bind((host, 0))
        self._listener.listen(100)
        self.address = self._listener.getsockname()[:2]
        threading.Thread(target=self._run, daemon=True).start()

    @property
    def port(self):
        return self.address[1]

    def url(self, path=''):
        host = '[%s]' % self.address[0] if ':' in self.address[0] else self.address[0]
        return 'ftp://%s:%d/%s' % (host, self.port, path)

    def verbs(self):
        with self._changed:
            return [command.split(' ')[0] for command in self.commands]

    def wait_for(self, verb, seconds=10):
        with self._changed:
            if not self._changed.wait_for(lambda: verb in [c.split(' ')[0] for c in self.commands], seconds):
                raise AssertionError('no %s, but %s' % (verb, self.commands))

    def close(self):
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()

    def _run(self):
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            sock.settimeout(30)
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock):
        try:
            _Session(self, sock).run()
        except (OSError, EOFError):
            pass
        finally:
            sock.close()

    def note(self, command):
        with self._changed:
            self.commands.append(command)
            self._changed.notify_all()


class _Session:

    def __init__(self, server, sock):
        self.server, self.sock = server, sock
        self.user, self.folder, self.passive, self.rest = None, '', None, b''

    def reply(self, text):
        data = text.encode('latin-1') + b'\r\n'
        if self.server.drip:
            for i in range(len(data)):
                self.sock.sendall(data[i:i + 1])
        else:
            self.sock.sendall(data)

    def line(self):
        while b'\r\n' not in self.rest:
            piece = self.sock.recv(4096)
            if not piece:
                raise EOFError
            self.rest += piece
        line, self.rest = self.rest.split(b'\r\n', 1)
        return line.decode('latin-1')

    def run(self):
        if self.server.banner is None:
            peers.receive_all(self.sock)
            return
        self.reply(self.server.banner.rstrip('\r\n'))
        while True:
            command = self.line()
            self.server.note(command)
            verb, _, argument = command.partition(' ')
            if verb in self.server.say:
                if self.server.say[verb] is None:
                    return
                self.reply(self.server.say[verb])
                continue
            handler = getattr(self, 'do_' + verb.lower(), None)
            if handler is None:
                self.reply('500 what?')
            elif handler(argument) is False:
                return

    def path_of(self, argument):
        return argument.lstrip('/') if argument.startswith('/') else (self.folder + argument)

    def is_folder(self, path):
        return path == '' or any(name.startswith(path.rstrip('/') + '/') for name in self.server.files)

    def do_user(self, user):
        self.user = user
        if user in self.server.users and self.server.users[user] is None and user != 'anonymous':
            self.reply('230 no password needed')
        else:
            self.reply('331 password')

    def do_pass(self, password):
        wanted = self.server.users.get(self.user, False)
        self.reply('230-welcome\r\n230 in' if wanted is None or wanted == password else '530 Not logged in.')

    def do_type(self, _):
        self.reply('200 ok')

    def do_quit(self, _):
        self.reply('221 bye')
        return False

    def do_cwd(self, argument):
        path = self.path_of(argument)
        if not self.is_folder(path):
            self.reply('550 no such folder')
            return
        self.folder = path.rstrip('/') + '/' if path else ''
        self.reply('250 ok')

    def do_size(self, argument):
        data = self.server.files.get(self.path_of(argument))
        self.reply('213 %d' % len(data) if data is not None else '550 no such file')

    def _listen(self):
        self.passive = socket.socket(self.sock.family)
        self.passive.bind((self.sock.getsockname()[0], 0))
        self.passive.listen(1)
        self.passive.settimeout(10)
        return self.passive.getsockname()[1]

    def do_epsv(self, _):
        self.reply('229 Entering Extended Passive Mode (|||%d|)' % self._listen())

    def do_pasv(self, _):
        port = self._listen()
        self.reply('227 Entering Passive Mode (10,0,0,1,%d,%d).' % (port >> 8, port & 255))  # Nobody's address.

    def _transfer(self, work):
        """`work(data socket)` between 150 and the last reply, which come in one piece where there is nothing to move."""
        data, _ = self.passive.accept()
        self.passive.close()
        data.settimeout(30)
        self.reply('150 here it comes')
        try:
            work(data)
        finally:
            data.close()
        if self.server.final is None:
            return False
        self.reply(self.server.final)
        return True

    def do_retr(self, argument):
        content = self.server.files.get(self.path_of(argument))
        if content is None:
            self.reply('550 no such file')
            return True
        cut = self.server.cut_after
        return self._transfer(lambda data: data.sendall(content if cut is None else content[:cut]))

    def do_stor(self, argument):
        path = self.path_of(argument)

        def work(data):
            content, ending = peers.receive_all(data)
            self.server.note('DATA %d %s' % (len(content), ending))
            if ending == peers.FIN:
                self.server.files[path] = content

        return self._transfer(work)

    def _names(self):
        names = {}
        for name, content in self.server.files.items():
            if name.startswith(self.folder):
                first, _, more = name[len(self.folder):].partition('/')
                names[first] = None if more else len(content)
        return names

    def do_mlsd(self, _):
        lines = ['type=cdir;modify=20260131171200; .']
        for name, size in self._names().items():
            lines.append('type=dir; %s' % name if size is None else
                         'type=file;size=%d;modify=20260131171200; %s' % (size, name))
        return self._transfer(lambda data: data.sendall(''.join(l + '\r\n' for l in lines).encode('latin-1')))

    def do_list(self, _):
        lines = ['total 7']
        for name, size in self._names().items():
            lines.append('%srw-r--r-- 1 ftp ftp %d Jan 31 17:12 %s' % ('d' if size is None else '-', size or 4096, name))
        return self._transfer(lambda data: data.sendall(''.join(l + '\r\n' for l in lines).encode('latin-1')))
