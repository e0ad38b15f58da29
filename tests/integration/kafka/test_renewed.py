"""Certificates for a real broker that are replaced while bus, source and sink go on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from lockstep.bus.kafka import KafkaBus
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import OutputId, OutputRow, UnavailableError
from lockstep.siddhiql import ast, parse
from lockstep.store.memory import MemoryStore
from lockstep_services.publisher.contract import Batch, SinkBinding
from lockstep_services.publisher.sinks.kafka import KafkaSink
from lockstep_services.receiver.kafka import KafkaMailbox
from lockstep_services.receiver.kafka_options import KafkaOptions
from tests.contract.bus.carriers import fresh_log, one_event, with_limits
from tests.contract.patience import PATIENCE_MS, eventually, read_on
from tests.integration.kafka.test_sink import SCHEMA
from tests.kafka.broker import start_broker
from tests.kafka.secured import SecuredBroker
from tests.kafka.topics import fresh_topic
from tests.tls.certificates import Authority, Pair


@pytest.mark.timeout(600)  # a broker starts twice
async def test_certificates_that_are_replaced_count_without_a_restart(tmp_path: Path) -> None:
    """While no broker takes the new ones, or they are not whole, what is connected goes on; once
    one does, all clients show them, and readers go on where they were."""
    before, after = Authority(tmp_path / "a"), Authority(tmp_path / "b")
    shown, mine = tmp_path / "broker", before.give("client")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(before.file.read_bytes() + after.file.read_bytes())

    class Renewed(SecuredBroker):
        certificates = shown

    _install(shown, before)
    broker = await start_broker(tmp_path / "kafka", Renewed)
    assert isinstance(broker, SecuredBroker)
    url = f"kafka+tls://{broker.tls}?ca={trusted}&cert={mine.certificate}&key={mine.key}"
    # For so long a broker is tried that may take the new ones.
    limits = with_limits(connect_timeout_ms=8_000)
    bus = await KafkaBus.connect(url, limits, SystemClock(), SystemRandomness())
    try:
        async with _connected(broker.tls, trusted, mine) as app:
            log = await bus.input_log(fresh_log())
            await log.append(one_event(1), dedup_id="1")
            assert [entry.record for entry in await read_on(log.read, 0, 1)] == [one_event(1)]
            await app.carries(1)

            with capture_logs() as said:
                theirs = after.give("client")
                mine.key.write_bytes(theirs.key.read_bytes())
                mine.certificate.write_bytes(theirs.certificate.read_bytes())
                await eventually(lambda: _said(said, "no broker takes the new certificates yet"))
                # Somebody writes them once more, and not at one stroke.
                mine.key.write_bytes(b"")
                await eventually(lambda: _failed(said, "ssl.key.location"))
                mine.key.write_bytes(theirs.key.read_bytes())
                await log.append(one_event(2), dedup_id="2")

                await broker.kill()
                _install(shown, after)
                await broker.start()
                await eventually(lambda: _said(said, "new certificates are used"))
            await log.append(one_event(3), dedup_id="3")
            found = [entry.record for entry in await read_on(log.read, 1, 2)]
            assert found == [one_event(2), one_event(3)]
            await log.trim(2)
            assert await log.bounds() == (3, 3)
            await app.carries(2)
    finally:
        await bus.close()
        await broker.kill()


@dataclass
class _App:
    """A sink that writes a topic, and a source that reads it."""

    sink: KafkaSink
    source: KafkaMailbox

    async def carries(self, number: int) -> None:
        """A row goes out and comes in, as soon as the broker lets it."""
        row = OutputRow(OutputId(number, 0), "Out", number, ("attic", number))

        async def is_delivered() -> bool:
            try:
                await self.sink.deliver(Batch(number, [row]))
            except UnavailableError:
                return False
            return True

        async def comes() -> bool:
            mails = await self.source.read(max_messages=10, wait_ms=500)
            for mail in mails:
                await mail.acknowledge()
            return any(f'"value":{number}' in mail.payload.decode() for mail in mails)

        await eventually(is_delivered)
        await eventually(comes)


@asynccontextmanager
async def _connected(servers: str, trusted: Path, mine: Pair) -> AsyncIterator[_App]:
    configuration = (
        f"security.protocol:SSL,ssl.ca.location:{trusted},"
        f"ssl.certificate.location:{mine.certificate},ssl.key.location:{mine.key}"
    )
    topic = fresh_topic()
    common = f"bootstrap.servers='{servers}', optional.configuration='{configuration}'"
    sink = KafkaSink(
        SinkBinding(f"App-{topic}", SCHEMA, "Out.0.kafka"),
        _annotation(f"@sink(type='kafka', topic='{topic}', {common})"),
        MemoryStore().cursors,
        timeout_ms=PATIENCE_MS,
    )
    read = f"@source(type='kafka', topic.list='{topic}', group.id='{topic}', {common})"
    source = KafkaMailbox(KafkaOptions.of(_annotation(read)), SystemClock())
    try:
        yield _App(sink, source)
    finally:
        await sink.close()
        await source.close()


def _annotation(text: str) -> ast.Annotation:
    definition = parse(f"{text} define stream Out (room string, value int);").definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    return definition.annotations[0]


def _install(folder: Path, authority: Authority) -> None:
    """What a broker trusts and shows."""
    folder.mkdir(exist_ok=True)
    pair = authority.give("broker", ["localhost", "127.0.0.1"])
    (folder / "ca.pem").write_bytes(authority.file.read_bytes())
    (folder / "broker.pem").write_bytes(pair.certificate.read_bytes() + pair.key.read_bytes())


async def _said(lines: Sequence[Mapping[str, object]], what: str) -> bool:
    return any(line["event"] == what for line in lines)


async def _failed(lines: Sequence[Mapping[str, object]], why: str) -> bool:
    return any(why in str(line.get("error")) for line in lines)
