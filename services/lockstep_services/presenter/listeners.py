"""Listeners with bounded queues: one that does not keep up is told so and dropped, nobody else
waits.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from http import HTTPStatus

from lockstep.frame.problems import Problem
from lockstep.telemetry import Metrics
from lockstep_services.presenter.models import Fresh, Shown


class Listener:
    """A queue of rows of one stream."""

    def __init__(self, max_rows: int, kind: str) -> None:
        self.kind = kind
        self._rows: deque[Shown] = deque()
        self._max_rows = max_rows
        self._arrived = asyncio.Event()
        self.lagging = False

    def push(self, fresh: Fresh) -> None:
        """Adds rows; over the limit the listener counts as lagging and takes no more."""
        if self.lagging:
            return
        if fresh.skipped or len(self._rows) + fresh.count > self._max_rows:
            self.lagging = True
        else:
            self._rows.extend(fresh.rows)
        self._arrived.set()

    def take(self) -> list[Shown]:
        """What has arrived, oldest first."""
        rows = list(self._rows)
        self._rows.clear()
        self._arrived.clear()
        return rows

    @property
    def arrived(self) -> asyncio.Event:
        """Set when there is something to take, or when it lags."""
        return self._arrived


class Listeners:
    """All listeners by (app, stream). `kind`: the way they listen, for the metrics."""

    def __init__(self, max_listeners: int, queue_rows: int, metrics: Metrics) -> None:
        self._max_listeners = max_listeners
        self._queue_rows = queue_rows
        self._metrics = metrics
        self._listeners: dict[tuple[str, str], set[Listener]] = {}
        self._counts: Counter[str] = Counter()
        self.closing = asyncio.Event()

    def close(self) -> None:
        """All are to go; whoever waits for rows hears it at once."""
        self.closing.set()
        for app, _ in self._listeners:
            self.wake(app)

    def wake(self, app: str) -> None:
        """Its listeners look at what has become of it."""
        for (name, _), some in self._listeners.items():
            for listener in some if name == app else ():
                listener.arrived.set()

    def add(self, app: str, stream: str, kind: str) -> Listener:
        """A new listener; Problem 503 when there are too many."""
        if self._counts.total() >= self._max_listeners:
            raise Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"{self._counts.total()} listeners are connected, no more are taken",
                retry_after_ms=5_000,
            )
        listener = Listener(self._queue_rows, kind)
        self._listeners.setdefault((app, stream), set()).add(listener)
        self._counted(kind, 1)
        return listener

    def remove(self, app: str, stream: str, listener: Listener) -> None:
        """Forgets a listener; idempotent."""
        known = self._listeners.get((app, stream), set())
        if listener in known:
            known.remove(listener)
            self._counted(listener.kind, -1)
            if not known:
                del self._listeners[app, stream]

    def push(self, app: str, stream: str, fresh: Fresh) -> None:
        """Hands rows to everybody who listens."""
        for listener in self._listeners.get((app, stream), ()):
            was_lagging = listener.lagging
            listener.push(fresh)
            if listener.lagging and not was_lagging:
                self._metrics.count(
                    "lockstep_presenter_listeners_dropped_total", kind=listener.kind
                )

    def _counted(self, kind: str, change: int) -> None:
        self._counts[kind] += change
        self._metrics.set("lockstep_presenter_listeners", self._counts[kind], kind=kind)
