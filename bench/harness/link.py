"""A slow, long or lossy link between client and proxy: by the kernel where it can, else by bench/link."""

import dataclasses
import re
import subprocess

KERNEL, EMULATOR = "netem and fq", "bench/link/link_emulator"
_UNITS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


@dataclasses.dataclass(frozen=True)
class Link:
    """Both ways: bits a second of each connection (0: no limit), milliseconds of delay, percent of packets lost."""

    rate: int
    delay: float
    loss: float
    way: str = ""  # KERNEL or EMULATOR, once it is known

    def __str__(self):
        rate = f"{self.rate / 1e6:g} Mbit/s a connection" if self.rate else "no limit of rate"
        return f"{rate}, {self.delay:g} ms, {self.loss:g}% lost" + (f" (by {self.way})" if self.way else "")


def parse(text):
    """"20M,5,0.5": rate, delay, loss."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([kMG]?)(?:bit)?,(\d+(?:\.\d+)?)(?:ms)?,(\d+(?:\.\d+)?)%?", text)
    if not found:
        raise ValueError(f"--link {text}: RATE,DELAY,LOSS is needed: bits a second, milliseconds, percent, as in 20M,5,0.5")
    rate, unit, delay, loss = found.groups()
    return Link(int(float(rate) * _UNITS[unit]), float(delay), float(loss))


def kernel_commands(link, device):
    """The commands that shape what leaves a device. The queue holds what is under way at any rate that veth reaches."""
    commands = [f"tc qdisc add dev {device} root handle 1: netem limit 100000 delay {link.delay}ms loss {link.loss}%"]
    if link.rate:
        commands.append(f"tc qdisc add dev {device} parent 1: handle 2: fq maxrate {link.rate}bit")
    return commands


def kernel_can():
    """Whether the kernel has what kernel_commands() takes, tried out in a namespace of its own."""
    script = "\n".join(["ip link set lo up", *kernel_commands(Link(10**6, 1.0, 1.0), "lo")])
    try:
        return subprocess.run(["unshare", "--net", "sh", "-ec", script], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def emulator_arguments(link, devices):
    rate = [f"--rate={link.rate}"] if link.rate else []
    return ["--tun", ",".join(devices), *rate, f"--delay={link.delay}", f"--loss={link.loss}"]
