"""Fields of documents as attributes."""

from __future__ import annotations

from lockstep.databases.comparing import by_key, differences
from lockstep.databases.contract import TableShape
from lockstep.databases.mongodb.values import row_of
from lockstep.events import AttributeType

SHAPE = TableShape("t", ("k", "v"), (AttributeType.INT, AttributeType.DOUBLE), ("k",))


def test_a_nan_is_no_change() -> None:
    """Each look reads a number of its own, and NaN is never equal to another one."""
    looks = [
        by_key([row_of({"k": 1, "v": float("nan")}, SHAPE, "t")], SHAPE, "t") for _ in range(2)
    ]
    assert differences(looks[0], looks[1], SHAPE) == []
