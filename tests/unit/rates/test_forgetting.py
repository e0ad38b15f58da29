"""Output rates forget the groups that nobody can see any more, and show what they showed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from lockstep.columns.output import Output
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.operators.contract import CURRENT, EXPIRED, StreamEvent
from lockstep.operators.state import seal, unseal
from lockstep.plan import plan_of
from lockstep.rates import rows
from lockstep.rates.by_number.columns import AllByNumber, FirstByNumber, LastByNumber
from lockstep.rates.by_time.columns import AllByTime, FirstByTime, LastByTime
from lockstep.rates.contract import Rated
from lockstep.rates.instances import AllOfInstances, LastOfInstances
from lockstep.rates.snapshot import columns as snapshot
from lockstep.rates.snapshot import meaning
from lockstep.rates.snapshot.columns import GroupsInWindow, WindowContent
from lockstep.selection.meaning import Gone, Row
from lockstep.streams.rule import RUNNING, SLIDING_WINDOWS, TUMBLING_WINDOWS
from lockstep.testing import VirtualApp
from tests.unit.columns.flows import INT, chunks, keyed, longs, moves
from tests.unit.operators.plain_context import PlainContext
from tests.unit.side_by_side import TICK, Step, entries_of, played

RATED = Rated("q", 5, (INT,))
S = "define stream S (s string, i int, d double); "
SUMS = "select s, sum(i) as n, d group by s"
QUERIES = [
    (f"S#window.length(4) {SUMS} output snapshot every 1 sec", SLIDING_WINDOWS),
    (f"S#window.length(30) {SUMS} output snapshot every 1 sec", SLIDING_WINDOWS),
    (f"S#window.time(700) {SUMS} output snapshot every 1 sec", SLIDING_WINDOWS),
    (f"S#window.length(9) {SUMS} having n > 20 output snapshot every 1 sec", SLIDING_WINDOWS),
    (f"S#window.lengthBatch(5) {SUMS} output snapshot every 1 sec", TUMBLING_WINDOWS),
    ("S#window.length(9) select s, d group by s output snapshot every 1 sec", SLIDING_WINDOWS),
    (f"S#window.length(9) {SUMS} output last every 1 sec", SLIDING_WINDOWS),
    (f"S#window.length(9) {SUMS} output all every 1 sec", SLIDING_WINDOWS),
    (f"S {SUMS} output all every 20 events", RUNNING),
    (f"S {SUMS} output last every 20 events", RUNNING),
    (f"S {SUMS} output snapshot every 1 sec", RUNNING),
    (f"S {SUMS} output first every 1 sec", RUNNING),
    (f"S {SUMS} output first every 3 events", RUNNING),
    (f"S {SUMS} output first every 1 events", RUNNING),
]
KEYED = "partition with (s of S) begin from S {} insert into O; end;"
IN_PARTITIONS = [
    "select s, sum(i) as n, d group by i output last every 4 events",
    "select s, sum(i) as n, d group by i output all every 4 events",
    "select s, sum(i) as n, d group by i output first every 700 milliseconds",
    "select s, sum(i) as n, d group by i output first every 3 events",
]


def steps(seed: int, count: int = 60) -> list[Step]:
    """Few groups at a time: later ones come for earlier ones, and some come again."""
    random = Random(seed)
    made: list[Step] = []
    clock = 0
    for at in range(count):
        clock += random.choice((10, 100, 400))
        if random.random() < 0.15:
            made.append((clock, TICK, []))
            continue
        keys = [f"k{max(at - random.choice((0, 0, 1, 9)), 0)}" for _ in range(random.randint(1, 5))]
        doubles = (0.0, -0.0, 1.5, float("nan"), None)
        made.append((clock, "S", [[k, random.randint(1, 9), random.choice(doubles)] for k in keys]))
    return [*made, (clock + 2000, TICK, [])]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few names are enough to forget those that are out of use."""
    monkeypatch.setattr(rows, "FORGET_MIN", 3)
    monkeypatch.setattr(snapshot, "FORGET_MIN", 3)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize(("query", "rule"), QUERIES)
