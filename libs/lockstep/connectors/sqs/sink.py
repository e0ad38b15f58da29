"""@sink(type='sqs'): a message to a queue, which says when it keeps it.

A FIFO queue drops what comes again within five minutes, and keeps the order of a group: so there
is one message under way at a time. To another queue several are.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Final

from lockstep.connectors.aws.client import RefusedError
from lockstep.connectors.sqs import FIFO, IDENTITY
from lockstep.connectors.sqs.queue import client_of
from lockstep.sinks import Message, MessageRefusedError, Sink

MAX_MARK: Final = 128
"""Characters of a group's or a message's mark in a FIFO queue."""
GROUP: Final = "lockstep"
REFUSED: Final = frozenset(
    ("InvalidMessageContents", "InvalidParameterValue", "InvalidAttributeValue", "MissingParameter")
)
"""What the service says of a message that it will never take."""


class SqsSink(Sink):
    """Options: `queue`, `access.key`, `secret.key`, `delay.interval`, `message.group.id` …"""

    in_flight: ClassVar[int] = 8

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options
        self._queue = options["queue"].strip()
        self._client = client_of(options)
        self._threads: ThreadPoolExecutor | None = None

    async def send(self, message: Message) -> None:
        request = self._request(message)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.in_flight, thread_name_prefix="sqs")
        asked = partial(self._client.ask, "send_message", QueueUrl=self._queue, **request)
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, asked)
        except RefusedError as error:
            if error.code.rpartition(".")[2] in REFUSED:
                raise MessageRefusedError(f"the queue refuses the message: {error}") from error
            raise

    async def close(self) -> None:
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    def _request(self, message: Message) -> dict[str, Any]:
        try:
            body = message.payload.decode()
        except UnicodeDecodeError as error:
            raise MessageRefusedError("a queue takes texts alone: choose another form") from error
        request: dict[str, Any] = {
            "MessageBody": body,
            "MessageAttributes": {IDENTITY: {"DataType": "String", "StringValue": message.id}},
        }
        if "delay.interval" in self._options:
            request["DelaySeconds"] = int(self._options["delay.interval"])
        if "message.group.id" in self._options:
            request["MessageGroupId"] = _mark(message.fill(self._options["message.group.id"]))
        return request


class SqsFifoSink(SqsSink):
    """To a queue that keeps the order; options also `deduplication.id`."""

    in_flight: ClassVar[int] = 1

    def _request(self, message: Message) -> dict[str, Any]:
        request = super()._request(message)
        request.setdefault("MessageGroupId", GROUP)
        wanted = self._options.get("deduplication.id")
        request["MessageDeduplicationId"] = _mark(message.fill(wanted) if wanted else message.id)
        return request


def sink_of(options: Mapping[str, str]) -> Sink:
    """By the queue's name."""
    is_fifo = options["queue"].strip().endswith(FIFO)
    return (SqsFifoSink if is_fifo else SqsSink)(options)


def _mark(text: str) -> str:
    """The text, or its digest where the service would not take it. MessageRefusedError."""
    if not text:
        raise MessageRefusedError("the mark of a message or of its group is empty")
    if len(text) <= MAX_MARK and text.isascii() and text.isprintable() and " " not in text:
        return text
    return hashlib.sha256(text.encode()).hexdigest()
