"""The samples' dashboards in a real Chromium, with rows in them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lockstep.cli.client import Client
from lockstep.cli.demo.feed import feed
from lockstep.cli.processes import ProcessSuite
from lockstep_services.console import samples
from lockstep_services.console.widgets import Board
from tests.browser.chromium import open_page
from tests.e2e.console_person import Person
from tests.e2e.security_traffic import DAY_MS, Event, Traffic

CONSOLE: Final = ("console", "console")
AGAIN_MS: Final = 60 * DAY_MS
"""So much later the next traffic comes in: time in these apps never runs back."""
EVERY_S: Final = 1.0
ROUNDS: Final = 400


async def look(suite: ProcessSuite, client: Client, more: Traffic, pictures: Path) -> None:
    """Opens each of them while more traffic comes in, until all its widgets show something.

    AssertionError when the page has errors.
    """
    pictures.mkdir(parents=True, exist_ok=True)
    feeding = [
        asyncio.create_task(_trickle(client, app, events))
        for app, events in (("LoginAlerts", more.logins), ("UserSessions", more.actions))
    ]
    try:
        async with open_page(pictures, width=1440, height=900) as page:
            person = Person(page, suite.of("console")[0].url, pictures)
            await person.go("/watch")
            await person.see("From the samples")
            await person.step("offered")
            for name, board in samples.boards().items():
                await person.go(f"/watch?sample={name}")
                await _shown(person, board)
                await person.step(name.replace(".", "-"))
            assert not page.troubles, page.troubles
    finally:
        for task in feeding:
            task.cancel()
        await asyncio.gather(*feeding, return_exceptions=True)


async def _shown(person: Person, board: Board) -> None:
    for widget in board.widgets:
        await person.see(widget.title)
    waiting = "[...document.querySelectorAll('.widget > p.soft')].filter(e => e.offsetParent)"
    await person.page.until(f"{waiting}.length === 0")


async def _trickle(client: Client, app: str, events: Sequence[Event]) -> None:
    """A part of it each second."""
    share = len(events) // ROUNDS + 1
    for number in range(ROUNDS):
        part = [
            (stream, at_ms + AGAIN_MS, _renamed(row))
            for stream, at_ms, row in events[number * share : (number + 1) * share]
        ]
        if not part:
            return
        await feed(client, app, part, key=f"boards-{number}", advance=lambda _: None)
        await asyncio.sleep(EVERY_S)


def _renamed(row: dict[str, object]) -> dict[str, object]:
    """Sessions of its own."""
    return {**row, "session": f"again-{row['session']}"} if "session" in row else row
