"""Reads the bus's URL: servers, user or token, and credentials and TLS files as query parameters.

`nats://user:password@a:4222,nats://b:4222?credentials=/run/nats.creds&ca=/run/ca.pem`
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from lockstep.events import Fault, LockstepError

_PARAMETERS = {"credentials", "token_file", "ca", "cert", "key"}


class BadAddressError(LockstepError):
    """A bus URL that cannot be understood."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class Address:
    """Where the servers are and how to be let in."""

    servers: tuple[str, ...]
    credentials: str | None = None
    token: str | None = None
    tls: ssl.SSLContext | None = None

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
        hint = f"nats://host:4222, with parameters {', '.join(sorted(_PARAMETERS))}"
        raise BadAddressError(f"a bus URL with {what}", where="bus.url", hint=hint)
    try:
        token = Path(given["token_file"]).read_text().strip() if "token_file" in given else None
        tls = _tls(given) if {"ca", "cert"} & set(given) else None
    except OSError as error:
        raise BadAddressError(f"a file cannot be read: {error}", where="bus.url") from error
    return Address(servers, given.get("credentials"), token, tls)


def _tls(given: dict[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=given.get("ca"))
    if "cert" in given:
        context.load_cert_chain(given["cert"], given.get("key"))
    return context
