"""Fields of documents as attributes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from bson import ObjectId

from lockstep.databases.comparing import by_key, differences
from lockstep.databases.contract import TableShape
from lockstep.databases.mongodb.values import filter_of, row_of
from lockstep.events import AttributeType

SHAPE = TableShape("t", ("k", "v"), (AttributeType.INT, AttributeType.DOUBLE), ("k",))


def test_a_nan_is_no_change() -> None:
    """Each look reads a number of its own, and NaN is never equal to another one."""
    looks = [
        by_key([row_of({"k": 1, "v": float("nan")}, SHAPE, "t")], SHAPE, "t") for _ in range(2)
    ]
    assert differences(looks[0], looks[1], SHAPE) == []


ID = "65a1b2c3d4e5f60718293a4b"


def test_a_text_may_be_that_of_an_id() -> None:
    """Both are asked for: a row has one as the other. No other text is one of an ObjectId."""
    both = [ID, ObjectId(ID)]
    assert filter_of(("k",), [("x",), (ID,)]) == {"k": {"$in": ["x", *both]}}
    assert filter_of(("k", "n"), [(ID, 1)]) == {"$or": [{"k": {"$in": both}, "n": {"$eq": 1}}]}
    assert filter_of(("k",), [(ID.upper(),)]) == {"k": {"$in": [ID.upper()]}}


@pytest.mark.parametrize("number", [0.1, -0.1, 0.0, 1.5, 3.4028234663852886e38, 1e-45, math.inf])
def test_of_a_float_all_doubles_that_become_it_are_asked_for(number: float) -> None:
    """A document has a double. Others are not asked for, but for those halfway to the next one."""
    shape = TableShape("t", ("k",), (AttributeType.FLOAT,), ("k",))
    value = float(np.float32(number))
    which = filter_of(("k",), [(value,)], floats={"k"})["$or"][0]["k"]

    def is_asked_for(one: float) -> bool:
        return bool(which["$gte"] <= one <= which["$lte"])

    assert row_of({"k": number}, shape, "t") == (value,)
    assert is_asked_for(number)
    assert is_asked_for(value)
    with np.errstate(over="ignore"):
        steps = np.nextafter(np.float32(value), np.array([-np.inf, np.inf], np.float32))
    for step in {float(one) for one in steps} - {value, math.inf}:
        assert not is_asked_for(step)
        for part in (0.3, 0.49, 0.51, 0.7):
            double = value + (step - value) * part if math.isfinite(value) else step
            rounds_to_it = row_of({"k": double}, shape, "t") == (value,)
            assert is_asked_for(double) == rounds_to_it


def test_a_double_is_asked_for_as_it_is() -> None:
    """Alone and with others."""
    assert filter_of(("k",), [(0.5,)]) == {"k": {"$in": [0.5]}}
    found = filter_of(("k", "v"), [(0.5, 0.5)], floats={"v"})
    assert found["$or"][0]["k"] == {"$eq": 0.5}
    assert set(found["$or"][0]["v"]) == {"$gte", "$lte"}
