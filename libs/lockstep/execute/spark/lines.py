"""A line: a socket from the driver to the worker of a slot, where both are on one machine.

A job costs Spark's JVM some 20 ms of processor time and a dozen changes of threads, whatever it
does. So on one machine a job stays as long as requests come: its task calls the driver back and
serves them one after the other. Spark starts the worker, counts its failures and puts another one
in its place, as for any other task.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import msgspec

from lockstep.events.typed import from_msgpack
from lockstep.execute.spark.company import Meanwhile, Served, SparkFailedError, Task, nothing

LINGER_S: Final = 2.0
"""A job ends when nothing was asked of its worker for so long."""
MAX_FRAMES: Final = 100_000
"""And after so many requests: nothing grows for ever."""
ATTEMPTS: Final = 4
"""So many workers may end over a request."""
POLL_S: Final = 0.05
"""How soon it shows that a job has ended before its task called."""
HANG_UP_S: Final = 5.0
"""So long jobs are waited for that are to end, all together."""
UNWANTED_MAX_S: Final = 60.0
"""So long a worker may go on with what nobody waits for any more. It is long for a slice: ending
the worker costs all states that it holds."""
LOOK_S: Final = 1.0
"""How often it is looked whether anybody waits."""
_LENGTH: Final = struct.Struct("!Q")
_WHOLE_BYTES: Final = 16 * 1024
"""A frame so short goes, and comes, together with its length."""
_PEER: Final = struct.Struct("3i")
"""Process, user and group."""

Submit = Callable[[Served, Sequence[Sequence[Task]]], "Future[list[list[bytes]]]"]
"""Begins a job."""


class Lines:
    """Of all slots; `submit` begins jobs. Calls that need the same slot exclude one another."""

    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._lines: dict[int, Line] = {}

    def ask(
        self,
        function: Served,
        batches: Sequence[Sequence[Task]],
        meanwhile: Meanwhile = nothing,
    ) -> list[list[bytes]]:
        """The answers of `function` to the requests of each batch, which is of one slot.
        SparkFailedError."""
        lines = [self._line(function, batch[0].slot) for batch in batches]
        for line, batch in zip(lines, batches, strict=True):
            line.begin(batch)
        for line in lines:
            line.reach()
        meanwhile()
        return [line.end() for line in lines]

    def close(self) -> None:
        """All jobs end; idempotent."""
        _hang_up(list(self._lines.values()))
        self._lines.clear()

    def _line(self, function: Served, slot: int) -> Line:
        line = self._lines.get(slot)
        if line is None or line.function is not function:
            if line is not None:
                _hang_up([line])
            line = self._lines[slot] = Line(function, slot, self._submit)
        return line


class Line:
    """To the worker of one slot, for one `function`. `begin`, `reach`, then `end`."""

    def __init__(self, function: Served, slot: int, submit: Submit) -> None:
        self.function = function
        self._slot = slot
        self._submit = submit
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listening.bind("")  # the system gives it a name that goes with it, and no file
        self._listening.listen()
        self._job: Future[list[list[bytes]]] | None = None
        self._worker: socket.socket | None = None
        self._frame = b""
        self._tasks: Sequence[Task] = ()
        self._is_sent = self._is_under_way = self._is_untried = False

    def begin(self, tasks: Sequence[Task]) -> None:
        """Sends requests, or starts a job where none runs."""
        if self._is_under_way:
            self._drop()  # an answer that nobody waited for must not be taken for the next one
        self._is_under_way = True
        self._tasks = tasks
        self._frame = msgspec.msgpack.encode([task.payload for task in tasks])
        self._is_sent = False
        self._is_untried = False
        if self._worker is None or self._job is None or self._job.done():
            self._renew()
        else:
            self._send(self._worker)

    def reach(self) -> None:
        """Waits for the worker of a job that was just begun, and sends."""
        if self._worker is None:
            self._worker = self._called()
            if self._worker is not None:
                self._send(self._worker)

    def end(self) -> list[bytes]:
        """The answers. A worker that ends over requests gets them again as often as Spark would try
        a job, if all are still wanted. What Spark says of it comes out then."""
        lost = 0
        while True:
            worker = self._worker = self._worker or self._called()
            if worker is None:
                self._raise_if(lost)
                self._renew()
                continue
            if self._is_sent or self._send(worker):
                answer = self._answer(worker)
                if answer is not None:
                    self._is_under_way = False
                    return from_msgpack(answer, list[bytes])
                lost += 1
            self._drop()
            if lost and not self._is_wanted():
                raise SparkFailedError("a worker ended over what nobody waits for any more")

    def _answer(self, worker: socket.socket) -> bytearray | None:
        """What the worker says; None when it is gone. One that goes on and on with what nobody
        waits for any more holds up all that share the slot: it is ended."""
        unwanted_s = 0.0
        while unwanted_s < UNWANTED_MAX_S and not _is_ready(worker, LOOK_S):
            unwanted_s = 0.0 if self._is_wanted() else unwanted_s + LOOK_S
        if unwanted_s >= UNWANTED_MAX_S:
            _end_process(_peer_of(worker))
        return _received(worker, None)

    def _is_wanted(self) -> bool:
        return all(task.wanted() for task in self._tasks)

    def hang_up(self) -> Future[list[list[bytes]]] | None:
        """Lets the job end and gives it, if there is one, without waiting for it. What was under
        way has no answer. Idempotent."""
        self._drop()
        self._listening.close()
        return self._job

    def _renew(self) -> None:
        """Another job, once the last one has ended: a slot has one worker."""
        self._drop()
        if self._job is not None:
            wait([self._job])
        with _as_failed():
            while self._calls(0):
                self._listening.accept()[0].close()  # of the last job
            task = Task(self._slot, self._listening.getsockname())
        self._is_untried = True
        self._job = self._submit(_Attending(self.function), [[task]])

    def _called(self) -> socket.socket | None:
        """The worker that calls; None when its job has ended."""
        with _as_failed():
            while True:
                if self._calls(POLL_S):
                    worker = self._listening.accept()[0]
                    if _is_ours(worker):
                        return worker
                    worker.close()
                elif self._job is None or self._job.done():
                    return None

    def _calls(self, within_s: float) -> bool:
        return _has_come(self._listening, within_s)

    def _raise_if(self, lost: int) -> None:
        """What the job failed of, if the requests are to blame, or its task never called. Of a job
        that was there before, earlier requests may be to blame."""
        error = None if self._job is None else self._job.exception()
        if error is not None and (self._is_untried or lost >= ATTEMPTS):
            raise error
        if lost > 2 * ATTEMPTS:
            raise SparkFailedError("a worker hangs up on whatever it is asked")

    def _send(self, worker: socket.socket) -> bool:
        self._is_sent = _sent(worker, self._frame)
        self._is_untried = self._is_untried and not self._is_sent
        return self._is_sent

    def _drop(self) -> None:
        worker, self._worker = self._worker, None
        self._is_sent = False
        if worker is not None:
            worker.close()


def _hang_up(lines: Sequence[Line]) -> None:
    """Their jobs end. They are waited for together: of a function that does not return, one may be
    in each slot."""
    jobs = [line.hang_up() for line in lines]
    wait([job for job in jobs if job is not None], HANG_UP_S)


@contextmanager
def _as_failed() -> Iterator[None]:
    """Whoever closes all lines, since Spark is gone, closes what others listen to."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise SparkFailedError(f"this Spark is gone: {error}") from error


