"""The contract between the publisher and a type of sink.

The publisher keeps the order, the place in the log, pauses and retries, dead letters, `@map` and
`@distribution`; a sink carries one message to its destination.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lockstep.events import Fault, LockstepError


@dataclass(frozen=True, slots=True)
class Message:
    """One message, as the sink's `@map` wrote it.

    `id` is the output's identity, the same whenever the message is sent again: at least once
    becomes exactly once where the destination drops ids that it has seen. `event` holds the values
    by attribute, `fill` replaces each `{{attribute}}` of a text by its value.
    """

    id: str
    payload: bytes
    content_type: str
    timestamp_ms: int
    event: Mapping[str, Any]
    fill: Callable[[str], str]


class MessageRefusedError(LockstepError):
    """The destination refuses a message for what it holds: sending it again does not help."""

    fault = Fault.USER


class Sink:
    """A destination; made with the options of its annotation by name, as written.

    `in_flight`: how many messages may be under way at once; they are begun in order.
    `takes_again`: single rows out of the error store may come at any time.
    `writes_files`: a message is a file of its own, with the header that its form may have.
    """

    in_flight: ClassVar[int] = 1
    takes_again: ClassVar[bool] = True
    writes_files: ClassVar[bool] = False

    async def send(self, message: Message) -> None:
        """Delivers; the message counts as delivered when this returns.

        UnavailableError and OSError (a lost connection, a time-out): tried again later.
        MessageRefusedError: the message becomes a dead letter, and the next one is sent. So it does
        for all that values can cause (ValueError, LookupError, TypeError …).
        """
        raise NotImplementedError

    def begin_again(self) -> None:
        """The output log was lost and begun anew: identities may come again for other rows."""

    async def close(self) -> None:
        """Gives connections back; idempotent. `send` may be called again afterwards."""


SinkMaker = Callable[[Mapping[str, str]], Sink]
"""Makes a sink from its options; the checker has seen that they are those declared."""
