"""The supervised servers, for real: start, kill, restart, credentials, end with the parent."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from lockstep.clock import SystemClock
from lockstep.embedded import DirectoryInUseError, EmbeddedServers
from lockstep.embedded.probe import nats_answers, postgres_answers, redis_answers
from lockstep.embedded.server import HOST, USER

pytestmark = pytest.mark.servers

_PATIENCE_S = 60.0


async def _until(condition: object, what: str) -> None:
    assert callable(condition)
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while not condition():
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"not within {_PATIENCE_S} s: {what}")


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


async def test_all_three_serve_and_keep_data_over_kill(tmp_path: Path) -> None:
    """After SIGKILL each comes back on its port, with its credentials; committed rows are there."""
    async with EmbeddedServers.start(tmp_path, sync_interval="2m") as servers:
        assert servers.nats is not None
        assert servers.redis is not None
        assert servers.postgres is not None
        connection = await asyncpg.connect(servers.postgres_dsn)
        await connection.execute("create table kept (n int)")
        await connection.execute("insert into kept values (42)")
        await connection.close()
        for server in (servers.nats, servers.redis, servers.postgres):
            url, pid = server.url, server.pid
            assert pid is not None
            await server.kill()
            assert not server.running
            assert not _alive(pid)
            await server.start()
            assert server.url == url
            assert server.pid not in (None, pid)
        connection = await asyncpg.connect(servers.postgres_dsn)
        assert await connection.fetchval("select n from kept") == 42
        await connection.close()
        assert await nats_answers(HOST, servers.nats.port, USER, servers.nats.password)
        assert await redis_answers(HOST, servers.redis.port, servers.redis.password)


async def test_credentials_are_asked_for_and_private(tmp_path: Path) -> None:
    """A wrong password is refused; files with secrets are readable by their owner alone."""
    async with EmbeddedServers.start(tmp_path, {"nats", "redis"}) as servers:
        assert servers.postgres is None
        assert servers.nats is not None
        assert servers.redis is not None
        assert not await nats_answers(HOST, servers.nats.port, USER, "wrong")
        assert not await redis_answers(HOST, servers.redis.port, "wrong")
        environment = servers.environment()
        assert set(environment) == {"LOCKSTEP_BUS__URL_FILE", "LOCKSTEP_LEADER__URL_FILE"}
        assert Path(environment["LOCKSTEP_BUS__URL_FILE"]).read_text() == servers.nats_url
        secrets = [servers.nats.password, servers.redis.password]
        for path in tmp_path.rglob("*"):
            if path.is_file() and any(each.encode() in path.read_bytes() for each in secrets):
                assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


async def test_what_ends_by_itself_is_started_again(tmp_path: Path) -> None:
    """A crash is repaired in place; a kill through the object is left alone."""
    async with EmbeddedServers.start(tmp_path, {"redis"}) as servers:
        redis = servers.redis
        assert redis is not None
        first = redis.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await _until(lambda: redis.pid not in (None, first), "redis runs again")
        await _until(lambda: redis.running, "redis runs")
        await redis.kill()
        await SystemClock().sleep_ms(500)  # longer than the supervisor's look around
        assert not redis.running


async def test_given_urls_are_used_instead(tmp_path: Path) -> None:
    """A server that runs elsewhere is not started."""
    urls = {"nats": "nats://elsewhere:4222"}
    async with EmbeddedServers.start(tmp_path, {"nats"}, urls=urls) as servers:  # type: ignore[arg-type]
        assert servers.nats is None
        assert servers.nats_url == "nats://elsewhere:4222"


async def test_one_supervisor_per_folder(tmp_path: Path) -> None:
    """A second one is refused with the folder's name; afterwards the folder is free again."""
    async with EmbeddedServers.start(tmp_path, {"redis"}):
        with pytest.raises(DirectoryInUseError, match=str(tmp_path)):
            await EmbeddedServers(tmp_path, want={"redis"}).open()
    async with EmbeddedServers.start(tmp_path, {"redis"}) as again:
        assert again.redis is not None
        assert again.redis.running


_SUPERVISOR = """
import asyncio, sys
from pathlib import Path
from lockstep.embedded import EmbeddedServers

async def main():
    async with EmbeddedServers.start(Path(sys.argv[1]), sync_interval="2m") as servers:
        print(*(s.pid for s in (servers.nats, servers.redis, servers.postgres)), flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_children_end_with_a_killed_parent(tmp_path: Path) -> None:
    """SIGKILL of the supervisor leaves nothing behind, and the folder can be used at once."""
    parent = subprocess.Popen(
        [sys.executable, "-c", _SUPERVISOR, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 3
    assert all(_alive(pid) for pid in pids)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    async with EmbeddedServers.start(tmp_path, sync_interval="2m") as servers:
        assert servers.postgres is not None
        assert await postgres_answers(HOST, servers.postgres.port, USER)
        await _until(lambda: not any(_alive(pid) for pid in pids), "the old ones are gone")
