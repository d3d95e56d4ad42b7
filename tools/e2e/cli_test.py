#!/usr/bin/env python3
"""The command line and `sluice check`: exit status, messages, and that hostile files do no harm."""

import os
import re
import subprocess
import time

import rig
import peers


@rig.expand
class CommandLine(rig.Case):

    @rig.over(unknown_flag=['--no-such-flag', 'x.cfg'], two_configurations=['a.cfg', 'b.cfg'],
              bad_backend=['--backend=kqueue', 'x.cfg'], no_workers=['--workers=0', 'x.cfg'],
              workers_in_words=['--workers=many', 'x.cfg'], negative_lameduck=['--lameduck=-1', 'x.cfg'],
              bad_drain=['--drain-timeout=soon', 'x.cfg'], check_of_nothing=['check'],
              empty_name=[''], check_of_an_empty_name=['check', ''],
              check_of_two=['check', 'a.cfg', 'b.cfg'], bad_threads=['--handshake-threads=', 'x.cfg'])
    def test_usage_error_is_2_and_says_what_is_wrong(self, arguments):
        status, out, err = rig.run(*arguments)
        self.assertEqual((status, out), (2, ''), err)
        self.assertTrue(err.strip())

    def test_help_names_every_flag(self):
        status, out, err = rig.run('--help')
        self.assertEqual(status, 0)
        for flag in ('--backend', '--workers', '--handshake-threads', '--lameduck', '--drain-timeout', '--allow-system',
                     'check', 'version'):
            self.assertIn(flag, out + err)

    def test_version(self):
        status, out, _ = rig.run('version')
        self.assertEqual(status, 0)
        self.assertRegex(out, r'^sluice \S+')

    def test_bad_configuration_is_1_before_any_port_is_opened(self):
        port = peers.free_port()
        proxy = rig.Sluice('tcppm -i127.0.0.1 %d 127.0.0.1 1\nnosuchcommand 1\n' % port, ready=False)
        self.assertEqual(proxy.wait_exit(), 1)
        self.assertFalse(proxy.stderr.matching('^listening'))
        checked = rig.run('check', proxy.config_path)
        self.assertEqual(checked[:2], (1, ''))
        lines = [line for line in checked[2].splitlines() if re.search(r':\d+: (error|warning): ', line)]
        self.assertTrue(lines)
        for line in lines:
            self.assertIn(line, proxy.stderr.all())


def as_bytes(text):
    return text if isinstance(text, bytes) else text.encode()


@rig.expand
class Check(rig.Case):

    def test_valid_configuration_binds_nothing_resolves_nothing_and_writes_nothing(self):
        folder = rig.scratch_folder()
        port = peers.free_port()
        config = ('log %s/access.log\nnserver 127.0.0.1:1\ntcppm -i127.0.0.1 %d host.invalid 80\n'
                  'tcppm -iunix:%s/s 0 host.invalid 80\n') % (folder, port, folder)
        path = os.path.join(folder, 'ok.cfg')
        with open(path, 'w', encoding='ascii') as out:
            out.write(config)
        with peers.Origin(address=('127.0.0.1', port)):  # Even with the port in use.
            started = time.monotonic()
            status, out, err = rig.run('check', path)
            self.assertLess(time.monotonic() - started, 1 if not rig.sanitized() else 3)
        self.assertEqual((status, out), (0, ''), err)
        self.assertNotIn('error', err)
        self.assertEqual(os.listdir(folder), ['ok.cfg'])

    def test_standard_input(self):
        status, out, err = rig.run('check', '-', stdin=b'tcppm 0 127.0.0.1 80\n')
        self.assertEqual((status, out), (0, ''), err)
        status, out, err = rig.run('check', '-', stdin=b'tcppm 0 127.0.0.1 80\nbogus\n')
        self.assertEqual((status, out), (1, ''))
        self.assertRegex(err, r'(?m)^\S*:2: error: .*bogus')

    @rig.over(unknown_word='bogus 1 2 3\n', zero_byte=b'tcppm 0 127.0.0.1\0 80\n',
              line_of_1_mb=b'tcppm ' + b'x' * (1 << 20),
              million_words=b'tcppm ' + b'a ' * 500000, unterminated_quote='tcppm 0 "127.0.0.1 80\n',
              missing_file='allow $/no/such/file\n', port_too_large='tcppm 0 127.0.0.1 65536\n',
              port_in_words='tcppm 0 127.0.0.1 http\n', too_few_words='tcppm 0\n', too_many_words='tcppm 0 a 1 2 3\n',
              bad_option='tcppm -Z 0 127.0.0.1 80\n', splice_mode_4='tcppm -s4 0 127.0.0.1 80\n',
              splice_mode_8='tcppm -s8 0 127.0.0.1 80\n', grace_of_two='tcppm -g1,2 0 127.0.0.1 80\n',
              negative_maxconn='maxconn -1\n', no_maxconn='maxconn 0\n',
              maxconn_overflow='maxconn 99999999999999999999\n',
              binary=bytes(range(256)) * 16, high_bytes=b'\xff\xfe\xfa tcppm\n',
              include_of_itself=b'include SELF\n', include_of_a_folder='include /tmp\n')
    def test_bad_input_is_an_error_with_file_and_line(self, text):
        folder = rig.scratch_folder()
        path = os.path.join(folder, 'bad.cfg')
        with open(path, 'wb') as out:
            out.write(b'# first line\n' + as_bytes(text).replace(b'SELF', path.encode()))
        status, out, err = rig.run('check', path)
        self.assertEqual((status, out), (1, ''), err[:2000])
        self.assertRegex(err, r'(?m)^%s:\d+: error: .{5,}' % re.escape(path))
        self.assertLess(len(err), 100000, 'the complaint is readable')
        self.assertNotRegex(err, '[\x00-\x08\x0b-\x1f]', 'nothing of the file reaches the terminal raw')

    @rig.over(absent='/no/such/place/x.cfg', folder='/tmp')
    def test_unreadable_file_is_line_0(self, path):
        status, out, err = rig.run('check', path)
        self.assertEqual((status, out), (1, ''))
        self.assertRegex(err, r'(?m)^%s:0: error: ' % re.escape(path))

    def test_file_that_may_not_be_read(self):
        folder = rig.scratch_folder()
        path = os.path.join(folder, 'secret.cfg')
        with open(path, 'w', encoding='ascii') as out:
            out.write('tcppm 0 127.0.0.1 80\n')
        os.chmod(path, 0)
        command = [rig.BINARY, 'check', path]
        if os.geteuid() == 0:  # Root without the right to read everything.
            self.need('setpriv')
            command = ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] + command
        done = subprocess.run(command, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, b''))
        self.assertRegex(done.stderr.decode(), r'(?m)^%s:0: error: .*(?i:permission)' % re.escape(path))

    def test_warnings_alone_are_0(self):
        config = b'stacksize 65536\ntcppm 0 127.0.0.1 80\n  tcppm 0 127.0.0.1 81\n'
        status, out, err = rig.run('check', '-', stdin=config)
        self.assertEqual((status, out), (0, ''))
        self.assertRegex(err, r'(?m)^\S+:1: warning: ')
        self.assertRegex(err, r'(?m)^\S+:3: warning: ')

    def test_every_error_of_a_file_is_told_in_one_run(self):
        status, _, err = rig.run('check', '-', stdin=b'bogus\ntcppm 0 127.0.0.1 80\nmaxconn zero\nrubbish\n')
        self.assertEqual(status, 1)
        self.assertEqual(re.findall(r'(?m)^\S*:(\d+): error:', err), ['1', '3', '4'])


if __name__ == '__main__':
    rig.main()
