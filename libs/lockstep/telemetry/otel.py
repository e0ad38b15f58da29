"""The door to OpenTelemetry: spans and where they go. Imported when traces are asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import Token
from importlib.metadata import version
from typing import Final, Self

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import StatusCode

from lockstep.clock import Clock, Randomness, stopwatch_ns
from lockstep.telemetry.logs import get_logger
from lockstep.telemetry.traces import CURRENT, SILENT, Attribute, Span, given_context, ids_of

MAX_LINKS: Final = 32
"""Of a batch with more traced parts, the others' traces end at it."""
EXPORT_TIMEOUT_S: Final = 5
CLOSE_LIMIT_S: Final = 5.0
"""All that is left has so long together to be sent, however many batches it is."""
_SAMPLED: Final = "01"
_KINDS: Final = {
    "receive": trace.SpanKind.SERVER,
    "append": trace.SpanKind.PRODUCER,
    "fold": trace.SpanKind.CONSUMER,
    "publish": trace.SpanKind.PRODUCER,
    "deliver": trace.SpanKind.CONSUMER,
    "present": trace.SpanKind.CONSUMER,
}
"""What a collector is told of each stage; of any other that it is internal."""
_MS_NS: Final = 1_000_000
_S_NS: Final = 1_000_000_000


class FineTime:
    """The clock's time with digits below the millisecond, which a stopwatch adds: most stages take
    less than that. It is always within the millisecond that the clock tells."""

    def __init__(self, clock: Clock, watch_ns: Callable[[], int] = stopwatch_ns) -> None:
        self._clock = clock
        self._watch_ns = watch_ns
        self._begun_ns = clock.now_ms() * _MS_NS - watch_ns()

    def now_ns(self) -> int:
        """Nanoseconds since 1970-01-01 UTC."""
        told_ns = self._clock.now_ms() * _MS_NS
        passed_ns = self._watch_ns()
        within_ns = min(max(self._begun_ns + passed_ns, told_ns), told_ns + _MS_NS - 1)
        self._begun_ns = within_ns - passed_ns
        return within_ns


class _Recorded:
    """A span of OpenTelemetry."""

    def __init__(self, span: trace.Span, time: FineTime) -> None:
        context = span.get_span_context()
        self.carried = f"00-{context.trace_id:032x}-{context.span_id:016x}-{_SAMPLED}"
        self._span = span
        self._time = time
        self._before: Token[str] | None = None

    def __enter__(self) -> Self:
        self._before = CURRENT.set(self.carried)
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._before is not None:
            CURRENT.reset(self._before)
        if isinstance(error, Exception):
            self._span.set_attribute("error.type", type(error).__name__)
            self._span.set_status(StatusCode.ERROR)
        self._span.end(self._time.now_ns())


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
        self._time = FineTime(clock)
        self._randomness = randomness
        about = {
            "service.name": f"lockstep-{service}",
            "service.instance.id": node,
            "service.version": version("lockstep"),
        }
        self._provider = TracerProvider(
            resource=Resource(about), id_generator=_Ids(randomness), shutdown_on_exit=False
        )
        exporter = OTLPSpanExporter(endpoint=url, timeout=EXPORT_TIMEOUT_S)
        self._provider.add_span_processor(
            BatchSpanProcessor(exporter, schedule_delay_millis=1_000, max_queue_size=8_192)
        )
        self._tracer = self._provider.get_tracer("lockstep")
        self._service = service
        self._sending: threading.Thread | None = None
        self._ends_ns = 0

    def root(self, name: str, given: str = "", **attributes: Attribute) -> Span:
        """Of so many sends as `telemetry.trace_ratio` says, and of those that are traced
        already."""
        known = given_context(given)
        if known == "" or (known is None and self._randomness.fraction() >= self._ratio):
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
            kind=_KINDS.get(name, trace.SpanKind.INTERNAL),
            context=parent,
            links=[trace.Link(each) for each in contexts[1:]],
            attributes={f"lockstep.{key}": value for key, value in attributes.items()},
            start_time=self._time.now_ns(),
        )
        return _Recorded(span, self._time)

    def end(self) -> None:
        """On a thread that nobody has to wait for: OpenTelemetry sends batch after batch, each with
        a limit of its own."""
        if self._sending is None:
            self._ends_ns = stopwatch_ns() + int(CLOSE_LIMIT_S * _S_NS)
            self._sending = threading.Thread(
                target=self._provider.shutdown, name="traces-end", daemon=True
            )
            self._sending.start()

    def close(self) -> None:
        """What is not sent by then is lost."""
        self.end()
        sending = self._sending
        if sending is None:
            return
        sending.join(max(0.0, (self._ends_ns - stopwatch_ns()) / _S_NS))
        if sending.is_alive():
            get_logger(part=self._service).warning(
                "the collector of traces did not take the last spans in time; they are lost",
                limit_s=CLOSE_LIMIT_S,
            )  # fmt: skip


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
