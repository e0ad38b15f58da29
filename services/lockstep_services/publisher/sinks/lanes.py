"""A lane: the way of a sink's rows to one destination, and what of a batch has arrived there.

A batch that is tried again goes on where it stopped, in every lane by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, Final, Protocol, TypeVar

from lockstep.bus.errors import BusRefusedError
from lockstep.events import Event, Fault, LockstepError, OutputId, OutputRow, UnavailableError
from lockstep.mapping import MappingError, MessageWriter
from lockstep.mapping.reading import UNMAPPABLE, refusal
from lockstep.schemas import SchemaUser
from lockstep.sinks import Message, MessageRefusedError, Sink
from lockstep.sinks.objects import Gathering
from lockstep.tls import TlsError
from lockstep_services.publisher.contract import (
    RefusedRow,
    SinkBinding,
    SinkSetupError,
    event_of,
)
from lockstep_services.publisher.patience import MessagesAwayError

T = TypeVar("T")

NO_ROWS_FAULT: Final = (BusRefusedError, SinkSetupError, TlsError)
"""What users cause as well, by what they set up: it stops the sink until it is mended."""


class Lane(Protocol):
    """One destination. Errors: UnavailableError."""

    @property
    def schema_user(self) -> SchemaUser | None:
        """Who wants schemas of a registry before the first batch, if anybody does."""

    @property
    def at_once(self) -> int | None:
        """See contract.Sink."""

    @property
    def takes_again(self) -> bool:
        """See contract.Sink."""

    @property
    def gathering(self) -> Gathering | None:
        """See contract.Sink."""

    @property
    def is_ahead(self) -> bool:
        """The destination has rows behind the batch: the cursor stays until they have come."""

    async def open(self) -> None:
        """Before the first batch, and after somebody else may have delivered."""

    async def send(self, rows: Sequence[OutputRow]) -> Sequence[RefusedRow]:
        """Delivers rows in order; gives those that were refused for what they hold."""

    def has(self, row: OutputRow) -> bool:
        """It was delivered here, or refused."""

    def forget(self) -> None:
        """The batch is over."""

    def begin_again(self) -> None:
        """The log is another one: what was known of its rows is of the old one's."""

    async def close(self) -> None:
        """Gives connections back; idempotent."""


class MessageLane:
    """Rows as the messages of a Sink."""

    gathering = None
    is_ahead = False

    def __init__(self, binding: SinkBinding, writer: MessageWriter, sink: Sink) -> None:
        self._binding = binding
        self._writer = writer
        self._sink = sink
        self._done: set[OutputId] = set()

    @property
    def at_once(self) -> int | None:
        return self._sink.in_flight

    @property
    def takes_again(self) -> bool:
        return self._sink.takes_again

    @property
    def schema_user(self) -> SchemaUser | None:
        return self._writer.schema_user

    async def open(self) -> None:
        self.forget()

    async def send(self, rows: Sequence[OutputRow]) -> Sequence[RefusedRow]:
        refused: list[RefusedRow] = []
        groups, before = self._groups(rows), len(self._done)
        while some := list(islice(groups, self._sink.in_flight)):
            outcomes = await side_by_side([self._one(group) for group in some])
            trouble: UnavailableError | None = None
            failed: list[OutputRow] = []
            for group, outcome in zip(some, outcomes, strict=True):
                if isinstance(outcome, UnavailableError):
                    trouble = trouble or outcome
                    failed += group
                    continue
                refused += outcome
                gone = {one.row.id for one in outcome}
                self._done.update(row.id for row in group if row.id not in gone)
            if trouble is not None:
                # What was refused is asked again: it is not buried yet.
                arrived = len(self._done) > before
                raise MessagesAwayError(trouble, failed, others_arrived=arrived) from trouble
        return refused

    def has(self, row: OutputRow) -> bool:
        return row.id in self._done

    def forget(self) -> None:
        self._done.clear()

    def begin_again(self) -> None:
        self.forget()
        self._sink.begin_again()

    async def close(self) -> None:
        await self._sink.close()

    def _groups(self, rows: Sequence[OutputRow]) -> Iterator[list[OutputRow]]:
        """The rows of each message."""
        for chunk in chunks(rows):
            by_event = {id(event): row for row, event in zip(*chunk, strict=True)}
            for events in self._writer.groups(chunk[1]):
                yield [by_event[id(event)] for event in events]

    async def _one(self, rows: Sequence[OutputRow]) -> UnavailableError | list[RefusedRow]:
        """Which rows of a message were refused; or why it has not arrived."""
        if self._sink.writes_files:
            self._writer.begin_file(is_empty=True)
        has_header = self._writer.owes_header
        fit, payload, refused = written(self._binding, self._writer, rows)
        if not fit:
            return refused
        trouble = await self._sent(fit, payload)
        if trouble is not None and has_header:
            self._writer.begin_file(is_empty=True)  # the next one has it
        if isinstance(trouble, UnavailableError):
            return trouble
        return refused if trouble is None else refused + all_refused(fit, trouble)

    async def _sent(self, rows: Sequence[OutputRow], payload: bytes) -> LockstepError | None:
        """None when it has arrived, else why not. What one row made of the sink stops no others."""
        first = event_of(rows[0])
        try:
            message = Message(
                message_id(self._binding, rows),
                payload,
                self._writer.content_type,
                first.timestamp_ms,
                self._writer.named(first),
                lambda text: self._writer.fill(text, first),
            )
            await self._sink.send(message)
        except (MappingError, MessageRefusedError, UnavailableError) as error:
            return error
        except OSError as error:
            return UnavailableError(f"{type(error).__name__}: {error}", where=self._binding.key)
        except UNMAPPABLE as error:
            if isinstance(error, LockstepError) and not _is_of_the_row(error):
                raise
            # A sink has options, and they may be secrets.
            return refusal(error, "the sink", quoted=False)
        return None


