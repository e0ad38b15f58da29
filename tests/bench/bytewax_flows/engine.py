"""Bytewax in processes of its own: a flow runs once, and says how long it took and which rows
came."""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.bench.beside import BETWEEN
from tests.bench.siddhi.engine import Taken

ENVIRONMENT: Final = Path(sys.prefix) / "bytewax"
FLOWS: Final = Path(__file__).with_name("flows.py")
LOCK: Final = Path(__file__).with_name("requirements.lock")
NAMES: Final = {
    "q00": "auction bidder price dateTime extra",
    "q01": "auction bidder price dateTime extra",
    "q02": "auction price",
    "q03": "name city state id",
    "q07": "auction price bidder dateTime",
    "q11": "bidder bids",
    "q12": "bidder bids",
    "q17": "auction day bids low middle high least most mean total",
}
"""The queries that have a flow, and what its rows consist of."""
DEADLINE_S: Final = 900


class NoBytewaxError(Exception):
    """It is not installed, or a flow failed."""


@dataclass(frozen=True, slots=True)
class Way:
    """`objects` are made before the clock runs, of `csv` they are made within the time."""

    form: str
    processes: int


@dataclass(frozen=True, slots=True)
class Bytewax:
    """Flows over the files below `folder`/N, where there is one a stream for each of N processes;
    NoBytewaxError when a flow fails."""

    folder: Path
    last_ms: int

    def taken(self, query: str, way: Way) -> Taken:
        """From when the first batch was asked for to when the last process was done."""
        return taken_of(self._told(query, way, [Path("-")] * way.processes))

    def rows(self, query: str) -> str:
        """All rows of a run in one process, a line each, behind a line of their names."""
        file = self.folder / "rows"
        self._told(query, Way("csv", 1), [file])
        return NAMES[query].replace(" ", BETWEEN) + "\n" + file.read_text("utf-8")

    def _told(self, query: str, way: Way, rows: list[Path]) -> list[str]:
        addresses = ";".join(f"127.0.0.1:{port}" for port in free_ports(way.processes))
        processes = [
            subprocess.Popen(
                [
                    *(ENVIRONMENT / "bin" / "python", FLOWS, query),
                    *(self.folder / str(way.processes), str(self.last_ms), way.form),
                    *(str(number), str(way.processes), addresses, file),
                ],
                stdout=subprocess.PIPE, text=True,
            )
            for number, file in enumerate(rows)
        ]  # fmt: skip
        try:
            return [_answer(process, query) for process in processes]
        finally:
            for process in processes:
                process.kill()
                process.wait()


def _answer(process: subprocess.Popen[str], query: str) -> str:
    told, _ = process.communicate(timeout=DEADLINE_S)
    if process.returncode:
        raise NoBytewaxError(f"{query} failed in Bytewax")
    return told


def taken_of(told: list[str]) -> Taken:
    """Of what each process printed last, for Bytewax prints too: when it began, when it was done,
    its rows. Pure."""
    last = [map(float, text.splitlines()[-1].split()) for text in told]
    begun, ended, rows = zip(*last, strict=True)
    return Taken(max(ended) - min(begun), int(sum(rows)))


def free_ports(count: int) -> list[int]:
    """So many on this machine, as of now."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports


def ensure_installed() -> None:
    """NoBytewaxError where it is not, or not as the lock says."""
    installed = ENVIRONMENT / "installed.lock"
    if not installed.is_file() or installed.read_text() != LOCK.read_text():
        raise NoBytewaxError(f"Bytewax is missing: scripts/bytewax {ENVIRONMENT}")
