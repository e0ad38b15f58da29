"""The bus on NATS with JetStream; the only place that imports nats."""

from lockstep.bus.nats.bus import NatsBus
from lockstep.bus.nats.errors import TailLostError

__all__ = ["NatsBus", "TailLostError"]
