"""Buckets in columns: slots of pairs, base values, and what readers find at each moment."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from lockstep.aggregations.columns import kernel
from lockstep.aggregations.columns.arguments import Argument
from lockstep.aggregations.columns.bases import Count, Distinct, Feed, Latest, Number
from lockstep.aggregations.columns.level import Cells, Level
from lockstep.aggregations.columns.pair_ids import PairIds
from lockstep.aggregations.columns.slot_index import SlotIndex
from lockstep.aggregations.meaning.calendar import Bucketing
from lockstep.aggregations.meaning.columns import Kind
from lockstep.columns.column import Column, from_values
from lockstep.columns.keys import KeySpace
from lockstep.columns.pool import StringPool
from lockstep.plan import java
from lockstep.siddhiql.ast import Granularity
from tests.unit.columns.flows import DOUBLE, INT, LONG, STRING, longs

NO_TRACE = np.zeros(0, np.float64), np.zeros(0, np.bool_)
MANY = 5000


def test_pairs_get_ids_in_order_of_first_appearance() -> None:
    """Also negative ones, and more than there was room for; the same pair has the same id."""
    pairs = PairIds()
    assert pairs.claim([5, -5, 5], [1, 1, 1]).tolist() == [0, 1, 0]
    more = pairs.claim(np.arange(MANY), np.zeros(MANY))
    assert more.tolist() == list(range(2, MANY + 2))
    assert pairs.claim([-5, 4999], [1, 0]).tolist() == [1, MANY + 1]
    assert pairs.claim([], []).tolist() == []
    assert len(pairs) == MANY + 2


def test_pairs_that_are_forgotten_are_new() -> None:
    """Their ids stay theirs until others are kept; those have new numbers."""
    pairs = PairIds()
    pairs.claim([1, 2, 3], [7, 8, 9])
    pairs.forget(np.array([True, False, False]))
    assert pairs.claim([1, 2], [7, 8]).tolist() == [3, 1]
    pairs.keep(longs(1, 3))
    assert pairs.claim([1, 2, 3], [7, 8, 9]).tolist() == [1, 0, 2]
    pairs.rename_second(longs(*range(7), 70, 80, 90))
    assert pairs.claim([1, 1], [70, 7]).tolist() == [1, 3]


def test_slots_of_a_span_of_time() -> None:
    """From its start, without its end; by time, then by appearance; of one group, or of all."""
    pairs, index = PairIds(), SlotIndex()
    pairs.claim([300, 100, 100, 200], [0, 1, 0, 1])
    request, slot = index.find(pairs, longs(100, 200, 300), longs(300, 200, 100), None)
    assert (request.tolist(), slot.tolist()) == ([0, 0, 0], [1, 2, 3])
    request, slot = index.find(pairs, longs(0, 0, 0), longs(999, 999, 250), longs(0, -1, 1))
    assert (request.tolist(), slot.tolist()) == ([0, 0, 2, 2], [2, 0, 1, 3])
    pairs.claim([150], [0])
    assert index.find(pairs, longs(120), longs(180), None)[1].tolist() == [4]


@pytest.mark.parametrize(
    ("fold", "expected"),
    [(kernel.least, [0.0, None]), (kernel.greatest, [7.0, None]), (kernel.add, [8.0, None])],
)
def test_numbers_of_slots(fold: Any, expected: list[float | None]) -> None:
    """Nulls change nothing; a slot of nulls alone is null."""
    base = Number(fold, np.float64)
    base.reserve(2)
    values = np.array([1.0, 0.0, 7.0, 99.0, 99.0])
    valid = np.array([True, True, True, False, False])
    feed = Feed(longs(0, 0, 0, 0, 1), longs(), longs(), longs())
    base.fold(feed, (values, valid))
    assert base.store(longs(0, 1)) == expected
    other = Number(fold, np.float64)
    other.load(expected)
    assert other.store(longs(1, 0)) == expected[::-1]


@pytest.mark.parametrize(("fold", "best"), [(kernel.least, min), (kernel.greatest, max)])
def test_nan_is_no_extreme(fold: Any, best: Any) -> None:
    """In whatever order it comes; alone it leaves null. The first of equal zeros stays."""
    for values in permutations([np.nan, 2.0, np.nan, 3.0]):
        for count in range(5):
            base = Number(fold, np.float64)
            base.reserve(1)
            feed = Feed(longs(*[0] * count), longs(), longs(), longs())
            base.fold(feed, (np.array(values[:count]), np.ones(count, np.bool_)))
            wanted = [value for value in values[:count] if value == value]
            assert base.store(longs(0)) == [best(wanted, default=None)]
    zeros = Number(fold, np.float64)
    zeros.reserve(1)
    zeros.fold(
        Feed(longs(0, 0), longs(), longs(), longs()), (np.array([-0.0, 0.0]), np.ones(2, np.bool_))
    )
    assert repr(zeros.store(longs(0))) == "[-0.0]"


def test_nan_that_an_earlier_release_kept_is_null() -> None:
    """Of extremes; a sum with it is NaN."""
    for fold in (kernel.least, kernel.greatest):
        base = Number(fold, np.float64)
        base.load([float("nan"), 2.0])
        assert base.store(longs(0, 1)) == [None, 2.0]
    total = Number(kernel.add, np.float64)
    total.load([float("nan")])
    assert repr(total.store(longs(0))) == "[nan]"


def test_what_was_in_front_of_an_event_can_be_asked_for() -> None:
    """Until the slice is settled; then there is only what is now."""
    base = Count()
    base.reserve(2)
    base.fold(Feed(longs(0, 1, 0, 0), longs(), longs(), longs(0, 0, 0, 0)), None)
    assert base.at(longs(0, 0, 1, 0), longs(0, 2, 1, -1)).to_pylist() == [0, 1, 0, 3]
    base.settle()
    assert base.at(longs(0, 1), longs(-1, -1)).to_pylist() == [3, 1]
    base.keep(longs(1))
    assert base.store(longs(0, 1)) == [1, 0]


def test_different_values() -> None:
    """Of each slot; slots that stay keep theirs, and values may get new numbers."""
    space = KeySpace()
    argument = [space.id_of(text) for text in ("x", "y", "x", "x")]
    base = Distinct(space)
    base.reserve(2)
    base.fold(Feed(longs(0, 0, 0, 1), longs(), longs(), longs()), longs(*argument))
    assert base.store(longs(0, 1)) == [{"x", "y"}, {"x"}]
    base.keep(longs(1))
    assert base.used().tolist() == [0]
    base.renumber(space.compact(np.array([True, False])))
    assert base.store(longs(0)) == [{"x"}]
    base.load([{1.0, float("nan"), float("nan")}])
    assert base.at(longs(0), longs(-1)).to_pylist() == [2]


def test_the_latest_value() -> None:
    """In front of each event, too: from before the slice, from the slice, or as it is now."""
    base = Latest(STRING, StringPool())
    base.load(["old", None])
    # Events 0, 1, 2 of slots 0, 0, 1: the first is late, so the second wins.
    feed = Feed(longs(0, 0, 1), longs(0, 1), longs(1, 2), longs(-1, -1, -1))
    base.fold(feed, from_values(STRING, ["late", "new", None]))
    assert base.at(longs(0, 0, 1, 0), longs(0, 1, 2, -1)).to_pylist() == ["old", "old", None, "new"]
    base.settle()
    assert base.store(longs(0, 1)) == ["new", None]


@pytest.mark.parametrize(
    ("kind", "made"),
    [(Kind.COUNT, Count), (Kind.DISTINCT, Distinct), (Kind.LATEST, Latest), (Kind.LEAST, Number)],
)
def test_the_base_of_an_argument(kind: Kind, made: type) -> None:
    """One per granularity."""
    argument = Argument(kind, None if kind is Kind.COUNT else INT, StringPool())
    assert isinstance(argument.new(), made)
    assert argument.new() is not argument.new()


def test_values_of_distinct_counts_are_forgotten() -> None:
    """When no granularity holds them any more."""
    argument = Argument(Kind.DISTINCT, LONG, StringPool())
    base = argument.new()
    assert isinstance(base, Distinct)
    base.reserve(1)
    many = argument.of(from_values(LONG, list(range(3 * Argument.FORGET_MIN))))
    base.fold(Feed(longs(0, 0), longs(), longs(), longs()), many[:2].copy())
    argument.settle([base])
    assert argument.of(from_values(LONG, [1, 77])).tolist() == [1, 2]
    assert base.store(longs(0)) == [{0, 1}]
    reals = Argument(Kind.DISTINCT, DOUBLE, StringPool())
    assert reals.of(Column(DOUBLE, np.array([np.nan, 1.0]))).tolist() == [0, 1]
    assert reals.of(Column(DOUBLE, np.array([-np.nan]))).tolist() == [0]


def level() -> Level:
    """Minutes that count."""
    bucketing = Bucketing(Granularity("minutes"), "GMT")
    return Level(bucketing, [Argument(Kind.COUNT, None, StringPool())])


def fed(target: Level, times: list[int], *, traced: bool = False) -> None:
    """Events of one group."""
    cells = Cells(longs(*times), longs(*[0] * len(times)), 1000)
    target.fold(target.claim(cells), longs(*times), [None], traced=traced)


def test_buckets_of_a_granularity() -> None:
    """Times before 1970 have their own; stored in the order of time, and loaded the same."""
    minutes = level()
    fed(minutes, [61_000, 5_000, -1, 59_999])
    stored = minutes.store(["g"])
    assert [(start, groups[0][1][1]) for start, groups in stored] == [
        (-60_000, 1),
        (0, 2),
        (60_000, 1),
    ]
    again = level()
    again.load(
        [(start, [(("g",), state) for _, state in groups]) for start, groups in stored],
        lambda key: 0,
    )
    assert again.store(["g"]) == stored
    nan = [[(float("nan"),), [number, number]] for number in (1, 2)]
    old, space = level(), KeySpace()
    old.load([(0, nan)], space.id_of)
    assert [state for _, state in old.store(space.keys)[0][1]] == [[1, 1], [2, 2]]
    assert space.find(java.key((float("nan"),))) == 0
    with pytest.raises(ValueError, match="twice"):
        level().load([(0, [(("g",), [0, 1]), (("g",), [0, 1])])], lambda key: 0)


def test_readers_see_what_was_there_when_they_asked() -> None:
    """Not buckets of later events, nor those that were dropped before; the rest as they were."""
    minutes = level()
    fed(minutes, [1_000])
    minutes.settle()
    fed(minutes, [2_000, 61_000, 3_000], traced=True)
    minutes.purge(longs(60_000), 0)
    whole = longs(0, 0, 0, 0), longs(10**6, 10**6, 10**6, 10**6)
    request, slot, event = minutes.find(*whole, None, longs(0, 1, 3, 3), longs(0, 0, 0, 1))
    counts = minutes.bases[0].at(slot, event).to_pylist()
    assert list(zip(request.tolist(), minutes.starts(slot).tolist(), counts, strict=True)) == [
        (0, 0, 1),
        (1, 0, 2),
        (2, 0, 3),
        (2, 60_000, 1),
        (3, 60_000, 1),
    ]
    minutes.settle()
    assert [start for start, _ in minutes.store(["g"])] == [60_000]


def test_purges_in_a_row_drop_each_bucket_by_the_first_that_finds_it_too_old() -> None:
    """Also where they are looked at together, behind others and with a bucket dropped before."""
    minutes = level()
    fed(minutes, [1_000, 61_000, 121_000, 999_000])
    minutes.purge(longs(1), 0)
    minutes.purge(longs(60_000, 60_001, 100_000, 121_000), 3)
    gone_at = minutes.gone_at[: len(minutes)].tolist()
    assert gone_at[:3] == [0, 4, 6]
    assert gone_at[3] > 6
    minutes.settle()
    assert [start for start, _ in minutes.store(["g"])] == [960_000]
