"""Places in the run: what stands in front of what."""

from __future__ import annotations

from random import Random

import numpy as np

from lockstep.columns import order_kernel
from lockstep.columns.labels import LATE, firing_of, label
from lockstep.columns.merging import counts_before, merge, merged
from lockstep.columns.order import BEHIND, Order, places_of
from tests.unit.columns.flows import chunks, longs


def test_what_came_of_a_chunk_stands_in_front_of_it() -> None:
    """And in the order of the receivers."""
    stream = Order(longs(1, 3))
    first, second = stream.below(0, 0), stream.below(1, 0)
    assert merged([stream, second, first]).tolist() == [4, 2, 0, 5, 3, 1]


def test_levels_that_a_stream_was_filled_up_with_do_not_count() -> None:
    """A chunk from two levels down that shares its stream with one from four, and what a receiver
    of lower place made of both."""
    filled = Order(longs(1, 1), (longs(0, 3), longs(0, 0), longs(BEHIND, 1), longs(BEHIND, 0)))
    made = filled.below(1, 0)
    deeper = Order(longs(1), (0, 0, 2, 0))
    # made of the first chunk by place 1, then what place 2 made of it, then the chunk.
    assert merged([filled, made, deeper]).tolist() == [2, 4, 0, 3, 1]
    assert places_of(made) == [(0, 0, 1, 0), (3, 0, 1, 0, 1, 0)]


def test_streams_of_which_each_is_in_order() -> None:
    """Whether they share moments or not, and however they are told apart there."""
    random = Random(7)
    for _ in range(300):
        orders = [
            Order(
                np.sort(np.array(random.choices(range(12), k=random.randrange(6)), np.int64)),
                random.choice([(), (0,), (0, 1), (2, 0), (1,), (0, BEHIND)]),
            )
            for _ in range(random.randrange(1, 4))
        ]
        places = [
            (int(moment), *place, *[BEHIND] * (2 - len(place)), number)
            for number, order in enumerate(orders)
            for moment, place in zip(order.moments, places_of(order), strict=True)
        ]
        arranged = sorted(range(len(places)), key=places.__getitem__)
        assert merged(orders).tolist() == arranged
        those, asked = orders[0], orders[-1]
        if those is not asked:
            count = len(places) - len(asked)
            before = [sum(p[:3] <= q[:3] for p in places[: len(those)]) for q in places[count:]]
            assert counts_before(those, asked).tolist() == before


def test_streams_whose_chunks_stand_at_many_places() -> None:
    """One that several wrote, in order or not, and what asks it."""
    random = Random(11)
    for _ in range(300):
        drawn = [
            [
                (random.randrange(4), random.randrange(3), random.choice((0, 1, BEHIND)))
                for _ in range(random.randrange(8))
            ]
            for _ in range(2)
        ]
        if random.random() < 0.8:
            drawn = [sorted(each) for each in drawn]
        those, asked = (
            Order(longs(*(p[0] for p in each)), tuple(longs(*(p[n] for p in each)) for n in (1, 2)))
            for each in drawn
        )
        expected = [sum(one <= place for one in drawn[0]) for place in drawn[1]]
        assert counts_before(those, asked).tolist() == expected


def test_streams_with_several_writers() -> None:
    """Their chunks arrive in order."""
    one, other = chunks([1], [2], first_moment=1), chunks([3], first_moment=3)
    whole = merge([one, other])
    assert whole.order.moments.tolist() == [1, 3, 3]
    assert whole.columns[0].to_pylist() == [1, 2, 3]


def test_firings_in_the_order_of_one_queue() -> None:
    """By due time, then by the owner's rank, then as they come."""
    first = label(100, 2, ())
    assert first == (100, 2, 0)
    assert label(100, 2, first) == (100, 2, 1)
    assert label(100, 3, first) == (100, 3, 0)
    assert label(200, 0, first) == (200, 0, 0)


def test_a_timer_asked_for_too_late() -> None:
    """It fires right behind the firing that asked, and those behind it likewise."""
    asked = label(100, 2, ())
    late = label(50, 4, asked)
    assert late == (100, 2, 0, LATE, 50, 4, 0)
    assert label(60, 1, late) == (100, 2, 0, LATE, 60, 1, 0)
    assert label(40, 1, late) == (100, 2, 0, LATE, 50, 4, 0, LATE, 40, 1, 0)
    assert label(100, 2, late) == (100, 2, 1)
    # Behind all that the firing itself brought, in front of the next one.
    assert (100, 2, 0, 7, 0) < late < (100, 2, 1)


def test_the_firing_of_what_it_brought() -> None:
    """Whatever stands below it."""
    assert firing_of((100, 2, 0, 5, 0, 6, 1)) == (100, 2, 0)
    assert firing_of((100, 2, 0, LATE, 50, 4, 0, 5, 0)) == (100, 2, 0, LATE, 50, 4, 0)


def test_no_chunks() -> None:
    """Nothing to arrange."""
    assert merged([Order(np.zeros(0, np.int64))]).tolist() == []
    assert places_of(Order(longs(1))) == [()]


def test_what_moments_alone_do_not_tell() -> None:
    """Streams that meet at a moment with one rank, or with one that is unknown."""
    moments, begins = longs(1, 3, 3, 5), longs(0, 2, 4)
    arranged, is_clear = order_kernel.interleave(moments, begins, longs(1, 0))
    assert (arranged.tolist(), is_clear) == ([0, 2, 1, 3], True)
    for ranks in (longs(1, 1), longs(-1, 1), longs(0, -1)):
        assert not order_kernel.interleave(moments, begins, ranks)[1]
    assert not order_kernel.interleave(longs(3, 1), longs(0, 2), longs(0))[1]
    before, is_clear = order_kernel.count_before(longs(1, 3), longs(3, 5), 1, 0)
    assert (before.tolist(), is_clear) == ([1, 2], True)
    assert order_kernel.count_before(longs(1, 3), longs(3, 5), 0, 1)[0].tolist() == [2, 2]
    assert not order_kernel.count_before(longs(3, 1), longs(4), 0, 1)[1]
    assert not order_kernel.count_before(longs(1), longs(4, 3), 0, 1)[1]
