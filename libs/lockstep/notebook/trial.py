"""An app of a cell on a virtual clock: what its streams carried when it was given events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lockstep.editing import known
from lockstep.events import AttributeType, Event, StreamSchema
from lockstep.events.columns import ARROW_TYPES
from lockstep.notebook.errors import CellError, pointed
from lockstep.notebook.events import TIMESTAMP, Given
from lockstep.siddhiql import SiddhiQLError
from lockstep.simulating import Columns
from lockstep.simulating.streams import columns_in, unwritten
from lockstep.testing import VirtualApp


@dataclass(frozen=True, slots=True)
class Carried:
    """One stream: its attributes, and the rows that it carried."""

    name: str
    schema: StreamSchema
    events: Sequence[Event]
    is_input: bool

    @property
    def columns(self) -> list[str]:
        """Names, in order."""
        return [one.name for one in self.schema.attributes]

    def table(self) -> pa.Table:
        """With the time of each row as the first column."""
        fields = [pa.field(TIMESTAMP, pa.timestamp("ms", tz="UTC"))]
        arrays: list[Any] = [[event.timestamp_ms for event in self.events]]
        for place, one in enumerate(self.schema.attributes):
            values = [event.data[place] for event in self.events]
            if one.type is AttributeType.OBJECT:
                values = [None if value is None else repr(value) for value in values]
                fields.append(pa.field(one.name, pa.string()))
            else:
                fields.append(pa.field(one.name, ARROW_TYPES[one.type]))
            arrays.append(values)
        made = [pa.array(column, field.type) for column, field in zip(arrays, fields, strict=True)]
        return pa.Table.from_arrays(made, schema=pa.schema(fields))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a cell brought; `dropped`: why a query could not process an event."""

    clock_ms: int
    streams: Sequence[Carried]
    dropped: Sequence[str]


class Trial:
    """One app; `with`. CellError for a text that is none."""

    def __init__(self, text: str, start_ms: int) -> None:
        if problems := known(text).problems:
            raise pointed(text, [(one.message, one.hint, one.line, one.column) for one in problems])
        try:
            self._app = VirtualApp(text, start_ms=start_ms)
        except SiddhiQLError as error:
            raise pointed(text, [(error.message, error.hint, error.line, error.column)]) from None

    def columns(self, stream: str | None) -> tuple[str, Columns]:
        """The stream that events go into, the only one where none is named, and its attributes."""
        plan = self._app.plan
        first = unwritten(plan)
        if stream is None and len(first) == 1:
            stream = first[0]
        if stream is None:
            hint = f"--stream {' or '.join(first or plan.doors) or '(there is none)'}"
            raise CellError("which stream do the events go into?", hint=hint)
        if stream not in plan.doors:
            hint = f"it does in {', '.join(plan.doors) or 'none'}"
            raise CellError(f"the app takes no events in {stream!r}", hint=hint)
        return stream, columns_in(plan, stream)

    def feed(self, stream: str, given: Given) -> None:
        """Event by event, each at its time, or all of them now."""
        for number, row in enumerate(given.rows):
            at_ms = None if given.times_ms is None else given.times_ms[number]
            if at_ms is not None:
                self.pass_until(at_ms)
            self._app.send(stream, row, timestamp_ms=at_ms)

    def pass_until(self, at_ms: int) -> None:
        """Moves the clock; it never runs back."""
        if at_ms > self._app.clock_ms:
            self._app.advance(at_ms - self._app.clock_ms)

    def let_pass(self, by_ms: int) -> None:
        """Moves the clock."""
        self._app.advance(by_ms)

    def outcome(self) -> Outcome:
        """So far, streams in the order of the text."""
        plan = self._app.plan
        inputs = unwritten(plan)
        names = [name for name in plan.checked.streams if not name.startswith("!")]
        schemas: Mapping[str, StreamSchema] = plan.schemas
        streams = [
            Carried(name, schemas[name], self._app.stream(name), name in inputs) for name in names
        ]
        dropped = [one.reason for one in self._app.faults()]
        return Outcome(self._app.clock_ms, streams, dropped)

    def __enter__(self) -> Trial:
        return self

    def __exit__(self, *raised: object) -> None:
        self._app.close()
