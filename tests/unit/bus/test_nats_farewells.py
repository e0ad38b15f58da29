"""Farewells of things that were let go, and subscriptions that end while they begin."""

from __future__ import annotations

import asyncio
import gc
import warnings
from typing import Any, cast

import pytest
from nats.aio.msg import Msg

from lockstep.bus.nats.connection import Listening
from lockstep.bus.nats.farewells import Farewells


class Thing:
    """Something that somebody has."""


class Said:
    """Counts the farewells that were said."""

    def __init__(self) -> None:
        self.count = 0

    async def say(self) -> None:
        """A farewell."""
        self.count += 1


async def _settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_a_farewell_is_said_once_nobody_has_the_thing() -> None:
    """Not before, and once; whatever thread lets go of it last."""
    farewells, said = Farewells(), Said()
    things = [Thing(), Thing()]
    for thing in things:
        farewells.owe(thing, said.say)
    del thing
    await _settle()
    assert said.count == 0
    things.pop()
    await _settle()
    assert said.count == 1
    await asyncio.to_thread(things.clear)
    await _settle()
    assert said.count == 2


async def test_what_is_detached_or_closed_is_not_said() -> None:
    """Who has given back what it had has nothing left to do; with the connection all is over."""
    farewells, said = Farewells(), Said()
    thing, other = Thing(), Thing()
    farewells.owe(thing, said.say).detach()
    farewells.owe(other, said.say)
    del thing
    farewells.close()
    del other
    await _settle()
    assert said.count == 0


@pytest.mark.filterwarnings("error")
def test_a_thing_may_outlive_its_event_loop() -> None:
    """Nobody is told anything then."""
    with warnings.catch_warnings(action="ignore"):
        gc.collect()  # what other tests have left is not this one's
    said = Said()

    async def owe() -> Thing:
        thing = Thing()
        Farewells().owe(thing, said.say)
        return thing

    thing = asyncio.run(owe())
    del thing
    gc.collect()
    assert said.count == 0


class SlowClient:
    """Takes its time to subscribe, and is its own subscription."""

    def __init__(self) -> None:
        self.may_begin = asyncio.Event()
        self.unsubscribed = 0

    async def subscribe(self, *_: object, **__: object) -> SlowClient:
        """See the library's client."""
        await self.may_begin.wait()
        return self

    async def unsubscribe(self) -> None:
        """See the library's subscription."""
        self.unsubscribed += 1


async def test_a_subscription_that_ends_while_a_new_client_begins_it_does_not_stay() -> None:
    """Nobody would end it later."""

    async def hear(_: Msg) -> None:
        pass

    client = SlowClient()
    listening = Listening("a", "", hear)
    beginning = asyncio.create_task(listening.begin(cast(Any, client)))
    await _settle()
    await listening.end()
    assert client.unsubscribed == 0
    client.may_begin.set()
    await beginning
    assert client.unsubscribed == 1
