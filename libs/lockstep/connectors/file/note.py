"""How far a file source has come: a note beside its files, which the next reader goes on from.

A file system gives the number of a removed file to the next one. So a file has a turn, too, which
no other file with that number had: it is noted before the first message is given out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

DONE: Final = -1
TOO_LARGE: Final = -2
"""Of a file that cannot be a message: that was told, and nothing of it was taken."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Of one file: its turn, and where to go on; DONE or TOO_LARGE when there is no more to come,
    and `changed_ns`, when it was written last by then."""

    turn: int
    at: int
    changed_ns: int = 0

    def name(self, mark: str) -> str:
        """Among all files that there ever were; 0 is the turn of those that had none."""
        return f"{mark}.{self.turn:x}" if self.turn else mark


class Note:
    """By the marks of files: device and number. Errors: OSError, ValueError."""

    def __init__(self, path: Path, now_ms: Callable[[], int]) -> None:
        self._path = path
        self._now_ms = now_ms
        self._files: dict[str, Reached] = {}
        self._last_turn = 0
        self._is_read = False

    def of(self, mark: str) -> Reached | None:
        """None for a file that was not seen before."""
        self._read()
        return self._files.get(mark)

    def begin(self, mark: str) -> Reached:
        """A file that is new, or that was emptied; durable when this returns."""
        self._read()
        self._last_turn = max(self._last_turn + 1, self._now_ms())
        self._files[mark] = Reached(self._last_turn, 0)
        self._save()
        return self._files[mark]

    def move(self, mark: str, at: int) -> None:
        """All before that place is taken."""
        self._read()
        self._files[mark] = replace(self._files[mark], at=at)
        self._save()

    def end(self, mark: str, changed_ns: int, at: int = DONE) -> None:
        """There is no more to come."""
        self._read()
        self._files[mark] = replace(self._files[mark], at=at, changed_ns=changed_ns)
        self._save()

    def forget(self, mark: str) -> None:
        """The file is gone."""
        self._read()
        if self._files.pop(mark, None) is not None:
            self._save()

    def keep(self, marks: Collection[str]) -> None:
        """The others are gone."""
        self._read()
        if not self._files.keys() <= set(marks):
            self._files = {mark: one for mark, one in self._files.items() if mark in marks}
            self._save()

    def _read(self) -> None:
        if self._is_read:
            return
        try:
            found: Mapping[str, Any] = json.loads(self._path.read_text())
        except FileNotFoundError:
            found = {}
        files = found.get("files")
        if files is None:  # a note of an earlier version: places alone
            self._files = {mark: Reached(0, int(at)) for mark, at in found.items()}
        else:
            marks = self._renumbered(found.get("home", (0, 0)))
            self._files = {marks(mark): Reached(*map(int, one)) for mark, one in files.items()}
            self._last_turn = int(found["last_turn"])
        self._is_read = True

    def _renumbered(self, home: Sequence[int]) -> Callable[[str], str]:
        """Marks as they are now. A start of the machine, or of a mount, may give a device another
        number. The note is the same file then; in a copy of the folder it is not."""
        device, number = home
        now = self._path.stat()
        if number != now.st_ino or device == now.st_dev:
            return lambda mark: mark
        old, new = f"{device:x}.", f"{now.st_dev:x}."
        return lambda mark: new + mark.removeprefix(old) if mark.startswith(old) else mark

    def _save(self) -> None:
        files = {mark: [one.turn, one.at, one.changed_ns] for mark, one in self._files.items()}
        aside = self._path.with_name(self._path.name + ".new")
        with aside.open("w") as file:
            home = os.fstat(file.fileno())
            said = {"last_turn": self._last_turn, "files": files}
            json.dump({**said, "home": [home.st_dev, home.st_ino]}, file)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(self._path)
