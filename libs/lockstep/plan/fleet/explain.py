"""The groups of an app for people: what runs in each, how events reach it, and why something is
whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lockstep.plan.fleet.contract import Feed, FleetPlan, GroupPlan, Routing, Together
from lockstep.plan.nodes import PlanNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.printing import print_node


def explain_fleet(fleet: FleetPlan) -> str:
    """A block for each group, those that are read in front."""
    number = len(fleet.groups)
    groups = "1 group" if number == 1 else f"{number} groups"
    lines = [f"in {_partitions(fleet.parallel)}: {groups}"]
    nodes = fleet.app.nodes
    written = {name for node in nodes for name in node.written} - _returning(nodes)
    for group in fleet.groups:
        lines += [f"  {line}" for line in _group(group, written)]
    return "\n".join(lines)


def _returning(nodes: Sequence[PlanNode]) -> set[str]:
    """The streams whose rows bring more of their own: they begin with what is sent to them."""
    ahead: dict[str, set[str]] = {}
    for node in nodes:
        for read in node.reads:
            ahead.setdefault(read, set()).update(node.written)
    return {stream for stream in ahead if stream in _reached(ahead, stream)}


def _reached(ahead: Mapping[str, set[str]], stream: str) -> set[str]:
    """What the rows of a stream lead to."""
    found: set[str] = set()
    left = [stream]
    while left:
        fresh = ahead.get(left.pop(), set()) - found
        found |= fresh
        left += fresh
    return found


def _partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count} partitions"


def _group(group: GroupPlan, written: set[str]) -> list[str]:
    lines = [f"group {group.name}, {_partitions(group.partitions)}: {', '.join(group.nodes)}"]
    told = [feed for feed in group.feeds if feed.writers or feed.stream not in written]
    lines += [f"  reads {_feed(feed, written)}" for feed in told]
    lines += [f"  has the table {table}, by {key}" for table, key in group.tables]
    if group.channels:
        lines.append(f"  other groups read {', '.join(group.channels)}")
    if group.exported:
        lines.append(f"  gives out {', '.join(group.exported)}")
    if group.stored:
        lines.append(f"  stores {', '.join(group.stored)}")
    if group.whole_because is not None:
        lines.append("  whole, because")
        lines += [f"    {reason}" for reason in group.whole_because.split("; ")]
    return lines


def _feed(feed: Feed, written: set[str]) -> str:
    """What is sent straight to a stream that queries write goes without saying."""
    places = ["the input"] if feed.from_input and feed.stream not in written else []
    places += [f"group {name}" for name in feed.writers]
    return f"{feed.stream} from {' and '.join(places)}, {_routing(feed)}"


def _routing(feed: Feed) -> str:
    if feed.routing is Routing.ROUND_ROBIN:
        return "each event in one partition, by turns"
    if feed.key is None:
        return "all of it"
    if isinstance(feed.key, ast.Constant):
        return "in one partition"
    text = f"by {_key(feed.key)}"
    if feed.where is not None:
        text += f", where {print_node(feed.where)}"
    if feed.together is Together.KEYS:
        text += ", all of a key together"
    return text


def _key(key: ast.Expression) -> str:
    """As people would write it: a key that null has as well was made so (keys.py)."""
    match key:
        case ast.FunctionCall("default", (inner, ast.Constant("null", _))):
            match inner:
                case ast.FunctionCall("convert", (number, ast.Constant("string", _))):
                    inner = number
            return f"{print_node(inner)} (null is a key, too)"
    return print_node(key)


def fleet_as_json(fleet: FleetPlan) -> dict[str, Any]:
    """The same for programs."""
    return {
        "parallel": fleet.parallel,
        "groups": [
            {
                "name": group.name,
                "partitions": group.partitions,
                "nodes": list(group.nodes),
                "feeds": [
                    {
                        "stream": feed.stream,
                        "from_input": feed.from_input,
                        "writers": list(feed.writers),
                        "routing": feed.routing.value,
                        "key": None if feed.key is None else print_node(feed.key),
                        "where": None if feed.where is None else print_node(feed.where),
                        "together": feed.together.value,
                    }
                    for feed in group.feeds
                ],
                "channels": list(group.channels),
                "exported": list(group.exported),
                "stored": list(group.stored),
                "tables": dict(group.tables),
                "whole_because": group.whole_because,
                "text": group.text,
            }
            for group in fleet.groups
        ],
    }
