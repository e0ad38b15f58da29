"""The order of a keyed table's rows: that of Java's hash maps (semantics 10, "map order").

Apps see it wherever a condition matches several rows, so it is part of the meaning.
"""

from __future__ import annotations

from typing import Any

from lockstep.plan import java

_FIRST_CAPACITY = 16
_LOAD_FACTOR = 0.75


def text_hash(text: str) -> int:
    """The hash of a text over its UTF-16 units, as an unsigned 32-bit number."""
    units: Any = text.encode("ascii") if text.isascii() else _utf16_units(text)
    value = 0
    for unit in units:
        value = (31 * value + unit) & 0xFFFFFFFF
    return value


def _utf16_units(text: str) -> list[int]:
    raw = text.encode("utf-16-le", "surrogatepass")
    return [raw[i] | raw[i + 1] << 8 for i in range(0, len(raw), 2)]


def key_hash(values: tuple[Any, ...]) -> int:
    """The spread hash of a primary key: of the value itself, or of the joined texts of several."""
    if len(values) > 1:
        hashed = text_hash("".join(f"{_key_text(value)}:-:" for value in values))
    elif isinstance(values[0], bool):
        hashed = 1231 if values[0] else 1237
    elif values[0] is None:
        hashed = 0
    else:
        hashed = text_hash(java.text(values[0]))
    return hashed ^ (hashed >> 16)


def _key_text(value: Any) -> str:
    """Both zeros are one key, so they are in one place."""
    return java.text(value + 0.0 if isinstance(value, float) else value)


def bucket_mask(peak_rows: int) -> int:
    """The mask that picks a bucket in a map that once held `peak_rows` rows; maps never shrink."""
    capacity = _FIRST_CAPACITY
    while peak_rows > capacity * _LOAD_FACTOR:
        capacity *= 2
    return capacity - 1
