"""The suite as one process per service: started, watched for readiness, killed and started again.

What `make up` runs, and what the end-to-end and chaos tests break on purpose.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import aiohttp
import msgspec

from lockstep.cli.addresses import ADDRESSES_FILE, Addresses
from lockstep.cli.suite import ARCHIVE_VARIABLE, GIVEN_BY, archived_in
from lockstep.clock import SystemClock
from lockstep.embedded import (
    ALL_SERVERS,
    THIS_MACHINE,
    EmbeddedServers,
    Machine,
    free_port,
    prepare_spark_environment,
    tied_to_parent,
)
from lockstep.events import Fault, LockstepError, UnavailableError
from lockstep.events.typed import from_json
from lockstep.settings import Settings, load_settings
from lockstep.tls import TlsFiles, calling

PROCESSES_FILE = "processes.json"
"""Node name → its HTTP door, in the suite's folder."""
READY_TIMEOUT_MS = 90_000
READY_POLL_MS = 100
STOP_TIMEOUT_MS = 25_000
CONSOLE_PORT = 8260
PLAN: tuple[tuple[str, str], ...] = (
    ("coordinator", "coordinator"),
    ("processor-1", "processor"),
    ("processor-2", "processor"),
    ("publisher", "publisher"),
    ("presenter", "presenter"),
    ("receiver", "receiver"),
)
"""(node, service) of the default suite: two processors."""
TAKEN_HINT = (
    "stop what uses it (a suite in another folder: `lockstep --directory FOLDER down`), or start "
    "a second suite beside it with `lockstep run --port 0 --console-port 0`"
)


class PortTakenError(LockstepError):
    """Another process listens where one of ours should, for example that of another suite."""

    fault = Fault.USER


def check_port(node: str, host: str, port: int) -> None:
    """Raises PortTakenError when somebody listens there. What else is wrong with a port, the
    process that listens on it says itself."""
    with socket.socket() as probe:
        # As servers do: what a connection of before has left there is not in their way.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return
            message = f"port {port} of the {node} is taken on {host}"
            raise PortTakenError(message, hint=TAKEN_HINT) from error


class _Ready(msgspec.Struct):
    """What /readyz says of who answers. Earlier builds, which upgrades start, say nothing."""

    pid: int | None = None


