"""The frame of every page: navigation in plain HTML, which is there at once; the page's content
below it, kept up to date; what to do when the suite does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from nicegui import ui

from lockstep.cli.refusals import RefusedError
from lockstep.clock import Clock
from lockstep.events import LockstepError
from lockstep.settings import Settings
from lockstep_services.console.allowed import EVERYTHING, Allowed, Known, allowed_of
from lockstep_services.console.login import token_of
from lockstep_services.console.look import box, said, text
from lockstep_services.console.simulations import Simulations
from lockstep_services.console.suite import Doors, Suite
from lockstep_services.console.workshops import Workshops

FIRST_WITHIN_S: Final = 0.15
"""From asking for a page to its HTML, whatever the suite has answered by then."""

AGAIN_S: Final = 1.0
PLACES: Final = (
    ("/apps", "Apps", "a", "M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z"),
    ("/write", "Write", "w", "M4 20h4L19 9l-4-4L4 16zM13 7l4 4"),
    ("/try", "Try", "t", "M9 3h6M10 3v6l-5 9a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3M8 15h8"),
    ("/watch", "Watch", "d", "M4 19h16M6 16v-5M11 16V6M16 16v-8"),
    ("/history", "History", "h", "M4 5v5h5M4.5 10a8 8 0 1 1-.5 4M12 8v5l3 2"),
    ("/scripts", "Scripts", "s", "M5 4h10l4 4v12H5zM14 4v5h5M12 11v4l2.5 1.5M8 11h1M8 15h1"),
    ("/templates", "Templates", "m", "M4 4h16v5H4zM4 13h7v7H4zM15 13h5M15 16.5h5M15 20h5"),
    ("/errors", "Errors", "e", "M12 4 3 20h18zM12 10v4M12 17v.5"),
    ("/nodes", "Nodes", "n", "M5 4h14v6H5zM5 14h14v6H5zM8 7h.5M8 17h.5"),
)
Found = TypeVar("Found")


@dataclass(slots=True)
class World:
    """What all pages share in this process."""

    doors: Doors
    settings: Settings
    clock: Clock
    workshops: Workshops
    simulations: Simulations = field(default_factory=Simulations)
    known: Known = field(default_factory=Known)


@dataclass(slots=True)
class View:
    """A page in somebody's browser."""

    request: Request
    world: World
    suite: Suite
    banner: Any = None
    actions: Any = None
    is_dark: bool = False
    allowed: Allowed = EVERYTHING
    asked_ms: int = 0
    """By the monotonic clock: when the browser asked for the page."""

    on_theme: list[Callable[[bool], None]] = field(default_factory=list)

    def parameter(self, name: str) -> str:
        """A part of the address; empty when it is not there."""
        found = unquote(self.request.path_params.get(name) or "")  # as `guard.routable` leaves it
        return found or self.request.query_params.get(name) or ""

    @property
    def log_in(self) -> str:
        """The address of the log-in, which leads back to this page."""
        path = self.request.scope["raw_path"] + b"?" + self.request.scope["query_string"]
        return f"/login?to={quote(path.removesuffix(b'?'), safe='/')}"

    def left_s(self) -> float:
        """For how long the page may still wait for the suite before it is sent as it is."""
        waited_ms = self.world.clock.monotonic_ms() - self.asked_ms
        return max(0.0, FIRST_WITHIN_S - waited_ms / 1000)

    async def keep(
        self, fetch: Callable[[], Awaitable[Found]], show: Callable[[Found], None], every_s: float
    ) -> None:
        """Shows what `fetch` finds, now if it is quick, and again and again; says when it cannot.

        RefusedError of a token that is not taken ends the page.
        """
        first = asyncio.ensure_future(fetch())
        done, _ = await asyncio.wait({first}, timeout=self.left_s())
        if done:
            self._taken(first, show)
        self._again(fetch, show, every_s, [] if done else [first])

    def follow(
        self, fetch: Callable[[], Awaitable[Found]], show: Callable[[Found], None], every_s: float
    ) -> None:
        """The same for what is built while nobody waits: from now on, and again and again."""
        self._again(fetch, show, every_s, [asyncio.ensure_future(fetch())])

    def _again(
        self,
        fetch: Callable[[], Awaitable[Found]],
        show: Callable[[Found], None],
        every_s: float,
        waiting: list[asyncio.Future[Found]],
    ) -> None:
        async def again() -> None:
            task = waiting.pop() if waiting else asyncio.ensure_future(fetch())
            await asyncio.wait({task})
            try:
                self._taken(task, show)
            except RefusedError:
                ui.navigate.to(self.log_in)

        ui.timer(every_s, again, immediate=bool(waiting))

    async def once(
        self,
        fetch: Callable[[], Awaitable[Found]],
        show: Callable[[Found], None],
        *,
        says: str = "The suite is asked …",
    ) -> None:
        """Shows below what `fetch` finds: now if it is quick, else in place of what `says` that.

        While services are away it asks again; what they refuse is said and asked once.
        """
        with box("answer-place") as place:
            waits = text("p", says, "soft").props("role=status")

        def found(answer: Found) -> None:
            with place:
                show(answer)

        first = asyncio.ensure_future(fetch())
        done, _ = await asyncio.wait({first}, timeout=self.left_s())
        if done and self._taken(first, found):
            waits.delete()
            return
        waiting = [] if done else [first]

        async def again() -> None:
            task = waiting.pop() if waiting else asyncio.ensure_future(fetch())
            await asyncio.wait({task})
            try:
                is_over = self._taken(task, found)
            except RefusedError:
                ui.navigate.to(self.log_in)
                is_over = True
            if is_over:
                timer.cancel()
                waits.delete()

        timer = ui.timer(AGAIN_S, again, immediate=bool(waiting))

    def _taken(self, task: asyncio.Future[Found], show: Callable[[Found], None]) -> bool:
        """Whether that was the last word; RefusedError of a token that is not taken."""
        try:
            found = task.result()
        except LockstepError as error:
            if isinstance(error, RefusedError) and error.status == HTTPStatus.UNAUTHORIZED:
                raise
            self.trouble(said(error))
            return isinstance(error, RefusedError)
        self.trouble("")
        show(found)
        return True

    def trouble(self, message: str) -> None:
        """A line above the page; none when it is empty."""
        self.banner.set_text(message)
        self.banner.set_visibility(bool(message))


