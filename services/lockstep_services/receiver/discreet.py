"""A mailbox whose options hold secrets: what it says of errors is without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from lockstep.bus import Mail, Mailbox
from lockstep.events import LockstepError
from lockstep.secrets import Hidden


class DiscreetMailbox(Mailbox):
    """Another mailbox, whose errors go to logs."""

    def __init__(self, mailbox: Mailbox, hidden: Hidden) -> None:
        self._mailbox = mailbox
        self._hidden = hidden

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Mail]:
        with discreet(self._hidden):
            return await self._mailbox.read(max_messages=max_messages, wait_ms=wait_ms)

    async def close(self) -> Sequence[Mail]:
        with discreet(self._hidden):
            return await self._mailbox.close()


@contextmanager
def discreet(hidden: Hidden) -> Iterator[None]:
    """Errors leave without secrets, and without what they came from, which would say them again."""
    try:
        yield
    except LockstepError as error:
        hidden.error(error)
        raise error from None
