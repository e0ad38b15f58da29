"""Where the archive keeps what, and what its columns are called. Pure.

    <folder>/<app>/<since>/input/records          what stood at each position of the input log
    <folder>/<app>/<since>/input/<stream>/<shape>   the events of a stream
    <folder>/<app>/<since>/output/records         what stood at each sequence of the output log
    <folder>/<app>/<since>/output/<stream>/<shape>  the rows of a stream or stored table
    <folder>/<app>/<since>/texts                  which text was deployed when

Each is a Delta table, partitioned by `day`. A stream whose attributes change gets another *shape*:
a table of its own, so no table ever changes its columns.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lockstep.events.columns import LETTERS

DAY: Final = "day"
POSITION: Final = "_position"
ROW: Final = "_row"
CHUNK: Final = "_chunk"
TIMESTAMP: Final = "_timestamp_ms"
EVENT_ID: Final = "_event_id"
SEQUENCE: Final = "_sequence"
ORDINAL: Final = "_ordinal"
OPERATION: Final = "_operation"

INPUT: Final = "input"
OUTPUT: Final = "output"
SIDES: Final = {INPUT: "in", OUTPUT: "out"}
"""How the names of views of each side end."""
CAME: Final = {INPUT: "what came in as", OUTPUT: "what was published as"}
RECORDS: Final = "records"
TEXTS: Final = "texts"
BATCH: Final = "_batch"
"""The folder of what scheduled scripts put out."""
PAST: Final = "_past"
"""The folder of what apps gave out for pasts that they were deployed with."""
BACKTESTS: Final = "_backtests"
"""The folder of what back-tests gave out."""

EVENT_COLUMNS: Final = (DAY, POSITION, ROW, CHUNK, TIMESTAMP, EVENT_ID)
"""In front of the attributes of an event that came in."""
ROW_COLUMNS: Final = (DAY, SEQUENCE, POSITION, ORDINAL, TIMESTAMP, OPERATION)
"""In front of the values of a row that went out."""
OWN_COLUMNS: Final = frozenset((*EVENT_COLUMNS, *ROW_COLUMNS))

_SHAPE_LETTERS: Final = 8


@dataclass(frozen=True, slots=True, order=True)
class Logs:
    """Whose logs: an app's, that began at `since_ms` (0: nobody knows)."""

    app: str
    since_ms: int = 0

    @property
    def path(self) -> str:
        """Below the archive's folder."""
        return f"{folder_name(self.app)}/{self.since_ms}"

    @property
    def transaction(self) -> str:
        """Under which name a table notes how far it has these logs."""
        return f"lockstep/{self.app}/{self.since_ms}"


@dataclass(frozen=True, slots=True, order=True)
class StreamTable:
    """A table of a stream: which side of the app, and of which shape."""

    logs: Logs
    side: str
    stream: str
    shape: str

    @property
    def path(self) -> str:
        """Below the archive's folder."""
        return f"{self.logs.path}/{self.side}/{folder_name(self.stream)}/{self.shape}"


def records_path(logs: Logs, side: str) -> str:
    """Of the table that has a row for each record of a log."""
    return f"{logs.path}/{side}/{RECORDS}"


def texts_path(logs: Logs) -> str:
    """Of the table of the texts."""
    return f"{logs.path}/{TEXTS}"


def folder_name(name: str) -> str:
    """A name as a folder of any file system and store may be called; other ones for other names. It
    never is `records`, as the records' own folder is, and never hidden."""
    found = "".join(
        each if each.isascii() and (each.isalnum() or each in "_-") else _escaped(each)
        for each in name
    )
    if found in (RECORDS, TEXTS) or found.startswith("_"):
        return _escaped(found[0]) + found[1:]
    return found


def _escaped(text: str) -> str:
    return "".join(f"~{byte:02x}" for byte in text.encode("utf-8", "surrogatepass"))


def name_of(folder: str) -> str:
    """The other way."""
    first, *rest = folder.encode().split(b"~")
    found = first + b"".join(bytes.fromhex(one[:2].decode()) + one[2:] for one in rest)
    return found.decode("utf-8", "surrogatepass")


def shape_of(names: Sequence[str], codes: str) -> str:
    """What tells streams of other attributes apart: their letters, and a sum of their names."""
    told = "\x1f".join((codes, *names)).encode()
    return f"{codes[:32]}-{hashlib.sha256(told).hexdigest()[:_SHAPE_LETTERS]}"


def codes_of(types: Iterable[object]) -> str:
    """A letter per Arrow type, as records have them."""
    return "".join(LETTERS[kind] for kind in types)


def column_names(names: Sequence[str]) -> list[str]:
    """What the columns of attributes are called: as they are, unless a table could not tell one
    from another (case does not count there), or has one of that name by itself."""
    taken = {name.lower() for name in OWN_COLUMNS}
    found: list[str] = []
    for name in names:
        plain = "".join("_" if each in ' ,;{}()\n\t="' else each for each in name) or "_"
        chosen, number = plain, 2
        while chosen.lower() in taken:
            chosen, number = f"{plain}_{number}", number + 1
        taken.add(chosen.lower())
        found.append(chosen)
    return found
