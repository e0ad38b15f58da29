"""The contract every operator keeps: events in chunks in, chunks out; time and timers passed in;
state as plain values. Pure: no I/O, no wall clock, no randomness (design invariants 1, 2, 5).

A query runs as a chain  receive → handlers → window → handlers → selector → rate limiter → action.
Each link is an object with `process(chunk)` and an `emit` attribute that its owner sets to the next
link's `process`. Chunks are non-empty lists; a link may pass the same list on when it changed
nothing, and must not change events that somebody else may hold (copy with `as_kind`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec

from lockstep.operators.limits import Meter
from lockstep.siddhiql.scope import Scope

CURRENT: Final = 0
EXPIRED: Final = 1
TIMER: Final = 2
RESET: Final = 3
Kind = int
"""CURRENT, EXPIRED, TIMER or RESET (semantics 1)."""


_Made = TypeVar("_Made")


# A Struct, as every operator makes some: in a third of the time that a class with slots takes. No
# event refers to what refers to it, so the cycle collector need not look at them.
class StreamEvent(msgspec.Struct, eq=False, gc=False):
    """An event of Shape.STREAM. Two are equal if they are the same."""

    timestamp_ms: int
    data: tuple[Any, ...]
    kind: Kind = CURRENT

    def as_kind(self, kind: Kind, timestamp_ms: int) -> StreamEvent:
        """A copy of another kind at another time."""
        return StreamEvent(timestamp_ms, self.data, kind)

    def __repr__(self) -> str:
        return f"StreamEvent({self.timestamp_ms}, {self.data!r}, {'CXTR'[self.kind]})"


class JoinedEvent(msgspec.Struct, eq=False, gc=False):
    """An event of Shape.JOINED: left or right may be None (outer joins)."""

    timestamp_ms: int
    left: StreamEvent | None
    right: StreamEvent | None
    kind: Kind = CURRENT


Slot = StreamEvent | list[StreamEvent] | None


class MatchedEvent(msgspec.Struct, eq=False, gc=False):
    """An event of Shape.MATCHED: what a pattern bound, by slot."""

    timestamp_ms: int
    slots: list[Slot]
    kind: Kind = CURRENT


Emit = Callable[[list[Any]], None]
"""Takes a non-empty chunk."""


def nowhere(chunk: list[Any]) -> None:
    """The `emit` of a link that nobody has connected yet."""


PlainState = Any
"""None, bool, int, float, str, bytes, list, tuple, dict, set, StreamEvent: what `state` can
encode.
"""


class Stateful(Protocol):
    """Something whose state goes into snapshots under an id that is stable for equal app texts."""

    def snapshot(self) -> PlainState:
        """The state as plain values; must not alias what changes later."""

    def restore(self, state: PlainState) -> None:
        """Takes over a state that `snapshot` of an equal operator gave."""


class TimerTarget(Protocol):
    """Something that asked to be woken."""

    def on_timer(self, due_ms: int) -> None:
        """Called once per due time, with the app clock already at or behind `due_ms`.

        The clock may be later than `due_ms`: operators look at `context.now_ms()` (semantics 2).
        """


_Shared = TypeVar("_Shared", bound=Stateful)


class Context(Protocol):
    """What an operator may ask of the engine. One context per operator instance."""

    def now_ms(self) -> int:
        """The app clock (semantics 2)."""

    def wall_ms(self) -> int:
        """The log's wall clock: equal to the app clock unless the app is in playback."""

    def schedule(self, target: TimerTarget, due_ms: int, *, wall: bool = False) -> None:
        """Wakes `target` when the app clock (or wall clock) reaches `due_ms`; equal requests merge.

        `target` must have been registered with `register`. Pending timers are part of snapshots and
        are put back by the engine: operators never re-schedule on restore.
        """

    @property
    def is_siddhi_5_1(self) -> bool:
        """Whether the app asks for the old engine's defects (@app:compat)."""

    def register(self, name: str, operator: Stateful) -> None:
        """Gives the operator its stable id: the context's path plus `name`."""

    def child(self, name: str) -> Context:
        """A context one path element deeper, for an operator that owns others."""

    def shared(
        self, compiler: Callable[..., _Made], what: Any, scope: Scope, **options: Any
    ) -> _Made:
        """`compiler(what, scope, self, **options)`, run once per place in the text: all instances
        of a partition share what was made, unless it has state of its own.
        """

    def compile(self, expression: Any, scope: Scope) -> Callable[[Any], Any]:
        """The expression as a function of an event of the scope's shape (no aggregators).

        Functions with state or clock are bound to this context.
        """

    def compile_condition(self, expression: Any, scope: Scope) -> Callable[[Any], bool]:
        """The same as a condition: True only when the expression is exactly true."""

    @property
    def meter(self) -> Meter:
        """What counts the rows of an event."""

    def model(self, name: str, make: Callable[[], _Shared]) -> _Shared:
        """The model of that name, which queries share: those of an instance of a partition have
        their own. It is part of snapshots; `make` gives one that has learned nothing."""

    def table(self, name: str) -> Any:
        """The runtime table of that name (tables.meaning.Table)."""

    def window(self, name: str) -> Any:
        """The runtime named window of that name."""

    def aggregation(self, name: str) -> Any:
        """The runtime aggregation of that name."""

    def function(self, name: str, arguments: Sequence[Any]) -> Callable[..., Any]:
        """The app's own function (`define function`) of that name, for arguments so described."""


class Window(Protocol):
    """A window (semantics 7). Built by its factory with the query's arguments and a Context."""

    emit: Emit

    def process(self, chunk: list[StreamEvent]) -> None:
        """Takes a chunk of CURRENT events; emits chunks of CURRENT, EXPIRED and RESET events."""

    def on_timer(self, due_ms: int) -> None:
        """See TimerTarget."""

    def content(self) -> Iterable[StreamEvent]:
        """The findable content, in order, for joins and on-demand queries (semantics 7.17)."""

    def snapshot(self) -> PlainState:
        """See Stateful."""

    def restore(self, state: PlainState) -> None:
        """See Stateful."""


class InputRuntime(Protocol):
    """What the input of a query (stream, join, pattern) becomes: it feeds the selector.

    `emit` receives chunks of events of the query's scope shape. Registered under its own context.
    """

    emit: Emit

    def receivers(self) -> Sequence[tuple[str, Callable[[list[StreamEvent]], None]]]:
        """(source name, function that takes that source's chunks), in order of subscription.

        Streams, triggers and named windows deliver to these; a source may occur twice (self join).
        """

    def start(self) -> None:
        """Called once when the app (or partition instance) starts and nothing was restored."""
