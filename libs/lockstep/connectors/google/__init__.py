"""What connectors to services of Google share: who one is, and how a service is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lockstep.siddhiql.catalogue import SignatureError
from lockstep.siddhiql.catalogue.connectors import option

OPTIONS: Final = (
    option("credential.path"),
    option("credential.json"),
    option("endpoint"),
    option("tls.ca.file"),
)


def check_credential(given: Mapping[str, str]) -> None:
    """SignatureError where there are two."""
    if "credential.path" in given and "credential.json" in given:
        raise SignatureError(
            "there is a 'credential.path' and a 'credential.json'",
            "keep one: a file on the service's machine, or a secret: '${secret:name}'",
        )
