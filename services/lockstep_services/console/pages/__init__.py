"""The pages, each in a module; importing this registers them."""

from __future__ import annotations

from lockstep.clock import Clock
from lockstep.settings import Settings
from lockstep_services.console import shell
from lockstep_services.console.pages import (
    app,
    app_figures,
    apps,
    errors,
    flow,
    history,
    node_log,
    nodes,
    scripts,
    simulate,
    tables,
    templates,
    trying,
    versions,
    watch,
    write,
)
from lockstep_services.console.suite import Doors
from lockstep_services.console.workshops import Workshops

__all__ = [
    "app",
    "app_figures",
    "apps",
    "close",
    "errors",
    "flow",
    "history",
    "node_log",
    "nodes",
    "open_with",
    "scripts",
    "simulate",
    "tables",
    "templates",
    "trying",
    "versions",
    "watch",
    "write",
]


def open_with(doors: Doors, settings: Settings, clock: Clock) -> None:
    """From now on pages can be shown."""
    workshops = Workshops(settings.console)
    workshops.warm()
    shell.open_with(shell.World(doors, settings, clock, workshops))


async def close() -> None:
    """Ends what pages left running."""
    await shell.close()
