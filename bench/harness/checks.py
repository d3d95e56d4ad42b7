"""Before anything is timed: whether a proxy passes the bytes at all."""

import hashlib
import os

from harness.rig import Rig, RunError

_BODY_BYTES = 8 << 20
_POST_BYTES = 1 << 20
_ECHO_BYTES = 64 << 10  # fits the buffers: a proxy that does one thing at a time passes it
_FIRST_SPEAKERS = 20
_PERIOD = 251  # bench/load/tcp.h: byte i of a stream is i mod 251


def expected_sha256(size):
    """Of the first bytes of the pattern, which is what the origin sends."""
    period = bytes(range(_PERIOD))
    return hashlib.sha256((period * (size // _PERIOD + 1))[:size]).hexdigest()


def check_proxy(setup, proxy, kind):
    """RunError unless bodies pass as they are, both ways. Returns what the proxy does not do besides, in words: nothing
    that is measured needs it, but who compares proxies wants to know."""
    with Rig(setup, proxy, kind, "http", 4) as rig:
        _fetch(rig, kind, _BODY_BYTES)
        _fetch(rig, kind, _BODY_BYTES, f"--post={_POST_BYTES}")
    if kind == "http":
        return []
    lacking = []
    with Rig(setup, proxy, kind, "echo", 4) as rig:
        saved = _save(rig)
        _check(rig, f"--send={_ECHO_BYTES}", "--half-close=0", f"--save={saved}")
        _compare(saved, _ECHO_BYTES)
        if _try(lacking, "8 MB both ways at once", rig, f"--send={_BODY_BYTES}", "--half-close=0"):
            _try(lacking, "half-closed connections", rig, f"--send={_BODY_BYTES}")
    with Rig(setup, proxy, kind, "source", 4) as rig:
        for _ in range(_FIRST_SPEAKERS):
            # The first bytes may be there before the proxy knows that it is connected.
            if not _try(lacking, "origins that speak first", rig, "--receive=4096"):
                break
    return lacking


def _fetch(rig, kind, size, *more):
    saved = _save(rig)
    url = f"http://{rig.origin()}/{size}" if kind == "http" else f"/{size}"
    _run(rig, "fetch", f"--url={url}", f"--host={rig.origin()}", f"--save={saved}", *more)
    _compare(saved, size)


def _check(rig, *arguments):
    _run(rig, "check", *arguments)


def _try(lacking, what, rig, *arguments):
    try:
        _check(rig, *arguments)
        return True
    except RunError:
        lacking.append(what)
        return False


def _run(rig, command, *arguments):
    result = rig.finish(rig.load(command, [*rig.route(), *arguments]))
    if not result["ok"]:
        raise RunError(f"{rig.proxy.name} does not pass the bytes: {result['wrong']}")


def _save(rig):
    return os.path.join(rig.folder, "body")


def _compare(path, size):
    with open(path, "rb") as file:
        found = hashlib.sha256(file.read()).hexdigest()
    if found != expected_sha256(size):
        raise RunError(f"a body of {size} bytes came changed: sha256 {found}, not {expected_sha256(size)}")
