"""Takes spans as a collector does, and keeps them."""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Seen:
    """A span. `links`: the trace ids of what it is linked to, `linked` with their span ids; `kind`
    and `status` as OTLP numbers them."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    links: tuple[str, ...]
    attributes: dict[str, Any]
    linked: tuple[tuple[str, str], ...]
    kind: int
    status: int
    begun_ns: int
    ended_ns: int


class Spans:
    """What was received so far; threads may add."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[Seen] = []

    def take(self, body: bytes) -> None:
        """A request of OTLP."""
        message = ExportTraceServiceRequest.FromString(body)
        for resource in message.resource_spans:
            about = {each.key: each.value.string_value for each in resource.resource.attributes}
            for scope in resource.scope_spans:
                self.seen += [_seen(about["service.name"], span) for span in scope.spans]


def _seen(service: str, span: Any) -> Seen:
    attributes = {
        each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes
    }
    return Seen(
        service, span.name, span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(),
        tuple(link.trace_id.hex() for link in span.links), attributes,
        tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        span.kind, span.status.code, span.start_time_unix_nano, span.end_time_unix_nano,
    )  # fmt: skip


@contextlib.contextmanager
def receiving() -> Iterator[Spans]:
    """Listens on the loopback within the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            spans.take(body)
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nobody wants to know."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    spans = Spans(f"http://127.0.0.1:{server.server_address[1]}/v1/traces")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield spans
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
