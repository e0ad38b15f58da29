"""The columnar executor as tests run apps on it: where columns end, the reference goes on."""

from __future__ import annotations

import pytest

from lockstep.execute.in_process import InProcessExecutor
from lockstep.plan import build
from lockstep.siddhiql import check
from lockstep.testing import Event, VirtualApp

SUM = "define stream S (v int); @info(name='q') from S#window.length(2) select sum(v) as t "
SUM += "insert into O;"
ECHO = "define stream S (v string); @info(name='q') from S#window.length(2) select v "
ECHO += "insert all events into O;"
TIMED = "define stream S (v int); from S#window.time(1 sec) select v insert expired events into O;"


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_apps_bring_the_same(executor: str) -> None:
    """Windows, timers, questions and a snapshot in between."""
    with VirtualApp(SUM, executor=executor) as app:
        app.send_many("S", [[1], [2], [3]])
        snapshot = app.snapshot()
    with VirtualApp.restore(SUM, snapshot, executor=executor, start_ms=7) as app:
        app.send("S", [4])
        assert app.query("q").current == [Event(7, (7,))]


def test_what_has_columns_runs_in_columns() -> None:
    """And what has none, from the beginning on the reference."""
    assert InProcessExecutor(build(check(SUM))).is_columnar
    script = "define function f[python] return int { return data[0] }; define stream S (v int); "
    plan = build(check(script + "from S select f(v) as t insert into O;"))
    assert not InProcessExecutor(plan).is_columnar


@pytest.mark.parametrize("restored", [False, True])
def test_the_reference_takes_over_with_the_state(restored: bool) -> None:
    """At a value of another type; nothing is seen twice, and a restored app has its base."""
    app = VirtualApp(ECHO, executor="columnar")
    app.send("S", ["a"])
    if restored:
        app = VirtualApp.restore(ECHO, app.snapshot(), executor="columnar")
    app.send("S", ["b"])
    app.send("S", [b"c"])
    seen = [event.data[0] for event in app.query("q").current]
    assert seen == (["b", b"c"] if restored else ["a", "b", b"c"])
    assert [event.data[0] for event in app.query("q").expired] == ["a"]


def test_playback_is_switched_on_the_reference() -> None:
    """What columns hold at that moment goes with it."""
    app = VirtualApp(TIMED, executor="columnar", start_ms=5_000)
    app.send("S", [1])
    app.enable_playback(True)
    app.send("S", [2], timestamp_ms=5_500)
    app.advance(10_000)
    assert app.stream("O") == []
    app.send("S", [3], timestamp_ms=6_100)
    assert [event.data[0] for event in app.stream("O")] == [1]
