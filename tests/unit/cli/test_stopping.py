"""Signals end what runs in good order, also while it starts; and what has ended is not waited
for."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lockstep.cli import suite
from lockstep.cli.commands import run
from lockstep.cli.stopping import until_signalled
from lockstep.cli.suite import GIVEN_BY
from lockstep.events import LockstepError
from lockstep.frame import Context, Running
from lockstep.frame import tasks as frame_tasks
from lockstep.frame.lifecycle import STOP_SIGNALS
from lockstep.telemetry import LogTail
from tests.unit.cli.conftest import Lockstep

APP = "define stream A (v int); from A select v insert into B;"
PATIENCE_S = 60


class Work:
    """Waits for ever; cleaning up takes a while."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.cleaning = asyncio.Event()
        self.may_end = asyncio.Event()
        self.is_clean = False

    async def __call__(self) -> None:
        """Until cancelled."""
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cleaning.set()
            await self.may_end.wait()
            self.is_clean = True


@pytest.mark.parametrize("number", STOP_SIGNALS)
async def test_a_signal_ends_it_and_a_second_one_does_not_disturb(number: signal.Signals) -> None:
    """It cleans up in peace."""
    work, told = Work(), []
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(until_signalled(work(), lambda: told.append("stopping")))
        await work.began.wait()
        os.kill(os.getpid(), number)
        await work.cleaning.wait()
        os.kill(os.getpid(), number)
        await asyncio.sleep(0)
        work.may_end.set()
        await running
    assert work.is_clean
    assert told == ["stopping"]


@pytest.mark.parametrize("trouble", [OSError("no room"), ValueError("closed"), SystemExit(1)])
async def test_a_signal_ends_it_where_nobody_can_be_told(trouble: BaseException) -> None:
    """As where the log's disk is full. Rich makes a SystemExit of a pipe that nobody reads."""

    def told() -> None:
        raise trouble

    work = Work()
    work.may_end.set()
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(until_signalled(work(), told))
        await work.began.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await running
    assert work.is_clean


async def test_what_goes_wrong_comes_out() -> None:
    """As it would without signals."""

    async def broken() -> None:
        raise LockstepError("broken")

    with pytest.raises(LockstepError, match="broken"):
        await until_signalled(broken(), lambda: None)


@pytest.fixture
def without_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their addresses are given, and nobody asks there; no console."""
    for key in GIVEN_BY.values():
        monkeypatch.setenv(key, "redis://127.0.0.1:1/0" if "LEADER" in key else "nats://a:b@c/d")
    monkeypatch.setattr(run, "has_console", lambda: False)


def _served(monkeypatch: pytest.MonkeyPatch, serve: Callable[..., Any]) -> None:
    monkeypatch.setattr(suite, "run_together", serve)


async def _run(directory: Path) -> None:
    overrides = {"LOCKSTEP_PROCESSOR__EXECUTOR": "reference"}
    await run._run(directory, [], overrides, 0, LogTail(max_lines=1, max_bytes=1))


@pytest.mark.usefixtures("without_servers")
async def test_services_that_end_end_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With what they say, and without anybody's having asked."""

    async def gives_up(*_: Any, on_ready: Callable[[Running], None], **__: Any) -> None:
        on_ready(Running("http://127.0.0.1:9", {}))
        raise LockstepError("node 'a' is taken by another process")

    _served(monkeypatch, gives_up)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LockstepError, match="is taken"):
            await _run(tmp_path)


class Said:
    """A service that says what it goes through; it takes its time to end."""

    needs: ClassVar = frozenset[str]()
    said: ClassVar[list[str]] = []

    def __init__(self, _: Context) -> None:
        self.name = type(self).__name__.lower()

    async def start(self) -> None:
        """See Service."""
        self.said.append(f"{self.name} started")

    async def drain(self) -> None:
        """See Service."""
        await self._end("drained")

    async def stop(self) -> None:
        """See Service."""
        await self._end("stopped")

    async def _end(self, what: str) -> None:
        for _ in range(100):  # turns of the loop, in any of which it might be cut off
            await asyncio.sleep(0)
        self.said.append(f"{self.name} {what}")


class First(Said):
    """Starts at once."""


class Second(Said):
    """Its start does not end."""

    starting: ClassVar[asyncio.Event]

    async def start(self) -> None:
        """See Service."""
        self.starting.set()
        await asyncio.Event().wait()


@pytest.mark.usefixtures("without_servers")
async def test_services_that_have_started_stop_in_order_when_another_cannot(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A signal while one waits for what does not come ends its start, and nothing else in its
    midst; nothing goes on."""
    for each in ("BUS", "LEADER", "STORE"):
        monkeypatch.setenv(f"LOCKSTEP_{each}__KIND", "memory")
    monkeypatch.setattr(suite, "service_wires", lambda: [("first", First), ("second", Second)])
    monkeypatch.setattr(frame_tasks, "CANCEL_AGAIN_S", 0)
    Said.said, Second.starting = [], asyncio.Event()
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(until_signalled(_run(tmp_path), lambda: None))
        await Second.starting.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        await running
    assert Said.said == [
        "first started",
        "second drained", "first drained", "second stopped", "first stopped",
    ]  # fmt: skip
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.usefixtures("without_servers")
async def test_a_run_without_a_console_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In one line, with what brings it; else people look for its pages."""
    told: asyncio.Queue[str] = asyncio.Queue()
    heard: list[str] = []
    monkeypatch.setattr(
        "lockstep.cli.output.console.print", lambda text, **_: told.put_nowait(text)
    )

    async def ends(*_: Any, on_ready: Callable[[Running], None], **__: Any) -> None:
        on_ready(Running("http://127.0.0.1:9", {}))
        heard.extend([await told.get(), await told.get()])

    _served(monkeypatch, ends)
    async with asyncio.timeout(PATIENCE_S):
        with pytest.raises(LockstepError, match="have ended"):
            await _run(tmp_path)
    assert heard[0].startswith("Lockstep is up: http://127.0.0.1:9")
    assert heard[1] == (
        "no console: its packages are not installed: pip install 'nicegui>=3.18' 'pygls>=2.1'"
    )


def test_a_consoles_port_is_refused_where_there_is_no_console(
    lockstep: Lockstep, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody would listen there."""
    monkeypatch.setattr("lockstep.cli.processes.find_spec", lambda _: None)
    monkeypatch.setattr(run, "_run", lambda *_: pytest.fail("it came up"))
    told = lockstep("--directory", tmp_path, "run", "--console-port", 0)
    assert told.exit_code == 2
    assert "--console-port: the packages of the console are not installed" in told.stderr
    assert "pip install 'nicegui>=3.18' 'pygls>=2.1'" in told.stderr


def test_apps_are_read_before_anything_starts(
    lockstep: Lockstep, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the tests behind them; a folder, and what is no text, is refused."""
    seen: list[list[str]] = []

    async def started(_: Path, texts: list[str], *__: Any) -> None:
        seen.append(texts)

    monkeypatch.setattr(run, "_run", started)
    monkeypatch.setattr(run, "configure_logging", lambda **_: None)
    good, latin = tmp_path / "good.siddhi", tmp_path / "latin.siddhi"
    good.write_text(f"{APP}\n\n--- test: one\nA - 1\n")
    latin.write_bytes(b"-- M\xfcnchen")
    command = ("--directory", tmp_path, "run")
    assert lockstep(*command, tmp_path).exit_code == 2
    assert lockstep(*command, good, latin).exit_code == 2
    assert seen == []
    assert lockstep(*command, good).exit_code == 0
    assert [text.strip() for texts in seen for text in texts] == [APP]
