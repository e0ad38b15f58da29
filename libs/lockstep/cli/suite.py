"""The whole suite in this process: real servers as child processes, five services behind one
door."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from lockstep.cli.addresses import Addresses
from lockstep.embedded import ALL_SERVERS, EmbeddedServers, ServerName, prepare_spark_environment
from lockstep.events import LockstepError
from lockstep.frame import Running, Wire, run_together
from lockstep.settings import Settings, load_settings
from lockstep.telemetry import LogTail

SERVICE_ORDER = ("coordinator", "processor", "publisher", "presenter", "receiver")
ENTRY_POINT_GROUP = "lockstep.services"
ARCHIVE_VARIABLE = "LOCKSTEP_ARCHIVE__FOLDER"
GIVEN_BY: Mapping[ServerName, str] = {
    "nats": "LOCKSTEP_BUS__URL",
    "redis": "LOCKSTEP_LEADER__URL",
    "postgres": "LOCKSTEP_STORE__POSTGRES_DSN",
}


@dataclass(frozen=True, slots=True)
class Suite:
    """A running suite: where to talk to it and the settings in force. `ended` is set when its
    services have ended without having been asked to; why comes out of the block."""

    addresses: Addresses
    settings: Settings
    ended: asyncio.Event = field(default_factory=asyncio.Event)


@contextlib.asynccontextmanager
async def running_suite(
    directory: Path,
    *,
    overrides: Mapping[str, str] | None = None,
    sync_interval: str = "always",
    tail: LogTail | None = None,
) -> AsyncIterator[Suite]:
    """The suite, up and ready within the block; drained and stopped after it.

    Servers whose URL the environment gives are used, the others are started in `directory`.
    `overrides` are LOCKSTEP_* variables that win over the environment. `tail`: of the caller's
    logging. Raises LockstepError.
    """
    environment = {**archived_in(directory), **os.environ, **(overrides or {})}
    given = {
        name for name, key in GIVEN_BY.items() if key in environment or f"{key}_FILE" in environment
    }
    want = [name for name in ALL_SERVERS if name not in given]
    async with EmbeddedServers.start(
        directory / "servers", want=want, sync_interval=sync_interval
    ) as servers:
        settings = load_settings({**environment, **servers.environment()})
        if settings.processor.executor == "spark":
            prepare_spark_environment()
        ended = asyncio.Event()
        async with _services(settings, directory, tail, ended) as running:
            token = settings.server.token.get_secret_value() or None
            url, tls = running.url, settings.client.tls
            addresses = Addresses(url, url, url, token, tls)
            addresses.write(directory)
            yield Suite(addresses, settings, ended)


def archive_folder(directory: Path) -> str:
    """Where a suite of one's own has its archive."""
    return str((directory / "archive").absolute())


def archived_in(directory: Path) -> dict[str, str]:
    """What tells it so."""
    return {ARCHIVE_VARIABLE: archive_folder(directory)}


def service_wires() -> list[tuple[str, Wire]]:
    """The five services in the order of their start, found by entry point."""
    found = {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}
    missing = [name for name in SERVICE_ORDER if name not in found]
    if missing:
        raise LockstepError(
            f"services not installed: {', '.join(missing)}", hint="install the project: make demo"
        )
    return [(name, found[name].load()) for name in SERVICE_ORDER]


@contextlib.contextmanager
def _children_write_to(log: Path) -> Iterator[None]:
    """What children say on their standard error (Spark's JVM, its workers) goes to a file."""
    ours, stream = os.dup(2), sys.stderr
    with log.open("ab") as file, os.fdopen(ours, "w", buffering=1) as kept:
        os.dup2(file.fileno(), 2)
        sys.stderr = kept
        try:
            yield
        finally:
            sys.stderr = stream
            os.dup2(ours, 2)


@contextlib.asynccontextmanager
async def _services(
    settings: Settings, directory: Path, tail: LogTail | None, ended: asyncio.Event
) -> AsyncIterator[Running]:
    stop = asyncio.Event()
    ready: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        run_together(service_wires(), settings, stop=stop, on_ready=ready.set_result, tail=tail)
    )
    task.add_done_callback(lambda _: ended.set())
    quiet = contextlib.ExitStack()
    if settings.processor.executor == "spark":
        quiet.enter_context(_children_write_to(directory / "spark.log"))
    try:
        both: set[asyncio.Future[Any]] = {task, ready}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
            raise LockstepError("the services ended before they were ready")
        yield ready.result()
    finally:
        stop.set()
        try:
            await task
        finally:
            # What waits for a standard error that nobody reads any more is lost.
            with contextlib.suppress(OSError):
                quiet.close()
