"""demo: the whole suite on real input, with every answer worked out a second time."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from lockstep.cli.demo.runner import Verdict, run_demo
from lockstep.cli.output import Exit, console, reported
from lockstep.cli.suite import running_suite
from lockstep.clock import SystemClock
from lockstep.telemetry import configure_logging


def demo(
    keep: Annotated[bool, typer.Option(help="Stay up afterwards and print the page.")] = False,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Only the first departures; all without it.")
    ] = None,
    executor: Annotated[str, typer.Option(help="spark or reference")] = "spark",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any free port.")] = 0,
) -> None:
    """Fly the departures of 2013 and run the pizza shop through the suite, and check every
    answer."""
    clock = SystemClock()
    started_ms = clock.monotonic_ms()
    folder = Path(tempfile.mkdtemp(prefix="lockstep-demo-"))
    configure_logging(service="lockstep", level="error", log_format="console", clock=clock)
    try:
        with reported():
            verdict = asyncio.run(_demo(folder, clock, started_ms, executor, port, limit, keep))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not verdict.ok:
        raise typer.Exit(int(Exit.FAILED))


async def _demo(
    folder: Path,
    clock: SystemClock,
    started_ms: int,
    executor: str,
    port: int,
    limit: int | None,
    keep: bool,
) -> Verdict:
    overrides = {
        "LOCKSTEP_PROCESSOR__EXECUTOR": executor,
        "LOCKSTEP_SERVER__PORT": str(port),
        "LOCKSTEP_COORDINATOR__REPLICAS": "1",
        "LOCKSTEP_SPARK__STATE_DIRECTORY": str(folder / "spark"),
    }
    console.print("starting NATS, Redis, PostgreSQL and the five services")
    async with running_suite(folder, overrides=overrides) as suite:
        verdict = await run_demo(suite, limit=limit)
        line = verdict.line((clock.monotonic_ms() - started_ms) / 1000)
        if keep:
            console.print(line, soft_wrap=True)
            await _stay(suite.addresses.presenter)
    console.print(line, soft_wrap=True)
    return verdict


async def _stay(page: str) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    console.print(f"the page: {page}/  (Ctrl-C stops everything)")
    await stop.wait()
