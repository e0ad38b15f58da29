"""The bus on NATS with JetStream; the only place that imports nats."""

from lockstep.bus.nats.bus import NatsBus

__all__ = ["NatsBus"]
