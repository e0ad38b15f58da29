"""What an app's queries and partitions are called in the text that takes its place.

In the texts of groups everything has a name. What the app's own text does not name is called by its
place there, and may stand in another place of the next text. So all of it gets its next name before
it is looked for by name. What does not go on gets a name that nothing else has. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

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


@dataclass(frozen=True, slots=True)
class _Called:
    """The next name of a query or partition, and those of the partition's queries."""

    name: str
    queries: Mapping[str, str]


class Renaming:
    """From the text of a whole app to the next one. `reasons`: why a part does not go on, as people
    would say it, by what is said of it under its next name."""

    def __init__(self, old: AppPlan, new: AppPlan) -> None:
        found = succession(old, new)
        next_paths = {before: after for after, before in found.carried.items()}
        gone = _ending_of_none([name for node in new.nodes for name in _names_of(node)])
        self._is_needed = not found.is_whole
        self._called: dict[str, _Called] = {}
        self.reasons: dict[str, str] = {}
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
            if path is None:
                for kind in (query_path, partition_path):
                    self.reasons[said(kind(following.name), NOT_THERE)] = said(
                        node.path, found.lost[node.path]
                    )

    def path(self, path: str) -> str:
        """The path of something that has state, under its next name."""
        owner = owner_of(path)
        following = self._called.get(owner)
        if following is None:
            return path
        kind, rest = owner.partition("/")[0], path[len(owner) :]
        if kind == "partition":
            rest = in_partition(rest, following.queries)
        return f"{kind}/{step_of(following.name)}{rest}"

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


def _name_in(path: str) -> str:
    """The name of a query or partition."""
    return name_of(path.partition("/")[2])


def _name_of(one: ast.Query | ast.Partition) -> str:
    return info_name(one.annotations) or ""


def cut_otherwise(path: str) -> tuple[str, str]:
    """The path of the same query if it was in a partition of its own, or was not, and what is said
    of its state where it was kept there."""
    kind, _, step = path.partition("/")
    name = name_of(step)
    other = partition_path(name) if kind == "query" else query_path(name)
    return other, said(query_path(name), "its state is kept otherwise")


def is_of_queries(path: str) -> bool:
    """Whether it is the path of a query or a partition."""
    return path.startswith(("query/", "partition/"))


def losses_of_layout(
    old: AppPlan, texts: Iterable[str], new: FleetPlan, plan: Callable[[str], AppPlan]
) -> tuple[str, ...]:
    """What begins empty in another layout, if it has state, and why, for people. `texts`: of the
    groups that the old app runs as; `plan` reads a text."""
    found = dict.fromkeys(losses(old, new.app))
    if old.checked.is_playback != new.app.checked.is_playback:
        return tuple(found)
    united = united_text(named_text(plan(text)) for text in texts)
    before = plan(Renaming(old, new.app).text(united))
    there = {part.path for part in parts_of(before)}
    for group in new.groups:
        gone = succession(before, plan(named_text(plan(group.text))))
        for path, why in gone.others.items():
            if path in there:
                found[said(path, why)] = None
            elif is_of_queries(path) and cut_otherwise(path)[0] in there:
                found[cut_otherwise(path)[1]] = None
    return tuple(found)
