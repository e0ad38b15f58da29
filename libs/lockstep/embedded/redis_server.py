"""A Redis server that logs every write before it answers, one password, loopback unless told."""

from __future__ import annotations

from lockstep.embedded.credentials import write_private
from lockstep.embedded.probe import redis_answers
from lockstep.embedded.process import Command
from lockstep.embedded.programs import redis_server
from lockstep.embedded.server import Server

# Leases must not be evicted, and must survive a kill of the server (the log is written, though not
# synced, before each answer).
_CONFIGURATION = """\
bind {host}
port {port}
requirepass {password}
dir "{data}"
daemonize no
save ""
appendonly yes
appendfsync everysec
maxmemory-policy noeviction
"""


class RedisServer(Server):
    """Redis for leases."""

    name = "redis"

    @property
    def url(self) -> str:
        """For the leader settings."""
        return self._url("redis", "", "/0")

    async def _prepare(self) -> None:
        data = self.directory / "data"
        data.mkdir(exist_ok=True, mode=0o700)
        text = _CONFIGURATION.format(
            host=self.machine.host, port=self.port, password=self.password, data=data
        )
        write_private(self.directory / "redis.conf", text)

    def _command(self) -> Command:
        arguments = [str(redis_server()), str(self.directory / "redis.conf")]
        return Command(arguments, self.directory / "log", through=self.machine.through)

    async def _answers(self) -> bool:
        return await redis_answers(self.machine.host, self.port, self.password)
