"""Sources, sinks and stores that there are, with their options (extensions 12, 14, 15).

Options that only tune another product's threads, pools and buffers are taken and mean nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.siddhiql.catalogue.contract import (
    Argument,
    Extension,
    ExtensionKind,
    Overload,
    SignatureError,
)
from lockstep.siddhiql.catalogue.packs.option import (
    BOOL,
    INT,
    dynamic,
    extension,
    option,
    without_meaning,
)

RESERVED_SUBJECTS = ("control.", "in.", "out.", "dead.", "presenter.", "$")
"""What subjects of the suite's own begin with: nobody else may write or take there."""

_POSTGRES = "jdbc:postgresql://"
_WEB = ("http://", "https://")


def _web_address(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value)
        name = argument.attribute_name
        if name in ("publisher.url", "receiver.url") and not text.startswith((*_WEB, "{{")):
            raise SignatureError(f"{name!r} is {text!r}", f"{name}='http://host:port/path'")


def _subject(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value)
        if argument.attribute_name != "destination":
            continue
        if text.startswith(RESERVED_SUBJECTS):
            raise SignatureError(
                f"the subject {text!r} belongs to the suite",
                f"choose one that does not begin with {', '.join(RESERVED_SUBJECTS)}",
            )
        if not text or any(not part for part in text.split(".")) or " " in text:
            raise SignatureError(f"{text!r} is no subject", "destination='alerts.fire'")


def _taken_subject(arguments: Sequence[Argument]) -> None:
    _subject(arguments)
    for argument in arguments:
        if argument.attribute_name == "destination" and str(argument.value).startswith("ingress."):
            raise SignatureError(
                "what is published to ingress.<app>.<stream> comes in without a source",
                "leave the source out, or choose another subject",
            )


def _sent_subject(arguments: Sequence[Argument]) -> None:
    _subject(arguments)
    for argument in arguments:
        if argument.attribute_name == "destination" and {"*", ">"} & set(str(argument.value)):
            raise SignatureError("a sink sends to one subject, without * and >", "alerts.fire")


def _database(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value)
        if argument.attribute_name == "jdbc.url" and not text.startswith(_POSTGRES):
            raise SignatureError(
                f"'jdbc.url' is {text!r}: of databases PostgreSQL alone is supported",
                f"jdbc.url='{_POSTGRES}host:port/database', or leave it out for the suite's own",
            )


_RDBMS = (
    option("jdbc.url"),
    option("username"),
    option("password"),
    option("table.name"),
    *without_meaning(
        "jdbc.driver.name pool.properties field.length table.check.query use.collation"
        " allow.null.values"
    ),
)
_HTTP_POOL = (
    "chunk.disabled client.bootstrap.configurations max.pool.active.connections"
    " min.pool.idle.connections max.pool.idle.connections executor.service.threads"
    " min.evictable.idle.time time.between.eviction.runs max.wait.time test.on.borrow"
    " test.while.idle exhausted.action"
)


EXTENSIONS: tuple[Extension, ...] = (
    extension(
        ExtensionKind.SOURCE,
        "inMemory",
        "Messages of in-memory sinks, and of tests.",
        (option("topic", needed=True),),
    ),
    extension(
        ExtensionKind.SOURCE,
        "http",
        "Requests at the receiver's door, at the path of receiver.url and at /<app>/<stream>.",
        Overload(
            (
                option("receiver.url"),
                option("basic.auth.enabled", BOOL, choices=("false",)),
                *without_meaning(
                    "worker.count socket.idle.timeout request.size.validation.configurations"
                    " header.validation.configurations server.bootstrap.configurations"
                    " trace.log.enabled"
                ),
            ),
            check=_web_address,
        ),
    ),
    extension(
        ExtensionKind.SOURCE,
        "nats",
        "Messages of a subject of the suite's own bus, shared by all receivers.",
        Overload(
            (
                option("destination", needed=True),
                option("durable.name"),
                *without_meaning("queue.group.name client.id ack.wait"),
            ),
            check=_taken_subject,
        ),
    ),
    extension(
        ExtensionKind.SINK,
        "inMemory",
        "Messages for in-memory sources, and for tests.",
        (dynamic("topic", needed=True),),
    ),
    extension(
        ExtensionKind.SINK,
        "log",
        "Lines in the publisher's log.",
        (
            option("priority", choices=("INFO", "DEBUG", "WARN", "ERROR", "FATAL", "TRACE")),
            dynamic("prefix"),
        ),
    ),
    extension(
        ExtensionKind.SINK,
        "http",
        "A request per message.",
        Overload(
            (
                dynamic("publisher.url", needed=True),
                dynamic("method"),
                dynamic("headers"),
                option("basic.auth.username"),
                option("basic.auth.password"),
                option("socket.idle.timeout", INT),
                *without_meaning(_HTTP_POOL),
            ),
            check=_web_address,
        ),
    ),
    extension(
        ExtensionKind.SINK,
        "nats",
        "Messages to a subject of the suite's own bus.",
        Overload(
            (
                dynamic("destination", needed=True),
                *without_meaning("client.id ack.wait"),
            ),
            check=_sent_subject,
        ),
    ),
    extension(
        ExtensionKind.SINK,
        "file",
        "A line per message at the end of a file of the publisher's machine.",
        (
            option("file.uri", needed=True),
            option("append", BOOL, choices=("true",)),
            option("add.line.separator", BOOL),
        ),
    ),
    extension(ExtensionKind.SINK, "rdbms", "A row per event.", Overload(_RDBMS, check=_database)),
    extension(
        ExtensionKind.STORE,
        "rdbms",
        "The table's changes in a database.",
        Overload(_RDBMS, check=_database),
    ),
)
