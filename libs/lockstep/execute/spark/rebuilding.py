"""What the driver keeps of an app so that its state can be built anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.execute.contract import Encoded
from lockstep.execute.spark import wire


class Base:
    """A snapshot per shard, and the entries folded since.

    `limit_bytes`: the entries are to be cut by fresh snapshots when they exceed this and twice the
    size of the last ones, so that snapshots cost O(1) per byte folded.
    """

    def __init__(self, shards: int, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._entries: list[Encoded] = []
        self._bytes = 0
        self.snapshots: list[bytes | None] = [None] * shards

    @property
    def entries(self) -> int:
        """How many entries a rebuild folds."""
        return len(self._entries)

    @property
    def is_long(self) -> bool:
        """Whether fresh snapshots are due."""
        held = sum(len(each) for each in self.snapshots if each is not None)
        return self._bytes > max(self._limit_bytes, 2 * held)

    def begin(self, snapshots: Sequence[bytes | None]) -> None:
        """From here on the state is these snapshots, one per shard."""
        self.snapshots = list(snapshots)
        self._entries.clear()
        self._bytes = 0

    def add(self, entries: Sequence[Encoded]) -> None:
        """Entries that are folded."""
        self._entries += entries
        self._bytes += sum(len(entry.payload) for entry in entries)

    def message(self, shard: int) -> tuple[wire.Base, list[Any]]:
        """What a worker builds a shard's state from, and the parts of its block."""
        snapshot = self.snapshots[shard]
        parts: list[Any] = [] if snapshot is None else [snapshot]
        parts += [entry.payload for entry in self._entries]
        return wire.Base(snapshot is not None, [e.position for e in self._entries]), parts

    def copy(self) -> Base:
        """The same, to go back to."""
        other = Base(0, self._limit_bytes)
        other.snapshots = list(self.snapshots)
        other.add(self._entries)
        return other
