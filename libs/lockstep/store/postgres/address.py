"""Looks at a DSN before the driver does, which tells what it cannot read like a server that is
away, or by an error of its own. Files that a DSN names are looked at when it connects."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from lockstep.events import Fault, LockstepError

_SCHEMES: Final = ("postgresql", "postgres")
_HINT: Final = (
    "postgresql://user:password@host:5432/database; a password's special characters are escaped as "
    "in any URL (%40 for @, %2F for /)"
)
_PORT_MAX: Final = 65_535


class BadDsnError(LockstepError):
    """A DSN that cannot be understood."""

    fault = Fault.USER


def check_dsn(dsn: str) -> None:
    """Errors: BadDsnError, which repeats nothing that may be a secret."""
    try:
        parts = urlsplit(dsn)
    except ValueError as error:
        raise _bad("that cannot be understood") from error
    if parts.scheme not in _SCHEMES:
        raise _bad("that does not begin with postgresql://")
    if "@" in parts.path:
        raise _bad("whose password has a slash in it")
    for host in parts.netloc.rpartition("@")[2].split(","):
        port = host.rpartition("]")[2].partition(":")[2]
        if port and not (port.isascii() and port.isdigit() and 0 < int(port) <= _PORT_MAX):
            raise _bad("with a port that is no number up to 65535")


def _bad(what: str) -> BadDsnError:
    return BadDsnError(f"a DSN {what}", where="store.postgres_dsn", hint=_HINT)
