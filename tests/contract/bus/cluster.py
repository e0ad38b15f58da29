"""Three NATS servers with JetStream as one cluster, to be killed one by one."""

from __future__ import annotations

import asyncio
import http.client
import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from http import HTTPStatus
from pathlib import Path

from lockstep.embedded import THIS_MACHINE, Machine, free_port, tied_to_parent
from lockstep.embedded.programs import nats_server
from tests.contract.patience import PATIENCE_S, eventually

_CONFIGURATION = """\
listen: "{host}:{port}"
http: "{host}:{monitor}"
server_name: "n{index}"
max_payload: 8388608
ping_interval: "1s"
ping_max: 2
jetstream {{ store_dir: "{data}", max_file_store: 4GB, sync_interval: "2m" }}
cluster {{ name: "c", no_advertise: true, listen: "{host}:{route}", routes: [{routes}] }}
"""


class Cluster:
    """Use as an async context manager; `url` names all three.

    The servers tell clients nothing of each other, so that a client goes where its address says:
    through a proxy, where a test wants that.
    """

    def __init__(
        self,
        directory: Path,
        machines: Sequence[Machine] = (THIS_MACHINE, THIS_MACHINE, THIS_MACHINE),
    ) -> None:
        self._directory = directory
        self._machines = machines
        self._ports = [free_port() for _ in range(3)]
        self._routes = [free_port() for _ in range(3)]
        self._monitors = [free_port() for _ in range(3)]
        self._servers: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def ports(self) -> list[int]:
        """Where each listens for clients."""
        return list(self._ports)

    @property
    def running(self) -> list[int]:
        """Those that were started and not killed."""
        return sorted(self._servers)

    @property
    def url(self) -> str:
        """All servers."""
        return ",".join(self._addresses(self._ports))

    async def __aenter__(self) -> Cluster:
        try:
            for index in range(3):
                self.start(index)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        for index in list(self._servers):
            self.kill(index)

    def start(self, index: int) -> None:
        """Starts one server on its own data."""
        folder = self._directory / str(index)
        folder.mkdir(exist_ok=True)
        machine = self._machines[index]
        routes = ", ".join(f'"{route}"' for route in self._addresses(self._routes))
        file = folder / "nats.conf"
        file.write_text(
            _CONFIGURATION.format(
                host=machine.host,
                port=self._ports[index],
                monitor=self._monitors[index],
                index=index,
                data=folder / "data",
                route=self._routes[index],
                routes=routes,
            )
        )
        with (folder / "log").open("ab") as log:
            self._servers[index] = subprocess.Popen(
                tied_to_parent([str(nats_server()), "-c", str(file)], signal.SIGTERM, machine),
                stdout=log,
                stderr=log,
            )

    def kill(self, index: int) -> None:
        """SIGKILL, reaped."""
        server = self._servers.pop(index)
        server.kill()
        server.wait()

    def send(self, index: int, number: signal.Signals) -> None:
        """Sends a signal, for example to stop it for a while."""
        self._servers[index].send_signal(number)

    async def reachable(self, index: int) -> None:
        """Returns once a server listens; fails with what it said, when it has ended."""
        await eventually(partial(self._listens, index))

    async def healthy(self, index: int) -> None:
        """Returns once a server has caught up with the others in all streams. Whoever ends the next
        one before takes two of three from what it lacks."""
        await self.reachable(index)
        await eventually(partial(asyncio.to_thread, self._is_healthy, index))

    def _is_healthy(self, index: int) -> bool:
        address = (self._machines[index].host, self._monitors[index])
        asked = http.client.HTTPConnection(*address, timeout=PATIENCE_S)
        try:
            asked.request("GET", "/healthz")
            return asked.getresponse().status == HTTPStatus.OK
        except OSError:
            return False
        finally:
            asked.close()

    async def _listens(self, index: int) -> bool:
        if self._servers[index].poll() is not None:
            log = (self._directory / str(index) / "log").read_text()
            raise AssertionError(f"server {index} has ended: {log[-2_000:]}")
        try:
            host = self._machines[index].host
            _, writer = await asyncio.open_connection(host, self._ports[index])
        except OSError:
            return False
        writer.close()
        return True

    def _addresses(self, ports: Sequence[int]) -> list[str]:
        machines = zip(self._machines, ports, strict=True)
        return [f"nats://{machine.host}:{port}" for machine, port in machines]
