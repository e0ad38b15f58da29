"""What sinks that write an object a message share: how its name says which rows it has.

An object's name is made of the identity of its first row. So a message that comes again overwrites
what it wrote before. A batch that is cut elsewhere the second time may make one object longer, or
shorter by the rows of the next one; no row is in two of them when the batch is through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lockstep.connectors.endpoints import check_endpoint
from lockstep.siddhiql.catalogue import SignatureError
from lockstep.sinks import Message, MessageRefusedError

MAX_NAME_BYTES: Final = 1_024
"""Of an object's name, as S3 and Google Cloud Storage have it."""
AT_THE_BUCKET: Final = "the bucket is there already, and says so itself: leave it out"
BY_TIME: Final = "#window.timeBatch(…) in front, and event.grouping.enabled='true' in the @map"
_ENDINGS: Final = {
    "application/json": ".json", "application/xml": ".xml", "text/xml": ".xml", "text/csv": ".csv",
    "text/plain": ".txt",
}  # fmt: skip


def check_options(given: Mapping[str, str]) -> None:
    """Of `flush.size` and `endpoint`; SignatureError."""
    if int(given.get("flush.size", "1")) != 1:
        raise SignatureError(
            "how many rows an object has is the app's affair: a count of the publisher's would"
            " make other objects after a failover",
            "#window.lengthBatch(n) in front, and event.grouping.enabled='true' in the @map",
        )
    check_endpoint(given)


def parts_of(path: str) -> Sequence[str]:
    """The parts of a path as an option has it, with their `{{attribute}}`."""
    return [part for part in path.strip().split("/") if part]


def name_of(message: Message, path: Sequence[str], stream: str) -> str:
    """The path that the event fills, and a name: app, stream, and the first row's identity.
    MessageRefusedError."""
    app, *_, rows = message.id.split("/")
    position, _, ordinal = rows.partition("-")[0].partition(".")
    ending = _ENDINGS.get(message.content_type.partition(";")[0], "")
    last = f"{app}.{stream}.{int(position):020}.{int(ordinal):06}{ending}"
    name = "/".join([*(_checked(message.fill(part)) for part in path), last])
    if len(name.encode()) > MAX_NAME_BYTES:
        raise MessageRefusedError(f"the object's name is longer than {MAX_NAME_BYTES} bytes")
    return name


def content_type_of(message: Message, options: Mapping[str, str]) -> str:
    """What `content.type` says, or the form's. MessageRefusedError."""
    found = message.fill(options.get("content.type", message.content_type))
    if not (found.isascii() and found.isprintable()):
        raise MessageRefusedError(f"{found!r} is no content type")
    return found


def _checked(name: str) -> str:
    """A part of the path that a row filled: one name, and none that leads elsewhere."""
    if not name or name in (".", "..") or "/" in name or min(name) < " ":
        raise MessageRefusedError(f"{name!r} is no part of an object's path: no '/', no '..'")
    return name
