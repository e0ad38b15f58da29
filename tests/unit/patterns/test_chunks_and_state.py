"""What leaves together, what a snapshot holds, and what an error leaves behind."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lockstep.operators.contract import StreamEvent
from lockstep.testing import VirtualApp
from tests.unit.patterns.drive import (
    Driver,
    absent,
    checked,
    count,
    every,
    on,
)


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, (bool, int, float, str, StreamEvent))


def test_matches_of_one_event_leave_together_when_the_stream_has_several_states() -> None:
    """`every e1=A -> e2=A`: an event's matches are one chunk, and each event has its own."""
    driver = Driver(checked(every(on("A")), on("A", lambda m: m.slots[1].data[0] > 5)))
    driver.send("A", (1, 1))
    driver.send("A", (2, 2))
    driver.send("A", (3, 9), (4, 8))
    assert driver.chunks == [[(3, 1, 9), (3, 2, 9)], [(4, 9, 8)]]


def test_matches_leave_alone_when_the_stream_has_one_state() -> None:
    """`every e1=A -> e2=B`: every match is a chunk of its own."""
    driver = Driver(checked(every(on("A")), on("B")))
    driver.play("A 1 1; A 2 2; B 3 3")
    assert driver.chunks == [[(3, 1, 3)], [(3, 2, 3)]]


def test_matches_leave_behind_the_whole_chunk() -> None:
    """What a match causes downstream comes after all events of the arriving chunk."""
    driver = Driver(checked(every(on("A")), on("B")))
    driver.send("A", (1, 1))
    emit = driver.machine.emit

    def feed_back(chunk: list[Any]) -> None:
        emit(chunk)
        driver._receivers["A"]([StreamEvent(2, (5,))])

    driver.machine.emit = feed_back
    driver.send("B", (2, 2), (3, 3))
    assert driver.chunks == [[(2, 1, 2)]]


def test_expired_events_are_no_events() -> None:
    """A named window's expired events do not arrive in a pattern."""
    driver = Driver(checked(on("A")))
    driver._receivers["A"]([StreamEvent(1, (1,), kind=1)])
    assert driver.chunks == []


def test_snapshot_is_plain_and_keeps_shared_tokens_shared() -> None:
    """A token in front of two states is written once and is one object after the restore."""
    driver = Driver(checked(every(count(on("A"), 1, None)), on("B")))
    driver.play("A 1 1; A 2 2")
    state = driver.machine.snapshot()
    assert _is_plain(state)
    driver.again()
    first, second = driver.machine._nodes
    shared = [token for token in first.pending if token in second.pending]
    assert len(shared) == 2
    assert driver.play("A 3 3; B 4 4") == [(4, [1, 2, 3], 4), (4, [2, 3], 4), (4, [3], 4)]


def test_snapshot_does_not_alias() -> None:
    """What happens after a snapshot does not change it."""
    driver = Driver(checked(every(count(on("A"), 2, None)), on("B")))
    driver.play("A 1 1; A 2 2")
    state = driver.machine.snapshot()
    before = copy.deepcopy(state)
    driver.play("A 3 3; B 4 4; A 5 5")
    assert repr(state) == repr(before)


def test_a_failed_filter_leaves_the_machine_whole() -> None:
    """The event that a filter cannot judge is gone; matches that it had begun do not come later."""

    def judge(token: Any) -> bool:
        return 10 // int(token.slots[1].data[0]) > 0

    driver = Driver(checked(every(on("A")), on("B", judge)))
    driver.play("A 1 1; A 2 2")
    with pytest.raises(ZeroDivisionError):
        driver.send("B", (3, 0))
    assert driver.play("B 4 1") == [(4, 1, 1), (4, 2, 1)]


def test_a_leap_of_the_clock_is_no_wait() -> None:
    """Playback starts at 0 and jumps to today: the absence counts once, then from today on."""
    today = 1_600_000_000_000
    driver = Driver(checked(every(absent("A", 1000)), on("B")))
    driver.clock.now = today
    driver.machine.on_timer(1000)
    assert sorted(driver.clock.timers)[-1] == today + 1000
    driver.clock.timers.remove(1000)
    assert driver.play(f"B {today} 1; B {today + 1000} 2") == [
        (today, None, 1),
        (today + 1000, None, 2),
    ]


def test_every_instance_starts_its_own_wait() -> None:
    """A leading absence counts from the start of its instance."""
    driver = Driver(checked(absent("A", 1000), on("B")), start_ms=5000)
    assert driver.play("B 5999 1; B 6000 2") == [(6000, None, 2)]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize(
    ("tail", "expected"),
    [
        ("limit 1", [(5, 9), (3, 9)]),
        ("limit 0", []),
        ("offset 1", []),
        ("order by a", [(5, 9), (3, 9)]),
        ("order by a limit 1", [(5, 9), (3, 9)]),
    ],
)
def test_every_match_is_ordered_and_limited_by_itself(
    executor: str, tail: str, expected: list[tuple[int, int]]
) -> None:
    """Also where one event completes several, of one stream or of two."""
    select = f"select e1.v as a, e2.v as b {tail} insert into"
    text = (
        "define stream S (v int); define stream T (v int);"
        f" @info(name='one') from every e1=S -> e2=S[v > e1.v] {select} O;"
        f" @info(name='two') from every e1=S -> e2=T[v > e1.v] {select} P;"
    )
    app = VirtualApp(text, executor=executor)
    for value in (5, 3):
        app.send("S", [value])
    app.send("T", [9])
    app.send("S", [9])
    for name in ("one", "two"):
        assert [event.data for event in app.query(name).current] == expected
