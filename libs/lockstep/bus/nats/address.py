"""Reads the bus's URL: servers, user or token, and credentials and TLS files as query parameters.

`tls://user:password@a:4222,tls://b:4222?credentials=/run/nats.creds&ca=/run/ca.pem`. `cert=`
and `key=` are for servers that ask for them. With `tls://` or one of the three, a server that
speaks no TLS is told nothing.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from lockstep.events import Fault, LockstepError
from lockstep.tls import TlsFiles, calling

_PARAMETERS = {"credentials", "token_file", "ca", "cert", "key"}
_TLS = ("tls://", "wss://")
_WEB = ("ws", "wss")
_SCHEMES = ("nats", "tls", *_WEB)
_HINT = f"nats://host:4222, with parameters {', '.join(sorted(_PARAMETERS))}"


class BadAddressError(LockstepError):
    """A bus URL that cannot be understood."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class Address:
    """Where the servers are and how to be let in."""

    servers: tuple[str, ...]
    credentials: str | None = None
    token: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def wants_tls(self) -> bool:
        """Whether a server that speaks plainly is not to be trusted."""
        return self.tls is not None or self.servers[0].startswith(_TLS)

    @property
    def shown(self) -> str:
        """Without secrets, for messages."""
        return ",".join(urlsplit(server).netloc.rpartition("@")[2] for server in self.servers)


def parse_address(url: str) -> Address:
    """The address in a URL. Errors: BadAddressError."""
    base, _, query = url.partition("?")
    given = dict(parse_qsl(query))
    unknown = sorted(set(given) - _PARAMETERS)
    servers = tuple(part.strip() for part in base.split(",") if part.strip())
    if unknown or not servers:
        what = f"unknown parameter {unknown[0]}" if unknown else "no server"
        raise BadAddressError(f"a bus URL with {what}", where="bus.url", hint=_HINT)
    for server in servers:
        _check(server)
    try:
        token = Path(given["token_file"]).read_text().strip() if "token_file" in given else None
    except OSError as error:
        raise BadAddressError(f"a file cannot be read: {error}", where="bus.url") from error
    if any(server.startswith(_TLS) != servers[0].startswith(_TLS) for server in servers):
        raise BadAddressError("a bus URL with servers over TLS and others", where="bus.url")
    files = TlsFiles(given.get("ca", ""), given.get("cert", ""), given.get("key", ""))
    return Address(servers, given.get("credentials"), token, calling(files))


def _check(server: str) -> None:
    """BadAddressError, which repeats nothing that may be a secret."""
    try:
        parts = urlsplit(server if "://" in server else f"nats://{server}")
        is_good = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
        is_good = is_good and (parts.path in ("", "/") or parts.scheme in _WEB)
    except ValueError:
        is_good = False
    if not is_good:
        raise BadAddressError(
            "a bus URL in which a server's address cannot be understood", where="bus.url",
            hint=f"{_HINT}; a password's special characters are escaped as in any URL (%40 for @)",
        )  # fmt: skip
