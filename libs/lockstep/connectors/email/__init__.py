"""@source(type='email'): mails over IMAP; @sink(type='email'): a mail per message, over SMTP."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.connectors.email.mails import quoted, search_of
from lockstep.connectors.endpoints import check_host, check_port
from lockstep.connectors.tls import OPTIONS
from lockstep.siddhiql.catalogue import (
    Argument,
    Delivery,
    ExtensionKind,
    Overload,
    Promise,
    SignatureError,
)
from lockstep.siddhiql.catalogue.connectors import (
    BOOL,
    INT,
    ConnectorExtension,
    dynamic,
    option,
    options_given,
    without_meaning,
)

_ACTIONS = ("SEEN", "FLAGGED", "ANSWERED", "DELETE", "MOVE")
_FOLDERS = ("folder", "folder.to.move")


def _server(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    check_host("host", given.get("host", "localhost"))
    check_port("port", given.get("port", "25"))


def _fetched(arguments: Sequence[Argument]) -> None:
    _server(arguments)
    given = options_given(arguments)
    try:
        search_of(given.get("search.term", ""))
    except ValueError as error:
        raise SignatureError(
            f"'search.term' is wrong: {error}", "search.term='subject:order, from:shop'"
        ) from error
    for name in _FOLDERS:
        try:
            quoted(given.get(name, "x"))
        except ValueError as error:
            raise SignatureError(
                f"'{name}' is wrong: {error}", "write its IMAP name, in modified UTF-7"
            ) from error
    moves = given.get("action.after.processed", "").strip().upper() == "MOVE"
    if moves != ("folder.to.move" in given):
        raise SignatureError(
            "'folder.to.move' belongs to the action MOVE, and that needs it",
            "action.after.processed='MOVE', folder.to.move='Done'",
        )
    if not given.get("content.type", "text/").strip().lower().startswith("text/"):
        raise SignatureError("'content.type' is no text", "content.type='text/html'")


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "email",
        (
            Overload(
                (
                    option("username", needed=True),
                    option("password", needed=True),
                    option("store", choices=("imap",)),
                    option("host"),
                    option("port", INT),
                    option("ssl.enable", BOOL),
                    *OPTIONS,
                    option("folder"),
                    option("search.term"),
                    option("polling.interval", INT),
                    option("action.after.processed", choices=_ACTIONS),
                    option("folder.to.move"),
                    option("content.type"),
                ),
                check=_fetched,
            ),
        ),
        doc="Mails of an IMAP folder, marked when they are in the log.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on with unmarked mails",
            poison="dead letter",
            pressure="stays in the folder",
            repeat="known by UIDVALIDITY and UID",
        ),
        carrier=f"{__name__}.source:EmailSource",
    ),
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
                ),
                check=_server,
            ),
        ),
        doc="A mail per message; its Message-ID is the output's identity.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the server",
            repeat="same Message-ID",
        ),
        retired={"attachments": "the publisher reads no files of its machine: put a link there"},
        carrier=f"{__name__}.sink:EmailSink",
    ),
)
