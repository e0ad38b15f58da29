"""Events into an app by its own sources, each message as another product would send it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from confluent_kafka import Producer

from lockstep.bus import topic_subject
from lockstep.connectors.hl7.mllp import block, read_block
from lockstep.connectors.tcp.frames import frame
from lockstep.events import LockstepError, StreamSchema
from lockstep.functions import json_documents
from lockstep.mapping import annotated, map_of
from lockstep.mapping.messages import CONTENT_TYPES
from lockstep.siddhiql import CheckedApp, ast
from tests.older_apps.playing import brokers
from tests.older_apps.playing.agents import Agent
from tests.older_apps.playing.calls import consumed, processed
from tests.older_apps.playing.choosing import ANSWERS
from tests.older_apps.playing.inventing import HL7, Step
from tests.older_apps.playing.payloads import payload_of
from tests.older_apps.playing.preparing import kind_of_source, path_of, prepare
from tests.older_apps.playing.repointing import Repointed
from tests.older_apps.playing.stage import Stage

GRPC: Final = ("grpc", "grpc-service")
ANSWER_S: Final = 10.0
PATIENCE_S: Final[Mapping[str, float]] = {
    "prometheus": 9.0, "snmp": 9.0, "email": 0.2,
}  # fmt: skip
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
        self._agents: dict[str, Agent] = {}
        self._sources: dict[str, tuple[StreamSchema, ast.Annotation, int | None]] = {}
        counted: dict[str, int] = {}
        for schema, _, source in annotated(checked, "source"):
            place = f"{schema.name}.{counted.get(schema.name, 0)}"
            counted[schema.name] = counted.get(schema.name, 0) + 1
            kind = kind_of_source(source)
            if kind in ANSWERS:
                continue
            if schema.name not in self._sources:
                self._sources[schema.name] = schema, source, repointed.ports.get(place)

    @property
    def kinds(self) -> list[str]:
        """The types of sources that are sent to."""
        return sorted({kind_of_source(source) for _, source, _ in self._sources.values()})

    async def prepare(self) -> None:
        """What has to be there before the app is deployed."""
        await prepare(self._stage, self._checked, self._mark)
        for side in ("source", "sink"):
            for schema, _, one in annotated(self._checked, side):
                if kind_of_source(one) == "snmp":
                    got = self._stage.outside.got[self._mark, "snmp"].append
                    self._agents[schema.name] = Agent(one, got)

    def kind(self, stream: str) -> str:
        """Of the source that a stream's events are sent to; '' for the suite's own door."""
        found = self._sources.get(stream)
        return "" if found is None else kind_of_source(found[1])

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
        kind = kind_of_source(source)
        if kind == "cdc":
            await _insert(self._stage, self._mark, schema, source, step.row)
            return
        if kind == "prometheus":
            _sample(self._stage, self._mark, schema, source, step.row)
            return
        if kind == "snmp":
            self._agents[step.stream].variables.put(_variables(schema, source, step.row))
            return
        if kind == "fileeventlistener":  # which tells of a file what it says itself
            names = source.get("file.name.list") or f"part-{next(self._number)}"
            name = names.partition(",")[0].strip()
            with (path_of(source.get("dir.uri") or "") / name).open("a") as file:
                file.write("here\n")
            return
        if kind == "hl7":  # which the source makes XML of, or one text
            payload = HL7.format(next(self._number)).encode()
        else:
            payload = payload_of(schema, source, step.row)
        if kind in GRPC:
            assert port is not None
            await self._connected(port)  # OSError while nobody listens
            if kind == "grpc":
                await consumed(port, payload)
            else:
                self._ask(processed(port, payload))
            return
        if kind == "file":
            _filed(source, payload, self._folder, f"part-{next(self._number)}")
            return
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
        for agent in self._agents.values():
            agent.close()
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

        self._ask(self._posted(source, payload, stream))

    def _ask(self, asking: Coroutine[Any, Any, bytes]) -> None:
        async def ask() -> None:
            self._stage.outside.got[self._mark, "answer"].append(await asking)

        self._asking.add(asyncio.create_task(ask()))

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


def _filed(source: ast.Annotation, payload: bytes, folder: Path, name: str) -> None:
    """A line more, or a file more; a file of a folder is there as a whole."""
    header = b"header\n" if source.get("header.present") == "true" else b""
    if (uri := source.get("file.uri")) is not None:
        with path_of(uri).open("ab") as file:
            file.write(payload + b"\n")
        return
    ready = folder / f"{name}.ready"
    ready.write_bytes(header + payload + b"\n")
    ready.rename(path_of(source.get("dir.uri") or "") / name)


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


def _variables(
    schema: StreamSchema, source: ast.Annotation, row: tuple[Any, ...]
) -> dict[str, str]:
    """Values by the names that the `@map` has for them."""
    values = dict(zip(schema.names, row, strict=True))
    mapping = map_of(source)
    named = () if mapping is None else mapping.nested("attributes")[0].elements
    return {each.value: str(values[each.key or ""]) for each in named}
