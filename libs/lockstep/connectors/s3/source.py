"""@source(type='s3'): objects below a prefix, their lines or each as a whole; one receiver reads.

An object is taken in the order of names, and then removed or moved: what is listed is what is left.
How far a long one is taken stands in a note beside them, `.lockstep.<app>.<stream>.<number>`. What
comes again after a crash has the same id: the object's name, its etag, when it was written, and the
place. An object that is written anew is another one. What is too large to be a message, and is not
moved, stays: a second note says of which objects that was told.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from lockstep.connectors.aws.client import RefusedError
from lockstep.connectors.s3 import POLL_MS
from lockstep.connectors.s3.notes import Found, Notes
from lockstep.connectors.s3.place import client_of
from lockstep.sources import Place, Received, Source, Turns

CHUNK_BYTES: Final = 8 * 1024 * 1024
"""Of an object, that are read at once; a line has no more."""
MAX_OBJECT_BYTES: Final = 64 * 1024 * 1024
"""Of an object that is a message; a larger one is refused."""
NOTES: Final = ".lockstep."
"""How the names of notes begin behind the prefix."""
NOTE_EVERY: Final = 16
"""Reads of one object."""
MOST_PAGES: Final = 100
"""Of a list, of a thousand names each: behind them nothing is looked for."""
CHANGED: Final = frozenset(("PreconditionFailed", "412", "NoSuchKey", "404", "InvalidRange", "416"))


@dataclass(frozen=True, slots=True)
class _Piece:
    """A message, and where in its object it begins and ends; `refused`: why it is none."""

    payload: bytes
    at: int
    end: int
    refused: str = ""


class S3Source(Source):
    """Options: `bucket.name`, `prefix`, `mode` (line), `action.after.process` (delete) …"""

    def __init__(self, options: Mapping[str, str], place: Place) -> None:
        self._client = client_of(options)
        self._bucket = options["bucket.name"].strip()
        self._prefix = options.get("prefix", "").lstrip("/")
        self._is_whole = options.get("mode", "line").strip().lower() != "line"
        self._moved_to = options.get("move.after.process", "").strip("/")
        self._wanted = re.compile(options.get("object.name.pattern", ".*"))
        note = f"{self._prefix}{NOTES}{place.app}.{place.stream}.{place.number}"
        self._notes = Notes(self._client, self._bucket, note)
        self._turns = Turns(place.clock, int(options.get("polling.interval", POLL_MS)))
        self._left: deque[Found] = deque()
        self._object: Found | None = None
        self._at = 0
        self._pieces: deque[_Piece] = deque()
        self._read_to = 0
        self._given: list[_Piece] = []
        self._unacknowledged = 0
        self._reads = 0
        self._has_looked = False

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
            self._notes.put_place(self._object, self._at)
        self._client.close()

    def _next(self, max_messages: int) -> list[Received]:
        """Of the object that is being read, or of the next one that is left."""
        if not self._has_looked:
            self._begin(*self._notes.place())
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
            self._notes.put_place(found, self._at)

    def _begin(self, found: Found | None, at: int = 0) -> None:
        self._object = found
        self._at = self._read_to = at
        self._pieces.clear()
        self._reads = 0

    def _fill(self, found: Found, max_messages: int) -> None:
        """Reads on until there are so many messages, or the object ends."""
        while len(self._pieces) < max_messages and self._read_to < found.size_bytes:
            if self._is_too_large(found):
                why = f"{found.name} is larger than {MAX_OBJECT_BYTES} bytes: use mode='line'"
                self._pieces.append(_Piece(b"", 0, found.size_bytes, why))
                self._read_to = found.size_bytes
                return
            begin = self._read_to
            end = found.size_bytes if self._is_whole else begin + CHUNK_BYTES
            data = self._client.content(
                "get_object", Bucket=self._bucket, Key=found.name, IfMatch=found.etag,
                Range=f"bytes={begin}-{end - 1}",
            )  # fmt: skip
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

    def _received(self, found: Found, piece: _Piece) -> Received:
        async def acknowledge() -> None:
            self._unacknowledged -= 1

        is_last = (
            self._read_to >= found.size_bytes and not self._pieces and piece is self._given[-1]
        )
        properties = {
            "object.name": found.name, "object.etag": found.etag,
            "eof": "true" if is_last else "false",
        }  # fmt: skip
        identity = f"{found.mark}:{piece.at}"
        return Received(piece.payload, properties, identity, acknowledge, piece.refused)

    def _is_too_large(self, found: Found) -> bool:
        return self._is_whole and found.size_bytes > MAX_OBJECT_BYTES

    def _list(self) -> None:
        more: dict[str, str] = {}
        staying: set[str] = set()
        for _ in range(MOST_PAGES):
            page = self._ask("list_objects_v2", Prefix=self._prefix, **more)
            for one in page.get("Contents", ()):
                if not self._is_wanted(one["Key"]):
                    continue
                found = Found(one["Key"], one["ETag"], _ms(one["LastModified"]), int(one["Size"]))
                stays = self._is_too_large(found) and not self._moved_to
                if stays and self._notes.is_left(found):
                    staying.add(found.mark)
                else:
                    self._left.append(found)
            if self._left:
                return
            if not page.get("IsTruncated"):
                self._notes.keep_left(staying)
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _is_wanted(self, name: str) -> bool:
        last = name.rpartition("/")[2]
        return (
            bool(last)
            and not last.startswith(".")
            and not name.startswith(self._prefix + NOTES)
            and self._wanted.fullmatch(name.removeprefix(self._prefix)) is not None
        )

    def _put_away(self, found: Found) -> None:
        if self._is_too_large(found) and not self._moved_to:
            self._notes.leave(found)  # nobody has read it, so it is not removed
        else:
            self._remove(found)
        self._notes.drop_place()

    def _remove(self, found: Found) -> None:
        """If it is still what was read: another one of its name is not ours to remove."""
        try:
            if self._moved_to:
                # Two objects of one folder keep two names.
                folder = "".join(self._prefix.rpartition("/")[:2])
                self._ask(
                    "copy_object", Key=f"{self._moved_to}/{found.name.removeprefix(folder)}",
                    CopySource={"Bucket": self._bucket, "Key": found.name},
                    CopySourceIfMatch=found.etag,
                )  # fmt: skip
            there = self._ask("head_object", Key=found.name)
            if (there["ETag"], _ms(there["LastModified"])) == (found.etag, found.changed_ms):
                self._ask("delete_object", Key=found.name, IfMatch=found.etag)
        except RefusedError as error:
            if error.code not in CHANGED:
                raise

    def _ask(self, operation: str, **parameters: Any) -> Any:
        return self._client.ask(operation, Bucket=self._bucket, **parameters)


def _ms(changed: datetime) -> int:
    return round(changed.timestamp() * 1000)
