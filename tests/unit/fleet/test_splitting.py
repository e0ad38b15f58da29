"""Snapshots of a group cut for its partitions, and joined again."""

from __future__ import annotations

from operator import itemgetter

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.joining import joined_snapshots
from lockstep.execute.reference.executor import ReferenceExecutor
from lockstep.fleet import units_of
from lockstep.fleet.splitting import split_snapshot
from lockstep.operators import state
from lockstep.plan import plan_of
from lockstep.plan.fleet import Feed, FleetPlan, GroupPlan, Routing
from lockstep.siddhiql import ast

TEXT = """define stream S (k string, v int);
@purge(enable='true', interval='10 sec', idle.period='1 hour')
partition with (k of S) begin
  from S#window.time(1 sec) select k, sum(v) as n insert all events into O;
end;
"""
KEYS = ("1", "b", "slash/ed%", "c", "4")


def fleet(partitions: int) -> FleetPlan:
    """One group in so many partitions."""
    feed = Feed("S", True, (), Routing.KEY, ast.Variable("k"))
    group = GroupPlan("keys", partitions, TEXT, (feed,), (), ("O",), (), ())
    return FleetPlan(plan_of(TEXT), partitions, (group,))


def whole() -> bytes:
    """A snapshot of one executor that has seen all keys."""
    executor = ReferenceExecutor(plan_of(TEXT))
    chunks = tuple((InputEvent(5, (key, 1), f"id {key}"),) for key in KEYS)
    executor.run_slice([LogEntry(1, EventsRecord("S", 5, chunks))])
    return executor.snapshot()


def body(snapshot: bytes) -> dict[str, object]:
    """What it holds, without what stands in another order after a split."""
    _, found = state.unseal(snapshot)
    engine = found["engine"]
    operators = dict(sorted(engine["operators"], key=itemgetter(0)))
    operators["partition/partition_1/instances"].sort()
    timers = sorted((due, path) for due, _, path in engine["app_timers"])
    walls = sorted((due, path) for due, _, path in engine["wall_timers"])
    return {"operators": operators, "timers": timers, "walls": walls, "seen": sorted(found["seen"])}


def test_split_and_joined_again_it_is_the_same() -> None:
    """Instances, their timers, the partition's own timer once, and the event ids."""
    snapshot = whole()
    parts = [split_snapshot(snapshot, unit) for unit in units_of(fleet(3))]
    joined, before = body(joined_snapshots(parts)), body(snapshot)
    assert list(map(repr, sorted(joined.items()))) == list(map(repr, sorted(before.items())))


def test_every_key_is_in_one_part() -> None:
    """And a part has nothing of other keys."""
    parts = [split_snapshot(whole(), unit) for unit in units_of(fleet(3))]
    held = [dict(body(part)["operators"]) for part in parts]  # type: ignore[call-overload]
    keys = [key for each in held for key, _ in each["partition/partition_1/instances"]]
    assert sorted(keys) == sorted(KEYS)
    below = [path for each in held for path in each if path.count("/") > 2]
    assert len(below) == len(set(below)) > len(KEYS)
