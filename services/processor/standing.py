"""What the output log says about a replica's state: is it the one that publishes? Pure.

The log bears the generation of whoever claimed it last. It alone decides which state an app goes on
with: a revision of a later one that nobody has claimed the log for has not begun.
"""

from __future__ import annotations

from enum import Enum

from lockstep.bus import OutputTail
from lockstep.events import Generation, LockstepError


class RestartReplicaError(LockstepError):
    """This replica has to begin again with the state that the output log names."""

    retryable = True


class Standing(Enum):
    """Of a replica's generation."""

    RECORDED = "recorded"
    """The log's own, or the log bears none."""

    NEW = "new"
    """Later than the log's, and nothing stands behind its beginning: a claim will record it."""

    OVERTAKEN = "overtaken"
    """The log went over to another state, or published the earlier one behind this one's
    beginning: a claim would be refused."""


def standing(own: Generation, tail: OutputTail) -> Standing:
    """What the end of the output log says about a state of this generation."""
    there = tail.generation
    if there is None or there == own:
        return Standing.RECORDED
    is_behind = tail.last_id is None or tail.last_id.position <= own.position
    return Standing.NEW if own.follows(there) and is_behind else Standing.OVERTAKEN
