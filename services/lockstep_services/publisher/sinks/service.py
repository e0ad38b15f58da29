"""@sink(type='http-service-response'): each message the answer to a request that waits at a
receiver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from lockstep.control import AnswerTeller, AppAnswer, Reached, answer_limit_bytes
from lockstep.events import UnavailableError
from lockstep.sinks import Message, MessageRefusedError, Sink, headers_of

CONTENT_TYPE: Final = "Content-Type"
NO_ID: Final = ("", "null")


@dataclass(frozen=True, slots=True)
class Receivers:
    """Those that are heard of: their nodes, and whether all that live must have been heard."""

    nodes: Callable[[], Sequence[str]]
    all_heard: Callable[[], bool]


class ServiceSink(Sink):
    """Options: `source.id`, `message.id`, `headers`."""

    in_flight: ClassVar[int] = 16

    def __init__(
        self,
        options: Mapping[str, str],
        app: str,
        teller: AnswerTeller,
        receivers: Receivers,
        *,
        max_message_bytes: int,
    ) -> None:
        self._app = app
        self._source_id = options["source.id"]
        self._message_id = options["message.id"]
        self._headers = headers_of(options.get("headers", ""))
        self._teller = teller
        self._receivers = receivers
        self._limit_bytes = answer_limit_bytes(max_message_bytes)

    async def send(self, message: Message) -> None:
        """Delivered when the receiver that holds the connection has it, or had it before."""
        message_id = message.fill(self._message_id)
        if message_id in NO_ID:
            raise MessageRefusedError("the row has no message.id: it answers no request")
        headers = {CONTENT_TYPE: message.content_type}
        for name, value in self._headers.items():
            headers[name] = _sendable(name, message.fill(value))
        answer = AppAnswer(self._app, self._source_id, message_id, message.payload, headers)
        if answer.size_bytes > self._limit_bytes:
            raise MessageRefusedError(
                f"an answer of {answer.size_bytes} bytes; {self._limit_bytes} are possible",
                hint="answer less, or raise bus.max_message_bytes",
            )
        reached = await self._teller.tell(self._receivers.nodes(), answer)
        if reached is Reached.GIVEN:
            return
        if reached is Reached.UNKNOWN or not self._receivers.all_heard():
            raise UnavailableError(f"not all receivers say whether request {message_id} waits")
        raise MessageRefusedError(
            f"nobody waits for the answer to request {message_id} any more",
            hint="it was over its time, or its connection or receiver was lost",
        )


def _sendable(name: str, value: str) -> str:
    """MessageRefusedError for what makes no header."""
    if not name or not name.isascii() or any(ord(one) < 32 or ord(one) == 127 for one in value):
        raise MessageRefusedError(f"the header {name!r} has a character that headers cannot have")
    return value
