"""Junctions: order of delivery, and errors that stop at the stream (semantics 1 and 18)."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.execute.reference.junction import Junction
from lockstep.operators.contract import StreamEvent
from lockstep.operators.limits import Meter


def test_receivers_then_listeners() -> None:
    """Receivers in order of subscription, observers behind them."""
    seen: list[str] = []
    junction = Junction("S", lambda *_: None, Meter())
    junction.listen(lambda chunk: seen.append("listener"))
    junction.subscribe(lambda chunk: seen.append("first"))
    junction.subscribe(lambda chunk: seen.append("second"))
    junction.send([StreamEvent(1, ())])
    assert seen == ["first", "second", "listener"]


def test_an_error_drops_the_chunk_for_those_behind() -> None:
    """Earlier receivers have run, the failure is told, the sender goes on."""
    seen: list[str] = []
    failures: list[Any] = []
    junction = Junction("S", lambda *failure: failures.append(failure), Meter())

    def fail(chunk: list[StreamEvent]) -> None:
        raise ValueError("no")

    junction.subscribe(lambda chunk: seen.append("first"))
    junction.subscribe(fail)
    junction.subscribe(lambda chunk: seen.append("third"))
    chunk = [StreamEvent(1, ())]
    junction.send(chunk)
    assert seen == ["first"]
    assert [("S", chunk)] == [(name, dropped) for name, dropped, _ in failures]


def test_errors_of_the_program_escape() -> None:
    """What no value can cause is no event's fault."""

    def fail(chunk: list[StreamEvent]) -> None:
        raise AssertionError

    junction = Junction("S", lambda *_: None, Meter())
    junction.subscribe(fail)
    with pytest.raises(AssertionError):
        junction.send([StreamEvent(1, ())])
