"""run: the whole suite in one process, for a laptop or a small machine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from lockstep.cli.client import Client
from lockstep.cli.commands.app_text import read_app
from lockstep.cli.commands.options import Connection
from lockstep.cli.output import Exit, console, fail, reported
from lockstep.cli.processes import (
    CONSOLE_PORT,
    ServiceProcess,
    asking_session,
    check_port,
    has_console,
    scheme_of,
    where_they_are,
)
from lockstep.cli.stopping import until_signalled
from lockstep.cli.suite import Suite, running_suite
from lockstep.clock import Clock, SystemClock
from lockstep.embedded import THIS_MACHINE, free_port
from lockstep.events import LockstepError
from lockstep.events.packages import to_install
from lockstep.frame import tail_of
from lockstep.settings import load_settings
from lockstep.telemetry import LogTail, configure_logging, get_logger

DEFAULT_PORT = 8280
NOT_ACCEPTED: Final = "socket.accept() out of system resource"
"""asyncio says so a hundred times a second, each time with a traceback."""
NOT_ACCEPTED_EVERY_MS: Final = 60_000


def run(
    context: typer.Context,
    apps: Annotated[
        list[Path] | None,
        typer.Argument(exists=True, dir_okay=False, help=".siddhi files to deploy at once."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any free port.")] = DEFAULT_PORT,
    executor: Annotated[str | None, typer.Option(help="spark or reference")] = None,
    console_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            help=f"Of the console; {CONSOLE_PORT} unless given; 0: any free port.",
        ),
    ] = None,
) -> None:
    """Run the suite in one process, with servers of its own, and the console, until Ctrl-C."""
    if console_port is not None and not has_console():
        hint = f"leave it out, or {to_install('console')}"
        fail("--console-port: the packages of the console are not installed", Exit.USAGE, hint=hint)
    connection: Connection = context.obj
    texts = [read_app(file) for file in apps or ()]
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
        pages_port = CONSOLE_PORT if console_port is None else console_port
        work = _run(connection.directory, texts, overrides, pages_port, tail)
        asyncio.run(until_signalled(work, lambda: console.print("stopping")))


async def _run(
    directory: Path, texts: list[str], overrides: dict[str, str], console_port: int, tail: LogTail
) -> None:
    """Until cancelled, or until the services end by themselves."""
    asyncio.get_running_loop().set_exception_handler(seldom_not_accepted(SystemClock()))
    if has_console() and console_port:
        # Before anything runs. The console's own start looks again: by then it may be taken.
        check_port("console", THIS_MACHINE.host, console_port)
    async with running_suite(directory, overrides=overrides, tail=tail) as suite:
        async with Client(suite.addresses) as client:
            for text in texts:
                answer = await client.deploy(text)
                console.print(f"deployed {answer['app']}")
        pages = _console(directory, suite, console_port)
        try:
            if pages is not None:
                pages.start()
                async with asking_session(suite.addresses.tls) as session:
                    await pages.ready(session)
            shown = suite.addresses.presenter if pages is None else pages.url
            console.print(f"Lockstep is up: {shown}  (Ctrl-C stops it)")
            if pages is None:
                without = f"no console: its packages are not installed: {to_install('console')}"
                console.print(without, markup=False, soft_wrap=True)
            await suite.ended.wait()
        finally:
            if pages is not None:
                await pages.stop()
    raise LockstepError("the services have ended")


def seldom_not_accepted(
    clock: Clock,
) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]:
    """A loop's handler of errors: that no connection can be accepted, it tells once in a while. All
    else it tells as ever."""
    tell_at_ms = clock.monotonic_ms()

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal tell_at_ms
        if context.get("message") != NOT_ACCEPTED:
            loop.default_exception_handler(context)
        elif clock.monotonic_ms() >= tell_at_ms:
            tell_at_ms = clock.monotonic_ms() + NOT_ACCEPTED_EVERY_MS
            get_logger().error(
                "no connection can be accepted", error=str(context.get("exception")),
                hint="allow this process more open files: ulimit -n",
            )  # fmt: skip

    return handle


def _console(directory: Path, suite: Suite, port: int) -> ServiceProcess | None:
    """The console, to be a process of its own; None where it is not installed."""
    if not has_console():
        return None
    return ServiceProcess(
        "console", "console", where_they_are(suite.addresses), directory / "console.log",
        port or free_port(), scheme=scheme_of(suite.settings),
    )  # fmt: skip
