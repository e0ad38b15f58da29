"""What has to be there before an app is deployed: topics, folders, tables, schemas, answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any, Final

from lockstep.events import AttributeType, StreamSchema
from lockstep.mapping import annotated, map_of
from lockstep.siddhiql import CheckedApp, ast
from tests.kafka import topics
from tests.older_apps.playing import brokers
from tests.older_apps.playing.choosing import ANSWERS
from tests.older_apps.playing.payloads import payload_of
from tests.older_apps.playing.stage import Stage
from tests.older_apps.playing.statements import ANSWERS as OF_STATEMENTS
from tests.older_apps.playing.statements import asking, prerequisites

PARTITIONS: Final = 2
SQL_TYPES: Final = {
    AttributeType.STRING: "VARCHAR(200)", AttributeType.INT: "INT", AttributeType.LONG: "BIGINT",
    AttributeType.FLOAT: "FLOAT", AttributeType.DOUBLE: "DOUBLE", AttributeType.BOOL: "BOOLEAN",
}  # fmt: skip


async def prepare(stage: Stage, checked: CheckedApp, mark: str) -> None:
    """Of one app, as it is deployed."""
    for schema, _, source in annotated(checked, "source"):
        kind = kind_of_source(source)
        if kind == "kafka":
            await _topics(stage, source.get("topic.list") or "")
        elif kind in ("file", "fileeventlistener"):
            _folders(source)
        elif kind == "cdc":
            await stage.database(mark, [_table(schema, source)])
        elif kind in ANSWERS and kind != OF_STATEMENTS:
            row = tuple(_plain(each.type) for each in schema.attributes)
            stage.outside.answers[mark] = payload_of(schema, source, row)
    for schema, _, sink in annotated(checked, "sink"):
        if kind_of_source(sink) == "kafka":
            await _topics(stage, sink.get("topic") or "")
        if (mapping := map_of(sink)) is not None and mapping.get("schema.registry"):
            stage.registry.put(schema.name, _avro(schema))
    if subjects := [
        one.get("destination") or ""
        for side in ("source", "sink")
        for _, _, one in annotated(checked, side)
        if kind_of_source(one) == "nats"
    ]:
        await brokers.keep(stage.places, mark, subjects)
    await _databases(stage, checked, mark)


async def _databases(stage: Stage, checked: CheckedApp, mark: str) -> None:
    """For tables that are stored, and for those that statements are about."""
    stored = [*checked.tables.values(), *checked.app.definitions]
    if any(
        one.name.lower() == "store" and "mysql" in (one.get("jdbc.url") or "")
        for each in stored
        for one in getattr(each, "annotations", ())
    ):
        await stage.database(mark)
    if asking(checked):
        await stage.database(mark, list(prerequisites(checked.text)))


def _folders(source: ast.Annotation) -> None:
    for key in ("dir.uri", "move.after.process"):
        if (uri := source.get(key)) is not None:
            path_of(uri).mkdir(parents=True, exist_ok=True)
    if (uri := source.get("file.uri")) is not None:
        path_of(uri).parent.mkdir(parents=True, exist_ok=True)


def kind_of_source(annotation: ast.Annotation) -> str:
    """Its type, in small letters."""
    return (annotation.get("type") or "").lower()


def path_of(uri: str) -> Path:
    """Of a file."""
    return Path(uri.removeprefix("file:"))


async def _topics(stage: Stage, names: str) -> None:
    assert stage.kafka is not None
    for name in filter(None, names.split(",")):
        with contextlib.suppress(Exception):  # a sink and a source may share it
            await asyncio.to_thread(topics.create, stage.kafka.url, name.strip(), PARTITIONS)


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