@dataclass(frozen=True, slots=True)
class _Attending:
    """What the task of a job does: it attends to the address that it is given."""

    function: Served

    def __call__(self, addresses: Iterable[bytes]) -> Iterator[bytes]:
        for address in addresses:
            _attend(address, self.function)
            yield b""


def _attend(address: bytes, function: Served) -> None:
    """Serves what comes over the line, until it is quiet or hung up."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.connect(address)
        if not _is_ours(line):
            raise PermissionError("somebody else listens where the driver was")
        for _ in range(MAX_FRAMES):
            frame = _received(line, LINGER_S)
            if frame is None:
                return
            requests = from_msgpack(frame, list[bytes])
            answering = function(requests)
            if not _sent(line, msgspec.msgpack.encode([next(answering) for _ in requests])):
                return
            for _ in answering:
                pass  # what is done behind the last answer holds nobody up


def _is_ours(line: socket.socket) -> bool:
    """The other side runs as the same user: names of sockets are there for everybody."""
    return _credentials(line)[1] == os.getuid()


def _peer_of(line: socket.socket) -> int:
    """The process on the other side."""
    return _credentials(line)[0]


def _credentials(line: socket.socket) -> tuple[int, int, int]:
    told = line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    process, user, group = _PEER.unpack(told)
    return process, user, group


def _end_process(process: int) -> None:
    """Ends a worker; what it held is built again elsewhere. Not this process, nor a group."""
    if process > 1 and process != os.getpid():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _is_ready(line: socket.socket, within_s: float) -> bool:
    """Whether something has come within so long, or the other side is gone."""
    try:
        return _has_come(line, within_s)
    except ValueError:
        return True  # it was hung up meanwhile


def _has_come(line: socket.socket, within_s: float) -> bool:
    """Whether something has come within so long. ValueError: it is closed. Not with `select`, which
    takes no descriptor above 1,023: a processor with a thousand apps has more."""
    asking = select.poll()
    asking.register(line, select.POLLIN)
    return bool(asking.poll(within_s * 1000))


def _sent(line: socket.socket, frame: bytes) -> bool:
    """False when the other side is gone."""
    length = _LENGTH.pack(len(frame))
    try:
        if len(length) + len(frame) <= _WHOLE_BYTES:
            line.sendall(length + frame)
        else:
            line.sendall(length)
            line.sendall(frame)
    except OSError:
        return False
    return True


def _received(line: socket.socket, limit_s: float | None) -> bytearray | None:
    """A frame; None when the other side is gone, or says nothing for so long. Nothing comes behind
    a frame before it is answered."""
    if line.gettimeout() != limit_s:
        line.settimeout(limit_s)
    try:
        come = line.recv(_WHOLE_BYTES)
        while come and len(come) < _LENGTH.size:
            more = line.recv(_WHOLE_BYTES)
            come = come + more if more else b""
        return _all_of(line, come) if come else None
    except OSError:
        return None


def _all_of(line: socket.socket, come: bytes) -> bytearray | None:
    """The frame that begins with what has come."""
    frame = bytearray(*_LENGTH.unpack_from(come))
    view = memoryview(frame)
    begun = len(come) - _LENGTH.size
    view[:begun] = come[_LENGTH.size :]
    view = view[begun:]
    while view.nbytes:
        read = line.recv_into(view)
        if not read:
            return None
        view = view[read:]
    return frame
