"""@sink(type='email'): a mail per message, over SMTP."""

from __future__ import annotations

from lockstep.connectors.tls import OPTIONS
from lockstep.siddhiql.catalogue import ExtensionKind, Overload
from lockstep.siddhiql.catalogue.connectors import (
    BOOL,
    INT,
    ConnectorExtension,
    dynamic,
    option,
    without_meaning,
)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SINK,
        "email",
        (
            Overload(
                (
                    option("username"),
                    option("address", needed=True),
                    option("password"),
                    option("host"),
                    option("port", INT),
                    option("ssl.enable", BOOL),
                    *OPTIONS,
                    option("auth", BOOL),
                    option("content.type"),
                    dynamic("subject", needed=True),
                    dynamic("to", needed=True),
                    dynamic("cc"),
                    dynamic("bcc"),
                    *without_meaning("connection.pool.size", INT),
                )
            ),
        ),
        doc="A mail per message; its Message-ID is the output's identity.",
        retired={"attachments": "the publisher reads no files of its machine: put a link there"},
        carrier=f"{__name__}.sink:EmailSink",
    ),
)
