"""Three network namespaces, linked by veth:  client 10.0.1.2 - 10.0.1.1 proxy 10.0.2.1 - 10.0.2.2 origin.

With a shaped link, veth between client and proxy is slowed by the kernel, or its place is taken by a pair of TUN devices.

The namespaces have no names: each is held by a process and entered through /proc/PID/ns/net, so nothing has to be
mounted and nothing outlives its holder. They are built anew for every run, so that no run meets the ports in TIME_WAIT,
the routes' learned metrics or the sockets of another.
"""

import select
import subprocess

from harness import link as links
from harness.cpus import ROLES

CLIENT_IP, PROXY_IP, PROXY_ORIGIN_SIDE_IP, ORIGIN_IP = "10.0.1.2", "10.0.1.1", "10.0.2.1", "10.0.2.2"
CONGESTION_CONTROL = "reno"

_LINKS = {  # interface -> (role, address, default gateway)
    "client0": ("client", CLIENT_IP, PROXY_IP),
    "proxy0": ("proxy", PROXY_IP, None),
    "proxy1": ("proxy", PROXY_ORIGIN_SIDE_IP, None),
    "origin0": ("origin", ORIGIN_IP, PROXY_ORIGIN_SIDE_IP),
}

_SETTINGS = [
    f"net.ipv4.tcp_congestion_control={CONGESTION_CONTROL}",
    "net.core.somaxconn=65535",
    "net.ipv4.tcp_max_syn_backlog=65535",
    "net.ipv4.ip_local_port_range=1024 65535",
    "net.ipv4.tcp_tw_reuse=1",
]


class NetworkError(Exception):
    pass


class Network:
    """Built by the constructor, taken down by close().

    `cpus` maps a role to the CPUs that are to do its receive work, by RPS; None leaves that work to whichever CPU sends.
    """

    def __init__(self, children, cpus=None, forwarding=False, link=None, emulator=""):
        """`link`: a links.Link whose way is known; `emulator`: the program for the one that needs it."""
        self._children = children
        self._link_shape = link
        self._emulator_path = emulator
        self.emulator = None  # the running one
        self._holders = {}
        try:
            for role in ROLES:
                self._holders[role] = self._hold()
            self._link()
            for role in ROLES:
                self._configure(role, forwarding and role == "proxy")
            if link and link.way == links.KERNEL:
                for role, device in (("client", "client0"), ("proxy", "proxy0")):
                    self._run(role, "\n".join(links.kernel_commands(link, device)))
            self.steered = bool(cpus) and all([self._steer(name, cpus[role]) for name, (role, *_) in _LINKS.items()])
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.emulator:
            self._children.stop(self.emulator, grace=0)
            self.emulator = None
        for holder in self._holders.values():
            self._children.stop(holder, grace=0)
        self._holders = {}

    def holder(self, role):
        """A process of the role's namespace."""
        return self._holders[role].pid

    def inside(self, role, argv):
        """The command that runs `argv` in the role's namespace. It keeps its process id through exec."""
        return ["nsenter", f"--net=/proc/{self.holder(role)}/ns/net", "--"] + list(argv)

    def _hold(self):
        script = "echo held; exec sleep infinity"
        holder = self._children.start(
            ["unshare", "--net", "sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE
        )
        if holder.stdout.readline() != b"held\n":
            said = holder.stderr.read().decode().strip()
            self._children.stop(holder, grace=0)
            raise NetworkError(f"no network namespace: {said} (it takes root, or a user namespace of one's own)")
        return holder

    def _link(self):
        pairs = [("proxy1", "origin0", "origin")]
        if self._link_shape and self._link_shape.way == links.EMULATOR:
            self._emulate("client0", "proxy0")
        else:
            pairs.append(("proxy0", "client0", "client"))
        for end, peer, role in pairs:
            self._run("proxy", f"ip link add {end} mtu 1500 type veth peer name {peer} mtu 1500 netns {self.holder(role)}")

    def _emulate(self, near, far):
        command = [self._emulator_path, *links.emulator_arguments(self._link_shape, (near, far))]
        self.emulator = self._children.start(
            self.inside("client", command), "client", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        ready = select.select([self.emulator.stdout], [], [], 5)[0]
        if not ready or not self.emulator.stdout.readline().startswith(b"ready"):
            self.emulator.terminate()
            raise NetworkError("the link: " + self.emulator.stderr.read().decode(errors="replace").strip()[-300:])
        self._run("client", f"ip link set {far} netns {self.holder('proxy')}")

    def _configure(self, role, forwarding):
        settings = " ".join(f"'{setting}'" for setting in _SETTINGS + [f"net.ipv4.ip_forward={int(forwarding)}"])
        commands = ["ip link set lo up", f"sysctl -qw {settings}"]
        # No duplicate address detection, no router solicitations during a run; a kernel without IPv6 is as good.
        commands.append("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 2>/dev/null || true")
        for name, (owner, address, gateway) in _LINKS.items():
            if owner == role:
                commands += [f"ip addr add {address}/24 dev {name}", f"ip link set {name} up"]
                commands += [f"ip route add default via {gateway}"] if gateway else []
        self._run(role, "\n".join(commands))

    def _steer(self, name, cpus):
        """What the interface receives is handled on `cpus`. False where sysfs cannot be mounted."""
        mask = f"{sum(1 << cpu for cpu in cpus):x}"
        # The kernel wants groups of 32 bits.
        groups = [mask[max(0, end - 8) : end] for end in range(len(mask), 0, -8)]
        script = f"mount -t sysfs none /sys && printf '%s' {','.join(reversed(groups))} > /sys/class/net/{name}/queues/rx-0/rps_cpus"
        argv = self.inside(_LINKS[name][0], ["unshare", "--mount", "sh", "-ec", script])
        return subprocess.run(argv, capture_output=True).returncode == 0

    def _run(self, role, script):
        done = subprocess.run(self.inside(role, ["sh", "-ec", script]), capture_output=True, text=True)
        if done.returncode:
            raise NetworkError(f"setting up the {role}'s network: {done.stderr.strip()}")
