"""What an app claims for itself alone: paths at the receivers' door, and places in streams of the
suite's own bus. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.http_service import SERVICES
from lockstep.connectors.nats import server_urls
from lockstep.mapping import annotated
from lockstep.siddhiql import CheckedApp, ast
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.checking.connectors import options_of

AT_THE_DOOR: Final = frozenset({"http", *SERVICES})
"""Types of sources whose messages come to the receiver's own door."""

PATH: Final = "receiver.url"
PLACE: Final = "durable.name"


def path_of(source: ast.Annotation) -> str | None:
    """Where a source at the door is to be found beside /<app>/<stream>."""
    is_there = (source.get("type") or "").lower() in AT_THE_DOOR
    url = source.get(PATH) if is_there else None
    return None if url is None else "/" + urlsplit(url).path.strip("/")


def claims_of(app: CheckedApp) -> Mapping[str, str]:
    """What no other app may claim, as errors name it, and by which option."""
    found: dict[str, str] = {}
    for _, _, source in annotated(app, "source"):
        path = path_of(source)
        if path is not None and path != "/":
            found[_claim_of(path)] = PATH
        place = source.get(PLACE)
        if place is not None and (source.get("type") or "").lower() == "nats":
            options = options_of(ExtensionKind.SOURCE, source)
            if not server_urls(options):
                subject = options.get("destination", "")
                found[f"the durable.name {place!r} of the subject {subject!r}"] = PLACE
    return found


def address_of(app: str, stream: str) -> str:
    """The path at which the door takes events for a stream of any app, in the words of
    `claims_of`: it goes before what others claim."""
    return _claim_of(f"/{app}/{stream}")


def _claim_of(path: str) -> str:
    return f"the path {path!r}"


def may_claim(text: str) -> bool:
    """Whether an app's text may claim anything: a quick look, before it is read."""
    lowered = text.lower()
    return PATH in lowered or PLACE in lowered
