"""A person at the console: clicks, types, chooses and looks, in a real Chromium."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Final

from tests.browser.chromium import Page
from tests.browser.suite import opened

SETTLED_S: Final = 0.7
"""Charts and graphs are drawn anew in the other colours."""
THEMES: Final = ("light", "dark")
_SEEN: Final = "(e) => e && e.getClientRects().length > 0"


class Person:
    """Every step is told and pictured, light and dark."""

    def __init__(self, page: Page, base: str, pictures: Path) -> None:
        self.page = page
        self._base = base
        self._pictures = pictures
        self.steps = 0
        self.screenshots = 0
        self.first_content_ms: dict[str, float] = {}

    async def go(self, path: str) -> None:
        """To a page, until its content is there."""
        first_ms, _ = await opened(self.page, self._base + path)
        self.first_content_ms[path.split("?")[0]] = round(first_ms)

    async def step(self, name: str) -> None:
        """What was done so far is a step; it is told and pictured."""
        self.steps += 1
        for theme in THEMES:
            await self.page.evaluate(f"lockstepTheme('{theme}')")
            await asyncio.sleep(SETTLED_S)
            file = self._pictures / f"{self.steps:02}-{name}-{theme}.png"
            await self.page.screenshot(file)
            self.screenshots += 1
        await self.page.evaluate("lockstepTheme('light')")
        print(f"step {self.steps}: {name}", flush=True)

    async def see(self, words: str, *, within: str = "body", timeout_s: float = 90.0) -> None:
        """Until these words are there."""
        place = f"document.querySelector({json.dumps(within)}).innerText"
        await self.page.until(f"{place}.includes({json.dumps(words)})", timeout_s=timeout_s)

    async def click(self, words: str, *, within: str = "body") -> None:
        """A button, link, tab or menu item that says this."""
        found = (
            f"[...document.querySelectorAll({json.dumps(within)} + ' :is(button, a, .q-item, "
            f".q-tab, .q-checkbox)')].filter({_SEEN}).find((e) => (e.innerText.trim() || "
            f"e.getAttribute('aria-label') || '').includes({json.dumps(words)}))"
        )
        await self.page.until(f"(({found}).click(), true)")

    async def fill(self, label: str, words: str) -> None:
        """A field with this label."""
        await self._focus(label, "input, textarea")
        await self.page.evaluate("document.activeElement.select()")
        await self.page.call("Input.insertText", text=words)

    async def choose(self, label: str, option: str) -> None:
        """An option of the list with this label."""
        await self._focus(label, "input", click=True)
        item = (
            f"[...document.querySelectorAll('.q-menu .q-item')].filter({_SEEN})"
            f".find((e) => e.innerText.trim() === {json.dumps(option)})"
        )
        await self.page.until(f"(({item}).click(), true)")
        await self.page.until("![...document.querySelectorAll('.q-menu')].some((e) => "
                              "e.getClientRects().length)")  # fmt: skip

    async def _focus(self, label: str, what: str, *, click: bool = False) -> None:
        field = (
            f"[...document.querySelectorAll('.q-field')].filter({_SEEN}).find((e) => "
            f"(e.querySelector('.q-field__label')?.innerText || '') === {json.dumps(label)})"
        )
        inner = f"({field}).querySelector({json.dumps(what)})"
        if click:
            await asyncio.sleep(SETTLED_S)  # dialogs slide to their place
            place = f"({field}).querySelector('.q-field__control').getBoundingClientRect()"
            x, y = await self.page.until(
                f"((r) => [r.x + r.width / 3, r.y + r.height / 2])({place})"
            )
            for what_happens in ("mousePressed", "mouseReleased"):
                await self.page.call(
                    "Input.dispatchMouseEvent",
                    type=what_happens, x=x, y=y, button="left", clickCount=1,
                )  # fmt: skip
        else:
            await self.page.until(f"({inner}.focus(), document.activeElement === {inner})")

    async def write(self, text: str) -> None:
        """This text, in place of what the editor holds."""
        await self.page.until("document.querySelector('.cm-content') != null")
        view = "document.querySelector('.editor').lockstepEditor.view"
        await self.page.until(f"{view} != null")
        await self.page.evaluate(
            f"(() => {{ const v = {view}; v.focus(); v.dispatch({{changes: {{from: 0, to: "
            f"v.state.doc.length, insert: {json.dumps(text)}}}}}); }})()"
        )

    async def type_at_end(self, text: str) -> None:
        """With the keyboard, behind the text."""
        view = "document.querySelector('.editor').lockstepEditor.view"
        await self.page.evaluate(
            f"(() => {{ const v = {view}; v.focus(); v.dispatch({{selection: {{anchor: "
            "v.state.doc.length}}); })()"
        )
        for key in text:
            await self.page.call("Input.insertText", text=key)

    async def ask(self, expression: str) -> Any:
        """What the page answers."""
        return await self.page.evaluate(expression)
