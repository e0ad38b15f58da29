"""A window's meaning without an engine: made of its call, fed by hand, woken when it asked."""

from __future__ import annotations

from typing import Any

from lockstep.events import StreamSchema
from lockstep.operators.contract import CURRENT, EXPIRED, StreamEvent
from lockstep.siddhiql import ast, check
from lockstep.siddhiql.catalogue.core import declared_window
from lockstep.siddhiql.checked import CheckedHandler, CheckedQuery, CheckedStream
from lockstep.windows.registry import WindowCall, factory_of
from tests.unit.operators.plain_context import PlainContext

S = "define stream S (k string, d double, l long, i int, f float, t long);"


def row(n: int, now: int) -> tuple[Any, ...]:
    """The data of the nth event of S."""
    wave = float((n * 5) % 11)
    return ("ab"[n % 2], wave, n, n % 5, wave / 2, now)


def written(example: str) -> tuple[CheckedHandler, ast.FunctionCall, StreamSchema]:
    """The window of a call on S, checked, with the schema that it sees."""
    query = check(f"{S} from S#window.{example} select * insert into O;").execution[0]
    assert isinstance(query, CheckedQuery)
    assert isinstance(query.input, CheckedStream)
    handler = query.input.handlers[0]
    assert isinstance(handler.handler, ast.WindowHandler)
    return handler, handler.handler.call, query.input.source_schema


def call_of(example: str, context: Any) -> WindowCall:
    """What the factory of its meaning gets."""
    handler, call, schema = written(example)
    return WindowCall(call, handler.scope, schema, context)


class Played:
    """The window of a call. `chunks`: what it emitted so far."""

    def __init__(self, example: str) -> None:
        self.context: Any = PlainContext()
        made = factory_of(declared_window(written(example)[1]))
        self.window: Any = made(call_of(example, self.context))
        self.chunks: list[list[StreamEvent]] = []
        self.window.emit = self.chunks.append

    def at(self, now: int, *rows: tuple[Any, ...]) -> list[list[StreamEvent]]:
        """What comes when the clock has moved there and these rows have come as a chunk."""
        before, timers = len(self.chunks), self.context.timers
        while timers and min(due for _, due in timers) <= now:
            due = min(due for _, due in timers)
            timers[:] = [timer for timer in timers if timer[1] != due]
            self.context.now = due
            self.window.on_timer(due)
        self.context.now = now
        if rows:
            self.window.process([StreamEvent(now, data) for data in rows])
        return self.chunks[before:]

    def shown(self, now: int, *rows: tuple[Any, ...]) -> list[str]:
        """The same as text: `C3` for the current event whose `l` is 3, `X` expired, `R` a RESET."""
        return [
            " ".join(
                f"{'CX'[event.kind]}{event.data[2]}" if event.kind in (CURRENT, EXPIRED) else "R"
                for event in chunk
            )
            for chunk in self.at(now, *rows)
        ]
