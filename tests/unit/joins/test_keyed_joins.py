"""A join that finds by key gives what a join that scans gives, whatever the windows and cuts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockstep.testing import VirtualApp

WINDOWS = [
    "length(3)",
    "length(0)",
    "time(1 sec)",
    "timeLength(1 sec, 2)",
    "externalTime(x, 1 sec)",
    "lengthBatch(2)",
    "lengthBatch(3, true)",
    "timeBatch(1 sec)",
    "timeBatch(1 sec, true)",
    "externalTimeBatch(x, 1 sec)",
    "batch()",
    "sort(2, x)",
    "delay(500 millisec)",
]
KEYS = st.sampled_from(["a", "b", None])
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["L", "R"]),
        st.integers(0, 700),
        st.lists(st.tuples(KEYS, st.integers(0, 3)), min_size=1, max_size=3),
    ),
    min_size=1,
    max_size=25,
)

# `not (a != b)` is `a == b` for null too, but is no equality that an index could serve.
APP = """
@app:playback
define stream L (k string, v int, x long);
define stream R (k string, v int, x long);
@info(name='key') from L#window.{left} as l {kind} R#window.{right} as r
  on l.k == r.k and l.v <= r.v select l.k as a, r.k as b, l.v as c, r.v as d
  insert all events into O;
@info(name='scan') from L#window.{left} as l {kind} R#window.{right} as r
  on not (l.k != r.k) and l.v <= r.v select l.k as a, r.k as b, l.v as c, r.v as d
  insert all events into P;
"""


def play(app: VirtualApp, events: list[tuple[str, int, list[tuple[str | None, int]]]]) -> None:
    """Sends the chunks, each so much later than the one before."""
    now = app.clock_ms
    for stream, later, rows in events:
        now += later
        app.send_many(stream, [(key, value, now) for key, value in rows], timestamp_ms=now)


@pytest.mark.parametrize("kind", ["join", "full outer join"])
@pytest.mark.parametrize("left", WINDOWS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_keys_find_what_scans_find(left: str, kind: str, data: st.DataObject) -> None:
    """Chunk by chunk the same rows in the same order."""
    right = data.draw(st.sampled_from(WINDOWS))
    with VirtualApp(APP.format(left=left, right=right, kind=kind)) as app:
        play(app, data.draw(EVENTS))
        assert app.query("key").chunks == app.query("scan").chunks


@pytest.mark.parametrize("window", WINDOWS)
@settings(max_examples=15, deadline=None)
@given(events=EVENTS, cut=st.integers(0, 25))
def test_keys_are_found_again_after_a_restore(
    window: str, events: list[tuple[str, int, list[tuple[str | None, int]]]], cut: int
) -> None:
    """What was derived from a window's content is made anew from what was restored."""
    text = APP.format(left=window, right=window, kind="join")
    with VirtualApp(text) as app:
        play(app, events[:cut])
        saved = app.snapshot()
        before = len(app.query("key").chunks)
        now = sum(later for _, later, _ in events[:cut])
        rest = [
            (stream, now + later if index == 0 else later, rows)
            for index, (stream, later, rows) in enumerate(events[cut:])
        ]
        play(app, rest)
        whole = app.query("key").chunks[before:]
    with VirtualApp.restore(text, saved) as again:
        play(again, rest)
        assert again.query("key").chunks == whole
        assert again.query("scan").chunks == whole
