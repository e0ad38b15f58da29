"""What the past cannot be asked."""

from __future__ import annotations

from lockstep.events import Fault, LockstepError


class HistoryError(LockstepError):
    """The archive does not have what was asked for."""

    fault = Fault.USER
