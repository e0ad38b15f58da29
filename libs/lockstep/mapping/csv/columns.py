"""Large groups of lines of CSV, in columns.

Lines without quotes are cut by Arrow. Wherever Arrow's form of CSV and the mapper's could differ,
the mapper's own reader cuts them, and only the values become columns.
"""

from __future__ import annotations

import csv
import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from lockstep.events import AttributeType
from lockstep.events.columns import ARROW_TYPES
from lockstep.mapping.columnar import ODD, OddError, QuickReader, Values, constant, of_texts
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.csv.source import NULL, CsvSource, value_or_null
from lockstep.mapping.options import text_of

_BLANKS: Final = (b"\t", b"\x0b", b"\x0c", b"\x1c", b"\x1d", b"\x1e", b"\x1f")
"""What goes around values beside the space, in ASCII."""

_WIDE_BLANK: Final = re.compile(r"(?![\x00-\x20])\s")


class CsvColumns(QuickReader):
    """Reads for a CsvSource that groups lines."""

    def __init__(self, source: CsvSource) -> None:
        self._source = source
        mark = source.delimiter
        self._is_plain = len(mark) == 1 and mark.isascii() and mark not in '"\r\n'
        self._blanks = [each for each in _BLANKS if each != mark.encode()]

    def columns(self, payload: bytes, properties: Properties) -> Columns:
        """See QuickReader."""
        source = self._source
        if not source.groups:
            raise OddError("a message is a line")
        texts = self._cut(payload)
        events = len(next(iter(texts.values()))) if texts else 0
        if not events:
            raise OddError("there are no events, or nothing of them is taken")
        values = [
            constant(column.property_of(properties), events, column.attribute.type)
            if column.is_transport
            else self._values(texts[column.path], column.attribute.type)
            for column in source.columns
        ]
        return Columns(values, events, together=True)

    def _cut(self, payload: bytes) -> dict[str, pa.StringArray]:
        """The texts of each column that is taken."""
        text = text_of(payload)
        if self._may_be_arrow(payload, text):
            try:
                return self._by_arrow(payload)
            except (pa.ArrowException, LookupError):
                pass  # lines of several widths, say
        lines = self._source.lines(text)
        return {
            path: pa.array([line[at].strip() for line in lines], pa.string())
            for path, at in self._source.places.items()
        }

    def _may_be_arrow(self, payload: bytes, text: str) -> bool:
        """Whether both cut these lines at the same places, and spaces alone go around values."""
        if not self._is_plain or b'"' in payload:
            return False
        if payload.count(b"\r") != payload.count(b"\r\n"):
            return False
        if any(blank in payload for blank in self._blanks):
            return False
        return text.isascii() or _WIDE_BLANK.search(text) is None

    def _by_arrow(self, payload: bytes) -> dict[str, pa.StringArray]:
        source = self._source
        payload = payload.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        head, _, rest = payload.partition(b"\n")
        count = head.count(source.delimiter.encode()) + 1
        names = [str(at) for at in range(count)]
        table = arrow_csv.read_csv(
            pa.py_buffer(rest if source.awaits_header else payload),
            arrow_csv.ReadOptions(
                use_threads=False, block_size=len(payload) + 1, column_names=names
            ),
            arrow_csv.ParseOptions(delimiter=source.delimiter, quote_char=False),
            arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
        widest = csv.field_size_limit()
        if len(payload) > widest and any(
            pc.max(pc.binary_length(each)).as_py() > widest for each in table.itercolumns()
        ):
            raise OddError("a value is longer than the mapper takes")
        found = {path: table.column(at).combine_chunks() for path, at in source.places.items()}
        if b" " not in payload:
            return found
        return {path: pc.ascii_trim(texts, " ") for path, texts in found.items()}

    def _values(self, texts: pa.StringArray, wanted: AttributeType) -> Values:
        if wanted is not AttributeType.STRING:
            is_null = pc.equal(texts, NULL)
            if pc.any(is_null).as_py():
                texts = pc.if_else(is_null, None, texts)
        try:
            return of_texts(texts, wanted)
        except ODD:
            if self._source.fails:
                raise
        each = [value_or_null(text, wanted) for text in texts.to_pylist()]
        return pa.array(each, ARROW_TYPES[wanted])
