"""Large batches of CloudEvents, in columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lockstep.events.typed import can_name_fields
from lockstep.mapping.cloudevents.envelope import SPECVERSION
from lockstep.mapping.cloudevents.source import CloudEventsSource, carried
from lockstep.mapping.columnar import (
    Documents,
    OddError,
    QuickReader,
    Values,
    all_are,
    converted_column,
)
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.values import lenient

_TIME: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
    r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
"""The usual times of RFC 3339; Arrow alone would take others, too."""

_MEMBERS: Final = (
    "specversion", "id", "source", "type", "time", "subject", "datacontenttype", "dataschema",
)  # fmt: skip
_NANOSECONDS: Final = pa.timestamp("ns", "UTC")


class CloudEventsColumns(QuickReader):
    """Reads for a CloudEventsSource: batches and structured events, not data with its attributes
    in the headers. Where all members are known, events are plain structs; else they are maps."""

    def __init__(self, source: CloudEventsSource) -> None:
        self._columns = source.columns
        self._is_custom = source.custom is not None
        self._documents = Documents(
            source.columns, is_custom=self._is_custom, fails=source.fails, convert=lenient
        )
        is_plain = not self._is_custom and can_name_fields(one.path for one in source.columns)
        self._known = _decoder(source) if is_plain else None

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        if carried(properties) is not None:
            raise OddError("the message is the data of one event")
        if self._known is not None:
            try:
                events = self._known.decode(payload)
            except msgspec.DecodeError:
                pass  # there are other members
            else:
                return self._of_structs(events)
        found = msgspec.json.decode(payload)
        return self._of_maps(found if isinstance(found, list) else [found], properties)

    def _of_structs(self, events: Sequence[Any]) -> Columns:
        data = list(map(attrgetter("data"), events))
        values = [
            converted_column(list(map(attrgetter(f"f{at}"), data)), column.attribute.type, lenient)
            for at, column in enumerate(self._columns)
        ]
        return _columns(values, lambda name: list(map(attrgetter(name), events)))

    def _of_maps(self, events: list[Any], properties: Properties) -> Columns:
        if not all_are(events, dict):
            raise OddError("an event is no object")
        documents = events
        if not self._is_custom:
            documents = list(map(itemgetter("data"), events))
            if not all_are(documents, dict):
                raise OddError("data that is no object")
        elif any("data" not in event and "data_base64" in event for event in events):
            raise OddError("data in Base64")
        values = self._documents.values(documents, properties)
        return _columns(values, lambda name: [event.get(name) for event in events])


def _decoder(source: CloudEventsSource) -> msgspec.json.Decoder[Any]:
    """Of batches with no members but those of CloudEvents, and those of the stream in `data`."""
    missing: tuple[None, ...] = () if source.fails else (None,)
    names = {f"f{at}": column.path for at, column in enumerate(source.columns)}
    fields: list[Any] = [(field, Any, *missing) for field in names]
    data = msgspec.defstruct("Data", fields, rename=names, gc=False, forbid_unknown_fields=True)
    members: list[Any] = [(name, Any, None) for name in _MEMBERS]
    event = msgspec.defstruct(
        "CloudEvent", [("data", data), *members], gc=False, forbid_unknown_fields=True
    )
    return msgspec.json.Decoder(list[event])  # type: ignore[valid-type]


def _columns(values: list[Values], member: Callable[[str], list[Any]]) -> Columns:
    """With what the events say of themselves. `member`: one of all events, None for missing."""
    if set(member("specversion")) != {SPECVERSION}:
        raise OddError("no events, or another version")
    ids, sources, _ = (_texts(member(name), name) for name in ("id", "source", "type"))
    return Columns(
        values,
        len(ids),
        together=True,
        timestamps_ms=_times(member("time")),
        ids=pc.binary_join_element_wise(sources, ids, " "),
    )


def _texts(texts: list[Any], name: str) -> pa.StringArray:
    """An attribute that each event must have."""
    if not all(texts) or not all_are(texts, str):
        raise OddError(f"{name} is missing, or is no text")
    return pa.array(texts, pa.string())


def _times(texts: list[Any]) -> pa.Array | None:
    """Milliseconds, null where an event says no time."""
    times = pa.array(texts, pa.string())
    if times.null_count == len(times):
        return None
    if not pc.all(pc.match_substring_regex(times, _TIME)).as_py():
        raise OddError("a time of another form")
    found = pc.cast(pc.cast(times, _NANOSECONDS), pa.int64())
    if pc.min(found).as_py() < 0:
        raise OddError("a time before 1970")
    return pc.divide(found, 1_000_000)
