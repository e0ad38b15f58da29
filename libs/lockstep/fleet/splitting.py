"""Snapshots of a group (execute/joining.py makes them of its partitions') cut for other partitions,
so that it goes on in another number of them. The executors' kind does not matter."""

from __future__ import annotations

from typing import Any, Final

from lockstep.execute.joining import TIMERS, is_instances, number_timers, table_of
from lockstep.execute.reference import persistence
from lockstep.execute.reference.assembly import open_engine
from lockstep.fleet.keys import key_group_of, row_key
from lockstep.fleet.units import Unit
from lockstep.operators import state
from lockstep.operators.errors import SnapshotError
from lockstep.plan.paths import name_of

_KEY_STEP: Final = 2
"""Where the key stands in the path of what an instance of a partition holds."""


def split_snapshot(snapshot: state.Bytes, unit: Unit) -> bytes:
    """What a unit begins with, out of a snapshot of its group (`joined_snapshots` of all
    partitions): what has no key, and the state of its own key groups. Raises SnapshotError."""
    position, body = state.unseal(snapshot, keep_packed=True)
    engine = body["engine"]
    own = _Own(unit)
    operators = [
        (path, own.share(path, held)) for path, held in engine["operators"] if own.has(path)
    ]
    missing = own.fixed - {path for path, _ in operators}
    if missing:
        raise SnapshotError(
            f"the snapshot holds no state of {min(missing)}, which {unit.name} has",
            hint="it is of another text, or of a fleet that was cut otherwise",
        )
    for queue in TIMERS:
        engine[queue] = [timer for timer in engine[queue] if own.has(timer[2])]
    engine["operators"] = operators
    number_timers(engine)
    return state.seal(position, body)


class _Own:
    """What of an app's state is a unit's."""

    def __init__(self, unit: Unit) -> None:
        fresh = persistence.take(open_engine(unit.plan.app))
        self.fixed = {path for path, _ in fresh["operators"]}
        self._partitions = {path[: -len("instances")] for path in self.fixed if is_instances(path)}
        self._groups = unit.key_groups
        self._is_cut = unit.plan.is_cut
        schemas = unit.plan.app.schemas
        self._tables = {table: schemas[table].names.index(key) for table, key in unit.group.tables}

    def has(self, path: str) -> bool:
        """Whether it is the path of something that the unit holds."""
        if path in self.fixed:
            return True
        steps = path.split("/", _KEY_STEP + 1)
        if len(steps) <= _KEY_STEP + 1 or f"{steps[0]}/{steps[1]}/" not in self._partitions:
            return False
        return self._has_key(name_of(steps[_KEY_STEP]))

    def share(self, path: str, held: Any) -> Any:
        """Of what stands under a path, the unit's: of a partition's instances (key, last use), of a
        table's rows (the most that there were, [(time, row)]), and all of anything else."""
        if is_instances(path):
            return [each for each in held if self._has_key(each[0])]
        place = self._tables.get(table_of(path) or "")
        if place is None:
            return held
        most, rows = held
        return most, [each for each in rows if self._has_key(row_key(each[1][place]))]

    def _has_key(self, key: str) -> bool:
        return not self._is_cut or key_group_of(key) in self._groups
