"""Equality as Java's collections have it: 1, 1.0 and true are three different values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal and of one kind (integers, floating, booleans, …). NaN is the
    same as NaN."""
    if left is right:
        return True
    if isinstance(left, (bool, int, float)) and isinstance(right, (bool, int, float)):
        both_nan = left != left and right != right
        return _kind(left) is _kind(right) and (left == right or both_nan)
    return bool(left == right)


def _kind(value: Any) -> type:
    return bool if isinstance(value, bool) else float if isinstance(value, float) else int


def position(values: Sequence[Any], value: Any) -> int:
    """Where the value stands first, or -1."""
    return next((at for at, item in enumerate(values) if same(item, value)), -1)


def contains(values: Sequence[Any], value: Any) -> bool:
    """Whether the value is among the values."""
    return position(values, value) >= 0
