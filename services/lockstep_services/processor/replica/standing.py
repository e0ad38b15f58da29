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


def why_overtaken(own: Generation, tail: OutputTail) -> str:
    """For people: which state the output log goes on with, and which one is here."""
    there = tail.generation
    if there is None or own.follows(there):
        return f"the output log has rows behind the beginning of {_named(own)} already"
    return f"the output log goes on with {_named(there)}, this replica has {_named(own)}"


def _named(generation: Generation) -> str:
    life, position = generation.life, generation.position
    return f"generation {life.number} of {life.deployed_ms} (from position {position} on)"
