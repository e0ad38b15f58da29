"""Stream functions of installed extensions: what they raise is an error of the event, and what they
append is what they have declared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lockstep.events import AttributeType
from lockstep.functions.guarding import FAILURES, PASSING, Owner, added_by, guard_in_place
from lockstep.operators.contract import EXPIRED, StreamEvent
from lockstep.stream_functions.call import Appending, Multiplying, StreamCall

_Fit = Callable[[Iterable[Any]], tuple[Any, ...]]


def guarded_link(made: Any, owner: Owner, given: Sequence[Any], again: Callable[[], Any]) -> Any:
    """What a factory made for a StreamCall, guarded."""
    call: StreamCall = given[0]
    added = added_by(owner.key, call.arguments)
    fit: _Fit = tuple if added is None else _fitting(owner, added)
    match made:
        case Appending():
            made.guard(lambda append: _guarded(owner, append, fit))
        case Multiplying():
            made.guard(lambda expand: _guarded(owner, expand, lambda rows: list(map(fit, rows))))
    if type(made) in (Appending, Multiplying):
        return made
    before = len(call.schema.attributes)
    return guard_in_place(made, owner, None if added is None else _checking(owner, before, fit))


def _guarded(
    owner: Owner, function: Callable[..., Any], fit: Callable[[Any], Any]
) -> Callable[..., Any]:
    def guarded(event: StreamEvent) -> Any:
        try:
            return fit(function(event))  # which may be a generator: it runs here
        except PASSING:
            raise
        except FAILURES as error:
            raise owner.failed(error) from error

    return guarded


def _fitting(owner: Owner, added: Sequence[tuple[str, AttributeType]]) -> _Fit:
    """Makes values to append of what an extension gives; EventError for more, fewer, and others."""
    checks = [owner.checker(type_) for _, type_ in added]
    declared = ", ".join(f"{name} {type_.value}" for name, type_ in added) or "none"

    def fit(given: Iterable[Any]) -> tuple[Any, ...]:
        row = tuple(given)
        if len(row) != len(checks):
            raise owner.refusal(f"appended {len(row)} values, and declares {declared}")
        return tuple(check(value) for check, value in zip(checks, row, strict=True))

    return fit


def _checking(owner: Owner, before: int, fit: _Fit) -> Callable[[list[Any]], list[Any]]:
    """Makes right what a link lets out by itself: events of `before` values and what it adds."""

    def fitting(event: Any) -> Any:
        if event.kind > EXPIRED:
            return event
        if len(event.data) < before:
            raise owner.refusal(f"let out {len(event.data)} values where {before} came in")
        added = event.data[before:]
        made = fit(added)
        if all(one is other for one, other in zip(made, added, strict=True)):
            return event
        return StreamEvent(event.timestamp_ms, (*event.data[:before], *made), event.kind)

    return lambda chunk: [fitting(event) for event in chunk]
