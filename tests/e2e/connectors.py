"""Every transport whose other side can be had on this machine, while everything breaks: what each
delivers, compared with what its type declares.

`make e2e SCENARIO=connectors` runs two receivers, processors and publishers, and one app with a
source and a sink of each transport. While numbers flow, both receivers are killed, both publishers,
the leading processor, and the servers on the other side; every connection is cut; messages come
that cannot be read, and rows that are refused; the app is deployed anew. Then it counts.
Last line: `connectors: ok transports=<n> kills=<n> lost=0 duplicated=0`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import aiomysql
import asyncpg
import nats

from lockstep.cli.client import Client
from lockstep.cli.processes import ProcessSuite, ServiceProcess, asking_session
from lockstep.cli.replay import send_retrying
from lockstep.client import EventClient, Limits
from lockstep.clock import SystemClock
from lockstep.databases import datasource_of_url
from lockstep.databases.mysql.connections import parameters_of
from lockstep.embedded import free_port
from lockstep.frame import World
from tests.e2e import connectors_app as app
from tests.e2e import connectors_senders as senders
from tests.e2e.connectors_app import CALLED, CHANGED, TABLE
from tests.e2e.connectors_asking import ASKING
from tests.e2e.connectors_brokers import BROKERS
from tests.e2e.connectors_calls import CALLS, Calling
from tests.e2e.connectors_counting import (
    HEAD,
    Line,
    arrived,
    letters,
    readers,
    sources_arrivals,
    total,
)
from tests.e2e.connectors_kept import KEPT_ELSEWHERE
from tests.e2e.connectors_later import LATER
from tests.e2e.connectors_places import Places, places
from tests.e2e.connectors_sender import Sender
from tests.e2e.connectors_transport import (
    APP,
    POISON,
    Around,
    Arrivals,
    Doors,
    Family,
    Reader,
    Transport,
    folder_of,
)
from tests.e2e.handover import until
from tests.e2e.harness import Way, replicas_of, tried
from tests.kafka.topics import create

CLOCK: Final = SystemClock()
PLAN: Final = (
    ("coordinator", "coordinator"), ("processor-1", "processor"), ("processor-2", "processor"),
    ("publisher-1", "publisher"), ("publisher-2", "publisher"), ("presenter", "presenter"),
    ("receiver-1", "receiver"), ("receiver-2", "receiver"),
)  # fmt: skip
FAMILIES: Final[Sequence[Family]] = (BROKERS, CALLS, ASKING, KEPT_ELSEWHERE, LATER)
STEADY: Final = {"LOCKSTEP_LEADER__LEASE_TTL_MS": "5000"}
"""One publisher holds thirty sinks here, on a machine that others use, too; that somebody died is
seen by the connection, as always."""
FLOW_S: Final = 6.0
"""Of numbers between two faults."""
UNCHANGED_MS: Final = 30_000
"""When nothing has arrived for so long, nothing more comes."""
QUIET_S: Final = 3.0
LOOK_S: Final = 1.0
PATIENT: Final = Limits(give_up_after_ms=110_000)


class Feeding(Sender):
    """Numbers for the sinks, by the client."""

    def __init__(self, client: EventClient) -> None:
        super().__init__()
        self._client = client

    async def send(self, number: int) -> None:
        name = POISON if number < 0 else "ok"
        await self._client.put("Feed", (number, name))


@dataclass
class Trial:
    """What runs: transports, who sends to each source, and what was done."""

    suite: ProcessSuite
    world: World
    places: Places
    around: Around
    incoming: list[Transport] = field(default_factory=list)
    outgoing: list[Transport] = field(default_factory=list)
    senders: dict[str, Sender] = field(default_factory=dict)
    readers: dict[str, Reader] = field(default_factory=dict)
    feed: Sender | None = None
    heard: list[bytes] = field(default_factory=list)
    kills: int = 0
    version: int = 0

    async def tell(self, what: str) -> None:
        """On the way."""
        sent = sum(one.sent for one in self.senders.values())
        print(f"connectors: {what} (sent {sent})", flush=True)


async def main(way: Way, flow_s: float) -> int:
    """Runs it; gives the exit code."""

    async def trial(suite: ProcessSuite, world: World) -> bool:
        database = suite.servers.postgres
        assert database is not None
        folder = suite.servers.directory.parent / "far"
        async with (
            places(folder, database.port) as found,
            contextlib.AsyncExitStack() as ending,
        ):
            run = await _prepared(suite, world, found, ending)
            async with Client(suite.addresses) as client:
                await send_retrying(lambda: client.deploy(app.text_of(run.incoming, run.outgoing)))
                with contextlib.ExitStack() as listening:
                    if found.mqtt is not None:
                        hearing = senders.listening(found.mqtt.port, app.MQTT_OUT, run.heard)
                        listening.enter_context(hearing)
                    async with _flowing(run, client):
                        await _broken(run, client, flow_s)
                    return _told(run, await _counted(run))

    return await tried("connectors", trial, way, plan=PLAN, overrides=STEADY)


async def _prepared(
    suite: ProcessSuite, world: World, found: Places, ending: contextlib.AsyncExitStack
) -> Trial:
    """What has to be there on the other side before the app is."""
    around = Around(
        found, suite.settings.store.postgres_dsn.get_secret_value(), suite.servers.nats_url,
        Doors(*(free_port() for _ in range(4))), [one.log for one in suite.of("publisher")], ending,
    )  # fmt: skip
    run = Trial(suite, world, found, around)
    sinks = list(app.sinks(around))
    run.incoming = list(app.sources(around))
    for family in FAMILIES:
        run.incoming += family.sources(around)
        sinks += family.sinks(around)
    run.outgoing = sorted(sinks, key=lambda one: one.is_apart)
    await _made_ready(around)
    run.senders = dict(_senders(run))
    run.readers = dict(readers(around, run.heard))
    for family in FAMILIES:
        run.senders |= family.senders(around)
        run.readers |= family.readers(around)
    return run


async def _made_ready(around: Around) -> None:
    """Tables, streams, topics, folders."""
    found = around.places
    tables = (
        f"CREATE TABLE {CHANGED} (number bigint PRIMARY KEY, n varchar(40))",
        f"CREATE TABLE {TABLE} (n bigint, name varchar(40), CHECK (name <> '{POISON}'))",
        f"CREATE TABLE {CALLED} (n bigint, name varchar(40), CHECK (name <> '{POISON}'))",
    )
    connection = await asyncpg.connect(around.database)
    for statement in tables:
        await connection.execute(statement)
    await connection.close()
    if found.mariadb is not None:
        maria = await aiomysql.connect(**parameters_of(datasource_of_url("far", found.mariadb.url)))
        cursor = await maria.cursor()
        for statement in tables:
            await cursor.execute(statement)
        maria.close()
    bus = await nats.connect(around.bus)
    for name in ("farin", "farout"):
        await bus.jetstream().add_stream(name=name, subjects=[f"{name}.>"])
    await bus.close()
    if found.kafka is not None:
        for topic in (app.KAFKA_IN, app.KAFKA_OUT):
            await asyncio.to_thread(create, found.kafka.url, topic, 1)
    if found.mails is not None:
        await asyncio.to_thread(found.mails.put, app.MAILS)
    for family in FAMILIES:
        await family.prepare(around)


def _senders(run: Trial) -> list[tuple[str, Sender]]:
    """By the names of sources; those without one get what a sink sends."""
    where, doors = run.places, [one.url for one in run.suite.of("receiver")]
    found: list[tuple[str, Sender]] = [
        ("http", senders.Posting(doors, f"/{APP}/In_http")),
        ("http-service", senders.Posting(doors, f"/{APP}/In_http_service")),
        ("nats", senders.Publishing(run.around.bus)),
        ("file lines", senders.Lines(folder_of(where, "lines") / "a.log")),
        ("file folder", senders.Files(folder_of(where, "drop"))),
        ("tcp", senders.Framing(run.around.doors.tcp)),
        ("websocket", senders.Pushing(where)),
        ("hl7", senders.Admitting(run.around.doors.hl7)),
        ("cdc PostgreSQL", senders.Inserting(run.around.database)),
    ]
    if where.mariadb is not None:
        found.append(("cdc MariaDB", senders.MariaInserting(where.mariadb.url)))
    if where.kafka is not None:
        found.append(("kafka", senders.Producing(where.kafka.url)))
    if where.mails is not None:
        found.append(("email", senders.Mailing(where)))
    if where.mqtt is not None:
        found.append(("mqtt", senders.MqttPublishing(where.mqtt.port, app.MQTT_IN)))
    return found


@contextlib.asynccontextmanager
async def _flowing(run: Trial, client: Client) -> AsyncIterator[None]:
    """Numbers go to every source and sink within the block; all that was begun is sent after it."""
    await until(lambda: _all_ready(client), "two ready replicas")
    await until(lambda: _sources_begun(run), "sources that know where they begin")
    doors = [one.url for one in run.suite.of("receiver")]
    async with EventClient(doors, APP, limits=PATIENT) as events:
        run.feed = Feeding(events)
        tasks = [asyncio.create_task(one.run()) for one in (run.feed, *run.senders.values())]
        try:
            yield
        finally:
            for one in (run.feed, *run.senders.values()):
                one.done.set()
            await asyncio.gather(*tasks)


async def _sources_begun(run: Trial) -> bool:
    """Changes of a table come from then on when their source was first read."""
    names = await run.world.store.cursors.names(APP)
    wanted = sum(one.type == "cdc" for one in run.incoming)
    return sum(".begun" in name for name in names) >= wanted


async def _all_ready(client: Client) -> bool:
    replicas = await replicas_of(client, APP)
    ready = [one for one in replicas if one["ready"]]
    return len(ready) == 2 and any(one["role"] == "active" for one in ready)


async def _broken(run: Trial, client: Client, flow_s: float) -> None:
    """One fault after the other, with numbers in between."""
    feed = run.feed
    assert feed is not None

    async def flow(after: str) -> None:
        await run.tell(after)
        await asyncio.sleep(flow_s)

    await flow("numbers flow")
    for one in (feed, *run.senders.values()):
        one.poison()
    await flow("poison was sent")
    for process in run.suite.of("receiver"):
        await _killed(run, process)
        await flow(f"{process.node} was killed")
    for process in run.suite.of("publisher"):
        await _killed(run, process)
        await flow(f"{process.node} was killed")
    leader = next(one["node"] for one in await replicas_of(client, APP) if one["role"] == "active")
    await _killed(run, run.suite.processes[leader])
    await flow(f"{leader}, which led, was killed")
    run.kills += await run.places.away()
    await flow("the other sides were killed")
    await run.places.cut()
    await flow("connections were cut")
    lines = run.senders["file lines"]
    assert isinstance(lines, senders.Lines)
    lines.rotate()
    text = app.text_of(run.incoming, run.outgoing, version=1)
    await send_retrying(lambda: client.deploy(text))
    await flow("the app was deployed anew")
    await _bus_killed(run)
    await flow("NATS was killed")


async def _killed(run: Trial, process: ServiceProcess) -> None:
    """And started again."""
    await process.kill()
    run.kills += 1
    await asyncio.sleep(1)
    process.start()
    async with asking_session(run.suite.settings.client.tls) as session:
        await process.ready(session)


async def _bus_killed(run: Trial) -> None:
    bus = run.suite.servers.nats
    assert bus is not None
    await bus.kill()
    run.kills += 1
    await asyncio.sleep(2)
    await bus.start()


async def _counted(run: Trial) -> list[Line]:
    """When all has arrived, or nothing more does."""
    await run.tell("nothing more is sent")
    lines: list[Line] = []
    before, changed_ms = -1, CLOCK.monotonic_ms()
    while CLOCK.monotonic_ms() - changed_ms < UNCHANGED_MS:
        lines = await _lines(run)
        if not any(one.broken for one in lines):
            await asyncio.sleep(QUIET_S)  # whatever comes twice has come by then
            return await _lines(run)
        now = sum(len(one.arrivals) + one.aside for one in lines)
        if now != before:
            before, changed_ms = now, CLOCK.monotonic_ms()
        await asyncio.sleep(LOOK_S)
    return lines


async def _lines(run: Trial) -> list[Line]:
    assert run.feed is not None
    unreadable, refused, given_up = await letters(run.world)
    got = await sources_arrivals(run.world)
    found = []
    for one in run.incoming:
        sender = run.senders.get(one.name, run.feed)
        poisoned = sender.poisoned if one.name in run.senders else 0
        aside = sender.refused if sender.is_told else unreadable[one.stream]
        found.append(Line(one, sender.sent, poisoned, got[one.stream], aside))
    for number, one in enumerate(run.outgoing):
        name = f"Out.{number}.{one.type}"
        if one.asked:
            sender = run.senders[one.asked]
            found.append(Line(one, sender.sent, sender.poisoned, _answers(sender), 0))
            continue
        arrivals = (
            got["In_inMemory"] if one.type == "inMemory" else await arrived(run.readers[one.name])
        )
        found.append(
            Line(one, run.feed.sent, run.feed.poisoned, arrivals, refused[name], given_up[name])
        )
    return found


def _answers(sender: Sender) -> Arrivals:
    assert isinstance(sender, senders.Posting | Calling)
    return [("", number) for number in sender.answers]


def _told(run: Trial, lines: Sequence[Line]) -> bool:
    """The table and the last line."""
    print(HEAD)
    for line in sorted(lines, key=lambda one: (one.transport.name, one.transport.kind.value)):
        print(line)
    lost, duplicated = total(lines)
    ok = not any(one.broken for one in lines)
    print(
        f"connectors: {'ok' if ok else 'FAILED'} transports={len(lines)} kills={run.kills}"
        f" lost={lost} duplicated={duplicated}"
    )
    return ok


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flow", type=float, default=FLOW_S, help="seconds between two faults")
    Way.ask(parser)
    for talkative in ("aiormq", "stomp.py"):  # each connection that is lost on purpose
        logging.getLogger(talkative).setLevel(logging.CRITICAL)
    parser.set_defaults(executor="reference")
    options = parser.parse_args()
    sys.exit(asyncio.run(main(Way.of(options), options.flow)))
