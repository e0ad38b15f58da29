"""Siddhi in a process of its own: it opens an app, takes records of events, and says how long it
took and how many rows came."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from lockstep.embedded import java_home
from lockstep.events.codec import EncodedEntry
from lockstep.events.columns import EventColumns

JARS: Final = Path(sys.prefix) / "siddhi"
LOCK: Final = Path(__file__).with_name("jars.lock")
DRIVER: Final = Path(__file__).with_name("Driver.java")
HEAP: Final = "-Xmx6g"
MAX_LINE_BYTES: Final = 10_000


class NoSiddhiError(Exception):
    """Its jars are not there, or it ended."""


class NotInSiddhiError(Exception):
    """It does not take this app."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What sending took, and how many rows came."""

    seconds: float
    rows: int


class Siddhi:
    """Use `siddhi`. NoSiddhiError when the process ended."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._files = itertools.count()

    def open(self, text: str) -> None:
        """An app; rows of its stream Out are counted. NotInSiddhiError."""
        file = self._folder / f"app-{next(self._files)}.siddhi"
        file.write_text(text, "utf-8")
        if (said := self._ask(f"open {file}")) != "open":
            raise NotInSiddhiError(said)

    def send(self, entries: Sequence[EncodedEntry], together: int, *, decodes: bool) -> Taken:
        """All events of the records, so many in one call; `decodes`: they are made of their bytes
        within the time."""
        file = self._folder / f"events-{next(self._files)}"
        with file.open("wb") as written:
            for entry in entries:
                written.write(bytes_of(entry))
        command = "decode" if decodes else "send"
        nanoseconds, rows = self._ask(f"{command} {file} {together}").split()
        file.unlink()
        return Taken(int(nanoseconds) / 1e9, int(rows))

    def close(self) -> None:
        """Ends the app."""
        self._ask("close")

    def _ask(self, command: str) -> str:
        taking, giving = self._process.stdin, self._process.stdout
        assert taking is not None
        assert giving is not None
        taking.write(command + "\n")
        taking.flush()
        if not (answer := giving.readline(MAX_LINE_BYTES).strip()):
            raise NoSiddhiError(f"Siddhi ended at {command.split()[0]!r}: see {self._folder}/log")
        return answer


def bytes_of(entry: EncodedEntry) -> bytes:
    """A record of events as the driver reads it. Nulls are not among them."""
    columns = entry.columns()
    assert isinstance(columns, EventColumns)
    name = columns.stream.encode()
    parts = [_integer(len(name)), name, _integer(len(columns))]
    parts.append(columns.timestamps().to_numpy().tobytes())
    return b"".join([*parts, *map(_column, columns.batch.columns)])


def _integer(value: int) -> bytes:
    return value.to_bytes(4, "little")


def _column(column: pa.Array) -> bytes:
    if not pa.types.is_string(column.type):
        return bytes(column.to_numpy().tobytes())
    texts = [one.encode() for one in column.to_pylist()]
    return np.array([len(one) for one in texts], "<i4").tobytes() + b"".join(texts)


def compile_driver(classes: Path) -> None:
    """Into that folder. NoSiddhiError where jars are missing."""
    wanted = [line.split("/")[-1] for line in LOCK.read_text().splitlines() if line[:1] != "#"]
    if missing := [name for name in wanted if not (JARS / name).is_file()]:
        raise NoSiddhiError(f"{len(missing)} jars of Siddhi are missing: scripts/siddhi {JARS}")
    (compiler,) = JARS.glob("ecj-*.jar")
    path = ":".join(str(jar) for jar in sorted(JARS.glob("*.jar")))
    subprocess.run(
        [
            *(_java(), "-jar", str(compiler), "-17", "-proc:none", "-cp", path),
            *("-d", str(classes), str(DRIVER)),
        ],
        check=True,
    )


@contextmanager
def siddhi(classes: Path, folder: Path) -> Iterator[Siddhi]:
    """It runs within the block, by the compiled driver; its files and its log are in `folder`."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [_java(), HEAP, "-cp", f"{classes}:{JARS}/*", "Driver"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        try:
            yield Siddhi(process, folder)
        finally:
            process.kill()
            process.wait()


def _java() -> str:
    return str(java_home() / "bin" / "java")