def _is_of_the_row(error: LockstepError) -> bool:
    is_of_users = error.fault is Fault.USER and not error.retryable
    return is_of_users and not isinstance(error, NO_ROWS_FAULT)


def written(
    binding: SinkBinding, writer: MessageWriter, rows: Sequence[OutputRow]
) -> tuple[Sequence[OutputRow], bytes, list[RefusedRow]]:
    """Of the rows of a message those that can be written, their payload, and the others. A row that
    no message can hold takes none of its group with it. The same rows give the same each time."""
    owes_header = writer.owes_header
    try:
        return rows, _payload(binding, writer, rows), []
    except MappingError as error:
        together = error
    fit: list[OutputRow] = []
    refused: list[RefusedRow] = []
    for row in rows:
        try:
            _payload(binding, writer, [row])
            fit.append(row)
        except MappingError as error:
            refused.append(RefusedRow(row, error.message))
    writer.begin_file(is_empty=owes_header)  # nothing of it was sent
    if not refused:  # each alone, but not together
        return (), b"", all_refused(rows, together)
    if not fit:
        return (), b"", refused
    left, payload, more = written(binding, writer, fit)
    return left, payload, refused + more


def _payload(binding: SinkBinding, writer: MessageWriter, rows: Sequence[OutputRow]) -> bytes:
    return writer.write([event_of(row) for row in rows], identities(binding, writer, rows))


def all_refused(rows: Sequence[OutputRow], error: LockstepError) -> list[RefusedRow]:
    """For one reason."""
    return [RefusedRow(row, error.message) for row in rows]


def identities(
    binding: SinkBinding, writer: MessageWriter, rows: Sequence[OutputRow]
) -> Sequence[str]:
    """Those of the rows, where the messages have a place for them."""
    return [binding.row_id(row) for row in rows] if writer.bears_identity else ()


def message_id(binding: SinkBinding, rows: Sequence[OutputRow]) -> str:
    """The identity of a message: of its row, or of its first and last."""
    first = binding.row_id(rows[0])
    return first if len(rows) == 1 else f"{first}-{rows[-1].id.ordinal}"


def chunks(rows: Iterable[OutputRow]) -> Iterator[tuple[list[OutputRow], list[Event]]]:
    """Rows that one record of input caused together, and their events."""
    for _, group in groupby(rows, key=lambda row: row.id.position):
        together = list(group)
        yield together, [event_of(row) for row in together]


async def side_by_side(
    works: Sequence[Coroutine[Any, Any, T]],
) -> Sequence[T]:
    """Their results in order; all have ended when one has raised."""
    if len(works) == 1:
        return [await works[0]]
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
    return [task.result() for task in tasks]
