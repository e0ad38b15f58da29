"""Addresses that are none: refused at deploy, or when the sink is set up; no row pays for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

import pytest

from lockstep.connectors.email.sink import EmailSink
from lockstep.connectors.endpoints import address_of
from lockstep.connectors.hl7.mllp import Hl7Sink
from lockstep.connectors.jms import stomp
from lockstep.connectors.jms.stomp import JmsSink
from lockstep.connectors.mqtt.sink import MqttSink
from lockstep.connectors.prometheus.serve import PrometheusSink
from lockstep.connectors.rabbitmq.sink import RabbitSink
from lockstep.connectors.sqs.sink import SqsSink
from lockstep.connectors.syslog.sink import SyslogSink
from lockstep.connectors.tcp.sink import TcpSink
from lockstep.connectors.websocket.client import WebSocketSink
from lockstep.events import UnavailableError
from lockstep.siddhiql import SiddhiQLError, check
from lockstep.siddhiql.catalogue import ExtensionKind
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension
from lockstep.siddhiql.checking.connectors import find_type
from lockstep.sinks import Sink
from lockstep.testing.connectors import message
from lockstep_services.publisher.sinks.http import HttpSink

MAIL = {"username": "a", "address": "a@b.c", "to": "x@y.z", "subject": "s", "ssl.enable": "false"}
STREAM = "define stream S (value double);"

MISTYPED = [
    ("jms", "provider.url", "tcp://b:6l613", {"destination": "q"}),
    ("jms", "provider.url", "tcp://u:pa/word@b:61613", {"destination": "q"}),
    ("jms", "provider.url", "tcp://b:0", {"destination": "q"}),
    ("mqtt", "url", "tcp://b:l883", {"topic": "t"}),
    ("mqtt", "url", "tcp://b:99999", {"topic": "t"}),
    ("rabbitmq", "uri", "amqp://b:56x2", {"exchange.name": "e"}),
    ("rabbitmq", "uri", "amqp://b:99999", {"exchange.name": "e"}),
    ("rabbitmq", "uri", "amqp//nonsense", {"exchange.name": "e"}),
    ("sqs", "queue", "https://sqs.eu.amazonaws.com:x/1/q", {}),
    ("prometheus", "server.url", "http://127.0.0.1:x", {"metric.type": "gauge"}),
    ("prometheus", "server.url", "http://127.0.0.1:99999", {"metric.type": "gauge"}),
    (
        "prometheus", "push.url", "http://127.0.0.1:x",
        {"metric.type": "gauge", "publish.mode": "pushgateway"},
    ),
    (
        "prometheus", "push.url", "gateway:909l",
        {"metric.type": "gauge", "publish.mode": "pushgateway"},
    ),
]  # fmt: skip


def text(kind: str, options: Mapping[str, str]) -> str:
    """A sink of that type."""
    given = ", ".join(f"{name}='{value}'" for name, value in options.items())
    form = "keyvalue" if kind == "prometheus" else "json"
    return f"@sink(type='{kind}', {given}, @map(type='{form}')) {STREAM}"


def made(kind: str, options: Mapping[str, str]) -> Any:
    """As the publisher makes it, when secrets are filled in."""
    declared = find_type(ExtensionKind.SINK, kind)
    assert isinstance(declared, ConnectorExtension)
    return resolve_name(declared.carrier)({"stream": "S", **options})


@pytest.mark.parametrize(("kind", "name", "address", "more"), MISTYPED)
def test_an_address_that_is_none_is_refused_at_deploy(
    kind: str, name: str, address: str, more: Mapping[str, str]
) -> None:
    """With the option that has it."""
    with pytest.raises(SiddhiQLError, match=f"'{name}' is '"):
        check(text(kind, {**more, name: address}))


@pytest.mark.parametrize(
    ("kind", "name", "address", "more"),
    [
        ("http", "publisher.url", "http://h:8O80/x", {}),
        ("http", "publisher.url", "http://h:99999/x", {}),
        ("http", "publisher.url", "http://a..b/x", {}),
        ("tcp", "url", "tcp://h:99999/c", {}),
        ("tcp", "url", "tcp://a..b/c", {}),
        ("tcp", "url", "tcp://[::1", {}),
        ("websocket", "url", "ws://h:99999/x", {}),
        ("websocket", "url", "ws://a..b/x", {}),
        ("hl7", "uri", "h:99999", {"hl7.encoding": "ER7"}),
        ("hl7", "uri", "local..host:4000", {"hl7.encoding": "ER7"}),
        ("syslog", "url", "tcp://local..host:514", {}),
        ("email", "port", "99999", MAIL),
        ("email", "host", "local..host", MAIL),
        ("snmp", "agent.port", "99999", {"host": "h", "version": "v1"}),
    ],
)
def test_one_that_may_come_of_an_event_is_refused_at_deploy_where_it_does_not(
    kind: str, name: str, address: str, more: Mapping[str, str]
) -> None:
    """What stands in the text is known; no name of the network has an empty part."""
    with pytest.raises(SiddhiQLError, match=f"'{name}' is '"):
        check(text(kind, {**more, name: address}))


@pytest.mark.parametrize(("kind", "name", "address", "more"), MISTYPED)
def test_one_of_a_secret_is_refused_when_the_sink_is_made(
    kind: str, name: str, address: str, more: Mapping[str, str]
) -> None:
    """ValueError is what the publisher takes for a fault of the set-up."""
    with pytest.raises(ValueError, match=r"address|[Pp]ort"):
        made(kind, {**more, name: address})


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("jms", {"provider.url": "tcp://h:${secret:port}", "destination": "q"}),
        ("mqtt", {"url": "${secret:broker}", "topic": "t"}),
        ("rabbitmq", {"uri": "amqp://u:${secret:word}@h", "exchange.name": "e"}),
        ("sqs", {"queue": "${secret:queue}"}),
        ("http", {"publisher.url": "http://h:${secret:port}/x"}),
        ("tcp", {"url": "tcp://h:${secret:port}/c"}),
        ("websocket", {"url": "${secret:socket}"}),
        ("hl7", {"uri": "${secret:place}", "hl7.encoding": "ER7"}),
        ("prometheus", {"server.url": "http://localhost:${secret:port}", "metric.type": "gauge"}),
    ],
)
def test_an_address_with_a_secret_deploys(kind: str, options: Mapping[str, str]) -> None:
    """Nobody knows what it will be."""
    check(text(kind, options))


def test_of_a_sources_own_address_the_path_alone_counts() -> None:
    """The receiver has its port, whatever the text says."""
    check(f"@source(type='http', receiver.url='http://0.0.0.0:0/in', @map(type='json')) {STREAM}")


def test_what_serves_metrics_stays_on_the_machine_though_its_address_is_a_secret() -> None:
    """The host is looked at in any case."""
    with pytest.raises(SiddhiQLError, match="anybody"):
        check(text("prometheus", {"server.url": "${secret:url}", "metric.type": "gauge"}))


def test_a_password_in_an_address_is_not_repeated() -> None:
    """Those who see the status of a sink may not know it."""
    with pytest.raises(ValueError, match="is no address") as raised:
        address_of("provider.url", "tcp://u:pa/word@b:61613", {"tcp": 1})
    assert "pa" not in str(raised.value)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: JmsSink({"provider.url": "tcp://a..b", "destination": "q"}), "away"),
        (lambda: MqttSink({"url": "tcp://a..b", "topic": "t"}), "no such option"),
        (lambda: MqttSink({"url": "tcp://h", "topic": "t", "keep.alive": "-"}), "no such option"),
        (lambda: TcpSink({"url": "tcp://a..b/c"}), "url"),
        (lambda: TcpSink({"url": "tcp://h:99999/c"}), "url"),
        (lambda: WebSocketSink({"url": "ws://a..b/c"}), "url"),
        (lambda: SyslogSink({"url": "tcp://a..b"}), "a..b"),
        (lambda: SyslogSink({"url": "udp://a..b"}), "a..b"),
        (lambda: Hl7Sink({"uri": "127.0.0.1:99999", "hl7.encoding": "er7"}), "reached"),
        (lambda: EmailSink({**MAIL, "host": "smtp..example.com"}), "no mail server"),
        (lambda: HttpSink({"publisher.url": "http://a..b/x"}), "publisher.url"),
        (lambda: HttpSink({"publisher.url": "http://h:8O80/x"}), "publisher.url"),
        (lambda: RabbitSink({"uri": "amqp://a..b", "exchange.name": "e"}), "RabbitMQ"),
        (
            lambda: SqsSink({"queue": "http://a_b..c/1/q", "access.key": "a", "secret.key": "b"}),
            "Invalid endpoint",
        ),
        (
            lambda: PrometheusSink(
                {
                    "stream": "S", "metric.type": "gauge", "value.attribute": "n",
                    "publish.mode": "pushgateway", "push.url": "http://a..b",
                }
            ),
            "the gateway",
        ),
    ],
)  # fmt: skip
async def test_what_a_client_says_on_opening_alone_is_tried_again(
    make: Callable[[], Sink], says: str
) -> None:
    """It is no row's fault: neither ValueError nor a refusal, which would bury all rows."""
    sink = make()
    payload = b"MSH|^~\\&|A|B|C|D|20200101||ADT^A01|1|P|2.3\r" if says == "reached" else None
    with pytest.raises((OSError, UnavailableError), match=says):
        await sink.send(message(1, payload=payload))
    await sink.close()


async def test_a_jms_connection_that_is_reset_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its client has no socket any more then, and says so in its own way."""

    class Reset:
        """A connection that ends while it sends."""

        def send(self, *_: object) -> None:
            """As the client does it."""
            gone: Any = None
            gone.sendall(b"")

        def remove_listener(self, name: str) -> None:
            """Nobody listens."""

        def is_connected(self) -> bool:
            """Not any more."""
            return False

    async def connected(*_: object) -> Any:
        return Reset()

    monkeypatch.setattr(stomp, "_connected", connected)
    sink = JmsSink({"provider.url": "tcp://h", "destination": "q"})
    with pytest.raises(OSError, match="away"):
        await sink.send(message(1))
