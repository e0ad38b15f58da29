"""What of an app's state goes on when another text takes its place: the parts of the new text whose
state hangs on nothing that has changed (see parts.py). Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from lockstep.plan.nodes import AppPlan, QueryNode
from lockstep.plan.parts import Part, label_of, parts_of
from lockstep.plan.paths import name_of
from lockstep.siddhiql import ast
from lockstep.siddhiql.checked import CheckedJoin, CheckedStream, SourceKind
from lockstep.siddhiql.printing.names import identifier as quoted


@dataclass(frozen=True, slots=True)
class Succession:
    """`carried`: parts of the new text by path, with the path of the part of the old text whose
    state they carry on. `others`: the other parts of the new text by path, and why they begin
    empty. `lost`: the parts of the old text that nobody carries on, by path, and why. `renamed`: of
    carried partitions, the new names of queries by old ones. Of what is carried, `retimed` is
    purged at other times, and `stored` has a new @store, or one that leads elsewhere.
    """

    carried: Mapping[str, str]
    others: Mapping[str, str]
    lost: Mapping[str, str]
    renamed: Mapping[str, Mapping[str, str]]
    retimed: frozenset[str]
    stored: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """The texts have the same parts under the same names."""
        moved = self.renamed or any(new != old for new, old in self.carried.items())
        return not (self.others or self.lost or moved)


EVERYTHING: Final = "times with and without @app:playback are not the same"
"""Why nothing can go on between two texts of which one is in playback."""

NOT_THERE: Final = "not in this text"
"""Why nobody takes over what only the old text has."""


def losses(old: AppPlan, new: AppPlan) -> tuple[str, ...]:
    """What begins empty, if it has state, and why, for people. So do stores of tables."""
    if old.checked.is_playback != new.checked.is_playback:
        return (f"everything ({EVERYTHING})",)
    found = succession(old, new)
    lost = [said(path, why) for path, why in found.lost.items()]
    return (*lost, *(of_store(path, new) for path in found.stored if is_table(path)))


def said(path: str, why: str) -> str:
    """Of a part that does not go on."""
    return f"{label_of(path)} ({why})"


def is_table(path: str) -> bool:
    """Whether the part is a table."""
    return path.startswith("table/")


def of_store(path: str, new: AppPlan) -> str:
    """Of the store of a table that goes on: the table's rows are not in it. What writes them."""
    table = new.checked.tables[name_of(path.partition("/")[2])]
    keys = [one for one in table.annotations if one.name.lower() == "primarykey"]
    why = "the rows from before come to it when they change next"
    if keys:
        own = quoted(table.name)
        names = ", ".join(quoted(one.name) for one in table.attributes)
        same = [f"{own}.{key} == {key}" for key in map(quoted, keys[0].positional)]
        why += "; all at once by the on-demand query: "
        why += f"from {own} select {names} update {own} on {' and '.join(same)}"
    return f"the store of {said(path, why)}"


def succession(old: AppPlan, new: AppPlan) -> Succession:
    """Who takes over whose state."""
    before = {part.path: part for part in parts_of(old)}
    after = {part.path: part for part in parts_of(new)}
    named = {path: part for path, part in before.items() if part.is_named}
    unnamed = {path: part for path, part in before.items() if not part.is_named}
    carried = _by_name(named, after)
    carried |= _unnamed(list(unnamed.values()), list(after.values()))
    # Somebody gave it the name that it had by its place; unless it has moved.
    free = {path: part for path, part in unnamed.items() if path not in carried.values()}
    carried |= _by_name(free, after)
    let_go = _let_go(list(_sums(new)), carried)
    why_lost = dict(let_go.values())
    taken = set(carried.values())
    # Where a part of each text stands in the same place, and neither has found another.
    stood = before.keys() - taken - why_lost.keys()
    changed = {
        path: _changed(before[path], part)
        for path, part in after.items()
        if path in stood and path not in carried and path not in let_go
    }
    why_new = changed | {path: why for path, (_, why) in let_go.items()}
    why_lost |= changed
    renamed = {
        new: names
        for new, old in carried.items()
        if (names := _names(before[old].queries, after[new].queries))
    }
    return Succession(
        carried,
        others={path: why_new.get(path, "new") for path in after if path not in carried},
        lost={path: why_lost.get(path, NOT_THERE) for path in before if path not in taken},
        renamed=renamed,
        retimed=frozenset(
            path
            for path, source in carried.items()
            if before[source].purged_every_ms != after[path].purged_every_ms
        ),
        stored=tuple(
            path
            for path, source in carried.items()
            if after[path].store not in (None, before[source].store)
        ),
    )


