"""What code of others gives back becomes a plain value of the declared type, or is refused."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np
import pytest

from lockstep.events import AttributeType as T
from lockstep.functions.returned import returned
from lockstep.operators.errors import EventError
from lockstep.operators.limits import LimitError, Limits, in_force


class Colour(enum.IntEnum):
    """An int, and more."""

    RED = 7


class Name(str):
    """A text, and more."""

    __slots__ = ()


class Shy:
    """Cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


def value(wanted: T, result: Any) -> Any:
    """The result as a value of the type."""
    return returned(wanted, result, "my:f", EventError)


@pytest.mark.parametrize(
    ("wanted", "result", "made"),
    [
        (T.LONG, 2.9, 2),
        (T.INT, 2**32 + 1, 1),
        (T.DOUBLE, 3, 3.0),
        (T.FLOAT, 0.1, 0.10000000149011612),
        (T.LONG, np.int64(5), 5),
        (T.DOUBLE, np.float64(1.5), 1.5),
        (T.BOOL, np.bool_(True), True),
        (T.INT, Colour.RED, 7),
        (T.STRING, Name("a"), "a"),
        (T.STRING, "é", "é"),
        (T.OBJECT, {"a": [1, (2, {3})]}, {"a": [1, (2, {3})]}),
        (T.STRING, None, None),
    ],
)
def test_values_become_plain_ones_of_the_type(wanted: T, result: Any, made: Any) -> None:
    """Of exactly the class that columns and snapshots know."""
    found = value(wanted, result)
    assert (type(found), found) == (type(made), made)


@pytest.mark.parametrize(
    ("wanted", "result"),
    [
        *((T.LONG, "abc"), (T.LONG, 2**70), (T.LONG, True), (T.BOOL, 1), (T.STRING, 5)),
        *((T.STRING, "\ud800"), (T.OBJECT, object()), (T.OBJECT, ["\ud800"]), (T.INT, Shy())),
    ],
)
def test_others_are_refused(wanted: T, result: Any) -> None:
    """As an error of the event."""
    with pytest.raises(EventError, match=r"^returned "):
        value(wanted, result)


def test_what_is_too_large_goes_over_a_limit() -> None:
    """As a text of our own functions does."""
    with in_force(Limits(value_size=70_000)), pytest.raises(LimitError, match="my:f makes"):
        value(T.STRING, "a" * 70_001)
