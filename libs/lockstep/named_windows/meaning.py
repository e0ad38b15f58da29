"""Named windows: one shared window that queries write to and read from (semantics 8)."""

from __future__ import annotations

from collections.abc import Iterable

from lockstep.events import StreamSchema
from lockstep.operators.contract import CURRENT, EXPIRED, Context, Emit, StreamEvent, nowhere
from lockstep.selection.meaning import Torn, error_in
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedApp
from lockstep.siddhiql.scope import Scope, Shape, Source
from lockstep.windows.registry import build_window


def kinds_of(output: ast.EventSelection | None) -> tuple[int, ...]:
    """The kinds of events that readers get."""
    match output:
        case ast.EventSelection.CURRENT:
            return (CURRENT,)
        case ast.EventSelection.EXPIRED:
            return (EXPIRED,)
        case _:
            return (CURRENT, EXPIRED)


def scope_of(definition: ast.WindowDefinition, checked: CheckedApp) -> Scope:
    """What the window's arguments see: its events, and the functions of the app."""
    own = Source(checked.schemas[definition.name], (definition.name,))
    results = {name: one.returns for name, one in checked.functions.items()}
    return Scope(Shape.STREAM, (own,), functions=results)


class NamedWindow:
    """Takes current events; readers get what the window emits, cut down to its `output` clause.

    RESET marks are not handed on: readers' aggregates are corrected by the expired events instead.
    """

    def __init__(
        self, definition: ast.WindowDefinition, checked: CheckedApp, context: Context
    ) -> None:
        self.name = definition.name
        self.schema: StreamSchema = checked.schemas[definition.name]
        self.emit: Emit = nowhere
        scope = scope_of(definition, checked)
        self.window = build_window(definition.window, scope, self.schema, context)
        self.window.emit = self._leave
        self._kinds = kinds_of(definition.output)

    def process(self, chunk: list[StreamEvent]) -> None:
        self.window.process(chunk)

    def _leave(self, chunk: list[StreamEvent]) -> None:
        kinds, failed = self._kinds, error_in(chunk)
        kept = [event for event in chunk if event.kind in kinds]
        if kept:
            self.emit(kept if failed is None else Torn(kept, failed))

    def content(self) -> Iterable[StreamEvent]:
        return self.window.content()

    def start(self) -> None:
        """Gets a window that runs by the clock from the start going."""
        start = getattr(self.window, "start", None)
        if start is not None:
            start()
