"""`within`: how old a partial match may become (semantics 12.2). Exactly the limit matches."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import count
from typing import Final

from lockstep.patterns.meaning.token import Token

COMPACT_MIN_TOKENS: Final = 1024
"""Below this many entries finished tokens are left in the queue until their time comes."""


class Ageing:
    """Tokens by the time of their first event, oldest first: an event looks at the head only."""

    def __init__(self, within_ms: int) -> None:
        self.within_ms = within_ms
        self._heap: list[tuple[int, int, Token]] = []
        self._order = count()
        self._newest_ms: int | None = None
        self._compact_at = COMPACT_MIN_TOKENS

    def add(self, token: Token) -> None:
        """The token has its first event (`first_ms` is set)."""
        first_ms = token.first_ms
        assert first_ms is not None
        if self._newest_ms is None or first_ms > self._newest_ms:
            self._newest_ms = first_ms
        heapq.heappush(self._heap, (first_ms, next(self._order), token))
        if len(self._heap) > self._compact_at:
            self._keep([item for item in self._heap if item[2].alive])

    def is_expired(self, token: Token, now_ms: int) -> bool:
        """True when the first event is further than the limit from `now_ms`, on either side."""
        return token.first_ms is not None and abs(now_ms - token.first_ms) > self.within_ms

    def expired(self, now_ms: int) -> list[Token]:
        """Takes out the living tokens that are expired at the time of an event."""
        heap, limit = self._heap, now_ms - self.within_ms
        taken = []
        while heap and heap[0][0] < limit:
            token = heapq.heappop(heap)[2]
            if token.alive:
                taken.append(token)
        if self._newest_ms is not None and self._newest_ms - now_ms > self.within_ms:
            taken += self._too_new(now_ms)
        return taken

    def refill(self, tokens: Iterable[Token]) -> None:
        """After a restore: exactly these tokens are looked after."""
        self._heap = [(t.first_ms, next(self._order), t) for t in tokens if t.first_ms is not None]
        heapq.heapify(self._heap)
        self._newest_ms = max((item[0] for item in self._heap), default=None)

    def _too_new(self, now_ms: int) -> list[Token]:
        """A late event also expires tokens that began too long after it."""
        limit = now_ms + self.within_ms
        taken = [token for first_ms, _, token in self._heap if token.alive and first_ms > limit]
        self._keep([item for item in self._heap if item[0] <= limit])
        self._newest_ms = max((item[0] for item in self._heap), default=None)
        return taken

    def _keep(self, items: list[tuple[int, int, Token]]) -> None:
        self._heap = items
        heapq.heapify(items)
        self._compact_at = max(COMPACT_MIN_TOKENS, 2 * len(items))
