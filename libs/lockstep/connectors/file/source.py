"""@source(type='file'): lines of files, parts or whole files as messages; one receiver reads.

How far it is stands in a note in the directory itself, `.lockstep.<app>.<stream>.<number>`. It is
written when messages are durable. After a crash in between they come again, under the same ids.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from lockstep.connectors.file import message_pattern
from lockstep.connectors.file.moving import move
from lockstep.connectors.file.note import DONE, TOO_LARGE, Note, Reached
from lockstep.secrets.closed import HINT, is_closed, is_named_closed
from lockstep.sources import Place, Received, Source

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""Of a file that is a message, or that expressions are searched in; a larger one is refused."""
MAX_LINE_BYTES: Final = 8 * 1024 * 1024
"""A longer one is cut: its rest is the next message."""
CHUNK_BYTES: Final = 64 * 1024
MAX_BATCH_BYTES: Final = 8 * 1024 * 1024
"""Of the parts that are read at once."""
POLL_MS: Final = 200


@dataclass(frozen=True, slots=True)
class _Piece:
    """A message, and where in its file the next one begins; `refused`: why it is none."""

    payload: bytes
    at: int
    end: int
    refused: str = ""


def path_of(uri: str) -> Path:
    """The path that `file:` or a plain path names."""
    text = uri.strip()
    if text.startswith("file:"):
        text = "/" + unquote(text.removeprefix("file:")).lstrip("/")
    return Path(text)


def refuse_named(path: Path) -> None:
    """ValueError for a file or folder whose name says that it is not for apps."""
    if is_named_closed(path):
        raise ValueError(f"{str(path)!r} is not for apps: {HINT}")


def refuse_closed(path: Path) -> None:
    """OSError for one that is not for apps, also where links lead there. On a thread."""
    if is_closed(path):
        raise OSError(f"{path} leads to what is not for apps: {HINT}")


