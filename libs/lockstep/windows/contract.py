"""What a window on columns is to its query, and what its factory learns of the call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Protocol, runtime_checkable

from lockstep.columns.chunks import Chunks
from lockstep.columns.column import Longs
from lockstep.columns.flow import Flow
from lockstep.columns.held import HeldRows
from lockstep.columns.keys import Ids
from lockstep.columns.moves import Moves
from lockstep.columns.pool import StringPool
from lockstep.columns.rule import NotLowerable, check_period
from lockstep.events import AttributeType
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.checked import CheckedHandler


@dataclass(frozen=True, eq=False)
class Step:
    """What a window gets of a slice: its events with their groups, and how the clock moved.

    `moves.before` is the clock in front of the slice; `place` the query's place among the
    receivers. `by_place`: rows of the slice that leave are looked for by their places, too.
    """

    chunks: Chunks
    groups: Ids
    moves: Moves
    place: int
    by_place: bool = True


@dataclass(frozen=True, slots=True)
class Setup:
    """What a window is built with: the schema behind it, where strings are kept, and what the query
    wants to see. `rank` is that of the owner of its timers (plan.ranks): the query, or
    the partition that it is in."""

    types: Sequence[AttributeType]
    pool: StringPool
    wants_expired: bool
    aggregates: bool
    keyed: bool
    rank: int


@runtime_checkable
class RecallsTimers(Protocol):
    """A window whose pending timers do not follow from what it holds."""

    def load_timers(self, realm: int, timers: Sequence[tuple[int, int]]) -> None:
        """Takes over what `timers` gave."""


class ColumnarWindow(Protocol):
    """A window of a query, for all partition instances at once (realms).

    `slides`: events leave one by one. `in_order`: in the order in which they came. `resets`:
    batches end with a RESET mark. `shows_timers`: what its timers emit is seen. `hears_timers`: it
    makes a difference what comes first, its own timers or what those of others bring. `held`: the
    rows that it keeps; their first extra is their group.
    """

    slides: bool
    in_order: bool
    resets: bool
    shows_timers: bool
    hears_timers: bool
    held: HeldRows

    def flow(self, step: Step) -> Flow:
        """What enters and leaves."""

    def settle(self) -> None:
        """The slice is done: what left may be forgotten."""

    def due_ms(self) -> int | None:
        """When the next timer fires, or None."""

    def keeps(self, realm: int) -> Longs:
        """The places of all held rows."""

    def inside(self, realm: int) -> Longs:
        """The places of the rows that aggregates hold, in order."""

    def store(self, realm: int) -> Any:
        """The reference window's state for a realm."""

    def load(self, realm: int, state: Any, groups: Any) -> None:
        """Takes over what `store` gave; `groups` gives the groups of events."""

    def timers(self, realm: int) -> list[tuple[int, int]]:
        """The timers that the reference's window would have pending: when they are due, and a
        number that orders those of the query that are due at once."""


@dataclass(frozen=True, slots=True)
class ColumnarCall:
    """A window as written, with what it sees."""

    handler: CheckedHandler
    call: ast.FunctionCall

    def constant(self, index: int) -> Any:
        """The literal at that place; NotLowerable when it is none, or a time that is too long."""
        argument = self.call.arguments[index]
        if not isinstance(argument, ast.Constant):
            raise NotLowerable(f"{self.call.name} with an argument that varies")
        if argument.type is AttributeType.LONG:
            check_period(int(argument.value))
        return argument.value

    def is_flag(self, index: int) -> bool:
        """Whether there is a bool literal at that place."""
        argument = self.call.arguments[index]
        return isinstance(argument, ast.Constant) and argument.type is AttributeType.BOOL

    def attribute(self, index: int, type_: AttributeType) -> int:
        """The place of the attribute of that type that the argument names."""
        argument = self.call.arguments[index]
        if not isinstance(argument, ast.Variable):
            raise NotLowerable(f"{self.call.name} without a plain attribute")
        ref = self.handler.scope.resolve(argument)
        if ref.type is not type_:
            raise NotLowerable(f"{self.call.name} by an attribute of type {ref.type}")
        return ref.attribute

    def __len__(self) -> int:
        return len(self.call.arguments)


def columnar_window(call: ColumnarCall, setup: Setup) -> ColumnarWindow:
    """The window on columns that a call of one that has them asks for; NotLowerable for forms
    without."""
    make: Callable[[ColumnarCall, Setup], ColumnarWindow]
    make = resolve_name(declared_window(call.call).columns)
    return make(call, setup)
