"""What a process that runs is not allowed on Kafka: nobody's fault who sends events."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from confluent_kafka import KafkaError
from structlog.testing import capture_logs

from lockstep.bus.errors import BusRightsError
from lockstep.bus.kafka.errors import translated
from lockstep.bus.kafka.refusals import Refusals
from lockstep.events import Fault, UnavailableError
from lockstep.frame.problems import respond
from lockstep.telemetry.seldom import MINUTE_MS

DENIED = [
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
]
LOGIN = [KafkaError.SASL_AUTHENTICATION_FAILED, KafkaError._AUTHENTICATION]


@pytest.mark.parametrize(
    ("code", "hint"),
    [(code, "<prefix>.trimmed") for code in DENIED] + [(c, "bus.url") for c in LOGIN],
)
def test_what_is_not_allowed_is_no_senders_fault(code: int, hint: str) -> None:
    """A receiver puts no message aside for it, and its sender may come again with the same."""
    refusal = translated(KafkaError(code), "in.A")
    assert isinstance(refusal, UnavailableError)
    assert (refusal.fault, refusal.retryable) == (Fault.EXTERNAL, False)
    answer = respond(refusal)
    assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert hint in json.loads(answer.text or "")["hint"]


def test_a_record_that_its_topic_does_not_take_has_a_hint() -> None:
    """A compacted topic takes no record without a key, and its broker does not say so."""
    refusal = translated(KafkaError(KafkaError.INVALID_RECORD), "in.A")
    assert isinstance(refusal, UnavailableError)
    assert refusal.retryable
    assert "cleanup.policy" in str(refusal.hint)


def test_what_is_not_allowed_is_told_once_a_minute() -> None:
    """As an error, with what to do; what passes by itself is not."""
    now_s = 5.0
    refusals = Refusals(lambda: now_s)
    denied = BusRightsError("the bus does not let us do this: denied", hint="let the user write")
    with capture_logs() as logs:
        for after_s in (0.0, 1.0, MINUTE_MS / 1000 - 2.0, 1.0, 1.0):
            now_s += after_s
            refusals.note(UnavailableError("away"))
            refusals.note(denied)
    assert [each["log_level"] for each in logs] == ["error", "error"]
    assert "let the user write" in logs[0]["error"]
