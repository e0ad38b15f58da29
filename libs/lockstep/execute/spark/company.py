"""Calls that need the same slots share a job: while one job runs, those that come gather for the
next. So a thousand small slices a second are some dozens of jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from lockstep.events import UnavailableError

COMPANY_MAX_CALLS: Final = 256
COMPANY_MAX_BYTES: Final = 256 * 1024
CROWD_CALLS: Final = 8
"""A job with so many calls tells that many small apps are at work."""
GATHER_S: Final = 0.1
"""So long the next job there waits for company: a job costs many times what a call in it does."""


class SparkFailedError(UnavailableError):
    """A Spark job failed for good, or Spark is gone: the slice can be folded again from its
    base."""


class WorkerDiedError(SparkFailedError):
    """A worker was ended in the middle of a job, each time that Spark tried it."""


def always() -> bool:
    """Somebody waits for it, whatever happens."""
    return True


@dataclass(frozen=True, slots=True)
class Task:
    """A request for the worker of a slot; `location` names the Spark executor that has its
    state. `wanted`: whether anybody still waits for the answer."""

    slot: int
    payload: bytes
    location: str | None = None
    wanted: Callable[[], bool] = always

    @property
    def place(self) -> tuple[int, str | None]:
        """Tasks of one place can share a task of Spark."""
        return self.slot, self.location


Served = Callable[[Iterable[bytes]], Iterator[bytes]]
"""What workers run: requests in, answers out."""
Meanwhile = Callable[[], None]
"""What is done while the workers work."""
RunJob = Callable[[Served, Sequence[Sequence[Task]], Meanwhile], list[list[bytes]]]
"""One job: for each place its tasks, which one worker takes one after another; their answers."""


def nothing() -> None:
    """Nothing is to be done meanwhile."""


@dataclass(eq=False)
class _Call:
    """Somebody's tasks, at most one for each slot. `leads`: it is this one's turn to run a job."""

    function: Served
    tasks: Sequence[Task]
    meanwhile: Meanwhile
    turn: threading.Event = field(default_factory=threading.Event)
    leads: bool = False
    is_alone: bool = False
    answers: list[bytes] | None = None
    error: SparkFailedError | None = None

    @property
    def slots(self) -> set[int]:
        return {task.slot for task in self.tasks}

    @property
    def places(self) -> set[tuple[int, str | None]]:
        return {task.place for task in self.tasks}

    @property
    def is_wanted(self) -> bool:
        return all(task.wanted() for task in self.tasks)

    @property
    def size_bytes(self) -> int:
        return sum(len(task.payload) for task in self.tasks)


def _gather() -> None:
    threading.Event().wait(GATHER_S)


class Company:
    """Each slot runs one job at a time; calls get their turn in the order in which they came.

    Where the last job had a crowd, the next one waits a little for company (`gather`), as many
    small apps are at work; None: it does not, as a job costs little.
    A job that fails for several calls is run again for each of them alone: so a call that breaks
    its worker fails by itself. A call that nobody waits for any more fails when its turn comes.
    """

    def __init__(self, run_job: RunJob, gather: Callable[[], None] | None = _gather) -> None:
        self._run_job = run_job
        self._guard = threading.Lock()
        self._waiting: list[_Call] = []
        self._busy: set[int] = set()
        self._crowded: set[int] = set()
        self._gather = gather

    @property
    def waiting(self) -> int:
        """How many calls wait for their turn."""
        with self._guard:
            return len(self._waiting)

    def run(
        self, function: Served, tasks: Sequence[Task], meanwhile: Meanwhile = nothing
    ) -> list[bytes]:
        """The answers of the tasks, whose slots differ; SparkFailedError. `meanwhile` is done while
        they are worked at, unless that is in somebody else's job."""
        call = _Call(function, tasks, meanwhile)
        with self._guard:
            self._waiting.append(call)
            self._give_turns()
        while True:
            call.turn.wait()
            if not call.leads:
                break
            call.leads = False
            call.turn.clear()
            if self._gather and call.slots & self._crowded and not call.is_alone:
                self._gather()
            self._lead(call)
        if call.answers is None:
            raise call.error or SparkFailedError("a Spark job broke off")
        return call.answers

    def _give_turns(self) -> None:
        """With the guard held: whoever finds its slots free leads the next job there."""
        wanted: set[int] = set()
        for call in list(self._waiting):
            if not call.slots & (self._busy | wanted):
                self._waiting.remove(call)
                self._busy |= call.slots
                call.leads = True
                call.turn.set()
            wanted |= call.slots

    def _gathered(self, first: _Call) -> list[_Call]:
        company, size_bytes = [first], first.size_bytes
        for call in self._waiting:
            if first.is_alone or len(company) >= COMPANY_MAX_CALLS:
                break
            fits = size_bytes + call.size_bytes <= COMPANY_MAX_BYTES
            alike = call.function is first.function and call.places <= first.places
            if fits and alike and not call.is_alone:
                company.append(call)
                size_bytes += call.size_bytes
        gone = set(company)
        self._waiting = [call for call in self._waiting if call not in gone]
        change = (
            self._crowded.update if len(company) >= CROWD_CALLS else self._crowded.difference_update
        )
        change(first.slots)
        return company

    def _lead(self, first: _Call) -> None:
        """Runs the job, tells everybody, and gives the slots on."""
        with self._guard:
            company = self._gathered(first)
        error: SparkFailedError | None = None
        try:
            if not first.is_wanted:
                raise SparkFailedError("nobody waits for this any more")
            self._answer(company)
        except SparkFailedError as failure:
            error = failure
        finally:
            with self._guard:
                self._busy -= first.slots
                for call in company:
                    call.error = error
                    if error is not None and len(company) > 1:
                        call.is_alone = True
                        self._waiting.append(call)
                    else:
                        call.turn.set()
                self._give_turns()

    def _answer(self, company: Sequence[_Call]) -> None:
        by_place: dict[tuple[int, str | None], list[tuple[_Call, int]]] = {}
        for call in company:
            for index, task in enumerate(call.tasks):
                by_place.setdefault(task.place, []).append((call, index))
        batches = [[call.tasks[index] for call, index in each] for each in by_place.values()]
        found = self._run_job(company[0].function, batches, company[0].meanwhile)
        answers: dict[tuple[int, int], bytes] = {}
        for members, given in zip(by_place.values(), found, strict=True):
            for (call, index), answer in zip(members, given, strict=True):
                answers[id(call), index] = answer
        for call in company:
            call.answers = [answers[id(call), index] for index in range(len(call.tasks))]
