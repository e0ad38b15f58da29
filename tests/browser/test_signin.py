"""Signing in to the console at a provider of another site, in a real browser."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.browser.chromium import Page
from tests.openid.provider import CLIENT, serving
from tests.unit.services.suite import running

RUN = "import sys; from lockstep_services.console.server import run; sys.exit(run())"


BUTTON = "document.querySelector('.login a.btn')"


async def listening(url: str) -> None:
    """Once it answers."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(60):
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(url) as response:
                    if response.status == 200:
                        return
            await asyncio.sleep(0.1)


def free_port() -> int:
    """Of the loopback."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.timeout(180)
async def test_a_person_signs_in_at_another_site_and_out_again(tmp_path: Path, page: Page) -> None:
    """The cookies that browsers keep back across sites are there when they are needed."""
    async with serving() as server:
        given = server.settings(
            roles="staff=view", client_id=CLIENT, client_secret="of-the-console"
        )
        server.secret = "of-the-console"
        async with running("coordinator", "presenter", **given) as (suite, _):
            own = f"http://localhost:{free_port()}"
            environment = {
                **os.environ, **given,
                "LOCKSTEP_SERVER__PORT": own.rpartition(":")[2],
                "LOCKSTEP_SERVER__ADVERTISED_URL": own,
                "LOCKSTEP_CLIENT__DIRECTORY": str(tmp_path),
                **{f"LOCKSTEP_CLIENT__{name}_URL": suite.url
                   for name in ("COORDINATOR", "RECEIVER", "PRESENTER")},
            }  # fmt: skip
            console = await asyncio.create_subprocess_exec(
                sys.executable, "-c", RUN, env=environment
            )
            try:
                await listening(f"{own}/readyz")
                await page.open(f"{own}/login?to=/apps")
                await page.until(f"{BUTTON}.innerText === 'Sign in with your organisation'")
                await page.screenshot(tmp_path / "log-in.png")
                await page.evaluate(f"{BUTTON}.click()")
                await page.until("document.body.classList.contains('there')")
                assert await page.evaluate("location.href") == f"{own}/apps"
                assert any(url.startswith(f"{server.issuer}/authorize?") for url in page.requested)
                await page.until("document.body.innerText.includes('No app is deployed')")
                assert "lockstep" not in await page.evaluate("document.cookie")
                await page.screenshot(tmp_path / "signed-in.png")
                await page.until(
                    "document.querySelector('form[action=\"/logout\"] button') != null"
                )
                await page.evaluate("document.querySelector('form[action=\"/logout\"]').submit()")
                await page.until(f"location.href === '{own}/login'")
                assert any(url.startswith(f"{server.issuer}/leave?") for url in page.requested)
                await page.until("document.querySelector('#user') != null")
                await page.evaluate("document.querySelector('form').submit()")
                await page.until("document.body.innerText.includes('no user has this name')")
                page.troubles = [one for one in page.troubles if "401" not in one]
                await page.call("Page.navigate", url=f"{own}/apps")
                await page.until("document.body.classList.contains('login')")
                assert page.troubles == []
            finally:
                console.terminate()
                await console.wait()
