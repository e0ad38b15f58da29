"""Figures of apps in files: a line per write, a file per hour of fine ones and per day of coarse
ones. Failovers are one file: they are few."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from lockstep.events import UnavailableError
from lockstep.events.typed import from_json
from lockstep.store.contract import Stale, Written
from lockstep.store.figures import (
    Failover,
    FigureRow,
    Grain,
    last_of_each,
    newest_first,
    staying,
)
from lockstep.store.filesystem.epochs import passes
from lockstep.store.filesystem.files import ends_whole, locked, read_file, write_file
from lockstep.store.filesystem.threads import on_thread

FILE_MS: Final = {Grain.FINE: 3_600_000, Grain.COARSE: 86_400_000}


class FileFigures:
    """See contract.FiguresKept."""

    def __init__(self, folder: Path, deployments: Path) -> None:
        """`deployments`: the folder whose epoch guards the writes."""
        self._folder = folder
        self._deployments = deployments

    @on_thread
    def add(self, grain: Grain, rows: Sequence[FigureRow], *, epoch: int) -> Written | Stale:
        by_file: dict[int, list[FigureRow]] = {}
        for row in rows:
            by_file.setdefault(row.at_ms // FILE_MS[grain], []).append(row)
        with locked(self._deployments):
            stale = passes(self._deployments, epoch)
            if stale is not None:
                return stale
            with locked(self._folder):
                for number, within in by_file.items():
                    self._append(self._folder / grain / f"{number:09d}.jsonl", within)
            return Written()

    @staticmethod
    def _append(path: Path, rows: Sequence[FigureRow]) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("ab") as file:
                if file.tell() and not ends_whole(path):
                    file.write(b"\n")  # behind what a crash cut short
                file.write(msgspec.json.encode(rows) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UnavailableError(f"cannot write {path}: {error.strerror}") from error

    @on_thread
    def read(
        self, grain: Grain, apps: Sequence[str] | None, from_ms: int, to_ms: int
    ) -> Sequence[FigureRow]:
        wanted, found = frozenset(apps or ()), dict[tuple[str, int], FigureRow]()
        length = FILE_MS[grain]
        for path in self._paths(grain):
            if from_ms // length <= int(path.stem) <= (to_ms - 1) // length:
                for row in _rows(path):
                    if (apps is None or row.app in wanted) and from_ms <= row.at_ms < to_ms:
                        found.setdefault((row.app, row.at_ms), row)
        return [row for _, row in sorted(found.items())]

    @on_thread
    def ends(self, grain: Grain) -> tuple[int, int] | None:
        paths = self._paths(grain)
        first = [row.at_ms for row in _rows(paths[0])] if paths else []
        last = [row.at_ms for row in _rows(paths[-1])] if paths else []
        return (min(first), max(last)) if first and last else None

    @on_thread
    def trim(self, grain: Grain, before_ms: int) -> None:
        with locked(self._folder):
            for path in self._paths(grain):
                if (int(path.stem) + 1) * FILE_MS[grain] <= before_ms:
                    path.unlink()

    def _paths(self, grain: Grain) -> list[Path]:
        return sorted((self._folder / grain).glob("*.jsonl"))


def _rows(path: Path) -> Iterator[FigureRow]:
    """Lines that a crash cut short are left out."""
    for line in path.read_bytes().splitlines():
        try:
            yield from from_json(line, list[FigureRow])
        except msgspec.DecodeError:
            continue


class FileFailovers:
    """See contract.Failovers."""

    def __init__(self, folder: Path, deployments: Path) -> None:
        """`deployments`: the folder whose epoch guards the writes."""
        self._folder = folder
        self._deployments = deployments
        self._path = folder / "failovers.json"

    @on_thread
    def note(self, found: Sequence[Failover], *, epoch: int) -> Written | Stale:
        with locked(self._deployments):
            stale = passes(self._deployments, epoch)
            if stale is not None:
                return stale
            with locked(self._folder):
                there = self._all()
                known = {(one.unit, one.term) for one in there}
                new = [one for one in found if (one.unit, one.term) not in known]
                write_file(self._path, msgspec.json.encode([*there, *new]))
            return Written()

    @on_thread
    def read(
        self, from_ms: int, to_ms: int, *, limit: int, app: str | None = None
    ) -> Sequence[Failover]:
        return newest_first(self._all(), from_ms, to_ms, limit=limit, app=app)

    @on_thread
    def last(self) -> Sequence[Failover]:
        return list(last_of_each(self._all()).values())

    @on_thread
    def trim(self, before_ms: int, layouts: Mapping[str, int]) -> int:
        with locked(self._folder):
            there = self._all()
            stays = staying(there, before_ms, layouts)
            if len(stays) < len(there):
                write_file(self._path, msgspec.json.encode(stays))
            return len(there) - len(stays)

    def _all(self) -> list[Failover]:
        content = read_file(self._path)
        return [] if content is None else from_json(content, list[Failover])
