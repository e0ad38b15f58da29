"""@purge of many instances at once: the work grows with the instances, not with their square."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import pytest

from lockstep.execute.reference.assembly import open_engine
from lockstep.execute.reference.engine import Engine
from lockstep.operators.contract import StreamEvent
from lockstep.plan import plan_of

TEXT = """
@app:name('Purged')
define stream S (k string, v long);
define stream Out (k string, total long);
@purge(enable='true', interval='1 sec', idle.period='2 sec')
partition with (k of S) begin
from S#window.time(1 hour) select k, sum(v) as total insert into Out;
from every e1=S -> not S[v > 5] for 10 min select e1.k as k insert into Quiet;
end;
"""


class Counted(dict[str, Any]):
    """Operators by path; counts those that somebody goes through."""

    visited = 0

    def __iter__(self) -> Iterator[str]:
        for each in super().__iter__():
            self.visited += 1
            yield each

    def __reversed__(self) -> Iterator[str]:
        for each in super().__reversed__():
            self.visited += 1
            yield each


def with_instances(count: int) -> Engine:
    """An engine with so many instances that all wait for timers, and one that came later."""
    engine = open_engine(plan_of(TEXT))
    engine.operators = Counted(engine.operators)
    engine.start(0)
    send(engine, *(f"k{number}" for number in range(count)))
    engine.move_wall(1500)
    send(engine, "late")
    return engine


def send(engine: Engine, *keys: str) -> None:
    """One event for each key."""
    for key in keys:
        engine.junction("S").send([StreamEvent(engine.now, (key, 1))])


def timers(engine: Engine) -> int:
    """How many wait."""
    return len(engine.app_timers.pending()) + len(engine.wall_timers.pending())


@pytest.mark.parametrize("count", [10, 200])
def test_a_purge_goes_through_the_timers_once(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each of the two clocks, however many instances are purged."""
    engine = with_instances(count)
    before = timers(engine)
    calls: list[int] = []
    heapify = heapq.heapify

    def counted(heap: list[Any]) -> None:
        calls.append(len(heap))
        heapify(heap)

    monkeypatch.setattr(heapq, "heapify", counted)
    engine.move_wall(2000)
    after = timers(engine)
    assert before - after == 2 * count  # the window's and the pattern's
    assert not [path for path in engine.operators if "/k" in path]
    assert [path for path in engine.operators if "/late/" in path]
    assert len(calls) <= 2


def test_an_instance_is_made_without_looking_at_the_others() -> None:
    """Twenty times as many instances go through twenty times as many operators."""
    visited = []
    for count in (10, 200):
        operators = with_instances(count).operators
        assert isinstance(operators, Counted)
        visited.append(operators.visited / count)
    assert visited[1] <= visited[0]


def test_a_purged_key_begins_anew() -> None:
    """What waited for the old instance wakes nobody, and the new one has timers of its own."""
    engine = with_instances(3)
    engine.move_wall(2000)
    waiting = timers(engine)
    send(engine, "k0")
    assert timers(engine) == waiting + 2
    rows: list[StreamEvent] = []
    engine.junction("Out").subscribe(rows.extend)
    send(engine, "k0")
    assert [row.data for row in rows] == [("k0", 2)]
    engine.move_wall(2000 + 3_600_000)
    assert [path for path in engine.operators if path.startswith("partition/")][1:] == []
