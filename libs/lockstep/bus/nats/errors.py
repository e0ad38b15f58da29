"""NATS's errors in our words: unavailable (try again), full, or refused."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any, Final

import nats.errors

from lockstep.bus.errors import LogFullError, NoRoomError, RecordTooLargeError
from lockstep.events import Fault, LockstepError, UnavailableError

WRONG_LAST_SEQUENCE: Final = frozenset({10071, 10164})  # the latter names no sequence
STREAM_NAME_IN_USE: Final = 10058
NO_MESSAGE: Final = frozenset({10037, 10043, 10057})  # the last: nothing to delete
NO_CONSUMER: Final = 10014
NOT_THERE: Final = frozenset({10059, NO_CONSUMER})  # the first: stream
NOT_TOGETHER: Final = 10174
_STORE_FAILED: Final = 10077  # the description tells why
_NO_ROOM: Final = frozenset({10002, 10023, 10028, 10047})  # of the account or server, not of a log
_TOO_MANY: Final = {10026: "max_consumers", 10027: "max_streams"}  # by what limits them
_BAD_SETTINGS: Final = frozenset({10052, 10074})  # its status for them says "internal error"
_PURGE_FAILED: Final = 10110  # the description tells why
_SEALED: Final = 10109
_SETTINGS_HINT: Final = (
    "somebody has changed this stream on the bus server (`nats stream info`): undo that, or remove "
    "the stream if nothing in it is needed"
)
# Statuses, and codes of its own that a cluster gives while a leader changes: no peer is up yet, an
# earlier attempt under this id is still under way, a replica has yet to catch up.
_TEMPORARY: Final = frozenset({404, 408, 429})
_SETTLING: Final = frozenset({10005, 10158, 10180})


class NotConnectedError(UnavailableError):
    """There is no connection at this moment; it is being restored."""


class CredentialsError(nats.errors.Error):
    """A file of credentials that cannot be used as it is now. One of the client library's errors,
    as after any other it would not try again."""

    def __init__(self, file: str, why: str) -> None:
        super().__init__(f"the credentials in {file} cannot be used: {why}")


class NoAnswerError(UnavailableError):
    """Something was asked, and nothing has come in time."""


class NobodyAnswersError(UnavailableError):
    """The server knows of nobody who takes such requests."""


class TakesNothingError(UnavailableError):
    """The server is there and knows the stream, but does not answer to records for it. So it is
    after it could not write one: it takes no more, until it is started again."""

    def __init__(self, log: str) -> None:
        super().__init__(
            "the bus takes no records for this log",
            where=log,
            hint="look at the bus server's log and its disk; once there is room, restart it",
        )


class NotAllowedError(UnavailableError):
    """Our user lacks a right at the server; somebody may give it. Trying again at once would not
    help."""

    def __init__(self, verb: str, subject: str, *, where: str) -> None:
        super().__init__(
            f"the bus's user may not {verb} to {subject}",
            where=where,
            hint="look at the permissions of this user, and of its account, on the bus server",
        )
        self.kind = f"{verb} {_kind(subject)}"
        """The same for subjects that only a random part tells apart."""


def _kind(subject: str) -> str:
    tokens = subject.casefold().split(".")
    if tokens[0] == "_inbox":
        return tokens[0]
    return ".".join(tokens[:4]) if tokens[0] == "$js" else ".".join(tokens)


class MessageTooLargeError(RecordTooLargeError, UnavailableError):
    """More than the server takes in one message. Of both kinds: whoever sends live messages counts
    on losing some, and goes on without this one."""

    retryable = False


class StreamFullError(LogFullError):
    """A log at a limit that the server keeps: ours, or one that somebody has set there."""

    def __init__(self, log: str, limit_bytes: int, said: str) -> None:
        ours = limit_bytes if "bytes" in said else 0
        UnavailableError.__init__(
            self,
            f"the log is full: {said}" + (f" (in the settings: {ours} bytes)" if ours else ""),
            where=log,
            hint="let its readers catch up so that it can be trimmed, or raise the limit"
            + ("" if ours else "; the suite sets none of this kind: it is the bus server's own"),
        )
        self.limit_bytes = limit_bytes


class StreamSettingsError(UnavailableError):
    """What a stream is like on the server does not let us do this. Trying again at once would not
    help."""

    def __init__(self, said: str, *, where: str) -> None:
        super().__init__(f"the bus refused: {said}", where=where, hint=_SETTINGS_HINT)


class ApiError(LockstepError):
    """JetStream understood and said no; `code` is its own number for the reason."""

    fault = Fault.EXTERNAL

    def __init__(self, message: str, *, where: str, code: int, hint: str | None = None) -> None:
        super().__init__(f"the bus refused: {message}", where=where, hint=hint)
        self.code = code


_REFUSAL: Final = re.compile(
    r"(nats: )?'?(authorization (violation|failed)"
    r"|(user|account) authentication (expired|revoked))",
    re.IGNORECASE,
)


def is_refusal(error: Exception) -> bool:
    """Whether the server was reached and does not let us in."""
    # Names of files and subjects may say anything.
    if isinstance(error, CredentialsError):
        return False
    return _REFUSAL.match(str(error)) is not None


@contextlib.contextmanager
def translated(where: str) -> Iterator[None]:
    """Raises what NATS raises within the block as UnavailableError."""
    try:
        yield
    except TimeoutError as error:
        raise NoAnswerError("the bus has not answered in time", where=where) from error
    except (nats.errors.Error, OSError) as error:
        text = str(error) or type(error).__name__
        raise UnavailableError(f"the bus cannot be reached: {text}", where=where) from error


def api_error(where: str, error: dict[str, Any], limit_bytes: int = 0) -> LockstepError:
    """Our word for the `error` in an answer of JetStream."""
    code, text = int(error.get("err_code", 0)), str(error.get("description", "unknown"))
    if code == _STORE_FAILED and "maximum" in text:
        return StreamFullError(where, limit_bytes, text)
    if code in _NO_ROOM:
        return NoRoomError(
            f"the bus has no room: {text}",
            where=where,
            hint="free disk space on the bus server, or raise JetStream's limits there",
        )
    if code in _TOO_MANY:
        return NoRoomError(
            f"the bus has no room: {text}",
            where=where,
            hint=f"raise {_TOO_MANY[code]} of the account that the bus server has for the suite",
        )
    if code in _BAD_SETTINGS or (code == _PURGE_FAILED and "not permitted" in text):
        return StreamSettingsError(text, where=where)
    if code == _SEALED:
        return ApiError(text, where=where, code=code, hint=_SETTINGS_HINT)
    status = int(error.get("code", 500))
    known = code in NO_MESSAGE or code in NOT_THERE
    temporary = status in _TEMPORARY or code in _SETTLING
    if known or (400 <= status < 500 and not temporary):
        return ApiError(text, where=where, code=code)
    return UnavailableError(f"the bus cannot serve this now: {text}", where=where)
