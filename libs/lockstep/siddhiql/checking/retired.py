"""Sources, sinks and mappers of the older products that Lockstep has not: what to use instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lockstep.siddhiql.catalogue import ExtensionKind

_SEND: Final = "send to the receiver over HTTP (type='http') or over NATS (type='nats')"
_DELIVER: Final = "deliver with type='http' or type='nats'"
_BRIDGE: Final = "let a bridge move the messages to a subject of NATS and use type='nats'"
_KEEP: Final = "tables are kept in PostgreSQL, MySQL, Redis: use type='rdbms', or leave @store out"
_IBM: Final = "its client is IBM's own: let a bridge move the messages to a broker with STOMP (jms)"
_THRIFT: Final = "the older products' Thrift bridge ended with them: send over HTTP, TCP or Kafka"
_TWITTER: Final = "the interface that it used is no more: post from a program of yours over HTTP"
_BODY: Final = (
    "the format was that of the older products' Thrift bridge, which ended with them: use json,"
    " avro, protobuf, xml, csv, text, keyvalue or msgpack"
)
_ROWS: Final = (
    "a table's changes are written exactly once, which needs transactions: use type='rdbms', or"
    " leave @store out and deliver rows to it over Kafka or HTTP, where it has an interface"
)
_SEARCH: Final = (
    "it is no table that an app reads back as it wrote it: use type='rdbms', or leave @store out"
    " and send rows to its interface with @sink(type='http')"
)

RETIRED: Final[Mapping[ExtensionKind, Mapping[str, str]]] = {
    ExtensionKind.SOURCE: {
        "kafkaMultiDC": _BRIDGE,
        "kafka-replay-response": "replay what was sent before into the stream: lockstep replay",
        "gcs": _SEND,
        "twitter": _TWITTER,
        "wso2event": _THRIFT,
        "ibmmq": _IBM,
        "google-cloud-storage": _SEND,
        "websubhub": _SEND,
    },
    ExtensionKind.SINK: {
        "kafkaMultiDC": _BRIDGE,
        "kafka-replay-request": "replay what was sent before into the stream: lockstep replay",
        "websocket-server": "follow the stream at the presenter (server-sent events)",
        "sse-server": "follow the stream at the presenter (server-sent events)",
        "ui": "follow the stream at the presenter: every exported stream is there",
        "gcs": "use type='google-cloud-storage'",
        "twitter": _TWITTER,
        "wso2event": _THRIFT,
        "ibmmq": _IBM,
        "websubhub": _DELIVER,
    },
    ExtensionKind.STORE: dict.fromkeys(
        (
            "inMemory",
            "testStoreContainingInMemoryTable",
        ),
        _KEEP,
    )
    | dict.fromkeys(("cassandra", "hbase"), _ROWS)
    | dict.fromkeys(("elasticsearch", "solr", "influxdb"), _SEARCH),
    ExtensionKind.SOURCE_MAPPER: {"wso2event": _BODY},
    ExtensionKind.SINK_MAPPER: {"wso2event": _BODY},
}
"""By kind and by the old name of the type."""
