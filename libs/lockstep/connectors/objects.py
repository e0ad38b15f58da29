"""What sinks that write an object a message share: how its name says which rows it has.

An object's name is made of the identity of its first row. So a message that comes again overwrites
what it wrote before. A batch that is cut elsewhere the second time may make one object longer, or
shorter by the rows of the next one; no row is in two of them when the batch is through. Objects of
several messages are made once, and never overwritten (`lockstep.sinks.objects`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lockstep.connectors.endpoints import check_endpoint
from lockstep.siddhiql.catalogue import SignatureError
from lockstep.sinks import Message, MessageRefusedError
from lockstep.sinks.objects import Gathering

MAX_NAME_BYTES: Final = 1_024
"""Of an object's name, as S3 and Google Cloud Storage have it."""
INTERVAL: Final = "rotate.interval.ms"
USUAL_INTERVAL_MS: Final = 60_000
SHORTEST_INTERVAL_MS: Final = 100
LONGEST_INTERVAL_MS: Final = 3_600_000
MOST_ROWS: Final = 100_000
"""Of an object: they are in memory together."""
AT_THE_BUCKET: Final = "the bucket is there already, and says so itself: leave it out"
BY_TIME: Final = "#window.timeBatch(…) in front, and event.grouping.enabled='true' in the @map"
_ENDINGS: Final = {
    "application/json": ".json", "application/xml": ".xml", "text/xml": ".xml", "text/csv": ".csv",
    "text/plain": ".txt", "application/x-ndjson": ".ndjson",
}  # fmt: skip


def check_options(given: Mapping[str, str]) -> None:
    """Of `flush.size`, `rotate.interval.ms` and `endpoint`; SignatureError."""
    rows = int(given.get("flush.size", "1"))
    if rows > MOST_ROWS:
        raise SignatureError(f"'flush.size' is {rows}", f"1 to {MOST_ROWS} rows")
    if rows == 1 and INTERVAL in given:
        raise SignatureError(
            f"{INTERVAL!r} says nothing where each message is an object", "give a 'flush.size', too"
        )
    interval_ms = int(given.get(INTERVAL, USUAL_INTERVAL_MS))
    if not SHORTEST_INTERVAL_MS <= interval_ms <= LONGEST_INTERVAL_MS:
        raise SignatureError(
            f"{INTERVAL!r} is {interval_ms}",
            f"{SHORTEST_INTERVAL_MS} to {LONGEST_INTERVAL_MS} milliseconds",
        )
    check_endpoint(given)


def gathering_of(options: Mapping[str, str]) -> Gathering | None:
    """When rows are made an object; None where each message is one."""
    rows = int(options.get("flush.size", "1"))
    interval_ms = int(options.get(INTERVAL, USUAL_INTERVAL_MS))
    return Gathering(rows, interval_ms) if rows > 1 else None


def parts_of(path: str) -> Sequence[str]:
    """The parts of a path as an option has it, with their `{{attribute}}`."""
    return [part for part in path.strip().split("/") if part]


def name_of(message: Message, path: Sequence[str], stream: str) -> str:
    """The path that the event fills, and a name: app, stream, and the first row's identity.
    MessageRefusedError."""
    app, *_, rows = message.id.split("/")
    position, _, ordinal = rows.partition("-")[0].partition(".")
    folder = "/".join(checked_part(message.fill(part)) for part in path)
    return object_name(folder, app, stream, int(position), int(ordinal), message.content_type)


def object_name(
    folder: str, app: str, stream: str, position: int, ordinal: int, content_type: str
) -> str:
    """Of the object that begins with a row. MessageRefusedError."""
    ending = _ENDINGS.get(content_type.partition(";")[0], "")
    last = f"{app}.{stream}.{position:020}.{ordinal:06}{ending}"
    name = f"{folder}/{last}" if folder else last
    if len(name.encode()) > MAX_NAME_BYTES:
        raise MessageRefusedError(f"the object's name is longer than {MAX_NAME_BYTES} bytes")
    return name


def content_type_of(text: str, fill: Callable[[str], str]) -> str:
    """What an option says, or the form. MessageRefusedError."""
    found = fill(text)
    if not (found.isascii() and found.isprintable()):
        raise MessageRefusedError(f"{found!r} is no content type")
    return found


def checked_part(name: str) -> str:
    """A part of the path that a row filled: one name, and none that leads elsewhere.
    MessageRefusedError."""
    if not name or name in (".", "..") or "/" in name or min(name) < " ":
        raise MessageRefusedError(f"{name!r} is no part of an object's path: no '/', no '..'")
    return name
