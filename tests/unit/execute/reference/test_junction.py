"""Junctions: order of delivery, and errors that stop at the stream (semantics 1 and 18)."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.execute.reference.junction import Junction, WindowJunction, deliver_to_all
from lockstep.operators.contract import StreamEvent
from lockstep.operators.failing import PartsFailedError
from lockstep.operators.limits import LimitError, Meter
from lockstep.selection.meaning import Torn, error_in


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


def _window(failures: list[Any]) -> WindowJunction:
    """The junction of a named window; `failures` hears what is told."""
    return WindowJunction("W", lambda *failure: failures.append(failure), Meter())


def test_readers_of_a_window_behind_one_that_fails_get_the_chunk_torn() -> None:
    """All of them. It is told once, and listeners hear nothing."""
    seen: list[tuple[list[StreamEvent], BaseException | None]] = []
    failures: list[Any] = []
    junction, error = _window(failures), ValueError("no")

    def fail(chunk: list[StreamEvent]) -> None:
        raise error

    def torn(chunk: list[StreamEvent]) -> None:
        seen.append((list(chunk), error_in(chunk)))
        raise error_in(chunk) or AssertionError

    junction.listen(lambda chunk: seen.append((chunk, None)))
    for receive in (fail, torn, torn):
        junction.subscribe(receive)
    chunk = [StreamEvent(1, ()), StreamEvent(2, ())]
    junction.send(chunk)
    assert seen == [(chunk, error), (chunk, error)]
    assert failures == [("W", chunk, error)]


def test_what_a_window_fails_of_is_told_by_the_window() -> None:
    """Readers get the rest of its chunk; nobody tells of it again."""
    seen: list[Any] = []
    failures: list[Any] = []
    junction, error = _window(failures), ValueError("no")

    def torn(chunk: list[StreamEvent]) -> None:
        seen.append(error_in(chunk))
        raise error

    junction.subscribe(torn)
    junction.subscribe(torn)
    junction.listen(seen.append)
    junction.send(Torn([StreamEvent(1, ())], error))
    assert seen == [error, error]
    assert failures == []


def test_a_part_that_fails_goes_torn_at_its_place() -> None:
    """Only that part is told."""
    seen: list[tuple[list[StreamEvent], BaseException | None]] = []
    error = ValueError("no")
    chunk = [StreamEvent(at, ()) for at in range(3)]

    def fail_of_the_second(chunk: list[StreamEvent]) -> None:
        raise PartsFailedError([(chunk[1:2], error)])

    receivers = [fail_of_the_second, lambda part: seen.append((list(part), error_in(part)))]
    with pytest.raises(PartsFailedError) as failed:
        deliver_to_all(receivers, chunk)
    assert seen == [(chunk[:1], None), (chunk[1:2], error), (chunk[2:], None)]
    assert failed.value.parts == [(chunk[1:2], error)]


def test_what_goes_too_deep_is_no_failure_of_a_reader() -> None:
    """Those behind it get nothing: the event is undone as a whole."""
    seen: list[Any] = []

    def deep(chunk: list[StreamEvent]) -> None:
        raise RecursionError

    junction = _window([])
    junction.subscribe(deep)
    junction.subscribe(seen.append)
    with pytest.raises(LimitError):
        junction.send([StreamEvent(1, ())])
    assert not seen
