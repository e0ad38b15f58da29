"""What `lockstep up` starts, and that it stays up."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import NoReturn, cast

import pytest
import structlog
import typer

from lockstep.cli.addresses import ADDRESSES_FILE, Addresses, find_addresses
from lockstep.cli.commands import up
from lockstep.cli.commands.up import plan_of, ports_of
from lockstep.cli.output import Exit
from lockstep.cli.processes import PLAN, PortTakenError
from lockstep.cli.watching import (
    LONGEST_PAUSE_MS,
    WATCH_EVERY_MS,
    WELL_AFTER_MS,
    keep_running,
    pause_after,
)
from lockstep.clock import VirtualClock
from lockstep.telemetry import Logger, get_logger
from tests.unit.cli.conftest import Lockstep

ONE_OF_EACH = {"coordinator": 1, "processor": 2, "publisher": 1, "presenter": 1, "receiver": 1}


class Process:
    """Ends when told; counts its starts."""

    def __init__(self, *, starts: bool = True) -> None:
        self.node = "processor-1"
        self.has_ended = False
        self.starts: list[int] = []
        self._can_start = starts
        self.clock = VirtualClock()

    def start(self) -> None:
        """Again, unless it cannot."""
        self.starts.append(self.clock.monotonic_ms())
        if not self._can_start:
            raise OSError("no memory")
        self.has_ended = False


@asynccontextmanager
async def _watched(process: Process, log: Logger | None = None) -> AsyncIterator[VirtualClock]:
    watching = asyncio.create_task(keep_running([process], process.clock, log or get_logger()))
    await asyncio.sleep(0)
    try:
        yield process.clock
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def test_the_default_plan() -> None:
    """The same that the end-to-end tests break."""
    assert plan_of(ONE_OF_EACH) == list(PLAN)
    assert ports_of(plan_of(ONE_OF_EACH)) == {
        "receiver": 8280, "presenter": 8270, "coordinator": 8290,
    }  # fmt: skip


def test_several_of_a_kind() -> None:
    """Numbered; the first has the door that people know."""
    plan = plan_of({**ONE_OF_EACH, "receiver": 2})
    assert [node for node, service in plan if service == "receiver"] == ["receiver-1", "receiver-2"]
    assert ports_of(plan)["receiver-1"] == 8280
    assert "receiver-2" not in ports_of(plan)


async def test_a_process_that_dies_is_started_again_at_once() -> None:
    """Once it has run for a while."""
    process = Process()
    async with _watched(process) as clock:
        await clock.advance_ms(WELL_AFTER_MS)
        assert process.starts == []
        process.has_ended = True
        await clock.advance_ms(WATCH_EVERY_MS)
        assert len(process.starts) == 1


@pytest.mark.parametrize("starts", [True, False])
async def test_one_that_keeps_dying_is_started_ever_more_slowly(*, starts: bool) -> None:
    """But for ever: what it waits for may come back. One that cannot even be started likewise."""
    process = Process(starts=starts)
    async with _watched(process) as clock:
        for _ in range(600_000 // WATCH_EVERY_MS):
            process.has_ended = True
            await clock.advance_ms(WATCH_EVERY_MS)
    gaps = [later - earlier for earlier, later in pairwise(process.starts)]
    assert gaps == sorted(gaps)
    assert 15 < len(process.starts) < 30
    assert gaps[-1] <= LONGEST_PAUSE_MS + 2 * WATCH_EVERY_MS


@pytest.mark.parametrize("starts", [True, False])
async def test_processes_are_minded_where_log_lines_cannot_be_written(*, starts: bool) -> None:
    """As on a full disk."""

    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    process = Process(starts=starts)
    log = structlog.wrap_logger(None, processors=[full], wrapper_class=structlog.BoundLogger)
    async with _watched(process, cast(Logger, log)) as clock:
        for times in (1, 2):
            process.has_ended = True
            await clock.advance_ms(pause_after(times) + 2 * WATCH_EVERY_MS)
            assert len(process.starts) == times


def test_pauses_grow_up_to_a_limit() -> None:
    """And do not overflow."""
    assert [pause_after(n) for n in (0, 1, 2, 3)] == [0, 500, 1_000, 2_000]
    assert pause_after(10_000) == LONGEST_PAUSE_MS


@pytest.mark.processes
def test_why_it_did_not_come_up_is_told(lockstep: Lockstep, tmp_path: Path) -> None:
    """By the command that was typed, not only in a log: here the folder is in use."""
    (tmp_path / "servers").mkdir()
    Addresses("http://a", "http://b", "http://c").write(tmp_path)
    with (tmp_path / "servers" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        told = lockstep("--directory", tmp_path, "up")
    assert told.exit_code == Exit.UNAVAILABLE
    assert "the suite did not come up" in told.stderr
    assert "another process runs servers in this folder" in told.stderr
    assert "Traceback" not in (tmp_path / "supervisor.log").read_text()
    # Whoever holds the folder goes on, and commands find it.
    assert find_addresses(tmp_path).receiver == "http://a"


@pytest.mark.parametrize("kept", [b"", b"garbage", b"\xff", b"-1", b"0", b"9" * 30])
def test_a_file_that_names_no_process_is_of_no_suite(
    lockstep: Lockstep, tmp_path: Path, kept: bytes
) -> None:
    """It is removed, and said to be where it is no number."""
    path = tmp_path / up.PID_FILE
    path.write_bytes(kept)
    told = lockstep("--directory", tmp_path, "down")
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("no suite is running in")
    removed = f"{path} holds no process id: it is removed\n"
    assert told.stderr == ("" if kept.removeprefix(b"-").isdigit() else removed)
    assert not path.exists()


def test_the_supervisor_of_a_copied_folder_is_not_the_copys(
    lockstep: Lockstep, tmp_path: Path
) -> None:
    """`down` and `up` in the copy leave the suite of the original alone."""
    ours, copied = tmp_path / "ours", tmp_path / "copied"
    ours.mkdir()
    copied.mkdir()
    sleeps: list[str | bytes] = [sys.executable, "-c", "import time; time.sleep(600)"]
    command = [*sleeps, "-m", up.MODULE, "ours", "{}"]
    with subprocess.Popen(command, cwd=tmp_path) as supervisor:
        for folder in (ours, copied):
            (folder / up.PID_FILE).write_text(f"{supervisor.pid}\n")
        try:
            told = lockstep("--directory", copied, "down")
            assert told.stdout.startswith("no suite is running in"), told.output
            assert supervisor.poll() is None
            told = lockstep("--directory", ours, "up")
            assert told.exit_code == Exit.USAGE
            assert "a suite is running in" in told.stderr
        finally:
            supervisor.kill()


def test_a_taken_port_is_the_users_to_mend(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The process in the background says so in its last line, and the command passes that on."""

    async def refused(*_: object) -> None:
        raise PortTakenError("port 8280 of the receiver is taken on 127.0.0.1", hint="stop it")

    monkeypatch.setattr(up, "_supervise", refused)
    assert up._main(tmp_path, {}) == Exit.USAGE
    log = tmp_path / "supervisor.log"
    log.write_text(capfd.readouterr().err)
    child = subprocess.Popen(["sh", "-c", f"exit {int(Exit.USAGE)}"])
    with pytest.raises(typer.Exit) as ended:
        up._wait_for_addresses(tmp_path, child, log)
    assert ended.value.exit_code == Exit.USAGE
    said = capfd.readouterr().err
    assert "did not come up: port 8280 of the receiver is taken on 127.0.0.1" in said


def _sleeping() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "600"])


def test_what_takes_too_long_is_asked_to_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The addresses of another suite in the folder are not taken for those of the child."""
    monkeypatch.setattr(up, "READY_TIMEOUT_MS", 0)
    log = tmp_path / "supervisor.log"
    log.write_text("still waiting")
    Addresses("http://a", "http://b", "http://c").write(tmp_path)
    child = _sleeping()
    (tmp_path / up.PID_FILE).write_text(str(child.pid))
    with pytest.raises(typer.Exit):
        up._wait_for_addresses(tmp_path, child, log)
    assert child.wait() == -signal.SIGTERM
    assert (tmp_path / up.PID_FILE).exists()


def test_the_childs_own_addresses_are_waited_for(tmp_path: Path) -> None:
    """They say whose they are."""
    Addresses("http://a", "http://b", "http://c").write(tmp_path)
    child = _sleeping()
    path = tmp_path / ADDRESSES_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pid": child.pid}))
    try:
        up._wait_for_addresses(tmp_path, child, tmp_path / "supervisor.log")
        assert child.poll() is None
    finally:
        child.kill()
        child.wait()
