"""The leadership of one replica of (app, group, partition), pure: see `machine.advance`.

Start with `START`; carry out the instructions; report every outcome as a fact.
"""

from lockstep.leader.protocol.machine import TRANSITIONS, advance
from lockstep.leader.protocol.permit import Permit
from lockstep.leader.protocol.states import (
    START,
    Candidate,
    Claiming,
    Leading,
    Rules,
    Standby,
    State,
    Stopped,
    Yielding,
)

__all__ = [
    "START",
    "TRANSITIONS",
    "Candidate",
    "Claiming",
    "Leading",
    "Permit",
    "Rules",
    "Standby",
    "State",
    "Stopped",
    "Yielding",
    "advance",
]
