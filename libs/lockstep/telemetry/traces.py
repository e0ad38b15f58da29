"""Traces from the door to the sinks: which sends are traced, and where their spans go.

A trace begins at the door. What follows bears its context in the header of a record, as W3C's
traceparent has it. A slice folds many records: its span is a child of the first that is traced,
and has links to the others. The door to OpenTelemetry, which is imported when traces are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Final, Protocol, Self

from lockstep.clock import Clock, Randomness

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.id_generator import IdGenerator
    from opentelemetry.trace import Span as OtelSpan
    from opentelemetry.trace import SpanContext

MAX_LINKS: Final = 32
"""Of a batch with more traced parts, the others' traces end at it."""
EXPORT_TIMEOUT_S: Final = 5
_SAMPLED: Final = "01"
_CARRIED: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}\Z")
Attribute = str | int | float | bool

CURRENT: ContextVar[str] = ContextVar("lockstep_trace", default="")
"""The context of the work under way: log lines bear its ids."""


class Span(Protocol):
    """Some work within a trace; ends with its block. `carried`: for what follows from it."""

    @property
    def carried(self) -> str:
        """W3C's traceparent; empty when nobody traces this."""

    def __enter__(self) -> Self:
        """Log lines bear the trace's ids from now on."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """The work has ended, well or with an error."""


class Traces(Protocol):
    """Of one service."""

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """What begins at the door. `given`: the traceparent of who sent it, which decides."""

    def follow(self, name: str, carried: Sequence[str], **attributes: Attribute) -> Span:
        """What follows from traced work; nothing is recorded when none of it is traced."""

    def close(self) -> None:
        """Sends what is left; blocking, at most EXPORT_TIMEOUT_S."""


class _Carrying:
    """Records nothing, and hands a context on."""

    def __init__(self, carried: str = "") -> None:
        self.carried = carried

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Nothing has begun."""


_SILENT: Final = _Carrying()


class NoTraces:
    """Where none are asked for."""

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """Nothing."""
        return _SILENT

    def follow(self, name: str, carried: Sequence[str], **attributes: Attribute) -> Span:
        """Whoever is behind it may trace."""
        return _Carrying(carried[0]) if carried else _SILENT

    def close(self) -> None:
        """Nothing is left."""


NO_TRACES: Final = NoTraces()


class _Recorded:
    """A span of OpenTelemetry."""

    def __init__(self, span: OtelSpan, clock: Clock) -> None:
        context = span.get_span_context()
        self.carried = f"00-{context.trace_id:032x}-{context.span_id:016x}-{_SAMPLED}"
        self._span = span
        self._clock = clock
        self._before: Token[str] | None = None

    def __enter__(self) -> Self:
        self._before = CURRENT.set(self.carried)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._before is not None:
            CURRENT.reset(self._before)
        if isinstance(error, Exception):
            self._span.set_attribute("error.type", type(error).__name__)
        self._span.end(_nanoseconds(self._clock))


class OtelTraces:
    """Spans go to a collector, in batches, on a thread of OpenTelemetry's."""

    def __init__(
        self,
        *,
        ratio: float,
        url: str,
        service: str,
        node: str,
        clock: Clock,
        randomness: Randomness,
    ) -> None:
        # Whoever does not trace does without its modules.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        self._ratio = ratio
        self._clock = clock
        self._randomness = randomness
        about = {"service.name": f"lockstep-{service}", "service.instance.id": node}
        self._provider = TracerProvider(
            resource=Resource(about), id_generator=_ids(randomness), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=url, timeout=EXPORT_TIMEOUT_S)
        self._provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=1_000, max_queue_size=8_192)
        )
        self._tracer = self._provider.get_tracer("lockstep")

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """Of so many sends as `telemetry.trace_ratio` says, and of those that are traced
        already."""
        known = given if given.endswith(_SAMPLED) and _CARRIED.match(given) else ""
        if not known and (given or self._randomness.fraction() >= self._ratio):
            return _SILENT
        return self._begun(name, [known] if known else [], attributes)

    def follow(self, name: str, carried: Sequence[str], **attributes: Attribute) -> Span:
        """A child of the first, with links to the others."""
        return self._begun(name, carried, attributes) if carried else _SILENT

    def _begun(
        self, name: str, carried: Sequence[str], attributes: Mapping[str, Attribute]
    ) -> Span:
        from opentelemetry import trace

        contexts = [each for each in map(_context, carried[:MAX_LINKS]) if each is not None]
        parent = None
        if contexts:
            parent = trace.set_span_in_context(trace.NonRecordingSpan(contexts[0]))
        span = self._tracer.start_span(
            name,
            context=parent,
            links=[trace.Link(each) for each in contexts[1:]],
            attributes={f"lockstep.{key}": value for key, value in attributes.items()},
            start_time=_nanoseconds(self._clock),
        )
        return _Recorded(span, self._clock)

    def close(self) -> None:
        """Sends what is left."""
        self._provider.force_flush(EXPORT_TIMEOUT_S * 1_000)
        self._provider.shutdown()


def open_traces(
    *, ratio: float, url: str, service: str, node: str, clock: Clock, randomness: Randomness
) -> Traces:
    """As the settings ask; `ratio` 0: none are recorded."""
    if ratio <= 0:
        return NO_TRACES
    return OtelTraces(
        ratio=ratio, url=url, service=service, node=node, clock=clock, randomness=randomness
    )


def ids_of(carried: str) -> tuple[str, str] | None:
    """(trace id, span id) of a traceparent; None when it is none."""
    found = _CARRIED.match(carried)
    return None if found is None else (found[1], found[2])


def _context(carried: str) -> SpanContext | None:
    from opentelemetry.trace import SpanContext, TraceFlags

    ids = ids_of(carried)
    if ids is None:
        return None
    flags = TraceFlags(TraceFlags.SAMPLED)
    return SpanContext(int(ids[0], 16), int(ids[1], 16), is_remote=True, trace_flags=flags)


def _ids(randomness: Randomness) -> IdGenerator:
    from opentelemetry.sdk.trace.id_generator import IdGenerator as Generator

    class Ids(Generator):
        """From the process's own randomness."""

        def generate_span_id(self) -> int:
            return int(randomness.uuid_hex()[:16], 16) or 1

        def generate_trace_id(self) -> int:
            return int(randomness.uuid_hex(), 16) or 1

    return Ids()


def _nanoseconds(clock: Clock) -> int:
    return clock.now_ms() * 1_000_000
