"""The receiver's trade: find the stream, read the events, append them, answer when they are
durable.

Used by the HTTP door and by the bus's ingress alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from lockstep.bus import Bus, DeadLetter
from lockstep.clock import Clock, Randomness
from lockstep.frame.catalogue import AppView, Catalogue
from lockstep.frame.problems import Problem
from lockstep.settings import Settings
from lockstep.telemetry import Metrics
from services.receiver.arrow import decode_arrow
from services.receiver.columns import ColumnReader
from services.receiver.decode import (
    ARROW,
    NDJSON,
    Refusal,
    decode_text,
    media_type,
)
from services.receiver.intake import Receipt
from services.receiver.intakes import Intakes
from services.receiver.mixed import decode_mixed
from services.receiver.runs import AnyRun, BatchRun, Run, own_ids, stamped
from services.receiver.values import EventReader, did_you_mean

MAX_REFUSED_LINES = 1_000


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a request came to. `receipt` is None when every line was refused."""

    events: int
    chunks: int
    receipt: Receipt | None
    refused: Sequence[Refusal]


@dataclass(frozen=True, slots=True)
class Sending:
    """How a sender wants its body understood.

    Content type, default time, its id, and whether the rows of an Arrow batch are chunks each.
    """

    content_type: str
    timestamp_ms: int | None = None
    key: str | None = None
    row_chunks: bool = False


@dataclass(frozen=True, slots=True)
class _Readers:
    """Of one stream: event by event, and large bodies in columns."""

    rows: EventReader
    columns: ColumnReader


class UnknownNameError(Problem):
    """No app or stream of that name: 404."""

    def __init__(self, message: str) -> None:
        super().__init__(HTTPStatus.NOT_FOUND, message)


class Acceptor:
    """Takes bodies for streams. One per process."""

    def __init__(
        self,
        bus: Bus,
        catalogue: Catalogue,
        intakes: Intakes,
        clock: Clock,
        randomness: Randomness,
        settings: Settings,
        metrics: Metrics,
        node: str,
    ) -> None:
        self._bus = bus
        self._catalogue = catalogue
        self._clock = clock
        self._randomness = randomness
        self._settings = settings
        self._metrics = metrics
        self._node = node
        self._intakes = intakes
        self._readers: dict[tuple[str, str, str], _Readers] = {}

    async def view(self, app: str) -> AppView:
        """The deployed app; UnknownNameError with the nearest name."""
        view = await self._catalogue.find(app)
        if view is None:
            names = [one.name for one in self._catalogue.views]
            raise UnknownNameError(f"no app named '{app}' is deployed" + did_you_mean(app, names))
        return view

    async def accept(self, app: str, stream: str, body: bytes, sending: Sending) -> Accepted:
        """Events of one stream. Errors: Problem, MalformedBodyError, UnavailableError."""
        view = await self.view(app)
        readers = self._readers_of(view, stream)
        reader = readers.rows
        kind = media_type(sending.content_type)
        runs: list[AnyRun]
        if kind == ARROW:
            batches = decode_arrow(
                body,
                reader.schema,
                row_chunks=sending.row_chunks,
                timestamp_ms=sending.timestamp_ms,
            )
            runs = [BatchRun(reader.schema, batches)]
            return await self._finish(view, stream, runs, (), sending)
        draft = readers.columns.read(kind, body, sending.timestamp_ms)
        if draft is not None:
            self._check_chunk(int(draft.chunk_lengths[0]))
            runs = [BatchRun(reader.schema, [draft])]
            return await self._finish(view, stream, runs, (), sending)
        decoded = decode_text(kind, body, reader, max_refused=MAX_REFUSED_LINES)
        self._check_chunk(max(map(len, decoded.chunks), default=0))
        run = Run(reader.schema, decoded.chunks, len(body))
        runs = [stamped(run, sending.timestamp_ms)] if decoded.chunks else []
        return await self._finish(view, stream, runs, decoded.refused, sending)

    async def accept_mixed(self, app: str, body: bytes, sending: Sending) -> Accepted:
        """NDJSON lines `{"stream": …, "event": …}`, of several streams in order."""
        view = await self.view(app)
        runs, refused = decode_mixed(
            body, lambda name: self._readers_of(view, name).rows, max_refused=MAX_REFUSED_LINES
        )
        ready = [stamped(run, sending.timestamp_ms) for run in runs]
        return await self._finish(view, "*", ready, refused, sending)

    async def bury(
        self, app: str, stream: str, refused: Sequence[Refusal], content_type: str, key: str
    ) -> None:
        """Dead letters for refused pieces; a repeated key stores them once."""
        for refusal in refused:
            letter = DeadLetter(
                app, stream, refusal.reason, refusal.payload, content_type,
                self._clock.now_ms(), self._node,
            )  # fmt: skip
            await self._bus.dead_letters.append(letter, dedup_id=f"{key}!{refusal.line}")
            self._metrics.count(
                "lockstep_dead_letters_total", app=app, stream=stream, reason="invalid"
            )

    async def _finish(
        self,
        view: AppView,
        stream: str,
        runs: Sequence[AnyRun],
        refused: Sequence[Refusal],
        sending: Sending,
    ) -> Accepted:
        app = view.name
        events = sum(run.events for run in runs)
        receipt = None
        if runs:
            key = sending.key or own_ids(runs)
            started_ms = self._clock.monotonic_ms()
            receipt = await self._intakes.of(view).submit(runs, key)
            took_ms = self._clock.monotonic_ms() - started_ms
            self._metrics.observe("lockstep_receiver_append_ms", took_ms, app=app)
            self._count(app, runs, receipt)
        if refused:
            key = sending.key or self._randomness.uuid_hex()
            await self.bury(app, stream, refused, sending.content_type, key)
            self._metrics.count(
                "lockstep_receiver_events_refused_total", len(refused),
                app=app, stream=stream, reason="invalid",
            )  # fmt: skip
        return Accepted(events, sum(run.chunk_count for run in runs), receipt, refused)

    def _count(self, app: str, runs: Sequence[AnyRun], receipt: Receipt) -> None:
        name = "accepted" if not receipt.duplicate else "duplicates"
        for run in runs:
            if name == "accepted":
                self._metrics.count(
                    "lockstep_receiver_events_accepted_total", run.events,
                    app=app, stream=run.stream,
                )  # fmt: skip
            else:
                self._metrics.count(
                    "lockstep_receiver_duplicates_total", run.events, app=app, stream=run.stream
                )

    def _check_chunk(self, events: int) -> None:
        limit = self._settings.receiver.max_event_batch
        if events > limit:
            raise Problem(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"a chunk of {events} events; {limit} can go together",
                hint=f"send smaller arrays, or {NDJSON} where events need not stay together",
            )

    def _readers_of(self, view: AppView, stream: str) -> _Readers:
        key = (view.name, view.deployment.version, stream)
        readers = self._readers.get(key)
        if readers is None:
            schema = view.streams.get(stream)
            if schema is None:
                raise UnknownNameError(
                    f"app '{view.name}' has no stream '{stream}'"
                    + did_you_mean(stream, list(view.streams))
                )
            rows = EventReader(schema)
            readers = self._readers[key] = _Readers(rows, ColumnReader(schema, rows.event))
        return readers
