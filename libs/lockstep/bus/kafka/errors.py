"""Kafka's errors in our words: unavailable (try again), gone, too large, or not allowed."""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError

from lockstep.bus.errors import BusRightsError, LogGoneError, NoRoomError
from lockstep.events import LockstepError, UnavailableError

GONE: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)
_LOGIN: Final = "look at the user and its password, or at the certificate, of bus.url"
_RIGHTS: Final = (
    "let the bus's user create, delete, describe, read and write topics with the bus's prefix, and "
    "read the group <prefix>.trimmed"
)
_REFUSED: Final = {
    KafkaError._AUTHENTICATION: _LOGIN,
    KafkaError.SASL_AUTHENTICATION_FAILED: _LOGIN,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: _RIGHTS,
    KafkaError.GROUP_AUTHORIZATION_FAILED: _RIGHTS,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: _RIGHTS,
}
"""What who runs the brokers has to mend, and where to look."""

_NO_ROOM: Final = frozenset({KafkaError.KAFKA_STORAGE_ERROR})
_HINTS: Final = {
    KafkaError.INVALID_RECORD: "if the topic's cleanup.policy has `compact`, set it to `delete`: a "
    "compacted topic takes no record without a key",
}


def translated(error: KafkaError, where: str) -> LockstepError:
    """Our word for what the client told."""
    code = error.code()
    if code in GONE:
        return LogGoneError(where)
    if code in _REFUSED:
        # A process that runs met it: never the fault of who sends the event that is written.
        return BusRightsError(
            f"the bus does not let us do this: {error.str()}", where=where, hint=_REFUSED[code]
        )
    if code in _NO_ROOM:
        return NoRoomError(
            f"the bus cannot store this: {error.str()}",
            where=where,
            hint="look at the brokers' disks",
        )
    return UnavailableError(
        f"the bus cannot serve this now: {error.str()}", where=where, hint=_HINTS.get(code)
    )
