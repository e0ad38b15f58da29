"""What connectors to services of Amazon share: who one is, and how a service is asked."""

from __future__ import annotations

from collections.abc import Mapping

from lockstep.siddhiql.catalogue import SignatureError


def check_keys(given: Mapping[str, str], access: str, secret: str) -> None:
    """SignatureError where one of the two is missing."""
    if (access in given) != (secret in given):
        raise SignatureError(
            f"one of {access!r} and {secret!r} is missing",
            "both, or none where the machine has a role or a profile",
        )
