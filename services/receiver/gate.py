"""Back-pressure at the door: how much may be under way, and how far the processors may lag behind.

Over a limit a sender is told when to come back; nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Protocol

from lockstep.frame.problems import Problem
from lockstep.settings import ReceiverSettings
from lockstep.telemetry import Metrics


class Lag(Protocol):
    """How far the furthest replica of an app is behind the end of its input log, in positions."""

    def lag(self, app: str) -> int:
        """0 when nothing is known yet."""


class Gate:
    """Counts what is under way in this process."""

    def __init__(
        self, settings: ReceiverSettings, lag: Callable[[str], int], metrics: Metrics
    ) -> None:
        self._settings = settings
        self._lag = lag
        self._metrics = metrics
        self._bytes = 0
        self._requests = 0

    @contextmanager
    def passing(self, app: str, size_bytes: int) -> Iterator[None]:
        """Holds the request's share while it is under way; Problem 429 when there is no room."""
        self._check(app, size_bytes)
        self._bytes += size_bytes
        self._requests += 1
        self._metrics.set("lockstep_receiver_inflight_bytes", self._bytes)
        try:
            yield
        finally:
            self._bytes -= size_bytes
            self._requests -= 1
            self._metrics.set("lockstep_receiver_inflight_bytes", self._bytes)

    def is_behind(self, app: str) -> bool:
        """The processors of an app are over their lag limit."""
        return self._lag(app) > self._settings.max_log_lag_positions

    def _check(self, app: str, size_bytes: int) -> None:
        limits = self._settings
        if self._requests >= limits.max_inflight_requests:
            raise self._push_back("requests", f"{self._requests} requests are under way")
        # A single body over the limit passes when nothing else is under way: it has a limit itself.
        if self._bytes and self._bytes + size_bytes > limits.max_inflight_bytes:
            raise self._push_back("bytes", f"{self._bytes} bytes are under way")
        if self.is_behind(app):
            raise self._push_back(
                "lag", f"the processors of '{app}' are {self._lag(app)} positions behind"
            )

    def _push_back(self, reason: str, message: str) -> Problem:
        self._metrics.count("lockstep_receiver_pushed_back_total", reason=reason)
        return Problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            message,
            hint="send again after Retry-After seconds",
            retry_after_ms=self._settings.retry_after_ms,
        )
