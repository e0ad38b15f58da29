"""A process does not start over servers of another suite."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import SystemClock, SystemRandomness, VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame.suite import OtherSuiteError, claim_bus, claim_leases, suite_id
from lockstep.leader.memory import LeaseTable, MemoryLeases
from lockstep.settings import Settings, load_settings
from lockstep.store.filesystem import FileStore
from lockstep.store.memory import MemoryStore

RANDOM = SystemRandomness()


def settings_of(store: str = "file", **given: str) -> Settings:
    """With a store of a kind, and some values of the section `cluster`."""
    own = {f"LOCKSTEP_CLUSTER__{name.upper()}": value for name, value in given.items()}
    return load_settings({"LOCKSTEP_STORE__KIND": store, **own})


async def test_a_store_has_one_id_for_ever(tmp_path: Path) -> None:
    """Two stores have two."""
    settings, folders = settings_of(), [tmp_path / "a", tmp_path / "a", tmp_path / "b"]
    found = [await suite_id(FileStore(each), settings, RANDOM) for each in folders]
    assert found[0] == found[1] != found[2]
    assert all(found)


async def test_a_store_that_ends_with_its_process_names_no_suite() -> None:
    """The next process could not say that it is the same one."""
    assert await suite_id(MemoryStore(), settings_of("memory"), RANDOM) == ""


async def test_the_bus_of_another_suite_is_refused_until_it_is_taken_over() -> None:
    """The error names both, the setting, and what to do."""
    bus = MemoryBus(MemoryCarrier(SystemClock()))
    ours, theirs = RANDOM.uuid_hex(), RANDOM.uuid_hex()
    for _ in range(2):
        await claim_bus(bus, theirs, settings_of())
    with pytest.raises(OtherSuiteError) as caught:
        await claim_bus(bus, ours, settings_of())
    text = str(caught.value)
    assert text.startswith(f"bus.url: the bus belongs to another suite ({theirs})")
    assert f"cluster.take_over = {theirs}" in text
    await claim_bus(bus, ours, settings_of(take_over=theirs))
    await claim_bus(bus, ours, settings_of())


async def test_a_lease_server_that_comes_late_is_looked_at_then() -> None:
    """Nobody waits for it at the start."""
    table, clock = LeaseTable(SystemClock()), VirtualClock()
    leases = MemoryLeases(table, clock, RANDOM)
    table.owner, leases.reachable = "another", False
    claiming = asyncio.create_task(claim_leases(leases, "ours", settings_of(), clock))
    await clock.advance_ms(5_000)
    assert not claiming.done()
    with pytest.raises(UnavailableError):
        await leases.owner("ours")
    leases.reachable = True
    await clock.advance_ms(5_000)
    with pytest.raises(OtherSuiteError, match="lease server"):
        await claiming
