"""A run's process from outside: started, watched, ended; its rows and its last lines taken."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

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

    async def follow(self, stream: asyncio.StreamReader) -> None:
        """Until it ends."""
        while part := await stream.read(READ_BYTES):
            self._kept = (self._kept + part)[-TAIL_BYTES:]

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
            self._settings.batch.max_rows,
        )  # fmt: skip
        try:
            return await self._watched(task, folder, time_limit_ms)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def _watched(self, task: Task, folder: Path, time_limit_ms: int) -> Outcome:
        command = tied_to_parent([sys.executable, "-m", "lockstep.batch.child"], signal.SIGKILL)
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=STDOUT, env=self._environment(),
            cwd=folder, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        tail = Tail()
        following = asyncio.create_task(tail.follow(process.stdout))
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(msgspec.json.encode(task))
                await process.stdin.drain()
                process.stdin.close()
            ended = await self._until_it_ends(process, time_limit_ms)
        finally:
            end_session(process.pid)
            await process.wait()
            await following
        log = tail.lines(self._settings.batch.log_lines)
        if ended or process.returncode:
            return Outcome(None, ended or _last_words(process.returncode, log), log)
        rows = await asyncio.to_thread(_rows_in, task.result)
        return Outcome(rows, "" if rows is not None else "its process left no rows", log)

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


def _rows_in(file: str) -> pa.Table | None:
    return pq.read_table(file) if Path(file).exists() else None


def _last_words(code: int | None, log: tuple[str, ...]) -> str:
    told = log[-1] if log else ""
    return told or f"its process ended with {code}"