def _names(old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, str]:
    return {one: other for one, other in zip(old, new, strict=True) if one != other}


def _by_name(old: Mapping[str, Part], new: Mapping[str, Part]) -> dict[str, str]:
    return {
        path: path
        for path, part in new.items()
        if part.is_named and path in old and old[path].traits == part.traits
    }


def _unnamed(old: list[Part], parts: list[Part]) -> dict[str, str]:
    """Those that the text does not name may have moved: they are known by how they are written, and
    then by where they stand and what they write."""
    carried: dict[str, str] = {}
    for is_same in (_is_written_alike, _stands_and_writes_alike, _writes_alike):
        for part in parts:
            if part.is_named or part.path in carried:
                continue
            alike = next((one for one in old if is_same(one, part)), None)
            if alike is not None:
                old.remove(alike)
                carried[part.path] = alike.path
    return carried


def _is_written_alike(old: Part, new: Part) -> bool:
    return old.written == new.written and old.traits == new.traits


def _stands_and_writes_alike(old: Part, new: Part) -> bool:
    return old.path == new.path and _writes_alike(old, new)


def _writes_alike(old: Part, new: Part) -> bool:
    return old.traits == new.traits and _targets(old.written) == _targets(new.written)


def _targets(written: ast.Query | ast.Partition | None) -> object:
    if isinstance(written, ast.Partition):
        return [_targets(query) for query in written.queries]
    action = None if written is None else written.action
    return None if isinstance(action, ast.ReturnEvents | None) else action.target


def _changed(old: Part, new: Part) -> str:
    names = [name for name in new.traits if old.traits.get(name) != new.traits[name]]
    return f"changed: {', '.join(names)}"


def _let_go(sums: list[_Sum], carried: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Rows that leave a named window are taken off sums that they were added to: who adds up what a
    window holds cannot go on without it, nor it without him. In a join what the window held before
    is added with what comes later, so that a new one takes nothing amiss.

    Such parts are taken out; gives whose state each would have carried on, and why it is not.
    """
    let_go: dict[str, tuple[str, str]] = {}
    is_more = True
    while is_more:
        is_more = False
        for one in sums:
            gone: tuple[str, str] | None = None
            if one.part in carried and one.window not in carried:
                gone = one.part, one.window
            elif one.window in carried and one.part not in carried and not one.is_join:
                gone = one.window, one.part
            if gone is not None:
                let_go[gone[0]] = carried.pop(gone[0]), f"it goes with {label_of(gone[1])}"
                is_more = True
    return let_go


@dataclass(frozen=True, slots=True)
class _Sum:
    """A part that adds up rows of a named window, alone or joined with others."""

    part: str
    window: str
    is_join: bool


def _sums(plan: AppPlan) -> Iterator[_Sum]:
    for node in plan.nodes:
        queries = [node] if isinstance(node, QueryNode) else node.queries
        for query in (one.query for one in queries if one.query.uses_aggregators):
            source = query.input
            is_join = isinstance(source, CheckedJoin)
            sides = [source.left, source.right] if isinstance(source, CheckedJoin) else [source]
            for side in sides:
                if isinstance(side, CheckedStream) and side.kind is SourceKind.WINDOW:
                    yield _Sum(node.path, f"window/{side.input.source}", is_join)
