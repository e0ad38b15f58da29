"""The editor as an element: a text, what is wrong with it as it is typed, completion and hover."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final

import nicegui
from nicegui.element import Element

from lockstep.editing import Known, Problem, complete, formatted, hover, known

MAX_TEXT_CHARACTERS: Final = 300_000
"""Of a text that is completed in, explained, or compared."""
MAX_COMPLETIONS: Final = 400
DRAFT: Final = "lockstep-draft"
"""Under which the browser keeps the text that was written last: Try and Versions read it."""
_CODEMIRROR: Final = Path(nicegui.__file__).parent / "elements/codemirror/dist"
_FIRST: Final = ("attribute", "stream", "table", "window", "function", "keyword")
Listener = Callable[[str, Known], Awaitable[None]]


class Editor(Element, component="static/editor.js", esm={"nicegui-codemirror": str(_CODEMIRROR)}):
    """`on_known` is told the text and what is known of it, a moment after the last key.

    `own`: the key under which the browser also keeps what is made of this very text. When there is
    such a draft the editor begins with it, and `on_draft` is called.
    """

    def __init__(
        self,
        text: str,
        on_known: Listener,
        *,
        own: str = "",
        on_draft: Callable[[], Any] | None = None,
    ) -> None:
        super().__init__()
        self.classes("editor").style("flex:1 1 auto")
        self._props["value"] = text
        self._props["draft"] = DRAFT
        self._props["own"] = own
        self.text = text
        self.found = Known({}, {}, ())
        self._on_known = on_known
        self.on("change", self._changed)
        self.on("ask", self._asked)
        if on_draft is not None:
            self.on("begun", on_draft)
        self.on("format", lambda: self.format())

    async def _changed(self, event: Any) -> None:
        await self.take(str(event.args))

    async def current(self) -> str:
        """The text as it stands in the browser, also a moment after a key. Whole: a part of one
        that is too long for an app may be an app itself, and another one."""
        self.text = str(await self.run_method("text", timeout=10.0))
        return self.text

    async def take(self, text: str) -> None:
        """Reads a text that has changed."""
        self.text = text
        found = await asyncio.to_thread(known, text)
        if self.text != text:
            return  # a newer one is being read
        self.found = found
        self.underline(found.problems)
        await self._on_known(text, found)

    def underline(self, problems: Sequence[Problem]) -> None:
        """Underlines what is wrong."""
        shown = [
            {
                "message": one.message, "hint": one.hint, "line": one.line, "column": one.column,
                "end_column": one.end_column,
            }
            for one in problems
        ]  # fmt: skip
        self.run_method("setProblems", shown)

    async def _asked(self, event: Any) -> None:
        told = event.args
        text, offset = str(told["text"])[:MAX_TEXT_CHARACTERS], int(told["offset"])
        if told["what"] == "complete":
            answer: Any = await asyncio.to_thread(_completions, text, offset, self.found)
        else:
            said = await asyncio.to_thread(hover, text, offset, self.found)
            answer = said.text if said is not None else None
        self.run_method("answered", int(told["number"]), answer)

    async def put(self, text: str) -> None:
        """Another text."""
        self.run_method("setText", text)
        await self.take(text)

    def forget(self) -> None:
        """The browser keeps no draft of this very text any more."""
        self.run_method("forget")

    async def format(self) -> None:
        """Lays the text out, unless somebody writes meanwhile. The browser tells of it then."""
        text = await self.current()
        self.run_method("setText", await asyncio.to_thread(formatted, text), text)

    def go_to(self, problem: Problem) -> None:
        """Puts the cursor there."""
        self.run_method("goTo", problem.line, problem.column)


def _completions(text: str, offset: int, found: Known) -> list[dict[str, Any]]:
    rank = {kind: 40 - 5 * place for place, kind in enumerate(_FIRST)}
    return [
        {
            "label": one.label, "kind": one.kind, "detail": one.detail, "about": one.about,
            "insert": one.insert, "boost": rank.get(one.kind, 0),
        }
        for one in complete(text, offset, found)[:MAX_COMPLETIONS]
    ]  # fmt: skip
