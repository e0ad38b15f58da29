"""What a source of `s3` keeps beside its objects: how far it has come, and what it leaves there."""

from __future__ import annotations

import json
from collections.abc import Set
from dataclasses import dataclass
from typing import Any, Final

from lockstep.connectors.aws.client import AwsClient, RefusedError

NONE_THERE: Final = frozenset(("NoSuchKey", "404"))


@dataclass(frozen=True, slots=True)
class Found:
    """An object as it was listed, or noted."""

    name: str
    etag: str
    changed_ms: int
    size_bytes: int

    @property
    def mark(self) -> str:
        """Among all objects that there ever were."""
        return f"{self.name}:{self.etag}:{self.changed_ms}"


class Notes:
    """Two objects: one by that name while a long object is read, and one with `.left` behind it
    while there are objects that stay unread. Errors: OSError."""

    def __init__(self, client: AwsClient, bucket: str, name: str) -> None:
        self._client = client
        self._bucket = bucket
        self._place_name, self._left_name = name, f"{name}.left"
        self._has_place = False
        self._left: set[str] | None = None

    def place(self) -> tuple[Found | None, int]:
        """The object that was being read when the last reader ended, and where to go on."""
        noted = self._get(self._place_name)
        self._has_place = noted is not None
        return (None, 0) if noted is None else (Found(*noted["object"]), int(noted["at"]))

    def put_place(self, found: Found, at: int) -> None:
        """All before it is taken."""
        about = [found.name, found.etag, found.changed_ms, found.size_bytes]
        self._put(self._place_name, {"object": about, "at": at})
        self._has_place = True

    def drop_place(self) -> None:
        """The object is done."""
        if self._has_place:
            self._client.ask("delete_object", Bucket=self._bucket, Key=self._place_name)
            self._has_place = False

    def is_left(self, found: Found) -> bool:
        """Whether that was told of it, and it is the same still."""
        return found.mark in self._read_left()

    def leave(self, found: Found) -> None:
        """It stays where it is, unread; durable when this returns."""
        self._write_left(self._read_left() | {found.mark})

    def keep_left(self, marks: Set[str]) -> None:
        """The others are gone."""
        if self._left and not self._left <= marks:
            self._write_left(self._left & marks)

    def _read_left(self) -> set[str]:
        if self._left is None:
            self._left = set(self._get(self._left_name) or ())
        return self._left

    def _write_left(self, marks: set[str]) -> None:
        if marks:
            self._put(self._left_name, sorted(marks))
        else:
            self._client.ask("delete_object", Bucket=self._bucket, Key=self._left_name)
        self._left = marks

    def _get(self, name: str) -> Any:
        """None where it is not there."""
        try:
            found = self._client.content("get_object", Bucket=self._bucket, Key=name)
        except RefusedError as error:
            if error.code not in NONE_THERE:
                raise
            return None
        return json.loads(found)

    def _put(self, name: str, note: object) -> None:
        text = json.dumps(note).encode()
        self._client.ask("put_object", Bucket=self._bucket, Key=name, Body=text)
