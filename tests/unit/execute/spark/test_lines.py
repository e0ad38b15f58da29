"""Lines to workers: one job for many requests, and what happens when one side is gone.

Spark's part, to run a task again when it fails, is played by a thread.
"""

from __future__ import annotations

import os
import resource
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from lockstep.execute.spark import lines
from lockstep.execute.spark.company import Served, SparkFailedError, Task
from lockstep.execute.spark.lines import ATTEMPTS, Lines

pytestmark = pytest.mark.unit

LIMIT_S = 20.0
SELECT_MAX = 1_023
"""The highest descriptor that `select` takes."""


class Spark:
    """Runs each job in a thread, its task up to ATTEMPTS times; counts both."""

    def __init__(self) -> None:
        self.jobs: list[Future[list[list[bytes]]]] = []
        self.tasks = 0
        self._threads = ThreadPoolExecutor(8)

    def submit(
        self, function: Served, batches: Sequence[Sequence[Task]]
    ) -> Future[list[list[bytes]]]:
        """A job of one task."""
        ((task,),) = batches
        self.jobs.append(self._threads.submit(self._run, function, task))
        return self.jobs[-1]

    def _run(self, function: Served, task: Task) -> list[list[bytes]]:
        why: Exception | None = None
        for _ in range(ATTEMPTS):
            self.tasks += 1
            try:
                return [list(function([task.payload]))]
            except ArithmeticError as error:
                why = error
        raise SparkFailedError(f"a Spark job failed: {why}")


@pytest.fixture
def spark() -> Spark:
    """One."""
    return Spark()


@pytest.fixture
def open_lines(spark: Spark) -> Iterator[Lines]:
    """Closed after the test, and then all jobs end."""
    found = Lines(spark.submit)
    yield found
    found.close()
    for job in spark.jobs:
        job.exception(LIMIT_S)  # it ends


def twice(requests: Iterable[bytes]) -> Iterator[bytes]:
    """What a worker does."""
    for request in requests:
        yield 2 * request


