"""Large batches of CloudEvents, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from lockstep.mapping.cloudevents.envelope import SPECVERSION
from lockstep.mapping.cloudevents.source import CloudEventsSource, carried
from lockstep.mapping.columnar import Documents, OddError, QuickReader, all_are
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.values import lenient

_TIME: Final = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?"
    r"(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
"""The usual times of RFC 3339; Arrow alone would take others, too."""

_NANOSECONDS: Final = pa.timestamp("ns", "UTC")


class CloudEventsColumns(QuickReader):
    """Reads for a CloudEventsSource: batches and structured events, not data with its attributes
    in the headers."""

    def __init__(self, source: CloudEventsSource) -> None:
        self._is_custom = source.custom is not None
        self._documents = Documents(
            source.columns, is_custom=self._is_custom, fails=source.fails, convert=lenient
        )

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        if carried(properties) is not None:
            raise OddError("the message is the data of one event")
        found = msgspec.json.decode(payload)
        elements = found if isinstance(found, list) else [found]
        if not elements or not all_are(elements, dict):
            raise OddError("no events, or what is none")
        if set(map(itemgetter("specversion"), elements)) != {SPECVERSION}:
            raise OddError("another version")
        ids, sources, _ = (_texts(elements, name) for name in ("id", "source", "type"))
        documents = elements
        if not self._is_custom:
            documents = list(map(itemgetter("data"), elements))
            if not all_are(documents, dict):
                raise OddError("data that is no object")
        elif any("data" not in element and "data_base64" in element for element in elements):
            raise OddError("data in Base64")
        return Columns(
            self._documents.values(documents, properties),
            len(elements),
            together=True,
            timestamps_ms=_times([element.get("time") for element in elements]),
            ids=pc.binary_join_element_wise(sources, ids, " "),
        )


def _texts(elements: Sequence[dict[str, Any]], name: str) -> pa.StringArray:
    """An attribute that each event must have."""
    texts = list(map(itemgetter(name), elements))
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
