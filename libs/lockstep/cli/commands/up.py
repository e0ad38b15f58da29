"""up, down: the suite in the background, one process per service."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import typer

from lockstep.cli.addresses import ADDRESSES_FILE, find_addresses
from lockstep.cli.commands.options import Connection
from lockstep.cli.output import Exit, console, fail, reported
from lockstep.cli.processes import READY_TIMEOUT_MS, STOP_TIMEOUT_MS, running_processes
from lockstep.clock import SystemClock

PID_FILE = "supervisor.pid"
POLL_MS = 100
PORTS = {"receiver": 8280, "presenter": 8270, "coordinator": 8290}


def up(context: typer.Context) -> None:
    """Start the suite in the background: one process per service, two processors."""
    connection: Connection = context.obj
    directory = connection.directory
    if _pid(directory) is not None:
        fail(f"a suite is running in {directory}", Exit.USAGE, hint="`lockstep down` stops it")
    directory.mkdir(parents=True, exist_ok=True)
    (directory / ADDRESSES_FILE).unlink(missing_ok=True)
    log = directory / "supervisor.log"
    with log.open("ab") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "lockstep.cli.commands.up", str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    (directory / PID_FILE).write_text(f"{child.pid}\n")
    _wait_for_addresses(directory, child, log)
    with reported():
        addresses = find_addresses(directory)
    console.print(f"receiver     {addresses.receiver}")
    console.print(f"presenter    {addresses.presenter}")
    console.print(f"coordinator  {addresses.coordinator}")
    console.print(f"logs         {directory / 'logs'}")


def down(context: typer.Context) -> None:
    """Stop what `lockstep up` started; its data stays."""
    connection: Connection = context.obj
    directory = connection.directory
    pid = _pid(directory)
    if pid is None:
        console.print(f"no suite is running in {directory}")
        return
    os.kill(pid, signal.SIGTERM)
    clock = SystemClock()
    give_up_ms = clock.monotonic_ms() + 2 * STOP_TIMEOUT_MS
    while _pid(directory) is not None:
        if clock.monotonic_ms() > give_up_ms:
            fail(f"process {pid} does not end", Exit.INTERNAL, hint=f"see {directory / 'logs'}")
        asyncio.run(clock.sleep_ms(POLL_MS))
    (directory / ADDRESSES_FILE).unlink(missing_ok=True)
    console.print("stopped")


def _wait_for_addresses(directory: Path, child: subprocess.Popen[bytes], log: Path) -> None:
    clock = SystemClock()
    give_up_ms = clock.monotonic_ms() + 2 * READY_TIMEOUT_MS
    while not (directory / ADDRESSES_FILE).exists():
        if child.poll() is not None or clock.monotonic_ms() > give_up_ms:
            (directory / PID_FILE).unlink(missing_ok=True)
            fail("the suite did not come up", Exit.UNAVAILABLE, hint=f"see {log}")
        asyncio.run(clock.sleep_ms(POLL_MS))


def _pid(directory: Path) -> int | None:
    """The running supervisor's process id; forgets one that has ended."""
    path = directory / PID_FILE
    if not path.exists():
        return None
    pid = int(path.read_text())
    try:
        os.kill(pid, 0)
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except (ProcessLookupError, FileNotFoundError):
        command = b""
    if b"lockstep.cli.commands.up" in command:
        return pid
    path.unlink(missing_ok=True)
    return None


async def _supervise(directory: Path) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with running_processes(directory, ports=PORTS):
        await stop.wait()


if __name__ == "__main__":
    asyncio.run(_supervise(Path(sys.argv[1])))
