"""From a plan to units in columns: every query by the first rule that fits, or the reason why none
does."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lockstep.execute.columnar.expressions import Compiler, NotLowerable
from lockstep.execute.columnar.partitions import Router
from lockstep.execute.columnar.pool import StringPool
from lockstep.execute.columnar.realms import Defaults, Realms
from lockstep.execute.columnar.rules import RULES, Site
from lockstep.execute.columnar.rules.table_access import table_units
from lockstep.execute.columnar.tables import PassiveTable
from lockstep.execute.columnar.units import Unit
from lockstep.plan import AppPlan, PartitionNode, QueryNode
from lockstep.siddhiql import ast


@dataclass(frozen=True, slots=True)
class Choice:
    """What became of a query: the rule that lowered it, or why it stays on the reference."""

    query: str
    rule: str | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Lowering:
    """An app's units in an order in which each stands behind those that write what it reads; no
    units when the app stays on the reference, for the first of `reasons`."""

    units: tuple[Unit, ...]
    choices: tuple[Choice, ...]
    reasons: tuple[str, ...]

    @property
    def is_columnar(self) -> bool:
        """Whether the whole app runs in columns."""
        return not self.reasons


def lower(plan: AppPlan, pool: StringPool, defaults: Defaults) -> Lowering:
    """Lowers an app. `defaults` are the states of a fresh reference engine."""
    units: list[Unit] = []
    choices: list[Choice] = []
    reasons = list(_app_reasons(plan))
    outside = Realms(defaults)
    tables = table_units(plan, Site(plan, 0, outside, pool))
    for place, node in enumerate(plan.nodes):
        if isinstance(node, PartitionNode):
            realms = Realms(defaults, node.name)
            site = Site(plan, place, realms, pool, tables, node.name)
            choices += _lower_partition(node, site, units)
        else:
            choices.append(_lower_query(node, Site(plan, place, outside, pool, tables), units))
    reasons += [f"{c.query}: {c.reason}" for c in choices if c.reason is not None]
    for name, table in tables.items():
        units.append(PassiveTable(name) if isinstance(table, str) else table)
    if not reasons:
        units, reasons = _arranged(units)
    return Lowering(tuple(units) if not reasons else (), tuple(choices), tuple(reasons))


def _lower_query(node: QueryNode, site: Site, units: list[Unit]) -> Choice:
    try:
        for rule in RULES:
            unit = rule.lower(node, site)
            if unit is not None:
                units.append(unit)
                return Choice(node.name, rule.name)
    except NotLowerable as why:
        return Choice(node.name, None, str(why))
    return Choice(node.name, None, "no rule for this kind of query")


def _lower_partition(node: PartitionNode, site: Site, units: list[Unit]) -> list[Choice]:
    try:
        units += _routers(node, site)
    except NotLowerable as why:
        return [Choice(query.name, None, str(why)) for query in node.queries]
    return [
        _lower_query(query, replace(site, place=place), units)
        for place, query in enumerate(node.queries)
    ]


def _routers(node: PartitionNode, site: Site) -> list[Unit]:
    partition = node.partition.partition
    if any(a.name.lower() == "purge" for a in partition.annotations):
        raise NotLowerable("a partition that is purged")
    keys = {key.stream: key for key in partition.keys}
    routers: list[Unit] = []
    for source in node.reads:
        key = keys.get(source)
        if key is None:
            raise NotLowerable(f"the partition's {source} is broadcast")
        if not isinstance(key, ast.ValueKey):
            raise NotLowerable("a range partition")
        compiler = Compiler(node.partition.key_scopes[source])
        compiler.type_of(key.expression)
        value = compiler.compile(key.expression)
        if compiler.may_fail:
            raise NotLowerable("a partition key that calls functions")
        if source not in site.plan.checked.streams:
            raise NotLowerable(f"the partition reads {source}, which is no stream")
        routers.append(Router(node.name, site.place, source, value, site.realms))
    return routers


def _app_reasons(plan: AppPlan) -> list[str]:
    checked = plan.checked
    found = []
    for what, named in (
        ("named windows", checked.windows),
        ("triggers", checked.triggers),
        ("aggregations", checked.aggregations),
    ):
        if named:
            found.append(f"the app has {what}")
    playback = checked.annotations.get("playback")
    if playback is not None and playback.get("idle.time") is not None:
        found.append("playback with idle time")
    return found


def _arranged(units: list[Unit]) -> tuple[list[Unit], list[str]]:
    """(units behind their writers, reasons why there is no such order or it would not be exact)."""
    waiting = list(units)
    done: list[Unit] = []
    while waiting:
        unwritten = {unit.writes for unit in waiting}
        ready = [unit for unit in waiting if not unwritten.intersection(unit.reads)]
        if not ready:
            return units, ["streams that feed each other"]
        done += ready
        waiting = [unit for unit in waiting if unit not in ready]
    if sum(unit.shows_timers for unit in done) > 1:
        return units, ["several queries whose timers are seen"]
    return done, []
