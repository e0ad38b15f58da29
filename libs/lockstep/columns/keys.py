"""Keys as small numbers: group keys and partition keys get ids that stay theirs while they are
used."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lockstep.columns.column import Array, Column, Strings
from lockstep.events import AttributeType
from lockstep.plan import java

Ids = npt.NDArray[np.int64]
_FLOATING = (AttributeType.FLOAT, AttributeType.DOUBLE)
_COMBINATIONS_MAX = 1 << 62
"""So many can be numbered without going round."""


class KeySpace:
    """Ids 0, 1, … for keys, in order of first appearance. `keys[id]` is the key of an id."""

    def __init__(self) -> None:
        self._ids: dict[Hashable, int] = {}
        self.keys: list[Hashable] = []

    def __len__(self) -> int:
        return len(self.keys)

    def id_of(self, key: Hashable) -> int:
        """The key's id; a new one if it is new."""
        found = self._ids.get(key)
        if found is None:
            found = self._ids[key] = len(self.keys)
            self.keys.append(key)
        return found

    def find(self, key: Hashable) -> int:
        """The key's id, or -1."""
        return self._ids.get(key, -1)

    def assign(self, codes: Array, keys: Sequence[Hashable]) -> Ids:
        """Ids of rows whose keys are given by codes into `keys`."""
        used = np.bincount(codes, minlength=len(keys)) > 0
        table = np.zeros(len(keys), np.int64)
        for code in np.flatnonzero(used).tolist():
            table[code] = self.id_of(keys[code])
        return table[codes]

    def compact(self, live: npt.NDArray[np.bool_]) -> Ids:
        """Forgets the keys that are not live; gives the new id of each old one (-1 when gone)."""
        kept = np.flatnonzero(live)
        moved = np.full(len(self.keys), -1, np.int64)
        moved[kept] = np.arange(len(kept))
        self.keys = [self.keys[i] for i in kept.tolist()]
        self._ids = {key: i for i, key in enumerate(self.keys)}
        return moved


def group_names(column: Column) -> tuple[Array, list[Any]]:
    """Keys as `group by` compares them (semantics 5)."""
    codes, values, null = distinct(column)
    if column.type is AttributeType.STRING:
        keys = list(values)
        of_null: Any = "null"
    elif column.type in _FLOATING:
        keys = [repr(value) for value in values]
        of_null = "None"
    else:
        keys = list(values)
        of_null = None
    return _with_null(codes, keys, null, of_null)


def value_names(column: Column) -> tuple[Array, list[Any]]:
    """Keys as `==` compares values, but every NaN is one; null is None."""
    codes, values, null = distinct(column)
    keys = list(map(java.key, values)) if column.type in _FLOATING else list(values)
    return _with_null(codes, keys, null, None)


def partition_names(column: Column) -> tuple[Array, list[Any]]:
    """Keys as partitions compare them: texts of values; null is None (semantics 15)."""
    codes, values, null = distinct(column)
    single = column.type is AttributeType.FLOAT
    keys = [value if type(value) is str else java.text(value, single) for value in values]
    return _with_null(codes, keys, null, None)


def _with_null(
    codes: Array, keys: list[Any], null: npt.NDArray[np.bool_] | None, of_null: Any
) -> tuple[Array, list[Any]]:
    if null is None:
        return codes, keys
    codes = codes.copy()
    codes[null] = len(keys)
    return codes, [*keys, of_null]


def distinct(column: Column) -> tuple[Array, Sequence[Any], npt.NDArray[np.bool_] | None]:
    """(codes, the value of each code, where nulls are); NaNs and zeros are told apart by bits."""
    null = column.nulls if column.nulls is not None and column.nulls.any() else None
    if isinstance(column, Strings):
        return column.values, column.words.texts, null
    values = column.values
    if column.type is AttributeType.BOOL:
        return values.astype(np.int8), [False, True], null
    if column.type in _FLOATING:
        bits = np.ascontiguousarray(values).view(np.int32 if values.itemsize == 4 else np.int64)
        codes, uniques = encoded(bits)
        return codes, uniques.view(values.dtype).tolist(), null
    codes, uniques = encoded(values)
    return codes, uniques.tolist(), null


def encoded(values: Array) -> tuple[Array, Array]:
    """(code of each integer, the integer of each code), codes in order of first appearance."""
    found = pa.array(np.ascontiguousarray(values)).dictionary_encode()
    return found.indices.to_numpy(), found.dictionary.to_numpy()


def combined(names: Sequence[tuple[Array, Sequence[Any]]]) -> tuple[Array, list[Any]]:
    """Codes of combinations; the key of a combination is the tuple of the parts' keys."""
    fitting = _fitting(names)
    if fitting == len(names):
        return _combined(names)
    # There are no more combinations than rows, so the first parts are small again as one.
    codes, keys = _combined(names[:fitting])
    codes, keys = combined([(codes, keys), *names[fitting:]])
    return codes, [(*first, *others) for first, *others in keys]


def _fitting(names: Sequence[tuple[Array, Sequence[Any]]]) -> int:
    """How many of the first parts can be told apart by one number."""
    combinations = len(names[0][1])
    for i, (_, keys) in enumerate(names[1:], 1):
        combinations *= len(keys)
        if combinations > _COMBINATIONS_MAX:
            return i
    return len(names)


def _combined(names: Sequence[tuple[Array, Sequence[Any]]]) -> tuple[Array, list[Any]]:
    whole = names[0][0].astype(np.int64)
    for codes, keys in names[1:]:
        whole = whole * len(keys) + codes
    codes, uniques = encoded(whole)
    parts: list[list[Any]] = []
    for _, keys in reversed(names):
        uniques, rest = np.divmod(uniques, len(keys))
        parts.append([keys[i] for i in rest.tolist()])
    return codes, list(zip(*reversed(parts), strict=True))
