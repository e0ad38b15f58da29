"""The root of every error Lockstep raises: whose fault it is, whether to try again, and a hint."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """Who can mend it."""

    USER = "user"
    EXTERNAL = "external"
    INTERNAL = "internal"


class LockstepError(Exception):
    """Base of all errors of the suite; `where` names stream, field, position or line:column."""

    fault: Fault = Fault.INTERNAL
    retryable: bool = False

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = self.message if self.where is None else f"{self.where}: {self.message}"
        return text if self.hint is None else f"{text} (hint: {self.hint})"


class InvalidEventError(LockstepError):
    """An event that does not fit its stream: the sender's fault, never retried."""

    fault = Fault.USER

    def __init__(
        self,
        message: str,
        *,
        field: str | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.field = field


class UnavailableError(LockstepError):
    """A server that cannot be reached right now: try again."""

    fault = Fault.EXTERNAL
    retryable = True


class FencedError(LockstepError):
    """An append or write with a stale epoch was refused: the holder must step down."""

    fault = Fault.EXTERNAL


def describe(error: BaseException) -> str:
    """One line for people: the kind of error and its message."""
    message = str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
