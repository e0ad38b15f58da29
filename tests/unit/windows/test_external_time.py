"""externalTime(attribute, t) and externalTimeBatch(attribute, t) on columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Unfit, from_values
from lockstep.columns.pool import StringPool
from lockstep.windows.contract import Setup
from lockstep.windows.external_time.columns import ExternalTimeWindow
from lockstep.windows.external_time_batch.columns import ExternalTimeBatchWindow
from tests.unit.columns.flows import LONG, chunks, longs, shown, step

SETUP = Setup((LONG,), StringPool(), True, True, False, 5)


def clocks(*each: list[Any]) -> Chunks:
    """A stream of one long attribute, which is the clock."""
    values = [value for chunk in each for value in chunk]
    plain = chunks(*([0] * len(chunk) for chunk in each))
    return replace(plain, columns=(from_values(LONG, values),))


def test_what_is_too_old_by_the_attribute_leaves() -> None:
    """In front of the event that says so, with its value as time; a late event stays behind."""
    window = ExternalTimeWindow(SETUP, 0, 10)
    assert shown(window.flow(step(clocks([1, 5], [11], [7, 30])))) == [
        ["C1@100", "C5@100"],
        ["X1@11", "C11@200"],
        ["C7@300", "X5@30", "X11@30", "X7@30", "C30@300"],
    ]
    window.settle()
    assert len(window.held) == 1


def test_a_null_is_no_clock() -> None:
    """The slice goes to the reference."""
    with pytest.raises(Unfit, match="a null where an attribute is the clock"):
        ExternalTimeWindow(SETUP, 0, 10).flow(step(clocks([None])))


def test_batches_by_the_attribute() -> None:
    """An event at the end of a batch closes it; the start says where batches end."""
    window = ExternalTimeBatchWindow(SETUP, 0, 10, None)
    assert shown(window.flow(step(clocks([1, 5], [11, 12], [40])))) == [
        ["R", "C1@100", "C5@100"],
        ["X1@40", "X5@40", "R", "C11@200", "C12@200"],
    ]
    aligned = ExternalTimeBatchWindow(SETUP, 0, 10, 0)
    assert shown(aligned.flow(step(clocks([9], [10])))) == [["R", "C9@100"]]


def test_batches_by_the_attribute_go_on_from_what_was_stored() -> None:
    """With the period that has begun."""
    window = ExternalTimeBatchWindow(SETUP, 0, 10, None)
    window.flow(step(clocks([1, 5])))
    other = ExternalTimeBatchWindow(SETUP, 0, 10, None)
    other.load(0, window.store(0), lambda columns, times, realm: longs(*[0] * len(times)))
    assert shown(other.flow(step(clocks([11])))) == [["R", "C1@100", "C5@100"]]
