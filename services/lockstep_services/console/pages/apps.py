"""Apps: what is deployed, whether it runs, how fast and how far behind."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from lockstep_services.console import figures
from lockstep_services.console.look import Cell, Table, Tile, box, card, empty
from lockstep_services.console.shell import View, page
from lockstep_services.console.suite import Suite

COLUMNS = ("App", "State", "Rows out / s", "Lag", "Led by", "Replicas", "Units", "Version",
           "Deployed (UTC)")  # fmt: skip
App = Mapping[str, Any]


async def found(suite: Suite) -> Sequence[App]:
    """The deployed apps with what the presenter sees of them."""
    apps, live = await asyncio.gather(suite.apps(), suite.show("/v1/live"))
    seen = {one["app"]: one for one in live["apps"]}
    return [{**one, "seen": seen.get(one["app"], {})} for one in apps]


def state_of(app: App) -> tuple[str, str]:
    """A word, and what kind of word it is; so many replicas short of what is wanted."""
    led = len(app["seen"].get("active", ()))
    if led >= app["units"]:
        missing = app["replicas"] * app["units"] - app["seen"].get("replicas", 0)
        return ("running", "good") if missing <= 0 else (f"running, {missing} short", "warn")
    return ("nobody leads", "bad") if not led else (f"{led} of {app['units']} led", "warn")


def row_of(app: App) -> list[Cell]:
    """One app as a row."""
    seen, (word, kind) = app["seen"], state_of(app)
    lag = seen.get("lag", 0)
    return [
        Cell(app["app"], link=f"/apps/{quote(app['app'], safe='')}"),
        Cell(word, chip=kind),
        Cell(figures.count(seen.get("rate", 0))),
        Cell(figures.count(lag), "warn" if lag > 1_000 else ""),
        Cell(", ".join(dict.fromkeys(seen.get("active", ()))) or "–"),
        Cell(f"{seen.get('replicas', 0)} of {app['replicas'] * app['units']}"),
        Cell(str(app["units"])),
        Cell(app["version"][:8], "mono"),
        Cell(figures.moment(app["updated_ms"])),
    ]


@page("/apps", "Apps")
async def build(view: View) -> None:
    """All apps."""
    with view.actions:
        ui.link("Write an app", "/write").classes("btn primary")
    with box("tiles") as tiles:
        shown = [Tile("Apps"), Tile("Led"), Tile("Rows out / s"), Tile("Highest lag")]
    with card(classes="flush") as panel:
        table = Table(COLUMNS, empty="", number=("Rows out / s", "Lag", "Replicas", "Units"))
    with (
        empty(
            "No app is deployed",
            "An app is a text in SiddhiQL. Write one, try it on a virtual clock, then deploy it.",
            "widgets",
        ) as nothing,
        box("row"),
    ):
        ui.link("Write an app", "/write").classes("btn primary")
        ui.link("Begin with a sample", "/write?samples=1").classes("btn")

    def show(apps: Sequence[App]) -> None:
        for each in (tiles, panel):
            each.set_visibility(bool(apps))
        nothing.set_visibility(not apps)
        view.actions.set_visibility(bool(apps))
        led = sum(state_of(one)[0].startswith("running") for one in apps)
        lag = max((one["seen"].get("lag", 0) for one in apps), default=0)
        shown[0].set(str(len(apps)))
        shown[1].set(f"{led} of {len(apps)}", "good" if led == len(apps) else "bad")
        shown[2].set(figures.count(sum(one["seen"].get("rate", 0) for one in apps)))
        shown[3].set(figures.count(lag), "warn" if lag > 1_000 else "soft", "records")
        table.show([row_of(one) for one in apps])

    for each in (tiles, panel, nothing):
        each.set_visibility(False)
    await view.keep(lambda: found(view.suite), show, 1.0)


@page("/", "Apps")
async def first(view: View) -> None:
    """The first page is that of the apps."""
    await build(view)
