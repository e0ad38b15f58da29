"""What is set of a Kafka topic that is there already, and what a record is told that is refused."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError

from lockstep.bus import RecordTooLargeError
from lockstep.bus.errors import LogGoneError
from lockstep.bus.kafka.broker import live_config, log_config
from lockstep.bus.kafka.sending import FRAME_BYTES, refusal_of
from lockstep.bus.kafka.topic_settings import changes_of
from lockstep.bus.limits import BusLimits
from lockstep.events import UnavailableError

LIMITS = BusLimits(max_message_bytes=500_000, replicas=3)
CONFIG = log_config(LIMITS, max_age_ms=1_000)
TOO_LARGE = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE)


def _found(size_bytes: int = 565_536, age_ms: int = 1_000, in_sync: int = 2) -> dict[str, str]:
    return {
        "max.message.bytes": str(size_bytes),
        "retention.ms": str(age_ms),
        "min.insync.replicas": str(in_sync),
    }


def test_what_is_as_it_should_be_is_left() -> None:
    """Also what a broker of another make does not tell."""
    assert changes_of(_found(), CONFIG, 3) == {}
    assert changes_of({}, CONFIG, 3) == {}


def test_the_size_of_records_is_only_raised() -> None:
    """Others may have a larger limit."""
    assert changes_of(_found(size_bytes=100_000), CONFIG, 3) == {"max.message.bytes": "565536"}
    assert changes_of(_found(size_bytes=900_000), CONFIG, 3) == {}


def test_the_age_is_that_of_the_settings() -> None:
    """Shorter, longer, or none."""
    assert changes_of(_found(age_ms=-1), CONFIG, 3) == {"retention.ms": "1000"}
    kept = log_config(LIMITS, max_age_ms=None)
    assert changes_of(_found(), kept, 3) == {"retention.ms": "-1"}


@pytest.mark.parametrize(
    ("name", "was", "wanted"),
    [
        ("cleanup.policy", "compact", "delete"),
        ("cleanup.policy", "compact,delete", "delete"),
        ("retention.bytes", "100000", "-1"),
        ("message.timestamp.type", "CreateTime", "LogAppendTime"),
    ],
)
def test_what_would_forget_is_set_anew(name: str, was: str, wanted: str) -> None:
    """A compacted topic keeps one letter of each subject, and a limit forgets what nobody has read.
    Ids age by the brokers' stamps."""
    assert changes_of(_found() | {name: was}, CONFIG, 3) == {name: wanted}
    assert changes_of(_found() | {name: wanted}, CONFIG, 3) == {}


def test_how_much_a_live_topic_holds_is_left() -> None:
    """Of it only what is new matters."""
    config = live_config(LIMITS)
    found = {"retention.bytes": "100000", "cleanup.policy": "compact"}
    assert changes_of(found, config, 3) == {"cleanup.policy": "delete"}


@pytest.mark.parametrize(
    ("in_sync", "replicas", "wanted"),
    [(1, 3, 2), (1, 1, 1), (2, 1, 1), (3, 3, 3), (1, 2, 2), (2, 6, 2)],
    ids=["raised", "one replica", "more than there are", "stricter", "two replicas", "being moved"],
)
def test_a_majority_of_the_replicas_that_there_are_has_to_be_in_sync(
    in_sync: int, replicas: int, wanted: int
) -> None:
    """With more than there are nothing could be appended any more."""
    changes = changes_of(_found(in_sync=in_sync), CONFIG, replicas)
    assert changes.get("min.insync.replicas", str(in_sync)) == str(wanted)


def test_a_record_that_the_topic_does_not_take_is_too_large() -> None:
    """With its size and the limit."""
    refusal = refusal_of(TOO_LARGE, 300_000, 100_000 + FRAME_BYTES, "log")
    assert isinstance(refusal, RecordTooLargeError)
    assert (refusal.size_bytes, refusal.limit_bytes) == (300_000, 100_000)


@pytest.mark.parametrize("taken_bytes", [None, 500_000])
def test_a_record_that_may_fit_by_itself_is_tried_again(taken_bytes: int | None) -> None:
    """It was refused with others, or nobody knows; who took it for too large would put it aside."""
    refusal = refusal_of(TOO_LARGE, 300_000, taken_bytes, "log")
    assert isinstance(refusal, UnavailableError)
    assert "max.message.bytes" in str(refusal.hint)


def test_other_refusals_are_what_they_were() -> None:
    """In our words."""
    gone = refusal_of(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), 1, None, "log")
    assert isinstance(gone, LogGoneError)
