"""The live page in a real browser: charts move, texts and numbers stay what they are, nothing comes
from outside, and it comes back."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from lockstep.cli.client import Client
from lockstep.cli.replay import send_retrying
from lockstep.cli.suite import running_suite
from tests.browser.gateway import gateway

APP = """
@app:name('Rooms')
define stream Reading (room string, celsius double);
@info(name='mean')
from Reading#window.length(10)
select room, avg(celsius) as mean, count() as readings group by room insert into RoomMean;
"""
NUMBERS = """
@app:name('Numbers')
define stream In (id long, share double);
from In select id, share insert into Out;
"""
TABLE = """
@app:name('Numbers')
define stream In (id long, share double);
@store(type='rdbms') @PrimaryKey('id')
define table Last (id long, share double);
from In select id, share update or insert into Last on Last.id == id;
"""
LONG = 9_007_199_254_740_993
"""The first whole number that a browser cannot tell from its neighbour."""

NASTY = "<img src=x onerror=\"document.title='owned'\">"


@pytest.mark.timeout(180)
async def test_charts_move_while_events_come(tmp_path: Path, page: Any) -> None:
    """Two series are drawn, a new event changes them, and markup in a value stays text."""
    overrides = {"LOCKSTEP_PROCESSOR__EXECUTOR": "reference", "LOCKSTEP_SERVER__PORT": "0"}
    async with (
        running_suite(tmp_path / "suite", overrides=overrides, sync_interval="2m") as suite,
        Client(suite.addresses) as client,
    ):
        await send_retrying(lambda: client.deploy(APP))
        await _send(client, [("attic", 30.0), ("hall", 20.0), ("attic", 31.0), (NASTY, 25.0)])
        await page.open(f"{suite.addresses.presenter}/apps/Rooms")
        await page.until("document.body.innerText.includes('RoomMean')")
        await page.until("document.querySelectorAll('svg path, svg polyline').length >= 2")
        await page.until("document.body.innerText.includes('onerror')")
        before = await page.evaluate("document.querySelector('svg').outerHTML")
        await _send(client, [("attic", 45.0), ("hall", 5.0)])
        await page.until("document.body.innerText.includes('35.3')")
        await page.until(f"document.querySelector('svg').outerHTML !== {json.dumps(before)}")
        picture = await page.screenshot(tmp_path / "page.png")
        assert await page.evaluate("document.title") != "owned"
        assert await page.evaluate("document.querySelectorAll('main img').length") == 0
        assert len(picture) > 10_000
        assert page.troubles == []
        base = suite.addresses.presenter
        assert [url for url in page.requested if not url.startswith((base, "data:"))] == []


@pytest.mark.timeout(240)
async def test_it_comes_back_behind_a_gateway_and_shows_numbers_as_they_are(
    tmp_path: Path, page: Any
) -> None:
    """After answers of 502, which a browser gives up at, and after silence; no row stands twice."""
    overrides = {"LOCKSTEP_PROCESSOR__EXECUTOR": "reference", "LOCKSTEP_SERVER__PORT": "0"}
    async with (
        running_suite(tmp_path / "suite", overrides=overrides, sync_interval="2m") as suite,
        Client(suite.addresses) as client,
        gateway(suite.addresses.presenter) as door,
    ):
        await send_retrying(lambda: client.deploy(NUMBERS))
        await _send_number(client, LONG, 0.1234567890123)
        await page.open(f"{door.url}/apps/Numbers")
        await page.until("document.querySelectorAll('tbody tr').length === 1")
        cells = "[...document.querySelectorAll('tbody tr td.number')].map((one) => one.innerText)"
        assert await page.evaluate(cells) == [str(LONG), "0.1234567890123"]
        assert len(await page.evaluate("document.querySelector('svg polyline').outerHTML")) > 0

        said = "document.getElementById('connection').innerText"
        door.refuse()
        await page.until(f"{said} === 'connecting again'")
        asked = door.asked
        async with asyncio.timeout(60):
            while door.asked < asked + 2:
                await asyncio.sleep(0.05)
        door.go_on()
        await page.until(f"{said} === 'live'")
        await _send_number(client, 1, 2.5)
        await page.until("document.querySelectorAll('tbody tr').length > 1")
        assert await page.evaluate(cells) == ["1", "2.5", str(LONG), "0.1234567890123"]

        door.hold()
        await page.until(f"{said} === 'no connection'")
        door.go_on()
        await page.until(f"{said} === 'live'")
        await _send_number(client, 2, 3.5)
        await page.until("document.querySelectorAll('tbody tr').length === 3")


@pytest.mark.timeout(180)
async def test_a_table_without_all_rows_says_why(tmp_path: Path, page: Any) -> None:
    """The reason and what to do stand beside its rows; one that has all says nothing."""
    overrides = {
        "LOCKSTEP_PROCESSOR__EXECUTOR": "reference", "LOCKSTEP_SERVER__PORT": "0",
        "LOCKSTEP_PRESENTER__TABLE_ROWS": "1",
    }  # fmt: skip
    async with (
        running_suite(tmp_path / "suite", overrides=overrides, sync_interval="2m") as suite,
        Client(suite.addresses) as client,
    ):
        await send_retrying(lambda: client.deploy(TABLE))
        await _send_number(client, 1, 0.5)
        await page.open(f"{suite.addresses.presenter}/apps/Numbers")
        await page.until("document.querySelectorAll('tbody tr').length === 1")
        await page.until("!document.body.innerText.includes('Rows may be missing')")
        await _send_number(client, 2, 0.5)
        for text in ("Rows may be missing", "presenter.table_rows", "on-demand query"):
            await page.until(f"document.body.innerText.includes('{text}')")
        assert page.troubles == []


async def _send_number(client: Client, number: int, share: float) -> None:
    body = json.dumps({"id": number, "share": share}).encode()
    await send_retrying(lambda: client.send("Numbers", "In", body))


async def _send(client: Client, readings: list[tuple[str, float]]) -> None:
    for room, celsius in readings:
        body = json.dumps({"room": room, "celsius": celsius}).encode()
        await send_retrying(lambda body=body: client.send("Rooms", "Reading", body))  # type: ignore[misc]
        await asyncio.sleep(0)
