"""Parts of the Kafka source that need no broker: offsets to commit, options."""

from __future__ import annotations

from lockstep.siddhiql import ast
from lockstep_services.receiver.kafka_options import KafkaOptions
from lockstep_services.receiver.offsets import Offsets


def test_an_offset_is_committed_once_nothing_before_it_is_under_way() -> None:
    """Also when later records end first; gaps, as of transactions' marks, do not matter."""
    offsets, place = Offsets(), ("t", 0)
    for offset in (5, 6, 9):
        offsets.begin(place, offset)
    assert offsets.take_ended() == {}
    offsets.end(place, 6)
    assert offsets.take_ended() == {}
    offsets.end(place, 5)
    assert offsets.take_ended() == {place: 9}
    assert offsets.take_ended() == {}
    offsets.end(place, 9)
    assert offsets.take_ended() == {place: 10}


def test_partitions_move_by_themselves() -> None:
    """One that waits does not hold another up."""
    offsets = Offsets()
    offsets.begin(("t", 0), 0)
    offsets.begin(("t", 1), 7)
    offsets.end(("t", 1), 7)
    assert offsets.take_ended() == {("t", 1): 8}


def _options(**given: str) -> KafkaOptions:
    named = {
        "type": "kafka",
        "bootstrap.servers": "h:1",
        "topic.list": "a, b",
        "group.id": "g",
        **{name.replace("_", "."): value for name, value in given.items()},
    }
    elements = tuple(ast.Element(name, value) for name, value in named.items())
    return KafkaOptions.of(ast.Annotation("source", elements))


def test_options_are_read() -> None:
    """Lists, maps and the client's own settings."""
    options = _options(
        partition_no_list="0, 2",
        topic_offsets_map="a=5,b=0",
        seq_enabled="True",
        optional_configuration="fetch.min.bytes:1, client.id:x:y",
    )
    assert (options.topics, options.partitions) == (("a", "b"), (0, 2))
    assert options.offsets == {"a": 5, "b": 0}
    assert options.is_numbered
    assert options.settings == {
        "bootstrap.servers": "h:1",
        "group.id": "g",
        "fetch.min.bytes": "1",
        "client.id": "x:y",
    }
