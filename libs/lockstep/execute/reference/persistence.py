"""The engine's state as one plain value, and back (design invariant 5)."""

from __future__ import annotations

from typing import Any

from lockstep.execute.reference.engine import Engine
from lockstep.execute.reference.scheduler import Scheduler
from lockstep.operators.errors import SnapshotError


def take(engine: Engine) -> dict[str, Any]:
    """Clocks, timers and the state of every registered operator."""
    paths = {id(operator): path for path, operator in engine.operators.items()}
    states = [(path, operator.snapshot()) for path, operator in engine.operators.items()]
    return {
        "now": engine.now,
        "wall": engine.wall,
        "playback": engine.is_playback,
        "sequence": engine.sequence,
        "app_timers": _timers(engine.app_timers, paths),
        "wall_timers": _timers(engine.wall_timers, paths),
        "operators": states,
    }


def _timers(scheduler: Scheduler, paths: dict[int, str]) -> list[list[Any]]:
    pending = []
    for due_ms, sequence, target in scheduler.pending():
        path = paths.get(id(target))
        if path is None:
            raise SnapshotError(f"a timer waits for {target!r}, which is not registered")
        pending.append([due_ms, sequence, path])
    return pending


def put_back(engine: Engine, state: dict[str, Any]) -> None:
    """Takes over what `take` gave, on an engine of an equal app; raises SnapshotError otherwise.

    Partitions stand before their instances' operators, so restoring them creates those first.
    """
    path = "the clock"
    try:
        engine.now, engine.wall = state["now"], state["wall"]
        engine.is_playback = state["playback"]
        engine.sequence = state["sequence"]
        for path, saved in state["operators"]:
            operator = engine.operators.get(path)
            if operator is None:
                raise SnapshotError(
                    f"the snapshot holds state of {path}, which this app does not have"
                )
            operator.restore(saved)
        if len(state["operators"]) != len(engine.operators):
            saved_paths = {path for path, _ in state["operators"]}
            missing = next(path for path in engine.operators if path not in saved_paths)
            raise SnapshotError(f"the snapshot holds no state of {missing}")
        path = "the timers"
        engine.app_timers.refill(_targets(engine, state["app_timers"]))
        engine.wall_timers.refill(_targets(engine, state["wall_timers"]))
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise SnapshotError(f"the state of {path} does not fit this app: {error}") from error


def _targets(engine: Engine, saved: list[list[Any]]) -> list[tuple[int, int, Any]]:
    return [(due_ms, sequence, engine.operators[path]) for due_ms, sequence, path in saved]
