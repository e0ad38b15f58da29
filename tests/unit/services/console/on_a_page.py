"""What tests do on a page that no browser shows."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fastapi import FastAPI, Request
from nicegui import Client, ui
from nicegui.elements.mixins.text_element import TextElement

from lockstep.clock import VirtualClock
from lockstep_services.console.shell import View, World
from lockstep_services.console.workshops import Workshops


@asynccontextmanager
async def started(application: FastAPI) -> AsyncIterator[None]:
    """A console that runs, without a process ready for those who try a text: nobody does, and to
    start one takes half a second."""
    async with AsyncExitStack() as running:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Workshops, "warm", lambda _: None)
            await running.enter_async_context(application.router.lifespan_context(application))
        yield


async def settled() -> None:
    """What can run without time passing has run; what nobody holds is gone."""
    for _ in range(20):
        await asyncio.sleep(0)
    gc.collect()


def press(client: Client, label: str) -> None:
    """A click on the newest button of this label."""
    found = [one for one in client.elements.values() if isinstance(one, ui.button)]
    chosen = [one for one in found if one.text == label][-1]
    (listener,) = chosen._event_listeners.values()
    chosen._handle_event({"listener_id": listener.id, "args": {}})


def dialogs(client: Client) -> list[ui.dialog]:
    """Those on the page."""
    return [one for one in client.elements.values() if isinstance(one, ui.dialog)]


def texts(client: Client) -> list[str]:
    """What is written on it, in the order of the elements' making."""
    return [
        one.text
        for one in client.elements.values()
        if isinstance(one, TextElement | ui.button) and one.text
    ]


def view_of(suite: Any) -> View:
    """A page on that suite, whose workshops and clock nobody uses; a person may do all."""
    request = Request({"type": "http", "path_params": {}, "query_string": b"", "headers": []})
    world = cast("World", SimpleNamespace(clock=VirtualClock()))
    return View(request, world, suite, banner=ui.label(), actions=ui.element())
