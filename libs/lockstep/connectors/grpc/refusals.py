"""What a call is refused with, by the names of gRPC's status codes."""

from __future__ import annotations

from lockstep.events import Fault, LockstepError


class CallRefusedError(LockstepError):
    """The call ends with this status and this text."""

    fault = Fault.USER

    def __init__(self, status: str, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
