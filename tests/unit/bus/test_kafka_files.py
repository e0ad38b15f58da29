"""Certificates of the Kafka bus that are being written while clients are made of them. No broker is
needed for what a client of before does then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from structlog.testing import capture_logs

from lockstep.bus.kafka import connection as connecting
from lockstep.bus.kafka import reading_client
from lockstep.bus.kafka.address import parse_address
from lockstep.bus.kafka.connection import Connection
from lockstep.bus.kafka.reading_client import ReadingClient
from lockstep.events import UnavailableError
from tests.contract.bus.carriers import with_limits
from tests.contract.patience import eventually
from tests.tls.certificates import Authority, Pair

LIMITS = with_limits(connect_timeout_ms=1_000, publish_timeout_ms=1_000)
SOON_S = 0.05


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Whom the bus trusts, and who gave it its certificate."""
    return Authority(tmp_path)


@pytest.fixture
def mine(authority: Authority) -> Pair:
    """What the bus shows."""
    return authority.give("me")


@pytest.fixture
async def connection(
    authority: Authority, mine: Pair, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Connection]:
    """To a broker that is not there."""
    monkeypatch.setattr(connecting, "_LOOK_S", SOON_S)
    monkeypatch.setattr(reading_client, "_REOPEN_S", SOON_S)
    files = f"ca={authority.file}&cert={mine.certificate}&key={mine.key}"
    made = Connection(parse_address(f"kafka+tls://127.0.0.1:1?{files}"), LIMITS, "test")
    yield made
    await made.close()


async def test_new_certificates_are_tried_until_they_are_whole(
    connection: Connection, authority: Authority, mine: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are wanted, as no broker took them yet. Then somebody writes others, one file after the
    other."""
    exchanged = asyncio.Event()

    async def exchange() -> None:
        exchanged.set()

    monkeypatch.setattr(connection._sender, "exchange", exchange)
    told: list[Any]
    with capture_logs() as told:
        connection.look_after_files()
        await asyncio.sleep(0)
        authority.give("me")
        await eventually(lambda: _is_told(told, "Failed to get metadata"))
        whole = mine.key.read_bytes()
        mine.key.write_text("half")
        await eventually(lambda: _is_told(told, "ssl.key.location"))
        mine.key.write_bytes(whole)
        del told[:]
        await eventually(lambda: _is_told(told, "Failed to get metadata"))
        # A broker is there.
        monkeypatch.setattr(AdminClient, "list_topics", _no_topics)
        await asyncio.wait_for(exchanged.wait(), 10)
    assert connection.made == 2


async def test_a_producer_that_cannot_be_exchanged_goes_on(
    connection: Connection, mine: Pair
) -> None:
    """What is sent then goes its way, and with whole files there is another producer."""
    sender, whole = connection._sender, mine.key.read_bytes()
    before = sender._producer
    mine.key.write_text("half")
    with pytest.raises(KafkaException):
        await sender.exchange()
    assert sender._producer is before
    # Handed to the client, which tells what became of it; `where` alone would wait for longer.
    with pytest.raises(UnavailableError, match="timed out"):
        await sender.send("t", b"x", where="t")
    mine.key.write_bytes(whole)
    await sender.exchange()
    assert sender._producer is not before


async def test_a_reader_goes_on_until_the_files_are_whole(
    connection: Connection, authority: Authority
) -> None:
    """With the client that it had; then with another one."""
    reader = ReadingClient(connection, 1_000_000, 1_000, asyncio.Event())
    try:
        reader.add(("t", 0), 0)
        before, whole = reader._consumer, authority.file.read_bytes()
        told: list[Any]
        with capture_logs() as told:
            authority.file.write_bytes(b"")
            connection.made += 1
            await eventually(lambda: _is_told(told, "cannot be used to read yet"))
        assert reader._thread.is_alive()
        assert reader._consumer is before
        authority.file.write_bytes(whole)

        async def is_another() -> bool:
            return reader._consumer is not before

        await eventually(is_another)
        assert reader._thread.is_alive()
    finally:
        await reader.close()


async def test_clients_that_are_made_later_are_unavailable_meanwhile(
    connection: Connection, authority: Authority
) -> None:
    """Those for the controller and those that read: it may be tried again."""
    whole = authority.file.read_bytes()
    authority.file.write_bytes(b"")
    with pytest.raises(UnavailableError, match=r"ssl\.ca\.location"):
        _ = connection.controlling
    with pytest.raises(UnavailableError, match=r"ssl\.ca\.location"):
        ReadingClient(connection, 1_000_000, 1_000, asyncio.Event())
    authority.file.write_bytes(whole)
    assert connection.controlling is not None


def _no_topics(*_: object, **__: object) -> None:
    """The answer of a broker."""


async def _is_told(lines: list[Any], what: str) -> bool:
    return any(what in str(line) for line in lines if line["log_level"] == "warning")
