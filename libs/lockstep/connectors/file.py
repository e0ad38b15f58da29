"""@sink(type='file') (extensions 12)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue import ExtensionKind, Overload
from lockstep.siddhiql.catalogue.connectors import BOOL, ConnectorExtension, option

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SINK,
        "file",
        (
            Overload(
                (
                    option("file.uri", needed=True),
                    option("append", BOOL, choices=("true",)),
                    option("add.line.separator", BOOL),
                )
            ),
        ),
        doc="A line per message at the end of a file of the publisher's machine.",
    ),
)
