"""Models that queries share (extensions 23)."""

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.columnar import ColumnarExecutor
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.execute.succession import succeed
from lockstep.operators.errors import SnapshotError
from lockstep.plan import plan_of
from lockstep.plan.fleet.planning import fleet_of
from lockstep.plan.succession import losses
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.stream_functions.streamingml.written import read, written
from lockstep.testing import VirtualApp

STREAMS = (
    "define stream T (a double, b double, kind string, ok bool); define stream P (a double);\n"
)
TEACH = "from T#streamingml:updatePerceptronClassifier('m', ok, 0.2, a) select a insert into X;\n"
ASK = "from P#streamingml:perceptronClassifier('m', a) select prediction insert into O;\n"
TREE = "streamingml:updateHoeffdingTree('m', 2, 200, 0, 0.1, 0.1, true, true, 2, a, b, kind)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ASK, "no query teaches the model 'm'"),
        (TEACH + f"from T#{TREE} select a insert into Y;", "'m' is a perceptron"),
        (TEACH + TEACH.replace("0.2", "0.3"), "with other settings"),
        (TEACH + ASK.replace("'m', a)", "'m', a, a)"), "has 1 features"),
        (f"from T#{TREE.replace('kind', 'a')} select a insert into Y;", "the label"),
        (
            f"from T#{TREE.replace('0.1, 0.1', '0.0, 0.1')} select a insert into Y;",
            "between 1e-100",
        ),
        (f"from T#{TREE.replace('0.1, 0.1', '0.1, 1.1')} select a insert into Y;", "between 0"),
        (f"from T#{TREE.replace('true, 2', 'true, 3')} select a insert into Y;", "0, 1, 2"),
        ("from P#streamingml:kMeansIncremental(101, a) select a insert into Y;", "100"),
        ("from P#streamingml:kMeansIncremental(2, 1.5, a) select a insert into Y;", "between 0"),
        (
            "partition with (kind of T) begin " + TEACH + "end; " + ASK,
            "no query teaches the model 'm'",
        ),
    ],
)
def test_refused(text: str, message: str) -> None:
    """When the app is checked."""
    with pytest.raises(SiddhiQLError) as refused:
        check(STREAMS + text)
    assert message in f"{refused.value} {refused.value.hint}"


def test_a_node_without_river_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs no river works without."""
    monkeypatch.setattr("lockstep.stream_functions.streamingml.find_spec", lambda name: None)
    check(STREAMS + TEACH + ASK)
    with pytest.raises(SiddhiQLError) as refused:
        check(f"{STREAMS}from T#{TREE} select a insert into Y;")
    assert "river is not installed" in str(refused.value)
    assert "pip install 'river>=0.26'" in str(refused.value.hint)


@pytest.mark.processes
def test_river_is_loaded_when_an_app_asks_for_it() -> None:
    """And not with everything that can run an app."""
    code = (
        "import sys, lockstep.execute.reference.executor, lockstep.stream_functions.registry; "
        "sys.exit('river' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_columns_take_a_slice_as_they_take_its_records() -> None:
    """Who asks sees what was taught in front of it, and nothing that was taught behind it."""
    plan = plan_of(f"{STREAMS}{ASK}{TEACH}from P select a insert into Q;")
    log = []
    for number in range(40):
        value = (number * 7) % 11 - 5.0
        rows: tuple[str, tuple[object, ...]] = ("P", (value,))
        if number % 3 == 0:
            rows = ("T", (value, 0.0, "x", value > 1))
        events = (InputEvent(number, rows[1]),)
        log.append(LogEntry(number + 1, EventsRecord(rows[0], number, (events,))))
    expected = list(ReferenceExecutor(plan).run_slice(log).rows)
    asked = [row.data for row in expected if row.stream == "O"]
    assert {(True,), (False,)} == set(asked)
    whole = ColumnarExecutor(plan)
    assert sum(choice.rule is None for choice in whole.lowering.choices) == 2
    assert list(whole.run_slice(log).rows) == expected
    pieces = ColumnarExecutor(plan)
    assert [row for entry in log for row in pieces.run_slice([entry]).rows] == expected


def test_a_changed_text_goes_on_with_a_model_that_is_taught_alike() -> None:
    """Its state hangs on the teacher's settings and features."""
    old = plan_of(STREAMS + TEACH + ASK)
    assert losses(old, plan_of(STREAMS + ASK + TEACH + "from P select a insert into N;")) == ()
    changed = plan_of(STREAMS + TEACH.replace("0.2", "0.5") + ASK)
    assert "model 'm' (changed: its settings)" in losses(old, changed)


def test_an_upgrade_asks_what_the_text_before_has_taught() -> None:
    """A query more, and those of a partition under other names: one of them that of the model."""
    inside = "partition with (kind of T) begin " + ASK.replace("P#", "T#") + TEACH + "end;"
    inside = inside.replace("'m'", "'query_2'")
    app = VirtualApp(STREAMS + TEACH + inside)
    app.send("T", (9.0, 0.0, "x", True))
    assert [event.data for event in app.stream("O")] == [(False,)]
    text = STREAMS + ASK.replace("into O", "into N") + TEACH + inside
    old, new = app.plan, plan_of(text)
    snapshot = app.snapshot()
    app.close()
    app = VirtualApp.restore(text, bytes(succeed(old, snapshot, new).snapshot))
    app.send("P", (9.0,))
    app.send("T", (9.0, 0.0, "x", True))
    found = [[event.data for event in app.stream(name)] for name in "NO"]
    app.close()
    assert found == [[(True,)], [(True,)]]


def test_a_fleet_keeps_a_model_in_one_place() -> None:
    """Also where the text would cut it; models of instances are cut with these."""
    plan = plan_of(STREAMS + TEACH + ASK)
    assert [group.partitions for group in fleet_of(plan, 4).groups] == [1]
    asked = "partition with (a of P, a of T) begin " + TEACH + ASK + "end;"
    assert [group.partitions for group in fleet_of(plan_of(STREAMS + asked), 4).groups] == [4]
    told = f"{STREAMS}@dist(execGroup='one') {TEACH} @dist(execGroup='two') {ASK}"
    with pytest.raises(SiddhiQLError, match="the model 'm' is used in the execGroups 'one' and"):
        fleet_of(plan_of(told))


def test_only_the_library_is_written_and_read() -> None:
    """A snapshot cannot have other objects made."""
    with pytest.raises(SnapshotError, match=r"collections\.OrderedDict"):
        written("river", [OrderedDict()])
    forged = (0, [("object", "subprocess", "Popen", True, 1, (None,)), ("tuple", [("true",)])])
    with pytest.raises(SnapshotError, match=r"subprocess\.Popen"):
        read("river", forged)
    with pytest.raises(SnapshotError, match="cannot be read"):
        read("river", (3, []))
