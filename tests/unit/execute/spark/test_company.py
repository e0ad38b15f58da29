"""Calls that share jobs: who runs with whom, in which order, and who fails."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest

from lockstep.execute.spark.company import (
    CROWD_CALLS,
    Company,
    Meanwhile,
    Served,
    SparkFailedError,
    Task,
    nothing,
)

pytestmark = pytest.mark.unit


def echo(payloads: Iterable[bytes]) -> Iterator[bytes]:
    """Any function."""
    return iter(payloads)


class Jobs:
    """Runs jobs when told to, and remembers them; one with `broken` in it fails."""

    def __init__(self) -> None:
        self.may_run = threading.Event()
        self.begun = threading.Semaphore(0)
        self.seen: list[list[list[bytes]]] = []
        self.may_gather = threading.Event()
        self.company = Company(self._run, self._gather)
        self._threads = ThreadPoolExecutor(2 * CROWD_CALLS)

    def _gather(self) -> None:
        self.may_gather.wait()

    def _run(
        self, function: Served, batches: Sequence[Sequence[Task]], meanwhile: Meanwhile
    ) -> list[list[bytes]]:
        self.seen.append([[task.payload for task in batch] for batch in batches])
        self.begun.release()
        meanwhile()
        self.may_run.wait()
        if any(b"broken" in batch for batch in self.seen[-1]):
            raise SparkFailedError("a worker died")
        return [[b"did " + task.payload for task in batch] for batch in batches]

    def call(self, *tasks: Task, meanwhile: Meanwhile = nothing) -> Future[list[bytes]]:
        """In a thread of its own."""
        return self._threads.submit(self.company.run, echo, tasks, meanwhile)

    def wait_for(self, waiting: int) -> None:
        """Until so many calls wait for their turn."""
        while self.company.waiting < waiting:
            threading.Event().wait(0.001)


def test_calls_that_come_while_a_job_runs_share_the_next() -> None:
    """Three calls behind one are one job, and each gets its own answer."""
    jobs = Jobs()
    first = jobs.call(Task(0, b"a"))
    jobs.begun.acquire()
    others = []
    for number, name in enumerate((b"b", b"c", b"d"), 1):
        others.append(jobs.call(Task(0, name)))
        jobs.wait_for(number)
    jobs.may_run.set()
    assert first.result() == [b"did a"]
    assert [other.result() for other in others] == [[b"did b"], [b"did c"], [b"did d"]]
    assert jobs.seen == [[[b"a"]], [[b"b", b"c", b"d"]]]


def test_a_call_that_nobody_waits_for_any_more_is_not_run() -> None:
    """When its turn comes; those that would have gone along do without it."""
    jobs = Jobs()
    first = jobs.call(Task(0, b"a"))
    jobs.begun.acquire()
    unwanted = jobs.call(Task(0, b"b", wanted=lambda: False))
    jobs.wait_for(1)
    other = jobs.call(Task(0, b"c"))
    jobs.wait_for(2)
    jobs.may_run.set()
    assert first.result() == [b"did a"]
    with pytest.raises(SparkFailedError, match="nobody waits"):
        unwanted.result()
    assert other.result() == [b"did c"]
    assert jobs.seen == [[[b"a"]], [[b"c"]]]


def test_what_the_leading_call_has_to_do_meanwhile_is_done_while_its_job_runs() -> None:
    """That of a call that rides along is left: its own job would have been the time for it."""
    jobs = Jobs()
    done: list[bytes] = []
    first = jobs.call(Task(0, b"a"), meanwhile=partial(done.append, b"a"))
    jobs.begun.acquire()
    others = [
        jobs.call(Task(0, name), meanwhile=partial(done.append, name)) for name in (b"b", b"c")
    ]
    jobs.wait_for(2)
    assert not first.done()
    jobs.may_run.set()
    assert [call.result() for call in (first, *others)] == [[b"did a"], [b"did b"], [b"did c"]]
    assert done == [b"a", b"b"]


def test_other_slots_do_not_wait() -> None:
    """A call of another slot runs at once, in a job of its own."""
    jobs = Jobs()
    calls = [jobs.call(Task(0, b"a")), jobs.call(Task(1, b"b"))]
    jobs.begun.acquire()
    jobs.begun.acquire()
    jobs.may_run.set()
    assert sorted(call.result()[0] for call in calls) == [b"did a", b"did b"]


def test_a_call_of_two_slots_gets_its_turn() -> None:
    """Calls that came later do not overtake it, though one of its slots is free; some of them
    share its job."""
    jobs = Jobs()
    first = jobs.call(Task(0, b"a"))
    jobs.begun.acquire()
    both = jobs.call(Task(0, b"b"), Task(1, b"c"))
    jobs.wait_for(1)
    late = jobs.call(Task(1, b"d"))
    jobs.wait_for(2)
    jobs.may_run.set()
    assert first.result() == [b"did a"]
    assert both.result() == [b"did b", b"did c"]
    assert late.result() == [b"did d"]
    assert jobs.seen[1] == [[b"b"], [b"c", b"d"]]


def test_states_in_different_places_do_not_share_a_task() -> None:
    """Two Spark executors have workers of the same slot: a job asks one of them."""
    jobs = Jobs()
    jobs.may_run.set()
    near, far = Task(0, b"a", "executor_1"), Task(0, b"b", "executor_2")
    assert [jobs.call(near).result(), jobs.call(far).result()] == [[b"did a"], [b"did b"]]
    jobs.may_run.clear()
    calls = [jobs.call(near)]
    jobs.begun.acquire()
    jobs.begun.acquire()
    jobs.begun.acquire()
    calls += [jobs.call(far)]
    jobs.wait_for(1)
    calls += [jobs.call(near)]
    jobs.wait_for(2)
    jobs.may_run.set()
    assert [call.result() for call in calls] == [[b"did a"], [b"did b"], [b"did a"]]
    assert all(len(batches) == 1 and len(batches[0]) == 1 for batches in jobs.seen)


def test_who_breaks_a_shared_job_fails_alone() -> None:
    """The others' calls succeed."""
    jobs = Jobs()
    first = jobs.call(Task(0, b"a"))
    jobs.begun.acquire()
    fine = jobs.call(Task(0, b"b"))
    jobs.wait_for(1)
    broken = jobs.call(Task(0, b"broken"))
    jobs.wait_for(2)
    jobs.may_run.set()
    assert [first.result(), fine.result()] == [[b"did a"], [b"did b"]]
    with pytest.raises(SparkFailedError):
        broken.result()
    assert jobs.seen[1:] == [[[b"b", b"broken"]], [[b"b"]], [[b"broken"]]]


def test_behind_a_crowd_a_job_waits_for_company() -> None:
    """Though its slot is free; other slots do not wait, and neither does anybody behind a job that
    was small again."""
    jobs = Jobs()
    first = jobs.call(Task(0, b"a"))
    jobs.begun.acquire()
    crowd = [jobs.call(Task(0, b"b")) for _ in range(CROWD_CALLS)]
    jobs.wait_for(CROWD_CALLS)
    jobs.may_run.set()
    for each in (first, *crowd):
        each.result()
    calls = [jobs.call(Task(0, b"c"))]
    assert jobs.call(Task(1, b"other")).result() == [b"did other"]
    calls.append(jobs.call(Task(0, b"d")))
    jobs.wait_for(1)
    jobs.may_gather.set()
    assert [call.result() for call in calls] == [[b"did c"], [b"did d"]]
    assert sorted(jobs.seen[-1][0]) == [b"c", b"d"]
    jobs.may_gather.clear()
    assert jobs.call(Task(0, b"e")).result() == [b"did e"]
