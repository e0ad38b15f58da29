"""The key groups of events, a column at a time: crc32 of a key's text, mixed, its upper seven bits.

The text is the one by which value partitions tell keys apart (partitions/routing.py), so an
instance of a partition and its events are in the same key group.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final
from zlib import crc32

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.columns.column import Column, Mask, Unfit, from_arrow
from lockstep.columns.frame import Rows
from lockstep.columns.keys import partition_names
from lockstep.columns.rule import NotLowerable
from lockstep.events import AttributeType, InvalidEventError, StreamSchema
from lockstep.events.columns import ARROW_TYPES, EventColumns, Keyings, numbers, rows_of
from lockstep.execute.reference.context import OnDemandContext
from lockstep.execute.reference.engine import Engine
from lockstep.expressions.columns import Compiler
from lockstep.expressions.compiler import compile_condition, compile_expression
from lockstep.operators.contract import StreamEvent
from lockstep.operators.errors import PROCESSING_ERRORS
from lockstep.operators.limits import LimitError
from lockstep.plan import AppPlan, java
from lockstep.plan.fleet import KEY_GROUPS
from lockstep.siddhiql import ast, print_node
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.siddhiql.typing import infer

Groups = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int64]
NO_GROUP: Final = 255
"""Of events without a key, and of those that do not count: no partition gets them."""

_LONG_BYTES: Final = 48
"""Keys longer than this are summed one by one."""

_FEW: Final = 100
"""Of so many keys each is looked at by itself."""

_AS_TEXT: Final = frozenset({AttributeType.INT, AttributeType.LONG, AttributeType.BOOL})

_KEYING: Final = 1
"""Counts the ways from a key to its group that releases had."""

_KEYING_BYTES: Final = 8
_MIXING: Final = 0x9E3779B1
_SHIFT: Final = 32 - (KEY_GROUPS - 1).bit_length()


def key_group_of(text: str) -> int:
    """The key group of one key. The sums of short texts lie close together, and partitions own
    neighbouring key groups: so the sum is mixed (Fibonacci hashing), and its upper bits count."""
    return (crc32(text.encode("utf-8", "surrogatepass")) * _MIXING & 0xFFFFFFFF) >> _SHIFT


def row_key(value: Any) -> str:
    """The key of a row of a table that is cut, as of its event (plan.fleet.keys.never_null)."""
    return "null" if value is None else java.text(value)


@dataclass(frozen=True, eq=False)
class Keyed:
    """Of each event: its key group, and a number that events of one key have in common."""

    groups: Groups
    codes: Codes


class KeyGroups:
    """The key groups of a stream's events. `key`: an expression of its attributes. `where`: a
    condition on them, which the others have no group by."""

    def __init__(
        self,
        plan: AppPlan,
        stream: str,
        key: ast.Expression,
        where: ast.Expression | None = None,
    ) -> None:
        self._schema = plan.schemas[stream]
        functions = {name: each.returns for name, each in plan.checked.functions.items()}
        self._scope = Scope(Shape.STREAM, (Source(self._schema, (stream,)),), functions=functions)
        self._plan = plan
        self._key = key
        self._single = infer(key, self._scope) is AttributeType.FLOAT
        self._attribute: int | None = None
        if isinstance(key, ast.Variable):
            self._attribute = self._scope.resolve(key).attribute
        self._where = where
        self._columns = self._compiled()
        self._by_event: tuple[Callable[[Any], Any], Callable[[Any], bool] | None] | None = None

    def _compiled(self) -> tuple[Callable[[Any], Column], Callable[[Any], Mask] | None] | None:
        compiler = Compiler(self._scope)
        try:
            compiler.type_of(self._key)
            key = compiler.compile(self._key)
            where = None if self._where is None else compiler.condition(self._where)
        except NotLowerable:
            return None
        return None if compiler.reads_time else (key, where)

    @cached_property
    def keying(self) -> bytes:
        """What tells this way from a key to its group from all others: equal ones give each event
        one group. Empty where a text alone does not say it."""
        if self._columns is None or (self._attribute is None and self._plan.checked.functions):
            return b""
        where = "" if self._where is None else print_node(self._where)
        types = [each.value for each in self._schema.types]
        said = [_KEYING, KEY_GROUPS, self._schema.names, types, print_node(self._key), where]
        return hashlib.sha256(msgspec.json.encode(said)).digest()[:_KEYING_BYTES]

    def of(self, events: EventColumns) -> Groups:
        """The key group of each event: as the record says, or else it is found out."""
        groups = self.found_in(events.keyings)
        return self._keyed(events).groups if groups is None else groups

    def found_in(self, keyings: Keyings) -> Groups | None:
        """The key group of each event of a record, if that says it."""
        keying = self.keying
        for known, groups in keyings:
            if keying and known == keying:
                return np.frombuffer(groups, np.uint8)
        return None

    def codes(self, events: EventColumns, index: Codes) -> Codes:
        """A number that events of one key have in common, of some of them."""
        if self.found_in(events.keyings) is None:
            return self._keyed(events).codes[index]
        some = events.picked(index, np.ones(len(index), np.int32))
        return self._found(some).codes

    def index(self, events: EventColumns) -> tuple[bytes, bytes] | None:
        """What `found_in` finds: for who writes a record. None where columns can't tell."""
        if self._columns is None or not self.keying:
            return None
        try:
            return self.keying, self._in_columns(events, *self._columns).groups.tobytes()
        except (Unfit, InvalidEventError, pa.ArrowException):
            return None

    def _keyed(self, events: EventColumns) -> Keyed:
        """Found out; the events remember it for all who share this."""
        known: dict[KeyGroups, Keyed] = vars(events).setdefault("_keyed", {})
        if self not in known:
            known[self] = self._found(events)
        return known[self]

    def _found(self, events: EventColumns) -> Keyed:
        if not len(events):
            return Keyed(np.zeros(0, np.uint8), np.zeros(0, np.int64))
        if self._columns is None:
            return self._one_by_one(events)
        try:
            return self._in_columns(events, *self._columns)
        except (Unfit, InvalidEventError, LimitError, pa.ArrowException):
            return self._one_by_one(events)

    def _in_columns(
        self,
        events: EventColumns,
        key: Callable[[Any], Column],
        where: Callable[[Any], Mask] | None,
    ) -> Keyed:
        frame = None
        if self._attribute is not None:
            type_ = self._schema.types[self._attribute]
            found = _of_array(events.batch.column(self._attribute), type_)
        else:
            frame = _frame(events, self._schema)
            found = _of_column(key(frame))
        if where is not None:
            found.groups[~where(frame or _frame(events, self._schema))] = NO_GROUP
        return found

    def _one_by_one(self, events: EventColumns) -> Keyed:
        """As the reference has it; an event whose key can't be told goes where the key of no
        letters would, and is refused there."""
        if self._by_event is None:
            context = OnDemandContext(Engine(self._plan), "key")
            condition = None
            if self._where is not None:
                condition = compile_condition(self._where, self._scope, context)
            self._by_event = compile_expression(self._key, self._scope, context), condition
        rows = rows_of(events.batch, len(events))
        times = numbers(events.timestamps()).tolist()
        texts = [self._text(StreamEvent(at, row)) for at, row in zip(times, rows, strict=True)]
        codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        groups = [NO_GROUP if text is None else key_group_of(text) for text in codes]
        found = np.array([codes[text] for text in texts], np.int64)
        return Keyed(np.array(groups, np.uint8)[found], found)

    def _text(self, event: StreamEvent) -> str | None:
        assert self._by_event is not None
        key, where = self._by_event
        try:
            if where is not None and not where(event):
                return None
            value = key(event)
        except (*PROCESSING_ERRORS, LimitError):
            return ""
        if value is None:
            return None
        return value if type(value) is str else java.text(value, self._single)


