"""@sink(type='file'): a line a message; a note beside the file says what stands in it.

The note is written before the lines: how far the file went, how much is added, and the identity of
the last row in it. So who opens the file after a crash knows whether the lines came through, and no
row stands in it twice, whatever the lines look like. A file that is renamed (by logrotate) is
followed by a new one, also while it is open; a torn one is mended where it is now, also in a folder
that was copied to another disk, if lines stood in it before.

A publisher that has lost its lease may still be writing when the next one begins. So both look at
the note and write behind it under one lock, and a row that the other has written is passed over.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec

from lockstep.events import OutputId, OutputRow, UnavailableError
from lockstep.events.typed import from_json
from lockstep.mapping import MappingError, MessageWriter
from lockstep.schemas import SchemaUser
from lockstep.secrets import is_closed
from lockstep.secrets.closed import HINT
from lockstep_services.publisher.contract import (
    RefusedRow,
    SinkBinding,
    SinkSetupError,
    event_of,
)
from lockstep_services.publisher.sinks.lanes import identities

T = TypeVar("T")
TAIL_BYTES = 4_096


def path_of(uri: str) -> Path:
    """The path that `file:` or a plain path names; places of a template stay as they are."""
    return Path(unquote(urlsplit(uri).path) if uri.startswith("file:") else uri)


def note_suffix(binding: SinkBinding) -> str:
    """Behind a file's name: what tells the notes of a sink from those of others."""
    return "." + "".join(c if c.isalnum() or c in "._-" else "_" for c in binding.key)


class _Note(msgspec.Struct, frozen=True):
    """What was to be added: bytes [begin, end) of a file, and the identities before and behind.
    `tail`: a digest of what stood in front, so a copied file is known, where numbers are others'.
    """

    begin: int
    end: int
    before: tuple[int, int] | None
    behind: tuple[int, int]
    inode: int = 0  # of older releases: that of the file at its path
    tail: str = ""  # of older releases, and at the beginning of a file


