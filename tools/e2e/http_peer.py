"""HTTP/1.1 for tests: a client that reads answers strictly, an origin that notes requests and says what it is told to."""

import socket
import time

import peers


class Broken(Exception):
    """The stream ended, or is not HTTP."""


class Reader:
    """Messages off a socket; what was read behind one waits for the next."""

    def __init__(self, sock):
        self.sock, self.rest = sock, b''

    def more(self):
        piece = self.sock.recv(1 << 16)
        if not piece:
            raise Broken('the stream ended behind %r' % self.rest[-200:])
        self.rest += piece

    def until(self, mark):
        while mark not in self.rest:
            self.more()
        part, self.rest = self.rest.split(mark, 1)
        return part

    def exactly(self, count):
        parts, have = [self.rest[:count]], min(count, len(self.rest))
        self.rest = self.rest[have:]
        while have < count:
            piece = self.sock.recv(min(1 << 18, count - have))
            if not piece:
                raise Broken('the stream ended %d bytes early' % (count - have))
            parts.append(piece)
            have += len(piece)
        return b''.join(parts)

    def to_end(self):
        data, ending = peers.receive_all(self.sock)
        data, self.rest = self.rest + data, b''
        return data, ending

    def head(self):
        """(start line, [(name in lower case, value)])."""
        lines = self.until(b'\r\n\r\n').decode('latin-1').split('\r\n')
        fields = []
        for line in lines[1:]:
            name, colon, value = line.partition(':')
            if not colon:
                raise Broken('no field: %r' % line)
            fields.append((name.lower(), value.strip()))
        return lines[0], fields

    def body(self, fields):
        """What Content-Length or chunked delimits; (data, trailer lines)."""
        length, coding = value_of(fields, 'content-length'), value_of(fields, 'transfer-encoding')
        if length is not None and coding is not None:
            raise Broken('two framings')
        if length is not None:
            return self.exactly(int(length)), []
        if coding is None:
            return b'', []
        data = b''
        while True:
            size = int(self.until(b'\r\n'), 16)
            if size == 0:
                break
            data += self.exactly(size)
            if self.exactly(2) != b'\r\n':
                raise Broken('no line end behind a chunk')
        trailer = []
        while True:
            line = self.until(b'\r\n')
            if not line:
                return data, trailer
            trailer.append(line)

    def request(self):
        line, fields = self.head()
        data, trailer = self.body(fields)
        return Request(line, fields, data, trailer)

    def answer(self, method='GET'):
        """The next answer, a 1xx being one; its body to the end of the stream where nothing delimits it."""
        line, fields = self.head()
        status = int(line.split(' ')[1])
        ending = None
        if method == 'HEAD' or status < 200 or status in (204, 304):
            data = b''
        elif value_of(fields, 'content-length') is None and value_of(fields, 'transfer-encoding') is None:
            data, ending = self.to_end()
        else:
            data, _ = self.body(fields)
        return Answer(status, line, fields, data, ending)


class Request:
    def __init__(self, line, fields, body, trailer):
        self.line, self.fields, self.body, self.trailer = line, fields, body, trailer

    def __getitem__(self, name):
        return value_of(self.fields, name)


class Answer:
    def __init__(self, status, line, fields, body, ending):
        self.status, self.line, self.fields, self.body, self.ending = status, line, fields, body, ending

    def __getitem__(self, name):
        return value_of(self.fields, name)


def value_of(fields, name):
    values = [value for key, value in fields if key == name]
    return ', '.join(values) if values else None


class Client:
    """One connection to the proxy."""

    def __init__(self, address, timeout=10):
        self.sock = peers.connect(address, timeout)
        self.reader = Reader(self.sock)

    def send(self, data):
        self.sock.sendall(data)

    def ask(self, data, method='GET'):
        self.send(data)
        return self.reader.answer(method)

    def get(self, origin, path='/', more=b''):
        return self.ask(get(origin, path, more))

    def ended(self):
        """How the proxy ended the connection; whatever still came before."""
        return self.reader.to_end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()


def host_of(address):
    return '[%s]:%d' % address if ':' in address[0] else '%s:%d' % address


def get(origin, path='/', more=b'', method=b'GET'):
    host = host_of(origin.address).encode()
    return b'%s http://%s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n' % (method, host, path.encode('latin-1'), host, more)


def reply(body, more=b'', status=b'200 OK'):
    return b'HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s' % (status, len(body), more, body)


def serving(answer_to):
    """A handler: notes each request, sends answer_to(request) (None: closes)."""

    def handler(sock, origin):
        reader = Reader(sock)
        while True:
            try:
                request = reader.request()
            except (Broken, OSError):
                return
            origin.note(request)
            answer = answer_to(request)
            if answer is None:
                return
            sock.sendall(answer)

    return handler


def echo_path(request):
    """Answers with the path, so that an answer tells which request it belongs to."""
    return reply(request.line.split(' ')[1].encode())


def saying(data, close=True):
    """A handler: reads one head, sends `data` as it is, closes or goes on reading."""

    def handler(sock, origin):
        reader = Reader(sock)
        try:
            origin.note(reader.head())
        except (Broken, OSError):
            return
        sock.sendall(data)
        if close:
            peers.finish_sending(sock)
        peers.receive_all(sock)

    return handler


def drip(sock, data, pause=0.0):
    for i in range(len(data)):
        sock.sendall(data[i:i + 1])
        if pause:
            time.sleep(pause)


def readable(sock, seconds):
    sock.settimeout(seconds)
    try:
        return sock.recv(1, socket.MSG_PEEK)
    except socket.timeout:
        return None