def _frame(events: EventColumns, schema: StreamSchema) -> Rows:
    batch = events.conformed(schema)

    def column(_: int, attribute: int) -> Column:
        return from_arrow(schema.types[attribute], batch.column(attribute))

    times = lambda: numbers(events.timestamps())  # noqa: E731
    return Rows(len(events), column, times, times)


def _of_array(array: pa.Array, type_: AttributeType) -> Keyed:
    wanted = ARROW_TYPES[type_]
    if pa.types.is_binary(array.type):
        raise Unfit("a value that is not of its type")
    if array.type != wanted:
        array = array.cast(wanted, safe=not pa.types.is_floating(wanted))
    if type_ is not AttributeType.STRING and type_ not in _AS_TEXT:
        return _of_column(from_arrow(type_, array))
    if len(array) <= _FEW:
        return _of_few(array.to_pylist())
    encoded = array.dictionary_encode()
    texts = encoded.dictionary
    if type_ is not AttributeType.STRING:
        texts = texts.cast(pa.string())
    indices = encoded.indices
    if indices.null_count:
        indices = indices.fill_null(len(texts))
    codes = numbers(indices)
    return Keyed(np.append(_of_texts(texts), np.uint8(NO_GROUP))[codes], codes)


def _of_few(values: Sequence[str | int | None]) -> Keyed:
    """Texts or whole numbers, one by one: that takes less time than arrays do."""
    codes: dict[str | int | None, int] = {}
    found = np.array([codes.setdefault(value, len(codes)) for value in values], np.int64)
    groups = [NO_GROUP if value is None else key_group_of(java.text(value)) for value in codes]
    return Keyed(np.array(groups, np.uint8)[found], found)


