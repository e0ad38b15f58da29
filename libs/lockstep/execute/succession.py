"""A snapshot of an app as a snapshot of the text that takes its place: parts that go on have their
state, the others begin as if the app had just started (see lockstep.plan.succession)."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lockstep.execute.reference import persistence
from lockstep.execute.reference.assembly import open_engine
from lockstep.operators import state
from lockstep.operators.errors import SnapshotError
from lockstep.plan import AppPlan
from lockstep.plan.paths import in_partition, owner_of
from lockstep.plan.succession import EVERYTHING, is_table, of_store, said, succession
from lockstep.siddhiql import ast
from lockstep.triggers.meaning import quiet

CLOCK = "playback"
"""The operator that moves the clock of an idle playback app: the app's, and no part's."""


@dataclass(frozen=True, slots=True)
class Succeeded:
    """`lost`: what had state and begins empty, as people would say it. Stores of tables do, which
    had rows."""

    snapshot: state.Bytes
    lost: tuple[str, ...] = ()


def succeed(old: AppPlan, snapshot: state.Bytes, new: AppPlan) -> Succeeded:
    """Raises SnapshotError where nothing can go on."""
    found = succession(old, new)
    is_same_clock = _playback(old) == _playback(new)
    is_same_beside = not (found.retimed or found.stored)
    if found.is_whole and is_same_clock and is_same_beside:
        return Succeeded(snapshot)
    if old.checked.is_playback != new.checked.is_playback:
        raise SnapshotError(EVERYTHING)
    position, body = state.unseal(snapshot, keep_packed=True)
    before = body["engine"]
    if not body["started"]:
        body["engine"] = persistence.take(open_engine(new))
        return Succeeded(state.seal(position, body))
    fresh = _started(new, before)
    held, begun = _Grouped(before), _Grouped(fresh)
    carried, lost = dict(found.carried), dict(found.lost)
    for path, source in found.carried.items():
        if not path.startswith("partition/") and held.shape(source) != begun.shape(path):
            del carried[path]
            lost[source] = "its state is kept otherwise"
    if is_same_clock:
        carried[CLOCK] = CLOCK
    stored = [path for path in found.stored if path in carried]
    for path in stored:
        if not is_table(path):
            held.write_again(path)
    origins = _Carried(carried, found.renamed, found.retimed)
    body["engine"] = _merged(before, held, fresh, begun, origins)
    stores = [of_store(path, new) for path in stored if is_table(path) and held.rows(path)]
    return Succeeded(state.seal(position, body), (*_missed(old, before, held, lost), *stores))


def _missed(
    old: AppPlan, before: Mapping[str, Any], held: _Grouped, lost: Mapping[str, str]
) -> Iterator[str]:
    """Of what is lost, what held something."""
    if lost:
        empty = _Grouped(_started(old, before))
        for part in held.order:
            if part in lost and held.differs(part, empty):
                yield said(part, lost[part])


def _playback(plan: AppPlan) -> ast.Annotation | None:
    return plan.checked.annotations.get("playback")


def _started(plan: AppPlan, before: Mapping[str, Any]) -> dict[str, Any]:
    """The state of an engine whose parts start at this moment, in an app that goes on: triggers at
    the start stay silent."""
    engine = open_engine(plan)
    engine.now, engine.wall = before["now"], before["wall"]
    for start in quiet(engine.starters):
        start()
    return persistence.take(engine)


class _Grouped:
    """The operators and timers of an engine's state, by part."""

    def __init__(self, taken: Mapping[str, Any]) -> None:
        self.operators: dict[str, list[tuple[str, Any]]] = {}
        self.order: list[str] = []
        for path, saved in taken["operators"]:
            part = owner_of(path)
            if part not in self.operators:
                self.order.append(part)
            self.operators.setdefault(part, []).append((path[len(part) :], saved))

    def shape(self, part: str) -> list[str]:
        """Which operators a part has."""
        return [path for path, _ in self.operators.get(part, ())]

    def rows(self, table: str) -> int:
        """How many a table has."""
        ((_, (_, rows)),) = self.operators[table]
        return len(rows)

    def write_again(self, aggregation: str) -> None:
        """None of its buckets is in its store: they are written there as if all had changed."""
        ((rest, levels),) = self.operators[aggregation]
        changed = [
            (name, buckets, [(start, [group for group, _ in groups]) for start, groups in buckets])
            for name, buckets, *_ in levels
        ]
        self.operators[aggregation] = [(rest, changed)]

    def differs(self, part: str, other: _Grouped) -> bool:
        """Whether the same part holds something else there."""
        one, two = ([saved for _, saved in each.operators.get(part, ())] for each in (self, other))
        return bool(one != state.decode(state.encode(two)))


class _Carried:
    """Where the state of each part comes from, and what its operators are called then. `timers`:
    those that also keep their timers, the new paths by the old ones."""

    def __init__(
        self,
        carried: Mapping[str, str],
        renamed: Mapping[str, Mapping[str, str]],
        retimed: Container[str],
    ) -> None:
        self.of = carried
        self.timers = {old: new for new, old in carried.items() if new not in retimed}
        self._renamed = renamed

    def path(self, new: str, rest: str) -> str:
        """The id of an operator of a part, whose id went on so behind the old part's."""
        return new + in_partition(rest, self._renamed.get(new, {}))


def _merged(
    before: Mapping[str, Any],
    held: _Grouped,
    fresh: Mapping[str, Any],
    begun: _Grouped,
    carried: _Carried,
) -> dict[str, Any]:
    operators: list[tuple[str, Any]] = []
    for part in begun.order:
        if part in carried.of:
            found = held.operators[carried.of[part]]
            operators += [(carried.path(part, rest), saved) for rest, saved in found]
        else:
            operators += [(part + rest, saved) for rest, saved in begun.operators[part]]
    timers: dict[str, list[list[Any]]] = {}
    kept = set(carried.timers.values())
    for kind in ("app_timers", "wall_timers"):
        timers[kind] = [
            [due_ms, sequence, carried.path(carried.timers[part], path[len(part) :])]
            for due_ms, sequence, path in before[kind]
            if (part := owner_of(path)) in carried.timers
        ]
        timers[kind] += [
            [due_ms, before["sequence"] + sequence, path]
            for due_ms, sequence, path in fresh[kind]
            if owner_of(path) not in kept
        ]
    sequence = before["sequence"] + fresh["sequence"]
    return {**before, **timers, "sequence": sequence, "operators": operators}
