"""A cluster that refuses by a count it has yet to show, or takes back: only what stands refuses."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from lockstep.bus import Accepted, BusLimits, OutputTail, Refused
from lockstep.bus.nats.bells import Bells
from lockstep.bus.nats.errors import ApiError
from lockstep.bus.nats.jetstream import RawMessage, Stored
from lockstep.bus.nats.output_log import NatsOutputLog
from lockstep.clock import SystemRandomness
from lockstep.events import ClaimRecord, UnavailableError

LIMITS = BusLimits(publish_timeout_ms=60_000)
CLAIM = ClaimRecord(3, "a", 5)


class UnsettledStream:
    """A stream that counts a lost proposal for its first `refusals` appends, then settles."""

    connection = SimpleNamespace(max_payload_bytes=1_000_000)

    def __init__(self, refusals: int, lands_as: str | None, limits: BusLimits = LIMITS) -> None:
        self.limits = limits
        self._refusals = refusals
        self._lands_as = lands_as  # whose append the lost proposal turns out to be; None: dropped
        self.messages: list[RawMessage] = []
        self.attempts = 0

    async def state(self, name: str) -> dict[str, Any]:
        """As the server tells it."""
        return {"bytes": 0, "last_seq": len(self.messages)}

    async def is_there(self, name: str) -> bool:
        """The leader answers."""
        return True

    async def message(self, name: str, request: Mapping[str, Any]) -> RawMessage | None:
        """The last one that the present leader shows."""
        return self.messages[-1] if self.messages else None

    async def publish(
        self, subject: str, payload: bytes, headers: Mapping[str, str], *, limit_bytes: int
    ) -> Stored:
        """Refused while unsettled; then taken, unless the lost proposal landed."""
        self.attempts += 1
        if self.attempts > self._refusals:
            if self._lands_as is not None and not self.messages:
                landed = dict(headers)
                if self._lands_as == "other":
                    landed |= {"Lockstep-Append": "other", "Lockstep-Epoch": "7"}
                self.messages.append(RawMessage(1, landed, payload))
            if int(headers["Nats-Expected-Last-Sequence"]) == len(self.messages):
                self.messages.append(RawMessage(len(self.messages) + 1, headers, payload))
                return Stored(len(self.messages), duplicate=False)
        raise ApiError("wrong last sequence", where=subject, code=10164)


def _log(stream: UnsettledStream) -> NatsOutputLog:
    jetstream: Any = stream  # the five calls it makes
    return NatsOutputLog(jetstream, "out.a", "OUT", SystemRandomness(), Bells(jetstream))


async def test_a_dropped_proposal_does_not_refuse_for_good() -> None:
    """The append is tried again until the leader's count is right."""
    stream = UnsettledStream(refusals=2, lands_as=None)
    assert await _log(stream).append(CLAIM, expected_sequence=0) == Accepted(1)
    assert (stream.attempts, len(stream.messages)) == (3, 1)


async def test_our_own_proposal_that_shows_late_is_ours() -> None:
    """It was appended once, and is told so."""
    stream = UnsettledStream(refusals=2, lands_as="ours")
    assert await _log(stream).append(CLAIM, expected_sequence=0) == Accepted(1)
    assert len(stream.messages) == 1


async def test_somebody_elses_that_shows_late_refuses() -> None:
    """With the tail as it then stands."""
    stream = UnsettledStream(refusals=2, lands_as="other")
    outcome = await _log(stream).append(CLAIM, expected_sequence=0)
    assert outcome == Refused(OutputTail(1, 7, None))


async def test_a_count_that_never_settles_leaves_the_outcome_unknown() -> None:
    """Nobody is told to step down by a refusal that nothing stands behind."""
    stream = UnsettledStream(10_000, None, BusLimits(publish_timeout_ms=300))
    with pytest.raises(UnavailableError, match="has not settled"):
        await _log(stream).append(CLAIM, expected_sequence=0)
