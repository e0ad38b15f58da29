"""What those who follow databases remember, as cursors of their app."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.store import Cursors, cursor_name


@dataclass(frozen=True)
class CursorMemory:
    """Numbers that only grow. `follower`: whose they are, in the app whose logs exist since
    `since_ms`."""

    cursors: Cursors
    app: str
    follower: str
    since_ms: int

    def _named(self, name: str) -> str:
        return cursor_name(self.app, f"{self.follower}.{name}", self.since_ms)

    async def get(self, name: str) -> int:
        """0 at the start."""
        return await self.cursors.get(self._named(name))

    async def put(self, name: str, value: int) -> None:
        """Durable when it returns."""
        await self.cursors.put(self._named(name), value)
