"""The pieces that pages are made of: texts, tiles, chips, tables, empty states, dialogs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from nicegui import Client, ui
from nicegui.elements.mixins.text_element import TextElement

from lockstep.events import LockstepError

KINDS: Final = ("good", "warn", "bad", "calm", "soft")


def text(tag: str, content: str = "", classes: str = "") -> TextElement:
    """An element with text in it, which is never taken for markup."""
    element = TextElement(tag=tag, text=content)
    return element.classes(classes) if classes else element


def box(classes: str = "", tag: str = "div") -> ui.element:
    """A plain element to put others into."""
    return ui.element(tag).classes(classes)


def chip(content: str, kind: str = "soft") -> TextElement:
    """A word of state."""
    return text("span", content, f"chip {kind}")


def restyle(element: ui.element, kind: str) -> None:
    """Gives a chip or a tile another kind."""
    element.classes(add=kind, remove=" ".join(one for one in KINDS if one != kind))


@contextmanager
def card(title: str = "", hint: str = "", classes: str = "") -> Iterator[ui.element]:
    """A panel with a title; more can be put into its head by `with panel.head`."""
    with box(f"card {classes}", "section") as panel:
        if title:
            with box("card-head"):
                text("h2", title)
                if hint:
                    text("span", hint, "hint")
        yield panel


class Tile:
    """A figure with what it means."""

    def __init__(self, label: str, value: str = "–", hint: str = "") -> None:
        with box("tile") as self.element:
            text("span", label, "tile-label")
            self._value = text("span", value, "tile-value")
            self._hint = text("span", hint, "tile-hint")

    def set(self, value: str, kind: str = "soft", hint: str | None = None) -> None:
        """Shows another figure."""
        self._value.set_text(value)
        restyle(self.element, kind)
        if hint is not None:
            self._hint.set_text(hint)


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell: its text, how it looks, and where it leads. `press`: it is a button, and that is what
    its table is told; unless it is `denied`, for that reason."""

    content: str
    classes: str = ""
    link: str = ""
    chip: str = ""
    press: str = ""
    denied: str = ""


class Table:
    """A table whose rows change while one looks; unchanged cells are left alone."""

    def __init__(
        self,
        columns: Sequence[str],
        *,
        empty: str,
        number: Sequence[str] = (),
        on_press: Callable[[str], Awaitable[None]] | None = None,
    ) -> None:
        self._columns = columns
        self._on_press = on_press
        self._shown: list[tuple[Sequence[Cell], ui.element]] = []
        self._numbers = set(number)
        with box("table-scroll") as self.element:
            self.element.props('tabindex="0" role="region"')
            with box("table", "table"):
                with box("", "thead"), box("", "tr"):
                    for name in columns:
                        text("th", name, "num" if name in self._numbers else "").props("scope=col")
                self._body = box("", "tbody")
            self._empty = text("p", empty, "empty-line")

    def show(self, rows: Sequence[Sequence[Cell | str]]) -> None:
        """These rows from now on."""
        wanted = [[one if isinstance(one, Cell) else Cell(one) for one in row] for row in rows]
        self._empty.set_visibility(not wanted)
        for number, row in enumerate(wanted):
            if number < len(self._shown):
                known, element = self._shown[number]
                if known != row:
                    element.clear()
                    self._fill(element, row)
                    self._shown[number] = (row, element)
            else:
                with self._body:
                    element = box("", "tr")
                self._fill(element, row)
                self._shown.append((row, element))
        for _, element in self._shown[len(wanted) :]:
            element.delete()
        del self._shown[len(wanted) :]

    def _fill(self, element: ui.element, row: Sequence[Cell]) -> None:
        with element:
            for name, cell in zip(self._columns, row, strict=True):
                number = " num" if name in self._numbers else ""
                if cell.link:
                    with box(cell.classes + number, "td"):
                        ui.link(cell.content, cell.link)
                elif cell.chip:
                    with box(cell.classes + number, "td"):
                        chip(cell.content, cell.chip)
                elif cell.press and self._on_press is not None:
                    with box(cell.classes + number, "td"):
                        made = button(cell.content, partial(self._on_press, cell.press))
                        if cell.denied:
                            made.props["disable"], made.props["title"] = True, cell.denied
                else:
                    text("td", cell.content, cell.classes + number)


def empty(title: str, says: str, picture: str = "inbox") -> ui.element:
    """What stands where there is nothing yet; a next step can be put into it."""
    with box("empty") as element:
        ui.icon(picture).classes("empty-icon").props("aria-hidden=true")
        text("h2", title)
        text("p", says)
    return element


def button(
    label: str, action: Callable[[], Any], *, kind: str = "", icon: str = "", tip: str = ""
) -> ui.button:
    """`kind`: primary, danger, quiet or none."""
    made = ui.button(label, on_click=partial(_pressed, action), icon=icon or None, color=None)
    made.props("no-caps unelevated").classes(f"btn {kind}")
    if tip:
        made.props(f'aria-label="{tip}"')
        with made:
            ui.tooltip(tip)
    return made


def _pressed(action: Callable[[], Any]) -> Any:
    """Does what a button is for, with the page as the place: the button itself may be gone with
    the next refresh, and what was opened in its place, or is told there, would go with it."""
    client = ui.context.client
    with client.layout:
        found = action()
    return _within(client, found) if inspect.iscoroutine(found) else found


async def _within(client: Client, work: Coroutine[Any, Any, Any]) -> Any:
    with client.layout:
        return await work


async def answer_of(dialog: ui.dialog) -> Any:
    """What a person says to a dialog, which is gone then; None: nothing."""
    answer = await dialog
    if not dialog.is_deleted:
        dialog.delete()
    return answer


async def confirmed(title: str, consequences: Sequence[str], action: str, *, danger: bool) -> bool:
    """Whether the person wants that, having read what will happen."""
    with ui.dialog() as dialog, box("dialog card"):
        text("h2", title)
        with box("consequences", "ul"):
            for one in consequences:
                text("li", one)
        with box("dialog-actions"):
            button("Cancel", lambda: dialog.submit(False), kind="quiet")
            button(action, lambda: dialog.submit(True), kind="danger" if danger else "primary")
    return bool(await answer_of(dialog))


def tell(message: str, kind: str = "positive") -> None:
    """A word that goes by itself."""
    ui.notify(message, type=kind, position="bottom-right", timeout=4_000)  # type: ignore[arg-type]


def tell_error(error: LockstepError) -> None:
    """What a service or the language refused, in its words, until it is waved away."""
    ui.notify(
        said(error), type="negative", position="bottom-right", timeout=0, close_button="Close",
        multi_line=True,
    )  # fmt: skip


def said(error: LockstepError) -> str:
    """The error with its place and hint."""
    return str(error)


async def attempt(work: Awaitable[Any], done: str = "") -> Any:
    """The result; None when it was refused, which the person is told."""
    try:
        found = await work
    except LockstepError as error:
        tell_error(error)
        return None
    if done:
        tell(done)
    return found if found is not None else True
