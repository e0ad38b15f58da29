"""Making PostgreSQL's data folder takes seconds, in which anything may happen."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from lockstep.clock import SystemClock, SystemRandomness
from lockstep.embedded import PostgresServer
from lockstep.embedded.process import descendants

pytestmark = pytest.mark.servers

PATIENCE_S = 60


def _server(directory: Path) -> PostgresServer:
    return PostgresServer(
        directory, clock=SystemClock(), randomness=SystemRandomness(), durable=False
    )


def _running_for(directory: Path) -> list[Path]:
    """Processes with the folder in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(directory).encode() in path.read_bytes():
                found.append(path)
        except OSError:
            continue
    return found


async def test_a_start_that_was_broken_off_can_be_made_again(tmp_path: Path) -> None:
    """In the middle of initdb: nothing runs on, and the next start makes a whole cluster."""
    starting = asyncio.create_task(_server(tmp_path).start())
    async with asyncio.timeout(PATIENCE_S):
        while not [*tmp_path.glob("data*/PG_VERSION")]:
            await asyncio.sleep(0.001)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    async with asyncio.timeout(PATIENCE_S):
        while _running_for(tmp_path):
            await asyncio.sleep(0.01)
    server = _server(tmp_path)
    await server.start()
    assert server.pid is not None
    assert descendants(server.pid)
    await server.stop()


async def test_a_lock_file_that_names_a_stranger_is_no_obstacle(tmp_path: Path) -> None:
    """Behind a kill its number may be that of any process of the same account."""
    server = _server(tmp_path)
    await server.start()
    lock_file = tmp_path / "data" / "postmaster.pid"
    left = lock_file.read_text()
    await server.stop()
    owner = (tmp_path / "data").stat()
    as_root = os.geteuid() == 0
    with subprocess.Popen(["sleep", "60"], user=owner.st_uid if as_root else None) as stranger:
        lock_file.write_text("\n".join([str(stranger.pid), *left.split("\n")[1:]]))
        os.chown(lock_file, owner.st_uid, owner.st_gid)
        again = _server(tmp_path)
        try:
            await again.start()
            assert again.pid is not None
        finally:
            stranger.kill()
            await again.stop()
