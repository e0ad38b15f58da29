"""Large JSON payloads by `@attributes`, in columns."""

from __future__ import annotations

from typing import Any

import msgspec

from lockstep.mapping.columnar import Documents, OddError, QuickReader, all_are
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.documents import DocumentSource
from lockstep.mapping.values import lenient


class JsonColumns(QuickReader):
    """Reads for a JsonSource with `@attributes`. Its decoder takes less than the mapper's, and
    what both take means the same."""

    def __init__(self, source: DocumentSource) -> None:
        self._source = source
        self._documents = Documents(
            source.columns, is_custom=source.custom is not None, fails=source.fails, convert=lenient
        )

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        if self._source.custom is None:
            raise OddError("names are read elsewhere")
        found = self._source.enclosed(msgspec.json.decode(payload))
        elements = found if isinstance(found, list) else [found]
        if not all_are(elements, dict):
            raise OddError("an event is no object")
        values = self._documents.values(elements, properties)
        return Columns(values, len(elements), self._source.groups)
