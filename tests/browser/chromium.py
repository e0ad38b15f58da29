"""A headless Chromium, driven by its own DevTools protocol over one WebSocket."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp

from tests.needed import lacking

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-port=0", "--hide-scrollbars",
)  # fmt: skip
LISTENING = re.compile(rb"DevTools listening on ws://([^/\s]+)/")
NAVIGATED = "navigated or closed"
POLL_S = 0.1
START_LIMIT_S = 120.0
ANSWER_LIMIT_S = 60.0


def find_chromium() -> str:
    """The browser's path; passes the test over when the machine has none."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        lacking("no browser on PATH: install Chromium or Chrome, or run scripts/browser as root")
    return found


class PageLeftError(Exception):
    """The page went elsewhere while it was asked."""


class Page:
    """One tab. `troubles` gathers script errors, refused loads and error-level log lines."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)
        self.troubles: list[str] = []
        self.requested: list[str] = []

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One DevTools command and its result; TimeoutError when none comes, PageLeftError."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        while True:
            message = await self._socket.receive_json(timeout=ANSWER_LIMIT_S)
            if message.get("id") == number:
                if NAVIGATED in message.get("error", {}).get("message", ""):
                    raise PageLeftError
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    async def open(self, url: str) -> None:
        """Goes there."""
        for domain in ("Runtime", "Log", "Network", "Page"):
            await self.call(f"{domain}.enable")
        await self.call("Page.navigate", url=url)

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        result = await self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    async def until(self, expression: str, *, timeout_s: float = 60.0) -> Any:
        """The expression's value once it is true; TimeoutError with the page's text."""
        # While the page is being built, parts of the expression may not exist.
        careful = f"(() => {{ try {{ return {expression} }} catch {{ return null }} }})()"
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    with contextlib.suppress(PageLeftError):
                        if value := await self.evaluate(careful):
                            return value
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            text = await self.evaluate("document.body.innerText")
            raise TimeoutError(f"never true: {expression}\nthe page says:\n{text}") from None

    async def screenshot(self, path: Path) -> bytes:
        """A PNG of what is to be seen."""
        result = await self.call("Page.captureScreenshot")
        picture = base64.b64decode(result["data"])
        path.write_bytes(picture)
        return picture

    def _note(self, message: dict[str, Any]) -> None:
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.troubles.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.troubles.append(json.dumps(parameters["entry"]))
        elif method == "Network.requestWillBeSent":
            self.requested.append(parameters["request"]["url"])


@contextlib.asynccontextmanager
async def open_page(folder: Path, *, width: int = 1400, height: int = 1400) -> AsyncIterator[Page]:
    """A fresh browser with one tab of that size; its profile and log are left in the folder."""
    profile, log = folder / "profile", folder / "chromium.log"
    # A file: a pipe that nobody empties would stop a browser that has much to say.
    with log.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            find_chromium(), *OPTIONS, f"--window-size={width},{height}",
            f"--user-data-dir={profile}", "about:blank",
            stdout=subprocess.DEVNULL, stderr=sink,
        )  # fmt: skip
    try:
        async with aiohttp.ClientSession() as session:
            address = await _tab(session, process, log)
            async with session.ws_connect(address, max_msg_size=0) as socket:
                page = Page(socket)
                await page.call(
                    "Emulation.setDeviceMetricsOverride",
                    width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
                )  # fmt: skip
                yield page
    finally:
        process.kill()
        await process.wait()


async def _tab(
    session: aiohttp.ClientSession, process: asyncio.subprocess.Process, log: Path
) -> str:
    """The address of the tab's socket, once the browser listens and has opened one."""
    try:
        async with asyncio.timeout(START_LIMIT_S):
            while process.returncode is None:
                listening = LISTENING.search(log.read_bytes())
                if listening is not None:
                    async with session.get(f"http://{listening[1].decode()}/json") as response:
                        tabs = [each for each in await response.json() if each["type"] == "page"]
                    if tabs:
                        return str(tabs[0]["webSocketDebuggerUrl"])
                await asyncio.sleep(POLL_S)
    except TimeoutError:
        said = f"no tab within {START_LIMIT_S} s"
    else:
        said = "the browser ended before it listened"
    raise RuntimeError(f"{said}:\n{log.read_text(errors='replace')[-2000:]}")
