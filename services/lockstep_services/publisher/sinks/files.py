"""@sink(type='file') whose `file.uri` depends on the row: many files, each as FileLane keeps one.

Each file has its own note and lock. So order, restart and what was written twice are settled file
by file, and a batch that comes again goes to each file only as far as it is missing there.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from lockstep.events import OutputId, OutputRow, UnavailableError
from lockstep.mapping import MappingError, MessageWriter
from lockstep.schemas import SchemaUser
from lockstep.secrets import is_closed
from lockstep_services.publisher.contract import RefusedRow, SinkBinding, event_of
from lockstep_services.publisher.sinks.file import FileLane, note_suffix, path_of

OPEN_FILES: Final = 64
"""Of one sink at a time; what was written to longest ago is closed for another one."""
LONGEST_NAME_BYTES: Final = 255
"""Of a file, on the file systems of Linux; the names of its note and lock are longer than its."""
_ADDED: Final = len("..lock.new")


class _NameError(Exception):
    """A row that names no file within the folder."""


class FilesLane:
    """Options as FileLane's. The folder in front of the first `{{…}}` is never left."""

    at_once = None
    takes_again = False  # a note knows the last identity alone
    gathering = None
    is_ahead = False

    def __init__(
        self, binding: SinkBinding, writer: MessageWriter, options: Mapping[str, str]
    ) -> None:
        parts = path_of(options["file.uri"]).parts
        first = next((number for number, part in enumerate(parts) if "{{" in part), None)
        if first is None:
            raise ValueError("what stands behind '?' or '#' is no part of a file's name")
        self._folder, self._parts = Path(*parts[:first]), parts[first:]
        self._binding, self._writer, self._options = binding, writer, options
        self._suffix = note_suffix(binding)
        self._longest_bytes = LONGEST_NAME_BYTES - len(self._suffix) - _ADDED
        self._lanes: dict[Path, FileLane] = {}
        self._done: set[OutputId] = set()
        self._is_anew = False

    @property
    def schema_user(self) -> SchemaUser | None:
        return self._writer.schema_user

    async def open(self) -> None:
        """Files are opened when a row names them: their notes are read then."""
        await self.close()
        self.forget()

    async def send(self, rows: Sequence[OutputRow]) -> Sequence[RefusedRow]:
        """Appends to each file what it does not hold yet. A file that is away holds up no other."""
        if self._is_anew:
            await asyncio.to_thread(self._forget_notes)
        refused: list[RefusedRow] = []
        shares: dict[Path, list[OutputRow]] = {}
        for row in rows:
            try:
                shares.setdefault(self._path_for(row), []).append(row)
            except (MappingError, _NameError) as error:
                refused.append(RefusedRow(row, str(error)))
        trouble: UnavailableError | None = None
        for path, share in shares.items():
            if path not in self._lanes and await asyncio.to_thread(is_closed, path):
                refused += [RefusedRow(row, f"{path} is not for apps") for row in share]
                continue
            try:
                lane = await self._lane_of(path)
                left = await lane.send(share)
            except UnavailableError as error:
                trouble = trouble or error
                continue
            refused += left
            if not left:
                self._done.update(row.id for row in share)
        if trouble is not None:
            raise trouble  # what was refused is asked again: it is not buried yet
        return refused

    def has(self, row: OutputRow) -> bool:
        return row.id in self._done

    def forget(self) -> None:
        self._done.clear()

    def begin_again(self) -> None:
        self.forget()
        self._is_anew = True

    async def close(self) -> None:
        """Closes all files."""
        lanes, self._lanes = self._lanes, {}
        for lane in lanes.values():
            await lane.close()

    async def _lane_of(self, path: Path) -> FileLane:
        """The open file of that path; it counts as used last."""
        lane = self._lanes.pop(path, None)
        if lane is None:
            while len(self._lanes) >= OPEN_FILES:
                await self._lanes.pop(next(iter(self._lanes))).close()
            lane = FileLane(self._binding, self._writer, self._options, path)
        self._lanes[path] = lane
        return lane

    def _path_for(self, row: OutputRow) -> Path:
        event = event_of(row)
        return self._folder.joinpath(
            *(self._checked(self._writer.fill(part, event)) for part in self._parts)
        )

    def _checked(self, name: str) -> str:
        """A name of a file or folder. A dot in front is kept for notes, and `..` leads out."""
        if not name or name.startswith(".") or "/" in name or min(name) < " ":
            raise _NameError(
                f"{name!r} is no file's name: no '/', no control character, no '.' in front"
            )
        try:
            size_bytes = len(os.fsencode(name))
        except UnicodeEncodeError:
            raise _NameError(f"{name!r} is no file's name: it is no text") from None
        if size_bytes > self._longest_bytes:
            raise _NameError(f"a file's name is {size_bytes} bytes, of {self._longest_bytes}")
        return name

    def _forget_notes(self) -> None:
        """The log is another one: each file goes on with its first row, also those not open."""
        for lane in self._lanes.values():
            lane.begin_again()
        for note in self._folder.rglob(f".*{self._suffix}"):
            note.unlink(missing_ok=True)
        self._is_anew = False
