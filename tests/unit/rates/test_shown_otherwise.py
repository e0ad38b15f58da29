"""`output snapshot` of windows of which what came and has not left is not what is inside."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from lockstep.operators.state import seal, unseal
from lockstep.testing import VirtualApp
from tests.unit.side_by_side import TICK, Step, played

EXECUTORS = pytest.mark.parametrize("executor", ["reference", "columnar"])
S = "define stream S (s string, i int); "
HOSTED = "window of the reference, the rest in columns"
WINDOWS = [
    "expression('sum(i) < 10')",
    "expression('count() <= 2')",
    "expressionBatch('sum(i) < 10')",
    "frequent(2, s)",
    "frequent(3)",
    "lossyFrequent(0.3, 0.1, s)",
    "delay(300)",
]
SELECTIONS = [
    "s, i",
    "s, i, sum(i) as t",
    "s, sum(i) as t group by s",
    "i, count() as n group by s",
]
CONTENTS = ["expression('sum(i) < 10')", "expression('count() <= 2')", "frequent(2, s)"]


def text_of(window: str, select: str = "s, i") -> str:
    """A query with a snapshot each second."""
    return (
        f"{S} @info(name='q') from S#window.{window} select {select} "
        "output snapshot every 1 sec insert into O;"
    )


def steps(seed: int, count: int = 40) -> list[Step]:
    """Chunks of few keys and values, some too much by themselves."""
    random = Random(seed)
    made: list[Step] = []
    clock = 0
    for _ in range(count):
        clock += random.choice((10, 100, 400))
        if random.random() < 0.15:
            made.append((clock, TICK, []))
            continue
        rows = [
            [random.choice("abcd"), random.choice((1, 2, 3, 20))]
            for _ in range(random.randint(1, 4))
        ]
        made.append((clock, "S", rows))
    return [*made, (clock + 2000, TICK, [])]


@pytest.mark.parametrize("select", SELECTIONS)
@pytest.mark.parametrize("window", WINDOWS)
def test_columns_show_what_is_meant(window: str, select: str) -> None:
    """In slices of all sizes, and over snapshots."""
    text = text_of(window, select).replace("@info(name='q') ", "")
    assert played(text, *steps(3), rule=HOSTED)


@EXECUTORS
@pytest.mark.parametrize("window", CONTENTS)
def test_what_is_inside_is_shown(window: str, executor: str) -> None:
    """The rows are what a named window of that kind has inside, at each tick."""
    named = f"define window W (s string, i int) {window};"
    text = text_of(window).replace(S, f"{S} {named} from S insert into W; ")
    seen, ticks = 0, 0
    with VirtualApp(text, executor=executor) as app:
        for _, _, rows in steps(5, 80):
            if rows:
                app.send_many("S", rows)
            app.advance(1000)
            inside = [tuple(row) for row in app.on_demand("from W select s, i")]
            chunks = app.query("q").chunks[ticks:]
            shown = [event.data for current, _ in chunks for event in current]
            ticks += len(chunks)
            assert sorted(shown) == sorted(inside)
            seen += len(shown)
    assert seen > 80


def rate_of(snapshot: bytes) -> tuple[str, Any]:
    """The only limiter's path and state."""
    _, body = unseal(snapshot)
    (found,) = [each for each in body["engine"]["operators"] if each[0].endswith("/rate")]
    return found[0], found[1]


def with_rate(snapshot: bytes, state: Any) -> bytes:
    """The same snapshot with another state of the limiter."""
    position, body = unseal(snapshot)
    path, _ = rate_of(snapshot)
    operators = dict(body["engine"]["operators"])
    operators[path] = state
    body["engine"]["operators"] = list(operators.items())
    return seal(position, body)


@EXECUTORS
@pytest.mark.parametrize("window", ["expression('sum(i) < 10')", "frequent(2, s)", "delay(100)"])
def test_the_state_does_not_grow(window: str, executor: str) -> None:
    """With events that are too much by themselves, of one key, and that come and go."""
    with VirtualApp(text_of(window), executor=executor) as app:
        sizes = []
        for _ in range(4):
            app.send_many("S", [["a", 20 + value] for value in range(200)])
            app.advance(300)
            sizes.append(len(repr(rate_of(app.snapshot())[1])))
        assert max(sizes) < 100


@EXECUTORS
def test_rows_that_earlier_revisions_kept_of_a_delay(executor: str) -> None:
    """All that ever came out: the last of each group is shown."""
    text = text_of("delay(100)", "s, sum(i) as t group by s")
    row = [(100, ("a", 1), 0, "a"), (100, ("b", 2), 0, "b"), (100, ("a", 4), 0, "a")]
    inside = [(("a", 1), row[0]), (("b", 2), row[1]), (("a", 3), row[2])]
    with VirtualApp(text, executor=executor) as app:
        old = with_rate(app.snapshot(), (inside, [("a", ("a", 4)), ("b", ("b", 2))]))
    with VirtualApp.restore(text, old, executor=executor) as app:
        assert rate_of(app.snapshot())[1] == [row[2], row[1]]
        app.advance(1000)
        assert [event.data for event in app.stream("O")] == [("a", 4), ("b", 2)]


@EXECUTORS
def test_rows_that_earlier_revisions_kept_of_a_counted_key(executor: str) -> None:
    """All that ever passed: the latest stays, and is taken out as any other."""
    text = text_of("frequent(2, s)")
    events = [("a", 1), ("b", 2), ("a", 3)]
    inside = [(event, (0, event, 0, None)) for event in events]
    with VirtualApp(text, executor=executor) as app:
        app.send_many("S", [list(event) for event in events])
        old = with_rate(app.snapshot(), (inside, [(None, events[-1])]))
    with VirtualApp.restore(text, old, executor=executor) as app:
        assert rate_of(app.snapshot())[1][0] == inside[1:]
        app.send_many("S", [["c", 4], ["d", 5]])
        app.advance(1000)
        assert [event.data for event in app.stream("O")] == [("d", 5)]


@EXECUTORS
def test_several_rows_of_an_event_do_not_replace_one_another(executor: str) -> None:
    """Behind a function that makes more of an event, all are shown."""
    text = (
        "define stream S (s string, i int); "
        "from S#window.frequent(2, s)#json:tokenize(s, '$') select jsonElement as e "
        "output snapshot every 1 sec insert into O;"
    )
    with VirtualApp(text, executor=executor) as app:
        app.send("S", ["[1, 2]", 1])
        app.advance(1000)
        assert len(app.stream("O")) == 2
