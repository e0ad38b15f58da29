"""`%lockstep` in a real IPython shell, on a suite that runs."""

from __future__ import annotations

import asyncio

import pytest
from IPython.core.interactiveshell import InteractiveShell

from tests.unit.notebook.conftest import Cell, Run
from tests.unit.services.suite import CLUSTER, Doors, bearer, running

APP = """
@app:name('Kept')
define stream Reading (room string, celsius double);
@PrimaryKey('room') define table Rooms (room string, celsius double);
from Reading select room, celsius update or insert into Rooms on Rooms.room == room;
"""
COUNT = 3


async def _rows(run: Run, query: str, wanted: str) -> Cell:
    """The answer, once it says that: an app takes a moment to begin."""
    async with asyncio.timeout(60):
        while True:
            cell = await asyncio.to_thread(run, query)
            if wanted in cell.text:
                return cell
            await asyncio.sleep(0.05)


async def _deployed(doors: Doors) -> None:
    status, answer = await doors.ask(bearer(CLUSTER), "PUT", "/v1/apps", {"text": APP})
    assert status == 201, answer


async def test_a_line_sends_to_an_app_and_asks_it(
    run: Run, shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable or JSON goes in, an on-demand query comes back as a table."""
    async with running() as (doors, _):
        monkeypatch.setenv("LOCKSTEP_CLIENT__URL", doors.url)
        monkeypatch.setenv("LOCKSTEP_CLIENT__TOKEN", CLUSTER)
        await _deployed(doors)
        rooms = [{"room": name, "celsius": 20.5} for name in ("attic", "<i>hall</i>")]
        shell.user_ns["rooms"] = rooms
        sent = await asyncio.to_thread(run, "%lockstep send Kept Reading rooms")
        assert (sent.error, sent.text) == (None, "Reading has taken 2"), sent.printed
        given = """%lockstep send Kept Reading '{"room": "cellar", "celsius": 12}'"""
        sent = await asyncio.to_thread(run, given)
        assert sent.text == "Reading has taken 1"
        query = "%lockstep query Kept 'from Rooms select room, celsius order by celsius'"
        cell = await _rows(run, query, f"Kept: {COUNT} rows")
        assert cell.text.splitlines()[1:4] == [
            "  room         celsius", "  -----------  -------", "  cellar       12.0",
        ]  # fmt: skip
        assert "&lt;i&gt;hall" in cell.html
        for line, says in (
            ("query Kept 'from Rooms select heat'", "'heat' is not an attribute"),
            ("query Nobody 'from Rooms select room'", "no app named 'Nobody'"),
            ("send Kept Reading '{\"room\": 1}'", "room"),
            ("send Kept Reading sum", "JSON"),
            ("dance", "that is no command of %lockstep"),
            ("query 'open", "No closing quotation"),
        ):
            cell = await asyncio.to_thread(run, f"%lockstep {line}")
            assert cell.error is not None
            assert says in cell.printed
            assert "Traceback" not in cell.printed


def test_where_no_suite_is_known_the_hint_says_how_to_get_one(run: Run) -> None:
    """In the words of the command."""
    cell = run("%lockstep query Kept 'from Rooms select room'")
    assert "no suite is running" in cell.printed
    assert "lockstep run" in cell.printed
