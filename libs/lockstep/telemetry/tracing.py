"""Traces as the settings ask for them."""

from __future__ import annotations

from lockstep.clock import Clock, Randomness
from lockstep.telemetry.traces import NO_TRACES, Traces


def open_traces(
    *, ratio: float, url: str, service: str, node: str, clock: Clock, randomness: Randomness
) -> Traces:
    """As the settings ask; `ratio` 0: none are recorded."""
    if ratio <= 0:
        return NO_TRACES
    # Whoever does not trace does without its modules.
    from lockstep.telemetry.otel import OtelTraces

    return OtelTraces(
        ratio=ratio, url=url, service=service, node=node, clock=clock, randomness=randomness
    )
