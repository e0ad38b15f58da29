"""SNMP source and sink against an agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest

from lockstep.clock import SystemClock
from lockstep.connectors.snmp.sink import SnmpSink
from lockstep.connectors.snmp.source import SnmpSource
from lockstep.sinks import MessageRefusedError
from lockstep.sources import Place
from lockstep.testing.connectors import message
from tests.contract.connectors.brokers import free_port
from tests.contract.connectors.snmp_peer import COMMUNITY, USER, VALUES, oid, snmp_agent

PLACE = Place("App", "In", 0, "127.0.0.1", SystemClock())
LOGINS: tuple[Mapping[str, str], ...] = (
    {"version": "v1", "community": COMMUNITY},
    {"version": "v2c", "community": COMMUNITY},
    {"version": "v3", **USER},
)


def options(port: int, login: Mapping[str, str], **more: str) -> dict[str, str]:
    """Of an agent of this test."""
    named = {name.replace("_", "."): value for name, value in more.items()}
    return {"host": "127.0.0.1", "agent.port": str(port), "timeout": "500", **login, **named}


def row(values: Mapping[str, str]) -> Any:
    """A message as the key-value mapper writes it."""
    return message(1, "application/x-www-form-urlencoded", urlencode(values).encode())


async def read(source: SnmpSource) -> dict[str, str | None]:
    """The next message."""
    while not (found := await source.read(max_messages=9, wait_ms=100)):
        pass
    (one,) = found
    values: dict[str, str | None] = json.loads(one.payload)
    return values


@pytest.mark.parametrize("login", LOGINS)
async def test_what_an_agent_has_is_read_and_written(login: Mapping[str, str]) -> None:
    """In each version; values are texts, and a variable keeps its type."""
    port = free_port()
    has_counters = login["version"] != "v1"  # 64 bits came with version 2
    wanted = [number for number in range(1, len(VALUES) + 1) if has_counters or number != 4]
    async with snmp_agent(port) as now:
        asked = options(port, login, oids=", ".join(map(oid, wanted)), request_interval="200")
        source = SnmpSource(asked, PLACE)
        texts = ("here", "7", "1:28:33.05", str(2**40), "1.2.3.4", "ff:00", "1.3.6.1", "3")
        assert await read(source) == {oid(number): texts[number - 1] for number in wanted}
        sink = SnmpSink(options(port, login))
        await sink.send(row({oid(1): "Åsa & co", f".{oid(2)}": "-12", oid(5): "9.8.7.6"}))
        assert bytes(now(1)) == "Åsa & co".encode()
        assert (int(now(2)), now(5).prettyPrint()) == (-12, "9.8.7.6")
        found = await read(source)
        assert (found[oid(1)], found[oid(2)], found[oid(5)]) == ("Åsa & co", "-12", "9.8.7.6")
        await sink.close()
        await source.close()


@pytest.mark.parametrize("login", LOGINS[:2])
async def test_what_an_agent_does_not_take_refuses_the_message(login: Mapping[str, str]) -> None:
    """With what it says and of which variable; nothing else of the message is set."""
    port = free_port()
    async with snmp_agent(port) as now:
        sink = SnmpSink(options(port, login))
        for values, said in (
            ({oid(2): "many"}, "'many' is no Integer"),
            ({oid(1): "there", oid(8): "4"}, f" for {oid(8)}"),
            ({oid(77): "x"}, f" for {oid(77)}"),
            ({"sysLocation": "x"}, "'sysLocation' is no OID"),
        ):
            with pytest.raises(MessageRefusedError, match=said):
                await sink.send(row(values))
        assert bytes(now(1)) == b"here"
        with pytest.raises(MessageRefusedError, match="no form of OIDs"):
            await sink.send(message(1, payload=b"text"))
        await sink.close()


async def answered(call: Callable[[], Awaitable[Any]]) -> Any:
    """What it gives when the agent has answered in the short time that it has."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await call()
            except OSError:
                await asyncio.sleep(0.05)


async def test_an_agent_that_goes_and_comes_back() -> None:
    """Nothing is read and nothing counts as set while it is away; a variable that it has not is
    null, and in version 1 an error of the request."""
    port = free_port()
    quick = {"timeout": "100", "retries": "1"}
    asked = options(port, LOGINS[1], oids=f"{oid(1)},{oid(77)}", request_interval="1") | quick
    source, sink = SnmpSource(asked, PLACE), SnmpSink(options(port, LOGINS[1]) | quick)
    with pytest.raises(OSError, match=f"the agent at 127.0.0.1:{port}: No SNMP response"):
        await source.read(max_messages=9, wait_ms=100)
    with pytest.raises(OSError, match="No SNMP response"):
        await sink.send(row({oid(1): "there"}))
    async with snmp_agent(port):
        await answered(lambda: sink.send(row({oid(1): "there"})))
        assert await answered(lambda: read(source)) == {oid(1): "there", oid(77): None}
        old = SnmpSource(options(port, LOGINS[0], oids=oid(77)), PLACE)
        with pytest.raises(OSError, match=f"noSuchName for {oid(77)}"):
            await old.read(max_messages=9, wait_ms=100)
        wrong = options(port, LOGINS[2], auth_password="authpass2", oids=oid(1))
        stranger = SnmpSource(wrong, PLACE)
        with pytest.raises(OSError, match="digest"):
            await stranger.read(max_messages=9, wait_ms=100)
        for one in (stranger, old):
            await one.close()
    with pytest.raises(OSError, match="No SNMP response"):
        await source.read(max_messages=9, wait_ms=100)
    await source.close()
    await sink.close()
