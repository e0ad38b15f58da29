"""Figures of apps and failovers in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from lockstep.store.contract import Stale, Written
from lockstep.store.figures import (
    Failover,
    FigureRow,
    Grain,
    last_of_each,
    newest_first,
    staying,
)

Passes = Callable[[int], Stale | None]


@dataclass
class FiguresShelf:
    """By app and time, and by unit and term."""

    rows: dict[Grain, dict[str, dict[int, FigureRow]]] = field(
        default_factory=lambda: {grain: {} for grain in Grain}
    )
    failovers: dict[tuple[tuple[str, str, int], tuple[int, int]], Failover] = field(
        default_factory=dict
    )


class MemoryFigures:
    """See contract.FiguresKept."""

    def __init__(self, shelf: FiguresShelf, passes: Passes) -> None:
        self._rows = shelf.rows
        self._passes = passes

    async def add(self, grain: Grain, rows: Sequence[FigureRow], *, epoch: int) -> Written | Stale:
        stale = self._passes(epoch)
        if stale is None:
            for one in rows:
                self._rows[grain].setdefault(one.app, {}).setdefault(one.at_ms, one)
        return stale or Written()

    async def read(
        self, grain: Grain, apps: Sequence[str] | None, from_ms: int, to_ms: int
    ) -> Sequence[FigureRow]:
        found = (
            row
            for app in sorted(self._rows[grain] if apps is None else set(apps))
            for _, row in sorted(self._rows[grain].get(app, {}).items())
        )
        return [row for row in found if from_ms <= row.at_ms < to_ms]

    async def ends(self, grain: Grain) -> tuple[int, int] | None:
        times = [at_ms for rows in self._rows[grain].values() for at_ms in rows]
        return (min(times), max(times)) if times else None

    async def trim(self, grain: Grain, before_ms: int) -> None:
        for app, rows in list(self._rows[grain].items()):
            for at_ms in [each for each in rows if each < before_ms]:
                del rows[at_ms]
            if not rows:
                del self._rows[grain][app]


class MemoryFailovers:
    """See contract.Failovers."""

    def __init__(self, shelf: FiguresShelf, passes: Passes) -> None:
        self._found = shelf.failovers
        self._passes = passes

    async def note(self, found: Sequence[Failover], *, epoch: int) -> Written | Stale:
        stale = self._passes(epoch)
        if stale is None:
            for one in found:
                self._found.setdefault((one.unit, one.term), one)
        return stale or Written()

    async def read(
        self, from_ms: int, to_ms: int, *, limit: int, app: str | None = None
    ) -> Sequence[Failover]:
        found = self._found.values()
        return newest_first(found, from_ms, to_ms, limit=limit, app=app)

    async def last(self) -> Sequence[Failover]:
        return list(last_of_each(self._found.values()).values())

    async def trim(self, before_ms: int, layouts: Mapping[str, int]) -> int:
        there = len(self._found)
        stays = staying(self._found.values(), before_ms, layouts)
        self._found.clear()
        self._found.update({(one.unit, one.term): one for one in stays})
        return there - len(stays)
