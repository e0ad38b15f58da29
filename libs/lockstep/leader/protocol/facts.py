"""What the protocol is told: outcomes of its instructions, time, and wishes from outside.

Every instruction is answered by exactly one fact; "unavailable" and "unknown" are answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.events import OutputId


@dataclass(frozen=True, slots=True)
class Tail:
    """Where the output log ends: sequence, epoch that wrote or claimed last, last identity."""

    sequence: int
    epoch: int
    last_id: OutputId | None


@dataclass(frozen=True, slots=True)
class Fact:
    """What the protocol is told."""


@dataclass(frozen=True, slots=True)
class TimePassed(Fact):
    """It is `now_ms` on the replica's monotonic clock."""

    now_ms: int


@dataclass(frozen=True, slots=True)
class ReadinessChanged(Fact):
    """Whether the replica has its state and is close enough to the input log's end."""

    ready: bool


@dataclass(frozen=True, slots=True)
class DeferenceChanged(Fact):
    """Whether a replica that is ready lives, to whom one that is not leaves the lead."""

    defers: bool


@dataclass(frozen=True, slots=True)
class RowsHeld(Fact):
    """The fold has brought outputs; `up_to` is the last one held back."""

    up_to: OutputId


@dataclass(frozen=True, slots=True)
class LeaseAcquired(Fact):
    """The lease is ours."""


@dataclass(frozen=True, slots=True)
class LeaseRefused(Fact):
    """Somebody else holds the lease."""


@dataclass(frozen=True, slots=True)
class HolderDied(Fact):
    """Whoever acquired the lease as `token` has died, as it seems. It may be a wrong guess."""

    token: str


@dataclass(frozen=True, slots=True)
class LeaseRenewed(Fact):
    """The lease is still ours."""


@dataclass(frozen=True, slots=True)
class LeaseLost(Fact):
    """The lease is not ours any more: it ran out, or its server has forgotten it."""


@dataclass(frozen=True, slots=True)
class LeaseUnavailable(Fact):
    """The lease server did not answer an acquisition or a renewal."""


@dataclass(frozen=True, slots=True)
class LeaseGivenBack(Fact):
    """The release or hand-over has been tried; whatever came of it, the lease ends by itself."""


@dataclass(frozen=True, slots=True)
class LeadOffered(Fact):
    """The leader hands over to this replica: the lease is reserved for it."""


@dataclass(frozen=True, slots=True)
class TailRead(Fact):
    """The end of the output log at some moment after it was asked for, or seen by following it."""

    tail: Tail


@dataclass(frozen=True, slots=True)
class TailUnavailable(Fact):
    """The output log could not be read."""


@dataclass(frozen=True, slots=True)
class ClaimAccepted(Fact):
    """Our claim stands at `sequence`."""

    epoch: int
    sequence: int


@dataclass(frozen=True, slots=True)
class ClaimRefused(Fact):
    """Somebody has appended since we read the tail."""

    tail: Tail


@dataclass(frozen=True, slots=True)
class ClaimUnknown(Fact):
    """No answer: the claim may stand, or may yet arrive."""


@dataclass(frozen=True, slots=True)
class AppendAccepted(Fact):
    """Our rows up to `last_id` stand; the log ends at `sequence`."""

    sequence: int
    last_id: OutputId


@dataclass(frozen=True, slots=True)
class AppendRefused(Fact):
    """The log does not end where we expected it to."""

    tail: Tail


@dataclass(frozen=True, slots=True)
class AppendUnknown(Fact):
    """No answer: the rows may stand, or may yet arrive."""


@dataclass(frozen=True, slots=True)
class BeginningRequested(Fact):
    """The replica is about to go over to another state: the log has to say so first."""


@dataclass(frozen=True, slots=True)
class BeginningAccepted(Fact):
    """Our claim for the other state stands at `sequence`, with our epoch."""

    sequence: int


@dataclass(frozen=True, slots=True)
class HandOverRequested(Fact):
    """Somebody wants `to` to lead."""

    to: str


@dataclass(frozen=True, slots=True)
class Unfit(Fact):
    """The replica could publish nothing if it led, and leaves that to others; `why` not."""

    why: str


@dataclass(frozen=True, slots=True)
class StopRequested(Fact):
    """The replica is to end."""
