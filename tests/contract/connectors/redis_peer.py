"""A Redis as the other side of sources and sinks: it writes each command down before it answers,
so it has after its death what it has answered. Apps have a user of their own there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from redis.asyncio import Redis

from lockstep.embedded.programs import redis_server
from lockstep.testing.connectors import Arrived
from tests.contract.connectors.brokers import Broker, free_port

USER: Final = "app"
PASSWORD: Final = "the-word"
RIGHTS: Final = "~* -@all +xadd +xreadgroup +xgroup +xack +xdel +eval +hget +hset"
"""All that the connectors ask for."""
_CONFIGURATION: Final = """\
bind 127.0.0.1
port {port}
dir {folder}
save ""
appendonly yes
appendfsync everysec
user default off
user watcher on >watching ~* +@all
user {user} on >{password} {rights}
"""


class RedisFar(Broker):
    """With a stream `kit`, as another client than ours sees it."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        folder.mkdir(parents=True, exist_ok=True)
        configuration = folder / "redis.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                port=port, folder=folder, user=USER, password=PASSWORD, rights=RIGHTS
            )
        )
        super().__init__([str(redis_server()), str(configuration)], {}, [port])
        self.stream = "kit"

    @property
    def options(self) -> dict[str, str]:
        """Of a source and of a sink."""
        login = {"username": USER, "password": PASSWORD}
        return {"url": f"redis://127.0.0.1:{self.ports[0]}/0", "stream.name": self.stream, **login}

    def client(self) -> Any:
        """Another one than ours."""
        return Redis(port=self.ports[0], username="watcher", password="watching")

    async def send(self, payload: bytes) -> None:
        """An entry as another program adds it."""
        await self.asked("XADD", self.stream, "*", "payload", payload)

    async def entries(self, stream: str | None = None) -> Sequence[Mapping[str, bytes]]:
        """The fields of all that a stream holds."""
        async with self.client() as client:
            found = await client.xrange(stream or self.stream)
        return [{name.decode(): value for name, value in fields.items()} for _, fields in found]

    async def received(self) -> Sequence[Arrived]:
        """With the identities that the sink gave."""
        return [
            Arrived(entry["payload"], entry["lockstep-id"].decode())
            for entry in await self.entries()
        ]

    async def asked(self, *words: str | bytes | int) -> Any:
        """Any command."""
        async with self.client() as client:
            return await client.execute_command(*words)
