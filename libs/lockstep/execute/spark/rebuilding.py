"""What the driver keeps of an app so that its state can be built anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.execute.columnar.joined_shards import joined_snapshots
from lockstep.execute.contract import Encoded
from lockstep.execute.spark import wire


class Base:
    """A snapshot of the whole app or one per shard (or none yet), and the entries folded since.

    `limit_bytes`: the entries are to be cut by fresh snapshots when they exceed this and twice the
    size of the last ones, so that snapshots cost O(1) per byte folded.
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._entries: list[Encoded] = []
        self._bytes = 0
        self.snapshots: list[bytes] = []

    @property
    def entries(self) -> int:
        """How many entries a rebuild folds."""
        return len(self._entries)

    @property
    def is_long(self) -> bool:
        """Whether fresh snapshots are due."""
        return self._bytes > max(self._limit_bytes, 2 * sum(map(len, self.snapshots)))

    def begin(self, snapshots: Sequence[bytes]) -> None:
        """From here on the state is one snapshot, or these, one per shard."""
        self.snapshots = list(snapshots)
        self._entries.clear()
        self._bytes = 0

    def add(self, entries: Sequence[Encoded]) -> None:
        """Entries that are folded."""
        self._entries += entries
        self._bytes += sum(len(entry.payload) for entry in entries)

    def message(self, shard: int) -> tuple[wire.Base, list[Any]]:
        """What a worker builds a shard's state from, and the parts of its block."""
        parts: list[Any] = []
        if self.snapshots:
            parts.append(self.snapshots[shard if len(self.snapshots) > 1 else 0])
        base = wire.Base(bool(parts), [entry.position for entry in self._entries])
        parts += [entry.payload for entry in self._entries]
        return base, parts

    def join(self) -> None:
        """From snapshots of shards one of the whole app."""
        if len(self.snapshots) > 1:
            self.snapshots = [joined_snapshots(self.snapshots)]

    def copy(self) -> Base:
        """The same, to go back to."""
        other = Base(self._limit_bytes)
        other.begin(self.snapshots)
        other.add(self._entries)
        return other
