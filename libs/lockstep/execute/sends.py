"""Which sends the log has brought already: what tells a repetition that came after the carrier had
forgotten its id (`receiver.dedup_window_ms`).

Part of the state, so that all replicas refuse the same records wherever they began to fold. Pure.
"""

from __future__ import annotations

from collections import deque

from lockstep.events import Position
from lockstep.events.codec import SEND_ID_BYTES


class SendMemory:
    """The last `limit` ids in the order of the log.

    The limit belongs to the state, too: a replica with other settings must not answer otherwise. A
    changed one counts from an app's next beginning without a state.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._order: deque[bytes] = deque()
        self._known: set[bytes] = set()
        self._added: list[tuple[Position, bytes | None]] = []  # since `mark`, and what went for it

    def __len__(self) -> int:
        return len(self._order)

    def mark(self) -> None:
        """What was brought up to now stays."""
        self._added.clear()

    def is_repeated(self, send_id: bytes, position: Position) -> bool:
        """Whether an id was brought in front of a position; from now on it was. An empty one never
        is."""
        if not send_id:
            return False
        if send_id in self._known:
            return True
        self._order.append(send_id)
        self._known.add(send_id)
        gone = self._order.popleft() if len(self._order) > self._limit else None
        if gone is not None:
            self._known.discard(gone)
        self._added.append((position, gone))
        return False

    def go_back(self, position: Position) -> None:
        """Only what was brought up to a position was brought, at least all up to the mark."""
        while self._added and self._added[-1][0] > position:
            _, gone = self._added.pop()
            self._known.discard(self._order.pop())
            if gone is not None:
                self._order.appendleft(gone)
                self._known.add(gone)

    def snapshot(self) -> bytes:
        """Limit and ids as bytes."""
        return self._limit.to_bytes(8, "big") + b"".join(self._order)

    @classmethod
    def restored(cls, snapshot: bytes, *, default_limit: int) -> SendMemory:
        """What `snapshot` gave; an empty memory for a revision that has none."""
        if not snapshot:
            return cls(default_limit)
        memory = cls(int.from_bytes(snapshot[:8], "big"))
        ids = (snapshot[i : i + SEND_ID_BYTES] for i in range(8, len(snapshot), SEND_ID_BYTES))
        memory._order.extend(ids)
        memory._known.update(memory._order)
        return memory
