"""Back-pressure at the door: how much may be under way, how far the processors may lag behind, and
how much they may hold.

Over a limit a sender is told when to come back; nothing is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Protocol

from lockstep.events import Fault, LockstepError
from lockstep.frame.problems import Problem
from lockstep.settings import ReceiverSettings
from lockstep.telemetry import Logger, Metrics, get_logger


class Processors(Protocol):
    """What is heard of the processors of an app."""

    def lag(self, app: str) -> int:
        """How far the furthest replica is behind the end of the input log, in positions; 0 when
        nothing is known yet."""

    def is_full(self, app: str) -> bool:
        """The app's windows and tables hold as much as they may."""


class Share:
    """What one request holds of the gate."""

    def __init__(self, grow: Callable[[Share, int], None], enter: Callable[[Share], None]) -> None:
        self._grow = grow
        self._enter = enter
        self.size_bytes = 0
        self.is_under_way = False

    def grow_to(self, size_bytes: int) -> None:
        """So much of it is in memory. Problem 429 when there is no room."""
        self._grow(self, size_bytes)

    def enter(self) -> None:
        """It is whole, and is under way from now on. Problem 429 when too many are."""
        self._enter(self)


class Gate:
    """Counts what is under way in this process."""

    def __init__(
        self,
        settings: ReceiverSettings,
        processors: Processors,
        metrics: Metrics,
        log: Logger | None = None,
    ) -> None:
        self._settings = settings
        self._processors = processors
        self._metrics = metrics
        self._log = log or get_logger()
        self._bytes = 0
        self._requests = 0
        self._is_told = False

    @contextmanager
    def passing(self, app: str, size_bytes: int) -> Iterator[Share]:
        """Holds the share of a request that is here, while it is under way; Problem 429 when there
        is no room."""
        with self.coming(app, size_bytes) as share:
            share.grow_to(size_bytes)
            share.enter()
            yield share

    @contextmanager
    def coming(self, app: str, announced_bytes: int) -> Iterator[Share]:
        """Holds what has come of a request: `Share.grow_to`, and `Share.enter` once it is whole.
        What is only announced holds nothing: a few who announce much and send nothing would keep
        out everybody. Problem 429 when there is no room now for what it has announced."""
        self._check(app, announced_bytes)
        share = Share(self._grow, self._enter)
        try:
            yield share
        finally:
            self._requests -= share.is_under_way
            self._hold(-share.size_bytes)

    def _grow(self, share: Share, size_bytes: int) -> None:
        more, others = size_bytes - share.size_bytes, self._bytes - share.size_bytes
        if more <= 0:
            return
        self._check_bytes(others, size_bytes)
        share.size_bytes = size_bytes
        self._hold(more)

    def _enter(self, share: Share) -> None:
        self._check_requests()
        share.is_under_way = True
        self._requests += 1

    def _hold(self, more: int) -> None:
        self._bytes += more
        self._metrics.set("lockstep_receiver_inflight_bytes", self._bytes)
        limits = self._settings
        if (
            self._bytes <= limits.max_inflight_bytes // 2
            and self._requests <= limits.max_inflight_requests // 2
        ):
            self._is_told = False

    def is_closed(self, app: str) -> bool:
        """The processors of an app are over their lag limit, or its state is over its own."""
        return self._is_behind(app) or self._processors.is_full(app)

    def count(self, reason: str) -> None:
        """A sender has been told to come back, or to go elsewhere."""
        self._metrics.count("lockstep_receiver_pushed_back_total", reason=reason)

    def note(self, error: LockstepError) -> None:
        """Counts what a sender is told because a server is away. A Problem is counted by who
        raises it."""
        if error.fault is Fault.EXTERNAL and not isinstance(error, Problem):
            self.count("unavailable")

    def _is_behind(self, app: str) -> bool:
        return self._processors.lag(app) > self._settings.max_log_lag_positions

    def _check(self, app: str, size_bytes: int) -> None:
        self._check_requests()
        self._check_bytes(self._bytes, size_bytes)
        if self._is_behind(app):
            lag = self._processors.lag(app)
            raise self._push_back("lag", f"the processors of '{app}' are {lag} positions behind")
        if self._processors.is_full(app):
            raise self._push_back(
                "state", f"the windows and tables of '{app}' hold as many rows as they may"
            )

    def _check_requests(self) -> None:
        if self._requests >= self._settings.max_inflight_requests:
            raise self._full("requests", f"{self._requests} requests are under way")

    def _check_bytes(self, others: int, size_bytes: int) -> None:
        # A single body over the limit passes when nothing else is under way: it has a limit itself.
        if others and others + size_bytes > self._settings.max_inflight_bytes:
            raise self._full("bytes", f"{others} bytes are under way")

    def _full(self, reason: str, message: str) -> Problem:
        """Told once, until half of the room is free again: an operator has to learn why senders are
        told to come back."""
        if not self._is_told:
            self._is_told = True
            self._log.warning(
                "the door is full, senders are told to come back", why=message,
                limit=f"receiver.max_inflight_{reason}",
            )  # fmt: skip
        return self._push_back(reason, message)

    def _push_back(self, reason: str, message: str) -> Problem:
        self.count(reason)
        return Problem(
            HTTPStatus.TOO_MANY_REQUESTS,
            message,
            hint="send again after Retry-After seconds",
            retry_after_ms=self._settings.retry_after_ms,
        )
