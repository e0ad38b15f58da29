"""What becomes of figures when they are made coarser, and how they are packed."""

from __future__ import annotations

import msgspec

from lockstep.store import Figures, SinkFigures, Span
from lockstep.store.figures import packed, together, unpacked


def test_figures_come_back_as_they_were_packed() -> None:
    """To the last field; an idle app takes a few bytes."""
    sink = SinkFigures("out", 3, 1.5, 7, None)
    busy = Figures(10, 9.5, 4, 0, 100, 35, 12, 40, epoch=3, leaders=("n1", "n2"), sinks=(sink,))
    for span in (Span(busy), Span(busy, Figures()), Span(Figures())):
        assert unpacked(packed(span)) == span
    assert len(packed(Span(Figures()))) <= 16


def test_what_a_later_release_adds_is_not_read() -> None:
    """An older coordinator beside a newer one reads what it knows."""
    later = [[1, 2, 3, 4, 5, 6, 7, 8, 9, ["n"], [], "a field of the future"], None, "another"]
    found = unpacked(msgspec.msgpack.encode(later))
    assert found == Span(Figures(1, 2, 3, 4, 5, 6, 7, 8, 9, ("n",)))


def test_several_are_their_means_and_the_greatest() -> None:
    """Latencies of times when nothing came do not count as 0; sinks are told apart."""
    one = Figures(10, 1, 4, leaders=("a",), epoch=1, sinks=(SinkFigures("x", 6),))
    two = Figures(
        20, 2, 0, latency_p99_ms=30, leaders=("b",), epoch=2,
        sinks=(SinkFigures("x", 2, 1, 5), SinkFigures("y", 9)),
    )  # fmt: skip
    span = together([Span(one), Span(two)])
    assert (span.mean.events_per_s, span.mean.rows_per_s, span.mean.lag) == (15, 1.5, 2)
    assert (span.most.events_per_s, span.most.rows_per_s, span.most.lag) == (20, 2, 4)
    assert (span.mean.latency_p99_ms, span.mean.latency_p50_ms) == (30, None)
    assert (span.mean.leaders, span.mean.epoch) == (("a", "b"), 2)
    assert span.mean.sinks == (SinkFigures("x", 4, 0.5, 5), SinkFigures("y", 9))
    assert span.most.sinks[0] == SinkFigures("x", 6, 1, 5)


def test_coarse_ones_get_coarser_still() -> None:
    """The greatest of a day is the greatest of its hours, not of their means."""
    low, high = Figures(lag=1), Figures(lag=9)
    hour = together([Span(low), Span(high)])
    day = together([hour, Span(low)])
    assert (hour.mean.lag, hour.most.lag) == (5, 9)
    assert (day.mean.lag, day.most.lag) == (3, 9)
