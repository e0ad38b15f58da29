"""What can become of events other than being accepted."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.events import Fault, LockstepError, UnavailableError


class EventRefusedError(LockstepError):
    """The event does not fit its stream: mend it, do not repeat it."""

    fault = Fault.USER


class HeaderError(LockstepError):
    """A token or a key that no HTTP header can carry: the caller's mistake."""

    fault = Fault.USER


def checked(text: str | None, what: str) -> str | None:
    """The text; HeaderError, without its value, for one with a line end in it."""
    if text is not None and any(ord(one) < 0x20 or ord(one) == 0x7F for one in text):
        raise HeaderError(f"the {what} has a line end or a control character in it")
    return text


class NotAcceptedError(LockstepError):
    """A receiver refuses the whole request (`status`: its HTTP status): no such app, no token. Or
    the request cannot be sent at all (`status` is 0)."""

    fault = Fault.USER

    def __init__(self, message: str, *, where: str, hint: str | None, status: int) -> None:
        super().__init__(message, where=where, hint=hint)
        self.status = status


class PushedBackError(UnavailableError):
    """A receiver asks to come again, at the earliest in `retry_after_s` seconds."""

    def __init__(self, message: str, *, where: str, retry_after_s: float | None) -> None:
        super().__init__(message, where=where)
        self.retry_after_s = retry_after_s


class UndeliveredError(LockstepError):
    """Events handed over with `put` were not accepted: `count` in all, `errors` the first of them.

    Whether an event of a batch that was given up stands in the log is not known.
    """

    fault = Fault.EXTERNAL

    def __init__(self, count: int, errors: Sequence[LockstepError]) -> None:
        super().__init__(f"{count} events were not accepted; the first: {errors[0]}")
        self.count = count
        self.errors = tuple(errors)
