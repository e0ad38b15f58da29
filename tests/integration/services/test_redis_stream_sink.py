"""@sink(type='redis-stream') as the publisher builds it: each row once, however publishers die."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.events import OutputRow
from lockstep.secrets import Vault
from lockstep.siddhiql import ast, check
from lockstep.telemetry import get_logger
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import Batch, Sink, SinkBinding
from tests.contract.connectors.redis_peer import PASSWORD, USER, RedisFar
from tests.unit.services.publisher.parts import Cursors, KilledError, Mortal, row, sink_of


@pytest.fixture
async def far(tmp_path: Path) -> AsyncIterator[RedisFar]:
    """A server that runs."""
    made = RedisFar(tmp_path / "redis")
    await made.start()
    yield made
    await made.stop()


def sink(far: RedisFar, cursors: Cursors) -> Sink:
    """As the publisher builds it; what was in memory before is gone."""
    text = (
        f"@sink(type='redis-stream', url='{far.options['url']}', stream.name='to.{{{{k}}}}',"
        f" username='{USER}', password='{PASSWORD}', @map(type='json'))"
        " define stream S (k string, v int);"
    )
    schema, annotation = sink_of(text)
    definition = check(text).app.definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    clock = VirtualClock()
    factory = SinkFactory(
        cursors, MemoryBus(MemoryCarrier(clock)).topics, get_logger(), datasources={},
        default_dsn="", max_connections=1, statement_timeout_ms=1_000, vault=Vault(""), clock=clock,
    )  # fmt: skip
    return factory.sink_of(SinkBinding("A", schema, "S.0.redis"), annotation, definition)


ALL = [
    row(position, "ab"[ordinal % 2], 10 * position + ordinal, ordinal=ordinal)
    for position in range(1, 40)
    for ordinal in range(4)
]


async def values(far: RedisFar, stream: str) -> list[int]:
    """Of the rows in a stream, in its order."""
    return [json.loads(each["payload"])["event"]["v"] for each in await far.entries(stream)]


@pytest.mark.parametrize(("first", "again"), [(2, 12), (70, 63), (100, 1), (156, 50)])
async def test_a_publisher_that_is_killed_before_its_cursor_moves(
    far: RedisFar, first: int, again: int
) -> None:
    """The next one cuts batches elsewhere: each row is in its stream once, in order."""
    cursors = Mortal()
    killed = sink(far, cursors)
    assert await killed.open() == 0
    cursors.deaths = 1
    with pytest.raises(KilledError):
        await killed.deliver(Batch(first, ALL[:first]))
    assert len(await values(far, "to.a")) + len(await values(far, "to.b")) == first
    after = sink(far, cursors)
    assert await after.open() == 0
    for begin in range(0, len(ALL), again):
        part: list[OutputRow] = ALL[begin : begin + again]
        await after.deliver(Batch(begin + len(part), part))
    for each in (killed, after):
        await each.close()
    for key in "ab":
        wanted = [each.data[1] for each in ALL if each.data[0] == key]
        assert await values(far, f"to.{key}") == wanted
    assert not after.takes_again
