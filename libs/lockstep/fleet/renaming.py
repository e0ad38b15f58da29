"""What an app's queries and partitions are called in the text that takes its place.

In the texts of groups everything has a name. What the app's own text does not name is called by its
place there, and may stand in another place of the next text. So all of it gets its next name before
it is looked for by name. What does not go on gets a name that nothing else has. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lockstep.execute.joining import TIMERS
from lockstep.operators import state
from lockstep.plan import AppPlan
from lockstep.plan.fleet import FleetPlan, named_text, united_text, with_name
from lockstep.plan.nodes import PlanNode, QueryNode
from lockstep.plan.parts import parts_of
from lockstep.plan.paths import in_partition, name_of, owner_of, partition_path, query_path, step_of
from lockstep.plan.succession import NOT_THERE, losses, said, succession
from lockstep.siddhiql import ast
from lockstep.siddhiql.checking.annotations import info_name
from lockstep.siddhiql.printing import print_app
from lockstep.siddhiql.syntax.parser import parse_app

KEPT_OTHERWISE: Final = "its state is kept otherwise"
"""Why a query begins empty that is in a partition of its own now, or was, or has another key."""


@dataclass(frozen=True, slots=True)
class _Called:
    """The next name of a query or partition, and those of the partition's queries."""

    name: str
    queries: Mapping[str, str]


class Renaming:
    """From the text of a whole app to the next one."""

    def __init__(self, old: AppPlan, new: AppPlan) -> None:
        found = succession(old, new)
        next_paths = {before: after for after, before in found.carried.items()}
        gone = _ending_of_none([name for node in new.nodes for name in _names_of(node)])
        self._is_needed = not found.is_whole
        self._called: dict[str, _Called] = {}
        self._lost = found.lost
        self._before: dict[str, str] = {}
        for node in old.nodes:
            path = next_paths.get(node.path)
            if path is None:
                names = {name: name + gone for name in _names_of(node)}
                following = _Called(node.name + gone, names)
            else:
                following = _Called(_name_in(path), found.renamed.get(path, {}))
            self._called[node.path] = following
            if isinstance(node, QueryNode):
                # One that is cut by key is in a partition of its own.
                alone = _Called(following.name, {node.name: following.name})
                self._called.setdefault(partition_path(node.name), alone)
                self._before.setdefault(partition_path(following.name), node.path)
            self._before[self.path(node.path)] = node.path

    def path(self, path: str) -> str:
        """The path of something that has state, under its next name."""
        owner = owner_of(path)
        following = self._called.get(owner)
        if following is None:
            return path
        kind, rest = _kind(owner), path[len(owner) :]
        if kind == "partition":
            rest = in_partition(rest, following.queries)
        return f"{kind}/{step_of(following.name)}{rest}"

    def lost(self, path: str, why: str) -> str:
        """What people are told of a part that does not go on: by the name that it had, and as what
        it stood in the text. `path`: its next one; `why`: as between the texts of groups."""
        before = self._before.get(path)
        if before is None:
            return said(path, why)
        if before in self._lost:
            return said(before, self._lost[before])
        # It goes on, but for how it is cut: by another key, or no more, or only now.
        is_cut_otherwise = why == NOT_THERE or _kind(path) != _kind(before)
        return said(before, KEPT_OTHERWISE if is_cut_otherwise else why)

    def text(self, text: str) -> str:
        """One in which everything has a name, with the next names."""
        app = parse_app(text)
        return print_app(replace(app, execution=tuple(map(self._item, app.execution))))

    def _item(self, one: ast.Query | ast.Partition) -> ast.Query | ast.Partition:
        name = _name_of(one)
        if isinstance(one, ast.Query):
            return with_name(one, _name_in(self.path(query_path(name))))
        path = partition_path(name)
        names = self._called[path].queries if path in self._called else {}
        queries = tuple(
            with_name(each, names.get(_name_of(each), _name_of(each))) for each in one.queries
        )
        return with_name(replace(one, queries=queries), _name_in(self.path(path)))

    def snapshot(self, snapshot: state.Bytes) -> bytes:
        """Of an app whose text is renamed as well. SnapshotError."""
        if not self._is_needed:
            return bytes(snapshot)
        position, body = state.unseal(snapshot, keep_packed=True)
        engine = body["engine"]
        engine["operators"] = [(self.path(path), held) for path, held in engine["operators"]]
        for queue in TIMERS:
            engine[queue] = [
                [due_ms, number, self.path(path)] for due_ms, number, path in engine[queue]
            ]
        return state.seal(position, body)


def _ending_of_none(names: Sequence[str]) -> str:
    """What a name of what is gone ends with, and none of these does."""
    ending = " before"
    while any(name.endswith(ending) for name in names):
        ending += "_"
    return ending


def _names_of(node: PlanNode) -> Iterator[str]:
    yield node.name
    if not isinstance(node, QueryNode):
        yield from (query.name for query in node.queries)


def _kind(path: str) -> str:
    """What it is the path of."""
    return path.partition("/")[0]


def _name_in(path: str) -> str:
    """The name of a query or partition."""
    return name_of(path.partition("/")[2])


def _name_of(one: ast.Query | ast.Partition) -> str:
    return info_name(one.annotations) or ""


def losses_of_layout(
    old: AppPlan, texts: Iterable[str], new: FleetPlan, plan: Callable[[str], AppPlan]
) -> tuple[str, ...]:
    """What begins empty in another layout, if it has state, and why, for people. `texts`: of the
    groups that the old app runs as; `plan` reads a text."""
    found = dict.fromkeys(losses(old, new.app))
    if old.checked.is_playback != new.app.checked.is_playback:
        return tuple(found)
    renaming = Renaming(old, new.app)
    before = plan(renaming.text(united_text(named_text(plan(text)) for text in texts)))
    groups = [succession(before, plan(named_text(plan(group.text)))) for group in new.groups]
    kept = {path for group in groups for path in group.carried.values()}
    for path in (part.path for part in parts_of(before)):
        if path not in kept and path.startswith(("query/", "partition/")):
            whys = [group.lost[path] for group in groups if group.lost[path] != NOT_THERE]
            found[renaming.lost(path, whys[0] if whys else NOT_THERE)] = None
    return tuple(found)
