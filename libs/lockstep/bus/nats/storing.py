"""Stores the records of a stream with patience, and says where the server takes none of them any
more: it is there, and silent to them, since it could not write one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from lockstep.bus.errors import LogGoneError
from lockstep.bus.nats.errors import NoAnswerError, TakesNothingError
from lockstep.bus.nats.jetstream import JetStream, persistently
from lockstep.events import UnavailableError
from lockstep.telemetry import get_logger

T = TypeVar("T")


class Storing:
    """Of one stream. `log`: what it is called in errors. `tells_gone`: if there is no such stream,
    that is LogGoneError."""

    def __init__(
        self, jetstream: JetStream, log: str, stream: str, *, tells_gone: bool = False
    ) -> None:
        self._jetstream = jetstream
        self._name = log
        self._stream = stream
        self._tells_gone = tells_gone
        self._takes_nothing = False
        self._log = get_logger()

    async def stored(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """What an attempt to store a record gives in the end. Errors: UnavailableError, and where
        the server says or shows it: LogGoneError, TakesNothingError."""

        async def told() -> T:
            stored = await attempt()
            self._tell(None)
            return stored

        try:
            # Where it has been tried in vain for long, nobody has to wait so long again.
            if self._takes_nothing:
                return await told()
            return await persistently(told, self._jetstream.limits)
        except UnavailableError as error:
            is_there = await self._jetstream.is_there(self._stream)
            if is_there is False and self._tells_gone:
                raise LogGoneError(self._name) from error
            if not (is_there and isinstance(error, NoAnswerError)):
                raise
        # The server is there: perhaps it has just come back.
        try:
            return await told()
        except NoAnswerError as error:
            trouble = TakesNothingError(self._name)
            self._tell(trouble)
            raise trouble from error

    def _tell(self, trouble: TakesNothingError | None) -> None:
        """Once when it comes, and once when it is over."""
        if trouble is not None and not self._takes_nothing:
            self._log.error(trouble.message, log=self._name, hint=trouble.hint)
        elif trouble is None and self._takes_nothing:
            self._log.info("the bus takes records for this log again", log=self._name)
        self._takes_nothing = trouble is not None
