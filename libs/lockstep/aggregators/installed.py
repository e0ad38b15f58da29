"""Aggregators of installed extensions: what they raise is an error of the event, which then has
left no trace in them, and what they give is of the type that they have declared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from lockstep.aggregators.contract import tell_growing
from lockstep.functions.guarding import FAILURES, PASSING, Owner, result_of, state_in
from lockstep.operators.contract import PlainState
from lockstep.operators.limits import LimitError
from lockstep.siddhiql.catalogue import ExtensionKind

STEPS_MIN: Final = 8
"""Steps that are kept at least behind a state. There may be many groups, so it is few."""
BYTES_PER_STEP: Final = 16
"""A larger state is written more rarely: so each step costs the same, whatever is in it."""

_UNDONE_ELSEWHERE: Final = (LimitError, MemoryError)
"""The whole event is undone then, in every query."""


def guarded_aggregator(
    made: Any, owner: Owner, given: Sequence[Any], again: Callable[[], Any]
) -> Any:
    """What a factory made for arguments, guarded."""
    checked = owner.checker(result_of(ExtensionKind.AGGREGATOR, owner.key, given[0]))
    return Guarded(made, _Kind(owner, checked, again))


@dataclass(frozen=True, slots=True, eq=False)
class _Kind:
    """What the aggregators of a call share."""

    owner: Owner
    checked: Callable[[Any], Any]
    again: Callable[[], Any]


class Guarded:
    """See Aggregator. Code of others may fail in the midst of a step, with half of it done. Then
    the state before that step is put back: the last one that was written, and the steps since.
    """

    __slots__ = ("_grows", "_kept", "_kind", "_most", "_own", "_steps")

    def __init__(self, own: Any, kind: _Kind) -> None:
        self._own = own
        self._kind = kind
        self._grows = False
        self._steps: list[tuple[str, tuple[Any, ...]]] = []
        self._keep()

    def never_shrinks(self) -> None:
        """See `growing`."""
        self._grows = True
        tell_growing(self._own)

    def add(self, *values: Any) -> None:
        # As `_do`, which would be a call more for each event.
        try:
            self._own.add(*values)
        except _UNDONE_ELSEWHERE:
            raise
        except FAILURES as error:
            self._undo()
            raise self._kind.owner.failed(error) from error
        steps = self._steps
        steps.append(("add", values))
        if len(steps) > self._most:
            self._keep()

    def remove(self, *values: Any) -> None:
        self._do("remove", values)

    def reset(self) -> None:
        self._do("reset", ())

    def _do(self, name: str, values: tuple[Any, ...]) -> None:
        try:
            getattr(self._own, name)(*values)
        except _UNDONE_ELSEWHERE:
            raise
        except FAILURES as error:
            self._undo()
            raise self._kind.owner.failed(error) from error
        self._steps.append((name, values))
        if len(self._steps) > self._most:
            self._keep()

    def value(self) -> Any:
        try:
            result = self._own.value()
        except PASSING:
            raise
        except FAILURES as error:
            raise self._kind.owner.failed(error) from error
        return self._kind.checked(result)

    def is_empty(self) -> bool:
        return bool(self._asked(self._own.is_empty))

    def _asked(self, method: Callable[[], Any]) -> Any:
        try:
            return method()
        except PASSING:
            raise
        except FAILURES as error:
            raise self._kind.owner.failed(error) from error

    def snapshot(self) -> PlainState:
        return self._kind.owner.kept(self._own.snapshot)()

    def restore(self, state: PlainState) -> None:
        self._kind.owner.restored(self._own.restore)(state)
        self._keep()

    def _keep(self) -> None:
        """EventError for a state that cannot be written."""
        self._kept = self._kind.owner.state_of(self._own)
        self._most = max(STEPS_MIN, len(self._kept) // BYTES_PER_STEP)
        self._steps = []

    def _undo(self) -> None:
        self._own = self._asked(self._as_before)

    def _as_before(self) -> Any:
        own = self._kind.again()
        if self._grows:
            tell_growing(own)
        own.restore(state_in(self._kept))
        for name, values in self._steps:
            getattr(own, name)(*values)
        return own
