"""What validation refuses beside a transaction is what Kafka's client refuses; needs no broker."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer

from lockstep.connectors.kafka import TRANSACTION_TIMEOUT_MS
from lockstep.siddhiql import SiddhiQLError, check


def _client_takes(name: str, value: str) -> bool:
    settings = {
        "bootstrap.servers": "127.0.0.1:1",
        "transactional.id": "t",
        "transaction.timeout.ms": TRANSACTION_TIMEOUT_MS,
        "log_level": 0,
        name: value,
    }
    try:
        Producer(settings)
    except KafkaException:
        return False
    return True


def _validation_takes(name: str, value: str) -> bool:
    try:
        check(
            f"@sink(type='kafka', bootstrap.servers='h:1', topic='t',"
            f" optional.configuration='{name}:{value}') define stream S (a int);"
        )
    except SiddhiQLError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("acks", "all", "1"),
        ("request.required.acks", "-1", "0"),
        ("max.in.flight", "5", "6"),
        ("max.in.flight.requests.per.connection", "1", "9"),
        ("retries", "1", "0"),
        ("message.send.max.retries", "3", "0"),
        ("message.timeout.ms", str(TRANSACTION_TIMEOUT_MS), str(TRANSACTION_TIMEOUT_MS + 1)),
        ("delivery.timeout.ms", "0", str(TRANSACTION_TIMEOUT_MS + 1)),
        ("queuing.strategy", "fifo", "lifo"),
        ("linger.ms", "5", "many"),
    ],
)
def test_validation_and_client_agree(name: str, good: str, bad: str) -> None:
    """A value that only the client can judge is left to it."""
    assert (_validation_takes(name, good), _client_takes(name, good)) == (True, True)
    assert not _client_takes(name, bad)
    assert _validation_takes(name, bad) == (name == "linger.ms")
