"""Installing Debian's packages of the proxies that are compared, when asked to."""

import os
import subprocess

_POLICY = "/usr/sbin/policy-rc.d"


def install(packages, say):
    """None, or why it failed. Packages that start themselves when they are installed are kept from it meanwhile: policy-rc.d
    says no, unless the machine has a policy of its own."""
    say(f"installing {' '.join(packages)}")
    ours = not os.path.exists(_POLICY)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        if ours:
            with open(_POLICY, "w") as file:
                file.write("#!/bin/sh\nexit 101\n")
            os.chmod(_POLICY, 0o755)
        command = ["apt-get", "-q", "-y", "--no-install-recommends", "install", *packages]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:  # perhaps an index that is too old, or none
            subprocess.run(["apt-get", "-q", "update"], env=environment, capture_output=True)
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
    except OSError as error:
        return str(error)
    finally:
        if ours and os.path.exists(_POLICY):
            os.unlink(_POLICY)
    return None if done.returncode == 0 else done.stderr.strip()[-300:] or "apt-get failed"
