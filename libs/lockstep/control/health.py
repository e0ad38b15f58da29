"""How a source or a sink is doing, as who runs it notes it and tells it in heartbeats."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import msgspec

from lockstep.clock import Clock

MAX_TOLD: Final = 500
"""So many sources and sinks are in one heartbeat; those that do not run come first."""
MAX_TEXT: Final = 300
"""Characters of a reason or an error in it."""


class ConnectorState(StrEnum):
    """`FAILED`: it cannot be set up, and that is tried again; nothing is lost meanwhile."""

    RUNNING = "running"
    PAUSED = "paused"
    RETRYING = "retrying"
    FAILED = "failed"


class ConnectorHealth(msgspec.Struct, frozen=True, omit_defaults=True):
    """One source or sink of an app, on one process. `since_ms`: for how long it has been in this
    state; `reason`: why it does not run. `last_error`: the last one there was, also after it was
    overcome. `per_s`: events in or rows out in a second, lately.
    """

    app: str
    element: str
    state: ConnectorState = ConnectorState.RUNNING
    since_ms: int = 0
    reason: str = ""
    last_error: str = ""
    last_error_ms: int = 0
    per_s: float = 0.0


class Condition:
    """Of one source or sink in this process. What it is told twice changes nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._state = ConnectorState.RUNNING
        self._since_ms = clock.now_ms()
        self._reason = ""
        self._last_error = ""
        self._last_error_ms = 0

    @property
    def trouble(self) -> str | None:
        """Why it neither runs nor is paused."""
        is_troubled = self._state in (ConnectorState.RETRYING, ConnectorState.FAILED)
        return self._reason if is_troubled else None

    def runs(self) -> None:
        """All is well."""
        self._be(ConnectorState.RUNNING, "")

    def is_paused(self) -> None:
        """Somebody wanted it so, and nothing is under way any more."""
        self._be(ConnectorState.PAUSED, "")

    def goes_on(self) -> None:
        """It is not paused any more, if it was."""
        if self._state is ConnectorState.PAUSED:
            self.runs()

    def erred(self, why: str) -> None:
        """Something was refused, and it goes on."""
        self._last_error, self._last_error_ms = why[:MAX_TEXT], self._clock.now_ms()

    def retries(self, why: str) -> None:
        """It will be tried again."""
        self.erred(why)
        self._be(ConnectorState.RETRYING, why)

    def fails(self, why: str) -> None:
        """It cannot be set up as it is written."""
        self.erred(why)
        self._be(ConnectorState.FAILED, why)

    def told(self, app: str, element: str, per_s: float) -> ConnectorHealth:
        """For a heartbeat."""
        return ConnectorHealth(
            app, element, self._state, self._since_ms, self._reason[:MAX_TEXT], self._last_error,
            self._last_error_ms, per_s,
        )  # fmt: skip

    def _be(self, state: ConnectorState, reason: str) -> None:
        if state is not self._state:
            self._state, self._since_ms = state, self._clock.now_ms()
        self._reason = reason


def some_told(found: Iterable[ConnectorHealth]) -> tuple[ConnectorHealth, ...]:
    """As many as a heartbeat holds."""
    told = tuple(found)
    if len(told) <= MAX_TOLD:
        return told
    return tuple(sorted(told, key=lambda one: one.state is ConnectorState.RUNNING)[:MAX_TOLD])
