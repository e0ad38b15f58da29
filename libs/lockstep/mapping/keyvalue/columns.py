"""Large lists of maps, in columns."""

from __future__ import annotations

from typing import Any

from lockstep.mapping.columnar import Documents, OddError, QuickReader, all_are
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.keyvalue.meaning import KeyValueSource


class KeyValueColumns(QuickReader):
    """Reads for a KeyValueSource."""

    def __init__(self, source: KeyValueSource) -> None:
        self._documents = Documents(
            source.columns, is_custom=False, fails=source.fails, convert=source.convert
        )

    def columns(self, payload: Any, properties: Properties) -> Columns:
        """See QuickReader."""
        if not isinstance(payload, list) or not all_are(payload, dict):
            raise OddError("one map, or what is none")
        return Columns(self._documents.values(payload, properties), len(payload), together=True)
