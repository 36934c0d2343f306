"""Check the TLS files of a configuration group by loading them, as the first connection will.

The library ``requests`` opens a file only when it connects, and then raises an OSError that does not name the option.
If a certificate and its key do not match, ``requests`` does not notice, and the server later rejects the certificate.
This module finds both problems at the start, and its error names the option and the path.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

# The password that OpenSSL gets for every key. Without any password, OpenSSL would ask for one on the service's
# terminal. With the empty password, loading an encrypted key fails instead.
_NO_PASSWORD = ""


def tls_problems(cafile: str | None, certfile: str | None, keyfile: str | None) -> Iterator[str]:
    """Yield one sentence for each TLS option that cannot work. The caller adds the name of the configuration group.

    A key without a certificate has no effect (agent/config/reading/tls.py), so it is not checked.
    """
    if cafile and (problem := _cafile_problem(cafile)):
        yield f"cafile = {cafile}: {problem}"
    if certfile and (problem := _certificate_problem(certfile, keyfile)):
        yield f"certfile = {certfile}{f', keyfile = {keyfile}' if keyfile else ''}: {problem}"


def _cafile_problem(path: str) -> str:
    if Path(path).is_dir():
        # The library requests also accepts a folder. c_rehash creates such a folder: each certificate's file is named
        # after the certificate's hash.
        return ""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        return "this is not a PEM file of certificates"
    except OSError as error:
        return str(error.strerror)
    return ""


def _certificate_problem(certfile: str, keyfile: str | None) -> str:
    for path in filter(None, (certfile, keyfile)):
        try:
            Path(path).read_bytes()
        except OSError as error:
            return f"{path}: {error.strerror}"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certfile, keyfile, _NO_PASSWORD)
    except ssl.SSLError as error:
        return f"found no PEM certificate with a matching unencrypted key ({error.reason or 'not PEM'})"
    return ""
