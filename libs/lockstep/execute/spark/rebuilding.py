"""What the driver keeps of an app so that its state can be built anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lockstep.events import Position
from lockstep.events.codec import EncodedEntry
from lockstep.execute.joining import joined_snapshots
from lockstep.execute.spark import wire
from lockstep.operators import state


class Base:
    """A snapshot of the whole app or one per shard (or none yet), and the entries folded since.

    `limit_bytes`: the entries are to be cut by fresh snapshots when they exceed this and twice the
    size of the last ones, so that snapshots cost O(1) per byte folded.

    `has_owner`: somebody else keeps snapshots and the log, and begins again from them when a state
    is lost that is too large for a base. Then `limit_bytes` is all that a base takes: beyond it the
    base is no longer `whole`, no snapshot is ever due, and the owner's next small snapshot
    (`rebase`) makes it whole again.
    """

    def __init__(self, limit_bytes: int, *, has_owner: bool = False) -> None:
        self._limit_bytes = limit_bytes
        self._has_owner = has_owner
        self._entries: list[EncodedEntry] = []
        self._bytes = 0
        self._behind: Position = 0  # of all that was folded after it the entries are here
        self._last: Position = 0
        self.snapshots: list[state.Bytes] = []
        self.whole = True
        self.keeps_all = False  # something may have to be undone: nothing goes for its size

    @property
    def entries(self) -> int:
        """How many entries a rebuild folds."""
        return len(self._entries)

    @property
    def size_bytes(self) -> int:
        """Snapshots and entries."""
        return self._bytes + sum(map(len, self.snapshots))

    @property
    def is_long(self) -> bool:
        """Whether fresh snapshots are due."""
        limit = max(self._limit_bytes, 2 * sum(map(len, self.snapshots)))
        return not self._has_owner and self._bytes > limit

    def begin(self, snapshots: Sequence[state.Bytes], position: Position = 0) -> None:
        """From here on the state at `position` is one snapshot, or these, one per shard."""
        self.snapshots = list(snapshots)
        self._entries.clear()
        self._bytes = 0
        self._behind = self._last = position
        self.whole = True

    def takes(self, size_bytes: int) -> bool:
        """Whether a snapshot of that size may be kept here."""
        return not self._has_owner or size_bytes <= self._limit_bytes

    def rebase(self, snapshot: state.Bytes, position: Position) -> None:
        """The owner's snapshot of the same state at an earlier position; one that cannot help
        changes nothing."""
        if not self.takes(len(snapshot)) or not self._behind <= position <= self._last:
            return
        later = [entry for entry in self._entries if entry.position > position]
        last = self._last
        self.begin([snapshot], position)
        self.add(later)
        self._last = max(self._last, last)

    def add(self, entries: Sequence[EncodedEntry]) -> None:
        """Entries that are folded."""
        if not entries:
            return
        self._entries += [entry.kept() for entry in entries]
        self._bytes += sum(entry.size_bytes for entry in entries)
        self._last = entries[-1].position
        self.trim()

    def trim(self) -> None:
        """What is over the limit goes, where the owner can begin again without it."""
        if self._has_owner and not self.keeps_all and self.size_bytes > self._limit_bytes:
            self.begin([], self._last)
            self.whole = False

    def message(self, shard: int) -> tuple[wire.Base, list[Any]]:
        """What a worker builds a shard's state from, and the parts of its block."""
        assert self.whole, "nothing can be built from this base"
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
        other = Base(self._limit_bytes, has_owner=self._has_owner)
        other.snapshots = list(self.snapshots)
        other._entries = list(self._entries)
        other._bytes, other.whole = self._bytes, self.whole
        other._behind, other._last = self._behind, self._last
        return other
