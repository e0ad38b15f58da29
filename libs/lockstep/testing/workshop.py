"""An app on a virtual clock in a process of its own, with limits of memory and time: for texts of
people whose code may do anything. Pages use it; tests use `VirtualApp`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lockstep.events import Fault, LockstepError

MAX_ANSWER_BYTES: Final = 16_777_216
START_S: Final = 60.0
PASSED_ON: Final = ("PATH", "LANG", "LC_ALL", "HOME", "PYTHONPATH", "VIRTUAL_ENV", "TZ")


class WorkshopError(LockstepError):
    """The app was ended: it took more time or memory than it may."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one process; `answer_s` is the wall time that a command may take."""

    memory_bytes: int
    cpu_s: int
    answer_s: float


class Workshop:
    """One child process. Commands are done one after the other; see `isolated.Workbench`."""

    def __init__(self, process: Process, limits: Limits) -> None:
        self._process = process
        self._limits = limits
        self._turn = asyncio.Lock()

    @classmethod
    async def open(cls, limits: Limits) -> Workshop:
        """A process that is ready for commands; nothing secret is in its environment."""
        passed = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "lockstep.testing.isolated",
            str(limits.memory_bytes), str(limits.cpu_s),
            stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=passed, limit=MAX_ANSWER_BYTES,
            start_new_session=True,
        )  # fmt: skip
        made = cls(process, limits)
        try:
            await made._answer(START_S)
        except BaseException:
            await made.close()
            raise
        return made

    @property
    def is_open(self) -> bool:
        """Whether its process lives."""
        return self._process.returncode is None

    async def ask(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a command. WorkshopError when the process had to be ended, or ended."""
        async with self._turn:
            if self._process.stdin is None or not self.is_open:
                raise WorkshopError("the app has ended", hint="begin anew")
            try:
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
                await self._process.stdin.drain()
                return await self._answer(self._limits.answer_s)
            except BaseException:
                await self.close()
                raise

    async def _answer(self, within_s: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(within_s):
                line = await self._process.stdout.readline()
        except TimeoutError as error:
            raise WorkshopError(
                f"the app took more than {within_s:g} s", hint="begin anew, with less at once"
            ) from error
        except (ValueError, ConnectionError) as error:
            raise WorkshopError("the app answered more than fits", hint="send it less") from error
        if not line:
            raise WorkshopError(
                "the app ended: it took more memory or processor time than it may here",
                hint="send it less at once, or make its windows smaller",
            )
        found: dict[str, Any] = json.loads(line)
        return found

    async def close(self) -> None:
        """Ends the process and all it started; idempotent."""
        if self.is_open:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)
        await self._process.wait()
