"""From a plan to units: every query by the first rule that fits, or on the reference's operators
with the reason why none does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from lockstep.aggregations.columns.unit import AggregationUnit
from lockstep.aggregations.rule import aggregation_units
from lockstep.columns.frame import Evaluate
from lockstep.columns.pool import StringPool
from lockstep.columns.realms import Defaults, Realms
from lockstep.columns.rule import NotLowerable
from lockstep.columns.units import Unit
from lockstep.events import AttributeType
from lockstep.execute.columnar.foretelling import ask_by_key, foretell
from lockstep.execute.columnar.hosted.named_window import NamedWindowUnit
from lockstep.execute.columnar.hosted.queries import HostedQueries
from lockstep.execute.columnar.hosted.window_rule import HOSTED_WINDOWS
from lockstep.execute.columnar.hosting import Hosting, Parts
from lockstep.execute.columnar.rules import RULES, Site
from lockstep.execute.columnar.sharing import Item, definitions_of, touched
from lockstep.execute.observe import Observe
from lockstep.expressions.columns import Compiler
from lockstep.partitions.columns import Broadcast, Ranges, Router
from lockstep.plan import AppPlan, PartitionNode, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedStream
from lockstep.tables.columns import PassiveTable, TableUnit, can_foretell
from lockstep.tables.rule import table_units


@dataclass(frozen=True, slots=True)
class Choice:
    """What became of a query: the rule that lowered it, or why it stays on the reference."""

    query: str
    rule: str | None
    reason: str | None = None
    alone: str | None = None
    """The rule that would have lowered it, had the rest of the app allowed it."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """An app's parts in an order in which each stands behind those that write what it reads; none
    when the whole app stays on the reference, for `reasons`: of which `app_reasons` are those that
    are not a query's own. `aggregations`: what became of those."""

    units: tuple[Unit | HostedQueries, ...]
    choices: tuple[Choice, ...]
    reasons: tuple[str, ...]
    app_reasons: tuple[str, ...] = ()
    aggregations: tuple[Choice, ...] = ()
    closed: frozenset[str] = frozenset()

    @property
    def is_columnar(self) -> bool:
        """Whether the app, or some part of it, runs in columns."""
        return not self.reasons


def lower(
    plan: AppPlan,
    pool: StringPool,
    defaults: Defaults,
    *,
    observe: Observe = Observe.NOTHING,
    plain: frozenset[str] = frozenset(),
    rounds: bool = True,
) -> Lowering:
    """Lowers an app. `defaults` are the states of a fresh reference engine; `observe`: what
    queries on the reference keep for tests. Nothing is foretold of the tables `plain`; `rounds`:
    circles of streams may go in rounds."""
    parts: Parts = {}
    refused: dict[Item, str] = {}
    seconds: dict[Item, Callable[[], Unit | None]] = {}
    choices: list[Choice] = []
    outside = Realms(defaults)
    tables = table_units(plan, Site(plan, 0, outside, pool))
    asked = ask_by_key(plan, tables, plain)
    aggregations = aggregation_units(plan, pool)
    windows = _named_windows(plan, pool)
    seconds.update({f"window/{name}": unit.second for name, unit in windows.items()})
    for place, node in enumerate(plan.nodes):
        units: list[Unit] = []
        if isinstance(node, PartitionNode):
            realms = Realms(defaults, node.name)
            site = Site(plan, place, realms, pool, tables, aggregations, windows, node.name)
            own = _lower_partition(node, site, units)
        else:
            site = Site(plan, place, outside, pool, tables, aggregations, windows)
            own = [_lower_query(node, site, units)]
            seconds[node.path] = _second(node, site)
        choices += own
        why = next((f"{each.query}: {each.reason}" for each in own if each.rule is None), None)
        if why is None:
            parts[node.path] = units
        else:
            refused[node.path] = why
    _lower_definitions(plan, {**tables, **windows}, parts, refused)
    _lower_aggregations(aggregations, parts, refused)
    reasons = app_reasons(plan)
    if reasons or not any(item in parts for item in _working(plan)):
        refusals = tuple(reasons or refused.values())
        chosen = tuple(_aggregation(name, refused) for name in aggregations)
        return Lowering((), tuple(choices), refusals, tuple(reasons), chosen)
    foretold = foretell(plan, parts, tables, plain)
    hosting = Hosting(plan, parts, refused, seconds, observe, rounds)
    in_order = hosting.parts_in_order()
    unkept = {name for name in foretold if not _is_kept(name, tables[name], hosting)}
    if unkept := unkept | (asked - foretold.keys()):
        # The reference makes their writes as they come, so they have to come as they are.
        return lower(
            plan, pool, defaults, observe=observe, plain=plain | unkept, rounds=rounds
        )  # fmt: skip
    closed = frozenset[str]().union(*foretold.values())
    choices = [_chosen(choice, item, hosting) for choice, item in _by_item(plan, choices)]
    chosen = tuple(_aggregation(name, hosting.refused) for name in aggregations)
    if not any(item in parts for item in _working(plan)):
        return Lowering((), tuple(choices), tuple(dict.fromkeys(refused.values())), (), chosen)
    return Lowering(tuple(in_order), tuple(choices), (), (), chosen, closed)


def _is_kept(name: str, table: TableUnit | str, hosting: Hosting) -> bool:
    """A table of which writes are foretold is in columns, and found by its key alone."""
    is_hosted = f"table/{name}" in hosting.refused
    return isinstance(table, TableUnit) and can_foretell(table) and not is_hosted


