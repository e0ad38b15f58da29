"""The life of one supervised server: start, probe until ready, stop, kill, restart in place."""

from __future__ import annotations

import os
import signal
from abc import ABC, abstractmethod
from pathlib import Path
from urllib.parse import quote

from lockstep.clock import Clock, Randomness
from lockstep.embedded.credentials import secret
from lockstep.embedded.errors import ServerStartError
from lockstep.embedded.ports import free_port
from lockstep.embedded.process import THIS_MACHINE, ChildProcess, Command, Machine, runs_for

HOST = THIS_MACHINE.host
USER = "lockstep"

_STOP_TIMEOUT_MS = 10_000
_PROBE_EVERY_MS = 10
_START_ATTEMPTS_MS = 10_000
"""A killed PostgreSQL's memory is held until the last of its processes has noticed, which took more
than two seconds on a crowded machine."""

_ATTEMPT_PAUSE_MS = 100


class Server(ABC):
    """One server on one port with its data below `directory`.

    Port and data survive `stop`, `kill` and `restart`. Not tied to an event loop, but to the thread
    that starts it (see ChildProcess).
    """

    name: str
    start_timeout_ms = 60_000
    """What runs and does not answer is given up after it: a bound for a busy machine."""
    stop_signal = signal.SIGTERM

    def __init__(
        self,
        directory: Path,
        *,
        clock: Clock,
        randomness: Randomness,
        port: int | None = None,
        machine: Machine = THIS_MACHINE,
    ) -> None:
        self.directory = directory.resolve()
        self.machine = machine
        self.wanted = False  # down on purpose, or not: what the supervisor goes by
        self._clock = clock
        self._randomness = randomness
        self._port = port
        self._process: ChildProcess | None = None

    @property
    def port(self) -> int:
        """Chosen on the first look, then kept."""
        if self._port is None:
            self._port = free_port()
        return self._port

    @property
    def password(self) -> str:
        """Kept in a private file of the data folder."""
        return secret(self.directory / "password", self._randomness)

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients connect, credentials included."""

    def _url(self, scheme: str, user: str, path: str = "") -> str:
        """Its address with the credentials quoted."""
        login = f"{quote(user)}:{quote(self.password)}"
        return f"{scheme}://{login}@{self.machine.host}:{self.port}{path}"

    @property
    def running(self) -> bool:
        """Whether the process lives; it may still be getting ready."""
        return self._process is not None and self._process.exit_status() is None

    @property
    def pid(self) -> int | None:
        """Of the running server, else None."""
        return self._process.pid if self._process is not None and self.running else None

    async def start(self) -> None:
        """Returns once clients are served. No-op when it runs. Raises ServerStartError."""
        self.wanted = True
        if self.running:
            return
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        await self._outlive_predecessor()
        await self._prepare()
        begun_ms = self._clock.monotonic_ms()
        deadline_ms = begun_ms + self.start_timeout_ms
        last_words, attempts = "", 0
        while self._clock.monotonic_ms() < begun_ms + _START_ATTEMPTS_MS:
            attempts += 1
            process = self._process = ChildProcess(self._command(), self._clock)
            self._pid_file.write_text(str(process.pid))
            if await self._ready_before(process, deadline_ms):
                return
            if not self.wanted:
                raise ServerStartError(f"{self.name} was stopped while it started")
            last_words = process.last_words()
            # A predecessor that was killed may hold the port or its memory for a moment.
            await self._clock.sleep_ms(_ATTEMPT_PAUSE_MS)
        raise ServerStartError(
            f"{self.name} ended {attempts} times: {last_words}", where=str(self.directory)
        )

    async def stop(self) -> None:
        """Asks it to end in good order; kills it when that takes too long. Idempotent."""
        self.wanted = False
        if self._process is None:
            return
        self._process.send(self.stop_signal)
        if await self._process.wait(_STOP_TIMEOUT_MS) is None:
            await self.kill()
        self._pid_file.unlink(missing_ok=True)

    async def kill(self) -> None:
        """SIGKILL, reaped on return; the supervisor leaves it down until `start` or `restart`."""
        self.wanted = False
        if self._process is not None:
            self._process.kill()
            await self._process.wait(_STOP_TIMEOUT_MS)

    async def restart(self) -> None:
        """Stops it if it runs and starts it on the same port and data."""
        await self.stop()
        await self.start()

    async def _ready_before(self, process: ChildProcess, deadline_ms: int) -> bool:
        """False when the process ended; raises when it neither ends nor answers in time."""
        while process.exit_status() is None:
            if await self._answers():
                return True
            if self._clock.monotonic_ms() > deadline_ms:
                await self.kill()
                raise ServerStartError(
                    f"{self.name} does not answer after {self.start_timeout_ms} ms: "
                    f"{process.last_words()}",
                    where=str(self.directory),
                )
            await self._clock.sleep_ms(_PROBE_EVERY_MS)
        return False

    async def _outlive_predecessor(self) -> None:
        """Waits for a server that a killed supervisor left behind and that is on its way out."""
        if not self._pid_file.exists():
            return
        pid = int(self._pid_file.read_text() or 0)
        deadline_ms = self._clock.monotonic_ms() + _STOP_TIMEOUT_MS
        while pid and runs_for(pid, self.directory):
            if self._clock.monotonic_ms() > deadline_ms:
                os.kill(pid, signal.SIGKILL)
                deadline_ms += _STOP_TIMEOUT_MS
            await self._clock.sleep_ms(_PROBE_EVERY_MS)
        self._pid_file.unlink()

    @property
    def _pid_file(self) -> Path:
        return self.directory / "supervised.pid"

    @abstractmethod
    async def _prepare(self) -> None:
        """Writes what the server needs before it starts; repeatable."""

    @abstractmethod
    def _command(self) -> Command:
        """How to run it."""

    @abstractmethod
    async def _answers(self) -> bool:
        """Whether it serves clients now."""
