"""@source(type='s3'): objects below a prefix, their lines or each as a whole; one receiver reads.

An object is taken in the order of names, and then removed or moved: what is listed is what is left.
How far a long one is taken stands in a note beside them, `.lockstep.<app>.<stream>.<number>`. What
comes again after a crash has the same id: the object's name, its etag, when it was written, and the
place. An object that is written anew is another one.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from lockstep.connectors.aws.client import RefusedError
from lockstep.connectors.s3 import POLL_MS
from lockstep.connectors.s3.place import client_of
from lockstep.sources import Place, Received, Source, Turns

CHUNK_BYTES: Final = 8 * 1024 * 1024
"""Of an object, that are read at once; a line has no more."""
MAX_OBJECT_BYTES: Final = 64 * 1024 * 1024
"""Of an object that is a message."""
NOTE_EVERY: Final = 16
"""Reads of one object."""
MOST_PAGES: Final = 100
"""Of a list, of a thousand names each: behind them nothing is looked for."""
CHANGED: Final = frozenset(("PreconditionFailed", "412", "NoSuchKey", "404", "InvalidRange", "416"))


@dataclass(frozen=True, slots=True)
class _Found:
    """An object as it was listed, or noted."""

    name: str
    etag: str
    changed_ms: int
    size_bytes: int

    @property
    def mark(self) -> str:
        """Among all objects that there ever were."""
        return f"{self.name}:{self.etag}:{self.changed_ms}"


@dataclass(frozen=True, slots=True)
class _Piece:
    """A message, and where in its object it begins and ends."""

    payload: bytes
    at: int
    end: int


class S3Source(Source):
    """Options: `bucket.name`, `prefix`, `mode` (line), `action.after.process` (delete) …"""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._client = client_of(options)
        self._bucket = options["bucket.name"].strip()
        self._prefix = options.get("prefix", "").lstrip("/")
        self._is_whole = options.get("mode", "line").strip().lower() != "line"
        self._moved_to = options.get("move.after.process", "").strip("/")
        self._wanted = re.compile(options.get("object.name.pattern", ".*"))
        self._note = f"{self._prefix}.lockstep.{place.app}.{place.stream}.{place.number}"
        self._turns = Turns(place.clock, int(options.get("polling.interval", POLL_MS)))
        self._left: deque[_Found] = deque()
        self._object: _Found | None = None
        self._at = 0
        self._pieces: deque[_Piece] = deque()
        self._read_to = 0
        self._given: list[_Piece] = []
        self._unacknowledged = 0
        self._reads = 0
        self._has_looked = self._has_note = False

    async def read(self, *, max_messages: int, wait_ms: int) -> Sequence[Received]:
        found = await asyncio.to_thread(self._next, max_messages)
        if found or self._object is not None or not await self._turns.is_due(wait_ms):
            return found
        await asyncio.to_thread(self._list)
        return await asyncio.to_thread(self._next, max_messages)

    async def close(self) -> Sequence[Received]:
        await asyncio.to_thread(self._leave)
        return ()

    def _leave(self) -> None:
        if self._object is not None:
            self._settle()
        if self._object is not None and self._at:
            self._write_note()
        self._client.close()

    def _next(self, max_messages: int) -> list[Received]:
        """Of the object that is being read, or of the next one that is left."""
        if not self._has_looked:
            self._begin(*self._noted())
            self._has_looked = True
        self._settle()
        if self._object is None and self._left:
            self._begin(self._left.popleft())
        if self._object is None:
            return []
        try:
            self._fill(self._object, max_messages)
        except RefusedError as error:
            if error.code not in CHANGED:
                raise
            self._begin(None)  # it is another one by now, and will be listed as such
            self._left.clear()
            return []
        self._given = [self._pieces.popleft() for _ in range(min(max_messages, len(self._pieces)))]
        self._unacknowledged = len(self._given)
        return [self._received(self._object, piece) for piece in self._given]

    def _settle(self) -> None:
        """What was taken wholly; an object that is done goes where it shall."""
        found, given, self._given = self._object, self._given, []
        if found is None:
            return
        if self._unacknowledged:  # it is given once more
            self._unacknowledged = 0
            self._pieces.clear()
            self._read_to = self._at
            return
        if given:
            self._at = given[-1].end
            self._reads += 1
        if self._read_to >= found.size_bytes and not self._pieces:
            self._put_away(found)
            self._begin(None)
        elif given and self._reads % NOTE_EVERY == 0:
            self._write_note()

    def _begin(self, found: _Found | None, at: int = 0) -> None:
        self._object = found
        self._at = self._read_to = at
        self._pieces.clear()
        self._reads = 0

    def _fill(self, found: _Found, max_messages: int) -> None:
        """Reads on until there are so many messages, or the object ends."""
        while len(self._pieces) < max_messages and self._read_to < found.size_bytes:
            if self._is_whole and found.size_bytes > MAX_OBJECT_BYTES:
                raise OSError(
                    f"{found.name} is larger than {MAX_OBJECT_BYTES} bytes: use mode='line'"
                )
            begin = self._read_to
            end = found.size_bytes if self._is_whole else begin + CHUNK_BYTES
            data = self._ask(
                "get_object", Key=found.name, IfMatch=found.etag, Range=f"bytes={begin}-{end - 1}"
            )["Body"].read()
            if self._is_whole:
                self._pieces.append(_Piece(data, 0, found.size_bytes))
                self._read_to = found.size_bytes
                return
            self._read_to += self._cut(data, begin, is_last=begin + len(data) >= found.size_bytes)

    def _cut(self, data: bytes, begin: int, *, is_last: bool) -> int:
        """Lines of a part of the object; how many bytes of it they are."""
        taken = len(data) if is_last else data.rfind(b"\n") + 1 or len(data)
        at = begin
        for line in data[:taken].split(b"\n"):
            end = min(at + len(line) + 1, begin + taken)
            if line.strip():
                self._pieces.append(_Piece(line.rstrip(b"\r"), at, end))
            at = end
        return taken

    def _received(self, found: _Found, piece: _Piece) -> Received:
        async def acknowledge() -> None:
            self._unacknowledged -= 1

        is_last = (
            self._read_to >= found.size_bytes and not self._pieces and piece is self._given[-1]
        )
        properties = {
            "object.name": found.name, "object.etag": found.etag,
            "eof": "true" if is_last else "false",
        }  # fmt: skip
        return Received(piece.payload, properties, f"{found.mark}:{piece.at}", acknowledge)

    def _list(self) -> None:
        more: dict[str, str] = {}
        for _ in range(MOST_PAGES):
            page = self._ask("list_objects_v2", Prefix=self._prefix, **more)
            for one in page.get("Contents", ()):
                if self._is_wanted(one["Key"]):
                    self._left.append(
                        _Found(one["Key"], one["ETag"], _ms(one["LastModified"]), int(one["Size"]))
                    )
            if self._left or not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _is_wanted(self, name: str) -> bool:
        last = name.rpartition("/")[2]
        return (
            bool(last)
            and not last.startswith(".")
            and self._wanted.fullmatch(name.removeprefix(self._prefix)) is not None
        )

    def _put_away(self, found: _Found) -> None:
        """If it is still what was read: another one of its name is not ours to remove."""
        try:
            if self._moved_to:
                self._ask(
                    "copy_object", Key=f"{self._moved_to}/{found.name.rpartition('/')[2]}",
                    CopySource={"Bucket": self._bucket, "Key": found.name},
                    CopySourceIfMatch=found.etag,
                )  # fmt: skip
            there = self._ask("head_object", Key=found.name)
            if (there["ETag"], _ms(there["LastModified"])) == (found.etag, found.changed_ms):
                self._ask("delete_object", Key=found.name, IfMatch=found.etag)
        except RefusedError as error:
            if error.code not in CHANGED:
                raise
        if self._has_note:
            self._ask("delete_object", Key=self._note)
            self._has_note = False

    def _noted(self) -> tuple[_Found | None, int]:
        """The object that was being read when the last reader ended, and where to go on."""
        try:
            noted = json.loads(self._ask("get_object", Key=self._note)["Body"].read())
        except RefusedError as error:
            if error.code not in CHANGED:
                raise
            return None, 0
        self._has_note = True
        return _Found(*noted["object"]), int(noted["at"])

    def _write_note(self) -> None:
        found = self._object
        if found is None:
            return
        about = [found.name, found.etag, found.changed_ms, found.size_bytes]
        note = json.dumps({"object": about, "at": self._at})
        self._ask("put_object", Key=self._note, Body=note.encode())
        self._has_note = True

    def _ask(self, operation: str, **parameters: Any) -> Any:
        return self._client.ask(operation, Bucket=self._bucket, **parameters)


def _ms(changed: datetime) -> int:
    return round(changed.timestamp() * 1000)
