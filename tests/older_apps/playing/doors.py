"""Events into an app by its own sources, each message as another product would send it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from confluent_kafka import Producer

from lockstep.bus import topic_subject
from lockstep.connectors.hl7.mllp import block, read_block
from lockstep.connectors.tcp.frames import frame
from lockstep.events import AttributeType, LockstepError, StreamSchema
from lockstep.functions import json_documents
from lockstep.mapping import annotated, map_of
from lockstep.mapping.messages import CONTENT_TYPES
from lockstep.siddhiql import CheckedApp, ast
from tests.kafka import topics
from tests.older_apps.playing import brokers
from tests.older_apps.playing.inventing import HL7, Step
from tests.older_apps.playing.payloads import payload_of
from tests.older_apps.playing.repointing import Repointed
from tests.older_apps.playing.stage import Stage

PARTITIONS: Final = 2
ANSWER_S: Final = 10.0
SQL_TYPES: Final = {
    AttributeType.STRING: "VARCHAR(200)", AttributeType.INT: "INT", AttributeType.LONG: "BIGINT",
    AttributeType.FLOAT: "FLOAT", AttributeType.DOUBLE: "DOUBLE", AttributeType.BOOL: "BOOLEAN",
}  # fmt: skip
PATIENCE_S: Final[Mapping[str, float]] = {"prometheus": 9.0, "email": 0.2}
"""How long a message may take into the log, where a source looks only now and then."""
COMMON_PATIENCE_S: Final = 3.0

Send = Callable[[bytes, tuple[Any, ...]], Awaitable[None]]


class NotSentError(LockstepError):
    """A source that nobody here can send to."""


class Doors:
    """Of one app, as it is deployed."""

    def __init__(self, stage: Stage, checked: CheckedApp, repointed: Repointed, mark: str) -> None:
        self._stage = stage
        self._checked = checked
        self._mark = mark
        self._folder = stage.places.folder / mark
        self._streams: dict[int, tuple[asyncio.StreamReader, asyncio.StreamWriter]] = {}
        self._number = itertools.count(1)
        self._asking: set[asyncio.Task[None]] = set()
        self._sources: dict[str, tuple[StreamSchema, ast.Annotation, int | None]] = {}
        counted: dict[str, int] = {}
        for schema, _, source in annotated(checked, "source"):
            place = f"{schema.name}.{counted.get(schema.name, 0)}"
            counted[schema.name] = counted.get(schema.name, 0) + 1
            kind = _kind(source)
            if kind in ("http-response", "http-call-response"):
                continue
            if schema.name not in self._sources:
                self._sources[schema.name] = schema, source, repointed.ports.get(place)

    @property
    def kinds(self) -> list[str]:
        """The types of sources that are sent to."""
        return sorted({_kind(source) for _, source, _ in self._sources.values()})

    async def prepare(self) -> None:
        """What has to be there before the app is deployed."""
        for schema, source, _ in self._sources.values():
            kind = _kind(source)
            if kind == "kafka":
                await _topics(self._stage, source.get("topic.list") or "")
            elif kind == "file":
                for key in ("dir.uri", "move.after.process"):
                    if (uri := source.get(key)) is not None:
                        _path(uri).mkdir(parents=True, exist_ok=True)
                if (uri := source.get("file.uri")) is not None:
                    _path(uri).parent.mkdir(parents=True, exist_ok=True)
            elif kind == "cdc":
                await self._stage.database(self._mark, [_table(schema, source)])
        for schema, _, sink in annotated(self._checked, "sink"):
            if _kind(sink) == "kafka":
                await _topics(self._stage, sink.get("topic") or "")
            if (mapping := map_of(sink)) is not None and mapping.get("schema.registry"):
                self._stage.registry.put(schema.name, _avro(schema))
        stored = [*self._checked.tables.values(), *self._checked.app.definitions]
        if any(
            one.name.lower() == "store" and "mysql" in (one.get("jdbc.url") or "")
            for each in stored
            for one in getattr(each, "annotations", ())
        ):
            await self._stage.database(self._mark)
        for schema, _, source in annotated(self._checked, "source"):
            if _kind(source) in ("http-response", "http-call-response"):
                row = tuple(_plain(each.type) for each in schema.attributes)
                self._stage.outside.answers[self._mark] = payload_of(schema, source, row)

    def kind(self, stream: str) -> str:
        """Of the source that a stream's events are sent to; '' for the suite's own door."""
        found = self._sources.get(stream)
        return "" if found is None else _kind(found[1])

    async def send(self, step: Step) -> None:
        """One event. NotSentError; OSError while nobody listens yet."""
        if step.write:
            url = f"{self._stage.client.addresses.presenter}/v1/apps/{self._checked.name}/query"
            await self._stage.client.request("POST", url, json_body={"query": step.write})
            return
        found = self._sources.get(step.stream)
        if found is None:
            schema = self._checked.streams[step.stream]
            body = json_documents.text(dict(zip(schema.names, step.row, strict=True))).encode()
            await self._stage.client.send(self._checked.name, step.stream, body)
            return
        schema, source, port = found
        kind = _kind(source)
        if kind == "cdc":
            await _insert(self._stage, self._mark, schema, source, step.row)
            return
        if kind == "prometheus":
            _sample(self._stage, self._mark, schema, source, step.row)
            return
        if kind == "hl7":  # which the source makes XML of, or one text
            payload = HL7.format(next(self._number)).encode()
        else:
            payload = payload_of(schema, source, step.row)
        if kind in brokers.BROKERS:
            await brokers.send(kind, self._stage.places, source, payload)
            return
        carry = getattr(self, f"_by_{kind.replace('-', '_')}", None)
        if carry is None:
            raise NotSentError(f"nobody here sends to a source of type {kind!r}")
        await carry(source, payload, port, step.stream)

    async def close(self) -> None:
        """Ends connections."""
        for _, writer in self._streams.values():
            writer.close()
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def _by_http(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        await self._posted(source, payload, stream)

    async def _by_http_service(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        """Who asks waits, and the next one asks meanwhile."""

        async def ask() -> None:
            answer = await self._posted(source, payload, stream)
            self._stage.outside.got[self._mark, "answer"].append(answer)

        task = asyncio.create_task(ask())
        self._asking.add(task)

    async def _posted(self, source: ast.Annotation, payload: bytes, stream: str) -> bytes:
        url = source.get("receiver.url")
        path = f"/{self._checked.name}/{stream}" if url is None else urlsplit(url).path
        mapping = map_of(source)
        form = "json" if mapping is None else (mapping.get("type") or "json").lower()
        headers = {"Content-Type": CONTENT_TYPES.get(form, "text/plain")}
        limit = aiohttp.ClientTimeout(total=ANSWER_S)
        address = f"{self._stage.client.addresses.receiver}{path}"
        async with (
            aiohttp.ClientSession(timeout=limit) as session,
            session.post(address, data=payload, headers=headers) as answer,
        ):
            body = await answer.read()
            if answer.status == 404:
                raise ConnectionRefusedError(f"{path}: nobody is there")
            if answer.status >= 400:
                raise NotSentError(f"{path}: {answer.status} {body[:300].decode()}")
            return body

    async def _by_inmemory(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        subject = topic_subject(source.get("topic") or "")
        self._stage.outside.got[self._mark, "said"].append(payload)
        await self._stage.world.bus.topics.publish(subject, payload)

    async def _by_tcp(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        context = source.get("context") or f"{self._checked.name}/{stream}"
        _, writer = await self._connected(port)
        writer.write(frame(context, payload))
        await writer.drain()

    async def _by_hl7(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        reader, writer = await self._connected(port)
        writer.write(block(payload))
        async with asyncio.timeout(ANSWER_S):
            await read_block(reader)

    async def _connected(
        self, port: int | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        assert port is not None
        if port not in self._streams:
            self._streams[port] = await asyncio.open_connection("127.0.0.1", port)
        return self._streams[port]

    async def _by_kafka(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        assert self._stage.kafka is not None
        producer = Producer({"bootstrap.servers": self._stage.kafka.url, "acks": "all"})
        topic = (source.get("topic.list") or "").split(",")[0].strip()
        producer.produce(topic, payload, partition=0)
        if await asyncio.to_thread(producer.flush, ANSWER_S):
            raise TimeoutError(f"{topic}: the broker does not take it")

    async def _by_file(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        """A line more, or a file more; a file of a folder is there as a whole."""
        header = b"header\n" if source.get("header.present") == "true" else b""
        if (uri := source.get("file.uri")) is not None:
            with _path(uri).open("ab") as file:
                file.write(payload + b"\n")
            return
        name = f"part-{next(self._number)}"
        ready = self._folder / f"{name}.ready"
        ready.write_bytes(header + payload + b"\n")
        ready.rename(_path(source.get("dir.uri") or "") / name)

    async def _by_websocket(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        if not await self._stage.outside.push(self._mark, payload):
            raise ConnectionRefusedError("the app's client has not come yet")

    async def _by_email(
        self, source: ast.Annotation, payload: bytes, port: int | None, stream: str
    ) -> None:
        assert self._stage.mails is not None
        mail = EmailMessage()
        mail["Subject"] = (source.get("search.term") or "").rpartition("subject:")[2] or "events"
        mail["From"], mail["To"] = "sender@example.org", "app@example.org"
        mail.set_content(payload.decode())
        folder = source.get("folder") or "INBOX"
        await asyncio.to_thread(self._stage.mails.put, folder, mail.as_bytes())


async def _topics(stage: Stage, names: str) -> None:
    assert stage.kafka is not None
    for name in filter(None, names.split(",")):
        with contextlib.suppress(Exception):  # a sink and a source may share it
            await asyncio.to_thread(topics.create, stage.kafka.url, name.strip(), PARTITIONS)


async def _insert(
    stage: Stage, mark: str, schema: StreamSchema, source: ast.Annotation, row: tuple[Any, ...]
) -> None:
    columns = ", ".join(f"`{name}`" for name in schema.names)
    values = ", ".join("NULL" if each is None else repr(each) for each in row)
    table = source.get("table.name")
    await stage.asked(mark, f"INSERT INTO {table} ({columns}) VALUES ({values})")


def _sample(
    stage: Stage, mark: str, schema: StreamSchema, source: ast.Annotation, row: tuple[Any, ...]
) -> None:
    name, kind = source.get("metric.name"), source.get("metric.type") or "counter"
    values = dict(zip(schema.names, row, strict=True))
    labels = ",".join(f'{key}="{one}"' for key, one in values.items() if key != "value")
    stage.outside.metrics[mark] = (
        f"# TYPE {name} {kind}\n{name}{{{labels}}} {values.get('value', 1)}\n"
    )


def _kind(annotation: ast.Annotation) -> str:
    return (annotation.get("type") or "").lower()


def _path(uri: str) -> Path:
    return Path(uri.removeprefix("file:"))


def _plain(kind: AttributeType) -> Any:
    """A value of an answer."""
    if kind is AttributeType.STRING:
        return "answered"
    return kind is AttributeType.BOOL or (7 if kind.name in ("INT", "LONG") else 7.5)


def _avro(schema: StreamSchema) -> str:
    """The stream as a record."""
    fields = [
        {"name": each.name, "type": "boolean" if each.type.name == "BOOL" else each.type.value}
        for each in schema.attributes
    ]
    return json.dumps({"type": "record", "name": schema.name, "fields": fields})


def _table(schema: StreamSchema, source: ast.Annotation) -> str:
    """The table that a cdc source looks at."""
    columns = [f"`{each.name}` {SQL_TYPES[each.type]}" for each in schema.attributes]
    if (polled := source.get("polling.column")) is not None and polled not in schema.names:
        columns.append(f"`{polled}` TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6)")
    return f"CREATE TABLE IF NOT EXISTS {source.get('table.name')} ({', '.join(columns)})"
