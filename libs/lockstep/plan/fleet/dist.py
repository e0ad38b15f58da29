"""The groups that an app asks for with @dist: what the text says, or a refusal with a hint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from lockstep.plan.build import MAIN
from lockstep.plan.fleet.assembly import Team
from lockstep.plan.fleet.choosing import choose
from lockstep.plan.fleet.contract import (
    KEEPS_FAULTS,
    KEY_GROUPS,
    NAMES_APART,
    Routing,
    Together,
)
from lockstep.plan.fleet.drafts import Draft, Need
from lockstep.plan.fleet.graph import Graph
from lockstep.plan.fleet.keys import substituted, text_of
from lockstep.plan.fleet.traits import Free, Keyed, Whole
from lockstep.plan.nodes import AppPlan, PlanNode, QueryNode
from lockstep.siddhiql import ast
from lockstep.siddhiql.models import models_in
from lockstep.siddhiql.typing import positioned

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NUMBERED_MAX: Final = 60
_DIST: Final = "dist"


@dataclass
class ExecGroup:
    """What the text puts together. `asked`: the annotation that says in how many partitions."""

    name: str
    nodes: list[str] = field(default_factory=list)
    parallel: int = 1
    asked: ast.Annotation | None = None


def has_dist(plan: AppPlan) -> bool:
    """Whether an app says itself what runs where."""
    return any(_dist(_annotations(node)) for node in plan.nodes)


def exec_groups(plan: AppPlan, parallel: int | None, rules: int) -> list[ExecGroup]:
    """The groups of the text, in order; `parallel` replaces what the text says of those that are
    cut. `rules`: which names they have (contract.RULES). Refuses what does not go together."""
    groups: dict[str, ExecGroup] = {}
    taken = {MAIN, *(node.group for node in plan.nodes)} if rules >= NAMES_APART else None
    for node in plan.nodes:
        _refuse_inside(node)
        said = _dist(_annotations(node))
        name = MAIN if said is None else said.get("execGroup") or _own_name(said, node, taken)
        if said is not None and not _NAME.fullmatch(name):
            raise positioned(
                said.at,
                f"an execGroup cannot be called {name!r}",
                "use up to 64 letters, digits, _ and -",
            )
        group = groups.setdefault(name, ExecGroup(name))
        group.nodes.append(node.name)
        if said is not None:
            _ask(group, said)
    for group in groups.values():
        if parallel is not None and group.parallel > 1:
            group.parallel = parallel
    return list(groups.values())


def _own_name(said: ast.Annotation, node: PlanNode, taken: set[str] | None) -> str:
    """Without an execGroup an element that is cut has a group of its own, whose name is none of
    `taken`."""
    if said.get("parallel") is None or int(said.get("parallel") or 1) == 1:
        return MAIN
    name = re.sub(r"[^A-Za-z0-9_-]", "_", node.name)[:64]
    if taken is None:
        return name
    if name in taken:
        return _numbered(name[:_NUMBERED_MAX], 2, taken)
    taken.add(name)
    return name


def _numbered(name: str, number: int, taken: set[str]) -> str:
    """A name with the first number from this one on that no other group has; it is taken then."""
    while (found := f"{name}_{number}") in taken:
        number += 1
    taken.add(found)
    return found


def _ask(group: ExecGroup, said: ast.Annotation) -> None:
    text = said.get("parallel")
    if text is None:
        return
    parallel = int(text)
    if parallel > KEY_GROUPS:
        raise positioned(
            said.at, f"parallel='{text}' is too much", f"write a number from 1 to {KEY_GROUPS}"
        )
    if group.asked is not None and group.parallel != parallel:
        raise positioned(
            said.at,
            f"the execGroup {group.name!r} has parallel='{group.parallel}' already",
            "give all elements of an execGroup the same parallel",
        )
    group.parallel, group.asked = parallel, said


def _refuse_inside(node: PlanNode) -> None:
    if isinstance(node, QueryNode):
        return
    for query in node.partition.partition.queries:
        said = _dist(query.annotations)
        if said is not None:
            raise positioned(
                said.at,
                "@dist cannot stand inside a partition",
                "put it in front of 'partition'",
            )


def _dist(annotations: Iterable[ast.Annotation]) -> ast.Annotation | None:
    return next((one for one in annotations if one.name.lower() == _DIST), None)


def _annotations(node: PlanNode) -> tuple[ast.Annotation, ...]:
    return written_of(node).annotations


def written_of(node: PlanNode) -> ast.Query | ast.Partition:
    """A node as it stands in the text."""
    return node.query.query if isinstance(node, QueryNode) else node.partition.partition


# --- teams ---------------------------------------------------------------------------------------


def teams_of(graph: Graph, parallel: int | None, rules: int) -> tuple[list[Team], dict[str, Keyed]]:
    """The groups with how streams reach them, and the keys of what is cut. `rules`: those of
    contract.RULES that are about @dist."""
    groups = exec_groups(graph.plan, parallel, rules)
    taken = {group.name for group in groups} if rules >= NAMES_APART else set()
    homes = _homes(graph, groups)
    if rules >= KEEPS_FAULTS:
        _refuse_parted_faults(graph, groups)
    said = {name: group for group in groups for name in group.nodes}
    whole = {name: "" for name, group in said.items() if group.asked is None or not _is_cut(group)}
    chosen = choose(graph, whole)
    teams: list[Team] = []
    for group in groups:
        stores = frozenset(name for name, home in homes.items() if group.name in home)
        if not _is_cut(group):
            teams.append(Team(group.name, 1, frozenset(group.nodes), None, stores=stores))
            continue
        for number, draft in enumerate(_Cut(graph, group, chosen).drafts(), 1):
            name = group.name if number == 1 else _numbered(group.name, number, taken)
            own = stores & {one for node in draft.nodes for one in graph.reads(node)}
            teams.append(Team(name, group.parallel, frozenset(draft.nodes), draft, stores=own))
    unused = frozenset(name for name, home in homes.items() if not home)
    main = next((team for team in teams if team.name == MAIN and team.draft is None), None)
    if main is not None:
        main.stores |= unused
    elif unused or _gives_out_input(graph, teams):
        teams.append(Team(_free_name(teams), 1, frozenset(), None, stores=unused))
    _refuse_feedback(graph, teams)
    return teams, chosen


def _free_name(teams: list[Team]) -> str:
    """`main`, unless the text has a group of that name that is cut."""
    name, number, taken = MAIN, 2, {team.name for team in teams}
    while name in taken:
        name, number = f"{MAIN}_{number}", number + 1
    return name


def _is_cut(group: ExecGroup) -> bool:
    return group.asked is not None and int(group.asked.get("parallel") or 1) > 1


def _gives_out_input(graph: Graph, teams: list[Team]) -> bool:
    """Whether a stream of the input is given out that no group can give out."""
    read = {one for team in teams for node in team.nodes for one in graph.reads(node)}
    raw = {stream for stream in graph.plan.exported if not graph.writers(stream)}
    if not raw <= read:
        return True
    drafts = [team.draft for team in teams if team.draft is not None]
    fed = {stream for one in drafts for stream, need in one.feeds.items() if need.has_each_once}
    # A group in one partition gives out any stream, also one that it does not read.
    return len(drafts) == len(teams) and not raw <= fed


def _homes(graph: Graph, groups: list[ExecGroup]) -> dict[str, set[str]]:
    """By table, named window, aggregation and trigger: the groups that use it. Refuses what is
    shared."""
    checked = graph.plan.checked
    shared = {
        **dict.fromkeys(checked.tables, "table"),
        **dict.fromkeys(checked.windows, "named window"),
        **dict.fromkeys(checked.aggregations, "aggregation"),
    }
    homes: dict[str, set[str]] = {name: set() for name in (*shared, *checked.triggers)}
    for group in groups:
        for node in group.nodes:
            for name in (*graph.reads(node), *graph.writes(node)):
                if name not in homes:
                    continue
                homes[name].add(group.name)
                if name in shared:
                    _refuse_shared(graph.nodes[node], group, shared[name], name, homes[name])
    _refuse_models(graph, groups)
    return homes


def _refuse_models(graph: Graph, groups: list[ExecGroup]) -> None:
    """Models that are shared beyond a group, or would be in one that is cut. An instance of a
    partition has models of its own."""
    homes: dict[str, set[str]] = {}
    for group in groups:
        for name in group.nodes:
            node = graph.nodes[name]
            if isinstance(node, QueryNode):
                for use in models_in(node.query.query.input):
                    home = homes.setdefault(use.name, set())
                    home.add(group.name)
                    _refuse_shared(node, group, "model", use.name, home)


def _refuse_parted_faults(graph: Graph, groups: list[ExecGroup]) -> None:
    """Events that fail in a group come in the fault stream that this group has."""
    homes = {name: group.name for group in groups for name in group.nodes}
    for name, home in homes.items():
        for fault in (read for read in graph.reads(name) if read.startswith("!")):
            away = [homes[one] for one in graph.readers(fault[1:]) if homes[one] != home]
            if away:
                raise positioned(
                    written_of(graph.nodes[name]).at,
                    f"'{fault}' is read in the execGroup {home!r}, and events of '{fault[1:]}'"
                    f" may fail in {away[0]!r}",
                    "put both in one execGroup",
                )


def _refuse_shared(node: PlanNode, group: ExecGroup, kind: str, name: str, homes: set[str]) -> None:
    at = written_of(node).at
    if len(homes) > 1:
        first, second = sorted(homes)
        raise positioned(
            at,
            f"the {kind} {name!r} is used in the execGroups {first!r} and {second!r}",
            "put all that use it in one execGroup",
        )
    if _is_cut(group):
        raise positioned(
            at,
            f"the {kind} {name!r} cannot be in the execGroup {group.name!r}, which is cut",
            f"give what uses {name} an execGroup with parallel='1'",
        )


def _refuse_feedback(graph: Graph, teams: list[Team]) -> None:
    aggregations = graph.plan.checked.aggregations
    fed: dict[int, set[int]] = {}
    for place, reader in enumerate(teams):
        reads = {stream for node in reader.nodes for stream in graph.reads(node)}
        reads |= {
            aggregations[one].input.input.source for one in reader.stores & aggregations.keys()
        }
        writers = {one for stream in reads for one in graph.writers(stream)} - reader.nodes
        fed[place] = {
            other for other, team in enumerate(teams) if other != place and writers & team.nodes
        }
    done: set[int] = set()
    while len(done) < len(teams):
        ready = [place for place in fed if place not in done and fed[place] <= done]
        if not ready:
            stuck = _feeding_others(fed, set(fed) - done)
            names = " and ".join(repr(teams[place].name) for place in stuck)
            node = next(name for name in graph.nodes if name in teams[stuck[-1]].nodes)
            raise positioned(
                written_of(graph.nodes[node]).at,
                f"the execGroups {names} feed each other",
                "put both in one execGroup",
            )
        done.update(ready)


def _feeding_others(fed: Mapping[int, set[int]], stuck: set[int]) -> list[int]:
    """Of groups that wait for each other, without those that only read what the others write."""
    while True:
        left = {place for place in stuck if any(place in fed[one] for one in stuck)}
        if left == stuck:
            return sorted(stuck)
        stuck = left


class _Cut:
    """The drafts of a group that is cut: one, unless a stream is wanted by several keys."""

    def __init__(self, graph: Graph, group: ExecGroup, chosen: dict[str, Keyed]) -> None:
        self._graph = graph
        self._group = group
        self._chosen = chosen
        self._drafts: list[Draft] = []

    def drafts(self) -> list[Draft]:
        """What is cut by key first, each behind what feeds it, then what goes along."""
        for name in self._group.nodes:
            if name not in self._chosen and not isinstance(self._graph.traits[name], Free):
                raise self._refused(name)
        left = [name for name in self._group.nodes if name in self._chosen]
        while left:
            ready = [name for name in left if not self._feeding(self._needs(name)) & set(left)]
            name = (ready or left)[0]
            left.remove(name)
            self._add(name, self._needs(name))
        for name in self._group.nodes:
            trait = self._graph.traits[name]
            if isinstance(trait, Free) and all(name not in one.nodes for one in self._drafts):
                self._add_free(name, trait)
        return self._drafts

    def _feeding(self, wanted: Draft) -> set[str]:
        """The keyed nodes of the group that write what a draft has from within."""
        return {
            writer
            for stream in wanted.inner
            for writer in self._graph.writers(stream)
            if writer in self._chosen and writer in self._group.nodes
        } - wanted.nodes

    def _refused(self, name: str) -> Exception:
        trait = self._graph.traits[name]
        assert isinstance(trait, Whole)
        return positioned(
            written_of(self._graph.nodes[name]).at,
            f"{name!r} cannot be in {self._group.parallel} partitions: {trait.because}",
            "put it in a partition with a key, or in an execGroup with parallel='1'",
        )

    def _needs(self, name: str) -> Draft:
        """What a keyed node needs by itself, with the plain queries of the group that feed it."""
        draft = Draft({name})
        keyed = self._chosen[name]
        for stream in keyed.broadcast:
            if any(one in self._group.nodes for one in self._graph.writers(stream)):
                raise self._inside(name, stream)
            draft.feed(stream, Need(None), name)
        for stream, key in keyed.keys.items():
            self._lead_back(draft, name, stream, Need(key, None, keyed.together, nulls=keyed.wraps))
        return draft

    def _lead_back(self, draft: Draft, name: str, stream: str, need: Need) -> None:
        assert need.key is not None
        for writer in self._graph.writers(stream):
            if writer not in self._group.nodes or writer in draft.nodes:
                continue
            trait = self._graph.traits[writer]
            if isinstance(trait, Free):
                through = substituted(need.key, trait.selected)
                if through is None:
                    raise self._inside(name, stream)
                draft.nodes.add(writer)
                self._lead_back(draft, name, trait.source, replace(need, key=through))
            elif text_of(need.key) not in map(
                text_of, self._chosen[writer].carries.get(stream, ())
            ):
                raise self._inside(name, stream)
        if any(one in self._group.nodes for one in self._graph.writers(stream)):
            draft.inner[stream] = need
        if not all(one in self._group.nodes for one in self._graph.writers(stream)) or (
            not self._graph.writers(stream)
        ):
            draft.feed(stream, need, name)

    def _inside(self, name: str, stream: str) -> Exception:
        return positioned(
            written_of(self._graph.nodes[name]).at,
            f"{name!r} reads {stream!r}, which its own execGroup writes by another key",
            "give one of the two another execGroup",
        )

    def _add(self, name: str, wanted: Draft) -> None:
        feeding = self._feeding(wanted)
        for draft in self._drafts:
            if feeding and not feeding & draft.nodes:
                continue
            if draft.fits(wanted) and feeding <= draft.nodes:
                draft.take(wanted)
                return
            if feeding:
                raise self._inside(name, next(iter(wanted.inner)))
        self._drafts.append(wanted)

    def _add_free(self, name: str, trait: Free) -> None:
        writers = [one for one in self._graph.writers(trait.source) if one in self._group.nodes]
        for draft in self._drafts:
            if set(writers) & draft.nodes:
                break
            need = draft.feeds.get(trait.source)
            if need is not None and need.key is not None and need.together is not Together.RUNS:
                break
        else:
            wanted = Draft({name}, {trait.source: Need(None, routing=Routing.ROUND_ROBIN)})
            if writers and not any(set(writers) & one.nodes for one in self._drafts):
                wanted.feeds = {}
            self._add(name, wanted)
            return
        draft.nodes.add(name)
        outside = [one for one in self._graph.writers(trait.source) if one not in writers]
        if trait.source not in draft.feeds and outside:
            draft.feed(trait.source, Need(None, routing=Routing.ROUND_ROBIN), name)
