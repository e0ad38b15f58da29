"""A run's process from outside: started, watched, ended; its rows and its last lines taken."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from lockstep.batch.model import Run, Version
from lockstep.batch.processes import end_session, resident_bytes, surroundings
from lockstep.batch.task import Task
from lockstep.clock import Clock
from lockstep.embedded import tied_to_parent
from lockstep.settings import Settings, environment_name

WATCH_MS: Final = 500
TAIL_BYTES: Final = 65_536
READ_BYTES: Final = 16_384
READ_ROWS: Final = 16_384
LAST_WORDS_MS: Final = 1_000
"""So long what a process printed is waited for behind its end."""
_OF_ARCHIVE: Final = ("folder", "s3_endpoint", "s3_region", "s3_access_key", "s3_secret_key")
_OF_SPARK: Final = ("master", "executor_memory", "executor_cores", "cluster_max_cores")


@dataclass(frozen=True)
class Outcome:
    """`rows` None: it failed, because of `error`. `log`: its last lines."""

    rows: pa.Table | None
    error: str
    log: tuple[str, ...]


class Tail:
    """The end of what a process writes, however much that is."""

    def __init__(self) -> None:
        self._kept = b""

    async def follow(self, pipe: IO[bytes]) -> None:
        """Until all who could write have ended."""
        stream = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), pipe
        )
        try:
            while part := await stream.read(READ_BYTES):
                self._kept = (self._kept + part)[-TAIL_BYTES:]
        finally:
            transport.close()

    def lines(self, most: int) -> tuple[str, ...]:
        """The last ones."""
        text = self._kept.decode("utf-8", "replace").replace("\0", "")
        return tuple(line.rstrip() for line in text.splitlines() if line.strip())[-most:]


class Workplace:
    """Where runs happen."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    async def outcome(self, run: Run, version: Version, time_limit_ms: int) -> Outcome:
        """Of a run that has begun. When it is cancelled the process is ended."""
        folder = Path(tempfile.mkdtemp(prefix="lockstep-batch-"))
        task = Task(
            version.script, version.language, version.text, run.due_ms, run.since_ms,
            dict(run.after or {}), dict(run.up_to or {}), str(folder / "rows.parquet"),
            self._settings.batch.max_rows, self._settings.batch.max_bytes,
        )  # fmt: skip
        try:
            return await self._watched(task, folder, time_limit_ms)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _watched(self, task: Task, folder: Path, time_limit_ms: int) -> Outcome:
        command = tied_to_parent([sys.executable, "-m", "lockstep.batch.child"], signal.SIGKILL)
        tail = Tail()
        # A pipe of our own: a process whose pipes are the library's has not ended for it while
        # somebody holds their other ends.
        printed, printing = os.pipe()
        with os.fdopen(printed, "rb", buffering=0) as pipe:
            try:
                process = await asyncio.create_subprocess_exec(
                    *command, stdin=PIPE, stdout=printing, stderr=STDOUT, env=self._environment(),
                    cwd=folder, start_new_session=True,
                )  # fmt: skip
            finally:
                os.close(printing)
            ended = await self._through(process, task, tail.follow(pipe), time_limit_ms)
        log = tail.lines(self._settings.batch.log_lines)
        if ended or process.returncode:
            return Outcome(None, ended or _last_words(process.returncode, log), log)
        rows = await asyncio.to_thread(_rows_in, task)
        return Outcome(None, rows, log) if isinstance(rows, str) else Outcome(rows, "", log)

    async def _through(
        self, process: Process, task: Task, printing: Coroutine[Any, Any, None], time_limit_ms: int
    ) -> str:
        """Why it had to be ended; empty when it ended by itself."""
        assert process.stdin is not None
        following = asyncio.create_task(printing)
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(msgspec.json.encode(task))
                await process.stdin.drain()
                process.stdin.close()
            return await self._until_it_ends(process, time_limit_ms)
        finally:
            end_session(process.pid)
            await process.wait()
            # Whoever has left the session may hold the other end for ever.
            await asyncio.wait([following], timeout=LAST_WORDS_MS / 1000)
            following.cancel()
            await asyncio.wait([following])

    async def _until_it_ends(self, process: Process, time_limit_ms: int) -> str:
        """Why it had to be ended; empty when it ended by itself."""
        limit_bytes = self._settings.batch.memory_bytes
        deadline_ms = self._clock.monotonic_ms() + time_limit_ms
        waiting = asyncio.create_task(process.wait())
        try:
            while not waiting.done():
                if self._clock.monotonic_ms() >= deadline_ms:
                    return f"it took more than {time_limit_ms / 1000:g} s"
                if await asyncio.to_thread(resident_bytes, process.pid) > limit_bytes:
                    return f"it took more than {limit_bytes} bytes of memory (batch.memory_bytes)"
                await asyncio.wait([waiting], timeout=WATCH_MS / 1000)
            return ""
        finally:
            waiting.cancel()

    def _environment(self) -> Mapping[str, str]:
        """What the process has to know of the settings, and no secret but the archive's store's."""
        settings = self._settings
        # What is printed and what goes wrong shall come in the order in which it did.
        given: dict[str, str] = {**surroundings(), "PYTHONUNBUFFERED": "1"}
        for key in _OF_ARCHIVE:
            value = getattr(settings.archive, key)
            plain = value.get_secret_value() if hasattr(value, "get_secret_value") else value
            given[environment_name("archive", key)] = str(plain)
        for key in _OF_SPARK:
            given[environment_name("spark", key)] = str(getattr(settings.spark, key))
        given[environment_name("spark", "driver_memory")] = settings.batch.driver_memory
        return given


def _rows_in(task: Task) -> pa.Table | str:
    """What a process left, or what is wrong with it. The file may be much smaller."""
    if not Path(task.result).exists():
        return "its process left no rows"
    found: list[pa.RecordBatch] = []
    room = task.max_bytes
    with pq.ParquetFile(task.result) as file:
        for batch in file.iter_batches(READ_ROWS):
            room -= batch.nbytes
            if room < 0:
                return f"its rows are more than {task.max_bytes} bytes (batch.max_bytes)"
            found.append(batch)
        return pa.Table.from_batches(found, file.schema_arrow)


def _last_words(code: int | None, log: tuple[str, ...]) -> str:
    told = log[-1] if log else ""
    return told or f"its process ended with {code}"
