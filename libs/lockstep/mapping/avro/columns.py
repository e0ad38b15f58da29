"""Large Avro payloads of many records, in columns."""

from __future__ import annotations

from typing import Any

from lockstep.mapping.avro.source import AvroSource, converted
from lockstep.mapping.columnar import Documents, OddError, QuickReader, all_are
from lockstep.mapping.contract import Columns, Properties


class AvroColumns(QuickReader):
    """Reads for an AvroSource: records of an array, or of a container file."""

    def __init__(self, source: AvroSource) -> None:
        self._source = source
        self._documents = Documents(
            source.columns,
            is_custom=source.custom is not None,
            fails=source.fails,
            convert=converted,
        )

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        records = self._source.elements(payload)
        if not all_are(records, dict):
            raise OddError("an event is no record")
        values = self._documents.values(records, properties)
        return Columns(values, len(records), self._source.groups)
