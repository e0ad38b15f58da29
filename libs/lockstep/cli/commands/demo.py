"""demo: the whole suite on real input, with every answer worked out a second time."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.commands.asking import addresses_of
from lockstep.cli.demo.runner import Verdict, apps_on, run_demo
from lockstep.cli.output import Exit, console, reported
from lockstep.cli.suite import Suite, running_suite
from lockstep.clock import SystemClock
from lockstep.settings import load_settings
from lockstep.telemetry import configure_logging


def demo(
    context: typer.Context,
    keep: Annotated[bool, typer.Option(help="Stay up afterwards and print the page.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first departures; all without it.")
    ] = None,
    executor: Annotated[str, typer.Option(help="spark or reference")] = "spark",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any free port.")] = 0,
    running: Annotated[
        bool,
        typer.Option(
            "--running",
            help="On the suite of --url. Its servers are read, too: LOCKSTEP_BUS__URL and "
            "LOCKSTEP_STORE__POSTGRES_DSN say where they are.",
        ),
    ] = False,
    rate: Annotated[
        int | None, typer.Option(min=1, help="Flights' events per second; all at once without it.")
    ] = None,
) -> None:
    """Fly the departures of 2013 and run the pizza shop through the suite, and check every
    answer."""
    clock = SystemClock()
    started_ms = clock.monotonic_ms()

    def tell(verdict: Verdict) -> None:
        console.print(verdict.line((clock.monotonic_ms() - started_ms) / 1000), soft_wrap=True)

    with reported():
        if running:
            suite = Suite(addresses_of(context), load_settings())
            verdict = asyncio.run(_on_running(suite, limit, rate, keep=keep))
            tell(verdict)
        else:
            configure_logging(service="lockstep", level="error", log_format="console", clock=clock)
            verdict = asyncio.run(_on_its_own(executor, port, limit, rate, tell, keep=keep))
    if not verdict.ok:
        raise typer.Exit(int(Exit.FAILED))


async def _on_running(suite: Suite, limit: int | None, rate: int | None, *, keep: bool) -> Verdict:
    async with apps_on(suite, keep=keep):
        return await run_demo(suite, limit=limit, rate=rate)


async def _on_its_own(
    executor: str,
    port: int,
    limit: int | None,
    rate: int | None,
    tell: Callable[[Verdict], None],
    *,
    keep: bool,
) -> Verdict:
    folder = Path(tempfile.mkdtemp(prefix="lockstep-demo-"))
    overrides = {
        "LOCKSTEP_PROCESSOR__EXECUTOR": executor,
        "LOCKSTEP_SERVER__PORT": str(port),
        "LOCKSTEP_COORDINATOR__REPLICAS": "1",
        "LOCKSTEP_SPARK__STATE_DIRECTORY": str(folder / "spark"),
    }
    console.print("starting NATS, Redis, PostgreSQL and the five services")
    try:
        async with running_suite(folder, overrides=overrides) as suite:
            verdict = await run_demo(suite, limit=limit, rate=rate)
            if keep:
                tell(verdict)
                await _stay(suite.addresses.presenter)
        tell(verdict)
        return verdict
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _stay(page: str) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    console.print(f"the page: {page}/  (Ctrl-C stops everything)")
    await stop.wait()
