"""Message brokers as processes of their own, ended at once and started again on the same files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

STARTED_S = 60.0
PAUSE_S = 0.1


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


async def reachable(port: int) -> None:
    """Until somebody listens."""
    async with asyncio.timeout(STARTED_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(PAUSE_S)
            else:
                writer.close()
                return


class Broker:
    """A program in a process group of its own."""

    def __init__(self, command: list[str], environment: dict[str, str], ports: list[int]) -> None:
        self.command = command
        self.environment = environment
        self.ports = ports
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Returns when it can be reached."""
        self._process = await asyncio.create_subprocess_exec(
            *self.command,
            env={**os.environ, **self.environment},
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        for port in self.ports:
            await reachable(port)

    async def stop(self) -> None:
        """Kills the group; idempotent."""
        process, self._process = self._process, None
        if process is not None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()


class RabbitBroker(Broker):
    """Ends the program, too, by which Erlang's processes find one another: it is no child of the
    server's."""

    def __init__(self, server: Path, environment: dict[str, str], ports: list[int]) -> None:
        super().__init__([str(server)], environment, ports)
        beside = server.parent / "usr/lib/erlang/bin/epmd"
        self._mapper = str(beside) if beside.is_file() else "epmd"

    async def stop(self) -> None:
        await super().stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STARTED_S):
                while not await self._ended():
                    await asyncio.sleep(PAUSE_S)

    async def _ended(self) -> bool:
        """It ends once it knows of no server; it refuses while it has not seen the last one go."""
        port = self.environment["ERL_EPMD_PORT"]
        asked = await asyncio.create_subprocess_exec(
            self._mapper, "-port", port, "-kill",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        said, _ = await asked.communicate()
        return b"not allowed" not in said


def rabbitmq(directory: Path) -> RabbitBroker:
    """RabbitMQ with its doors for STOMP and MQTT, where the machine has it; `ports`: AMQP, STOMP,
    MQTT."""
    found = os.environ.get("RABBITMQ_SERVER") or shutil.which("rabbitmq-server")
    if not found:
        pytest.skip("no rabbitmq-server (in PATH, or named by RABBITMQ_SERVER)")
    directory.mkdir(parents=True, exist_ok=True)
    amqp, stomp, mqtt, distribution, mapper = (free_port() for _ in range(5))
    (directory / "rabbitmq.conf").write_text(
        f"listeners.tcp.default = 127.0.0.1:{amqp}\nstomp.listeners.tcp.1 = 127.0.0.1:{stomp}\n"
        f"mqtt.listeners.tcp.1 = 127.0.0.1:{mqtt}\n"
    )
    (directory / "plugins").write_text("[rabbitmq_stomp, rabbitmq_mqtt].\n")
    environment = {
        "RABBITMQ_NODENAME": f"test{amqp}@localhost",
        "RABBITMQ_CONFIG_FILE": str(directory / "rabbitmq.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(directory / "plugins"),
        "RABBITMQ_MNESIA_BASE": str(directory / "data"),
        "RABBITMQ_LOG_BASE": str(directory / "logs"),
        "RABBITMQ_DIST_PORT": str(distribution),
        "ERL_EPMD_PORT": str(mapper),
        "HOME": str(directory),
    }
    return RabbitBroker(Path(found), environment, [amqp, stomp, mqtt])
