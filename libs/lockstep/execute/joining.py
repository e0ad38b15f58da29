"""Snapshots of the parts of an app as one: of its shards, or of the units of a fleet."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any, Final

from lockstep.operators import state
from lockstep.plan.paths import name_of

TIMERS: Final = ("app_timers", "wall_timers")
_INSTANCES_STEPS: Final = 3


def is_instances(path: str) -> bool:
    """Whether it is the path of a partition's list of instances."""
    return (
        path.startswith("partition/")
        and path.endswith("/instances")
        and path.count("/") == _INSTANCES_STEPS - 1
    )


def table_of(path: str) -> str | None:
    """The table whose rows are held under a path; None for what else is."""
    steps = path.split("/")
    is_rows = steps[0] == "table" and steps[2:] == ["rows"]
    return name_of(steps[1]) if is_rows else None


def _rows_of_both(one: Any, other: Any) -> Any:
    """(the most rows that there were, the rows), see tables/meaning/row_store.py."""
    rows = [*one[1], *other[1]]
    return max(one[0], other[0], len(rows)), rows


def joined_snapshots(
    snapshots: Sequence[state.Bytes], tables: Container[str] = frozenset()
) -> bytes:
    """One snapshot of all, which stand at one position: as one executor would have made it, but for
    the order of instances, of event ids and of the rows of `tables`. Raises SnapshotError.

    What several hold is taken from the first that does; instances of a partition are in one, and
    rows of `tables` are too.
    """
    if len(snapshots) == 1:
        return bytes(snapshots[0])
    position, body = state.unseal(snapshots[0], keep_packed=True)
    bodies = [body, *(state.unseal(each, keep_packed=True)[1] for each in snapshots[1:])]
    operators: dict[str, Any] = {}
    timers: dict[str, list[Any]] = {queue: [] for queue in TIMERS}
    for each in bodies:
        engine = each["engine"]
        own = {path for path, _ in engine["operators"] if path not in operators}
        for path, held in engine["operators"]:
            if path in own:
                operators[path] = held
            elif is_instances(path):
                operators[path] = [*operators[path], *held]
            elif table_of(path) in tables:
                operators[path] = _rows_of_both(operators[path], held)
        for queue in TIMERS:
            timers[queue] += [timer for timer in engine[queue] if timer[2] in own]
    body["engine"] |= {**timers, "operators": list(operators.items())}
    number_timers(body["engine"])
    body["seen"] = _latest_last(each["seen"] for each in bodies)
    body["writes"] = _once(each.get("writes", []) for each in bodies)
    return state.seal(position, body)


def number_timers(engine: dict[str, Any]) -> None:
    """Timers of several engines have the same numbers: they get new ones in their common order."""
    timers = [timer for queue in TIMERS for timer in engine[queue]]
    timers.sort(key=lambda timer: (timer[0], timer[1]))
    for number, timer in enumerate(timers):
        timer[1] = number + 1
    engine["sequence"] = len(timers)


def _latest_last(lists: Iterable[Sequence[str]]) -> list[str]:
    """Each id once; where several have them, what stands last in one stands late in all."""
    rows = zip_longest(*map(reversed, lists))
    newest_first = dict.fromkeys(each for each in chain.from_iterable(rows) if each is not None)
    return list(newest_first)[::-1]


def _once(lists: Iterable[Sequence[Any]]) -> list[Any]:
    """The outcomes of writes, one per request (see reference/writes.py)."""
    return list({each[1]: each for each in chain.from_iterable(lists)}.values())
