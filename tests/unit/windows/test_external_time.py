"""externalTime(attribute, t) and externalTimeBatch(attribute, t) on columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Unfit, from_values
from lockstep.columns.pool import StringPool
from lockstep.operators.state import seal, unseal
from lockstep.testing import VirtualApp
from lockstep.windows.contract import Setup
from lockstep.windows.external_time.columns import ExternalTimeWindow
from lockstep.windows.external_time_batch.columns import ExternalTimeBatchWindow
from tests.unit.columns.flows import LONG, chunks, longs, moves, shown, step

SETUP = Setup((LONG,), StringPool(), True, True, False, 5)


def clocks(*each: list[Any]) -> Chunks:
    """A stream of one long attribute, which is the clock."""
    values = [value for chunk in each for value in chunk]
    plain = chunks(*([0] * len(chunk) for chunk in each))
    return replace(plain, columns=(from_values(LONG, values),))


def test_what_is_too_old_by_the_attribute_leaves() -> None:
    """In front of the event that says so, with its value as time; a late event stays behind."""
    window = ExternalTimeWindow(SETUP, 0, 10)
    assert shown(window.flow(step(clocks([1, 5], [11], [7, 30])))) == [
        ["C1@100", "C5@100"],
        ["X1@11", "C11@200"],
        ["C7@300", "X5@30", "X11@30", "X7@30", "C30@300"],
    ]
    window.settle()
    assert len(window.held) == 1


def test_a_null_is_no_clock() -> None:
    """The slice goes to the reference."""
    with pytest.raises(Unfit, match="a null where an attribute is the clock"):
        ExternalTimeWindow(SETUP, 0, 10).flow(step(clocks([None])))


def test_batches_by_the_attribute() -> None:
    """An event at the end of a batch closes it; the start says where batches end."""
    window = ExternalTimeBatchWindow(SETUP, 0, 10)
    assert shown(window.flow(step(clocks([1, 5], [11, 12], [40])))) == [
        ["R", "C1@100", "C5@100"],
        ["X1@40", "X5@40", "R", "C11@200", "C12@200"],
    ]
    aligned = ExternalTimeBatchWindow(SETUP, 0, 10, start_ms=0)
    assert shown(aligned.flow(step(clocks([9], [10])))) == [["R", "C9@100"]]


def test_batches_by_the_attribute_go_on_from_what_was_stored() -> None:
    """With the period that has begun."""
    window = ExternalTimeBatchWindow(SETUP, 0, 10)
    window.flow(step(clocks([1, 5])))
    other = ExternalTimeBatchWindow(SETUP, 0, 10)
    other.load(0, window.store(0), lambda columns, times, realm: longs(*[0] * len(times)))
    assert shown(other.flow(step(clocks([11])))) == [["R", "C1@100", "C5@100"]]


def test_batches_by_the_attribute_begin_where_another_attribute_says() -> None:
    """As it was with the first event."""
    window = ExternalTimeBatchWindow(replace(SETUP, types=(LONG, LONG)), 0, 10, start_attribute=1)
    plain = clocks([7], [12], [13])
    stream = replace(plain, columns=(*plain.columns, from_values(LONG, [3, 50, 50])))
    assert shown(window.flow(step(stream))) == [["R", "C7@100", "C12@200"]]


def test_silence_brings_a_batch_out_and_more_of_it_once_more() -> None:
    """The whole batch comes again with what came later, and once more when its time is over;
    without that it does not."""
    window = ExternalTimeBatchWindow(SETUP, 0, 100, start_ms=0, timeout_ms=50)
    stream = clocks([1, 5], [11], [101], [102])
    flow = window.flow(step(stream, moves(stream, until=450)))
    assert shown(flow) == [
        ["R", "C1@100", "C5@100"],
        ["X1@11", "X5@11", "R", "C1@100", "C5@100", "C11@200"],
        ["X1@101", "X5@101", "X11@101", "R", "C101@300"],
        ["X101@102", "R", "C101@300", "C102@400"],
    ]
    assert flow.now.tolist() == [150, 250, 350, 450]
    window.settle()
    assert len(window.held) == 2
    assert window.due_ms() is None


def test_who_is_not_silent_for_so_long_is_waited_for() -> None:
    """The timer moves with each event, also after a restoring."""
    window = ExternalTimeBatchWindow(SETUP, 0, 1000, timeout_ms=150)
    stream = clocks([1], [2])
    assert shown(window.flow(step(stream, moves(stream)))) == []
    assert window.timers(0) == [(350, 2)]
    other = ExternalTimeBatchWindow(SETUP, 0, 1000, timeout_ms=150)
    other.load(0, window.store(0), lambda columns, times, realm: longs(*[0] * len(times)))
    other.load_timers(0, [(250, 1), (350, 2)])
    stream = replace(clocks([3]), now=longs(340), times=longs(340))
    flow = other.flow(step(stream, moves(stream, before=200, until=490)))
    assert shown(flow) == [["R", "C1@100", "C2@200", "C3@340"]]
    assert flow.now.tolist() == [490]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
def test_a_state_of_before_the_first_value_is_read(executor: str) -> None:
    """In earlier revisions an event without a value left a null there when it came first."""
    text = (
        "define stream S (k string, t long); "
        "from S#window.externalTimeBatch(t, 1 sec) select k, t insert into O;"
    )
    with VirtualApp(text) as app:
        app.send("S", ("a", None))
        position, body = unseal(app.snapshot())
    operators = dict(body["engine"]["operators"])
    (path,) = [path for path in operators if path.endswith("window")]
    (start, end, latest, *more), *batches = operators[path]
    assert (start, end, latest) == (0, None, 0)
    operators[path] = ((None, None, None, *more), *batches)
    body["engine"]["operators"] = list(operators.items())
    with VirtualApp.restore(text, seal(position, body), executor=executor) as app:
        app.send("S", ("b", 1))
        app.send("S", ("c", 2000))
        assert [event.data for event in app.stream("O")] == [("b", 1)]


@pytest.mark.parametrize("executor", ["reference", "columnar"])
@pytest.mark.parametrize(
    ("window", "row", "reason"),
    [
        ("externalTime(t, 10)", (None, 1), "the attribute t is null"),
        ("externalTimeBatch(t, 10)", (None, 1), "the attribute t is null"),
        ("externalTimeBatch(t, 10, start)", (1, None), "the start.time is null"),
        ("unique:externalTimeBatch(t, t, 10)", (None, 1), "the attribute t is null"),
    ],
)
def test_a_null_is_named(
    window: str, row: tuple[int | None, ...], reason: str, executor: str
) -> None:
    """By the window and the attribute."""
    text = f"define stream S (t long, start long); from S#window.{window} select t insert into O;"
    with VirtualApp(text, executor=executor) as app:
        app.send("S", row)
        (fault,) = app.faults()
        name = window.partition("(")[0].removeprefix("unique:")
        assert fault.reason == f"EventError: {name}: {reason}"
