"""What can go wrong with a supervised server, and whose fault it is."""

from __future__ import annotations

from lockstep.events.errors import Fault, LockstepError


class NoServerError(LockstepError):
    """No usable program for a wanted server on PATH or among the installed wheels."""

    fault = Fault.USER


class ServerStartError(LockstepError):
    """A server ended or did not answer in time; the message ends with what it said last."""

    fault = Fault.EXTERNAL
    retryable = True


class DirectoryInUseError(LockstepError):
    """Another supervisor owns the data folder."""

    fault = Fault.USER