def test_rows_are_the_references(query: str, rule: Any) -> None:
    """In slices of all sizes, and over snapshots."""
    text = f"{S} from {query} insert all events into O;"
    assert played(text, *steps(0), rule=rule.name)


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("query", IN_PARTITIONS)
def test_rows_of_partitions_are_the_references(query: str) -> None:
    """Groups of instances are forgotten, too."""
    assert played(S + KEYED.format(query), *steps(7), rule=RUNNING.name)


def rate_of(executor: Any) -> Any:
    """The state of the only limiter."""
    _, body = unseal(executor.snapshot())
    (state,) = [state for path, state in body["engine"]["operators"] if path.endswith("/rate")]
    return state


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("query", [query for query, _ in QUERIES])
def test_states_are_the_references(query: str) -> None:
    """At any time; and of a window's groups there are the latest values of those inside alone."""
    plan = plan_of(f"{S} from {query} insert all events into O;")
    both: list[Any] = [ReferenceExecutor(plan, start_ms=0), ColumnarExecutor(plan, start_ms=0)]
    log = entries_of(plan, steps(11))
    for at in range(0, len(log), 9):
        for executor in both:
            executor.run_slice(log[at : at + 9])
        expected, found = map(rate_of, both)
        assert repr(found) == repr(expected)
        if "window" in query and "snapshot" in query:
            inside, latest = expected
            assert [key for key, _ in latest] == list(dict.fromkeys(row[3] for _, row in inside))


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_what_earlier_revisions_kept_is_dropped(executor: str) -> None:
    """Their states have the latest values of groups that left long ago."""
    text = f"{S} from {QUERIES[0][0]} insert into O;"
    with VirtualApp(text) as app:
        app.send_many("S", [("a", 1, 0.5), ("b", 2, 0.5)])
        position, body = unseal(app.snapshot())
    operators = dict(body["engine"]["operators"])
    (path,) = [path for path in operators if path.endswith("/rate")]
    inside, latest = operators[path]
    operators[path] = (inside, [("gone", ("gone", 9, 1.0)), *latest])
    body["engine"]["operators"] = list(operators.items())
    with VirtualApp.restore(text, seal(position, body), executor=executor) as app:
        assert [key for key, _ in rate_of(app)[1]] == ["a", "b"]
        app.send("S", ("gone", 3, 0.5))
        app.advance(1000)
        assert [event.data[:2] for event in app.stream("O")] == [("a", 1), ("b", 2), ("gone", 3)]


def test_the_reference_keeps_the_groups_inside_alone() -> None:
    """Rows that leave bring values, too: of a group that has others inside, of one that has none
    any more, and of one that never was inside."""
    context: Any = PlainContext()
    limiter = meaning.GroupsInWindow(1000, context, [True])

    def row(value: int, key: str, kind: int) -> Row:
        return Row(0, (value,), kind, key, StreamEvent(0, (key,), kind))

    limiter.process([row(1, "a", CURRENT), row(2, "a", CURRENT), row(3, "b", CURRENT)])
    limiter.process([row(4, "a", EXPIRED), row(5, "b", EXPIRED), row(6, "c", EXPIRED)])
    assert limiter._latest == {"a": (4,)}
    limiter.process([Gone(0, (None,), EXPIRED, "a", StreamEvent(0, ("a",), EXPIRED))])
    assert not limiter._latest
    assert not limiter._counts
    limiter.restore(([(("a",), (0, (1,), CURRENT, "a"))], [("gone", (7,)), ("a", (8,))]))
    assert limiter._latest == {"a": (8,)}


# --- names ---------------------------------------------------------------------------------------

COUNT = 3000
"""Groups that come in a slice, each once."""


