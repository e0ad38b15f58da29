"""What has come out of an app, looked up where its sinks put it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import aiohttp
import boto3
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from lockstep.bus import Subscription, topic_subject
from lockstep.mapping import annotated
from lockstep.siddhiql import CheckedApp, ast
from tests.older_apps.playing.brokers import BROKERS, Stop, listen
from tests.older_apps.playing.judging import STATEMENTS, kind_of, total_of
from tests.older_apps.playing.preparing import PARTITIONS
from tests.older_apps.playing.repointing import Repointed
from tests.older_apps.playing.stage import Stage

AT_OUR_SERVERS: Final = frozenset({"http", "tcp", "websocket", "email", "answer", "grpc", "snmp"})
RECORD_S: Final = 5.0
STORES: Final = ("rdbms", "redis")
KNOWN: Final = (
    AT_OUR_SERVERS
    | BROKERS
    | {"log", "kafka", "file", "inmemory", "hl7", "s3", "google-cloud-storage", "prometheus"}
    | {STATEMENTS}
)
"""Types of sinks whose other side is here."""


class Outlets:
    """Of one app; `begin` before its first event."""

    def __init__(self, stage: Stage, checked: CheckedApp, repointed: Repointed, mark: str) -> None:
        self._stage = stage
        self._name = checked.name
        self._mark = mark
        self._ports = repointed.ports
        self._sinks = [(schema.name, sink) for schema, _, sink in annotated(checked, "sink")]
        self._stores = {
            f"{(one.get('type') or '').lower()} (store)"
            for table in checked.tables.values()
            for one in table.annotations
            if one.name.lower() == "store" and (one.get("type") or "").lower() not in STORES
        }
        self._heard: list[bytes] = []
        self._listening: list[tuple[Subscription, asyncio.Task[None]]] = []
        self._from_brokers: dict[str, list[bytes]] = {kind: [] for kind in BROKERS}
        self._stops: list[Stop] = []
        self._hl7_before = len(stage.outside.got["", "hl7"])
        stage.lines.of.pop(checked.name, None)

    @property
    def unknown(self) -> list[str]:
        """Types of sinks and stores that nobody here looks behind."""
        return sorted(({kind_of(sink) for _, sink in self._sinks} - KNOWN) | self._stores)

    async def begin(self) -> None:
        """Listens where nothing is kept."""
        for topic in {sink.get("topic") for sink in self._of("inmemory")}:
            subscription = await self._stage.world.bus.topics.subscribe(topic_subject(topic or ""))
            task = asyncio.create_task(self._listen(subscription))
            self._listening.append((subscription, task))
        for kind in BROKERS:
            for sink in self._of(kind):
                got = self._from_brokers[kind].append
                self._stops.append(await listen(kind, self._stage.places, sink, got))

    async def end(self) -> None:
        """Listens no more."""
        for stop in self._stops:
            await stop()
        for subscription, task in self._listening:
            await subscription.close()
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def arrived(self, kind: str) -> list[bytes]:
        """The messages of a type of sinks."""
        if kind in AT_OUR_SERVERS:
            return list(self._stage.outside.got[self._mark, kind])
        if kind == "log":
            return list(self._stage.lines.of[self._name])
        if kind == "inmemory":
            # What was sent to a source of the same topic was heard, too.
            left = list(self._heard)
            for said in self._stage.outside.got[self._mark, "said"]:
                if said in left:
                    left.remove(said)
            return left
        if kind in BROKERS:
            return list(self._from_brokers[kind])
        if kind == "hl7":
            return self._stage.outside.got["", "hl7"][self._hl7_before :]
        if kind == "kafka":
            return await self._records()
        if kind == "file":
            return [line for file in self._files() for line in file.read_bytes().splitlines()]
        if kind == "s3":
            return await asyncio.to_thread(self._objects)
        if kind == "google-cloud-storage":
            there = await asyncio.to_thread(self._stage.google.objects, f"{self._mark}/")
            return list(there.values())
        if kind == "prometheus":
            return await self._metrics()
        return []

    def _of(self, kind: str) -> list[ast.Annotation]:
        return [sink for _, sink in self._sinks if kind_of(sink) == kind]

    async def _listen(self, subscription: Subscription) -> None:
        async for _, payload in subscription:
            self._heard.append(payload)

    async def _records(self) -> list[bytes]:
        assert self._stage.kafka is not None
        names = {sink.get("topic") or "" for sink in self._of("kafka")}
        return await asyncio.to_thread(_committed, self._stage.kafka.url, sorted(names))

    def _files(self) -> list[Path]:
        found: list[Path] = []
        for sink in self._of("file"):
            uri = (sink.get("file.uri") or "").removeprefix("file:")
            if "{{" not in uri:
                found += [Path(uri)] if Path(uri).is_file() else []
                continue
            folder = Path(uri.partition("{{")[0]).parent if uri.partition("{{")[0] else Path(uri)
            found += sorted(
                file
                for file in folder.rglob("*")
                if file.is_file() and not file.name.startswith(".")
            )
        return list(dict.fromkeys(found))

    def _objects(self) -> list[bytes]:
        server, bucket = self._stage.places.s3, self._stage.places.bucket
        assert server is not None
        client: Any = boto3.client(
            "s3", endpoint_url=f"http://{server.host}:{server.port}", region_name="us-east-1",
            aws_access_key_id=server.user, aws_secret_access_key=server.password,
        )  # fmt: skip
        listed = client.list_objects_v2(Bucket=bucket, Prefix=f"{self._mark}/")
        keys = [each["Key"] for each in listed.get("Contents", ())]
        return [client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys]

    async def _metrics(self) -> list[bytes]:
        """The sum of each metric's samples."""
        found = []
        for stream, sink in self._sinks:
            if kind_of(sink) != "prometheus":
                continue
            name = (sink.get("metric.name") or stream).removesuffix("_total")
            url = (
                f"http://127.0.0.1:{self._ports[f'{stream}.{self._number(stream, sink)}']}/metrics"
            )
            try:
                async with aiohttp.ClientSession() as session, session.get(url) as answer:
                    text = await answer.text()
            except aiohttp.ClientError:
                continue
            samples = re.findall(rf"(?m)^{re.escape(name)}(?:_total)?(?:{{.*}})? (\S+)$", text)
            found += [total_of(stream, sum(map(float, samples)))] if samples else []
        return found

    def _number(self, stream: str, sink: ast.Annotation) -> int:
        mine = [each for name, each in self._sinks if name == stream]
        return mine.index(sink)


def _committed(address: str, topics: Sequence[str]) -> list[bytes]:
    """The values of all records that are committed, as bytes."""
    consumer = Consumer({
        "bootstrap.servers": address, "group.id": uuid.uuid4().hex, "enable.auto.commit": False,
        "isolation.level": "read_committed", "enable.partition.eof": True,
    })  # fmt: skip
    places = [TopicPartition(name, at, 0) for name in topics for at in range(PARTITIONS)]
    found, ends = [], 0
    try:
        consumer.assign(places)
        while ends < len(places) and (message := consumer.poll(RECORD_S)) is not None:
            error = message.error()
            if error is None:
                found.append(bytes(message.value() or b""))
            elif error.code() == KafkaError._PARTITION_EOF:
                ends += 1
            else:
                raise KafkaException(error)
    finally:
        consumer.close()
    return found
