"""What can go wrong with a carrier beyond its being away."""

from __future__ import annotations

from lockstep.events import Fault, LockstepError, UnavailableError


class BusRefusedError(LockstepError):
    """The server does not let us in."""

    fault = Fault.USER


class BusRightsError(UnavailableError):
    """The server answers, and does not let us do this: who runs it can mend that, no sender of
    events can. Who runs goes on as if it were away; who starts ends."""

    retryable = False


class TailLostError(LockstepError):
    """An output log whose last record is gone: what was published cannot be known any more."""

    fault = Fault.EXTERNAL


class RecordTooLargeError(LockstepError):
    """One record exceeds what the carrier takes: send less at once."""

    fault = Fault.USER

    def __init__(self, size_bytes: int, limit_bytes: int, *, where: str | None = None) -> None:
        super().__init__(
            f"a record of {size_bytes} bytes; the bus takes {limit_bytes}",
            where=where,
            hint="send fewer or smaller events at once, or raise the limit: bus.max_message_bytes "
            "here and max_payload of the bus server",
        )
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class NoRoomError(UnavailableError):
    """The bus server as a whole has no room left; trying again at once would not help."""


class LogGoneError(UnavailableError):
    """There is no such log now: its app was purged, and may be deployed anew with another one."""

    def __init__(self, log: str) -> None:
        super().__init__(
            "there is no such log",
            where=log,
            hint="after a purge the right one is known in a moment; if this goes on, the bus has "
            "lost the log: `lockstep undeploy --purge`, then deploy the app again",
        )


class LogFullError(UnavailableError):
    """A log has reached its limit and refuses more instead of forgetting; trim it first."""

    def __init__(self, log: str, limit_bytes: int) -> None:
        super().__init__(
            f"the log is full ({limit_bytes} bytes)",
            where=log,
            hint="let its readers catch up so that it can be trimmed, or raise the limit",
        )
        self.limit_bytes = limit_bytes


class ErrorStoreFullError(LogFullError):
    """The dead letters of all apps together have reached their limit. Whoever has one more may have
    none there yet."""

    def __init__(self, letter: str, limit_bytes: int) -> None:
        UnavailableError.__init__(
            self,
            f"the error store, which all apps share, is full ({limit_bytes} bytes)",
            where=letter,
            hint="any app may have filled it: `lockstep errors <app>` lists what it has there, "
            "`--replay-all` sends that again and `--purge-all` forgets it; or raise "
            "bus.dead_letters_max_bytes",
        )
        self.limit_bytes = limit_bytes
