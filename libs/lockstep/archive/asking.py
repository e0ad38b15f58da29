"""SQL over an app's archive in a process of its own, with limits of memory, time and rows: what a
service can do for people it does not know."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from typing import Final

import msgspec

from lockstep.archive.place import Place
from lockstep.archive.questions import Answer, Question
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.events.typed import from_json
from lockstep.settings import ArchiveSettings

PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "TZ")
READ_BYTES: Final = 65_536
AWS: Final = "AWS_"
"""Where no keys are in the settings, the machine's own count."""


class AskedTooMuchError(LockstepError):
    """A query that took more than it may, or is none."""

    fault = Fault.USER


async def ask(place: Place, app: str, sql: str, rows: int, settings: ArchiveSettings) -> Answer:
    """The answer. When the caller is cancelled the process is killed. AskedTooMuchError,
    UnavailableError."""
    question = Question(
        place.folder, dict(place.options), app, sql, rows, settings.query_memory_bytes,
        cpu_s(settings),
    )  # fmt: skip
    out = await in_process("lockstep.archive.answering", msgspec.json.encode(question), settings)
    answer = from_json(out, Answer)
    if answer.error is not None:
        if answer.retryable:
            raise UnavailableError(answer.error)
        raise AskedTooMuchError(answer.error, hint="streams and columns are named as in the app")
    return answer


def cpu_s(settings: ArchiveSettings) -> int:
    """How much a query may take of all cores together."""
    return max(1, round(settings.query_timeout_ms / 1_000)) * (os.cpu_count() or 1)


async def in_process(module: str, question: bytes, settings: ArchiveSettings) -> bytes:
    """What a module answers in a process of its own, which is to limit itself. When the caller is
    cancelled the process is killed. AskedTooMuchError."""
    within_s = settings.query_timeout_ms / 1_000
    passed = {
        name: value for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(AWS)
    }  # fmt: skip
    # Each thread would reserve an arena of its own of the address space that is limited.
    passed["MALLOC_ARENA_MAX"] = "2"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module,
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=passed, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(within_s):
            out = await _told(process, question, settings.query_bytes)
    except TimeoutError as error:
        raise AskedTooMuchError(
            f"the query took more than {within_s:g} s",
            hint="ask for less, or by `lockstep archive query`, which has Spark",
        ) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()  # what is left in the pipe, or it would not be closed
    if process.returncode:
        raise AskedTooMuchError(
            f"the query was ended ({_ended(process.returncode)})",
            hint=f"it may have {settings.query_memory_bytes} bytes of memory here; `lockstep "
            "archive query` has Spark",
        )
    return out


async def _told(process: Process, question: bytes, most_bytes: int) -> bytes:
    """What it answers before it ends. AskedTooMuchError for more than so many bytes."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(ConnectionError):  # ended before it has read all: its code says why
        process.stdin.write(question)
        await process.stdin.drain()
    process.stdin.close()
    out = bytearray()
    while part := await process.stdout.read(READ_BYTES):
        out += part
        if len(out) > most_bytes:
            raise AskedTooMuchError(
                f"the answer has more than {most_bytes} bytes (archive.query_bytes)",
                hint="fewer rows or columns, or `lockstep archive query`",
            )
    await process.wait()
    return bytes(out)


def _ended(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