def _named_windows(plan: AppPlan, pool: StringPool) -> dict[str, NamedWindowUnit]:
    """The units of named windows."""
    schemas = plan.checked.schemas
    return {
        name: NamedWindowUnit(plan, definition, pool)
        for name, definition in plan.checked.windows.items()
        if AttributeType.OBJECT not in schemas[name].types
    }


def _lower_definitions(
    plan: AppPlan,
    made: Mapping[str, TableUnit | NamedWindowUnit | str],
    parts: Parts,
    refused: dict[Item, str],
) -> None:
    used = {item for node in plan.nodes for item in touched(node, definitions_of(plan))}
    for name, item in definitions_of(plan).items():
        unit = made.get(name)
        if isinstance(unit, TableUnit | NamedWindowUnit):
            parts[item] = [unit]
        elif unit is not None and item not in used:
            parts[item] = [PassiveTable(name)]
        elif not item.startswith("aggregation/"):
            refused[item] = unit or f"{item.partition('/')[0]}s run on the reference"


def _lower_aggregations(
    aggregations: Mapping[str, AggregationUnit | str], parts: Parts, refused: dict[Item, str]
) -> None:
    for name, unit in aggregations.items():
        if isinstance(unit, str):
            refused[f"aggregation/{name}"] = unit
        else:
            parts[f"aggregation/{name}"] = [unit]


def _aggregation(name: str, refused: Mapping[Item, str]) -> Choice:
    """What became of an aggregation."""
    reason = refused.get(f"aggregation/{name}")
    return Choice(name, None if reason else "incremental aggregation", reason)


def _working(plan: AppPlan) -> Iterator[Item]:
    """The items for whose sake an app runs in columns."""
    yield from (node.path for node in plan.nodes)
    yield from (f"aggregation/{name}" for name in plan.checked.aggregations)


def _by_item(plan: AppPlan, choices: Iterable[Choice]) -> Iterator[tuple[Choice, Item]]:
    rest = iter(choices)
    for node in plan.nodes:
        for _ in node.queries if isinstance(node, PartitionNode) else (node,):
            yield next(rest), node.path


def _chosen(choice: Choice, item: Item, hosting: Hosting) -> Choice:
    """What became of a query in the end."""
    if item in hosting.exchanged:
        choice = Choice(choice.query, HOSTED_WINDOWS.name)
    if choice.rule is None or item not in hosting.refused:
        return choice
    return Choice(choice.query, None, hosting.refused[item], choice.rule)


def _second(node: QueryNode, site: Site) -> Callable[[], Unit | None]:
    def make() -> Unit | None:
        try:
            return HOSTED_WINDOWS.lower(node, site)
        except NotLowerable:
            return None

    return make


def _lower_query(node: QueryNode, site: Site, units: list[Unit]) -> Choice:
    reason: str | None = None
    for rule in RULES:
        try:
            unit = rule.lower(node, site)
        except NotLowerable as why:
            reason = reason or str(why)
            continue
        if unit is not None:
            units.append(unit)
            return Choice(node.name, rule.name)
    return Choice(node.name, None, reason or _unknown(node))


def _unknown(node: QueryNode) -> str:
    stream = node.query.input
    for checked in stream.handlers if isinstance(stream, CheckedStream) else ():
        if isinstance(checked.handler, ast.WindowHandler):
            call = checked.handler.call
            name = call.name if call.namespace is None else f"{call.namespace}:{call.name}"
            return f"no rule for the window {name}"
    return "no rule for this kind of query"


def _lower_partition(node: PartitionNode, site: Site, units: list[Unit]) -> list[Choice]:
    try:
        units += _routers(node, site)
    except NotLowerable as why:
        return [Choice(query.name, None, str(why)) for query in node.queries]
    return [
        _lower_query(query, replace(site, place=place, partition_place=site.place), units)
        for place, query in enumerate(node.queries)
    ]


def _routers(node: PartitionNode, site: Site) -> list[Unit]:
    partition = node.partition.partition
    if any(a.name.lower() == "purge" for a in partition.annotations):
        raise NotLowerable("a partition that is purged")
    keys = {key.stream: key for key in partition.keys}
    routers: list[Unit] = []
    checked = site.plan.checked
    for source in node.reads:
        if source in checked.tables:
            continue  # all instances ask the same one
        if source not in checked.streams and source not in checked.triggers:
            raise NotLowerable(f"the partition reads {source}, which is no stream")
        key = keys.get(source)
        if key is None:
            keyed = [stream for stream in node.reads if stream in keys]
            types = site.plan.checked.schemas[source].types
            routers.append(Broadcast(node.name, site.place, source, types, keyed, site.realms))
            continue
        compiler = Compiler(node.partition.key_scopes[source])
        value = _key(key, compiler)
        if compiler.may_fail:
            raise NotLowerable("a partition key that calls functions")
        routers.append(Router(node.name, site.place, source, value, site.realms))
    return routers


def _key(key: ast.ValueKey | ast.RangeKey, compiler: Compiler) -> Evaluate | Ranges:
    """What tells the instances of an event."""
    if isinstance(key, ast.RangeKey):
        cases = [compiler.condition(case.condition) for case in key.cases]
        return Ranges(cases, [case.label for case in key.cases])
    compiler.type_of(key.expression)
    return compiler.compile(key.expression)


def app_reasons(plan: AppPlan) -> list[str]:
    """Why no part of an app can run in columns."""
    checked = plan.checked
    playback = checked.annotations.get("playback")
    if playback is not None and playback.get("idle.time") is not None:
        return ["playback with idle time"]
    return []
