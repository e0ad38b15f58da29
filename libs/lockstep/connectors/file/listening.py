"""@source(type='fileeventlistener'): what happens to the files of a folder; one receiver looks.

What was seen is noted in the folder, in `.lockstep.<app>.<stream>.<number>`, before it is told. So
after a crash each event comes again under the same id, and what happened meanwhile comes behind.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lockstep.connectors.file.changes import Changes, Mark
from lockstep.connectors.file.source import path_of, refuse_closed, refuse_named
from lockstep.sources import Place, Received, Source

INTERVAL_MS: Final = 100
REST: Final = 4
"""So many times as long as a look takes is none, at least: large folders take a fifth of a core."""
MAX_FILES: Final = 20_000
"""Files and folders that one source looks at."""
_NOTES: Final = ".lockstep."


class FolderSource(Source):
    """Options: `dir.uri`, `file.name.list` (all), `monitoring.interval` (100 ms)."""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._folder = path_of(options["dir.uri"])
        refuse_named(self._folder)
        names = (one.strip() for one in options.get("file.name.list", "").split(","))
        self._wanted = tuple(name.strip("/") for name in names if name)
        self._interval_ms = int(options.get("monitoring.interval", INTERVAL_MS))
        self._note = self._folder / f"{_NOTES}{place.app}.{place.stream}.{place.number}"
        self._clock = place.clock
        self._changes: Changes | None = None
        self._begun_ms = 0
        self._next = 0
        self._told: list[tuple[str, str]] = []
        self._given = self._unacknowledged = 0
        self._look_at_ms = 0

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        """Asked without a wait it looks at once; else when the rest after a look is over."""
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        while True:
            begun_ms = self._clock.monotonic_ms()
            rest_ms = min(self._look_at_ms, deadline_ms) - begun_ms
            if rest_ms > 0:
                await self._clock.sleep_ms(rest_ms)
                begun_ms += rest_ms
            if wait_ms and begun_ms < self._look_at_ms:
                return ()
            found = await asyncio.to_thread(self._some, max_messages)
            now_ms = self._clock.monotonic_ms()
            rest_ms = max(self._interval_ms, REST * (now_ms - begun_ms))
            self._look_at_ms = now_ms if found else now_ms + rest_ms
            if found or not wait_ms:
                return found

    async def close(self) -> Sequence[Received]:
        await asyncio.to_thread(self._settle)
        return ()

    def _some(self, max_messages: int) -> list[Received]:
        refuse_closed(self._folder)
        self._settle()
        changes = self._changes or self._load()
        if not self._told:
            self._told = changes.look(self._marks(), self._clock.monotonic_ms())
            if self._told:
                self._save(changes)
        self._given = self._unacknowledged = min(len(self._told), max_messages)
        return [
            self._message(self._next + number, *event)
            for number, event in enumerate(self._told[: self._given])
        ]

    def _message(self, number: int, name: str, status: str) -> Received:
        async def acknowledge() -> None:
            self._unacknowledged -= 1

        path = self._folder / name
        row = (str(path), path.name, status)
        properties = dict(zip(("file.path", "file.name", "status"), row, strict=True))
        return Received(
            json.dumps(row).encode(), properties, f"{self._begun_ms}:{number}", acknowledge
        )

    def _marks(self) -> dict[str, Mark]:
        """The files and folders that are looked at, by their paths in the folder; OSError."""
        if not self._folder.is_dir():
            raise NotADirectoryError(f"{self._folder} is no folder on the receiver's machine")
        found: dict[str, Mark] = {}
        for entry in self._entries(self._folder):
            try:
                status = entry.stat(follow_symlinks=False)
                is_folder = entry.is_dir(follow_symlinks=False)
            except FileNotFoundError:  # it went in the meantime
                continue
            name = os.path.relpath(entry.path, self._folder)
            found[name] = Mark(status.st_mtime_ns, 0 if is_folder else status.st_size, is_folder)
            if len(found) > MAX_FILES:
                raise OSError(f"{self._folder} has more than {MAX_FILES} files: name some of them")
        return found

    def _entries(self, folder: Path | str) -> Iterator[os.DirEntry[str]]:
        """Links are not followed. A folder that went in the meantime has nothing in it."""
        try:
            entries = list(os.scandir(folder))
        except FileNotFoundError:
            return
        for entry in entries:
            name = os.path.relpath(entry.path, self._folder)
            is_looked_at = not name.startswith(_NOTES) and self._is_wanted(name)
            if is_looked_at:
                yield entry
            leads_there = any(one.startswith(f"{name}/") for one in self._wanted)
            if (is_looked_at or leads_there) and entry.is_dir(follow_symlinks=False):
                yield from self._entries(entry.path)

    def _is_wanted(self, name: str) -> bool:
        return not self._wanted or any(
            name == one or name.startswith(f"{one}/") for one in self._wanted
        )

    def _load(self) -> Changes:
        try:
            note: dict[str, Any] = json.loads(self._note.read_text())
        except FileNotFoundError:
            note = {"begun_ms": self._clock.now_ms(), "next": 0, "told": [], "known": {}}
        self._begun_ms, self._next = note["begun_ms"], note["next"]
        self._told = [(name, status) for name, status in note["told"]]
        self._changes = Changes({name: Mark(*mark) for name, mark in note["known"].items()})
        return self._changes

    def _settle(self) -> None:
        """What was taken is not told again."""
        if self._changes is None or self._unacknowledged or not self._given:
            return
        self._next += self._given
        self._told = self._told[self._given :]
        self._given = 0
        self._save(self._changes)

    def _save(self, changes: Changes) -> None:
        note = {
            "begun_ms": self._begun_ms, "next": self._next, "told": self._told,
            "known": changes.known,
        }  # fmt: skip
        aside = self._note.with_name(self._note.name + ".new")
        aside.write_text(json.dumps(note))
        aside.replace(self._note)
