"""States of units to and from the form in which the reference keeps them, so that a snapshot
restores on either executor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from lockstep.columns.column import Unfit
from lockstep.columns.moves import Clock
from lockstep.columns.realms import Defaults
from lockstep.columns.times import check_time
from lockstep.columns.units import Part, States, Timer
from lockstep.execute.columnar.asking import all_that_can_be_asked, what_is_asked
from lockstep.execute.reference import persistence
from lockstep.execute.reference.assembly import open_engine
from lockstep.operators.errors import SnapshotError
from lockstep.plan import AppPlan, PartitionNode
from lockstep.siddhiql.checked import CheckedOnDemand

KEPT: Final = 16
"""Of how many plans the fresh states are remembered: an app that is restored asks for them anew."""


class _Itself:
    """A plan as a key: one that says the same is another one."""

    def __init__(self, plan: AppPlan) -> None:
        self.plan = plan

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.plan is other.plan

    def __hash__(self) -> int:
        return id(self.plan)


def fresh_states(plan: AppPlan) -> Defaults:
    """The states of a fresh reference engine, and of fresh instances of its partitions; nobody
    changes them."""
    return _fresh_states(_Itself(plan))


@lru_cache(KEPT)
def _fresh_states(of: _Itself) -> Defaults:
    plan = of.plan
    engine = open_engine(plan)
    operators = dict(persistence.take(engine)["operators"])
    instances: dict[str, dict[str, Any]] = {}
    for node in plan.nodes:
        if not isinstance(node, PartitionNode):
            continue
        path = node.path
        engine.operators[f"{path}/instances"].restore([("", 0)])
        prefix = f"{path}//"
        instances[node.name] = {
            each[len(prefix) :]: operator.snapshot()
            for each, operator in engine.operators.items()
            if each.startswith(prefix)
        }
    return Defaults(operators, instances)


EngineState = Callable[[Sequence[Part], Clock, Defaults], dict[str, Any]]


def to_reference(units: Sequence[Part], clock: Clock, defaults: Defaults) -> dict[str, Any]:
    """The engine part of a snapshot."""
    return _engine(_stored(units), clock, defaults)


def to_be_asked(units: Sequence[Part], clock: Clock, defaults: Defaults) -> dict[str, Any]:
    """The same with all that on-demand queries can ask for (tables, named windows, aggregations),
    and with all else as it was at the start: what queries hold is nobody's business but theirs."""
    return _engine(all_that_can_be_asked(units), clock, defaults)


def asked_by(question: CheckedOnDemand) -> EngineState:
    """As `to_be_asked`, with no more than this question reads."""

    def state(units: Sequence[Part], clock: Clock, defaults: Defaults) -> dict[str, Any]:
        found = what_is_asked(question, units)
        if found is None:
            return to_be_asked(units, clock, defaults)
        return _engine(found, clock, defaults)

    return state


def _stored(units: Sequence[Part]) -> States:
    states = States({})
    for unit in units:
        unit.store(states)
    return states


def _engine(states: States, clock: Clock, defaults: Defaults) -> dict[str, Any]:
    timers = sorted(states.timers, key=lambda timer: (timer.due_ms, timer.sequence))
    numbered = [(timer.wall, [timer.due_ms, i + 1, timer.path]) for i, timer in enumerate(timers)]
    return {
        "now": clock.now,
        "wall": clock.wall,
        "playback": clock.is_playback,
        "sequence": len(timers),
        "app_timers": [timer for wall, timer in numbered if not wall],
        "wall_timers": [timer for wall, timer in numbered if wall],
        "operators": list({**defaults.operators, **states.operators}.items()),
    }


def from_reference(units: Sequence[Part], clock: Clock, engine: Mapping[str, Any]) -> None:
    """Takes over the engine part of a snapshot; raises SnapshotError when it does not fit. Unfit
    where it holds what the reference alone can go on with."""
    try:
        clock.now, clock.wall = engine["now"], engine["wall"]
        clock.is_playback = engine["playback"]
        states = States(dict(engine["operators"]))
        for timers, wall in ((engine["app_timers"], False), (engine["wall_timers"], True)):
            states.timers += [Timer(due, path, sequence, wall) for due, sequence, path in timers]
        for time_ms in (clock.now, clock.wall, *(timer.due_ms for timer in states.timers)):
            check_time(time_ms)
        for unit in units:
            unit.load(states)
    except OverflowError as error:
        raise Unfit(f"a number beyond 64 bits: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise SnapshotError(f"the snapshot does not fit this app: {error}") from error
