#!/usr/bin/env python3
"""Giving up root: setuid, setgid, chroot. Needs a real root user, so it runs on the host's network (port 0 only)."""

import os
import pwd
import re

import rig
import peers

# At its end LeakSanitizer reads /proc, which a process in a chroot has not.
IN_CHROOT = {'ASAN_OPTIONS': 'detect_leaks=0'}


def identity(pid):
    """{'Uid' | 'Gid' | 'Groups' | 'CapEff' | 'CapPrm' | 'NoNewPrivs': words} of every thread of the process."""
    threads = []
    for task in os.listdir('/proc/%d/task' % pid):
        with open('/proc/%d/task/%s/status' % (pid, task), encoding='ascii') as status:
            fields = dict(line.split(':', 1) for line in status.read().splitlines() if ':' in line)
        threads.append({name: fields[name].split() for name in ('Uid', 'Gid', 'Groups', 'CapEff', 'CapPrm')})
    return threads


class Drop(rig.Case):

    def setUp(self):
        self.need_root()
        with open('/proc/self/uid_map', encoding='ascii') as mapping:
            if int(mapping.read().split()[2]) < 65535:
                self.skipTest('NOT RUN: root of a user namespace with few users; needs the real one')

    def _nobody(self):
        try:
            return pwd.getpwnam('nobody')
        except KeyError:
            self.skipTest('NOT RUN: there is no user nobody')

    def _config(self, origin, lines):
        return lines + 'tcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port

    def _is(self, proxy, uid, gid):
        for thread in identity(proxy.pid):
            self.assertEqual(thread['Uid'], [str(uid)] * 4)
            self.assertEqual(thread['Gid'], [str(gid)] * 4)
            self.assertIn(thread['Groups'], ([], [str(gid)]))
            if uid:
                self.assertEqual((int(thread['CapEff'][0], 16), int(thread['CapPrm'][0], 16)), (0, 0))

    def test_user_and_group_by_name_hold_for_every_thread(self):
        nobody = self._nobody()
        group = os.popen('getent group %d' % nobody.pw_gid).read().split(':')[0]
        with peers.Origin() as origin:
            with rig.Sluice(self._config(origin, 'setgid %s\nsetuid nobody\n' % group)) as proxy:
                peers.tunnel_works(proxy.address())
                self._is(proxy, nobody.pw_uid, nobody.pw_gid)

    def test_files_of_the_configuration_are_found_again_inside_a_chroot(self):
        """Paths are those of the world outside: a log is opened anew, socket files are made and removed, all ends clean."""
        folder = rig.scratch_folder()
        os.chmod(folder, 0o755)
        root = os.path.join(folder, 'root')
        os.mkdir(root)
        os.chown(root, 65532, 65533)
        with peers.Origin() as origin:
            relay = 'tcppm -iunix:%s/%%s 0 127.0.0.1 %d\n' % (root, origin.port)
            before = 'pidfile %s/pid\nlog %s/log\nchroot %s\nsetgid 65533\nsetuid 65532\n' % (root, root, root)
            with rig.Sluice(before + relay % 'one', folder=root, env=IN_CHROOT) as proxy:
                peers.tunnel_works(os.path.join(root, 'one'))
                rig.eventually(lambda: os.path.getsize(os.path.join(root, 'log')) > 0, 'a record')
                os.rename(os.path.join(root, 'log'), os.path.join(root, 'log.1'))
                self.assertIn('reloaded', proxy.reload(before + relay % 'one' + relay % 'two'))
                for name in ('one', 'two'):
                    peers.tunnel_works(os.path.join(root, name))
                rig.eventually(lambda: os.path.exists(os.path.join(root, 'log')), 'the new log')
            self.assertEqual(sorted(os.listdir(root)), ['log', 'log.1', 'sluice.cfg'])
            self.assertEqual(proxy.stderr.matching('error|cannot'), [])

    def test_user_and_group_by_number(self):
        with peers.Origin() as origin:
            with rig.Sluice(self._config(origin, 'setgid 65533\nsetuid 65532\n')) as proxy:
                peers.tunnel_works(proxy.address())
                self._is(proxy, 65532, 65533)

    def test_user_alone_takes_its_group_along(self):
        nobody = self._nobody()
        with peers.Origin() as origin, rig.Sluice(self._config(origin, 'setuid nobody\n')) as proxy:
            self._is(proxy, nobody.pw_uid, nobody.pw_gid)

    def test_unknown_user_is_an_error_before_anything_is_served(self):
        for line in ('setuid no-such-user-here\n', 'setgid no-such-group-here\n', 'chroot /no/such/folder\n'):
            proxy = rig.Sluice(line + 'tcppm -i127.0.0.1 0 127.0.0.1 1\n', ready=False)
            self.assertEqual(proxy.wait_exit(), 1)
            self.assertTrue(proxy.stderr.matching(re.escape(line.split()[1])), proxy.stderr.text())
            self.assertNotIn('ready', proxy.stderr.all())

    def test_chroot_holds_the_process_and_names_still_resolve(self):
        folder = rig.scratch_folder()
        os.chmod(folder, 0o755)
        with peers.Origin() as origin:
            config = 'chroot %s 65532 65533\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (folder, origin.port)
            with rig.Sluice(config, env=IN_CHROOT) as proxy:
                self.assertEqual(os.readlink('/proc/%d/root' % proxy.pid), folder)
                self.assertEqual(os.readlink('/proc/%d/cwd' % proxy.pid), folder)
                self._is(proxy, 65532, 65533)
                peers.tunnel_works(proxy.address())

    def test_log_opened_as_root_goes_on_after_the_drop(self):
        folder = rig.scratch_folder()  # Mode 0700, root's.
        path = os.path.join(folder, 'access.log')
        config_folder = rig.scratch_folder()
        with peers.Origin() as origin:
            config = 'log %s\nsetuid 65532\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % (path, origin.port)
            with rig.Sluice(config, folder=config_folder) as proxy:
                peers.tunnel_works(proxy.address())
                rig.eventually(lambda: os.path.getsize(path), 'a record is written')

    def test_reload_that_needs_root_again_fails_as_a_whole(self):
        config_folder = rig.scratch_folder()
        os.chmod(config_folder, 0o755)
        with peers.Origin() as origin:
            config = 'setuid 65532\ntcppm -i127.0.0.1 0 127.0.0.1 %d\n' % origin.port
            with rig.Sluice(config, folder=config_folder) as proxy:
                port = next((p for p in range(1, 1024) if not peers.listeners(p)), None)
                with open('/proc/sys/net/ipv4/ip_unprivileged_port_start', encoding='ascii') as start:
                    if int(start.read()) <= port:
                        self.skipTest('NOT RUN: low ports are open to all here')
                said = proxy.reload(config + 'tcppm -i127.0.0.1 %d 127.0.0.1 %d\n' % (port, origin.port))
                self.assertIn('failed', said)
                self.assertTrue(proxy.stderr.matching(r'127\.0\.0\.1:%d\b.*(?i:permission)' % port),
                                proxy.stderr.text())
                peers.tunnel_works(proxy.address())


if __name__ == '__main__':
    rig.main()