def fails(times: int) -> tuple[Served, Callable[[], int]]:
    """A function that ends its worker so often, and how often it was begun."""
    begun = 0

    def served(requests: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal begun
        begun += 1
        if begun <= times:
            raise ZeroDivisionError("no more")
        yield from twice(requests)

    return served, lambda: begun


def asked(open_lines: Lines, function: Served, *requests: bytes, slot: int = 0) -> list[bytes]:
    """One batch."""
    (answers,) = open_lines.ask(function, [[Task(slot, request) for request in requests]])
    return answers


def test_one_job_serves_what_comes_one_after_the_other(open_lines: Lines, spark: Spark) -> None:
    """Each request has its own answer, also those of one batch."""
    for number in range(200):
        name = str(number).encode()
        assert asked(open_lines, twice, name, b"x") == [2 * name, b"xx"]
    assert len(spark.jobs) == 1
    assert not spark.jobs[0].done()


def test_a_large_request_and_its_answer_come_whole(open_lines: Lines) -> None:
    """Beyond what a socket takes at once."""
    large = bytes(range(256)) * 20_000
    assert asked(open_lines, twice, large) == [2 * large]


def test_several_slots_work_at_the_same_time(open_lines: Lines, spark: Spark) -> None:
    """Both tasks are in it before either answers."""
    together = threading.Barrier(2, timeout=LIMIT_S)

    def served(requests: Iterable[bytes]) -> Iterator[bytes]:
        for request in requests:
            together.wait()
            yield 2 * request

    for _ in range(3):
        assert open_lines.ask(served, [[Task(0, b"a")], [Task(1, b"b")]]) == [[b"aa"], [b"bb"]]
    assert len(spark.jobs) == 2


@pytest.fixture
def _many_files() -> Iterator[None]:
    """The process has so many open that the next descriptors are above SELECT_MAX."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 2 * SELECT_MAX), before[1]))
    held = [os.open(os.devnull, os.O_RDONLY)]
    try:
        while held[-1] <= SELECT_MAX:
            held.append(os.dup(held[0]))
        yield
    finally:
        for each in held:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("_many_files")
def test_a_process_may_have_thousands_of_files(spark: Spark) -> None:
    """Both the socket that is listened at and the worker's have high descriptors."""
    many = Lines(spark.submit)
    assert asked(many, twice, b"a") == [b"aa"]
    line = many._line(twice, 0)
    assert line._worker is not None
    assert min(line._listening.fileno(), line._worker.fileno()) > SELECT_MAX
    many.close()
    assert spark.jobs[0].result(LIMIT_S) == [[b""]]


def test_jobs_that_do_not_end_are_waited_for_together(
    spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither ends before both have been told to: one after the other they would be given up."""
    monkeypatch.setattr(lines, "LINGER_S", 4 * LIMIT_S)
    monkeypatch.setattr(lines, "HANG_UP_S", 2 * LIMIT_S)
    all_told = threading.Barrier(2, timeout=LIMIT_S / 4)

    def submit(function: Served, batches: Sequence[Sequence[Task]]) -> Future[list[list[bytes]]]:
        def served(requests: Iterable[bytes]) -> Iterator[bytes]:
            yield from function(requests)
            all_told.wait()

        return spark.submit(served, batches)

    stubborn = Lines(submit)
    stubborn.ask(twice, [[Task(0, b"a")], [Task(1, b"b")]])
    stubborn.close()
    assert [job.result(0) for job in spark.jobs] == [[[b""]], [[b""]]]


def test_a_quiet_job_ends_and_the_next_request_begins_another(
    open_lines: Lines, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No request is lost in between."""
    monkeypatch.setattr(lines, "LINGER_S", 0.01)
    for number in range(3):
        assert asked(open_lines, twice, b"a") == [b"aa"]
        assert spark.jobs[number].result(LIMIT_S) == [[b""]]
    assert len(spark.jobs) == 3


def test_a_job_that_served_enough_is_followed_by_another(
    open_lines: Lines, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After so many requests."""
    monkeypatch.setattr(lines, "MAX_FRAMES", 5)
    for number in range(20):
        name = str(number).encode()
        assert asked(open_lines, twice, name) == [2 * name]
    assert len(spark.jobs) == 4


@pytest.mark.parametrize("deaths", [1, ATTEMPTS - 1])
def test_the_next_worker_gets_what_the_last_one_died_of(
    open_lines: Lines, spark: Spark, deaths: int
) -> None:
    """Spark puts another one in its place; the job is the same."""
    assert asked(open_lines, twice, b"before") == [b"beforebefore"]
    served, begun = fails(deaths)
    assert asked(open_lines, served, b"a") == [b"aa"]
    assert begun() == deaths + 1
    assert len(spark.jobs) == 2  # one for each function


def test_what_no_worker_survives_is_an_error_and_others_go_on(
    open_lines: Lines, spark: Spark
) -> None:
    """It is tried as often as Spark tries a task."""
    served, begun = fails(ATTEMPTS)
    with pytest.raises(SparkFailedError, match="no more"):
        asked(open_lines, served, b"a")
    assert begun() == ATTEMPTS
    assert asked(open_lines, served, b"b") == [b"bb"]
    assert len(spark.jobs) == 2


def test_failures_of_other_requests_do_not_count(open_lines: Lines, spark: Spark) -> None:
    """A job that has seen some is over sooner; the request goes on in another one."""
    begun = 0

    def served(requests: Iterable[bytes]) -> Iterator[bytes]:
        nonlocal begun
        begun += 1
        for request in requests:
            if request == b"hard" and begun in {1, 2, 4, 5}:
                raise ZeroDivisionError("no more")
            yield 2 * request

    assert asked(open_lines, served, b"hard") == [b"hardhard"]
    assert asked(open_lines, served, b"hard") == [b"hardhard"]
    assert begun == 6
    assert len(spark.jobs) == 2


@pytest.mark.parametrize("jobs_before", [0, 1])
def test_a_job_that_fails_before_its_task_calls_is_an_error(spark: Spark, jobs_before: int) -> None:
    """Nothing waits for ever, also not when Spark goes while a worker is asked."""

    def submit(function: Served, batches: Sequence[Sequence[Task]]) -> Future[list[list[bytes]]]:
        if len(spark.jobs) < jobs_before:
            return spark.submit(function, batches)
        job: Future[list[list[bytes]]] = Future()
        job.set_exception(SparkFailedError("the JVM is gone"))
        return job

    def dying(requests: Iterable[bytes]) -> Iterator[bytes]:
        raise KeyError(*requests)  # no task that Spark would run again

    broken = Lines(submit)
    with pytest.raises(SparkFailedError, match="the JVM is gone"):
        asked(broken, dying, b"a")
    broken.close()


def test_workers_that_died_while_nothing_was_asked_are_no_matter(
    open_lines: Lines, spark: Spark
) -> None:
    """The job is over, or has another worker: the request is answered either way."""
    hung_up = threading.Event()

    def served(requests: Iterable[bytes]) -> Iterator[bytes]:
        yield from twice(requests)
        if hung_up.is_set():
            raise ZeroDivisionError("killed behind its answer")

    for name in (b"a", b"b", b"c", b"d", b"e", b"f", b"g"):
        hung_up.set()
        assert asked(open_lines, served, name) == [2 * name]


def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next(
    open_lines: Lines, spark: Spark
) -> None:
    """Whoever asked was interrupted."""
    assert asked(open_lines, twice, b"a") == [b"aa"]
    line = open_lines._line(twice, 0)
    line.begin([Task(0, b"late")])
    assert asked(open_lines, twice, b"b") == [b"bb"]
    assert spark.jobs[0].result(LIMIT_S) == [[b""]]


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a worker would be ended; it is looked for often."""
    found = threading.Event()
    monkeypatch.setattr(lines, "LINGER_S", 0.01)
    monkeypatch.setattr(lines, "LOOK_S", 0.01)
    monkeypatch.setattr(lines, "UNWANTED_MAX_S", 0.03)
    monkeypatch.setattr(lines, "_end_process", lambda process: found.set())
    return found


def test_a_worker_that_goes_on_with_what_nobody_waits_for_is_ended(
    open_lines: Lines, ended: threading.Event
) -> None:
    """What it was at is not sent again, and who comes next is served."""
    begun: list[bytes] = []

    def served(requests: Iterable[bytes]) -> Iterator[bytes]:
        for request in requests:
            begun.append(request)
            if request == b"for ever":
                ended.wait(LIMIT_S)
                raise ZeroDivisionError("killed")
            yield 2 * request

    with pytest.raises(SparkFailedError, match="nobody waits"):
        open_lines.ask(served, [[Task(0, b"for ever", wanted=lambda: False)]])
    assert asked(open_lines, served, b"a") == [b"aa"]
    assert begun == [b"for ever", b"a"]


def test_what_somebody_waits_for_may_take_long(open_lines: Lines, ended: threading.Event) -> None:
    """Its worker is left alone."""
    may_end = threading.Event()
    looks = 0

    def wanted() -> bool:
        nonlocal looks
        looks += 1
        if looks == 20:
            may_end.set()
        return True

    def served(requests: Iterable[bytes]) -> Iterator[bytes]:
        may_end.wait(LIMIT_S)
        yield from twice(requests)

    assert open_lines.ask(served, [[Task(0, b"a", wanted=wanted)]]) == [[b"aa"]]
    assert not ended.is_set()


def test_who_runs_as_somebody_else_is_not_served(
    open_lines: Lines, spark: Spark, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither side talks to another user."""
    real = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: real + 1)
    with pytest.raises(PermissionError):
        asked(open_lines, twice, b"a")


@pytest.mark.parametrize("size", [0, 1, 8, 16 * 1024 - 9, 16 * 1024 - 8, 16 * 1024 - 7, 300_000])
def test_frames_of_any_length_arrive_whole(size: int) -> None:
    """Shorter than what goes in one piece, just so long, and longer."""
    frame = bytearray(os.urandom(size))
    one, other = socket.socketpair()
    with one, other, ThreadPoolExecutor(1) as thread:
        for _ in range(2):
            sending = thread.submit(lines._sent, one, bytes(frame))
            assert lines._received(other, LIMIT_S) == frame
            assert sending.result()


@pytest.mark.parametrize("end", [0, 3, 8, 10], ids=["nothing", "half a length", "a length", "some"])
def test_a_frame_that_breaks_off_is_none(end: int) -> None:
    """Wherever the other side went away; byte by byte it arrives whole."""
    frame = struct.pack("!Q", 4) + b"abcd"
    for stop in (end, len(frame)):
        one, other = socket.socketpair()
        with other, ThreadPoolExecutor(1) as thread:
            receiving = thread.submit(lines._received, other, LIMIT_S)
            with one:
                for at in range(stop):
                    one.sendall(frame[at : at + 1])
            assert receiving.result() == (bytearray(b"abcd") if stop == len(frame) else None)
