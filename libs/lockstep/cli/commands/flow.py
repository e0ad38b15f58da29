"""flow: what passes through a running app, edge by edge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import typer

from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.options import AppName, AsJson
from lockstep.cli.output import console, print_json, print_table

COLUMNS: Final = ("from", "to", "per s", "lag", "p50 ms", "p99 ms", "carried by", "state")
NOT_COUNTED: Final = "not counted"


def flow(context: typer.Context, app: AppName, as_json: AsJson = False) -> None:
    """Show what passes through a running app: rate, lag and latency of each edge, from the doors
    to the sinks."""

    with asking(context) as suite:
        found = suite.flow(app)
    if as_json:
        print_json(found)
        return
    names = {one["id"]: called(one) for one in found["nodes"]}
    rows = [edge_row(one, names) for one in found["edges"]]
    print_table(COLUMNS, rows, title=f"flow of {found['app']}", folded=("state",))
    for group in found["groups"]:
        for one in group["partitions"]:
            console.print(partition_line(group["group"], one), markup=False, soft_wrap=True)
    if found["silent"]:
        silent = ", ".join(found["silent"])
        console.print(f"did not say what passes: {silent}", markup=False, soft_wrap=True)


def called(node: Mapping[str, Any]) -> str:
    """A node for people: what kind it is, unless it is a stream."""
    kind, name = node["kind"], node["name"]
    if kind == "stream" or kind == name:
        return str(name)
    return f"{kind} {name}"


def edge_row(edge: Mapping[str, Any], names: Mapping[str, str]) -> list[str]:
    """An edge; a figure that nobody has is empty, but a rate says that it is not counted."""
    rate, lag = edge["per_s"], edge["lag"]
    state = edge["state"] if edge["trouble"] is None else f"{edge['state']}: {edge['trouble']}"
    return [
        names[edge["from_node"]],
        names[edge["to_node"]],
        NOT_COUNTED if rate is None else f"{rate:,.1f}",
        "" if lag is None else f"{lag:,} {edge['lag_of']}",
        "" if edge["latency_p50_ms"] is None else f"{edge['latency_p50_ms']:,}",
        "" if edge["latency_p99_ms"] is None else f"{edge['latency_p99_ms']:,}",
        ", ".join(edge["carried_by"]),
        state,
    ]


def partition_line(group: str, one: Mapping[str, Any]) -> str:
    """A partition of a group, in a line."""
    leads = "nobody leads" if one["node"] is None else f"{one['node']} leads"
    trouble = f", {one['trouble']}" if one["node"] and one["trouble"] else ""
    return (
        f"group {group} partition {one['partition']}: {leads}, {one['events_per_s']:,} events/s in,"
        f" {one['rows_per_s']:,.1f} rows/s out, lag {one['lag']:,} records{trouble}"
    )
