"""Options for certificates, the same for every connector that calls a server over TLS."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final

from lockstep.secrets.closed import refuse_closed
from lockstep.siddhiql.catalogue.connectors import option
from lockstep.tls import TlsError, TlsFiles, calling

NAMES: Final = ("tls.ca.file", "tls.certificate.file", "tls.key.file")
OPTIONS: Final = tuple(option(name) for name in NAMES)
INSTEAD: Final = f"PEM files on the machine of the service: {', '.join(NAMES)}"


def files_of(options: Mapping[str, str]) -> TlsFiles:
    """Those that the options name. OSError for a certificate or key of the suite itself: whoever
    deploys an app shall not speak in its name."""
    files = TlsFiles(*(options.get(name, "") for name in NAMES))
    refuse_own(files)
    return files


def refuse_own(files: TlsFiles) -> None:
    """See `files_of`."""
    refuse_closed(files.certificate, files.key)


def context_of(options: Mapping[str, str]) -> ssl.SSLContext | None:
    """None where the options name no file: what the machine trusts counts. OSError."""
    try:
        return calling(files_of(options))
    except TlsError as error:
        raise OSError(str(error)) from error  # its operator may still put the files there
