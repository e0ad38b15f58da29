"""@source(type='inMemory'), @sink(type='inMemory') (extensions 12.1)."""

from __future__ import annotations

from typing import Final

from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import Delivery, ExtensionKind, Overload, Promise
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension, dynamic, option

DEFAULT_TOPIC: Final = "input inMemory source"
"""Of a source that names none, as in the older products."""

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "inMemory",
        (Overload((option("topic"),)),),
        doc="Messages of in-memory sinks, and of tests.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="listens again",
            poison="dead letter",
            pressure="reads no more; the bus drops",
            repeat="never",
        ),
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "inMemory",
        (Overload((dynamic("topic", needed=True),)),),
        doc="Messages for in-memory sources, and for tests.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="sent again",
            poison="on.error",
            pressure="none",
            repeat="possible, without identity",
        ),
    ),
)


def topic_of(source: ast.Annotation) -> str:
    """Which messages a source takes."""
    return source.get("topic") or DEFAULT_TOPIC
