"""Where a service is, for those that others offer, too; and what of a request is no app's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlsplit

from lockstep.siddhiql.catalogue import SignatureError
from lockstep.sinks import lost_part

_REFERENCE: Final = "${"
PORT_MAX: Final = 65_535

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


def known_address_of(name: str, url: str, ports: Mapping[str, int]) -> tuple[str, int]:
    """The same of an address that is whole: ValueError, too, where its host can be no name."""
    host, port = address_of(name, url, ports)
    if not is_name(host):
        raise ValueError(f"{name!r} is no address: its host can be no name")
    return host, port


def is_name(host: str) -> bool:
    """Whether the network may have a host of that name: no part of it is empty."""
    if not host:
        return False
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True


def check_host(name: str, host: str) -> None:
    """SignatureError where the option `name` is no host; a secret is not known."""
    if is_known(host) and not is_name(host):
        raise SignatureError(f"{name!r} is {host[:200]!r}", f"{name}='mail.example.com'")


def check_address(name: str, url: str, ports: Mapping[str, int], example: str) -> None:
    """SignatureError where the option `name` is no address; a secret in it is not known."""
    if not is_known(url):
        return
    try:
        known_address_of(name, url, ports)
    except ValueError:
        raise SignatureError(f"{name!r} is {url[:200]!r}, which is no address", example) from None


def is_port(text: str) -> bool:
    """Whether it is the number of a port."""
    return text.isdecimal() and 0 < int(text) <= PORT_MAX


def check_port(name: str, port: str) -> None:
    """SignatureError where the option `name` is no port; a secret is not known."""
    if is_known(port) and not is_port(port):
        raise SignatureError(f"{name!r} is {port[:200]!r}", f"from 1 to {PORT_MAX}")


@contextmanager
def opening(where: str) -> Iterator[None]:
    """While a sink connects: what a client says of an address or a password then is no row's fault.
    OSError in place of these, so that rows wait and are not put aside."""
    try:
        yield
    except OSError:
        raise
    except (ValueError, OverflowError) as error:  # the latter of a port
        raise OSError(f"{where}: {error}") from error


def check_headers(given: Mapping[str, str], *names: str) -> None:
    """SignatureError where one of these options has a part that would be lost."""
    for name in names:
        part = lost_part(given.get(name, ""))
        if part is not None:
            raise SignatureError(
                f"{name!r}: {part[:200]!r} has no name and colon in front of it",
                f"{name}='a:{{{{a}}}},b:{{{{b}}}}'; one attribute alone may hold them all",
            )
