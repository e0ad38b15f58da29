"""Pages of the console in a real browser, on a suite that answers what a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.browser.chromium import Page
from tests.browser.test_signin import RUN, free_port, listening

LARGE = 9_007_199_254_740_993
"""The first whole number that a browser cannot tell from its neighbour."""

APP = "@app:name('Odd') define table T (big long, d double, name string);"
ANSWER: dict[str, Any] = {
    "details": [{"name": "big", "dataType": "LONG"}, {"name": "d", "dataType": "DOUBLE"},
                {"name": "name", "dataType": "STRING"}],
    "records": [[None, None, None], [LARGE + 2, 1.5, "1"], [7, 1e300, "b"], [LARGE, -0.5, "a"],
                [-(2**63), 10, "c"]],
    "position": 1,
}  # fmt: skip
EDITOR = "document.querySelector('.editor').lockstepEditor"
WRITTEN = f"{EDITOR}.view.state.doc.toString()"


async def _answer(request: web.Request) -> web.Response:
    told = {"/v1/apps/Odd": {"text": APP}, "/v1/apps/Odd/query": ANSWER}
    found = told.get(request.path)
    return web.json_response(found or {"title": "not here"}, status=200 if found else 404)


@contextlib.asynccontextmanager
async def console(folder: Path) -> AsyncIterator[str]:
    """The address of one whose suite has the app alone."""
    far = web.Application()
    far.router.add_route("*", "/{path:.*}", _answer)
    async with TestServer(far) as suite:
        port, url = free_port(), str(suite.make_url("")).rstrip("/")
        environment = {
            **os.environ, "LOCKSTEP_SERVER__PORT": str(port),
            "LOCKSTEP_CLIENT__DIRECTORY": str(folder),
            **{f"LOCKSTEP_CLIENT__{name}_URL": url
               for name in ("COORDINATOR", "RECEIVER", "PRESENTER")},
        }  # fmt: skip
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", RUN, env=environment)
        try:
            await listening(f"http://127.0.0.1:{port}/readyz")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            await process.wait()


def shows(field: str, wanted: list[str]) -> str:
    """Whether these are the grid's cells of that column, from the top down."""
    cells = f"""[...document.querySelectorAll('.ag-center-cols-container .ag-row')]
      .sort((a, b) => a.getAttribute('row-index') - b.getAttribute('row-index'))
      .map((row) => row.querySelector('[col-id="{field}"]').innerText)"""
    return f"JSON.stringify({cells}) === JSON.stringify({json.dumps(wanted)})"


def pressed(words: str) -> str:
    """A click on the button, once it is there."""
    button = f"[...document.querySelectorAll('button')].find((one) => one.innerText === '{words}')"
    return f"({button}.click(), true)"


@pytest.mark.timeout(180)
async def test_rows_have_all_digits_and_their_order(tmp_path: Path, page: Page) -> None:
    """Nulls are first, and longs that browsers would round are neither invalid nor texts."""
    async with console(tmp_path) as url:
        await page.open(f"{url}/apps/Odd/tables")
        await page.until("document.querySelector('textarea').value.startsWith('from T')")
        await page.until(pressed("Ask"))
        came = ["–", str(LARGE + 2), "7", str(LARGE), str(-(2**63))]
        await page.until(shows("c0", came))
        for field, wanted in (
            ("c0", ["–", str(-(2**63)), "7", str(LARGE), str(LARGE + 2)]),
            ("c1", ["–", "-0.5", "1.5", "10", "1e+300"]),
            ("c2", ["–", "1", "a", "b", "c"]),
        ):
            label = f'.ag-header-cell[col-id="{field}"] .ag-header-cell-label'
            await page.evaluate(f"document.querySelector('{label}').click()")
            await page.until(shows(field, wanted))
        assert page.troubles == []


@pytest.mark.timeout(180)
async def test_what_was_typed_last_is_laid_out_too(tmp_path: Path, page: Page) -> None:
    """And a mistake is marked where it is, behind whatever characters."""
    typed = "define stream S (a int);\nfrom   S select '😀😀' as e, mistake insert into O;"
    async with console(tmp_path) as url:
        await page.open(f"{url}/write")
        await page.until("document.body.innerText.includes('valid')")
        await page.evaluate(
            f"{EDITOR}.view.dispatch({{changes: {{from: 0, to: {WRITTEN}.length,"
            f" insert: {json.dumps(typed)}}}}}), {pressed('Format')}"
        )
        await page.until(f"{WRITTEN}.includes('from S')")
        assert "mistake" in await page.evaluate(WRITTEN)
        marked = "document.querySelector('.editor .t-problem').innerText"
        await page.until(f"{marked} === 'mistake'")
        await page.until("(document.querySelector('.problems a').click(), true)")
        place = f"{EDITOR}.view.state.selection.main.head"
        await page.until(f"{WRITTEN}.slice({place}).startsWith('mistake')")
        await page.evaluate(f"{EDITOR}.setText('another', 'not what stands there')")
        assert "mistake" in await page.evaluate(WRITTEN)
