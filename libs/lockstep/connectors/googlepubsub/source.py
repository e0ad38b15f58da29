"""@source(type='googlepubsub'): the messages of a subscription, which all receivers share.

The subscription gives a message again if it is not acknowledged in time. So the time of what is
taken and not durable yet is begun anew, again and again. A source that is closed gives back what it
has at once; what a receiver was killed with comes when its time is over.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from lockstep.connectors.google.service import GoogleService, shown
from lockstep.connectors.googlepubsub import DEADLINE_S, ENDPOINT, IDENTITY, SCOPE
from lockstep.sources import Held, Place, Received, Source

JSON: Final = "application/json"
MOST: Final = 500
"""Messages in one request."""
MOST_BYTES: Final = 64 * 1024 * 1024
"""Of an answer: some messages of ten million bytes, as long as the service takes them."""
PARTS: Final = 3
"""The time of a message begins anew when this part of it is over."""
IS_THERE: Final = 409


class PubSubSource(Source):
    """Options: `project.id`, `subscription.id`, `topic.id`, `ack.deadline` (30 seconds) …"""

    shared: ClassVar[bool] = True

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._service = GoogleService(options, SCOPE, clock=place.clock, most_bytes=MOST_BYTES)
        project = f"projects/{options['project.id'].strip()}"
        endpoint = options.get("endpoint", ENDPOINT).rstrip("/")
        self._name = f"{project}/subscriptions/{options['subscription.id'].strip()}"
        self._url = f"{endpoint}/v1/{self._name}"
        topic = options.get("topic.id")
        self._topic = None if topic is None else f"{project}/topics/{topic.strip()}"
        self._deadline_s = int(options.get("ack.deadline", DEADLINE_S))
        self._clock = place.clock
        self._held = Held(MOST)
        self._asking: asyncio.Task[Sequence[Mapping[str, Any]]] | None = None
        self._tending: asyncio.Task[None] | None = None

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        if self._tending is None:
            await self._subscribe()
            self._tending = asyncio.ensure_future(self._tend_on())
        await self._acknowledge()
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._pull(min(max_messages, MOST)))
        # It is not given up when nothing comes in time: the service may be about to answer.
        await asyncio.wait([self._asking], timeout=wait_ms / 1_000)
        if not self._asking.done():
            return []
        asked, self._asking = self._asking, None
        return [self._received(each) for each in asked.result()]

    async def close(self) -> Sequence[Received]:
        tasks = [task for task in (self._asking, self._tending) if task is not None]
        self._asking = self._tending = None
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(OSError):  # it comes again when its time is over
            await self._acknowledge()
            await self._begin_anew(0)
        self._held.clear()
        await self._service.close()
        return ()

    async def _subscribe(self) -> None:
        """Makes the subscription, where the topic is named and it is not there."""
        if self._topic is None:
            return
        wanted = {
            "topic": self._topic, "ackDeadlineSeconds": self._deadline_s,
            "enableMessageOrdering": True,
        }  # fmt: skip
        await self._said("", wanted, method="PUT", allowed=(IS_THERE,))

    async def _pull(self, most: int) -> Sequence[Mapping[str, Any]]:
        try:
            answer = await self._said(":pull", {"maxMessages": most})
        except TimeoutError:
            return ()  # nothing has come, for as long as a request may take
        found = answer.get("receivedMessages", ())
        self._held.take(each["ackId"] for each in found)
        return tuple(found)

    async def _tend_on(self) -> None:
        """Until cancelled. What is not reached now may come again, and is known."""
        while True:
            await self._begin_anew_quietly()
            await self._clock.sleep_ms(1_000 * self._deadline_s // PARTS)

    async def _begin_anew_quietly(self) -> None:
        with contextlib.suppress(OSError):
            await self._acknowledge()
            await self._begin_anew(self._deadline_s)

    async def _acknowledge(self) -> None:
        """What has become durable since."""
        for some in self._held.durable():
            await self._said(":acknowledge", {"ackIds": some})
            self._held.forget(some)

    async def _begin_anew(self, deadline_s: int) -> None:
        for some in self._held.hidden():
            wanted = {"ackIds": some, "ackDeadlineSeconds": deadline_s}
            await self._said(":modifyAckDeadline", wanted)

    async def _said(
        self, what: str, wanted: Mapping[str, Any], *, method: str = "POST",
        allowed: Sequence[int] = (),
    ) -> Mapping[str, Any]:  # fmt: skip
        """The answer to a request. OSError."""
        body = json.dumps(wanted).encode()
        status, text = await self._service.ask(f"{self._url}{what}", body, JSON, method)
        if status != 200 and status not in allowed:
            raise OSError(f"{self._name}{what} answered {status}: {shown(text)}")
        try:
            found: Mapping[str, Any] = json.loads(text)
        except ValueError as error:
            raise OSError(f"{self._name}{what} answered with what is no JSON") from error
        return found

    def _received(self, given: Mapping[str, Any]) -> Received:
        message, acknowledge = given["message"], self._held.acknowledging(given["ackId"])
        properties = {name: str(value) for name, value in message.get("attributes", {}).items()}
        for name in ("messageId", "publishTime", "orderingKey"):
            if name in message:
                properties[name] = str(message[name])
        identity = properties.get(IDENTITY) or properties["messageId"]
        return Received(
            base64.b64decode(message.get("data", "")), properties, identity, acknowledge
        )
