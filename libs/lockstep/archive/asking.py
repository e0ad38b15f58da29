"""SQL over an app's archive in a process of its own, with limits of memory, time and rows: what a
service can do for people it does not know."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE
from typing import Final

import msgspec

from lockstep.archive.answering import Answer, Question
from lockstep.archive.place import Place
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.settings import ArchiveSettings

PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "TZ")
AWS: Final = "AWS_"
"""Where no keys are in the settings, the machine's own count."""


class AskedTooMuchError(LockstepError):
    """A query that took more than it may, or is none."""

    fault = Fault.USER


async def ask(place: Place, app: str, sql: str, rows: int, settings: ArchiveSettings) -> Answer:
    """The answer. When the caller is cancelled the process is killed. AskedTooMuchError,
    UnavailableError."""
    within_s = settings.query_timeout_ms / 1_000
    question = Question(
        place.folder, dict(place.options), app, sql, rows, settings.query_memory_bytes,
        max(1, round(within_s)) * (os.cpu_count() or 1),
    )  # fmt: skip
    passed = {
        name: value for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(AWS)
    }  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "lockstep.archive.answering",
        stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=passed, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(within_s):
            out, _ = await process.communicate(msgspec.json.encode(question))
    except TimeoutError as error:
        raise AskedTooMuchError(
            f"the query took more than {within_s:g} s",
            hint="ask for less, or by `lockstep archive query`, which has Spark",
        ) from error
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        raise AskedTooMuchError(
            f"the query was ended ({_ended(process.returncode)})",
            hint=f"it may have {settings.query_memory_bytes} bytes of memory here; `lockstep "
            "archive query` has Spark",
        )
    answer = msgspec.json.decode(out, type=Answer)
    if answer.error is not None:
        if answer.retryable:
            raise UnavailableError(answer.error)
        raise AskedTooMuchError(answer.error, hint="streams and columns are named as in the app")
    return answer


def _ended(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
