"""Kafka's errors in our words: unavailable (try again), gone, too large, or refused."""

from __future__ import annotations

from typing import Final

from confluent_kafka import KafkaError

from lockstep.bus.errors import BusRefusedError, LogGoneError, NoRoomError
from lockstep.events import LockstepError, UnavailableError

GONE: Final = frozenset(
    {
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_ID,
    }
)
_REFUSED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_NO_ROOM: Final = frozenset({KafkaError.KAFKA_STORAGE_ERROR})


def translated(error: KafkaError, where: str) -> LockstepError:
    """Our word for what the client told."""
    code = error.code()
    if code in GONE:
        return LogGoneError(where)
    if code in _REFUSED:
        return BusRefusedError(f"the bus does not let us do this: {error.str()}", where=where)
    if code in _NO_ROOM:
        return NoRoomError(
            f"the bus cannot store this: {error.str()}",
            where=where,
            hint="look at the brokers' disks",
        )
    return UnavailableError(f"the bus cannot serve this now: {error.str()}", where=where)
