"""Schemas of sources: asked for before the first message, with the app's secrets."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.clock import VirtualClock
from lockstep.control import AppView
from lockstep.events import Life, UnavailableError
from lockstep.plan import build
from lockstep.schemas import RegisteredSchema, SchemaRefusedError, Wanted
from lockstep.schemas.registry import AWAY_FOR_MS, SchemaRegistry
from lockstep.secrets import Vault
from lockstep.siddhiql import check
from lockstep.store import Deployment
from lockstep_services.receiver.schemas import SchemaFetcher, SourceSchemas
from lockstep_services.receiver.sources import SourceBook
from tests.schema_registry import RegistryServer

SCHEMA = json.dumps({"type": "record", "name": "S", "fields": [{"name": "n", "type": "int"}]})
APP = """
@source(type='http', receiver.url='http://h:1/plain', @map(type='json'))
@source(type='http', receiver.url='http://h:1/avro',
        @map(type='avro', schema.id='1',
             schema.registry='http://lockstep:${secret:registry}@127.0.0.1:PORT'))
define stream S (n int);
from S select n insert into Out;
"""


class Log:
    """What was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def warning(self, event: str, **_: Any) -> None:
        """Kept."""
        self.told.append(event)

    info = warning


class World:
    """A registry with a password, and a receiver's way to it."""

    def __init__(self, server: RegistryServer, folder: Path) -> None:
        self.server = server
        self.clock = VirtualClock()
        self.log = Log()
        log: Any = self.log
        self.registry = SchemaRegistry(self.clock, log)
        self.schemas = SourceSchemas(self.registry, Vault(str(folder)))
        text = APP.replace("PORT", server.url.rpartition(":")[2])
        view = AppView(Deployment("A", text, "1", Life(0, 1), 1, 0), build(check(text)))
        catalogue: Any = SimpleNamespace(views=[view], changes=1)
        book = SourceBook(catalogue)
        self.fetcher = SchemaFetcher(book, self.schemas, self.clock, log)
        reader = book.of(view)[1].reader
        assert reader is not None
        self.reader = reader


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """It runs, and nobody knows its password yet."""
    server = RegistryServer()
    server.put("s-value", SCHEMA)
    server.password = "key"
    async with server.running():
        made = World(server, tmp_path)
        yield made
        await made.registry.close()


async def test_sources_have_their_schemas_before_the_first_message(
    world: World, tmp_path: Path
) -> None:
    """Without the secret and while the registry is away they wait, which is told once."""
    await world.fetcher.fetch()
    assert world.server.asked == []
    (tmp_path / "registry").write_text("key")
    world.server.is_away = True
    for _ in range(3):
        await world.fetcher.fetch()
        await world.clock.advance_ms(AWAY_FOR_MS)
    assert world.log.told.count("a source waits for its schema") == 1
    assert world.log.told.count("a schema registry is away") == 1
    world.server.is_away = False
    await world.fetcher.fetch()
    assert world.log.told[-1] == "the schema registry is back"
    asked = len(world.server.asked)
    await world.schemas.bring("A", world.reader.registered, b"\x0a")
    [[event]] = world.reader.read(b"\x0a", {}).chunks
    assert event.data == (5,)
    assert len(world.server.asked) == asked


async def test_a_message_waits_as_long_as_the_secret_is_not_there(world: World) -> None:
    """As for a registry that is away: the sender tries again."""
    with pytest.raises(UnavailableError, match="registry"):
        await world.schemas.bring("A", world.reader.registered, b"\x0a")


async def test_what_a_registry_says_is_without_the_secrets_of_its_address(
    world: World, tmp_path: Path
) -> None:
    """It may repeat what it was asked: that goes to senders and dead letters."""
    (tmp_path / "registry").write_text("s3cr3t")

    class Repeating:
        """A registry that does."""

        async def get(self, wanted: Wanted) -> RegisteredSchema:
            """Never."""
            raise SchemaRefusedError(f"nothing at {wanted.registry}", where=wanted.registry)

    schemas = SourceSchemas(Repeating(), Vault(str(tmp_path)))
    with pytest.raises(SchemaRefusedError, match=r"nothing at http://lockstep:\*\*\*@") as error:
        await schemas.bring("A", world.reader.registered, b"\x0a")
    assert "s3cr3t" not in str(error.value)
