"""What stands in the audit log of strangers' requests, of a door in front of a memory store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from lockstep.clock import VirtualClock
from lockstep.events import UnavailableError
from lockstep.frame.audit import EVERY_MS, AuditTrail
from lockstep.rights.audit import MAX_OF_ADDRESS_A_MINUTE, NOBODY, AuditEntry
from lockstep.settings import load_settings
from lockstep.store import Audit
from lockstep.telemetry import Metrics, get_logger
from tests.unit.services.test_bad_requests import captured_log

CONSOLE = "10.0.0.1"


class Written:
    """The store's part."""

    def __init__(self) -> None:
        self.entries: list[AuditEntry] = []
        self.away = ""

    async def append(self, entries: Sequence[AuditEntry]) -> None:
        """Takes everything, unless it is away."""
        if self.away:
            raise UnavailableError(self.away)
        self.entries += entries


class Scene:
    """A process's trail, and requests that a console passes on."""

    def __init__(self) -> None:
        self.clock, self.written = VirtualClock(), Written()
        self.trail = AuditTrail(
            cast(Audit, cast(Any, self.written)), self.clock, load_settings({}).rights, Metrics(),
            get_logger(),
        )  # fmt: skip

    async def refused(self, browser: str) -> None:
        """A log-in that failed."""
        entry = AuditEntry(
            self.clock.now_ms(), NOBODY, CONSOLE, browser, "POST", "/v1/login", "/v1/login", "",
            401, "n",
        )  # fmt: skip
        await self.trail.note(entry, now=False, address=browser)


async def test_browsers_at_one_console_are_told_apart() -> None:
    """One of them that fails again and again does not keep the others out of the log."""
    scene = Scene()
    for _ in range(100):
        await scene.refused("192.0.2.1")
    await scene.refused("192.0.2.2")
    await scene.trail.flush()
    found = [entry.forwarded for entry in scene.written.entries]
    assert found == MAX_OF_ADDRESS_A_MINUTE * ["192.0.2.1"] + ["192.0.2.2"]


async def test_what_was_left_out_is_counted_when_the_process_ends() -> None:
    """Its minute is not over by then."""
    scene = Scene()
    running = asyncio.create_task(scene.trail.run())
    await scene.clock.advance_ms(EVERY_MS)
    for _ in range(MAX_OF_ADDRESS_A_MINUTE + 7):
        await scene.refused("192.0.2.1")
    running.cancel()
    await asyncio.wait([running])
    assert len(scene.written.entries) == MAX_OF_ADDRESS_A_MINUTE + 1
    assert scene.written.entries[-1].path.startswith("7 more requests")


async def test_a_store_that_takes_nothing_is_told_once_with_its_cause() -> None:
    """It is tried twice a second; the log says when that is over."""
    with captured_log() as lines:
        scene = Scene()
        scene.written.away = "PostgreSQL is read-only"
        await scene.refused("192.0.2.1")
        for _ in range(10):
            await scene.trail.flush()
        scene.written.away = ""
        await scene.trail.flush()
    told = [(one["level"], one.get("error")) for one in lines() if "audit" in one["message"]]
    assert told == [("warning", "PostgreSQL is read-only"), ("info", None)]
    assert len(scene.written.entries) == 1
