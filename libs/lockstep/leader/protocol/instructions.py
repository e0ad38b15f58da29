"""What the protocol tells its owner to do, in order."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.events import OutputId
from lockstep.leader.protocol.permit import Permit


@dataclass(frozen=True, slots=True)
class AcquireLease:
    """When it is free, or still held as the token `instead_of`. Answer: LeaseAcquired,
    LeaseRefused or LeaseUnavailable."""

    instead_of: str = ""


@dataclass(frozen=True, slots=True)
class RenewLease:
    """Answer: LeaseRenewed, LeaseLost or LeaseUnavailable."""


@dataclass(frozen=True, slots=True)
class ReleaseLease:
    """Answer: LeaseGivenBack."""


@dataclass(frozen=True, slots=True)
class HandOverLease:
    """Reserve it for `to`, and tell that replica. Answer: LeaseGivenBack."""

    to: str


@dataclass(frozen=True, slots=True)
class ReadTail:
    """Answer: TailRead or TailUnavailable."""


@dataclass(frozen=True, slots=True)
class AppendClaim:
    """Append a claim of `epoch`. Answer: ClaimAccepted, ClaimRefused or ClaimUnknown."""

    epoch: int
    expected_sequence: int


@dataclass(frozen=True, slots=True)
class Publish:
    """Append held rows behind `after`, as many as are well sent at once, with the permit's sequence
    and epoch. Answer: AppendAccepted, AppendRefused or AppendUnknown."""

    permit: Permit
    after: OutputId | None


@dataclass(frozen=True, slots=True)
class AppendBeginning:
    """Claim again with the permit's sequence and epoch, for the state that the replica goes over
    to. Answer: BeginningAccepted, AppendRefused or AppendUnknown."""

    permit: Permit


@dataclass(frozen=True, slots=True)
class TrimHeld:
    """Rows up to `up_to` stand in the output log: hold them back no longer. No answer."""

    up_to: OutputId


@dataclass(frozen=True, slots=True)
class TermBegan:
    """This replica leads from now on. No answer."""

    epoch: int


@dataclass(frozen=True, slots=True)
class TermEnded:
    """It leads no more and publishes nothing; `reason` is for people. `is_planned`: somebody wanted
    it so. No answer."""

    reason: str
    is_planned: bool = False


Instruction = (
    AcquireLease
    | RenewLease
    | ReleaseLease
    | HandOverLease
    | ReadTail
    | AppendClaim
    | Publish
    | AppendBeginning
    | TrimHeld
    | TermBegan
    | TermEnded
)
