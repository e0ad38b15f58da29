"""Which refusals of strangers the audit log holds, and what stands there for the others."""

from __future__ import annotations

from dataclasses import replace

from lockstep.rights.audit import (
    MAX_OF_ADDRESS_A_MINUTE,
    MAX_STRANGERS_A_MINUTE,
    NOBODY,
    AuditEntry,
    Strangers,
)

ENTRY = AuditEntry(0, NOBODY, "10.0.0.1", "", "GET", "/v1/apps/{app}", "/v1/apps/A", "A", 401, "n")


def taken(strangers: Strangers, at_ms: int, address: str, count: int) -> int:
    """How many of so many are noted one by one."""
    entry = replace(ENTRY, at_ms=at_ms, address=address)
    return sum(strangers.take(entry, address) for _ in range(count))


def test_a_stranger_writes_so_many_entries_a_minute() -> None:
    """The others are one entry when their minute is over, which tells how many they were."""
    strangers = Strangers()
    assert taken(strangers, 0, "10.0.0.1", 1_000) == MAX_OF_ADDRESS_A_MINUTE
    assert taken(strangers, 59_999, "10.0.0.2", 1) == 1
    assert strangers.told(59_999) is None
    counted = strangers.told(60_000)
    assert counted is not None
    assert (counted.who, counted.status, counted.at_ms) == (NOBODY, 401, 60_000)
    assert (counted.address, counted.app, counted.route) == ("", "", "")
    assert counted.path == "990 more requests of strangers were refused within a minute"
    assert strangers.told(120_000) is None
    assert taken(strangers, 60_000, "10.0.0.1", 1) == 1


def test_many_strangers_write_no_more_than_that_together() -> None:
    """Whoever has many addresses fills the log no faster."""
    strangers = Strangers()
    found = sum(taken(strangers, 1, f"10.0.0.{number}", 5) for number in range(100))
    assert found == MAX_STRANGERS_A_MINUTE
    counted = strangers.told(60_001)
    assert counted is not None
    assert counted.path.startswith("440 more")
