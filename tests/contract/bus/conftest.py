"""Every test of the bus's suite runs on every carrier."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.contract.bus.carriers import Carrier, MemoryCarriers, NatsCarriers, World


@pytest.fixture(params=["memory", pytest.param("nats", marks=pytest.mark.servers)])
def carrier(request: pytest.FixtureRequest) -> Carrier:
    """A carrier; its server, if it has one, is started outside of the test's event loop."""
    if request.param == "nats":
        return NatsCarriers(request.getfixturevalue("servers"))
    return MemoryCarriers()


@pytest.fixture
async def world(carrier: Carrier) -> AsyncIterator[World]:
    """Two participants on a carrier."""
    yield World(carrier, await carrier.connect(), await carrier.connect())
    await carrier.close()
