"""Where rows go that a sink does not take: `on.error` of the sink (semantics 18).

All but `LOG` are durable before the sink's cursor moves over the rows, and each row is there once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lockstep.bus import Bus, RecordTooLargeError
from lockstep.clock import Clock
from lockstep.events import (
    Attribute,
    AttributeType,
    EventsRecord,
    InputEvent,
    InvalidEventError,
    StreamSchema,
)
from lockstep.events.codec import encode_record, send_id_of
from lockstep.telemetry import Logger
from lockstep_services.publisher.contract import OnError, RefusedRow, SinkBinding
from lockstep_services.publisher.letters import letter_of

SHOWN_ROWS: Final = 20
"""So many rows of a batch are shown in the log."""
MAX_REASON: Final = 1_000
"""Characters of a reason, which may quote what a row holds."""


class Aside:
    """Of one sink. `put` may be repeated. Errors: UnavailableError."""

    def __init__(
        self, binding: SinkBinding, bus: Bus, clock: Clock, log: Logger, node: str
    ) -> None:
        self._binding = binding
        self._bus = bus
        self._clock = clock
        self._log = log
        self._node = node

    async def put(self, refused: Sequence[RefusedRow]) -> None:
        """Takes them over."""
        if not refused:
            return
        refused = [replace(one, reason=one.reason[:MAX_REASON]) for one in refused]
        match self._binding.on_error:
            case OnError.LOG:
                self._tell(refused)
            case OnError.STREAM if all(one.names is None for one in refused):
                await self._bury(await self._send_to_fault_stream(refused))
            case _:  # rows of an earlier definition, too, which the fault stream cannot hold
                await self._bury(refused)

    def _say(self, what: str, refused: Sequence[RefusedRow]) -> None:
        if refused:
            self._log.error(what, rows=len(refused), reason=refused[0].reason)

    def _tell(self, refused: Sequence[RefusedRow]) -> None:
        for one in refused[:SHOWN_ROWS]:
            self._log.error(
                "row dropped", id=self._binding.row_id(one.row), row=str(one.row.data),
                reason=one.reason,
            )  # fmt: skip
        self._say("more rows dropped", refused[SHOWN_ROWS:])

    async def _bury(self, refused: Sequence[RefusedRow]) -> None:
        for one in refused:
            letter = letter_of(self._binding, one, clock_ms=self._clock.now_ms(), node=self._node)
            await self._bus.dead_letters.append(letter, dedup_id=self._id_of(one))
        self._say("rows put aside", refused)

    async def _send_to_fault_stream(self, refused: Sequence[RefusedRow]) -> Sequence[RefusedRow]:
        """As inputs of the app: every replica folds them at the same position. Their ids are
        remembered by the processors, too, for when the log has forgotten them. Gives those that no
        record of the log can hold together with their reason."""
        sent: list[RefusedRow] = []
        left: list[RefusedRow] = []
        log = await self._bus.input_log(self._binding.log, make=False)
        schema = fault_schema(self._binding.schema)
        for one in refused:
            told = f"sink {self._binding.name}: {one.reason}"
            event = InputEvent(one.row.timestamp_ms, (*one.row.data, told))
            record = EventsRecord(
                schema.name, self._clock.now_ms(), ((event,),), has_timestamps=True
            )
            dedup_id = self._id_of(one)
            try:
                payload = encode_record(record, {schema.name: schema}, send_id=send_id_of(dedup_id))
                await log.append_encoded(payload, dedup_id=dedup_id)
            except (InvalidEventError, RecordTooLargeError):
                left.append(one)
            else:
                sent.append(one)
        self._say("rows sent to the fault stream", sent)
        return left

    def _id_of(self, one: RefusedRow) -> str:
        return f"{self._binding.row_id(one.row)}@{self._binding.name}"


def fault_schema(schema: StreamSchema) -> StreamSchema:
    """That of `!S`."""
    error = Attribute("_error", AttributeType.OBJECT)
    return StreamSchema(f"!{schema.name}", (*schema.attributes, error))
