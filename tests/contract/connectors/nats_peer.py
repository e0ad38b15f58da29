"""NATS servers that are not the suite's: with streams, or without."""

from __future__ import annotations

from pathlib import Path

from lockstep.embedded.programs import nats_server
from tests.contract.connectors.brokers import Broker, free_port


def nats_broker(directory: Path | None, *more: str) -> Broker:
    """A server of a test's own; with a directory it has JetStream, which outlives its end."""
    port = free_port()
    streams = [] if directory is None else ["-js", "-sd", str(directory)]
    command = [str(nats_server()), "-a", "127.0.0.1", "-p", str(port), *streams, *more]
    return Broker(command, {}, [port])


def url_of(broker: Broker) -> str:
    """Of such a server."""
    return f"nats://127.0.0.1:{broker.ports[0]}"
