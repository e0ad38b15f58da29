"""A JMS broker that takes connections and says nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from lockstep.connectors.jms import stomp
from lockstep.connectors.jms.stomp import JmsSink
from lockstep.sinks import Message

PATIENCE_S = 20


@asynccontextmanager
async def silent() -> AsyncIterator[str]:
    """Its address."""

    async def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass
        writer.close()

    server = await asyncio.start_server(taken, "127.0.0.1", 0)
    yield f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


def message(number: int) -> Message:
    """Any."""
    return Message(str(number), b"{}", "application/json", 0, {}, lambda text: text)


def of_jms() -> list[threading.Thread]:
    """The threads that wait for brokers."""
    return [each for each in threading.enumerate() if each.name.startswith("jms")]


@pytest.mark.parametrize("breaks_off", [False, True])
async def test_a_silent_broker_holds_up_its_own_sink_alone(
    monkeypatch: pytest.MonkeyPatch, *, breaks_off: bool
) -> None:
    """More sinks wait than `to_thread` has threads: neighbours work on, and none waits for ever."""
    monkeypatch.setattr(stomp, "TIMEOUT_S", 30.0 if breaks_off else 0.2)
    count = min(32, (os.cpu_count() or 1) + 4) + 1
    async with silent() as url, asyncio.timeout(PATIENCE_S):
        sinks = [JmsSink({"provider.url": url, "destination": "t"}) for _ in range(count)]
        sending = [asyncio.create_task(sink.send(message(1))) for sink in sinks]
        while len(of_jms()) < count:
            await asyncio.sleep(0.01)
        assert await asyncio.to_thread(lambda: "a neighbour") == "a neighbour"
        if breaks_off:
            for task in sending:
                task.cancel()
        ended = await asyncio.gather(*sending, return_exceptions=True)
        for sink in sinks:
            await sink.close()
        while of_jms():
            await asyncio.sleep(0.01)
    if not breaks_off:
        assert {str(error)[:24] for error in ended} == {"the broker at 127.0.0.1:"}
        assert all("has not answered within" in str(error) for error in ended)


@asynccontextmanager
async def leaving(answers: int) -> AsyncIterator[str]:
    """Takes connections; from the second message of each on it hangs up without a word, until so
    many connections were made. Then it answers each message."""
    made = 0

    async def taken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal made
        made += 1
        number, sent = made, 0
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                frame = (await reader.readuntil(b"\0")).lstrip()
                if frame.startswith(b"STOMP"):
                    writer.write(b"CONNECTED\nversion:1.2\nheart-beat:0,0\n\n\0")
                elif frame.startswith(b"SEND"):
                    sent += 1
                    if number > answers:
                        receipt = frame.partition(b"\nreceipt:")[2].partition(b"\n")[0]
                        writer.write(b"RECEIPT\nreceipt-id:" + receipt + b"\n\n\0")
                    elif sent == 2:
                        break
        writer.close()

    server = await asyncio.start_server(taken, "127.0.0.1", 0)
    yield f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def test_messages_that_fail_together_fail_as_the_broker_s_and_come_again() -> None:
    """Each of them closes what is left of the connection. None is called off by another one."""
    async with leaving(3) as url, asyncio.timeout(PATIENCE_S):
        sink = JmsSink({"provider.url": url, "destination": "t"})
        while True:
            sends = (sink.send(message(number)) for number in range(4))
            ended = await asyncio.gather(*sends, return_exceptions=True)
            if ended == [None] * 4:
                break
            assert all(error is None or isinstance(error, OSError) for error in ended)
        await sink.close()