def _of_column(column: Column) -> Keyed:
    codes, keys = partition_names(column)
    # A text may stand there twice: NaNs are told apart by their bits.
    firsts = {key: code for code, key in reversed(list(enumerate(keys)))}
    if len(firsts) < len(keys):
        codes = np.array([firsts[key] for key in keys], np.int64)[codes]
    groups = [NO_GROUP if key is None else key_group_of(key) for key in keys]
    return Keyed(np.array(groups, np.uint8)[codes], codes)


def _of_texts(texts: pa.Array) -> Groups:
    """The key groups of texts without nulls."""
    count = len(texts)
    if not count:
        return np.zeros(0, np.uint8)
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32, count + 1, 4 * texts.offset).astype(np.int64)
    lengths = np.diff(bounds)
    longest = int(lengths.max())
    if longest > _LONG_BYTES or count < longest:
        return np.array([key_group_of(text) for text in texts.to_pylist()], np.uint8)
    held = np.zeros(0 if data is None else data.size, np.uint8)
    if data is not None:
        held = np.frombuffer(data, np.uint8)
    sums = _sums(held, bounds[:-1], lengths, longest)
    return ((sums * np.uint32(_MIXING)) >> np.uint32(_SHIFT)).astype(np.uint8)


def _table() -> npt.NDArray[np.uint32]:
    """What each byte does to a sum (the polynomial of zlib.crc32)."""
    sums = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        sums = np.where(sums & 1, (sums >> 1) ^ np.uint32(0xEDB88320), sums >> 1).astype(np.uint32)
    return sums


_TABLE: Final = _table()


def _sums(
    held: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    longest: int,
) -> npt.NDArray[np.uint32]:
    """zlib.crc32 of many short texts at once, byte after byte."""
    sums = np.full(len(starts), 0xFFFFFFFF, np.uint32)
    shortest = int(lengths.min())
    for i in range(longest):
        if i < shortest:
            sums = _TABLE[(sums ^ held[starts + i]) & 0xFF] ^ (sums >> 8)
            continue
        longer = np.flatnonzero(lengths > i)
        some = sums[longer]
        sums[longer] = _TABLE[(some ^ held[starts[longer] + i]) & 0xFF] ^ (some >> 8)
    return sums ^ np.uint32(0xFFFFFFFF)
