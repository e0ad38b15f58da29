"""Flink SQL in a process of its own: it takes statements, and says how long a query took or which
rows stood at its end."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lockstep.embedded import java_home

JARS: Final = Path(sys.prefix) / "flink"
LOCK: Final = Path(__file__).with_name("jars.lock")
DRIVER: Final = Path(__file__).with_name("Driver.java")
HEAP: Final = "-Xmx6g"
PARALLELISM: Final = 2
MAX_LINE_BYTES: Final = 100_000
# Flink reaches into Java's own classes, and its launcher opens them with these too.
OPENED: Final = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.util", "java.util.concurrent", "java.net", "java.text")
)


class NoFlinkError(Exception):
    """Its jars are not there, or it ended."""


class NotInFlinkError(Exception):
    """It does not take this query."""


class Flink:
    """Use `flink`. NoFlinkError when the process ended."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._folder = folder
        self._files = itertools.count()

    def seconds(self, statements: str) -> float:
        """From when the first task ran to when the last one had finished; the query's changes go to
        a blackhole. NotInFlinkError."""
        return int(self._ask("run", self._written(statements))) / 1000

    def standing(self, statements: str) -> tuple[int, str]:
        """(how many changes the query gave, the rows that stand at its end). NotInFlinkError."""
        rows = self._folder / f"rows-{next(self._files)}"
        changes = int(self._ask("check", self._written(statements), rows))
        text = rows.read_text("utf-8")
        rows.unlink()
        return changes, text

    def _written(self, statements: str) -> Path:
        file = self._folder / f"query-{next(self._files)}.sql"
        file.write_text(statements, "utf-8")
        return file

    def _ask(self, *command: object) -> str:
        taking, giving = self._process.stdin, self._process.stdout
        assert taking is not None
        assert giving is not None
        taking.write(" ".join(map(str, command)) + "\n")
        taking.flush()
        if not (answer := giving.readline(MAX_LINE_BYTES).strip()):
            raise NoFlinkError(f"Flink ended at {command[0]!r}: see {self._folder}/log")
        if answer.startswith("refused: "):
            raise NotInFlinkError(answer)
        return answer


def compile_driver(classes: Path) -> None:
    """Into that folder. NoFlinkError where jars are missing."""
    wanted = [line.split("/")[-1] for line in LOCK.read_text().splitlines() if line[:1] != "#"]
    if missing := [name for name in wanted if not (JARS / name).is_file()]:
        raise NoFlinkError(f"{len(missing)} jars of Flink are missing: scripts/flink {JARS}")
    (compiler,) = JARS.glob("ecj-*.jar")
    path = ":".join(str(jar) for jar in sorted(JARS.glob("*.jar")))
    subprocess.run(
        [
            *(_java(), "-jar", str(compiler), "-17", "-proc:none", "-nowarn", "-cp", path),
            *("-d", str(classes), str(DRIVER)),
        ],
        check=True,
    )


@contextmanager
def flink(classes: Path, folder: Path) -> Iterator[Flink]:
    """It runs within the block, by the compiled driver; its files and its log are in `folder`."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [
                *(_java(), HEAP, *OPENED, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"),
                *(f"-Djava.io.tmpdir={folder}", "-cp", f"{classes}:{JARS}/*", "Driver"),
                str(PARALLELISM),
            ],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
        )  # fmt: skip
        try:
            yield Flink(process, folder)
        finally:
            process.kill()
            process.wait()


def _java() -> str:
    return str(java_home() / "bin" / "java")
