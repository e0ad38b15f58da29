"""Back-pressure at the door: how much may be under way, how far the processors may lag behind, and
how much they may hold.

Over a limit a sender is told when to come back; nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Protocol

from lockstep.frame.problems import Problem
from lockstep.settings import ReceiverSettings
from lockstep.telemetry import Metrics


class Processors(Protocol):
    """What is heard of the processors of an app."""

    def lag(self, app: str) -> int:
        """How far the furthest replica is behind the end of the input log, in positions; 0 when
        nothing is known yet."""

    def is_full(self, app: str) -> bool:
        """The app's windows and tables hold as much as they may."""


class Gate:
    """Counts what is under way in this process."""

    def __init__(
        self, settings: ReceiverSettings, processors: Processors, metrics: Metrics
    ) -> None:
        self._settings = settings
        self._processors = processors
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

    def is_closed(self, app: str) -> bool:
        """The processors of an app are over their lag limit, or its state is over its own."""
        return self._is_behind(app) or self._processors.is_full(app)

    def _is_behind(self, app: str) -> bool:
        return self._processors.lag(app) > self._settings.max_log_lag_positions

    def _check(self, app: str, size_bytes: int) -> None:
        limits = self._settings
        if self._requests >= limits.max_inflight_requests:
            raise self._push_back("requests", f"{self._requests} requests are under way")
        # A single body over the limit passes when nothing else is under way: it has a limit itself.
        if self._bytes and self._bytes + size_bytes > limits.max_inflight_bytes:
            raise self._push_back("bytes", f"{self._bytes} bytes are under way")
        if self._is_behind(app):
            lag = self._processors.lag(app)
            raise self._push_back("lag", f"the processors of '{app}' are {lag} positions behind")
        if self._processors.is_full(app):
            raise self._push_back(
                "state", f"the windows and tables of '{app}' hold as many rows as they may"
            )

    def _push_back(self, reason: str, message: str) -> Problem:
        self._metrics.count("lockstep_receiver_pushed_back_total", reason=reason)
        return Problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            message,
            hint="send again after Retry-After seconds",
            retry_after_ms=self._settings.retry_after_ms,
        )
