"""One child process: started through the launcher, killed for certain, reaped, never orphaned."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lockstep.clock import Clock

_POLL_MS = 5
_LAUNCHER = Path(__file__).with_name("launch.py")
_TAIL_BYTES = 2_000


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a server runs as when the supervisor is root."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a process runs: the address it listens on, and the command in front of its own that
    takes it there (`nsenter …`, for a network namespace)."""

    host: str = "127.0.0.1"
    through: tuple[str, ...] = ()


THIS_MACHINE: Final = Machine()


@dataclass(frozen=True, slots=True)
class Command:
    """What to run; `reach` are the paths that `account` must get at. `through` must become the
    command, not its parent."""

    arguments: Sequence[str]
    log: Path
    death_signal: signal.Signals = signal.SIGTERM
    account: Account | None = None
    reach: Sequence[Path] = field(default=())
    through: Sequence[str] = field(default=())


class ChildProcess:
    """A running child. Start it from a thread that lives as long as it shall: Linux sends the
    death signal when the starting *thread* ends."""

    def __init__(self, command: Command, clock: Clock) -> None:
        self._clock = clock
        self._log = command.log
        with command.log.open("ab") as log:
            self._popen = subprocess.Popen(
                _launched(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # Neither PYTHON* nor LOCKSTEP_* nor proxies are a server's business.
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
            )

    @property
    def pid(self) -> int:
        """Of the server itself, as the launcher becomes it."""
        return self._popen.pid

    def exit_status(self) -> int | None:
        """None while it runs; negative for the signal that ended it. Reaps."""
        return self._popen.poll()

    def send(self, signal_number: signal.Signals) -> None:
        """Sends a signal to the server; nothing when it has ended."""
        self._popen.send_signal(signal_number)

    def kill(self) -> None:
        """SIGKILL for it and what it has started; returns at once."""
        for pid in [*descendants(self.pid), self.pid]:
            if self.exit_status() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    async def wait(self, timeout_ms: int) -> int | None:
        """Its exit status, or None when it still runs after `timeout_ms`."""
        deadline_ms = self._clock.monotonic_ms() + timeout_ms
        while self.exit_status() is None and self._clock.monotonic_ms() < deadline_ms:
            await self._clock.sleep_ms(_POLL_MS)
        return self.exit_status()

    def last_words(self) -> str:
        """The end of its log, for error messages."""
        with self._log.open("rb") as log:
            log.seek(max(0, self._log.stat().st_size - _TAIL_BYTES))
            return log.read().decode("utf-8", "replace").strip()


def descendants(pid: int) -> list[int]:
    """Children of `pid` and theirs, where the system tells (Linux); deepest first."""
    listing = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        children = [int(child) for child in listing.read_text().split()]
    except OSError:
        return []
    return [each for child in children for each in [*descendants(child), child]]


def runs_for(pid: int, directory: Path) -> bool:
    """True when process `pid` lives and was started for `directory`."""
    try:
        command_line = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return False
    return str(directory) in command_line


def tied_to_parent(
    arguments: Sequence[str], death_signal: signal.Signals, machine: Machine = THIS_MACHINE
) -> list[str]:
    """The command such that it gets `death_signal` when the thread that starts it ends."""
    return _launched(Command(arguments, Path(os.devnull), death_signal, through=machine.through))


def _launched(command: Command) -> list[str]:
    launcher = [sys.executable, "-I", "-S", str(_LAUNCHER)]
    options = ["--parent", str(os.getpid()), "--death-signal", str(int(command.death_signal))]
    if command.account is not None:
        options += ["--account", f"{command.account.uid}:{command.account.gid}"]
        for path in command.reach:
            options += ["--reach", str(path)]
    return [*command.through, *launcher, *options, "--", *command.arguments]
