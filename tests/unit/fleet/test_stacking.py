"""Rows of several units one below the other, for whoever reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

from lockstep.events.columns import column_of
from lockstep.fleet.pooling import Pooled, pooled
from lockstep.fleet.stacking import Channel, Stack, stacks_of
from lockstep.fleet.units import Unit
from tests.unit.columns.flows import longs
from tests.unit.fleet.test_channels import reader, rows
from tests.unit.fleet.test_mixing import of_reader

WRITERS, READER = reader(first="X")
SCHEMAS = READER.plan.app.schemas


def channels() -> list[Channel]:
    """Three rows of the one writer, and one of the other."""
    one = rows((1, 1, 1000, 0), (1, 3, 1000, 1), (2, 1, 1010, 0))
    return [Channel(WRITERS[0], one), Channel(WRITERS[1], rows((1, 3, 1000, 0)))]


def stack_of(*made: Channel) -> Stack:
    """The one that there is."""
    found = stacks_of(made, SCHEMAS)
    assert found is not None
    (stack,) = found
    return stack


def test_they_stand_one_below_the_other() -> None:
    """Values and times; each with its unit."""
    made = channels()
    stack = stack_of(*made)
    assert stack.stream == "X"
    assert list(stack.units) == list(WRITERS)
    assert stack.starts.tolist() == [0, 3, 4]
    assert stack.batch.num_rows == 4
    assert stack.times.tolist() == [t for each in made for t in each.rows.timestamps_ms]
    assert stack.ordinals.tolist() == [n for each in made for n in each.rows.ordinals]
    assert stack.clocks.tolist() == [1000, 1000, 1010, 1000]
    assert stack.events.to_record().chunks == tuple(
        chunk for each in made for chunk in each.events.to_record().chunks
    )
    assert not stack.is_timed


def test_who_reads_the_same_shares_it() -> None:
    """And who reads others gets others."""
    made = channels()
    stack = stack_of(*made)
    assert stack_of(*made) is stack
    assert stack_of(made[0]) is not stack
    assert stack_of(made[0]).starts.tolist() == [0, 3]


def test_what_has_no_rows_is_left_out() -> None:
    """Also if nobody has some."""
    one, _ = channels()
    empty = Channel(WRITERS[1], one.rows.part(0, 0))
    assert stack_of(one, empty).units == [WRITERS[0]]
    assert stacks_of([empty], SCHEMAS) == []


def others() -> Iterator[Channel]:
    """Rows that were sent together, and such of other types."""
    yield Channel(WRITERS[0], rows((1, 1, 1000, 0), (1, 1, 1000, 0)))
    made = channels()[0].rows
    column = column_of(longs(1, 2, 3))
    batch = pa.RecordBatch.from_arrays([column, column], names=["k", "v"])
    yield Channel(WRITERS[0], replace(made, batch=batch))


@pytest.mark.parametrize("other", list(others()))
def test_what_cannot_be_stacked(other: Channel) -> None:
    """The others come one record after the other, too."""
    assert stacks_of([other, channels()[1]], SCHEMAS) is None


def pool_and_unit() -> tuple[Pooled, Unit]:
    """Records of S."""
    unit, entries, _ = of_reader(Random(2), is_playback=True, first="X")
    pool = pooled(entries, unit.plan.app.schemas)
    assert pool is not None
    return pool, unit


def test_moments_count_on_from_record_to_record() -> None:
    """Those that are behind all events of their record have none."""
    pool, _ = pool_and_unit()
    counts, starts = pool.records.rows.tolist(), pool.starts.tolist()
    position = next(n for n, count in enumerate(counts, 1) if n > 1 and count)
    within = stack_of(Channel(WRITERS[0], rows((position, 1, 1000, 0))))
    found = within.standing(pool)
    assert found is not None
    assert found.tolist() == [2 * starts[position - 1] + 1]
    assert within.standing(pool) is found
    behind = stack_of(Channel(WRITERS[0], rows((position, 2 * counts[position - 1], 1000, 0))))
    assert behind.is_timed
    assert behind.standing(pool) is None
    elsewhere = stack_of(Channel(WRITERS[0], rows((len(counts) + 1, 1, 1000, 0))))
    assert elsewhere.standing(pool) is None
