"""What a worker keeps, in the process of the test: its driver calls it as Spark would."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace

import pytest

from lockstep.events import EventsRecord, InputEvent, LogEntry
from lockstep.execute.contract import StateLostError
from lockstep.execute.spark import SparkExecutor, blocks, garbage, worker
from lockstep.execute.spark.company import Meanwhile, Served, Task, nothing
from lockstep.execute.spark.slots import Use
from lockstep.operators.errors import EventError
from lockstep.operators.limits import Limits, in_force, limits
from lockstep.operators.state import position_of
from lockstep.plan import plan_of

WINDOW = (
    "define stream S (k string, v long); define stream T (k string);"
    " from S#window.length(5000) select k, sum(v) as s insert into O;"
    " from T join S#window.length(5000) as w select w.k as k insert into P;"
)
BASE_BYTES = 1 << 30


class Here:
    """Slots whose worker is this process. `before`: done once in front of the next request."""

    def __init__(self, *, shares_memory: bool = False) -> None:
        self.shares_memory = shares_memory
        self.before: Callable[[], None] = nothing
        self.told: list[str] = []

    def acquire(self, use: Use, avoid: Sequence[int] = ()) -> int:
        """There is one slot."""
        return 0

    def release(self, use: Use, slot: int, location: str | None, instance: str) -> None:
        """The worker hears of it with the next request."""
        self.told.append(instance)

    def gone(self, slot: int, location: str | None) -> list[str]:
        """Told once."""
        told, self.told = self.told, []
        return told

    def runs(self, slot: int, location: str | None) -> int:
        """Nobody asks."""
        return 0

    def most(self, use: Use) -> int:
        """One slot."""
        return 1

    def run(
        self, function: Served, tasks: Sequence[Task], meanwhile: Meanwhile = nothing
    ) -> list[bytes]:
        """In this thread, one after another."""
        before, self.before = self.before, nothing
        before()
        return [answer for task in tasks for answer in function([task.payload])]


@pytest.fixture(autouse=True)
def _as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A worker changes its process: its limits are undone. What was there before the test stays set
    aside, as to look through it takes seconds, and what the test makes never is: nothing has to be
    taken back (tests/unit/execute/test_garbage.py does so). Nobody but a worker looks for cycles.
    """
    collector = SimpleNamespace(collect=gc.collect, freeze=nothing, unfreeze=nothing)
    monkeypatch.setattr(garbage, "gc", collector)
    gc.freeze()
    gc.disable()
    kept = limits()
    with in_force(kept):
        yield
    worker._held.clear()
    worker._readers.clear()
    gc.enable()
    gc.collect()


def executor_of(text: str, slots: Here, **options: object) -> SparkExecutor:
    """An executor of an app, whose worker is here."""
    return SparkExecutor(plan_of(text), slices=slots, **options)  # type: ignore[arg-type]


def entry(position: int, stream: str, *rows: tuple[object, ...]) -> LogEntry:
    """A record of events, each a chunk of its own."""
    chunks = tuple((InputEvent(position, row),) for row in rows)
    return LogEntry(position, EventsRecord(stream, position, chunks))


def shared_memories() -> int:
    """How many descriptors of shared memory this process has."""
    found = 0
    for each in os.listdir("/proc/self/fd"):
        try:
            found += "memfd:lockstep" in os.readlink(f"/proc/self/fd/{each}")
        except OSError:
            continue
    return found


needs_memory = pytest.mark.skipif(
    not blocks.can_share(), reason="this machine has no memory to share by name"
)


@needs_memory
def test_a_state_in_place_of_an_older_one_leaves_no_memory_behind() -> None:
    """The answers of the older one have been read."""
    slots = Here(shares_memory=True)
    executor = executor_of(WINDOW, slots, base_max_bytes=BASE_BYTES)
    executor.run_slice([entry(1, "S", *((f"key number {i}", i) for i in range(5_000)))])
    taken = []
    for _ in range(2):
        executor.restore(executor.snapshot())
        taken.append(shared_memories())
    assert taken[0] == taken[1]
    executor.close()