class FileSource(Source):
    """Options: `dir.uri` or `file.uri`, `mode`, `tailing`, `action.after.process` …"""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        single = options.get("file.uri")
        self._path = path_of(single or options["dir.uri"])
        self._is_single = single is not None
        begin, end = options.get("begin.regex", ""), options.get("end.regex", "")
        self._mode = options.get("mode", "line").lower()
        if self._mode == "regex" and not (begin or end):
            self._mode = "line"  # as in the older product
        self._chunk_bytes = int(options.get("buffer.size", CHUNK_BYTES))
        lines = self._mode == "line"
        self._tails = options.get("tailing", str(self._is_single and lines)).lower() == "true"
        action = options.get("action.after.process", "keep" if self._tails else "delete").lower()
        self._action = "keep" if self._tails or action == "none" else action
        moved_to = options.get("move.after.process")
        self._moved_to = path_of(moved_to or ".")
        has_header = options.get("header.present", "false").lower() == "true"
        self._own = (self._path,) if moved_to is None else (self._path, self._moved_to)
        for path in self._own:
            refuse_named(path)
        self._header_lines = int(options.get("header.line.count", 1)) if has_header else 0
        self._wanted = re.compile(options.get("file.name.pattern", ".*"))
        self._pattern = message_pattern(begin, end)
        folder = self._path.parent if self._is_single else self._path
        note = folder / f".lockstep.{place.app}.{place.stream}.{place.number}"
        self._note = Note(note, place.clock.now_ms)
        self._clock = place.clock
        self._batch: tuple[Path, str, int, bool] | None = None
        self._unacknowledged = 0

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        deadline_ms = self._clock.monotonic_ms() + wait_ms
        while True:
            found = await asyncio.to_thread(self._next, max_messages)
            if found or self._clock.monotonic_ms() + POLL_MS > deadline_ms:
                return found
            await self._clock.sleep_ms(POLL_MS)

    async def close(self) -> Sequence[Received]:
        await asyncio.to_thread(self._settle)
        return ()

    def _next(self, max_messages: int) -> list[Received]:
        for path in self._own:
            refuse_closed(path)
        self._settle()
        seen: set[str] = set()
        for path in self._files():
            try:
                status = path.stat()
            except FileNotFoundError:
                continue  # renamed or removed since it was listed
            mark = _mark(status)
            seen.add(mark)
            reached = self._reached(path, status)
            if reached is None:
                continue
            pieces, ended = self._pieces(path, reached.at, max_messages)
            if not pieces and not ended:
                continue
            end = pieces[-1].end if pieces else reached.at
            self._batch, self._unacknowledged = (path, mark, end, ended), len(pieces)
            if pieces:
                name, last = reached.name(mark), pieces[-1]
                return [self._message(path, name, piece, ended, last) for piece in pieces]
            self._settle()
        self._note.keep(seen)
        return []

    def _reached(self, path: Path, status: os.stat_result) -> Reached | None:
        """Where to go on in a file; None where there is nothing new."""
        mark = _mark(status)
        reached = self._note.of(mark)
        if reached is None or status.st_size < reached.at:
            return self._note.begin(mark)  # new, or emptied
        if reached.at == TOO_LARGE:
            return self._refused_before(path, mark, status)
        if reached.at != DONE:
            return None if self._tails and status.st_size == reached.at else reached
        if self._action == "keep":
            return None
        if reached.changed_ns not in (0, status.st_mtime_ns):
            return self._note.begin(mark)  # another file, by the number of the one that was done
        self._put_away(path, mark)  # a reader died before
        return None

    def _refused_before(self, path: Path, mark: str, status: os.stat_result) -> Reached | None:
        """It stays, or is moved where a reader died before; as long as it is too large."""
        if not self._is_too_large(status):
            return self._note.begin(mark)
        if self._action == "move":
            self._put_away(path, mark)
        return None

    def _is_too_large(self, status: os.stat_result) -> bool:
        is_read_whole = self._mode not in ("line", "binary.chunked")
        return is_read_whole and status.st_size > MAX_FILE_BYTES

    def _files(self) -> list[Path]:
        """What may hold messages; a followed file under the name that it has now comes first."""
        if self._is_single:
            here = [self._path] if self._path.is_file() else []
            return [*self._renamed(), *here] if self._tails else here
        if not self._path.is_dir():
            return []
        wanted = (
            one
            for one in self._path.iterdir()
            if not one.name.startswith(".") and self._wanted.fullmatch(one.name) and one.is_file()
        )
        return sorted(wanted)

    def _renamed(self) -> list[Path]:
        """Files beside the followed one that bore its name when they were read last."""
        found = []
        folder = self._path.parent
        for one in os.scandir(folder) if folder.is_dir() else ():
            if one.name != self._path.name and not one.name.startswith("."):
                with contextlib.suppress(FileNotFoundError):
                    status = one.stat()
                    if one.is_file() and self._note.of(_mark(status)) is not None:
                        found.append((status.st_mtime_ns, Path(one.path)))
        return [path for _, path in sorted(found)]

    def _pieces(self, path: Path, at: int, max_messages: int) -> tuple[list[_Piece], bool]:
        """Messages from a place on, and whether the file ends behind them."""
        refuse_closed(path)
        if self._mode == "line":
            return self._lines(path, at, max_messages)
        if self._mode == "binary.chunked":
            return _chunks(path, at, self._chunk_bytes, max_messages)
        if self._is_too_large(path.stat()):
            why = f"{path} is larger than {MAX_FILE_BYTES} bytes: use mode='line'"
            return [_Piece(b"", at, TOO_LARGE, why)], True
        data = path.read_bytes()
        if self._mode != "regex":
            return [_Piece(data, 0, len(data))], True
        found = [
            _Piece(match[0], match.start(), match.end())
            for match in self._pattern.finditer(data, at)
            if match[0]
        ]
        return found[:max_messages], len(found) <= max_messages

    def _lines(self, path: Path, at: int, max_messages: int) -> tuple[list[_Piece], bool]:
        pieces: list[_Piece] = []
        with path.open("rb") as file:
            skipped = 0
            while at == 0 and skipped < self._header_lines and file.readline(MAX_LINE_BYTES):
                skipped += 1
            file.seek(max(at, file.tell()))
            while len(pieces) < max_messages:
                begin = file.tell()
                line = file.readline(MAX_LINE_BYTES)
                is_whole = line.endswith(b"\n") or len(line) >= MAX_LINE_BYTES
                if not line or (self._tails and not is_whole):
                    return pieces, not self._tails
                if line.strip():
                    pieces.append(_Piece(line.rstrip(b"\r\n"), begin, file.tell()))
        return pieces, False

    def _message(self, path: Path, name: str, piece: _Piece, ended: bool, last: _Piece) -> Received:
        async def acknowledge() -> None:
            self._unacknowledged -= 1

        is_last = ended and piece is last
        properties = {
            "file.path": str(path), "file.name": path.name, "eof": "true" if is_last else "false",
        }  # fmt: skip
        if self._mode == "binary.chunked":
            properties["sequence.number"] = str(piece.at // self._chunk_bytes + 1)
            properties["content.length"] = str(path.stat().st_size)
        identity = f"{name}:{piece.at}"
        return Received(piece.payload, properties, identity, acknowledge, piece.refused)

    def _settle(self) -> None:
        """What was taken wholly is noted; a file that is done is put where it shall be."""
        batch, self._batch = self._batch, None
        if batch is None or self._unacknowledged:
            return
        path, mark, end, ended = batch
        if not ended:
            self._note.move(mark, end)
            return
        at = TOO_LARGE if end == TOO_LARGE else DONE
        self._note.end(mark, path.stat().st_mtime_ns if path.exists() else 0, at)
        # One that nobody has read is not removed.
        if self._action == "move" or (self._action == "delete" and at == DONE):
            self._put_away(path, mark)

    def _put_away(self, path: Path, mark: str) -> None:
        if self._action == "move":
            self._moved_to.mkdir(parents=True, exist_ok=True)
            move(path, self._moved_to / path.name, mark)
        else:
            path.unlink(missing_ok=True)
        self._note.forget(mark)


def _mark(status: os.stat_result) -> str:
    """Which file it is, as long as it is there."""
    return f"{status.st_dev:x}.{status.st_ino:x}"


def _chunks(path: Path, at: int, size_bytes: int, max_messages: int) -> tuple[list[_Piece], bool]:
    """Parts of one size; the last one is as long as the rest of the file."""
    pieces: list[_Piece] = []
    wanted = min(max_messages, max(1, MAX_BATCH_BYTES // size_bytes))
    with path.open("rb") as file:
        file.seek(at)
        while len(pieces) < wanted and (data := file.read(size_bytes)):
            pieces.append(_Piece(data, at, at + len(data)))
            at += len(data)
        return pieces, not file.peek(1)
