"""Opens the circles of tables whose writes can be foretold (tables.foretold)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from lockstep.columns.rule import NotLowerable
from lockstep.columns.units import Unit
from lockstep.events.codec import EncodedEntry
from lockstep.execute.columnar.sharing import Item
from lockstep.execute.together import Together
from lockstep.plan import AppPlan, PlanNode, QueryNode
from lockstep.tables.columns import TableUnit, can_foretell
from lockstep.tables.foretelling import ForetoldWrites, foretold_writer
from lockstep.tables.foretold import Prophecy, prophecy


def ask_by_key(
    plan: AppPlan, tables: Mapping[str, TableUnit | str], plain: frozenset[str]
) -> set[str]:
    """Lists that a query asks by some attributes and writes back under the same: all look for rows
    by these, before anything is lowered. Gives their names."""
    found = set[str]()
    for name, table in tables.items():
        if name in plain or isinstance(table, str) or table.state.primary:
            continue
        told = [_prophecy(plan, each, name, ()) for each in plan.nodes]
        keys = {each.key for each in told if each is not None}
        if len(keys) == 1 and not table.is_stored:
            (table.state.asked,) = keys
            found.add(name)
    return found


def foretell(
    plan: AppPlan,
    parts: dict[Item, Sequence[Unit]],
    tables: Mapping[str, TableUnit | str],
    plain: frozenset[str],
) -> dict[str, frozenset[str]]:
    """Foretells what it can, but of the tables that are `plain`. Gives the tables, each with the
    streams that may bring no events of their own. A query whose writes are foretold runs all the
    same, for those who observe it and for its state."""
    found: dict[str, frozenset[str]] = {}
    for name, table in tables.items():
        if name in plain or isinstance(table, str):
            continue
        told = list(_told(plan, parts, name, table))
        if not told or not can_foretell(table):
            continue
        # Where one of them cannot be told, the circle stays, and the table is hosted.
        found[name] = frozenset().union(*(each.between for _, each in told))
        try:
            made = [(node, _foretold(table, node, each)) for node, each in told]
        except NotLowerable:
            continue
        for node, unit in made:
            (own,) = parts[node.path]
            cast(Any, own).writes = f"{own.writes} as it was foretold"
            parts[node.path] = (own, unit)
    return found


def _foretold(table: TableUnit, node: QueryNode, told: Prophecy) -> ForetoldWrites:
    """What the query writes comes of the events that ask from now on: the unit that brings them.
    NotLowerable."""
    (name,) = [each for each, query in table.queries.items() if query is node.query]
    table.writers[name] = foretold_writer(node.query, told, table.state)
    return ForetoldWrites(node, told, name)


def _told(
    plan: AppPlan, parts: Mapping[Item, Sequence[Unit]], name: str, table: TableUnit
) -> Iterator[tuple[QueryNode, Prophecy]]:
    for node in plan.nodes if table.state.primary or table.state.asked else ():
        told = _prophecy(plan, node, name, table.state.primary) if node.path in parts else None
        if told is not None and isinstance(node, QueryNode):
            yield node, told


def _prophecy(
    plan: AppPlan, node: PlanNode, table: str, primary: tuple[int, ...]
) -> Prophecy | None:
    if not isinstance(node, QueryNode) or node.writes != table:
        return None
    try:
        return prophecy(plan, node, primary)
    except NotLowerable:
        return None


def brings_any(entries: Sequence[EncodedEntry] | Together, streams: frozenset[str]) -> bool:
    """Whether entries have events of some of these streams."""
    if isinstance(entries, Together):
        return not streams.isdisjoint(entries.batches)
    return bool(streams) and any(streams.intersection(entry.streams) for entry in entries)
