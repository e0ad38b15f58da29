"""@source(type='sqs'): the messages of a queue, which all receivers share.

The queue hides a message from others for a while, and gives it again if it is not deleted by then.
So what is taken and not durable yet is hidden anew in time, again and again. A source that is
closed shows what it has at once; that of a receiver that was killed is shown when its time is over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Final, TypeVar

from lockstep.connectors.sqs import IDENTITY, VISIBILITY_S
from lockstep.connectors.sqs.queue import client_of
from lockstep.sources import Held, Place, Received, Source

T = TypeVar("T")

MOST: Final = 10
"""Messages in one request, as the service has it."""
LONGEST_WAIT_S: Final = 20
PARTS: Final = 3
"""A message is hidden anew when this part of its time is over."""


class SqsSource(Source):
    """Options: `queue`, `access.key`, `secret.key`, `region`, `visibility.timeout` (30 seconds)."""

    shared: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._queue = options["queue"].strip()
        self._client = client_of(options)
        self._hidden_s = int(options.get("visibility.timeout", VISIBILITY_S))
        self._clock = place.clock
        # The client blocks; its calls come one after the other, on a thread of this source.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqs")
        self._held = Held(MOST)
        self._hiding: asyncio.Task[None] | None = None

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if self._hiding is None:
            self._hiding = asyncio.ensure_future(self._hide_on())
        wait_s = min(LONGEST_WAIT_S, wait_ms // 1_000)
        found = await self._on_thread(partial(self._receive, max_messages, wait_s))
        return [self._received(each) for each in found]

    async def close(self) -> Sequence[Received]:
        hiding, self._hiding = self._hiding, None
        if hiding is not None:
            hiding.cancel()
        with contextlib.suppress(RuntimeError):  # closed before
            leaving = self._thread.submit(self._leave)
            self._thread.shutdown(wait=False)
            # Shown also when this call is cancelled: nobody else would see them for a while.
            await asyncio.shield(asyncio.wrap_future(leaving))
        return ()

    async def _on_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _hide_on(self) -> None:
        """Until cancelled. What cannot be hidden now may come again, and is known."""
        while True:
            await self._clock.sleep_ms(1_000 * self._hidden_s // PARTS)
            with contextlib.suppress(OSError):
                await self._on_thread(self._tend)

    def _tend(self) -> None:
        self._delete()
        self._show_in(self._hidden_s)

    def _receive(self, max_messages: int, wait_s: int) -> list[dict[str, Any]]:
        self._delete()
        found: list[dict[str, Any]] = []
        while len(found) < max_messages:
            answer = self._client.ask(
                "receive_message",
                QueueUrl=self._queue,
                MaxNumberOfMessages=min(MOST, max_messages - len(found)),
                WaitTimeSeconds=0 if found else wait_s,
                VisibilityTimeout=self._hidden_s,
                MessageAttributeNames=["All"],
                MessageSystemAttributeNames=["All"],
            )
            some = answer.get("Messages", [])
            self._held.take(each["ReceiptHandle"] for each in some)
            found += some
            if len(some) < MOST:
                break
        return found

    def _delete(self) -> None:
        """What has become durable since the last read."""
        for some in self._held.durable():
            entries = [
                {"Id": str(number), "ReceiptHandle": handle} for number, handle in enumerate(some)
            ]
            # One that it does not take was shown to others before: it comes again, and is known.
            self._client.ask("delete_message_batch", QueueUrl=self._queue, Entries=entries)
            self._held.forget(some)

    def _show_in(self, seconds: int) -> None:
        """To others, unless it is deleted before."""
        for some in self._held.hidden():
            entries = [
                {"Id": str(number), "ReceiptHandle": handle, "VisibilityTimeout": seconds}
                for number, handle in enumerate(some)
            ]
            self._client.ask(
                "change_message_visibility_batch", QueueUrl=self._queue, Entries=entries
            )

    def _leave(self) -> None:
        with contextlib.suppress(OSError):
            self._delete()
            self._show_in(0)
        self._held.clear()
        self._client.close()

    def _received(self, message: Mapping[str, Any]) -> Received:
        acknowledge = self._held.acknowledging(message["ReceiptHandle"])
        given = message.get("MessageAttributes", {}).items()
        properties = {name: _text(value) for name, value in given}
        properties |= {name: str(value) for name, value in message.get("Attributes", {}).items()}
        properties["MESSAGE_ID"] = message["MessageId"]
        identity = properties.get(IDENTITY) or message["MessageId"]
        return Received(message["Body"].encode(), properties, identity, acknowledge)


def _text(attribute: Mapping[str, Any]) -> str:
    if "StringValue" in attribute:
        return str(attribute["StringValue"])
    return bytes(attribute.get("BinaryValue", b"")).decode("utf-8", "replace")
