"""Answers of apps on their way to the receivers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import pytest

from lockstep.bus import Topics
from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.control import AnswerTeller, AppAnswer, take_answers
from lockstep.events import UnavailableError
from lockstep.sinks import Message, MessageRefusedError
from lockstep_services.publisher.sinks.service import Receivers, ServiceSink

OPTIONS = {"source.id": "adder", "message.id": "{{id}}", "headers": "X-Sum:{{sum}}"}
LIMIT_BYTES = 65_536


def message(payload: bytes = b"3", **event: str) -> Message:
    """Of a row with these values."""
    values = {"id": "m1", "sum": "3", **event}

    def fill(text: str) -> str:
        for name, value in values.items():
            text = text.replace("{{" + name + "}}", value)
        return text

    return Message("A/main/0/1.0", payload, "application/json", 0, values, fill)


@asynccontextmanager
async def receivers(
    topics: Topics, takes: Mapping[str, Callable[[AppAnswer], bool]]
) -> AsyncIterator[None]:
    """Each takes answers in its way."""
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(take_answers(topics, node, takes[node])) for node in takes]
        await asyncio.sleep(0)  # they listen
        yield
        for one in running:
            one.cancel()


def sink_to(topics: Topics, *nodes: str, all_heard: bool = True) -> ServiceSink:
    """A sink that has heard of these receivers."""
    heard: Sequence[str] = nodes
    return ServiceSink(
        OPTIONS, "A", AnswerTeller(topics), Receivers(lambda: heard, lambda: all_heard),
        max_message_bytes=LIMIT_BYTES,
    )  # fmt: skip


async def test_the_receiver_that_holds_the_connection_is_among_all() -> None:
    """All are told, and one of them has somebody who waits."""
    topics = MemoryBus(MemoryCarrier(VirtualClock(0))).topics
    told: list[tuple[str, AppAnswer]] = []

    def taking(node: str, *, gives: bool) -> Callable[[AppAnswer], bool]:
        def take(answer: AppAnswer) -> bool:
            told.append((node, answer))
            return gives

        return take

    takes = {"r1": taking("r1", gives=False), "r2": taking("r2", gives=True)}
    async with receivers(topics, takes):
        await sink_to(topics, "r1", "r2").send(message())
    headers = {"Content-Type": "application/json", "X-Sum": "3"}
    answer = AppAnswer("A", "adder", "m1", b"3", headers)
    assert sorted(node for node, _ in told) == ["r1", "r2"]
    assert [one for _, one in told] == [answer, answer]


async def test_an_answer_is_unwanted_when_all_have_said_so() -> None:
    """Not while one says nothing, and not before all had the time to be heard of."""
    topics = MemoryBus(MemoryCarrier(VirtualClock(0))).topics
    async with receivers(topics, {"r1": lambda _: False}):
        with pytest.raises(MessageRefusedError, match="nobody waits for the answer to request m1"):
            await sink_to(topics, "r1").send(message())
        for sink in (sink_to(topics, "r1", "r2"), sink_to(topics, "r1", all_heard=False)):
            with pytest.raises(UnavailableError, match="not all receivers say"):
                await sink.send(message())
    with pytest.raises(UnavailableError):
        await sink_to(topics).send(message())


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (message(id=""), "no message.id"),
        (message(id="null"), "no message.id"),
        (message(sum="3\r\nSet-Cookie: x"), "'X-Sum' has a character"),
        (message(b"x" * LIMIT_BYTES), "are possible"),
    ],
)
async def test_rows_that_are_no_answers_are_refused(row: Message, why: str) -> None:
    """They go where on.error says."""
    topics = MemoryBus(MemoryCarrier(VirtualClock(0))).topics
    with pytest.raises(MessageRefusedError, match=why):
        await sink_to(topics, "r1").send(row)
