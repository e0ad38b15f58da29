"""@source(type='inMemory'), @sink(type='inMemory') (extensions 12.4)."""

from __future__ import annotations

from lockstep.siddhiql.catalogue import ExtensionKind, Overload
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension, dynamic, option

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "inMemory",
        (Overload((option("topic", needed=True),)),),
        doc="Messages of in-memory sinks, and of tests.",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "inMemory",
        (Overload((dynamic("topic", needed=True),)),),
        doc="Messages for in-memory sources, and for tests.",
    ),
)
