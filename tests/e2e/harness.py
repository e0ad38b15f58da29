"""One trial on a suite of processes in a folder of its own, over NATS or Kafka."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockstep.cli.client import Client
from lockstep.cli.processes import PLAN, ProcessSuite, running_processes
from lockstep.clock import SystemClock, SystemRandomness
from lockstep.events import LockstepError
from lockstep.frame import World, open_world
from tests.kafka.suite import BUSES, bus_settings
from tests.tls.certificates import Authority
from tests.tls.servers import secured

Trial = Callable[[ProcessSuite, World], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Way:
    """How a trial runs, whatever it tries."""

    executor: str
    bus: str
    keep_logs: bool
    tls: bool = False
    """Doors and servers speak over TLS alone, and ask for certificates."""

    @staticmethod
    def ask(parser: argparse.ArgumentParser) -> None:
        """The options of every trial."""
        parser.add_argument("--executor", default="spark", choices=("spark", "reference"))
        parser.add_argument("--bus", default="nats", choices=BUSES)
        parser.add_argument("--keep-logs", action="store_true")

    @classmethod
    def of(cls, options: argparse.Namespace) -> Way:
        """As asked for."""
        return cls(options.executor, options.bus, options.keep_logs)


@contextlib.asynccontextmanager
async def _bus_and_certificates(way: Way, directory: Path) -> AsyncIterator[dict[str, str]]:
    """LOCKSTEP_* variables that lead to servers that the suite does not bring itself."""
    if not way.tls:
        async with bus_settings(way.bus, directory) as bus:
            yield bus
        return
    authority = Authority(directory / "certificates")
    async with secured(directory / "servers", authority) as settings:
        yield settings


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
    way: Way,
    *,
    plan: Sequence[tuple[str, str]] = PLAN,
    later: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
) -> int:
    """The exit code: 0 when the trial says that it went well. The logs stay when it did not.

    `later`: processors that the trial starts.
    """
    directory = Path(tempfile.mkdtemp(prefix=f"lockstep-{name}-"))
    ok = False
    try:
        async with _bus_and_certificates(way, directory) as given:
            settings = {"LOCKSTEP_PROCESSOR__EXECUTOR": way.executor, **given, **(overrides or {})}
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
        if ok and not way.keep_logs:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"{name}: logs in {directory}")
