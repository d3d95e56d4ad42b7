"""The certificate of proxies that end TLS: ECDSA P-256, as large services have."""

import os
import subprocess


class CertificateError(Exception):
    pass


def make(folder):
    """The path of a PEM file in `folder` with a certificate of its own making and its key; made once."""
    path = os.path.join(folder, "certificate.pem")
    if os.path.exists(path):
        return path
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    names = ["-subj", "/CN=bench", "-addext", "subjectAltName=IP:10.0.1.1,IP:10.0.2.2"]
    command = ["openssl", "req", "-x509", *curve, "-nodes", "-days", "30", *names, "-keyout", path + ".key", "-out", path + ".crt"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        raise CertificateError("no certificate for TLS: apt-get install openssl") from None
    if done.returncode:
        raise CertificateError(f"no certificate for TLS: {done.stderr.strip()[-300:]}")
    with open(path + ".new", "w") as file:
        for part in (".crt", ".key"):
            with open(path + part) as source:
                file.write(source.read())
    os.replace(path + ".new", path)
    return path
