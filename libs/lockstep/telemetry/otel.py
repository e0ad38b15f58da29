"""The door to OpenTelemetry: spans and where they go. Imported when traces are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import Token
from typing import Final, Self

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator

from lockstep.clock import Clock, Randomness
from lockstep.telemetry.traces import CARRIED, CURRENT, SILENT, Attribute, Span, ids_of

MAX_LINKS: Final = 32
"""Of a batch with more traced parts, the others' traces end at it."""
EXPORT_TIMEOUT_S: Final = 5
_SAMPLED: Final = "01"


class _Recorded:
    """A span of OpenTelemetry."""

    def __init__(self, span: trace.Span, clock: Clock) -> None:
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
        self._ratio = ratio
        self._clock = clock
        self._randomness = randomness
        about = {"service.name": f"lockstep-{service}", "service.instance.id": node}
        self._provider = TracerProvider(
            resource=Resource(about), id_generator=_Ids(randomness), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=url, timeout=EXPORT_TIMEOUT_S)
        self._provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=1_000, max_queue_size=8_192)
        )
        self._tracer = self._provider.get_tracer("lockstep")

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """Of so many sends as `telemetry.trace_ratio` says, and of those that are traced
        already."""
        known = given if given.endswith(_SAMPLED) and CARRIED.match(given) else ""
        if not known and (given or self._randomness.fraction() >= self._ratio):
            return SILENT
        return self._begun(name, [known] if known else [], attributes)

    def follow(self, name: str, carried: Sequence[str], **attributes: Attribute) -> Span:
        """A child of the first, with links to the others."""
        return self._begun(name, carried, attributes) if carried else SILENT

    def _begun(
        self, name: str, carried: Sequence[str], attributes: Mapping[str, Attribute]
    ) -> Span:
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


def _context(carried: str) -> trace.SpanContext | None:
    ids = ids_of(carried)
    if ids is None:
        return None
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    return trace.SpanContext(int(ids[0], 16), int(ids[1], 16), is_remote=True, trace_flags=flags)


class _Ids(IdGenerator):
    """From the process's own randomness."""

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness

    def generate_span_id(self) -> int:
        return int(self._randomness.uuid_hex()[:16], 16) or 1

    def generate_trace_id(self) -> int:
        return int(self._randomness.uuid_hex(), 16) or 1


def _nanoseconds(clock: Clock) -> int:
    return clock.now_ms() * 1_000_000
