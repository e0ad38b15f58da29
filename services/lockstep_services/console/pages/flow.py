"""Flow: what passes through an app now, as a graph and as a table, renewed every two seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from nicegui import ui

from lockstep.cli.commands.flow import called
from lockstep.events.paths import app_path
from lockstep_services.console import figures
from lockstep_services.console.flow_graph import FlowGraph, rate
from lockstep_services.console.look import Cell, Table, box, card, chip, text
from lockstep_services.console.shell import View, page

EVERY_S: Final = 2.0
EDGES: Final = ("From", "To", "Passes", "Waits", "p50", "p99", "Carried by", "State")
UNITS: Final = (
    "Group", "Partition", "Led by", "Events / s", "Rows / s", "Lag", "Busy", "p50", "p99",
    "Trouble",
)  # fmt: skip
CHIPS: Final = {"ok": "good", "lag": "warn", "trouble": "bad"}
WORDS: Final = {"ok": "ok", "lag": "late", "trouble": "trouble"}
MAX_SAID: Final = 5
"""Of what is wrong; the table has all of it."""
Json = Mapping[str, Any]


def edge_row(edge: Json, names: Mapping[str, str]) -> list[Cell]:
    """An edge with all of its figures."""
    waits = "–" if edge["lag"] is None else f"{figures.count(edge['lag'])} {edge['lag_of']}"
    state = Cell(WORDS[edge["state"]], chip=CHIPS[edge["state"]])
    if edge["trouble"]:
        state = Cell(f"trouble: {edge['trouble']}", "wrap")
    return [
        Cell(names[edge["from_node"]]),
        Cell(names[edge["to_node"]]),
        Cell(rate(edge["per_s"])),
        Cell(waits),
        Cell(_late(edge["latency_p50_ms"])),
        Cell(_late(edge["latency_p99_ms"])),
        Cell(", ".join(edge["carried_by"]) or "–"),
        state,
    ]


def unit_row(group: str, one: Json) -> list[Cell]:
    """A partition of a group."""
    return [
        Cell(group),
        Cell(str(one["partition"])),
        Cell(one["node"] or "nobody"),
        Cell(figures.count(one["events_per_s"])),
        Cell(figures.count(one["rows_per_s"])),
        Cell(figures.count(one["lag"])),
        Cell(f"{one['busy_permille'] / 10:.1f} %"),
        Cell(_late(one["latency_p50_ms"] or None)),
        Cell(_late(one["latency_p99_ms"] or None)),
        Cell(one["trouble"] or "–", "wrap"),
    ]


def said_of(flow: Json) -> list[tuple[str, str]]:
    """The edges that are in trouble or late, in words, those in trouble first: in a wide graph they
    may stand where one has to scroll to."""
    names = {one["id"]: called(one) for one in flow["nodes"]}
    found = []
    for edge in flow["edges"]:
        if edge["state"] != "ok":
            where = f"{names[edge['from_node']]} to {names[edge['to_node']]}"
            why = edge["trouble"] or f"{figures.count(edge['lag'])} {edge['lag_of']} wait"
            found.append((str(edge["state"]), f"{where}: {why}"))
    return sorted(found, key=lambda one: one[0] != "trouble")


def silence(flow: Json) -> str:
    """Who did not say what passes; empty when all did."""
    names = ", ".join(flow["silent"])
    return f"Without what these would have counted, as they do not answer: {names}" if names else ""


def _late(milliseconds: float | None) -> str:
    return "–" if milliseconds is None else figures.duration(milliseconds)


@page("/apps/{name}/flow", "Flow")
async def build(view: View) -> None:
    """The app that the address names."""
    app = view.parameter("name")
    name = quote(app, safe="")
    with view.actions:
        ui.link("The app", f"/apps/{name}").classes("btn")
        ui.link("Watch", f"/watch?app={name}").classes("btn")
    with card("Flow", "events and rows in a second, renewed every two seconds"):
        says = box("flow-says").props("role=status")
        graph = FlowGraph()
        silent = text("p", "", "soft").props("role=status")
    with card("Edges", "p50 and p99: from the door until a row had come over the edge", "flush"):
        edges = Table(EDGES, empty="Not known yet.", number=("Passes", "Waits", "p50", "p99"))
    with card("Who carries it", "one leads each partition of each group", "flush"):
        units = Table(
            UNITS, empty="Not known yet.",
            number=("Partition", "Events / s", "Rows / s", "Lag", "Busy", "p50", "p99"),
        )  # fmt: skip

    told: list[tuple[str, str]] = []

    def say(found: list[tuple[str, str]]) -> None:
        """Drawn anew when it is something else."""
        if found != told:
            told[:] = found
            says.clear()
            with says:
                for state, words in found[:MAX_SAID]:
                    with box():
                        chip(WORDS[state], CHIPS[state])
                        text("span", words, "wrap")

    def show(flow: Json) -> None:
        say(said_of(flow))
        graph.show(flow)
        silent.set_text(silence(flow))
        silent.set_visibility(bool(flow["silent"]))
        names = {one["id"]: called(one) for one in flow["nodes"]}
        edges.show([edge_row(one, names) for one in flow["edges"]])
        units.show(
            [unit_row(group["group"], one) for group in flow["groups"]
             for one in group["partitions"]]
        )  # fmt: skip

    async def fetch() -> Json:
        found: Json = await view.suite.ask(f"{app_path(app)}/flow")
        return found

    await view.keep(fetch, show, EVERY_S)
