"""A process of the suite and its port: what another process answers there is not believed."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from lockstep.cli import processes
from lockstep.cli.commands import run
from lockstep.cli.processes import (
    PortTakenError,
    ServiceProcess,
    check_port,
    running_processes,
)
from lockstep.embedded import THIS_MACHINE, free_port
from lockstep.events import Fault
from lockstep.telemetry import LogTail

ELSEWHERE = {
    "LOCKSTEP_BUS__URL": "nats://127.0.0.1:1",
    "LOCKSTEP_LEADER__URL": "redis://127.0.0.1:1",
    "LOCKSTEP_STORE__POSTGRES_DSN": "postgresql://127.0.0.1:1/none",
}
"""No servers are started for such a suite."""


@contextlib.asynccontextmanager
async def _answering(body: str) -> AsyncIterator[int]:
    """The port of a server that says 200 and that to everybody."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, THIS_MACHINE.host, 0).start()
        yield int(runner.addresses[0][1])
    finally:
        await runner.cleanup()


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.create_server((THIS_MACHINE.host, 0)) as server:
        yield int(server.getsockname()[1])


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """Lives until the test is over."""
    sleeping = subprocess.Popen(["sleep", "600"])
    yield sleeping
    sleeping.kill()
    sleeping.wait()


def _receiver(folder: Path, port: int) -> ServiceProcess:
    return ServiceProcess("receiver", "receiver", {}, folder / "receiver.log", port)


async def test_a_taken_port_is_told_and_nothing_is_started(tmp_path: Path) -> None:
    """Also where whoever has it says that it is ready."""
    async with _answering('{"status": "ready"}') as port:
        process = _receiver(tmp_path, port)
        with pytest.raises(PortTakenError) as told:
            process.start()
    assert told.value.fault is Fault.USER
    assert told.value.message == f"port {port} of the receiver is taken on 127.0.0.1"
    assert "lockstep --directory FOLDER down" in str(told.value)
    assert (process.pid, process.has_ended, list(tmp_path.iterdir())) == (None, False, [])


def test_a_port_that_is_kept_for_a_process_is_not_taken() -> None:
    """Nor is one where only connections of before are left."""
    check_port("receiver", THIS_MACHINE.host, free_port())
    with socket.create_server((THIS_MACHINE.host, 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection((THIS_MACHINE.host, port)) as client:
            accepted, _ = server.accept()
            accepted.close()  # the first to close is the one that waits
            assert client.recv(1) == b""
    check_port("receiver", THIS_MACHINE.host, port)


@pytest.mark.processes
async def test_a_start_after_the_first_goes_on_where_the_port_is_taken(
    tmp_path: Path, taken: int
) -> None:
    """It tries and ends, and whoever watches it tries again later."""
    process = _receiver(tmp_path, taken)
    process.module = "no_such_module"
    process._process = subprocess.Popen(["true"])
    process._process.wait()
    process.start()
    try:
        assert process.log.with_suffix(".pid").read_text() == f"{process._process.pid}\n"
    finally:
        await process.kill()


@pytest.mark.parametrize("body", ["ready", '{"status": "ready", "pid": 1}'])
async def test_an_answer_of_another_process_is_not_believed(
    tmp_path: Path, child: subprocess.Popen[bytes], body: str
) -> None:
    """Who took the port after the look at it: another suite, or no suite at all."""
    async with _answering(body) as port, aiohttp.ClientSession() as session:
        process = _receiver(tmp_path, port)
        process._process = child
        with pytest.raises(PortTakenError, match=f"another process answers at {process.url}"):
            await process.ready(session)


@pytest.mark.parametrize("body", ['{"status": "ready"}', '{"pid": PID, "node": "receiver"}'])
async def test_its_own_answer_is_believed(
    tmp_path: Path, child: subprocess.Popen[bytes], body: str
) -> None:
    """And that of an earlier build, which does not say who answers."""
    said = body.replace("PID", str(child.pid))
    async with _answering(said) as port, aiohttp.ClientSession() as session:
        process = _receiver(tmp_path, port)
        process._process = child
        await process.ready(session)


@pytest.mark.processes
async def test_a_suite_whose_port_is_taken_stops_what_it_has_started(
    tmp_path: Path, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing goes on, and no addresses are left: somebody took it meanwhile."""
    plan = [(service, service) for service in ("coordinator", "presenter", "receiver")]
    ports = {"coordinator": free_port(), "presenter": free_port()}
    monkeypatch.setattr(processes, "free_port", lambda: taken)  # that of the receiver
    with pytest.raises(PortTakenError, match=f"port {taken} of the receiver"):
        async with running_processes(tmp_path, plan=plan, overrides=ELSEWHERE, ports=ports):
            pytest.fail("it came up")
    logs = tmp_path / "logs"
    started = sorted(logs.glob("*.pid"))
    assert [path.stem for path in started] == ["coordinator", "presenter"]
    for path in started:
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.read_text()), signal.SIGCONT)
    assert not (tmp_path / "addresses.json").exists()


async def test_a_suite_looks_at_its_ports_before_it_starts_anything(
    tmp_path: Path, taken: int
) -> None:
    """No servers either."""
    with pytest.raises(PortTakenError, match=f"port {taken} of the receiver"):
        async with running_processes(tmp_path, ports={"receiver": taken}):
            pytest.fail("it came up")
    assert not list(tmp_path.iterdir())


async def test_a_run_ends_before_it_starts_anything_where_the_consoles_port_is_taken(
    tmp_path: Path, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pages at that address would be those of another suite."""
    monkeypatch.setattr(run, "has_console", lambda: True)
    tail = LogTail(max_lines=1, max_bytes=1)
    with pytest.raises(PortTakenError, match=f"port {taken} of the console is taken"):
        await run._run(tmp_path / "suite", [], {}, taken, tail)
    assert not (tmp_path / "suite").exists()
