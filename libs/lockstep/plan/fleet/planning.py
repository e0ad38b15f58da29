"""`fleet_of`: the groups of an app. Pure."""

from __future__ import annotations

from typing import Final

from lockstep.plan.build import MAIN
from lockstep.plan.fleet.assembly import Assembly, Team, name_for, reasons
from lockstep.plan.fleet.automatic import Found, find_groups
from lockstep.plan.fleet.contract import (
    CUTS_TABLES,
    KEY_GROUPS,
    RULES,
    TELLS_NODES_APART,
    Feed,
    FleetPlan,
    GroupPlan,
)
from lockstep.plan.fleet.dist import has_dist, teams_of, written_of
from lockstep.plan.fleet.drafts import Draft
from lockstep.plan.fleet.graph import Graph
from lockstep.plan.nodes import AppPlan
from lockstep.siddhiql.checking.app_annotations import parallel_of
from lockstep.siddhiql.errors import SiddhiQLError
from lockstep.siddhiql.typing import positioned

ONE: Final = 1

_TOLD: Final = CUTS_TABLES - 1
"""With @dist nothing that uses a table is cut, by the rules of any release."""


def fleet_of(plan: AppPlan, parallel: int | None = None, rules: int = RULES) -> FleetPlan:
    """The groups that an app runs as, in `parallel` partitions where it can be cut (by default what
    @app:parallel says). With @dist it runs as the text says, and `parallel` stands for that of the
    groups that are cut. `rules`: those of the release that cut it first. Raises SiddhiQLError."""
    if parallel is not None and not 1 <= parallel <= KEY_GROUPS:
        raise SiddhiQLError(
            f"an app cannot have {parallel} partitions", hint=f"from 1 to {KEY_GROUPS}"
        )
    asked = parallel_of(plan.checked.annotations) if parallel is None else parallel
    if asked is None and not has_dist(plan):
        return FleetPlan(plan, ONE, (_single(plan, None),))
    if "compat" in plan.checked.annotations:
        because = "@app:compat brings old defects back, which hang on all events"
        return FleetPlan(plan, asked or ONE, (_single(plan, because),))
    if rules >= TELLS_NODES_APART:
        _refuse_equal_names(plan)
    if has_dist(plan):
        groups = _as_told(plan, asked, rules)
        return FleetPlan(plan, max(group.partitions for group in groups), groups, rules)
    assert asked is not None
    return FleetPlan(plan, asked, _automatic(plan, asked, rules), rules)


def _refuse_equal_names(plan: AppPlan) -> None:
    """Groups know queries and partitions by name, and a query that is cut by key becomes a
    partition. What the text gives no name goes by its place, as `query_2`."""
    seen: set[str] = set()
    for node in plan.nodes:
        if node.name in seen:
            raise positioned(
                written_of(node).at,
                f"a query and a partition of an app that is cut are both called {node.name!r}",
                "give one of them another name with @info(name='…')",
            )
        seen.add(node.name)


def _as_told(plan: AppPlan, parallel: int | None, rules: int) -> tuple[GroupPlan, ...]:
    """What @dist says."""
    graph = Graph(plan, _TOLD)
    teams, chosen = teams_of(graph, parallel, rules)
    if len(teams) == 1 and teams[0].draft is None:
        return (_single(plan, None),)
    assembly = Assembly(graph, chosen)
    for team in teams:
        assembly.add(team)
    return assembly.groups()


def _single(plan: AppPlan, because: str | None) -> GroupPlan:
    """The app as it is written, in one place."""
    faults = dict.fromkeys(one for node in plan.nodes for one in node.reads if one[0] == "!")
    return GroupPlan(
        MAIN,
        ONE,
        plan.text,
        tuple(Feed(stream, True, ()) for stream in (*plan.inputs, *faults)),
        (),
        plan.exported,
        plan.stored,
        tuple(node.name for node in plan.nodes),
        because,
    )


def _automatic(plan: AppPlan, parallel: int, rules: int) -> tuple[GroupPlan, ...]:
    graph = Graph(plan, rules)
    found = find_groups(graph)
    tables = [_tables_of(draft, found) for draft in found.groups]
    stores = graph.stores.difference(*tables)
    because = reasons(graph, found.because, stores)
    if not found.groups:
        return (_single(plan, because),)
    assembly = Assembly(graph, found.chosen)
    taken: list[str] = [MAIN]
    for draft, own in zip(found.groups, tables, strict=True):
        taken.append(name_for(draft, taken))
        assembly.add(Team(taken[-1], parallel, frozenset(draft.nodes), draft, tables=own))
    if found.main or stores or _gives_out_input(plan, found.groups):
        whole = because or "it gives out what comes in"
        assembly.add(Team(MAIN, ONE, found.main, None, whole, stores=stores))
    return assembly.groups()


def _tables_of(draft: Draft, found: Found) -> dict[str, str]:
    """The tables that a group has, each with the attribute that it is cut by."""
    tables: dict[str, str] = {}
    for name in sorted(draft.nodes & found.chosen.keys()):
        tables |= found.chosen[name].tables
    return tables


def _gives_out_input(plan: AppPlan, groups: tuple[Draft, ...]) -> bool:
    written = {one for node in plan.nodes for one in node.written}
    fed = {stream for one in groups for stream, need in one.feeds.items() if need.has_each_once}
    return any(stream not in written and stream not in fed for stream in plan.exported)
