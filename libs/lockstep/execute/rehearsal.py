"""A rehearsal: a few made-up events through a copy of an app, so that what is loaded, compiled or
imported at first use is there before the first real event. The copy is thrown away.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from lockstep.columns.column import Unfit
from lockstep.events import (
    AttributeType,
    EventsRecord,
    InputEvent,
    LockstepError,
    StreamSchema,
    TickRecord,
    describe,
)
from lockstep.events.codec import EncodedEntry, encode_record
from lockstep.execute.local import LocalExecutor, open_local
from lockstep.execute.undoing import Poisoned
from lockstep.plan import AppPlan
from lockstep.siddhiql.catalogue.installed import MISTAKES
from lockstep.telemetry import get_logger

_log = get_logger(part="rehearsal")

START_MS: Final = 1_600_000_000_000
TICKS_AFTER_MS: Final = (1_000, 61_000)
"""Long enough for windows of a second and a minute to close."""

EVENTS: Final = 4
_VALUES: Final[dict[AttributeType, Any]] = {
    AttributeType.STRING: "a",
    AttributeType.INT: 1,
    AttributeType.LONG: 1,
    AttributeType.FLOAT: 1.0,
    AttributeType.DOUBLE: 1.0,
    AttributeType.BOOL: True,
    AttributeType.OBJECT: None,
}


def rehearse(plan: AppPlan, *, columnar: bool = True) -> None:
    """Folds made-up events of every input stream, and time passing. What the app makes of them, and
    whether it takes them at all, does not matter."""
    executor = open_local(plan, columnar=columnar)
    try:
        for number, payload in enumerate(_payloads([plan.schemas[name] for name in plan.inputs])):
            _fold(executor, EncodedEntry(number + 1, payload))
    except MISTAKES as error:
        # Of code that nobody guards. Real events will be told, and may not bring it.
        _log.exception("a rehearsal ends early", app=plan.name, why=describe(error))
    finally:
        executor.close()


def _fold(executor: LocalExecutor, entry: EncodedEntry) -> None:
    # The app may not like these events, or they may go over a limit; real ones will be told.
    with suppress(LockstepError, Unfit, Poisoned):
        len(executor.run_encoded([entry]).rows)


def _payloads(schemas: list[StreamSchema]) -> Iterator[bytes]:
    yield from (_events(schema, START_MS) for schema in schemas)
    for after_ms in TICKS_AFTER_MS:
        yield encode_record(TickRecord(START_MS + after_ms))
        yield from (_events(schema, START_MS + after_ms + 1) for schema in schemas)


def _events(schema: StreamSchema, at_ms: int) -> bytes:
    data = tuple(_VALUES[kind] for kind in schema.types)
    # Each with a time of its own, as those of a record mostly have.
    chunks = tuple((InputEvent(at_ms + n, data),) for n in range(EVENTS))
    record = EventsRecord(schema.name, at_ms, chunks, True)
    return encode_record(record, {schema.name: schema})
