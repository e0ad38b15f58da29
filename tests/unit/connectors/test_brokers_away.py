"""Connections that end while they are opened, or before what came by them is acknowledged."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from threading import Thread

import pytest
import uvloop

from lockstep.clock import SystemClock
from lockstep.connectors.hl7.mllp import Hl7Source, block
from lockstep.connectors.rabbitmq.sink import RabbitSink
from lockstep.connectors.rabbitmq.source import RabbitSource
from lockstep.embedded import free_port
from lockstep.sources import Place
from lockstep.testing.connectors import message

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())
PATIENCE_S = 30.0
TRIES = 5


@contextlib.contextmanager
def leaving() -> Iterator[int]:
    """A server that ends each connection at once, whatever the loop does meanwhile; its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    server.accept()[0].close()

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)


def test_a_rabbit_that_goes_while_it_is_called_is_away() -> None:
    """Who tries again later knows it by that, whatever the client raises: on the loop that services
    run on it is often no error of its own."""

    async def play(port: int) -> None:
        options = {"uri": f"amqp://guest:guest@127.0.0.1:{port}/", "exchange.name": "x"}
        for _ in range(TRIES):
            source, sink = RabbitSource(options, PLACE), RabbitSink(options)
            with pytest.raises(OSError, match="RabbitMQ"):
                await source.read(max_messages=1, wait_ms=10_000)
            with pytest.raises(OSError, match="RabbitMQ"):
                await sink.send(message(1))
            await source.close()
            await sink.close()

    with leaving() as port, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(play(port))


def test_a_sender_of_hl7_that_is_gone_gets_no_answer() -> None:
    """On the loop that services run on, which refuses to write to who has left."""

    async def play() -> None:
        port = free_port()
        source = Hl7Source({"port": str(port), "hl7.encoding": "er7"}, PLACE)
        assert not await source.read(max_messages=1, wait_ms=1)
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(block(b"MSH|^~\\&|A|A|B|B|||ADT|c1|P|2.3\r"))
        (received,) = await source.read(max_messages=1, wait_ms=10_000)
        writer.transport.abort()
        async with asyncio.timeout(PATIENCE_S):
            while source._listening._connections:
                await asyncio.sleep(0.01)
            await received.acknowledge()
        await source.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(play())
