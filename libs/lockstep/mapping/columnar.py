"""What the readers of columns share: many values of one attribute at a time.

A reader must give what its mapper gives, to the letter. So it looks at the kinds of the values
first, all at once; whatever is not of the plain kind goes through the mapper's own conversion, one
by one; and if anything is wrong there, it leaves the payload to the mapper, which says what.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from lockstep.events import AttributeType
from lockstep.events.columns import ARROW_TYPES
from lockstep.functions.convert import CLASSES
from lockstep.functions.json_path import MissingError, Path, Step, compile_path
from lockstep.mapping.contract import Columns, Properties
from lockstep.mapping.options import Column
from lockstep.mapping.reading import UNMAPPABLE
from lockstep.mapping.values import from_text, lenient

Values = Any
"""Of one attribute: an Arrow array, or of an object's attribute a list (see Columns)."""

Convert = Callable[[Any, AttributeType], Any]

ODD: Final = (pa.ArrowException, *UNMAPPABLE)
"""What says that a payload is out of the ordinary; the mapper looks at it then."""

_WHOLE: Final = frozenset({AttributeType.INT, AttributeType.LONG})
_INTEGER: Final = b"-0123456789"
_DECIMAL: Final = b"-.0123456789Ee"
"""The characters of plain numbers. Arrow reads more than Java does: `0x1F`, `inf`."""


class OddError(ValueError):
    """Something that the mapper has to look at."""


class QuickReader(ABC):
    """A ColumnsReader whose `columns` may raise any of ODD."""

    def read(self, payload: Any, properties: Properties) -> Columns | None:
        """See the contract."""
        try:
            return self.columns(payload, properties)
        except ODD:
            return None

    @abstractmethod
    def columns(self, payload: Any, properties: Properties) -> Columns:
        """The events of a payload; any of ODD where the mapper has to look."""


def converted_column(values: list[Any], wanted: AttributeType, convert: Convert) -> Values:
    """Values of one attribute as `convert` makes them one by one; any of ODD."""
    if wanted is AttributeType.OBJECT:
        return [convert(value, wanted) for value in values]
    kinds = set(map(type, values))
    kinds.discard(type(None))
    if kinds <= {CLASSES[wanted]}:
        return pa.array(values, ARROW_TYPES[wanted])  # beyond a type's range: an error
    if convert is lenient and kinds == {str}:
        return of_texts(pa.array(values, pa.string()), wanted)
    return pa.array([convert(value, wanted) for value in values], ARROW_TYPES[wanted])


def of_texts(texts: pa.StringArray, wanted: AttributeType) -> Values:
    """Texts as `from_text` makes them values, null as null; any of ODD."""
    if wanted is AttributeType.STRING:
        return texts
    if wanted is AttributeType.OBJECT:
        return texts.to_pylist()
    if wanted is AttributeType.BOOL:
        return pc.equal(pc.ascii_lower(texts), "true")
    if _holds_only(texts, _INTEGER if wanted in _WHOLE else _DECIMAL):
        if wanted in _WHOLE:
            return pc.cast(texts, ARROW_TYPES[wanted])
        doubles = pc.cast(texts, pa.float64())
        if pc.all(pc.is_finite(doubles)).as_py() is not False:
            return pc.cast(doubles, ARROW_TYPES[wanted], safe=False)
    each = [None if text is None else from_text(text, wanted) for text in texts.to_pylist()]
    return pa.array(each, ARROW_TYPES[wanted])


def constant(value: Any, events: int, wanted: AttributeType) -> Values:
    """A property of the transport, which all events of a payload share."""
    return converted_column([lenient(value, wanted)] * events, wanted, lenient)


class Documents:
    """Looks up the attributes of many documents at once, each by its path."""

    def __init__(
        self, columns: Sequence[Column], *, is_custom: bool, fails: bool, convert: Convert
    ) -> None:
        """`is_custom`: the columns' paths are such, else names of members."""
        self._columns = [(column, _path_of(column, is_custom)) for column in columns]
        self._fails = fails
        self._convert = convert

    def values(self, documents: list[Any], properties: Properties) -> list[Values]:
        """The attributes' values; any of ODD."""
        if not documents:
            raise OddError("there are no events")
        found: dict[tuple[str | int, ...], list[Any]] = {(): documents}
        return [
            constant(column.property_of(properties), len(documents), column.attribute.type)
            if column.is_transport
            else converted_column(self._at(path, found), column.attribute.type, self._convert)
            for column, path in self._columns
        ]

    def _at(self, path: Path, found: dict[tuple[str | int, ...], list[Any]]) -> list[Any]:
        """What stands at a path; None where nothing does, if that is no mistake."""
        if path.keys is not None:
            return self._below(path.keys, found)
        if self._fails:
            return [path.read(document) for document in found[()]]
        return [_or_none(path, document) for document in found[()]]

    def _below(
        self, keys: tuple[str | int, ...], found: dict[tuple[str | int, ...], list[Any]]
    ) -> list[Any]:
        values = found.get(keys)
        if values is None:
            outer = self._below(keys[:-1], found)
            values = found[keys] = self._step(outer, keys[-1])
        return values

    def _step(self, outer: list[Any], key: str | int) -> list[Any]:
        container = dict if isinstance(key, str) else list
        if set(map(type, outer)) == {container}:
            try:
                return list(map(itemgetter(key), outer))
            except LookupError:
                if self._fails:
                    raise
        elif self._fails:
            raise OddError("something is missing")
        return [_member(each, container, key) for each in outer]


def _path_of(column: Column, is_custom: bool) -> Path:
    if is_custom and not column.is_transport:
        return compile_path(column.path)
    return Path(column.path, (Step((column.path,)),))


def _member(outer: Any, container: type[Any], key: str | int) -> Any:
    if not isinstance(outer, container):
        return None
    try:
        return outer[key]
    except LookupError:
        return None


def _or_none(path: Path, document: Any) -> Any:
    try:
        return path.read(document)
    except MissingError:
        return None


def all_are(values: Iterable[Any], kind: type) -> bool:
    """Whether each is of this very type."""
    return set(map(type, values)) <= {kind}


def _holds_only(texts: pa.StringArray, characters: bytes) -> bool:
    """Whether the texts have these characters alone; no for a part of an array, too."""
    buffer = texts.buffers()[2]
    return buffer is None or not buffer.to_pybytes().translate(None, characters)
