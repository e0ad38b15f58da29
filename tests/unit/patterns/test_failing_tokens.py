"""A condition that fails for one partial match does not fit it, and holds up no other one."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.execute.observe import StreamChunk
from lockstep.operators.contract import StreamEvent
from lockstep.operators.limits import LimitError
from lockstep.testing import VirtualApp
from lockstep.testing.opening import open_executor
from tests.unit.patterns.drive import Condition, Driver, both, checked, count, every, on, plain

PARTITION = "partition: other keys do not hear of it"
STREAMS = "define stream S (k string, v long); define stream R (k string, v long);"
SECOND = "str:charAt(e1.k, 1)"
TIMER = ""
"""As a stream: time passes instead, by so many ms."""

Step = tuple[str, Any]
Rows = list[tuple[Any, ...]]
Case = tuple[str, list[Step], Rows, int]

CASES: dict[str, Case] = {
    "pattern": (
        f"every e1=S -> e2=R[k == {SECOND}] select e1.v as a, e2.v as b",
        [
            ("S", ("ab", 1)),
            ("S", ("x", 2)),
            ("S", ("ac", 3)),
            ("R", ("b", 4)),
            ("R", ("c", 5)),
            ("S", ("ad", 6)),
            ("R", ("d", 7)),
        ],
        [(1, 4), (3, 5), (6, 7)],
        3,
    ),
    "a token that fails once is tried again": (
        "every e1=S -> e2=R[k == str:charAt(e1.k, convert(v, 'int'))] select e1.k as a, e2.v as b",
        [("S", ("ab", 0)), ("S", ("x", 0)), ("R", ("b", 1)), ("R", ("x", 0)), ("R", ("x", 1))],
        [("ab", 1), ("x", 0)],
        1,
    ),
    "pattern within": (
        f"every e1=S -> e2=R[k == {SECOND}] within 1 sec select e1.v as a, e2.v as b",
        [
            ("S", ("x", 1)),
            ("R", ("a", 2)),
            (TIMER, 1001),
            ("S", ("ab", 3)),
            ("R", ("b", 4)),
        ],
        [(3, 4)],
        1,
    ),
    "every chain": (
        f"every (e1=S -> e2=R[k == {SECOND}]) within 1 sec select e1.v as a, e2.v as b",
        [
            ("S", ("x", 1)),
            ("R", ("a", 2)),
            (TIMER, 1001),
            ("S", ("ab", 3)),
            ("R", ("b", 4)),
            ("S", ("ac", 5)),
            ("R", ("c", 6)),
        ],
        [(3, 4), (5, 6)],
        1,
    ),
    "one stream in two states, the first one fails": (
        "every e1=S[str:charAt(k, 1) == 'a'] -> e2=S select e1.v as a, e2.v as b",
        [("S", ("aa", 1)), ("S", ("x", 2)), ("S", ("ba", 3)), ("S", ("bb", 4))],
        [(1, 2), (3, 4)],
        1,
    ),
    "count": (
        f"every e1=S -> e2=R[k == {SECOND}]<2> -> e3=R select e1.v as a, e3.v as b",
        [("S", ("aa", 1)), ("S", ("x", 2)), *[("R", ("a", v)) for v in range(3, 7)]],
        [(1, 5)],
        4,
    ),
    "or": (
        f"every e1=S -> e2=R[k == {SECOND}] or e3=R[v > 9] select e1.v as a, e2.v as b, e3.v as c",
        [("S", ("aa", 1)), ("S", ("x", 2)), ("R", ("a", 4)), ("R", ("a", 10))],
        [(1, 4, None), (2, None, 10)],
        2,
    ),
    "and": (
        f"every e1=S -> e2=R[k == {SECOND}] and e3=R[v > 4] select e1.v as a, e2.v as b, e3.v as c",
        [("S", ("x", 1)), ("S", ("aa", 2)), ("R", ("a", 4)), ("R", ("b", 5))],
        [(2, 4, 5)],
        2,
    ),
    "absence": (
        f"every e1=S -> not R[k == {SECOND}] for 10 sec select e1.v as a",
        [
            ("S", ("x", 1)),
            ("S", ("aa", 2)),
            ("S", ("ab", 3)),
            ("R", ("a", 4)),
            (TIMER, 10_000),
        ],
        [(1,), (3,)],
        1,
    ),
    "absence beside a presence": (
        f"every e1=S -> not R[k == {SECOND}] and e2=S[v > 9] select e1.v as a, e2.v as b",
        [("S", ("x", 1)), ("S", ("aa", 2)), ("R", ("a", 4)), ("S", ("ab", 10))],
        [(1, 10)],
        1,
    ),
    "leading absence": (
        "not R[str:charAt(k, 1) == 'a'] for 1 sec -> e1=S select e1.v as a",
        [("R", ("x", 1)), (TIMER, 1000), ("S", ("s", 2))],
        [(2,)],
        1,
    ),
    "sequence of two streams": (
        f"every e1=S, e2=R[k == {SECOND}] select e1.v as a, e2.v as b",
        [
            ("S", ("aa", 1)),
            ("R", ("a", 2)),
            ("S", ("x", 3)),
            ("R", ("a", 4)),
            ("R", ("a", 5)),
            ("S", ("ba", 6)),
            ("R", ("a", 7)),
        ],
        [(1, 2), (6, 7)],
        1,
    ),
    "sequence of one stream": (
        f"every e1=S, e2=S[{SECOND} == 'a'] select e1.v as a, e2.v as b",
        [("S", (k, v)) for v, k in enumerate(["aa", "ba", "x", "ca", "da", "ea", "fa"])],
        [(0, 1), (1, 2), (3, 4), (4, 5), (5, 6)],
        1,
    ),
    "sequence whose first state fails": (
        "every e1=S[str:charAt(k, 1) == 'a'], e2=S[v > 0] select e1.v as a, e2.v as b",
        [("S", ("aa", 1)), ("S", ("x", 2)), ("S", ("ba", 3)), ("S", ("bb", 4))],
        [(1, 2), (3, 4)],
        1,
    ),
    "sequence without every": (
        f"e1=S, e2=R[k == {SECOND}] select e1.v as a, e2.v as b",
        [("S", ("x", 1)), ("R", ("a", 2)), ("S", ("aa", 3)), ("R", ("a", 4))],
        [],
        1,
    ),
    "sequence with a run": (
        "every e1=S[str:charAt(k, 1) == 'a']*, e2=R select e1[0].v as a, e2.v as b",
        [("S", ("aa", 1)), ("S", ("x", 2)), ("R", ("r", 3)), ("S", ("ba", 4)), ("R", ("r", 5))],
        [(None, 3), (4, 5)],
        1,
    ),
    PARTITION: (
        f"every e1=S -> e2=R[str:charAt(k, 1) == {SECOND}] select e1.v as a, e2.v as b",
        [("S", ("x", 1)), ("S", ("yb", 2)), ("R", ("xb", 3)), ("R", ("yb", 4))],
        [(2, 4)],
        1,
    ),
}


def _apps() -> list[Any]:
    apps = []
    for name, (pattern, *case) in CASES.items():
        query = f"@info(name='q') from {pattern} insert into O;"
        if name == PARTITION:
            key = "str:charAt(k, 0)"
            query = f"partition with ({key} of S, {key} of R) begin {query} end;"
        apps.append(pytest.param(STREAMS + query, *case, id=name))
    return apps


def _rows(observations: Any) -> Rows:
    chunks = [each for each in observations if isinstance(each, StreamChunk)]
    return [tuple(event.data) for chunk in chunks if chunk.stream == "O" for event in chunk.events]


def _play(app: VirtualApp, step: Step) -> None:
    stream, given = step
    if stream == TIMER:
        app.advance(given)
    else:
        app.send(stream, given)


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize(("text", "steps", "rows", "told"), _apps())
def test_one_bad_partial_match_holds_up_no_other(
    text: str, steps: list[Step], rows: Rows, told: int, executor: str
) -> None:
    """Step by step, and as one slice; each event that fails is told once."""
    app = VirtualApp(text, executor=executor)
    for step in steps:
        _play(app, step)
    assert _rows(app.observations) == rows
    assert len(app.faults()) == told
    assert all(len(fault.events) == 1 for fault in app.faults())
    whole = open_executor(executor, app.plan, 0)
    result = whole.run_slice(app.log)
    assert _rows(whole.take_observations()) == rows
    assert len(result.faults) == told


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize(("text", "steps", "rows", "told"), _apps())
def test_restored_before_every_step_it_is_the_same(
    text: str, steps: list[Step], rows: Rows, told: int, executor: str
) -> None:
    """The bad partial match is part of the state as any other one."""
    app, seen, faults = VirtualApp(text, executor=executor), [], 0
    for step in steps:
        start_ms = app.clock_ms
        app = VirtualApp.restore(text, app.snapshot(), executor=executor, start_ms=start_ms)
        _play(app, step)
        seen += _rows(app.observations)
        faults += len(app.faults())
    assert (seen, faults) == (rows, told)


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_a_chunk_is_told_once_and_brings_all_its_matches(executor: str) -> None:
    """Three of its events fail for the bad partial match, and two complete good ones."""
    query = f"@info(name='q') from every e1=S -> e2=R[k == {SECOND}]"
    text = f"{STREAMS} {query} select e1.v as a, e2.v as b, count() as n insert into O;"
    app = VirtualApp(text, executor=executor)
    app.send_many("S", [("ab", 1), ("x", 2), ("ac", 3)])
    app.send_many("R", [("b", 4), ("-", 5), ("c", 6)])
    assert _rows(app.observations) == [(1, 4, 1), (3, 6, 2)]
    faults = app.faults()
    assert [len(fault.events) for fault in faults] == [3]
    assert "'x' has no character 1" in faults[0].reason


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_a_chunk_that_came_torn_brings_no_rows(executor: str) -> None:
    """A reader in front failed on it: what it completes is in the aggregates only."""
    select = "select e1.v as a, e2.v as b, count() as n insert into O;"
    text = (
        f"{STREAMS} define window W (k string, v long) length(9); from S insert into W;"
        " from W[str:length(str:charAt(k, 0)) > 0] select v insert into P;"
        f" @info(name='q') from every e1=W -> e2=W[{SECOND} == 'a'] {select}"
    )
    app = VirtualApp(text, executor=executor)
    for v, k in enumerate(["aa", "ba", "", "ca", "da"]):
        app.send("S", (k, v))
    assert _rows(app.observations) == [(0, 1, 1), (3, 4, 3)]
    assert [fault.events[0].data[1] for fault in app.faults()] == [2, 3, 4]


def _divides(slot: int) -> Condition:
    """Fails for a partial match that has bound 0 in a slot."""
    return lambda m: 10 // int(m.slots[slot].data[0]) > 0


def test_a_count_that_fails_has_collected_nothing() -> None:
    """The list of the failing partial match ends where it did."""
    driver = Driver(checked(every(on("A")), count(on("B", _divides(0)), 1, None), on("C")))
    driver.play("A 1 0; A 2 1")
    with pytest.raises(ZeroDivisionError):
        driver.send("B", (3, 7))
    assert driver.play("C 4 8") == [(4, 1, [7], 8)]


def test_a_failing_side_leaves_the_other_one_be() -> None:
    """In a sequence, too: what the second side takes of the event keeps the token."""
    sides = both(on("B", _divides(0)), on("B"))
    driver = Driver(checked(every(on("A")), sides, is_sequence=True))
    driver.send("A", (1, 0))
    with pytest.raises(ZeroDivisionError):
        driver.send("B", (2, 5))
    ((waiting,),) = [node.pending for node in driver.machine._nodes[1:]]
    assert [plain(slot) for slot in waiting.slots] == [0, None, 5]


def test_the_first_error_is_the_one_that_is_raised() -> None:
    """Also if a match fails behind it."""
    driver = Driver(checked(every(on("A")), on("B", _divides(0))))
    driver.play("A 1 0; A 2 1")

    def refuse(chunk: list[Any]) -> None:
        raise ValueError("a match that fails")

    driver.machine.emit = refuse
    with pytest.raises(ZeroDivisionError):
        driver.send("B", (3, 3))


@pytest.mark.parametrize("error", [LimitError("too much"), RecursionError()])
def test_what_ends_the_whole_event_does_so(error: BaseException) -> None:
    """A limit is no condition that fails; and nothing is left of the event for the next one."""

    def judge(token: Any) -> bool:
        first, second = (int(plain(slot)) for slot in token.slots)
        if second < 0 and first == 2:
            raise error
        return 10 // (first + second) > 0

    driver = Driver(checked(every(on("A")), on("B", judge)))
    driver.play("A 1 1; A 2 2")
    with pytest.raises(type(error)):
        driver._receivers["B"]([StreamEvent(3, (-1,))])
    assert driver.play("B 4 1") == [(4, 1, 1), (4, 2, 1)]
