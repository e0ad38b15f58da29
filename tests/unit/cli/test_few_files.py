"""A process that may open no more files says so, and does not fill its log with it."""

from __future__ import annotations

import asyncio
import errno
import socket
from pathlib import Path
from typing import Final

import pytest

from lockstep.cli.commands import run
from lockstep.cli.commands.run import NOT_ACCEPTED, NOT_ACCEPTED_EVERY_MS, seldom_not_accepted
from lockstep.clock import VirtualClock
from lockstep.events import LockstepError
from lockstep.telemetry import LogTail

BACKLOG: Final = 8


class Full(socket.socket):
    """Listens, and has no room for what comes."""

    def __init__(self) -> None:
        super().__init__()
        self.bind(("127.0.0.1", 0))
        self.tried = 0
        self.was_full = asyncio.Event()

    def accept(self) -> tuple[socket.socket, object]:
        """There is no file for it."""
        self.tried += 1
        if self.tried % BACKLOG == 0:
            self.was_full.set()
        raise OSError(errno.EMFILE, "Too many open files")


async def test_no_room_for_connections_is_told_once_in_a_while(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """By the loop that tells it for each connection that waits, again and again."""
    clock = VirtualClock()
    asyncio.get_running_loop().set_exception_handler(seldom_not_accepted(clock))
    full = Full()
    server = await asyncio.start_server(lambda *_: None, sock=full, backlog=BACKLOG)
    with socket.create_connection(full.getsockname()):
        await full.was_full.wait()
        assert capsys.readouterr().err.count("no connection can be accepted") == 1
        await clock.advance_ms(NOT_ACCEPTED_EVERY_MS)
        full.was_full.clear()
        await full.was_full.wait()
        assert capsys.readouterr().err.count("no connection can be accepted") == 1
    assert not caplog.records
    server.close()


async def test_other_errors_are_told_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    """Each of them, with what it was about."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(seldom_not_accepted(VirtualClock()))
    for _ in range(2):
        loop.call_exception_handler({"message": "a task was lost", "exception": KeyError("x")})
    assert [one.message.splitlines()[0] for one in caplog.records] == ["a task was lost"] * 2


async def test_the_whole_suite_in_one_process_heeds_that(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """From its start on."""

    def start(*_: object, **__: object) -> None:
        for _number in range(BACKLOG):
            asyncio.get_running_loop().call_exception_handler({"message": NOT_ACCEPTED})
        raise LockstepError("it does not start here")

    monkeypatch.setattr(run, "running_suite", start)
    with pytest.raises(LockstepError):
        await run._run(tmp_path, [], {}, 0, LogTail(max_lines=1, max_bytes=1))
    assert capsys.readouterr().err.count("no connection can be accepted") == 1
    assert not caplog.records
