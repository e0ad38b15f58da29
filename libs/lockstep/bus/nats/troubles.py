"""What keeps a process away from the bus: told in the log, and to those who need the bus.

Attempts go on ten times a second, so the log is told of what they find at most once a minute.
"""

from __future__ import annotations

from typing import Final

from lockstep.bus.nats.errors import (
    CredentialsError,
    NotAllowedError,
    NotConnectedError,
    is_refusal,
)
from lockstep.telemetry import Seldom, get_logger

_HINT: Final = (
    "look at user, password, token and credentials in bus.url and at those of the server; "
    "this process goes on trying"
)


class Troubles:
    """Of one connection. Times are those of the event loop, in seconds."""

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._was_in = False
        self._refusal = ""
        self._seldom = Seldom()

    def heard(self, error: Exception, now_s: float) -> None:
        """Why an attempt of the client library failed."""
        text = str(error) or type(error).__name__
        get_logger().debug("bus error", error=text)
        lets_in = not (is_refusal(error) or isinstance(error, CredentialsError))
        self._refusal = "" if lets_in else text
        what = "the bus cannot be entered any more"
        # Who was never in is told by an error that ends the process.
        if self._was_in and self._refusal and self._is_due(what, now_s):
            get_logger().error(what, server=self._shown, error=text, hint=_HINT)

    def away(self, error: Exception, now_s: float) -> None:
        """Why there is no new client yet."""
        if self._is_due("the bus is away", now_s):
            get_logger().warning("the bus is away", error=str(error))

    def ended(self) -> None:
        """We are connected."""
        self._was_in = True
        self._refusal = ""

    def error(self, message: str) -> NotConnectedError:
        """With what the server said last, if that is for somebody to mend."""
        if not self._refusal:
            return NotConnectedError(message, where=self._shown)
        return NotConnectedError(f"{message}: {self._refusal}", where=self._shown, hint=_HINT)

    def not_allowed(self, verb: str, subject: str) -> NotAllowedError:
        """That our user may not "publish" or "subscribe" to a subject."""
        return NotAllowedError(verb, subject, where=self._shown)

    def lacks(self, missing: NotAllowedError, now_s: float) -> None:
        """The server has told of it, perhaps not for the first time."""
        if self._is_due(missing.kind, now_s):
            get_logger().error(missing.message, server=self._shown, hint=missing.hint)

    def _is_due(self, what: str, now_s: float) -> bool:
        return self._seldom.is_due(what, round(1000 * now_s))
