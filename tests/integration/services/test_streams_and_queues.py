"""Streams of Redis and queues of SQS through a whole suite: over deaths of both sides, a pause of
source and sink, and a message that nobody can read, each row is in the app once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.connectors.redis_peer import RedisFar
from tests.integration.services.cluster import until
from tests.integration.services.conftest import Start
from tests.integration.services.test_pausing import state, tell
from tests.s3.server import s3_server

pytest.importorskip("botocore")
from tests.contract.connectors.sqs_peer import SqsFar, SqsReceiving

NODES = ("coordinator", "processor-1", "receiver-1", "publisher-1")
QUICKLY = {"LOCKSTEP_LEADER__LEASE_TTL_MS": "1500"}
COUNT = 60


@dataclass
class Ends:
    """What an app reads from and writes to; `is_once`: whether the sink promises it."""

    kind: str
    source: dict[str, str]
    sink: dict[str, str]
    into: Any
    out: Any
    is_once: bool

    def text(self) -> str:
        """The app."""
        source, sink = (
            ", ".join(f"{name}='{value}'" for name, value in options.items())
            for options in (self.source, self.sink)
        )
        return (
            f"@app:name('Moved') @source(type='{self.kind}', {source}, @map(type='json',"
            f" @attributes(n='$.n'))) define stream In (n int); @sink(type='{self.kind}', {sink},"
            " @map(type='json')) define stream Out (n int); from In select n insert into Out;"
        )


@asynccontextmanager
async def ends_of(kind: str, folder: Path) -> AsyncIterator[Ends]:
    """Both of them on one server of that kind."""
    if kind == "redis-stream":
        into, out = RedisFar(folder / "redis"), RedisFar(folder / "other")
        out.ports, out.stream = into.ports, "out"
        await into.start()
        try:
            yield Ends(kind, into.options, out.options, into, out, is_once=True)
        finally:
            await into.stop()
        return
    with s3_server() as server:
        queue, back = SqsFar(server, "in"), SqsReceiving(server, "out.fifo")
        short = {**queue.options, "visibility.timeout": "3"}
        yield Ends(kind, short, back.options, queue, back, is_once=False)


async def numbers(ends: Ends) -> Sequence[int]:
    """Of the rows that have arrived, first arrivals in their order, or all of them."""
    found = [json.loads(each.payload)["event"]["n"] for each in await ends.out.received()]
    return found if ends.is_once else list(dict.fromkeys(found))


@pytest.mark.parametrize("kind", ["redis-stream", "sqs"])
async def test_each_row_is_there_once(cluster_of: Start, tmp_path: Path, kind: str) -> None:
    """A receiver, a publisher and the server die; source and sink rest for a while."""
    async with ends_of(kind, tmp_path) as ends, cluster_of(*NODES, **QUICKLY) as cluster:
        app = await cluster.deploy(ends.text())
        source, sink = f"source:In.0.{kind}", f"sink:Out.0.{kind}"
        await state(cluster, app, source, "running")
        await state(cluster, app, sink, "running")

        async def sent(first: int, end: int) -> None:
            for number in range(first, end):
                await ends.into.send(b'{"n": %d}' % number)

        await sent(0, 10)
        await ends.into.send(b"what nobody can read")
        await sent(10, 20)
        await cluster.published_count(app, 20)
        await cluster.start("receiver-2", **QUICKLY)
        await cluster.start("publisher-2", **QUICKLY)
        sending = asyncio.create_task(sent(20, 40))
        await cluster.published_count(app, 22)
        await cluster.crash("receiver-1")
        await cluster.crash("publisher-1")
        await sending
        await cluster.published_count(app, 40)
        assert await tell(cluster, app, f"/{source}/pause", why="rest") == [source]
        await state(cluster, app, source, "paused")
        await sent(40, 50)
        assert len(await cluster.published(app)) == 40
        await ends.into.stop()
        await ends.into.start()
        assert await tell(cluster, app, f"/{source}/resume") == []
        await sent(50, COUNT)
        rows = await cluster.published_count(app, COUNT)
        assert sorted(row.data for row in rows) == [(number,) for number in range(COUNT)]

        async def all_there() -> bool:
            return len(await numbers(ends)) >= COUNT

        await until(all_there, "all rows")
        found = await numbers(ends)
        assert sorted(found) == list(range(COUNT))
        assert list(found) == [row.data[0] for row in rows], "in the order of the output log"
        letters = await cluster.watcher.bus.dead_letters.read(app)
        assert {each.letter.payload for each in letters} == {b"what nobody can read"}