_world: list[World] = []


def open_with(world: World) -> None:
    """From now on pages can be shown."""
    _world[:] = [world]


async def close() -> None:
    """Ends the processes and the simulations of pages."""
    for world in _world:
        await world.simulations.close()
        await world.workshops.close()


def page(
    path: str, title: str
) -> Callable[[Callable[[View], Awaitable[None]]], Callable[[View], Awaitable[None]]]:
    """Registers what builds a page, within the frame."""

    def register(build: Callable[[View], Awaitable[None]]) -> Callable[[View], Awaitable[None]]:
        async def shown(request: Request) -> Response | None:
            (world,) = _world
            view = View(request, world, Suite(world.doors, token_of(request)))
            view.asked_ms = world.clock.monotonic_ms()
            view.is_dark = request.cookies.get("lockstep_theme") == "dark"
            try:
                view.allowed = await allowed_of(view.suite, world.known)
                with _frame(view, title):
                    await build(view)
            except RefusedError as error:
                if error.status != HTTPStatus.UNAUTHORIZED:
                    raise
                return RedirectResponse(view.log_in, status_code=303)
            return None

        shown.__annotations__["request"] = Request
        ui.page(path, title=f"{title} · Lockstep", dark=None)(shown)
        return build

    return register


def _frame(view: View, title: str) -> ui.element:
    path = view.request.url.path
    ui.add_head_html(_HEAD)
    ui.add_body_html(_navigation(path, title))
    theme = view.request.cookies.get("lockstep_theme")
    ui.dark_mode({"dark": True, "light": False}.get(theme or ""))

    def themed(event: Any) -> None:
        if view.is_dark == bool(event.args):
            return
        view.is_dark = bool(event.args)
        for each in view.on_theme:
            each(view.is_dark)

    ui.on("lockstep-theme", themed)
    if theme is None:  # nobody has chosen: the browser alone knows what its system wants
        ui.run_javascript(_TELL_THEME)
    with box("page", "main").props('id="content"') as content:
        with box("page-head", "header"):
            text("h1", view.parameter("name") or title)
            view.actions = box("page-actions")
        view.banner = text("div", "", "banner").props("role=alert")
        view.banner.set_visibility(False)
    return content


_TELL_THEME: Final = (
    'emitEvent("lockstep-theme", document.documentElement.dataset.theme === "dark")'
)
_HEAD: Final = (
    '<link rel="stylesheet" href="/assets/console.css"><script src="/assets/theme.js"></script>'
    '<script src="/assets/keys.js" defer></script>'
)


def _navigation(path: str, title: str) -> str:
    links = []
    for target, name, _, icon in PLACES:
        here = ' aria-current="page"' if path.startswith(target) else ""
        links.append(
            f'<a href="{target}"{here}><svg viewBox="0 0 24 24" aria-hidden="true">'
            f'<path d="{icon}"/></svg><span>{name}</span></a>'
        )
    return (
        '<a class="skip" href="#content">Skip to content</a>'
        '<nav class="nav" aria-label="Pages"><a class="brand" href="/apps">'
        '<img src="/assets/icon.svg" alt="" width="26" height="26"><b>Lockstep</b></a>'
        f'{"".join(links)}<div class="nav-end">'
        '<button type="button" id="theme" aria-label="Dark or light">'
        '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z"/>'
        "</svg><span>Theme</span></button>"
        '<button type="button" id="keys" aria-label="Keyboard shortcuts"><kbd>?</kbd>'
        "<span>Keys</span></button>"
        '<form method="post" action="/logout"><button type="submit" aria-label="Log out">'
        '<svg viewBox="0 0 24 24" aria-hidden="true"><path d="M10 4H5v16h5M14 8l4 4-4 4M18 12H9"/>'
        "</svg><span>Log out</span></button></form></div></nav>"
        f'<div class="waiting" aria-hidden="true"><h1>{title}</h1><i></i><i></i><i></i></div>'
        '<dialog id="keys-help"><h2>Keys</h2><dl>'
        + "".join(
            f"<div><dt><kbd>g</kbd> <kbd>{key}</kbd></dt><dd>{name}</dd></div>"
            for _, name, key, _ in PLACES
        )
        + "<div><dt><kbd>?</kbd></dt><dd>this list</dd></div>"
        "<div><dt><kbd>Ctrl</kbd> <kbd>Space</kbd></dt><dd>complete, in the editor</dd></div>"
        "<div><dt><kbd>Alt</kbd> <kbd>Shift</kbd> <kbd>F</kbd></dt><dd>format, in it</dd></div>"
        '</dl><form method="dialog"><button class="btn">Close</button></form></dialog>'
    )
