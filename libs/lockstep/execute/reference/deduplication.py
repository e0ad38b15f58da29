"""The latest event ids, so that repeated sends are harmless (design invariant 6)."""

from __future__ import annotations


class SeenIds:
    """Remembers the last `ids_max` ids in order of arrival; deterministic, part of the state."""

    def __init__(self, ids_max: int) -> None:
        self._ids_max = ids_max
        self._ids: dict[str, None] = {}

    def add(self, event_id: str) -> bool:
        """Whether the id is new; it is remembered from now on."""
        if event_id in self._ids:
            return False
        self._ids[event_id] = None
        if len(self._ids) > self._ids_max:
            del self._ids[next(iter(self._ids))]
        return True

    def snapshot(self) -> list[str]:
        """The ids, oldest first."""
        return list(self._ids)

    def restore(self, ids: list[str]) -> None:
        self._ids = dict.fromkeys(ids)
