"""Reads the lease server's URL. What the client library would take for something else is refused:
it reads a database that is no number as none, and goes to database 0."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from redis.asyncio.connection import parse_url

from lockstep.events import Fault, LockstepError

_HINT: Final = (
    "redis://user:password@host:6379/0, rediss:// with TLS, or unix:///path?db=0; a password's "
    "special characters are escaped as in any URL (%40 for @, %2F for /). Sentinel and Cluster are "
    "not spoken: name the address that leads to the server that takes writes"
)


class BadRedisAddressError(LockstepError):
    """A lease server's URL that cannot be understood."""

    fault = Fault.USER


def check_address(url: str) -> None:
    """Errors: BadRedisAddressError, which repeats nothing that may be a secret."""
    try:
        parts = urlsplit(url)
        if "@" in parts.path:
            raise _bad("whose password has a slash in it")
        port = parts.port
        parse_url(url)
    except ValueError as error:
        raise _bad("that cannot be understood") from error
    if parts.scheme == "unix":
        return
    database = parts.path.strip("/")
    if not parts.hostname:
        raise _bad("without a host")
    if database and not (database.isascii() and database.isdigit()):
        raise _bad(f"with the database '{database}', which is no number")
    if port == 0:
        raise _bad("with the port 0")


def _bad(what: str) -> BadRedisAddressError:
    return BadRedisAddressError(f"a URL {what}", where="leader.url", hint=_HINT)