@needs_memory
def test_a_state_that_was_given_up_leaves_no_memory_behind() -> None:
    """What it had of blocks hangs on cycles that grew old when it was alive."""
    slots = Here(shares_memory=True)
    with in_force(Limits(event_rows=2_000)):
        executor = executor_of(WINDOW, slots, base_max_bytes=BASE_BYTES)
        executor.run_slice([entry(1, "S", *((f"key number {i}", i) for i in range(5_000)))])
        taken = []
        for position in (2, 4):
            result = executor.run_slice([entry(position, "T", ("x",))])
            assert [fault.is_poison for fault in result.faults] == [True]
            executor.run_slice([entry(position + 1, "S", ("a", 1))])
            taken.append(shared_memories())
        executor.close()
    assert taken[0] == taken[1]


TABLE = (
    "define stream S (k string, v long); define table T (k string, v long);"
    " from S select k, v insert into T;"
)
FROM_TABLE = "from T select k, v"


@pytest.mark.parametrize("what", ["question", "snapshot", "slice"])
def test_a_state_that_is_asked_while_it_is_closed_goes_afterwards(what: str) -> None:
    """Its request waits for its turn, and a neighbour's comes first: the worker is told that the
    state is gone when nobody asks for it any more."""
    slots = Here()
    neighbour = executor_of(TABLE, slots, base_max_bytes=BASE_BYTES)
    closing = executor_of(TABLE, slots, base_max_bytes=BASE_BYTES)
    closing.run_slice([entry(1, "S", ("a", 1))])

    def before() -> None:
        closing.close()
        neighbour.run_slice([])

    slots.before = before
    if what == "question":
        assert closing.on_demand(FROM_TABLE) == [("a", 1)]
    elif what == "snapshot":
        assert position_of(closing.snapshot()) == 1
    else:
        large = [(f"key number {i}", i) for i in range(5_000)]
        assert closing.run_slice([entry(2, "S", *large)]).position == 2
    assert len(slots.told) == 1
    neighbour.run_slice([])
    assert len(worker._held) == 1
    with pytest.raises(StateLostError, match="closed"):
        closing.on_demand(FROM_TABLE)
    closing.close()
    assert slots.told == []
    neighbour.close()


def test_in_front_of_what_is_suspected_a_base_is_no_larger_than_any_other() -> None:
    """Only from there on a state of any size is kept, until that is folded."""
    slots, limit_bytes = Here(), 20_000
    text = "define stream S (k string, v long); from S select k, v insert into O;"
    executor = executor_of(text, slots, base_max_bytes=limit_bytes, careful=(30, 40))
    sizes = []
    for position in range(1, 61):
        rows = [(f"key {i}", i) for i in range(200)]
        executor.run_slice([entry(position, "S", *rows)])
        sizes.append(executor.base_bytes)
    executor.close()
    assert max(sizes[:29]) <= limit_bytes
    assert max(sizes[29:39]) > limit_bytes
    assert max(sizes[41:]) <= limit_bytes


@pytest.mark.parametrize("error", [RuntimeError("no"), KeyError("no"), AssertionError("no")])
def test_a_mistake_is_answered_and_ends_no_worker(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would try again, and end a worker each time, with what neighbours have in it."""
    slots = Here()
    neighbour = executor_of(TABLE, slots, base_max_bytes=BASE_BYTES)
    neighbour.run_slice([entry(1, "S", ("a", 1))])
    broken = executor_of(TABLE, slots, base_max_bytes=BASE_BYTES)

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(worker, "_slice", fail)
        with pytest.raises(EventError, match=f"slice fails: {type(error).__name__}"):
            broken.run_slice([entry(1, "S", ("a", 1))])
    assert len(worker._held) == 1
    assert neighbour.on_demand(FROM_TABLE) == [("a", 1)]
    assert neighbour.rebuilds == 0
    broken.run_slice([entry(1, "S", ("b", 2))])
    assert broken.on_demand(FROM_TABLE) == [("b", 2)]
    neighbour.close()
    broken.close()
