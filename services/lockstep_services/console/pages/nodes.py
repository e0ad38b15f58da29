"""Nodes: the living processes, their load and what they carry; draining one, and levelling all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.commands.nodes import mixed_versions
from lockstep_services.console import allowed, figures
from lockstep_services.console.look import (
    Cell,
    Table,
    Tile,
    answer_of,
    attempt,
    box,
    button,
    card,
    confirmed,
    tell,
    text,
)
from lockstep_services.console.pages.node_log import path_of
from lockstep_services.console.shell import View, page

COLUMNS = (
    "Node",
    "Service",
    "State",
    "Version",
    "CPU",
    "Memory",
    "CPU of its host",
    "Carries",
    "Host",
    "Zone",
    "Heard",
    "Address",
)
Node = Mapping[str, Any]


def state_of(node: Node) -> Cell:
    """Leads, lives, or gives its work away."""
    if node["drained"]:
        return Cell("drained", chip="warn")
    return Cell("leads", chip="calm") if node["leading"] else Cell("lives", chip="good")


def row_of(node: Node, now_ms: int, *, may_read_log: bool = True) -> list[Cell]:
    """One process; its name leads to its log, for who may read that."""
    percent, size_bytes = node["process_cpu_percent"], node["resident_bytes"]
    log = path_of(node["node"], node["service"]) if may_read_log else ""
    is_processor = node["service"] == "processor"
    return [
        Cell(node["node"], "strong", link=log),
        Cell(node["service"]),
        state_of(node),
        Cell(node["version"] or "–"),
        Cell("–" if percent is None else f"{percent} %"),
        Cell("–" if size_bytes is None else figures.size(size_bytes)),
        Cell(f"{node['cpu_percent']} %" if is_processor else "–"),
        Cell(", ".join(node["apps"]) or "–"),
        Cell(node["host"] or "–"),
        Cell(node["zone"] or "–"),
        Cell(f"{figures.duration(max(0, now_ms - node['sent_ms']))} ago"),
        Cell(node["url"], "mono soft"),
    ]


class Processors:
    """Which can be drained, and whether they are."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._nodes: Sequence[Node] = ()

    def know(self, nodes: Sequence[Node]) -> None:
        """As the coordinator tells."""
        self._nodes = [one for one in nodes if one["service"] == "processor"]

    async def drain(self) -> None:
        """Asks which one, says what happens, and does it."""
        if not self._nodes:
            tell("No processor lives.", "warning")
            return
        names = {
            one["node"]: one["node"] + (" (drained)" if one["drained"] else "")
            for one in self._nodes
        }
        with ui.dialog() as dialog, box("dialog card"):
            text("h2", "Drain a processor")
            chosen = ui.select(names, value=next(iter(names)), label="Processor")
            chosen.props("outlined dense").classes("full")
            with box("consequences", "ul"):
                text("li", "Its leads are handed to ready standbys, without a gap.")
                text("li", "Its replicas are built elsewhere first, then they go.")
                text("li", "It takes nothing until the drain is undone.")
            with box("dialog-actions"):
                button("Cancel", lambda: dialog.submit(None), kind="quiet")
                button("Undo a drain", lambda: dialog.submit("DELETE"))
                button("Drain", lambda: dialog.submit("PUT"), kind="primary")
        method = await answer_of(dialog)
        if method:
            path = f"/v1/nodes/{quote(chosen.value, safe='')}/drain"
            found = await attempt(self._view.suite.tell(method, path))
            if found is not None:
                left = ", ".join(found["left"]) or "nothing"
                tell(f"{chosen.value}: carries {left}" if method == "PUT" else "Undone")

    async def level(self) -> None:
        """Shows which moves it would come to, then makes them."""
        path = "/v1/rebalance"
        found = await attempt(self._view.suite.tell("POST", path, {"dry_run": True}))
        if found is None:
            return
        if not found["moves"]:
            tell("The processors are level: nothing would move.")
            return
        says = [
            f"The {one['what']} of {one['unit']} moves from {one['from'] or 'nowhere'} to"
            f" {one['to'] or 'nowhere'} ({one['why']})."
            for one in found["moves"]
        ]
        if await confirmed("Level the processors?", says, "Level", danger=False):
            await attempt(self._view.suite.tell("POST", path, {"dry_run": False}), "They move")


@page("/nodes", "Nodes")
async def build(view: View) -> None:
    """All living processes."""
    processors = Processors(view)
    with view.actions:
        level = button("Level", processors.level, tip="Level the processors by measured load")
        view.allowed.offer(level, allowed.LEVEL)
        view.allowed.offer(button("Drain …", processors.drain), allowed.DRAIN)
    with box("tiles"):
        services = ("coordinator", "processor", "receiver", "publisher", "presenter")
        tiles = {name: Tile(f"{name.capitalize()}s") for name in services}
    mixed = text("p", "", "banner").props("role=status")
    mixed.set_visibility(False)
    may_read_log = not view.allowed.why_not(allowed.NODE_LOG)
    hint = "CPU: 100 % are one core. CPU and memory are those of the process with its children"
    with card("Processes", f"{hint}; services that share a process show the same", "flush"):
        table = Table(
            COLUMNS, empty="No process was heard of.",
            number=("CPU", "Memory", "CPU of its host", "Heard"),
        )  # fmt: skip

    def show(found: Mapping[str, Any]) -> None:
        nodes, now_ms = found["nodes"], view.world.clock.now_ms()
        processors.know(nodes)
        for name, tile in tiles.items():
            count = sum(one["service"] == name for one in nodes)
            tile.set(str(count), "soft" if count else "bad", "" if count else "none lives")
        says = mixed_versions(nodes)
        mixed.set_text(says)
        mixed.set_visibility(bool(says))
        table.show([row_of(one, now_ms, may_read_log=may_read_log) for one in nodes])

    await view.keep(lambda: view.suite.ask("/v1/nodes"), show, 1.0)
