"""@sink(type='file'): one JSON line a row with its identity; the file itself is the cursor.

Opening cuts off a torn last line and reads the last identity, so no row stands in it twice.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import IO, Any, Final
from urllib.parse import unquote, urlsplit

import msgspec

from lockstep.events import OutputId, UnavailableError
from lockstep.siddhiql import ast
from lockstep.store import Cursors
from services.publisher.contract import Batch, SinkPlace, SinkSetupError
from services.publisher.payload import Payload
from services.publisher.sinks.cursor import StoredCursor

TAIL_BYTES: Final = 1_048_576


class FileSink(StoredCursor):
    """Options: `file.uri` (file:/path or a path)."""

    def __init__(self, place: SinkPlace, annotation: ast.Annotation, cursors: Cursors) -> None:
        super().__init__(place, cursors)
        uri = annotation.get("file.uri")
        if not uri:
            raise SinkSetupError("a file sink needs a file.uri", where=place.key)
        self._path = Path(unquote(urlsplit(uri).path) if uri.startswith("file:") else uri)
        self._payload = Payload(place.schema, annotation, place.key)
        self._file: IO[bytes] | None = None
        self._last: OutputId | None = None

    async def open(self) -> int:
        """The cursor may lag behind the file, never the other way round."""
        try:
            await asyncio.to_thread(self._open)
        except OSError as error:
            raise UnavailableError(f"{self._path}: {error.strerror}") from error
        return await super().open()

    async def send(self, batch: Batch) -> None:
        """Appends what the file does not hold yet; on disk when it returns."""
        last = self._last
        fresh = [row for row in batch.rows if last is None or row.id > last]
        lines = [self._line(row) for row in fresh]
        if not lines:
            return
        try:
            await asyncio.to_thread(self._append, b"".join(lines))
        except OSError as error:
            raise UnavailableError(f"{self._path}: {error.strerror}") from error
        self._last = fresh[-1].id

    async def close(self) -> None:
        """Closes the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def _line(self, row: Any) -> bytes:
        line = {
            "id": f"{row.id.position}.{row.id.ordinal}",
            "timestamp_ms": row.timestamp_ms,
            "event": self._payload.named(row),
        }
        return msgspec.json.encode(line, enc_hook=str) + b"\n"

    def _open(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if self._file is not None:
            self._file.close()
        file = self._path.open("a+b")
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        tail = file.read()
        whole = tail.rfind(b"\n") + 1
        if whole < len(tail):
            file.truncate(size - (len(tail) - whole))
        lines = tail[:whole].splitlines()
        self._last = _identity(lines[-1]) if lines else None
        self._file = file

    def _append(self, data: bytes) -> None:
        if self._file is None:
            self._open()
        assert self._file is not None
        self._file.write(data)
        self._file.flush()
        os.fsync(self._file.fileno())


def _identity(line: bytes) -> OutputId | None:
    try:
        position, _, ordinal = msgspec.json.decode(line)["id"].partition(".")
        return OutputId(int(position), int(ordinal))
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        return None
