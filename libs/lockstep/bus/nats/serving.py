"""Whether the server that we are connected to is of any use: decided from what goes well and what
does not. Times are seconds of a clock that never runs back."""

from __future__ import annotations

from typing import Final

LEAVE_AFTER_S: Final = 1.5  # less than the time for one attempt
LEAVE_AGAIN_AFTER_S: Final = 5.0


class Serving:
    """A server that is cut off from its peers, though not from us, takes what we send and does
    nothing with it; another one may do better."""

    def __init__(self) -> None:
        self._came_s = 0.0
        self._failing_since_s: float | None = None
        self._left_s = -LEAVE_AGAIN_AFTER_S

    def arrived(self, now_s: float) -> None:
        """Connected, to whichever server."""
        self._came_s = now_s
        self._failing_since_s = None

    def served(self) -> None:
        """Something went well that takes a majority of the cluster's servers."""
        self._failing_since_s = None

    def should_leave(self, asked_s: float, now_s: float) -> bool:
        """What was asked then has failed now: whether it is time to go to another server.

        When nothing has gone well for a while; and at most once in a while, as all servers may be
        waiting for a leader to be chosen.
        """
        if asked_s < self._came_s:
            return False  # of another server
        if self._failing_since_s is None:
            self._failing_since_s = asked_s
        if now_s - self._failing_since_s < LEAVE_AFTER_S:
            return False
        if now_s - self._left_s < LEAVE_AGAIN_AFTER_S:
            return False
        self._left_s = now_s
        return True
