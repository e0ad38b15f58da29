"""Where a service is, for those that others offer, too; and what of a request is no app's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from lockstep.siddhiql.catalogue import SignatureError
from lockstep.sinks import lost_part

_REFERENCE: Final = "${"

CREDENTIALS: Final = frozenset(
    {"authorization", "proxy-authorization", "cookie", "sec-websocket-protocol"}
)
"""Headers by which senders show who they are, in small letters: for the door, and for no app."""


def without_credentials(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """What an app may take of the headers of a request."""
    return [(name, value) for name, value in headers.items() if name.lower() not in CREDENTIALS]


def check_endpoint(given: Mapping[str, str]) -> None:
    """SignatureError where `endpoint` is no address."""
    endpoint = given.get("endpoint", "https://")
    if not endpoint.startswith(("http://", "https://")):
        raise SignatureError(f"'endpoint' is {endpoint!r}", "endpoint='https://host:9000'")


def is_known(text: str) -> bool:
    """Whether nothing in a text is filled in later: a secret may hold a part of an address."""
    return _REFERENCE not in text


def address_of(name: str, url: str, ports: Mapping[str, int]) -> tuple[str, int]:
    """The host and the port of the address in the option `name`; `ports`: of each scheme, where it
    names none. ValueError, which does not repeat the address: it may hold a password."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(
            f"{name!r} is no address: its port is none, or it cannot be read"
        ) from None
    if parts.scheme not in ports or not parts.hostname or port == 0:
        raise ValueError(f"{name!r} is no address of the form {next(iter(ports))}://host:port")
    return parts.hostname, port or ports[parts.scheme]


def check_address(name: str, url: str, ports: Mapping[str, int], example: str) -> None:
    """SignatureError where the option `name` is no address; a secret in it is not known."""
    if not is_known(url):
        return
    try:
        address_of(name, url, ports)
    except ValueError:
        raise SignatureError(f"{name!r} is {url[:200]!r}", example) from None


def check_headers(given: Mapping[str, str], *names: str) -> None:
    """SignatureError where one of these options has a part that would be lost."""
    for name in names:
        part = lost_part(given.get(name, ""))
        if part is not None:
            raise SignatureError(
                f"{name!r}: {part[:200]!r} has no name and colon in front of it",
                f"{name}='a:{{{{a}}}},b:{{{{b}}}}'; one attribute alone may hold them all",
            )
