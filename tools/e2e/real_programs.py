"""Server programs that people really run, in the background of a case."""

import os
import subprocess

import peers
import rig


class Program:
    """A server program in the background that listens on `port`."""

    def __init__(self, port, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        self.said = rig.Lines(self.process.stderr)
        rig.eventually(lambda: peers.listeners(port) or self.process.poll() is not None, 'it listens')
        if self.process.poll() is not None:
            raise AssertionError('%s ended: %s' % (command[0], self.said.text()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Haproxy(Program):
    """haproxy as a balancer of TCP with one upstream, on this port, with these words behind its address."""

    def __init__(self, upstream_port, words=''):
        port, folder = peers.free_port(), rig.scratch_folder()
        self.address = ('127.0.0.1', port)
        path = os.path.join(folder, 'haproxy.cfg')
        with open(path, 'w', encoding='ascii') as out:
            out.write('global\n  maxconn 100\ndefaults\n  mode tcp\n  timeout connect 5s\n  timeout client 10s\n'
                      '  timeout server 10s\nlisten balancer\n  bind 127.0.0.1:%d\n  server one 127.0.0.1:%d %s\n' %
                      (port, upstream_port, words))
        super().__init__(port, 'haproxy', '-db', '-f', path)
