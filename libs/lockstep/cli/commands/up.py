"""up, down: the suite in the background, one process per service."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from lockstep.cli.addresses import ADDRESSES_FILE, suite_process
from lockstep.cli.commands.options import Connection
from lockstep.cli.output import Exit, console, errors, fail
from lockstep.cli.processes import (
    CONSOLE_PORT,
    PROCESSES_FILE,
    READY_TIMEOUT_MS,
    STOP_TIMEOUT_MS,
    PortTakenError,
    has_console,
    running_processes,
)
from lockstep.cli.stopping import until_signalled
from lockstep.cli.watching import keep_running
from lockstep.clock import SystemClock
from lockstep.events import LockstepError
from lockstep.telemetry import get_logger

PID_FILE: Final = "supervisor.pid"
MODULE: Final = b"lockstep.cli.commands.up"
"""What a supervisor is started by; its folder stands behind it."""
POLL_MS: Final = 100
MAX_COPIES: Final = 16
PORTS: Final = {"receiver": 8280, "presenter": 8270, "coordinator": 8290, "console": CONSOLE_PORT}
"""Of the first of each kind; any free port for the others."""


Copies = Annotated[int, typer.Option(min=1, max=MAX_COPIES, help="Processes of this service.")]


def up(
    context: typer.Context,
    processors: Copies = 2,
    receivers: Copies = 1,
    publishers: Copies = 1,
    presenters: Copies = 1,
    coordinators: Copies = 1,
) -> None:
    """Start the suite in the background: one process per service, two processors. Whatever dies
    is started again until `lockstep down`.
    """
    connection: Connection = context.obj
    directory = connection.directory
    if _pid(directory) is not None:
        fail(f"a suite is running in {directory}", Exit.USAGE, hint="`lockstep down` stops it")
    directory.mkdir(parents=True, exist_ok=True)
    copies = {
        "coordinator": coordinators,
        "processor": processors,
        "publisher": publishers,
        "presenter": presenters,
        "receiver": receivers,
    }
    if has_console():
        copies["console"] = 1
    log = directory / "supervisor.log"
    with log.open("ab") as output:
        child = subprocess.Popen(
            [sys.executable, "-m", __name__, str(directory), json.dumps(copies)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    (directory / PID_FILE).write_text(f"{child.pid}\n")
    _wait_for_addresses(directory, child, log)
    urls: dict[str, str] = json.loads((directory / PROCESSES_FILE).read_text())
    width = max(map(len, urls))
    for node, url in urls.items():
        console.print(f"{node:{width}}  {url}", soft_wrap=True)
    logs = directory / "logs"
    console.print(f"logs, and process ids in .pid files, are in {logs}", soft_wrap=True)


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
    """Those of this child: a suite that runs in the folder has left some, too."""
    clock = SystemClock()
    give_up_ms = clock.monotonic_ms() + 2 * READY_TIMEOUT_MS
    while suite_process(directory) != child.pid:
        if child.poll() is not None or clock.monotonic_ms() > give_up_ms:
            if child.poll() is None:
                child.terminate()  # `lockstep down` waits for its end
            else:
                (directory / PID_FILE).unlink(missing_ok=True)
            why = log.read_text(errors="replace").strip().rpartition("\n")[2]
            code = Exit.USAGE if child.returncode == Exit.USAGE else Exit.UNAVAILABLE
            fail(f"the suite did not come up: {why}", code, hint=f"see {log}")
        asyncio.run(clock.sleep_ms(POLL_MS))


def _pid(directory: Path) -> int | None:
    """The running supervisor's process id; forgets one that has ended."""
    path = directory / PID_FILE
    if not path.exists():
        return None
    try:
        pid = int(path.read_text())
        if _folder_of(pid) == directory.resolve():
            return pid
    except ValueError:
        errors.print(f"{path} holds no process id: it is removed", markup=False, soft_wrap=True)
    except (ProcessLookupError, FileNotFoundError):
        pass
    path.unlink(missing_ok=True)
    return None


def _folder_of(pid: int) -> Path | None:
    """The folder that a supervisor runs for; None when that process is none. A copied folder names
    the supervisor of the original, and after a restart the number may be another one's."""
    process = Path(f"/proc/{pid}")
    arguments = (process / "cmdline").read_bytes().split(b"\0")
    if MODULE not in arguments:
        return None
    folder = os.fsdecode(arguments[arguments.index(MODULE) + 1])
    return ((process / "cwd").readlink() / folder).resolve()


def plan_of(copies: Mapping[str, int]) -> list[tuple[str, str]]:
    """(node, service), numbered where there are several; processors always."""
    return [
        (f"{service}-{number}" if count > 1 or service == "processor" else service, service)
        for service, count in copies.items()
        for number in range(1, count + 1)
    ]


def ports_of(plan: Sequence[tuple[str, str]]) -> dict[str, int]:
    """The doors that people know, each at the first of its kind."""
    first = {service: node for node, service in reversed(plan)}
    return {first[service]: port for service, port in PORTS.items() if service in first}


async def _supervise(directory: Path, copies: Mapping[str, int]) -> None:
    plan = plan_of(copies)
    async with running_processes(directory, plan=plan, ports=ports_of(plan)) as suite:
        await keep_running(suite.processes.values(), SystemClock(), get_logger())


def _main(directory: Path, copies: Mapping[str, int]) -> int:
    """What went wrong becomes the log's last line, for `up` to tell."""
    try:
        work = _supervise(directory, copies)
        asyncio.run(until_signalled(work, lambda: get_logger().info("stopping")))
    except LockstepError as error:
        sys.stderr.write(f"{error}\n")
        taken = isinstance(error, PortTakenError)
        return int(Exit.USAGE if taken else Exit.UNAVAILABLE)
    return int(Exit.OK)


if __name__ == "__main__":
    sys.exit(_main(Path(sys.argv[1]), json.loads(sys.argv[2])))