class FileLane:
    """Options: `file.uri` (file:/path or a path), `add.line.separator` (true).

    Without `@map` a line is JSON with the row's identity, time and values. `path`: the file, where
    `file.uri` names many. SinkSetupError where links lead to what is not for apps.
    """

    at_once = None
    takes_again = False  # a note knows the last identity alone
    gathering = None
    is_ahead = False

    def __init__(
        self,
        binding: SinkBinding,
        writer: MessageWriter,
        options: Mapping[str, str],
        path: Path | None = None,
    ) -> None:
        self._path = path_of(options["file.uri"]) if path is None else path
        self._note_path = self._path.with_name(f".{self._path.name}{note_suffix(binding)}")
        self._lock_path = self._note_path.with_name(f"{self._note_path.name}.lock")
        self._note: _Note | None = None
        self._separates = options.get("add.line.separator", "true").strip().lower() == "true"
        self._binding = binding
        self._writer = writer
        self._file: IO[bytes] | None = None
        self._last: OutputId | None = None

    @property
    def schema_user(self) -> SchemaUser | None:
        return self._writer.schema_user

    async def open(self) -> None:
        await self._off_loop(self._open)

    async def send(self, rows: Sequence[OutputRow]) -> Sequence[RefusedRow]:
        """Appends what the file does not hold yet; on disk when it returns."""
        return await self._off_loop(lambda: self._send(rows))

    def has(self, row: OutputRow) -> bool:
        return self._last is not None and row.id <= self._last

    def forget(self) -> None:
        """The note remembers."""

    def begin_again(self) -> None:
        self._last = None

    async def close(self) -> None:
        """Closes the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    async def _off_loop(self, work: Callable[[], T]) -> T:
        def alone() -> T:
            if is_closed(self._path):
                where = self._binding.key
                raise SinkSetupError(f"{self._path} is not for apps", where=where, hint=HINT)
            with _locked(self._path, self._lock_path):
                return work()

        try:
            return await asyncio.to_thread(alone)
        except OSError as error:
            raise UnavailableError(f"{self._path}: {error.strerror}") from error

    def _send(self, rows: Sequence[OutputRow]) -> Sequence[RefusedRow]:
        if self._noted() != self._note:
            self._open()
        self._follow()
        refused: list[RefusedRow] = []
        lines: list[bytes] = []
        fresh = [row for row in rows if not self.has(row)]
        for row in fresh:
            try:
                lines.append(self._line(row))
            except MappingError as error:
                refused.append(RefusedRow(row, error.message))
        # The last identity would pass over refused rows: the others come again without them.
        if lines and not refused:
            self._append(b"".join(lines), fresh[-1].id)
        return refused

    def _line(self, row: OutputRow) -> bytes:
        event = event_of(row)
        if self._writer.is_plain:
            line = {
                "id": f"{row.id.position}.{row.id.ordinal}",
                "timestamp_ms": row.timestamp_ms,
                "event": self._writer.named(event),
            }
            payload = msgspec.json.encode(line, enc_hook=str)
        else:
            payload = self._writer.write([event], identities(self._binding, self._writer, [row]))
        return payload if not self._separates or payload.endswith(b"\n") else payload + b"\n"

    def _open(self) -> None:
        # Whatever fails below: the next try opens it again, and writes to no file that is closed.
        old, self._file = self._file, None
        if old is not None:
            old.close()
        file = self._path.open("a+b")
        try:
            last = self._begun(file)
        except OSError:
            with contextlib.suppress(OSError):
                file.close()
            raise
        self._last = None if last is None else OutputId(*last)
        self._file = file

    def _begun(self, file: IO[bytes]) -> tuple[int, int] | None:
        """The identity of the last row in it, of which nothing torn is left."""
        note = self._note = self._noted()
        last = None
        if note is not None:
            if note.inode in (0, os.fstat(file.fileno()).st_ino):
                torn = _cut(file, note)
            else:
                torn = _cut_elsewhere(file, self._path.parent, note)
            last = note.before if torn else note.behind
        if self._separates:
            _end_last_line(file)
        self._writer.begin_file(is_empty=file.seek(0, os.SEEK_END) == 0)
        return last

    def _follow(self) -> None:
        """The file at the path is the one to write to, also if it was renamed since."""
        if self._file is None:
            self._open()
            return
        open_now = os.fstat(self._file.fileno())
        try:
            is_there = self._path.stat().st_ino == open_now.st_ino
        except FileNotFoundError:
            is_there = False
        if is_there:
            # The writer may have written to another file in between.
            self._writer.begin_file(is_empty=open_now.st_size == 0)
            return
        last = self._last  # it stands in the old file
        self._open()
        self._last = last

    def _noted(self) -> _Note | None:
        try:
            return from_json(self._note_path.read_bytes(), _Note)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def _append(self, data: bytes, behind: OutputId) -> None:
        if self._file is None:
            self._open()
        assert self._file is not None
        begin = self._file.seek(0, os.SEEK_END)
        before = None if self._last is None else (self._last.position, self._last.ordinal)
        inode = os.fstat(self._file.fileno()).st_ino
        after = (behind.position, behind.ordinal)
        tail = _tail(self._file, begin)
        self._write_note(_Note(begin, begin + len(data), before, after, inode, tail))
        try:
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            # Opened again, it is cut back to where it was.
            file, self._file = self._file, None
            with contextlib.suppress(OSError):
                file.close()
            raise
        self._last = behind

    def _write_note(self, note: _Note) -> None:
        fresh = self._note_path.with_name(f"{self._note_path.name}.new")
        with fresh.open("wb") as file:
            file.write(msgspec.json.encode(note))
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._note_path)
        self._note = note


@contextlib.contextmanager
def _locked(path: Path, lock_path: Path) -> Iterator[None]:
    """Nobody else writes to the file meanwhile. UnavailableError while somebody does; the system
    forgets a lock whose holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with lock_path.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UnavailableError(f"{path}: another publisher is writing to it") from None
        yield


def _cut(file: IO[bytes], note: _Note) -> bool:
    """Whether what the note announces is there in part or not at all; then it is taken back."""
    torn = note.begin <= file.seek(0, os.SEEK_END) < note.end
    if torn:
        file.truncate(note.begin)
    return torn


def _cut_elsewhere(at_path: IO[bytes], folder: Path, note: _Note) -> bool:
    """It was renamed, or it came here as a copy. Where the file of the note is gone altogether, so
    are its rows, by somebody's wish."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.inode() == note.inode and entry.is_file(follow_symlinks=False):
                with Path(entry.path).open("r+b") as file:
                    if _tail(file, note.begin) == note.tail or not note.tail:
                        return _cut(file, note)
    return bool(note.tail) and _tail(at_path, note.begin) == note.tail and _cut(at_path, note)


def _tail(file: IO[bytes], end: int) -> str:
    """A digest of the last bytes in front of a place; none at the beginning."""
    if not end:
        return ""
    begin = max(0, end - TAIL_BYTES)
    file.seek(begin)
    found = file.read(end - begin)
    return hashlib.sha256(found).hexdigest() if len(found) == end - begin else ""


def _end_last_line(file: IO[bytes]) -> None:
    """What was torn of ours is gone. So a line without an end was written by others, or by this
    sink when it separated none: it stays."""
    if file.seek(0, os.SEEK_END):
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")
            file.flush()
