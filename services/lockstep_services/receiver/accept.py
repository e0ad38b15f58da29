"""The receiver's trade: find the stream, read the events, append them, answer when they are
durable.

Used by the HTTP door and by the bus's ingress alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final

from lockstep.bus import Bus, DeadLetter
from lockstep.clock import Clock, Randomness
from lockstep.control import AppView, Catalogue, FlowTold
from lockstep.frame.problems import Problem
from lockstep.schemas import SchemaRefusedError
from lockstep.settings import Settings
from lockstep.telemetry import NO_TRACES, Metrics, RecentBy, Traces
from lockstep_services.receiver.arrow import decode_arrow
from lockstep_services.receiver.arrow_sizes import Bounds
from lockstep_services.receiver.columns import ColumnReader
from lockstep_services.receiver.decode import (
    ARROW,
    NDJSON,
    MalformedBodyError,
    Refusal,
    UnknownFormatError,
    check_chunk,
    decode_text,
    media_type,
)
from lockstep_services.receiver.health import SourceHealth
from lockstep_services.receiver.intakes import Intakes
from lockstep_services.receiver.lookups import Lookups
from lockstep_services.receiver.mapped import MessageReader
from lockstep_services.receiver.mixed import decode_mixed
from lockstep_services.receiver.runs import AnyRun, BatchRun, Run, own_ids, stamped
from lockstep_services.receiver.schemas import SourceSchemas
from lockstep_services.receiver.sources import Source, SourceBook, source_number, with_source
from lockstep_services.receiver.submissions import Receipt
from lockstep_services.receiver.values import EventReader, did_you_mean

MAX_REFUSED_LINES = 1_000
MIXED: Final = "*"
"""In place of the stream, where the lines say which they are for."""


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
    `source`: the stream's source in whose form it is, None for the suite's own; `properties`: what
    the transport says about it (`trp:name`). `in_order`: it is one of many that have an order.
    `trace`: W3C's traceparent, where the sender traces it.
    """

    content_type: str
    timestamp_ms: int | None = None
    key: str | None = None
    row_chunks: bool = False
    source: int | None = None
    properties: Mapping[str, Any] = field(default_factory=dict)
    in_order: bool = False
    trace: str = ""

    @property
    def has_own_key(self) -> bool:
        """A request's, which its sender has made up. Messages have the id of their transport."""
        return self.key is not None and not self.in_order


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
        lookups: Lookups,
        clock: Clock,
        randomness: Randomness,
        settings: Settings,
        metrics: Metrics,
        node: str,
        traces: Traces = NO_TRACES,
        *,
        schemas: SourceSchemas,
    ) -> None:
        self._traces = traces
        self._schemas = schemas
        self._bus = bus
        self._catalogue = catalogue
        self._clock = clock
        self._randomness = randomness
        self._settings = settings
        self._metrics = metrics
        self._node = node
        self._intakes = intakes
        self._lookups = lookups
        self._readers: dict[str, tuple[str, dict[str, _Readers]]] = {}
        self._taken: dict[str, RecentBy] = {}
        self.sources = SourceBook(catalogue)
        self.health = SourceHealth(
            catalogue, self.sources, clock, metrics,
            retry_after_ms=settings.receiver.retry_after_ms,
        )  # fmt: skip

    async def view(self, app: str) -> AppView:
        """The deployed app; UnknownNameError with the nearest name."""
        view = await self._catalogue.find(app)
        if view is None:
            names = [one.name for one in self._catalogue.views]
            raise UnknownNameError(f"no app named '{app}' is deployed" + did_you_mean(app, names))
        return view

    def keep(self, apps: Collection[str]) -> None:
        """Forgets all other apps: they are not deployed any more."""
        self.sources.keep(apps)
        self._readers = {app: one for app, one in self._readers.items() if app in apps}
        self._taken = {app: one for app, one in self._taken.items() if app in apps}

    async def flow(self, app: str) -> FlowTold:
        """How much of each stream this receiver has made durable lately."""
        taken = self._taken.get(app)
        return FlowTold(taken={} if taken is None else taken.read(self._clock.monotonic_ms()))

    async def accept(self, app: str, stream: str, body: bytes, sending: Sending) -> Accepted:
        """Events of one stream. Errors: Problem, MalformedBodyError, UnavailableError."""
        view = await self.view(app)
        try:
            return await self._accept(view, stream, body, sending)
        except MalformedBodyError:
            _count_whole(self._metrics, app, stream, body, sending.content_type)
            raise

    async def _accept(self, view: AppView, stream: str, body: bytes, sending: Sending) -> Accepted:
        number = sending.source
        if number is None:
            number = source_number(sending.content_type)
        if number is None:
            return await self._accept_own(view, stream, body, sending, guesses=True)
        source = self.sources.numbered(view, stream, number)
        if source is None:
            raise UnknownNameError(f"stream '{stream}' of app '{view.name}' has no source {number}")
        if source.reader is None:
            accepted = await self._accept_own(view, stream, body, sending)
        else:
            accepted = await self._accept_mapped(view, source, source.reader, body, sending)
        if accepted.receipt is not None and not accepted.receipt.duplicate:
            self.health.brought(source, accepted.events)
        return accepted

    async def _accept_own(
        self, view: AppView, stream: str, body: bytes, sending: Sending, *, guesses: bool = False
    ) -> Accepted:
        """In the suite's own form; where it may be another one, in that of the stream's http
        source."""
        readers = self._readers_of(view, stream)
        try:
            runs, refused = self._read(readers, body, sending)
        except (MalformedBodyError, UnknownFormatError) as error:
            # The stream's own http source may have said that it comes in another form.
            found = self.sources.http(view, stream) if guesses else None
            if found is None or found.reader is None:
                raise
            try:
                return await self._accept_mapped(view, found, found.reader, body, sending)
            except MalformedBodyError as second:
                second.hint = f"nor is it in the suite's own form: {error.message}"
                raise
        return await self._finish(view, stream, runs, refused, sending)

    async def bring_schemas(self, app: str, stream: str, number: int, body: bytes) -> None:
        """What a message of a source wants of a registry, so that it does not wait later on.
        Errors: UnavailableError."""
        view = self._catalogue.get(app)
        source = None if view is None else self.sources.numbered(view, stream, number)
        if source is not None and source.reader is not None:
            with suppress(SchemaRefusedError):  # told when the message is read
                await self._schemas.bring(app, source.reader.registered, body)

    async def _accept_mapped(
        self, view: AppView, source: Source, reader: MessageReader, body: bytes, sending: Sending
    ) -> Accepted:
        """A message in the form of a source; what is refused of it says so, to be sent again."""
        try:
            await self._schemas.bring(view.name, reader.registered, body)
        except SchemaRefusedError as error:
            raise MalformedBodyError(error.message, hint=error.hint) from error
        kept = replace(sending, content_type=with_source(sending.content_type, source.number))
        schema = view.streams[source.stream]
        draft = reader.draft(body, sending.properties, sending.timestamp_ms)
        if draft is not None:
            check_chunk(int(draft.chunk_lengths[0]), self._settings.receiver.max_event_batch)
            return await self._finish(view, source.stream, [BatchRun(schema, [draft])], (), kept)
        decoded = reader.read(body, sending.properties)
        check_chunk(
            max(map(len, decoded.chunks), default=0), self._settings.receiver.max_event_batch
        )
        run = Run(schema, decoded.chunks, len(body))
        runs = [stamped(run, sending.timestamp_ms)] if decoded.chunks else []
        return await self._finish(view, source.stream, runs, decoded.refused, kept)

    def _read(
        self, readers: _Readers, body: bytes, sending: Sending
    ) -> tuple[Sequence[AnyRun], Sequence[Refusal]]:
        """A body in the suite's own form."""
        reader = readers.rows
        kind = media_type(sending.content_type)
        if kind == ARROW:
            limits = self._settings.receiver
            batches = decode_arrow(
                body,
                reader.schema,
                Bounds(limits.max_event_batch, limits.max_body_bytes),
                row_chunks=sending.row_chunks,
                timestamp_ms=sending.timestamp_ms,
            )
            return [BatchRun(reader.schema, batches)], ()
        draft = readers.columns.read(kind, body, sending.timestamp_ms)
        if draft is not None:
            check_chunk(int(draft.chunk_lengths[0]), self._settings.receiver.max_event_batch)
            return [BatchRun(reader.schema, [draft])], ()
        decoded = decode_text(kind, body, reader, max_refused=MAX_REFUSED_LINES)
        check_chunk(
            max(map(len, decoded.chunks), default=0), self._settings.receiver.max_event_batch
        )
        run = Run(reader.schema, decoded.chunks, len(body))
        return [stamped(run, sending.timestamp_ms)] if decoded.chunks else [], decoded.refused

    async def accept_mixed(self, app: str, body: bytes, sending: Sending) -> Accepted:
        """NDJSON lines `{"stream": …, "event": …}`, of several streams in order."""
        view = await self.view(app)
        try:
            runs, refused = decode_mixed(
                body, lambda name: self._readers_of(view, name).rows, max_refused=MAX_REFUSED_LINES
            )
        except MalformedBodyError:
            _count_whole(self._metrics, app, MIXED, body, NDJSON)
            raise
        ready = [stamped(run, sending.timestamp_ms) for run in runs]
        return await self._finish(view, MIXED, ready, refused, sending)

    async def bury(
        self, app: str, stream: str, refused: Sequence[Refusal], content_type: str, key: str | None
    ) -> int:
        """Dead letters for refused pieces; a repeated key stores them once. How many are new."""
        fresh = 0
        key = key or self._randomness.uuid_hex()
        for refusal in refused:
            letter = DeadLetter(
                app, stream, refusal.reason, refusal.payload, content_type,
                self._clock.now_ms(), self._node,
            )  # fmt: skip
            dedup_id = f"{key}!{refusal.line}"
            stored = await self._bus.dead_letters.append(letter, dedup_id=dedup_id)
            if stored.duplicate:
                continue
            fresh += 1
            self._metrics.count(
                "lockstep_dead_letters_total", app=app, stream=stream, reason="invalid"
            )
        return fresh

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
            with self._traces.root("receive", sending.trace, app=app, stream=stream) as span:
                of = stream if sending.has_own_key and stream != MIXED else ""
                receipt = await self._submitted(view, runs, key, of, sending, span.carried)
            took_ms = self._clock.monotonic_ms() - started_ms
            self._metrics.observe("lockstep_receiver_append_ms", took_ms, app=app)
            self._count(app, runs, receipt)
        if refused:
            # A key of a request is one of its stream; letters of all apps have one log.
            key = f"{app}/{stream}\n{sending.key}" if sending.has_own_key else sending.key
            fresh = await self.bury(app, stream, refused, sending.content_type, key)
            if fresh:  # none is, where somebody sends the same again
                self._metrics.count(
                    "lockstep_receiver_events_refused_total", fresh,
                    app=app, stream=stream, reason="invalid",
                )  # fmt: skip
        return Accepted(events, sum(run.chunk_count for run in runs), receipt, refused)

    async def _submitted(
        self,
        view: AppView,
        runs: Sequence[AnyRun],
        key: str | None,
        key_of: str,
        sending: Sending,
        trace: str,
    ) -> Receipt:
        """Durable, with what a database was asked for them; what has an order keeps it."""
        order = sending.in_order

        def submit(whole: Sequence[AnyRun]) -> asyncio.Future[Receipt]:
            intake = self._intakes.of(view)
            return intake.submit(whole, key, key_of=key_of, in_order=order, trace=trace)

        if not view.checked.asked:
            return await submit(runs)
        async with self._lookups.turn(view.name) if order else nullcontext():
            done = submit(await self._lookups.answered(view, runs))
        return await done

    def _count(self, app: str, runs: Sequence[AnyRun], receipt: Receipt) -> None:
        name = "accepted" if not receipt.duplicate else "duplicates"
        now_ms = self._clock.monotonic_ms()
        if (taken := self._taken.get(app)) is None:
            taken = self._taken[app] = RecentBy(now_ms)
        for run in runs:
            if name == "accepted":
                self._metrics.count(
                    "lockstep_receiver_events_accepted_total", run.events,
                    app=app, stream=run.stream,
                )  # fmt: skip
                taken.passed(now_ms, run.stream, run.events)
            else:
                self._metrics.count(
                    "lockstep_receiver_duplicates_total", run.events, app=app, stream=run.stream
                )

    def _readers_of(self, view: AppView, stream: str) -> _Readers:
        version, known = self._readers.get(view.name, ("", {}))
        if version != view.deployment.version:
            known = {}
            self._readers[view.name] = (view.deployment.version, known)
        readers = known.get(stream)
        if readers is None:
            schema = view.streams.get(stream)
            if schema is None:
                raise UnknownNameError(
                    f"app '{view.name}' has no stream '{stream}'"
                    + did_you_mean(stream, list(view.streams))
                )
            readers = known[stream] = _Readers(EventReader(schema), ColumnReader(schema))
        return readers


def _count_whole(metrics: Metrics, app: str, stream: str, body: bytes, content_type: str) -> None:
    """What is refused with its whole send. Nobody knows how many events that held: one at least,
    and one for each line where lines are events."""
    ends = 0
    with suppress(UnknownFormatError):  # a source's mapper reads types that no stream's door knows
        ends = body.rstrip().count(b"\n") if media_type(content_type) == NDJSON else 0
    metrics.count(
        "lockstep_receiver_events_refused_total", ends + 1, app=app, stream=stream, reason="whole"
    )
