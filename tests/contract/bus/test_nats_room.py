"""A NATS server that lets the suite have only so much: bytes, and numbers of streams."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from lockstep.bus import BusLimits, LogName, NoRoomError
from lockstep.bus.nats import NatsBus, jetstream
from lockstep.bus.nats.jetstream import JetStream
from lockstep.bus.nats.reader import LogReader
from lockstep.bus.subjects import DEAD_STREAM, INGRESS_STREAM, input_subject, stream_name
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import NatsServer
from lockstep.embedded.nats_server import ACCOUNTS_FILE, SUITE_ACCOUNT
from lockstep.store.memory import MemoryStore
from lockstep.telemetry import get_logger
from lockstep_services.coordinator.app_logs import AppLogs
from tests.contract.bus.carriers import LIMITS, fresh_log, one_event, with_limits
from tests.contract.patience import read_on

pytestmark = pytest.mark.servers

BYTES = BusLimits().dead_letters_max_bytes
USUAL = with_limits(dead_letters_max_bytes=BYTES, ingress_max_bytes=BYTES)

"""Two of which the small server has room for, and not for one of them more."""

Asked = list[str]


class SmallServer(NatsServer):
    """One with so many bytes for all that it stores."""

    max_file = "600M"

    async def _prepare(self) -> None:
        await super()._prepare()
        file = self.directory / "nats.conf"
        limit = f"jetstream {{\n  max_file_store: {self.max_file}"
        file.write_text(file.read_text().replace("jetstream {", limit, 1))


@asynccontextmanager
async def limited(folder: Path, limits: str = "") -> AsyncIterator[NatsServer]:
    """A server with so much room: 600 MB, or what an account of such limits has."""
    made = NatsServer if limits else SmallServer
    nats = made(folder, clock=SystemClock(), randomness=SystemRandomness())
    if limits:
        (folder / ACCOUNTS_FILE).write_text(
            f"accounts {{ {SUITE_ACCOUNT}: {{ jetstream: {{ {limits} }},"
            f' users: [ {{ user: lockstep, password: "{nats.password}" }} ] }} }}\n'
        )
    await nats.start()
    try:
        yield nats
    finally:
        await nats.stop()


@asynccontextmanager
async def connected(server: NatsServer, limits: BusLimits = LIMITS) -> AsyncIterator[NatsBus]:
    """One process."""
    bus = await NatsBus.connect(server.url, limits, SystemRandomness())
    try:
        yield bus
    finally:
        await bus.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """The administrative calls of all buses, one after the other."""
    calls: Asked = []
    really: Callable[..., Any] = JetStream.call

    async def call(made: JetStream, endpoint: str, request: Any = None) -> Any:
        calls.append(endpoint)
        return await really(made, endpoint, request)

    monkeypatch.setattr(JetStream, "call", call)
    return calls


async def test_what_is_there_needs_no_room_a_second_time(tmp_path: Path, asked: Asked) -> None:
    """The server reserves a stream's bytes before it looks at its name: whoever asked it to make
    what it has would be refused. A process that finds all as it wants it asks for each once."""
    async with limited(tmp_path) as server:
        async with connected(server, USUAL):
            pass
        asked.clear()
        async with connected(server, USUAL):
            pass
        assert asked == [f"STREAM.INFO.{name}" for name in (DEAD_STREAM, INGRESS_STREAM)]


async def test_other_limits_are_brought_to_a_stream_where_there_is_little_room(
    tmp_path: Path,
) -> None:
    """To a lower one, to a higher one as far as there is room, and no further: then the error says
    what to do."""
    async with limited(tmp_path) as server:
        for dead in (BYTES, BYTES - 1, BYTES + 50_000_000):
            changed = with_limits(dead_letters_max_bytes=dead, ingress_max_bytes=BYTES)
            async with connected(server, changed) as bus:
                info = await bus._jetstream.call(f"STREAM.INFO.{DEAD_STREAM}")
                assert info["config"]["max_bytes"] == dead
        with pytest.raises(NoRoomError, match="disk space"):
            await NatsBus.connect(
                server.url, with_limits(dead_letters_max_bytes=2 * BYTES), SystemRandomness()
            )


async def test_a_stream_that_somebody_else_makes_meanwhile_is_brought_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes start at a time with other limits: the last one's hold, and neither fails."""
    async with limited(tmp_path, "max_file: 1G") as server, connected(server, USUAL) as bus:
        monkeypatch.setattr(jetstream, "_config_of", AsyncMock(return_value=None))
        for limits in (USUAL, LIMITS):
            async with connected(server, limits):
                info = await bus._jetstream.call(f"STREAM.INFO.{DEAD_STREAM}")
                assert info["config"]["max_bytes"] == limits.dead_letters_max_bytes


async def test_a_log_that_is_there_needs_no_room_for_another_stream(tmp_path: Path) -> None:
    """With all streams made that the account may have, apps go on, and a new one is told whose
    limit it is."""
    async with limited(tmp_path, "max_file: 1G, max_streams: 3") as server:
        name = fresh_log()
        async with connected(server) as bus:
            log = await bus.input_log(name)
            await log.append(one_event(1))
        async with connected(server) as bus:
            log = await bus.input_log(name)
            await log.append(one_event(2))
            assert len(await read_on(log.read, 0, 2)) == 2
            with pytest.raises(NoRoomError, match="raise max_streams of the account"):
                await bus.output_log(name)


async def test_an_app_that_gets_no_output_log_leaves_no_input_log(tmp_path: Path) -> None:
    """It would take one of the streams, though no app has it. What was there before stays, and with
    one stream more the app gets both."""
    limits = "max_file: 1G, max_streams: 5"
    async with limited(tmp_path, limits) as server, connected(server) as bus:
        logs = AppLogs(MemoryStore(), bus, SystemClock(), get_logger(), lambda _app: False)
        await logs.found_by("A", None, 1_000)
        for _ in range(2):
            with pytest.raises(NoRoomError, match="raise max_streams of the account"):
                await logs.found_by("B", None, 2_000)
            assert await bus.logs(None) == [LogName("A", since_ms=1_000)]
        before = LogName("C", since_ms=2_000)
        await bus.input_log(before)
        with pytest.raises(NoRoomError):
            await logs.found_by("C", None, 3_000)
        assert before in await bus.logs(None)
        await bus.remove_logs(LogName("A", since_ms=1_000))
        _, origin = await logs.found_by("C", None, 4_000)
        assert origin.logs_since_ms == before.since_ms
        await bus.output_log(before, make=False)


async def test_an_account_without_another_consumer_says_so(tmp_path: Path) -> None:
    """To whoever reads; others read on."""
    async with limited(tmp_path, "max_file: 1G, max_consumers: 1") as server:
        name = fresh_log()
        async with connected(server) as bus:
            log = await bus.input_log(name)
            for number in (1, 2):
                await log.append(one_event(number))
            stream = stream_name(input_subject(name))
            first, second = (
                LogReader(bus._jetstream, stream, SystemRandomness(), bus._bells) for _ in range(2)
            )
            read = {"max_records": 1, "max_bytes": 1_000, "wait_ms": 100}
            assert [one.sequence for one in await first.read(0, **read)] == [1]
            with pytest.raises(NoRoomError, match="raise max_consumers of the account"):
                await second.read(0, **read)
            assert [one.sequence for one in await first.read(1, **read)] == [2]