@dataclass(slots=True)
class ServiceProcess:
    """One service in a process of its own; keeps its port and name over restarts.

    `module` is run in place of the service's own, with the service's name as its argument. The
    service's settings must fit `machine`, where it is not the loopback.
    """

    node: str
    service: str
    environment: Mapping[str, str]
    log: Path
    port: int = field(default_factory=free_port)
    module: str = ""
    machine: Machine = THIS_MACHINE
    scheme: str = "http"
    _process: subprocess.Popen[bytes] | None = None
    _wanted: bool = False

    @property
    def url(self) -> str:
        """Its HTTP door."""
        return f"{self.scheme}://{self.machine.host}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if running and self._process else None

    @property
    def has_ended(self) -> bool:
        """It was started, and is gone without anybody's having asked for that here."""
        return self._wanted and self.pid is None

    def start(self) -> None:
        """Starts it; see `ready`. Its process id is left beside its log, as `<node>.pid`.

        Raises PortTakenError the first time only: a port that its own process had may be slow to
        become free, and whoever starts it again goes on trying.
        """
        if self._process is None and not self.machine.through:
            check_port(self.node, self.machine.host, self.port)
        own = [self.module, self.service] if self.module else [f"lockstep_services.{self.service}"]
        environment = {
            **os.environ,
            **self.environment,
            "LOCKSTEP_SERVER__PORT": str(self.port),
            "LOCKSTEP_SERVER__NODE": self.node,
        }
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                tied_to_parent([sys.executable, "-m", *own], signal.SIGTERM, self.machine),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )
        self._wanted = True
        self.log.with_suffix(".pid").write_text(f"{self._process.pid}\n")

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the process and all it started (Spark's JVM and its workers)."""
        if self._process is not None and self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    async def kill(self) -> None:
        """SIGKILL, without a chance to say goodbye."""
        self._wanted = False
        self.send(signal.SIGKILL)
        await self._ended(STOP_TIMEOUT_MS)

    async def stop(self) -> None:
        """SIGTERM to the process itself, then whatever it takes."""
        self._wanted = False
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            if not await self._ended(STOP_TIMEOUT_MS):
                await self.kill()

    async def ready(self, session: aiohttp.ClientSession) -> None:
        """Until its /readyz says yes; LockstepError when it ends or takes too long, or when
        another process answers in its place."""
        clock = SystemClock()
        give_up_ms = clock.monotonic_ms() + READY_TIMEOUT_MS
        while clock.monotonic_ms() < give_up_ms:
            if self.pid is None:
                raise LockstepError(f"{self.node} ended while starting", hint=f"see {self.log}")
            with contextlib.suppress(aiohttp.ClientError, TimeoutError):
                async with session.get(f"{self.url}/readyz") as response:
                    if response.status == 200:
                        self._check_answer(await response.read())
                        return
            await clock.sleep_ms(READY_POLL_MS)
        raise UnavailableError(
            f"{self.node} is not ready after {READY_TIMEOUT_MS} ms", hint=f"see {self.log}"
        )

    def _check_answer(self, body: bytes) -> None:
        """Raises PortTakenError where it is not that of the process started here: somebody may
        have been faster at the port."""
        with contextlib.suppress(msgspec.DecodeError):
            pid = from_json(body, _Ready).pid
            if pid is None or (self._process is not None and pid == self._process.pid):
                return
        message = f"another process answers at {self.url}, which should be the {self.node}"
        raise PortTakenError(message, hint=TAKEN_HINT)

    async def _ended(self, timeout_ms: int) -> bool:
        clock = SystemClock()
        give_up_ms = clock.monotonic_ms() + timeout_ms
        while self.pid is not None:
            if clock.monotonic_ms() > give_up_ms:
                return False
            await clock.sleep_ms(10)
        return True


@dataclass(frozen=True, slots=True)
class ProcessSuite:
    """Running processes by node name, the servers under them, and where to talk to them."""

    processes: Mapping[str, ServiceProcess]
    servers: EmbeddedServers
    settings: Settings
    addresses: Addresses

    def of(self, service: str) -> list[ServiceProcess]:
        """The processes of one service."""
        return [p for p in self.processes.values() if p.service == service]


@contextlib.asynccontextmanager
async def running_processes(
    directory: Path,
    *,
    plan: Sequence[tuple[str, str]] = PLAN,
    later: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
    ports: Mapping[str, int] | None = None,
    sync_interval: str = "always",
) -> AsyncIterator[ProcessSuite]:
    """The suite in processes, ready within the block; stopped in good order after it.

    Servers whose URL the environment or `overrides` give are used. `ports` fixes the doors of
    nodes; PortTakenError where one is taken, before anything is started. `later`: further
    processors, which are not started yet.
    """
    for node, port in (ports or {}).items():
        check_port(node, THIS_MACHINE.host, port)
    overrides = {**archived_in(directory), **_archive_of_environment(), **(overrides or {})}
    told = {**os.environ, **overrides}
    given = {name for name, key in GIVEN_BY.items() if key in told or f"{key}_FILE" in told}
    want = [name for name in ALL_SERVERS if name not in given]
    prepare_spark_environment()
    async with EmbeddedServers.start(
        directory / "servers", want=want, sync_interval=sync_interval
    ) as servers:
        # The folder is this process's now: what an earlier suite has left there is of no use.
        (directory / ADDRESSES_FILE).unlink(missing_ok=True)
        environment = {**servers.environment(), **overrides}
        (directory / "logs").mkdir(parents=True, exist_ok=True)
        joining = [(node, "processor") for node in later]
        settings = load_settings({**os.environ, **environment})
        scheme = scheme_of(settings)
        processes = _planned(directory, [*plan, *joining], environment, ports or {}, scheme)
        token = settings.server.token.get_secret_value() or None
        addresses = replace(_addresses(processes), token=token, tls=settings.client.tls)
        suite = ProcessSuite(processes, servers, settings, addresses)
        try:
            await _start({node: processes[node] for node, _ in plan}, settings.client.tls)
            urls = {process.node: process.url for process in processes.values()}
            (directory / PROCESSES_FILE).write_text(json.dumps(urls, indent=2) + "\n")
            addresses.write(directory)
            yield suite
        finally:
            await asyncio.gather(*(process.stop() for process in processes.values()))


def _archive_of_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key == ARCHIVE_VARIABLE}


def _planned(
    directory: Path,
    plan: Sequence[tuple[str, str]],
    environment: Mapping[str, str],
    ports: Mapping[str, int],
    scheme: str,
) -> dict[str, ServiceProcess]:
    found: dict[str, ServiceProcess] = {}
    for node, service in plan:
        port = ports.get(node) or free_port()
        log = directory / "logs" / f"{node}.log"
        found[node] = ServiceProcess(node, service, environment, log, port, scheme=scheme)
    for process in found.values():
        own = {"LOCKSTEP_SPARK__STATE_DIRECTORY": str(directory / "spark" / process.node)}
        if process.service == "console":
            own |= where_they_are(_addresses(found))
        process.environment = {**environment, **own}
    return found


def has_console() -> bool:
    """Whether what the console's pages are made of is installed."""
    return find_spec("nicegui") is not None


def where_they_are(addresses: Addresses) -> dict[str, str]:
    """What tells a console where the other services are."""
    return {
        "LOCKSTEP_CLIENT__RECEIVER_URL": addresses.receiver,
        "LOCKSTEP_CLIENT__PRESENTER_URL": addresses.presenter,
        "LOCKSTEP_CLIENT__COORDINATOR_URL": addresses.coordinator,
    }


def scheme_of(settings: Settings) -> str:
    """How the doors of its processes are spoken to."""
    return "https" if settings.server.tls_certificate_file else "http"


def _addresses(processes: Mapping[str, ServiceProcess]) -> Addresses:
    def url(service: str) -> str:
        return next(p.url for p in processes.values() if p.service == service)

    return Addresses(url("receiver"), url("presenter"), url("coordinator"))


def asking_session(tls: TlsFiles) -> aiohttp.ClientSession:
    """For short questions to processes; within a running loop."""
    connector = aiohttp.TCPConnector(ssl=calling(tls) or True)
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5), connector=connector)


async def _start(processes: Mapping[str, ServiceProcess], tls: TlsFiles) -> None:
    async with asking_session(tls) as session:
        for process in processes.values():
            process.start()
        await asyncio.gather(*(process.ready(session) for process in processes.values()))
