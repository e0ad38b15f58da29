"""Where a service is, for those that others offer, too."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.siddhiql.catalogue import SignatureError


def check_endpoint(given: Mapping[str, str]) -> None:
    """SignatureError where `endpoint` is no address."""
    endpoint = given.get("endpoint", "https://")
    if not endpoint.startswith(("http://", "https://")):
        raise SignatureError(f"'endpoint' is {endpoint!r}", "endpoint='https://host:9000'")
