"""One trial on a suite of processes in a folder of its own."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lockstep.cli.client import Client
from lockstep.cli.processes import PLAN, ProcessSuite, running_processes
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import LockstepError
from lockstep.frame import World, open_world

Trial = Callable[[ProcessSuite, World], Awaitable[bool]]


async def replicas_of(client: Client, app: str) -> list[dict[str, Any]]:
    """As the coordinator tells now; none while it cannot: it may be losing its lease, or taking it,
    on a machine that is busy."""
    url = f"{client.addresses.coordinator}/v1/apps/{app}/status"
    try:
        found: list[dict[str, Any]] = (await client.request("GET", url))["replicas"]
    except LockstepError as error:
        if not error.retryable:
            raise
        return []
    return found


async def tried(
    name: str,
    trial: Trial,
    *,
    executor: str,
    keep_logs: bool,
    plan: Sequence[tuple[str, str]] = PLAN,
    later: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
) -> int:
    """The exit code: 0 when the trial says that it went well. The logs stay when it did not.

    `later`: processors that the trial starts.
    """
    directory = Path(tempfile.mkdtemp(prefix=f"lockstep-{name}-"))
    settings = {"LOCKSTEP_PROCESSOR__EXECUTOR": executor, **(overrides or {})}
    ok = False
    try:
        async with running_processes(
            directory, plan=plan, later=later, overrides=settings
        ) as suite:
            world = await open_world(suite.settings, SystemClock(), SystemRandomness())
            try:
                ok = await trial(suite, world)
            finally:
                await world.close()
        return 0 if ok else 1
    finally:
        if ok and not keep_logs:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"{name}: logs in {directory}")
