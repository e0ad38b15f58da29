"""A queue of a server that speaks SQS, as the other side of sources and sinks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from lockstep.testing.connectors import Arrived
from tests.s3.server import ACCESS_KEY, SECRET_KEY, S3Server

LOOK_S = 5
"""For so long what was looked at is hidden from others: longer than it takes to look at all."""


class SqsFar:
    """A queue of that name, made at once; `.fifo` at its end makes it one that keeps the order."""

    def __init__(self, server: S3Server, name: str, *, visibility_s: int = 30) -> None:
        self.server = server
        self.client = server.client("sqs")
        self._is_fifo = name.endswith(".fifo")
        self._numbers = count()
        self._is_away = False
        attributes = {"VisibilityTimeout": str(visibility_s)}
        if self._is_fifo:
            attributes["FifoQueue"] = "true"
        self.url = self.client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    @property
    def options(self) -> dict[str, str]:
        """Of a source and of a sink."""
        return {"queue": self.url, "access.key": ACCESS_KEY, "secret.key": SECRET_KEY}

    async def start(self) -> None:
        """Takes requests, where it did before."""
        if self._is_away:
            await asyncio.to_thread(self.server.start)
        self._is_away = False

    async def stop(self) -> None:
        """Takes none; it keeps what it has."""
        await asyncio.to_thread(self.server.stop)
        self._is_away = True

    async def send(self, payload: bytes) -> None:
        """As another program sends it."""
        await asyncio.to_thread(self.put, payload.decode())

    def put(self, body: str, attributes: Mapping[str, str] | None = None) -> str:
        """The message's id."""
        more: dict[str, Any] = {}
        if self._is_fifo:
            more = {"MessageGroupId": "g", "MessageDeduplicationId": f"d{next(self._numbers)}"}
        given = {
            name: {"DataType": "String", "StringValue": value}
            for name, value in (attributes or {}).items()
        }
        sent = self.client.send_message(
            QueueUrl=self.url, MessageBody=body, MessageAttributes=given, **more
        )
        return str(sent["MessageId"])

    def messages(self) -> list[dict[str, Any]]:
        """Takes all that can be seen out of the queue, in its order."""
        found: list[dict[str, Any]] = []
        while some := self.client.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, MessageAttributeNames=["All"],
            MessageSystemAttributeNames=["All"], VisibilityTimeout=LOOK_S,
        ).get("Messages", []):  # fmt: skip
            for each in some:
                self.client.delete_message(QueueUrl=self.url, ReceiptHandle=each["ReceiptHandle"])
            found += some
        return found

    def counts(self) -> tuple[int, int]:
        """How many are to be seen, and how many are hidden."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        told = self.client.get_queue_attributes(QueueUrl=self.url, AttributeNames=names)
        return tuple(int(told["Attributes"][name]) for name in names)  # type: ignore[return-value]


class SqsReceiving(SqsFar):
    """Keeps what it took out."""

    def __init__(self, server: S3Server, name: str) -> None:
        super().__init__(server, name)
        self._got: list[Arrived] = []

    async def received(self) -> Sequence[Arrived]:
        """With the identities that the sink gave."""
        self._got += [
            Arrived(each["Body"].encode(), each["MessageAttributes"]["lockstep-id"]["StringValue"])
            for each in await asyncio.to_thread(self.messages)
        ]
        return self._got
