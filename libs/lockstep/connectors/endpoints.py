"""Where a service is, for those that others offer, too; and what of a request is no app's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lockstep.siddhiql.catalogue import SignatureError

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