def brought(
    limiter: Any, at: int, kinds: Sequence[int] | None = None, values: int = 1, realm: int = -1
) -> list[list[Any]]:
    """What leaves of a slice of as many new groups; their last rows, if there are `kinds`, leave
    the window again."""
    count = COUNT if kinds is None else 2 * COUNT
    stream = chunks([*range(COUNT)] * (count // COUNT), at=[at], first_moment=2 * at + 1)
    stream = replace(stream, columns=(*stream.columns,) * values)
    stream = stream if realm < 0 else keyed(stream, realm)
    names = [f"{at} {name}" for name in range(COUNT)]
    keys = names if realm < 0 else [(realm, name) for name in names]
    groups = longs(*[*range(COUNT)] * (count // COUNT))
    output = Output(stream, None if kinds is None else _kinds(kinds), groups=groups)
    made = limiter.run(limiter.keys.limited(output, keys), moves(stream, until=at)).chunks
    values_of = made.columns[0].to_pylist()
    return [values_of[a:b] for a, b in zip(made.starts[:-1], made.starts[1:], strict=True)]


def _kinds(kinds: Sequence[int]) -> Any:
    return longs(*[kind for kind in kinds for _ in range(COUNT)]).astype("int8")


@pytest.mark.parametrize("make", [AllByTime, LastByTime])
def test_names_of_periods_that_are_over(make: Any) -> None:
    """Nobody holds rows of them: their number does not grow."""
    limiter = make(RATED, 100)
    limiter.start(0)
    for at in range(50, 2050, 100):
        assert brought(limiter, at) == ([] if at == 50 else [[*range(COUNT)]])
        assert len(limiter.keys) <= 2 * COUNT + rows.FORGET_MIN
    assert len(limiter.store(0)) == COUNT


@pytest.mark.parametrize("make", [AllByNumber, LastByNumber])
def test_names_of_rows_that_left_by_number(make: Any) -> None:
    """The same."""
    limiter = make(RATED, COUNT)
    for at in range(50, 2050, 100):
        assert brought(limiter, at) == [[*range(COUNT)]]
        assert len(limiter.keys) <= 2 * COUNT + rows.FORGET_MIN


def test_names_of_groups_that_passed_long_ago() -> None:
    """Whoever comes again passes, as who is new does."""
    limiter = FirstByTime(RATED, 150)
    for at in range(50, 2050, 100):
        brought(limiter, at)
        assert len(limiter.keys) <= 4 * COUNT + rows.FORGET_MIN
    assert len(limiter.store(0)) == 2 * COUNT


def test_names_of_groups_that_are_whole() -> None:
    """A group of which N rows came counts from 0, as one that is new."""
    limiter = FirstByNumber(RATED, 2)
    for at in range(50, 2050, 100):
        brought(limiter, at, kinds=(0, 0))
        assert len(limiter.keys) <= rows.FORGET_MIN + COUNT
        assert limiter.store(0) == []


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_states_of_first_as_earlier_releases_kept_them(executor: str) -> None:
    """In order of first rows, with groups that are over or whole."""
    text = f"{S} from S select s, i group by s output first every 3 events insert into O;"
    with VirtualApp(text) as app:
        app.send("S", ("a", 1, 0.5))
        position, body = unseal(app.snapshot())
    operators = dict(body["engine"]["operators"])
    (path,) = [path for path in operators if path.endswith("/rate")]
    operators[path] = [("whole", 0), ("a", 1)]
    body["engine"]["operators"] = list(operators.items())
    with VirtualApp.restore(text, seal(position, body), executor=executor) as app:
        assert rate_of(app) == [("a", 1)]
        for key, value in (("whole", 2), ("a", 3), ("a", 4), ("a", 5)):
            app.send("S", (key, value, 0.5))
        assert [event.data for event in app.stream("O")] == [("whole", 2), ("a", 5)]
        assert rate_of(app) == [("whole", 1), ("a", 1)]


@pytest.mark.parametrize("make", [AllOfInstances, LastOfInstances])
def test_names_in_instances(make: Any) -> None:
    """The same in a partition."""
    limiter = make(RATED, COUNT)
    for at in range(50, 2050, 100):
        assert brought(limiter, at, realm=at % 7) == [[*range(COUNT)]]
        assert len(limiter.keys) <= 2 * COUNT + rows.FORGET_MIN


@pytest.mark.parametrize("make", [WindowContent, GroupsInWindow])
def test_names_of_what_left_a_window(make: Any) -> None:
    """Neither names nor latest values stay."""
    limiter = make(RATED, 100, [True], (INT,))
    limiter.start(0)
    for at in range(50, 2050, 100):
        assert brought(limiter, at, kinds=(0, 1), values=2) == []
        assert len(limiter.keys) <= 2 * COUNT + rows.FORGET_MIN
        assert limiter.store(0) == ([], [])
