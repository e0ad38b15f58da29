"""Which adapter of the older products is which source or sink, and what its properties are here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

_CLUSTER: Final = "every event has one place in the log, whichever node takes it"
_TUNING: Final = "it tunes the other product"
_POOL: Final = "the publisher keeps its connections itself"


@dataclass(frozen=True)
class Adapter:
    """What an adapter becomes. `type` is None where there is nothing like it.

    `options`: old property to the option here. `dropped`: old property to why it means nothing.
    `asked`: options that the older product kept elsewhere, with what to fill in. `fixed`: options
    that give what the adapter did. `values`: how a value is written here, by old property.
    """

    type: str | None
    options: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    note: str = ""
    instead: str = ""


def _headers(text: str) -> str:
    """`A: x, B: y` as `'A:x','B:y'`."""
    pairs = [pair.partition(":") for pair in text.split(",") if pair.strip()]
    return ",".join(f"'{name.strip()}:{value.strip()}'" for name, _, value in pairs)


def _method(text: str) -> str:
    return text.strip().removeprefix("Http").upper()


_MQTT: Final = {
    "topic": "topic",
    "url": "url",
    "clientId": "client.id",
    "username": "username",
    "password": "password",
    "cleanSession": "clean.session",
    "qos": "quality.of.service",
    "keepAlive": "keep.alive",
}

_JMS: Final = {
    "java.naming.provider.url": "provider.url",
    "java.naming.factory.initial": "factory.initial",
    "transport.jms.Destination": "destination",
    "transport.jms.DestinationType": "connection.factory.type",
    "transport.jms.ConnectionFactoryJNDIName": "connection.factory.jndi.name",
    "transport.jms.UserName": "connection.username",
    "transport.jms.Password": "connection.password",
}
_JMS_NOTE: Final = (
    "the broker is spoken to in STOMP: 'provider.url' must be its STOMP door, such as "
    "tcp://host:61613, and bodies are texts, not maps"
)

_FROM_EVERYWHERE: Final = {
    "receiving.events.duplicated.in.cluster": _CLUSTER,
    "events.duplicated.in.cluster": _CLUSTER,
}

_NO_SOCKET_OF_OURS: Final = "follow the stream at the presenter: server-sent events or polls"
_POST: Final = "POST the events as JSON to the receiver, at /<app>/<stream>"

RECEIVERS: Final[Mapping[str, Adapter]] = {
    "http": Adapter(
        "http",
        options={"basicAuthEnabled": "basic.auth.enabled"},
        dropped={
            "transports": "the receiver's own address serves HTTP, or HTTPS where TLS is set",
        },
        note="the path is the one of the older product, served at the receiver's own address; "
        "log in with a token of the suite",
    ),
    "mqtt": Adapter("mqtt", options=_MQTT, dropped=_FROM_EVERYWHERE),
    "jms": Adapter(
        "jms",
        options={
            **_JMS,
            "transport.jms.SubscriptionDurable": "transport.jms.SubscriptionDurable",
            "transport.jms.DurableSubscriberClientID": "transport.jms.DurableSubscriberClientID",
        },
        dropped={
            **_FROM_EVERYWHERE,
            "transport.jms.DurableSubscriberName": "the client id names the subscription",
            "jms.properties": _TUNING,
        },
        values={"transport.jms.DestinationType": str.lower},
        note=_JMS_NOTE,
    ),
    "kafka": Adapter(
        "kafka",
        options={"topic": "topic.list", "group.id": "group.id",
                 "optional.configuration": "optional.configuration"},
        dropped={
            **_FROM_EVERYWHERE,
            "threads": "receivers of one group share the partitions",
            "zookeeper.connect": "clients find Kafka by its brokers: fill in 'bootstrap.servers'",
        },
        asked={"bootstrap.servers": "${kafka.bootstrap.servers}"},
    ),
    "file-tail": Adapter(
        "file",
        options={"filepath": "file.uri"},
        dropped={
            **_FROM_EVERYWHERE,
            "delayInMillis": "the receiver chooses how often it looks",
            "startFromEnd": "a file is read from its beginning, and how far it is read is kept",
        },
        fixed={"mode": "line", "tailing": "true"},
    ),
    "websocket": Adapter(
        "websocket", options={"websocket.server.url": "url"}, dropped=_FROM_EVERYWHERE
    ),
    "websocket-local": Adapter(None, dropped=_FROM_EVERYWHERE, instead=_POST),
    "wso2event": Adapter(
        None,
        dropped=_FROM_EVERYWHERE,
        instead=f"the Thrift bridge ended with the older products: {_POST}, or use "
        "type='tcp' with @map(type='binary')",
    ),
    "soap": Adapter(
        None,
        dropped={"transports": "there is no SOAP source"},
        instead="POST the XML without its envelope: @source(type='http', @map(type='xml', …))",
    ),
    "email": Adapter(
        None,
        instead="write @source(type='email', host='…', username='…', password='${secret:…}',"
        " search.term='subject:…'): it reads a mailbox over IMAP",
    ),
}  # fmt: skip
"""Input adapters by the name of their type."""

PUBLISHERS: Final[Mapping[str, Adapter]] = {
    "logger": Adapter("log", options={"uniqueId": "prefix"}),
    "http": Adapter(
        "http",
        options={
            "http.url": "publisher.url",
            "http.username": "basic.auth.username",
            "http.password": "basic.auth.password",
            "http.headers": "headers",
            "http.client.method": "method",
        },
        dropped={
            "http.proxy.host": "the publisher connects directly: let its host reach the address",
            "http.proxy.port": "the publisher connects directly: let its host reach the address",
        },
        values={"http.headers": _headers, "http.client.method": _method},
    ),
    "mqtt": Adapter("mqtt", options=_MQTT),
    "jms": Adapter(
        "jms",
        options=_JMS,
        dropped={"transport.jms.ConcurrentPublishers": _POOL, "jms.properties": _TUNING,
                 "transport.jms.Header": "messages bear their identity only"},
        values={"transport.jms.DestinationType": str.lower},
        note=_JMS_NOTE,
    ),
    "kafka": Adapter(
        "kafka",
        options={"topic": "topic", "meta.broker.list": "bootstrap.servers"},
        dropped={
            "optional.configuration": "records are sent in transactions, which set the client up",
        },
    ),
    "email": Adapter(
        "email",
        options={
            "email.address": "to",
            "email.subject": "subject",
            "email.type": "content.type",
            "email.cc": "cc",
            "email.bcc": "bcc",
        },
        asked={
            "address": "${email.from}",
            "host": "${email.host}",
            "password": "${secret:email.password}",
        },
    ),
    "rdbms": Adapter(
        "rdbms",
        options={
            "datasource.name": "datasource",
            "table.name": "table.name",
            "execution.mode": "execution.mode",
            "update.keys": "update.keys",
        },
    ),
    "websocket": Adapter("websocket", options={"websocket.server.url": "url"}),
    "websocket-local": Adapter(None, instead=_NO_SOCKET_OF_OURS),
    "ui": Adapter(None, instead=_NO_SOCKET_OF_OURS),
    "wso2event": Adapter(
        None, instead="deliver with type='http', or type='tcp' and @map(type='binary')"
    ),
    "soap": Adapter(
        None, instead="deliver with type='http' and @map(type='xml'), the envelope in @payload"
    ),
    "sms": Adapter(None, instead="deliver with type='http' to the gateway of your provider"),
    "cassandra": Adapter(None, instead="deliver with type='rdbms', or over Kafka or HTTP"),
}  # fmt: skip
"""Output adapters by the name of their type."""

IGNORED_VALUES: Final = {
    ("startFromEnd", "true"): "lines that are in the file already are read, too",
}
"""Values that make a difference where the property as such does not."""
