"""What has arrived by each transport, compared with what its type promises."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import aiomysql
import asyncpg
import nats

from lockstep.cli.demo.published import read_published
from lockstep.databases import datasource_of_url
from lockstep.databases.mysql.connections import parameters_of
from lockstep.frame import World
from lockstep.siddhiql.catalogue import Delivery, ExtensionKind
from tests.e2e.connectors_app import KAFKA_OUT, NATS_OUT, TABLE
from tests.e2e.connectors_places import Places
from tests.e2e.connectors_transport import (
    APP,
    POISON,
    Around,
    Arrivals,
    Reader,
    Transport,
    folder_of,
)
from tests.kafka.topics import committed
from tests.s3.server import BUCKET

FETCHED: Final = 500
LETTERS: Final = 10_000
LETTERS_BYTES: Final = 1_000_000_000
KEPT: Final = (Delivery.EXACTLY_ONCE, Delivery.IDENTIFIED, Delivery.AT_LEAST_ONCE)
"""Nothing is lost."""


@dataclass(slots=True)
class Line:
    """Of the table. `again`: came once more under the identity of the first time."""

    transport: Transport
    sent: int
    poisoned: int
    arrivals: Arrivals
    aside: int
    given_up: int = 0
    lost: int = field(init=False)
    twice: int = field(init=False)
    again: int = field(init=False)

    def __post_init__(self) -> None:
        numbers = Counter(number for _, number in self.arrivals if number >= 0)
        self.lost = sum(number not in numbers for number in range(self.sent))
        extra = sum(numbers.values()) - len(numbers)
        known = Counter(one for one in self.arrivals if one[0])
        identified = self.transport.delivery is Delivery.IDENTIFIED
        self.again = sum(known.values()) - len(known) if identified else 0
        self.twice = extra - self.again

    @property
    def broken(self) -> list[str]:
        """What of the promise was not kept."""
        delivery = self.transport.delivery
        found = []
        if self.lost and delivery in KEPT:
            found.append(f"lost {self.lost}")
        if self.twice and delivery in (Delivery.EXACTLY_ONCE, Delivery.IDENTIFIED):
            found.append(f"duplicated {self.twice}")
        if self.aside != (self.poisoned if self.transport.refuses else 0):
            found.append(f"{self.aside} of {self.poisoned} unreadable ones put aside")
        if self.given_up:
            found.append(f"given up {self.given_up}")
        if not self.arrivals:
            found.append("nothing arrived")
        return found

    def __str__(self) -> str:
        one = self.transport
        verdict = ", ".join(self.broken) or "kept"
        arrived = len(self.arrivals)
        return (
            f"{one.name:<30} {one.kind.value:<6} {one.delivery:<28} {self.sent:>6} {arrived:>7}"
            f" {self.lost:>5} {self.twice:>5} {self.again:>5} {self.poisoned:>6} {self.aside:>5}"
            f"  {verdict}"
        )


HEAD: Final = (
    f"{'transport':<30} {'way':<6} {'promise':<28} {'sent':>6} {'arrived':>7} {'lost':>5}"
    f" {'twice':>5} {'again':>5} {'poison':>6} {'aside':>5}"
)


async def sources_arrivals(world: World) -> Mapping[str, Arrivals]:
    """By stream, as the output log has them."""
    log = await world.bus.output_log(max(await world.bus.logs(APP)))
    published = await read_published(log)
    found = {name: [("", int(row[1])) for row in rows] for name, rows in published.rows.items()}
    return defaultdict(list, {name.removeprefix("Got_"): rows for name, rows in found.items()})


async def letters(world: World) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """Unreadable messages by stream; refused rows by sink; rows by sink that were given up."""
    unreadable: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    given_up: Counter[str] = Counter()
    for stored in await world.bus.dead_letters.read(
        APP, max_records=LETTERS, max_bytes=LETTERS_BYTES
    ):
        letter = stored.letter
        if not letter.origin.startswith("publisher/"):
            unreadable[letter.stream] += 1
            continue
        body = json.loads(letter.payload)
        chosen = refused if body["event"].get("name") == POISON else given_up
        chosen[body["sink"]] += 1
    return unreadable, refused, given_up


def of_book(path: Path) -> Arrivals:
    """As the far server has written it."""
    lines = path.read_text().splitlines() if path.exists() else []
    split = (line.split("\t") for line in lines)
    return [(identity, int(number)) for identity, number in split]


def of_events(payloads: Iterable[tuple[str, str]]) -> Arrivals:
    """Of messages in the plain form, but those with the name that others refuse."""
    events = ((identity, json.loads(text)["event"]) for identity, text in payloads)
    return [(identity, event["n"]) for identity, event in events if event["name"] != POISON]


async def of_stream(url: str) -> Arrivals:
    """All that the stream of the bus keeps of what the nats sink has sent."""
    connection = await nats.connect(url)
    found: list[tuple[str, str]] = []
    try:
        reading = await connection.jetstream().pull_subscribe(NATS_OUT)
        while True:
            try:
                messages = await reading.fetch(FETCHED, timeout=1)
            except TimeoutError:
                return of_events(found)
            for one in messages:
                found.append(((one.headers or {}).get("Nats-Msg-Id", ""), one.data.decode()))
                await one.ack()
    finally:
        await connection.close()


def of_bucket(places: Places) -> Arrivals:
    """An object each."""
    client = places.s3.client()
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="taken/")
    keys = [one["Key"] for page in pages for one in page.get("Contents", ())]
    read = ((key, client.get_object(Bucket=BUCKET, Key=key)["Body"].read()) for key in keys)
    return of_events((key, body.decode()) for key, body in read)


def of_lines(path: Path) -> Arrivals:
    """Of a file."""
    return of_events(("", line) for line in path.read_text().splitlines()) if path.exists() else []


async def of_postgres(dsn: str, table: str = TABLE) -> Arrivals:
    """Rows."""
    connection = await asyncpg.connect(dsn)
    try:
        return [("", int(row["n"])) for row in await connection.fetch(f"SELECT n FROM {table}")]
    finally:
        await connection.close()


async def of_mariadb(url: str, table: str = TABLE) -> Arrivals:
    """Rows."""
    connection = await aiomysql.connect(**parameters_of(datasource_of_url("far", url)))
    try:
        cursor = await connection.cursor()
        await cursor.execute(f"SELECT n FROM {table}")
        return [("", int(row[0])) for row in await cursor.fetchall()]
    finally:
        connection.close()


def readers(around: Around, heard: Sequence[bytes]) -> Mapping[str, Reader]:
    """By the name of a sink: what tells what has arrived. `heard`: over MQTT."""
    places, database = around.places, around.database
    book, files = places.far.book, folder_of(places, "out")

    async def kafka() -> Arrivals:
        assert places.kafka is not None
        rows = await asyncio.to_thread(committed, places.kafka.url, KAFKA_OUT)
        return of_events((row.id or "", row.value) for row in rows)

    async def mariadb() -> Arrivals:
        assert places.mariadb is not None
        return await of_mariadb(places.mariadb.url)

    return {
        **{
            name: partial(of_book, book / name)
            for name in ("http", "http-call", "tcp", "websocket", "hl7", "email")
        },
        "nats": lambda: of_stream(around.bus),
        "kafka": kafka,
        "file one": lambda: of_lines(files / "one"),
        "file each": lambda: of_lines(files / "ok.lines"),
        "s3": lambda: asyncio.to_thread(of_bucket, places),
        "rdbms PostgreSQL": lambda: of_postgres(database),
        "rdbms MariaDB": mariadb,
        "mqtt": lambda: of_events(("", one.decode()) for one in heard),
    }


async def arrived(reader: Reader) -> Arrivals:
    """Of either kind."""
    found = reader()
    return list(found if isinstance(found, list) else await found)


def total(lines: Iterable[Line]) -> tuple[int, int]:
    """Lost where nothing may be, doubled where nothing may be."""
    kept = [one for one in lines if one.transport.delivery in KEPT]
    once = [one for one in kept if one.transport.delivery is not Delivery.AT_LEAST_ONCE]
    return sum(one.lost for one in kept), sum(one.twice for one in once)


def is_source(transport: Transport) -> bool:
    """And not a sink."""
    return transport.kind is ExtensionKind.SOURCE
