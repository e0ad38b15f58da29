"""What others look at: rows in Redis, objects in a store of Google, lines of a log, new files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import redis.asyncio

from lockstep.embedded.server import HOST
from lockstep.siddhiql.catalogue import ExtensionKind
from tests.e2e.connectors_counting import of_events
from tests.e2e.connectors_places import Places
from tests.e2e.connectors_sender import Sender
from tests.e2e.connectors_transport import (
    Around,
    Arrivals,
    Family,
    Reader,
    Transport,
    folder_of,
    sink,
)
from tests.google_cloud_storage.server import BUCKET

FOLDER, KEPT, PREFIX, OBJECTS = "watched", "kept", "taken", "taken/"
AT_ONCE: Final = 500


def _sources(around: Around) -> Iterator[Transport]:
    yield Transport(
        ExtensionKind.SOURCE, "fileeventlistener",
        f"@source(type='fileeventlistener', dir.uri='{folder_of(around.places, FOLDER)}')",
        "path string, name string, status string", refuses=False,
        number="convert(name, 'long')", wanted="[status == 'created']",
    )  # fmt: skip


def _sinks(around: Around) -> Iterator[Transport]:
    places = around.places
    yield sink("log", f", prefix='{PREFIX}'", refuses=False)
    yield sink(
        "google-cloud-storage", f", bucket.name='{BUCKET}', object.name='{OBJECTS}{{{{name}}}}',"
        f" endpoint='http://{HOST}:{places.port('gcs')}'",
    )  # fmt: skip
    yield Transport(
        ExtensionKind.STORE, "redis",
        f"@store(type='redis', host='{HOST}', port='{places.port('redis')}',"
        f" password='{places.redis.password}', table.name='{KEPT}')"
        " @PrimaryKey('n') define table Kept (n long, name string, times long);",
        refuses=False,
        filled="from Feed select n, name, 1L as times update or insert into Kept"
        " set Kept.times = Kept.times + times on Kept.n == n;",
    )  # fmt: skip


class Touching(Sender):
    """Files with a number for a name. Nothing about them can be unreadable."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder

    async def send(self, number: int) -> None:
        (self._folder / str(number)).write_text("here")


def _senders(around: Around) -> Mapping[str, Sender]:
    return {"fileeventlistener": Touching(folder_of(around.places, FOLDER))}


async def of_redis(places: Places) -> Arrivals:
    """Each row as often as the app says that its event came."""
    client: Any = redis.asyncio.from_url(places.redis.url, decode_responses=True)
    try:
        names = [name async for name in client.scan_iter(f"{KEPT}:*", count=AT_ONCE)]
        async with client.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.hmget(name, "n", "times")
            rows = await pipe.execute()
        return [("", int(n)) for n, times in rows for _ in range(int(times))]
    finally:
        await client.aclose()


def of_logs(logs: Sequence[Path]) -> Arrivals:
    """What the log sink has written, in whichever publisher."""
    found = []
    for path in logs:
        for line in path.read_text().splitlines():
            if f'"message": "{PREFIX} : ' in line:
                said = json.loads(line)
                found.append((said["id"], said["message"].partition(" : ")[2]))
    return of_events(found)


class Objects:
    """Of Google's store. One that was read is not read again: what overwrites it is the same."""

    def __init__(self, places: Places) -> None:
        self._store = places.gcs
        self._read: dict[str, bytes] = {}

    async def __call__(self) -> Arrivals:
        return await asyncio.to_thread(self._looked)

    def _looked(self) -> Arrivals:
        for name in self._store.about(OBJECTS).keys() - self._read.keys():
            self._read[name] = self._store.read(OBJECTS + name)
        return of_events((name, body.decode()) for name, body in self._read.items())


def _readers(around: Around) -> Mapping[str, Reader]:
    return {
        "log": lambda: of_logs(around.logs),
        "google-cloud-storage": Objects(around.places),
        "redis": lambda: of_redis(around.places),
    }


KEPT_ELSEWHERE: Final = Family(_sources, _sinks, _senders, _readers)
