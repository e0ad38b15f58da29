"""@sink(type='log') (extensions 12.1)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue import Delivery, ExtensionKind, Overload, Promise
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension, dynamic, option

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SINK,
        "log",
        (
            Overload(
                (
                    option(
                        "priority", choices=("INFO", "DEBUG", "WARN", "ERROR", "FATAL", "TRACE")
                    ),
                    dynamic("prefix"),
                )
            ),
        ),
        doc="Lines in the publisher's log.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="none is needed",
            poison="on.error",
            pressure="none",
            repeat="the same lines",
        ),
    ),
)
