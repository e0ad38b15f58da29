"""Rows that stand together in objects of a store, each row once.

An object is named by its first row, is made once, and says which row is its last. A publisher that
comes with the same first row finds it, and goes on behind its last one. The cursor moves where an
object ends, of every path. So objects follow one another in the same way whoever makes them: one
that was killed, its successor, or one that has lost its lease and does not know yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from lockstep.connectors.objects import checked_part, content_type_of, object_name
from lockstep.events import OutputId, OutputRow, UnavailableError
from lockstep.events.since import with_since
from lockstep.mapping import MappingError, MessageWriter
from lockstep.schemas import SchemaUser
from lockstep.sinks import MessageRefusedError
from lockstep.sinks.objects import Gathering, MadeObject, ObjectSink
from lockstep_services.publisher.contract import RefusedRow, SinkBinding, SinkSetupError, event_of
from lockstep_services.publisher.sinks.lanes import identities, side_by_side

PATHS_ABREAST: Final = 8
MOST_BYTES: Final = 64 * 1024 * 1024
"""Of an object, before its last row."""
_TEXTS: Final = frozenset(
    ("application/json", "application/cloudevents+json", "application/x-www-form-urlencoded")
)
LINES: Final = {"application/json": "application/x-ndjson"}
"""What several messages below one another are."""


class ObjectsLane:
    """See `Lane`. An object has from `gathering.rows` to twice as many rows, or fewer when the
    interval is over."""

    at_once = None
    takes_again = False  # an object's rows are one after the other

    def __init__(self, binding: SinkBinding, writer: MessageWriter, sink: ObjectSink) -> None:
        if sink.gathering is None:
            raise ValueError("each message is an object")
        self.gathering: Gathering = sink.gathering
        self._binding = binding
        self._app = with_since(binding.app, binding.since_ms)
        self._writer = writer
        self._sink = sink
        self._done: set[OutputId] = set()
        self._ahead: dict[str, OutputId] = {}
        self._is_anew = False

    @property
    def schema_user(self) -> SchemaUser | None:
        return self._writer.schema_user

    @property
    def is_ahead(self) -> bool:
        return bool(self._ahead)

    async def open(self) -> None:
        self.forget()
        self._ahead.clear()

    async def send(self, rows: Sequence[OutputRow]) -> Sequence[RefusedRow]:
        refused: list[RefusedRow] = []
        shares: dict[str, list[OutputRow]] = {}
        for row in rows:
            try:
                shares.setdefault(self._path_for(row), []).append(row)
            except (MappingError, MessageRefusedError) as error:
                refused.append(RefusedRow(row, error.message))
        trouble: UnavailableError | None = None
        left = iter(shares.items())
        while some := list(islice(left, PATHS_ABREAST)):
            for outcome in await side_by_side([self._share(*each) for each in some]):
                if isinstance(outcome, UnavailableError):
                    trouble = trouble or outcome
                else:
                    refused += outcome
        self._ahead = {path: last for path, last in self._ahead.items() if last > rows[-1].id}
        if trouble is not None:
            raise trouble  # what was refused is asked again: it is not buried yet
        return refused

    def has(self, row: OutputRow) -> bool:
        return row.id in self._done

    def forget(self) -> None:
        self._done.clear()

    def begin_again(self) -> None:
        self.forget()
        self._ahead.clear()
        self._is_anew = True

    async def close(self) -> None:
        await self._sink.close()

    async def _share(
        self, path: str, rows: Sequence[OutputRow]
    ) -> UnavailableError | list[RefusedRow]:
        """The rows of one path."""
        refused: list[RefusedRow] = []
        lines: list[tuple[OutputRow, bytes]] = []
        reached = self._ahead.get(path)
        for row in rows:
            if reached is not None and row.id <= reached:
                self._done.add(row.id)
                continue
            try:
                lines.append((row, self._line(row)))
            except (MappingError, MessageRefusedError) as error:
                refused.append(RefusedRow(row, error.message))
        while lines:
            together = self._first_object(lines)
            try:
                last = await self._made(path, together)
            except UnavailableError as error:
                return error
            except OSError as error:
                return UnavailableError(f"{type(error).__name__}: {error}", where=self._binding.key)
            self._done.update(row.id for row, _ in lines if row.id <= last)
            lines = [(row, line) for row, line in lines if row.id > last]
            if last > rows[-1].id:
                self._ahead[path] = last
        return refused

    async def _made(self, path: str, together: Sequence[tuple[OutputRow, bytes]]) -> OutputId:
        """The last row of the object that begins with the first of these."""
        rows = [row for row, _ in together]
        content_type, last = self._content_type(rows[0]), rows[-1].id
        name = object_name(
            path, self._app, self._binding.schema.name, rows[0].id.position, rows[0].id.ordinal,
            content_type,
        )  # fmt: skip
        payload = self._payload(rows, [line for _, line in together])
        made = MadeObject(name, payload, content_type, f"{last.position}.{last.ordinal}")
        found = await self._sink.create(made, anew=self._is_anew)
        if found is None:
            return last
        position, _, ordinal = found.partition(".")
        return OutputId(int(position), int(ordinal)) if found else rows[0].id

    def _first_object(
        self, lines: Sequence[tuple[OutputRow, bytes]]
    ) -> Sequence[tuple[OutputRow, bytes]]:
        """As many as it takes; a rest that would be too few goes with them."""
        count = self.gathering.rows if len(lines) >= 2 * self.gathering.rows else len(lines)
        size_bytes = 0
        for number, (_, line) in enumerate(lines[:count]):
            size_bytes += len(line)
            if size_bytes >= MOST_BYTES:
                return lines[: number + 1]
        return lines[:count]

    def _line(self, row: OutputRow) -> bytes:
        self._content_type(row)
        self._writer.begin_file(is_empty=False)
        marks = identities(self._binding, self._writer, [row])
        line = self._writer.write([event_of(row)], marks)
        return line if line.endswith(b"\n") else line + b"\n"

    def _payload(self, rows: Sequence[OutputRow], lines: Sequence[bytes]) -> bytes:
        """One message where they are grouped, else one below the other; with the header first."""
        self._writer.begin_file(is_empty=True)
        if self._writer.is_grouping:
            events = [event_of(row) for row in rows]
            return self._writer.write(events, identities(self._binding, self._writer, rows))
        marks = identities(self._binding, self._writer, rows[:1])
        first = self._writer.write([event_of(rows[0])], marks)
        return b"".join((first if first.endswith(b"\n") else first + b"\n", *lines[1:]))

    def _content_type(self, row: OutputRow) -> str:
        usual = self._writer.content_type
        if not self._writer.is_grouping:
            usual = LINES.get(usual, usual)
        event = event_of(row)
        return content_type_of(
            self._sink.content_type or usual, lambda t: self._writer.fill(t, event)
        )

    def _path_for(self, row: OutputRow) -> str:
        event = event_of(row)
        return "/".join(checked_part(self._writer.fill(part, event)) for part in self._sink.path)


def objects_lane(binding: SinkBinding, writer: MessageWriter, sink: ObjectSink) -> ObjectsLane:
    """SinkSetupError where messages cannot stand below one another."""
    is_text = writer.content_type.startswith("text/") or writer.content_type in _TEXTS
    if not is_text and not writer.is_grouping:
        raise SinkSetupError(
            f"several messages of the form {writer.content_type!r} are no object of that form",
            where=binding.key,
            hint="event.grouping.enabled='true' in the @map, or flush.size='1'",
        )
    return ObjectsLane(binding, writer, sink)
