"""Answers of apps to requests that wait at a receiver's door: from the publisher to all receivers,
as any of them may hold the connection.

An answer may get lost on its way. Then the publisher, which has heard nothing, tells it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from lockstep.bus import Topics, control_subject
from lockstep.events import UnavailableError
from lockstep.events.typed import from_json

TELL_LIMIT_MS: Final = 2_000
"""A receiver that has not said by then what it did with an answer is asked again."""
FRAME_BYTES: Final = 4_096
"""Of a message beside the payload: names, headers, proof."""


class AppAnswer(msgspec.Struct, frozen=True):
    """What an app says to the request `message_id`, which came by its source `source_id`."""

    app: str
    source_id: str
    message_id: str
    payload: bytes
    headers: Mapping[str, str]

    @property
    def size_bytes(self) -> int:
        """About what it takes on the bus and in memory."""
        texts = (self.source_id, self.message_id, *self.headers.keys(), *self.headers.values())
        return len(self.payload) + sum(map(len, texts))


class Reached(StrEnum):
    """Whether an answer has reached who asked: it has (now or before); nobody waits for it at any
    receiver; or some receiver did not say."""

    GIVEN = "given"
    UNWANTED = "unwanted"
    UNKNOWN = "unknown"


Take = Callable[[AppAnswer], bool]
"""Keeps an answer; whether somebody has got it."""


def answer_subject(node: str) -> str:
    """Where a receiver takes answers."""
    return control_subject("answer", node)


def answer_limit_bytes(max_message_bytes: int) -> int:
    """How large an answer may be: in JSON four bytes stand for three."""
    return (max_message_bytes - FRAME_BYTES) * 3 // 4


async def take_answers(topics: Topics, node: str, take: Take) -> None:
    """Until cancelled; UnavailableError when the bus is away."""

    async def taken(payload: bytes) -> bytes:
        return msgspec.json.encode(take(from_json(payload, AppAnswer)))

    answering = await topics.respond(answer_subject(node), taken)
    try:
        await asyncio.Event().wait()
    finally:
        await answering.close()


class AnswerTeller:
    """Tells answers to all receivers, so that each has them for requests that are sent again."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._under_way: set[asyncio.Task[bool | None]] = set()

    async def tell(self, nodes: Iterable[str], answer: AppAnswer) -> Reached:
        """Who has got it need not wait for receivers that say nothing."""
        payload = msgspec.json.encode(answer)
        telling = [asyncio.ensure_future(self._told(node, payload)) for node in nodes]
        for one in telling:
            self._under_way.add(one)
            one.add_done_callback(self._under_way.discard)
        silent = not telling
        for ended in asyncio.as_completed(telling):
            was_given = await ended
            if was_given:
                return Reached.GIVEN
            silent = silent or was_given is None
        return Reached.UNKNOWN if silent else Reached.UNWANTED

    async def close(self) -> None:
        """Ends what is under way; idempotent."""
        for one in list(self._under_way):
            one.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _told(self, node: str, payload: bytes) -> bool | None:
        """Whether somebody has got it there; None: no word of it."""
        subject = answer_subject(node)
        try:
            said = await self._topics.request(subject, payload, timeout_ms=TELL_LIMIT_MS)
        except UnavailableError:
            return None
        return from_json(said, bool)
