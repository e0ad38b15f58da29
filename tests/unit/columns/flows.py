"""Small streams in columns, for the tests of what works on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import from_values
from lockstep.columns.moves import Moves
from lockstep.columns.order import Order
from lockstep.columns.pool import StringPool
from lockstep.events import AttributeType
from lockstep.windows.contract import Setup, Step

STRING, INT, LONG, DOUBLE = (
    AttributeType.STRING,
    AttributeType.INT,
    AttributeType.LONG,
    AttributeType.DOUBLE,
)


def longs(*values: int) -> Any:
    """Whole numbers as an array."""
    return np.array(values, np.int64)


def chunks(*each: Sequence[int], at: Sequence[int] = (), first_moment: int = 1) -> Chunks:
    """A stream of one int attribute: a chunk per sequence, at moments 1, 3, … and clocks `at`
    (100, 200, … when not given); events bear the clock as their time."""
    values = [value for chunk in each for value in chunk]
    now = list(at) or [100 * (i + 1) for i in range(len(each))]
    times = [clock for clock, chunk in zip(now, each, strict=True) for _ in chunk]
    starts = np.append(0, np.cumsum([len(chunk) for chunk in each])).astype(np.int64)
    moments = first_moment + 2 * np.arange(len(each), dtype=np.int64)
    return Chunks(
        (from_values(INT, values),), np.array(times, np.int64), starts, Order(moments), longs(*now)
    )


def moves(
    stream: Chunks, *, before: int = 0, until: int | None = None, leaps: bool = False
) -> Moves:
    """The clock moves in front of each chunk, and behind the last one to `until`."""
    moments, clock = stream.order.moments - 1, stream.now
    if until is not None:
        last = int(moments[-1]) + 2 if len(moments) else 0
        moments, clock = np.append(moments, last), np.append(clock, until)
    return Moves(moments, clock, leaps, before)


def step(stream: Chunks, clock: Moves | None = None) -> Step:
    """What a window gets of a slice, at place 5; all events are of one group."""
    return Step(stream, np.zeros(len(stream), np.int64), clock or moves(stream), 5)


def keyed(stream: Chunks, *realms: int) -> Chunks:
    """The stream with the partition instance of each chunk."""
    return replace(stream, keys=longs(*realms))


def setup(*, wants_expired: bool = True, keyed: bool = False) -> Setup:
    """For windows of the streams of `chunks`; `keyed`: in a partition."""
    return Setup((INT,), StringPool(), wants_expired, True, keyed, 5)


def shown(flow: Any) -> list[list[str]]:
    """What a window's flow brings: `C1@100` is the event of value 1 that came in, at its time, `X`
    left, `R` is a RESET mark; a list per chunk."""
    frame = flow.frame()
    values, times = frame.column(0, 0).to_pylist(), frame.times().tolist()
    kinds = flow.kinds().tolist()
    marks = [
        "R" if kind == 3 else f"{'CX'[kind]}{value}@{time}"
        for kind, value, time in zip(kinds, values, times, strict=True)
    ]
    return [marks[a:b] for a, b in zip(flow.offsets[:-1], flow.offsets[1:], strict=True)]
