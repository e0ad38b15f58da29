"""States of units to and from the form in which the reference keeps them, so that a snapshot
restores on either executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lockstep.execute.columnar.realms import Defaults
from lockstep.execute.columnar.slices import Clock
from lockstep.execute.columnar.units import States, Timer, Unit
from lockstep.operators.errors import SnapshotError
from lockstep.operators.runtime import persistence
from lockstep.operators.runtime.engine import Engine
from lockstep.plan import AppPlan, PartitionNode


def fresh_states(plan: AppPlan) -> Defaults:
    """The states of a fresh reference engine, and of fresh instances of its partitions."""
    engine = Engine(plan)
    operators = dict(persistence.take(engine)["operators"])
    instances: dict[str, dict[str, Any]] = {}
    for node in plan.nodes:
        if not isinstance(node, PartitionNode):
            continue
        path = f"partition/{node.name}"
        engine.operators[f"{path}/instances"].restore([("", 0)])
        prefix = f"{path}//"
        instances[node.name] = {
            each[len(prefix) :]: operator.snapshot()
            for each, operator in engine.operators.items()
            if each.startswith(prefix)
        }
    return Defaults(operators, instances)


def to_reference(units: Sequence[Unit], clock: Clock, defaults: Defaults) -> dict[str, Any]:
    """The engine part of a snapshot."""
    states = States({})
    for unit in units:
        unit.store(states)
    timers = sorted(states.timers, key=lambda timer: timer.due_ms)
    return {
        "now": clock.now,
        "wall": clock.wall,
        "playback": clock.is_playback,
        "sequence": len(timers),
        "app_timers": [[timer.due_ms, i + 1, timer.path] for i, timer in enumerate(timers)],
        "wall_timers": [],
        "operators": list({**defaults.operators, **states.operators}.items()),
    }


def from_reference(units: Sequence[Unit], clock: Clock, engine: Mapping[str, Any]) -> None:
    """Takes over the engine part of a snapshot; raises SnapshotError when it does not fit."""
    try:
        clock.now, clock.wall = engine["now"], engine["wall"]
        clock.is_playback = engine["playback"]
        states = States(dict(engine["operators"]))
        states.timers += [Timer(due_ms, path) for due_ms, _, path in engine["app_timers"]]
        for unit in units:
            unit.load(states)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise SnapshotError(f"the snapshot does not fit this app: {error}") from error
