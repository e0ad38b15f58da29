"""run: the whole suite in one process, for a laptop or a small machine."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.client import Client
from lockstep.cli.commands.options import Connection
from lockstep.cli.output import console, reported
from lockstep.cli.processes import (
    CONSOLE_PORT,
    ServiceProcess,
    asking_session,
    has_console,
    scheme_of,
    where_they_are,
)
from lockstep.cli.suite import Suite, running_suite
from lockstep.clock import SystemClock
from lockstep.embedded import free_port
from lockstep.frame import tail_of
from lockstep.settings import load_settings
from lockstep.telemetry import LogTail, configure_logging

DEFAULT_PORT = 8280


def run(
    context: typer.Context,
    apps: Annotated[
        list[Path] | None, typer.Argument(exists=True, help=".siddhi files to deploy at once.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any free port.")] = DEFAULT_PORT,
    executor: Annotated[str | None, typer.Option(help="spark or reference")] = None,
    console_port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Of the console; 0: any free port.")
    ] = CONSOLE_PORT,
) -> None:
    """Run the suite in one process, with servers of its own, and the console, until Ctrl-C."""
    connection: Connection = context.obj
    overrides = {"LOCKSTEP_SERVER__PORT": str(port)}
    if executor is not None:
        overrides["LOCKSTEP_PROCESSOR__EXECUTOR"] = executor
    with reported():
        settings = load_settings()
        telemetry, tail = settings.telemetry, tail_of(settings)
        configure_logging(
            service="lockstep",
            level=telemetry.log_level,
            log_format=telemetry.log_format,
            clock=SystemClock(),
            tail=tail,
        )
        asyncio.run(_run(connection.directory, apps or [], overrides, console_port, tail))


async def _run(
    directory: Path, apps: list[Path], overrides: dict[str, str], console_port: int, tail: LogTail
) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with running_suite(directory, overrides=overrides, tail=tail) as suite:
        async with Client(suite.addresses) as client:
            for file in apps:
                answer = await client.deploy(file.read_text())
                console.print(f"deployed {answer['app']}")
        pages = await _console(directory, suite, console_port)
        shown = suite.addresses.presenter if pages is None else pages.url
        console.print(f"Lockstep is up: {shown}  (Ctrl-C stops it)")
        await stop.wait()
        console.print("stopping")
        if pages is not None:
            await pages.stop()


async def _console(directory: Path, suite: Suite, port: int) -> ServiceProcess | None:
    """The console in a process of its own; None where it is not installed."""
    if not has_console():
        return None
    pages = ServiceProcess(
        "console", "console", where_they_are(suite.addresses), directory / "console.log",
        port or free_port(), scheme=scheme_of(suite.settings),
    )  # fmt: skip
    pages.start()
    async with asking_session(suite.addresses.tls) as session:
        await pages.ready(session)
    return pages
