"""status: how running apps, their sinks and the nodes under them are doing."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, Final

import typer

from lockstep.cli.caller import Caller
from lockstep.cli.commands.asking import asking
from lockstep.cli.commands.connectors import show_connectors
from lockstep.cli.commands.options import AsJson
from lockstep.cli.output import SHOWN_VERSION, console, counted, print_json, show
from lockstep.cli.progress import past_said
from lockstep.cli.refusals import RefusedError

UNIT_COLUMNS: Final = ("group", "partition")
REPLICA_COLUMNS: Final = (
    "node",
    "role",
    "standby",
    "ready",
    "position",
    "published",
    "epoch",
    "lag",
    "trouble",
)
SINK_COLUMNS: Final = ("sink", "node", "behind", "trouble")
NODE_COLUMNS: Final = ("node", "service", "version", "url", "leading", "drained", "apps")
SAID: Final[Mapping[str, str]] = {
    "active": "runs",
    "passive": "nobody leads",
    "inactive": "no replica is heard of",
}
MOVING: Final = ("running", "unknown")
"""Of a source or sink that no process tells of, the replicas above say more."""
AWAY: Final = "away"
"""The role of a node that an app is placed on and that says nothing."""
FAILING: Final = "failing"
"""The role of one that says why it has no replica: its trouble."""


def _nodes(suite: Caller, url: str) -> list[Any]:
    """None for who may see single apps only."""
    try:
        found: list[Any] = suite.request("GET", url)["nodes"]
    except RefusedError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        return []
    return found


def status(
    context: typer.Context,
    app: Annotated[str | None, typer.Argument(help="One app; all without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show who leads, who stands by, how far each replica is, and what troubles the sinks; without
    an app also the nodes.
    """

    nodes: list[Any] = []
    with asking(context) as suite:
        base = suite.addresses.coordinator
        if app is not None:
            found = [suite.status(app)]
        else:
            apps = suite.request("GET", f"{base}/v1/apps")["apps"]
            nodes = _nodes(suite, f"{base}/v1/nodes")
            found = [suite.status(one["app"]) for one in apps]
    if as_json:
        print_json(found)
        return
    if nodes:
        told = ("leading", "drained")
        nodes = [{**node, **{name: node[name] or None for name in told}} for node in nodes]
        show(nodes, NODE_COLUMNS, as_json=False, title="nodes", folded=("apps",))
    if not found:
        console.print("apps: none")
    for one in found:
        show_app(one)


def show_app(one: Mapping[str, Any]) -> None:
    """One app, as the coordinator describes it."""
    replicas = [*one["replicas"], *_silent(one)]
    columns = REPLICA_COLUMNS if not one["layout"] else (*UNIT_COLUMNS, *REPLICA_COLUMNS)
    if _former(one):
        columns = ("layout", *columns)
    show(replicas, columns, as_json=False, title=heading(one), folded=("trouble",))
    if waiting := one.get("waiting"):
        console.print(f"waits for {waiting}", markup=False, soft_wrap=True)
    said = (
        f"began empty behind position {replica['begins_behind']}: {', '.join(lost)}"
        for replica in one["replicas"]
        if (lost := replica.get("began_empty"))
    )
    for line in dict.fromkeys(said):  # of a fleet, many replicas say the same
        console.print(line, markup=False, soft_wrap=True)
    for replica in one["replicas"]:
        if past := replica.get("past"):
            console.print(f"past {past_said(past)}", markup=False, soft_wrap=True)
    sinks = [
        {**sink, "behind": max(0, sink["log_end"] - sink["sequence"])} for sink in one["sinks"]
    ]
    if sinks:
        show(sinks, SINK_COLUMNS, as_json=False, folded=("trouble",))
    if standing := [each for each in one.get("connectors", ()) if each["state"] not in MOVING]:
        show_connectors(standing, "sources and sinks that do not run")


def heading(one: Mapping[str, Any]) -> str:
    """What an app is and whether all of it is there, in a line."""
    version = one["version"][:SHOWN_VERSION]
    units = len(one["units"])
    former = _former(one)
    running = (
        replica
        for replica in one["replicas"]
        if replica["role"] != FAILING and replica not in former
    )
    here = len({(replica["node"], replica["unit"]) for replica in running})
    wanted = one["replicas_wanted"] * units
    there = counted(wanted, "replica") if here == wanted else f"{here} of {wanted} replicas"
    if units > 1:
        there = f"{units} units, {there}"
    said = SAID[one["status"]]
    if former:
        said = f"goes over from layout {former[0]['layout']} to layout {one['layout']}"
    return f"{one['app']}: {said}, {there}, version {version}"


def _former(one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Replicas of the layout before, which go on until all units of the present one have begun."""
    layout = one["layout"]
    return [each for each in one["replicas"] if each.get("layout", layout) != layout]


def _silent(one: Mapping[str, Any]) -> list[dict[str, Any]]:
    heard = {(replica["node"], replica["unit"]) for replica in one["replicas"]}
    return [
        {
            "node": node,
            "role": AWAY,
            "layout": one["layout"],
            "group": unit["group"],
            "partition": unit["partition"],
        }
        for unit in one["units"]
        for node in unit["nodes"]
        if (node, unit["unit"]) not in heard
    ]
