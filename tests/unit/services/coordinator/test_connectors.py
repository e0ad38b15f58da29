"""What is said of a source or sink, of what several processes tell of it."""

from __future__ import annotations

import pytest

from lockstep.control import AppView, Connector, ConnectorHealth, ConnectorState, connectors_of
from lockstep.control.health import MAX_TEXT, MAX_TOLD, some_told
from lockstep.events import Life
from lockstep.plan import build
from lockstep.siddhiql import check
from lockstep.store import Deployment, Pause
from lockstep_services.coordinator.connectors import line_of

SOURCE = Connector("source", "In", 0, "nats")
SINK = Connector("sink", "Out", 1, "http")
PAUSED = Pause("A", "source:In.0.nats", 5_000, "ann", "the broker moves")
TEXT = """
@app:name('A')
@source(type='NATS', destination='s', @map(type='json'))
@source(type='http-call-response', sink.id='s', @map(type='json'))
define stream In (v int);
@sink(type='log') @sink(type='http-call', sink.id='s', publisher.url='http://h/', @map(type='json'))
define stream Out (v int);
@store(type='rdbms', datasource='d') define table T (v int);
from In select v insert into Out;
from In select v insert into T;
"""


def told(node: str, state: ConnectorState, since_ms: int, **more: object) -> object:
    """By a node."""
    health = {"app": "A", "element": SOURCE.element, "state": state, "since_ms": since_ms}
    return node, ConnectorHealth(**{**health, **more})  # type: ignore[arg-type]


RUNNING, RETRYING = ConnectorState.RUNNING, ConnectorState.RETRYING
STANDS = ConnectorState.PAUSED


@pytest.mark.parametrize(
    ("pause", "said", "state", "reason"),
    [
        (None, [], "unknown", "no receiver tells of it"),
        (PAUSED, [], "paused", "paused by ann: the broker moves"),
        (None, [("a", RUNNING, 1)], "running", ""),
        (None, [("a", RUNNING, 1), ("b", RETRYING, 2)], "retrying", "away"),
        (None, [("a", STANDS, 1)], "paused", "it will go on in a moment"),
        (PAUSED, [("a", STANDS, 1), ("b", RUNNING, 2)], "running", "it will be paused in a moment"),
        (PAUSED, [("a", RETRYING, 2)], "retrying", "away; it will be paused"),
        (PAUSED, [("a", STANDS, 1), ("b", STANDS, 9)], "paused", "paused by ann: the broker moves"),
    ],
)
def test_the_worst_that_is_told_counts(
    pause: Pause | None,
    said: list[tuple[str, ConnectorState, int]],
    state: str,
    reason: str,
) -> None:
    """A source is paused when all receivers say so."""
    found = [
        told(node, each, since_ms, reason="away" if each is RETRYING else "", per_s=1.5)
        for node, each, since_ms in said
    ]
    line = line_of(SOURCE, pause, found)  # type: ignore[arg-type]
    assert (line["state"], line["reason"]) == (state, reason)
    assert line["per_s"] == 1.5 * len(said)
    assert line["nodes"] == [node for node, _, _ in said]


def test_the_last_error_outlives_it() -> None:
    """Of several nodes the newest."""
    found = [
        told("a", RUNNING, 1, last_error="old", last_error_ms=10),
        told("b", RUNNING, 1, last_error="new", last_error_ms=20),
    ]
    line = line_of(SOURCE, None, found)  # type: ignore[arg-type]
    assert (line["state"], line["last_error"], line["last_error_ms"]) == ("running", "new", 20)


def test_the_sources_and_sinks_of_an_app() -> None:
    """Named as sinks are named in the status, and tables that are written are among them."""
    view = AppView(Deployment("A", TEXT, "1", Life(0, 1), 1, 0), build(check(TEXT)))
    found = connectors_of(view)
    assert [one.element for one in found] == [
        "source:In.0.nats", "source:In.1.http-call-response", "sink:Out.0.log",
        "sink:Out.1.http-call", "sink:T.0.rdbms",
    ]  # fmt: skip
    assert [one.brings_answers for one in found] == [False, True, False, False, False]


def test_a_heartbeat_holds_so_many_and_those_that_stand_first() -> None:
    """Whatever an app with too many of them has."""
    runs = [ConnectorHealth("A", f"sink:S.{number}.log") for number in range(2 * MAX_TOLD)]
    stands = ConnectorHealth("A", SINK.element, STANDS)
    assert some_told(runs[:MAX_TOLD]) == tuple(runs[:MAX_TOLD])
    assert some_told([*runs, stands]) == (stands, *runs[: MAX_TOLD - 1])
    assert MAX_TEXT < 1_000
