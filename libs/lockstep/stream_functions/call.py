"""What a stream function's factory learns of its call, and the plain forms of stream functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from lockstep.events import AttributeType, StreamSchema
from lockstep.operators.contract import EXPIRED, Context, Emit, StreamEvent, nowhere
from lockstep.siddhiql.catalogue import Argument


@dataclass(frozen=True)
class StreamCall:
    """A call: its arguments as the checker sees them and as functions of the event.

    `schema` is what comes in, `added` the names and types that the call appends.
    """

    arguments: Sequence[Argument]
    values: Sequence[Callable[[Any], Any]]
    schema: StreamSchema
    context: Context

    def constant(self, index: int, default: Any = None) -> Any:
        """The value of a literal argument, or the default when there is no such argument."""
        return self.arguments[index].value if index < len(self.arguments) else default

    def type_of(self, index: int) -> AttributeType:
        """The type of an argument."""
        return self.arguments[index].type

    def position(self, index: int) -> int | None:
        """The position in the event's data of a plain attribute argument."""
        name = self.arguments[index].attribute_name
        return None if name is None else self.schema.index_of(name)


class StreamLink(Protocol):
    """A link of a query's chain (operators.contract). It registers itself if it has state."""

    emit: Emit

    def process(self, chunk: list[StreamEvent]) -> None:
        """Takes a chunk, emits what comes of it."""


StreamFunctionFactory = Callable[[StreamCall], StreamLink]


class Appending:
    """One event out for each in, with values appended. RESET and TIMER marks pass."""

    __slots__ = ("_append", "emit")

    def __init__(self, append: Callable[[StreamEvent], tuple[Any, ...]]) -> None:
        self._append = append
        self.emit: Emit = nowhere

    def guard(self, guarded: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Calls what `guarded` makes of the function in its place."""
        self._append = guarded(self._append)

    def process(self, chunk: list[StreamEvent]) -> None:
        append = self._append
        self.emit(
            [
                StreamEvent(event.timestamp_ms, (*event.data, *append(event)), event.kind)
                if event.kind <= EXPIRED
                else event
                for event in chunk
            ]
        )

    def made(self, event: StreamEvent) -> list[StreamEvent]:
        """What comes of one event, which is no mark."""
        data = (*event.data, *self._append(event))
        return [StreamEvent(event.timestamp_ms, data, event.kind)]


class Multiplying:
    """For each event in as many out as `expand` gives tuples to append."""

    __slots__ = ("_expand", "emit")

    def __init__(self, expand: Callable[[StreamEvent], Iterable[tuple[Any, ...]]]) -> None:
        self._expand = expand
        self.emit: Emit = nowhere

    def guard(self, guarded: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """See Appending."""
        self._expand = guarded(self._expand)

    def process(self, chunk: list[StreamEvent]) -> None:
        out: list[StreamEvent] = []
        for event in chunk:
            if event.kind > EXPIRED:
                out.append(event)
                continue
            out += self.made(event)
        if out:
            self.emit(out)

    def made(self, event: StreamEvent) -> list[StreamEvent]:
        """What comes of one event, which is no mark: all of it, or nothing where it fails. Half of
        an event would never leave."""
        return [
            StreamEvent(event.timestamp_ms, (*event.data, *added), event.kind)
            for added in self._expand(event)
        ]


class Buffering:
    """The base of stream processors that hold events: state, timers, `emit`. Registers itself.

    `brings_expired`: it takes rows back, so the query stays on the reference.
    """

    brings_expired = False

    def __init__(self, call: StreamCall) -> None:
        self.context = call.context
        self.emit: Emit = nowhere
        call.context.register("stream_function", self)

    def process(self, chunk: list[StreamEvent]) -> None:
        raise NotImplementedError

    def on_timer(self, due_ms: int) -> None:
        """No timers by default."""

    def snapshot(self) -> Any:
        """No state by default."""
        return None

    def restore(self, state: Any) -> None:
        """No state by default."""
