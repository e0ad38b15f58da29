"""What a person has opened stays open, whatever a refresh does to the place of its button."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from nicegui import Client, ui

from lockstep_services.console.look import Cell, Table, answer_of, box, button, confirmed, tell
from tests.unit.services.console.on_a_page import dialogs, press, settled


async def test_a_dialog_outlives_the_row_of_its_button(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table's row is built anew while one reads; what is told after the answer arrives, too."""
    told: list[Any] = []
    monkeypatch.setattr(ui, "notify", lambda says, **_: told.append((ui.context.client, says)))

    async def pressed(what: str) -> None:
        if await confirmed(f"Pause {what}?", ("It gets nothing.",), "Really", danger=False):
            tell("paused")

    with client:
        table = Table(("Sink", "Rate", ""), empty="", on_press=pressed)
        table.show([["log", "1", Cell("Pause", press="log")]])
    press(client, "Pause")
    await settled()
    table.show([["log", "2", Cell("Pause", press="log")]])
    await settled()
    (dialog,) = dialogs(client)
    assert dialog.value
    press(client, "Really")
    await settled()
    assert told == [(client, "paused")]
    assert not dialogs(client)


async def test_what_a_dialog_says_is_its_answer_and_it_goes(client: Client) -> None:
    """Also when its page is gone meanwhile: then there is no answer."""
    found: list[Any] = []

    async def ask() -> None:
        with ui.dialog() as dialog, box("dialog"):
            button("Send", lambda: dialog.submit("sent"))
        found.append(await answer_of(dialog))

    for end in (lambda: press(client, "Send"), lambda: dialogs(client)[0].delete()):
        task = asyncio.create_task(ask_within(client, ask))
        await settled()
        cast("Any", end)()
        await settled()
        assert task.done()
        assert not dialogs(client)
    assert found == ["sent", None]


async def ask_within(client: Client, ask: Any) -> None:
    """As a page does."""
    with client:
        await ask()
