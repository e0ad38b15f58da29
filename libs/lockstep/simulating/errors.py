"""What is wrong with a set-up, a rule or a value."""

from __future__ import annotations

from lockstep.events import Fault, LockstepError


class SimulationError(LockstepError):
    """Something that a person wrote cannot be: it says where and how to write it."""

    fault = Fault.USER
