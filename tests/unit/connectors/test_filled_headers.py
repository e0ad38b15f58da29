"""Headers of messages that hold values of an event: no value is cut, and none makes another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from lockstep.connectors.googlepubsub.sink import PubSubSink
from lockstep.connectors.rabbitmq.sink import RabbitSink
from lockstep.connectors.redis_stream.sink import RedisStreamSink
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.sinks import Message, headers_filled

ODD = ["Smith, John", "x','admin:yes", 'q"', " a ", "", "a:b", "{{k}}"]


def message(value: str) -> Message:
    """Of a row with that value."""
    return Message(
        "A/main/0/1.0", b"{}", "text/plain", 1, {"k": value}, lambda t: t.replace("{{k}}", value)
    )


async def redis_fields(option: str, value: str) -> Mapping[str, Any]:
    """What an entry has beside the payload and the identity."""
    sink = RedisStreamSink(
        {"url": "redis://h", "stream.name": "s", "stream": "S", "fields": option}
    )
    words = sink._prepared(message(value)).words
    return {str(name): text for name, text in zip(words[5::2], words[6::2], strict=True)}


async def topic_attributes(option: str, value: str) -> Mapping[str, Any]:
    """The same of a message of Pub/Sub."""
    sink = PubSubSink(
        {"project.id": "p", "topic.id": "t", "endpoint": "http://h", "attributes": option}
    )
    found: dict[str, Any] = sink._message(message(value))["attributes"]
    return {name: text for name, text in found.items() if text != "A/main/0/1.0"}


async def rabbit_headers(option: str, value: str) -> Mapping[str, Any]:
    """The same of a message of RabbitMQ."""
    sent: list[Any] = []

    class Exchange:
        """Takes everything."""

        async def publish(self, made: Any, key: str, *, mandatory: bool) -> None:
            """Keeps it."""
            sent.append(made)

    class Told(RabbitSink):
        """To an exchange of ours."""

        async def _exchange(self, filled: Mapping[str, str]) -> Any:
            return Exchange()

    await Told({"uri": "amqp://h", "exchange.name": "e", "headers": option}).send(message(value))
    found: Mapping[str, Any] = sent[0].headers
    return found


@pytest.mark.parametrize("value", ODD)
@pytest.mark.parametrize("of", [redis_fields, topic_attributes, rabbit_headers])
async def test_a_value_stays_whole_and_makes_no_other_header(of: Any, value: str) -> None:
    """Whatever commas, quotes and colons it has."""
    assert await of("'who:{{k}}','fixed:1'", value) == {"who": value, "fixed": "1"}


@pytest.mark.parametrize("of", [redis_fields, topic_attributes, rabbit_headers])
async def test_one_attribute_may_hold_all_headers(of: Any) -> None:
    """Whoever writes it alone wants that."""
    assert await of(" {{k}} ", "'a:1','b:x y'") == {"a": "1", "b": "x y"}


def test_names_may_be_values_too() -> None:
    """These are taken as they are as well."""
    assert headers_filled("'x-{{k}}:{{k}}'", lambda t: t.replace("{{k}}", "a,b:c")) == {
        "x-a,b:c": "a,b:c"
    }


SINKS = {
    "fields": "type='redis-stream', url='redis://h', stream.name='s'",
    "headers": "type='rabbitmq', uri='amqp://h', exchange.name='e'",
    "attributes": "type='googlepubsub', project.id='project', topic.id='topic'",
    "metadata": "type='grpc', publisher.url='grpc://h:1/EventService/consume'",
}


def with_option(option: str, text: str) -> str:
    """An app whose sink has that option."""
    sink = f"@sink({SINKS[option]}, {option}=\"{text}\", @map(type='json'))"
    return f"{sink} define stream S (a string, b string);"


@pytest.mark.parametrize("option", SINKS)
@pytest.mark.parametrize("text", ["{{a}},{{b}}", "kind:z,{{a}}", "'{{a}}','x:{{b}}'", "{{a}}{{b}}"])
def test_what_would_be_lost_is_refused_at_deploy(option: str, text: str) -> None:
    """A part without a name: of several attributes none holds headers."""
    with pytest.raises(SiddhiQLError, match="one attribute alone may hold them all"):
        check(with_option(option, text))


@pytest.mark.parametrize("option", SINKS)
@pytest.mark.parametrize("text", [" {{a}} ", "x:{{a}},'{{b}}:y'", "x:1,", "x:1"])
def test_what_is_sent_deploys(option: str, text: str) -> None:
    """Parts with names, and one attribute that holds all."""
    check(with_option(option, text))
