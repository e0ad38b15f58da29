"""@source(type='redis-stream'), @sink(type='redis-stream'): entries of a stream of Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.endpoints import check_headers
from lockstep.connectors.tls import NAMES, OPTIONS
from lockstep.secrets.references import BEGINNING
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
)

SCHEMES: Final = ("redis", "rediss")
PAYLOAD: Final = "payload"
"""The field of an entry that is the message, unless an option names another one."""
IDENTITY: Final = "lockstep-id"
"""The field in which a sink writes the output's identity, unless an option names another one."""
ALL_FIELDS: Final = "*"
STARTS: Final = ("beginning", "end")
_URL: Final = "url='redis://host:6379/0', or 'rediss://…' for TLS"


def _server(arguments: Sequence[Argument]) -> dict[str, str]:
    given = options_given(arguments)
    url = given["url"].strip()
    if not url.startswith(BEGINNING):
        parts = urlsplit(url)
        try:
            is_address = parts.scheme in SCHEMES and bool(parts.hostname) and parts.port != 0
        except ValueError:  # of the port
            is_address = False
        if not is_address:
            raise SignatureError("'url' is no address of a Redis", _URL)  # it may hold a password
        if parts.scheme == "redis" and (files := [name for name in NAMES if name in given]):
            raise SignatureError(f"{files[0]!r} has to do with TLS, and 'url' has none", _URL)
    if "username" in given and "password" not in given:
        raise SignatureError("'username' is given without 'password'", "give both, or the password")
    return given


def _name(option_name: str, text: str) -> None:
    if not text.strip():
        raise SignatureError(f"{option_name!r} is empty", f"{option_name}='…'")


def _source(arguments: Sequence[Argument]) -> None:
    given = _server(arguments)
    for name in ("stream.name", "group.name", "payload.field", "identity.field"):
        _name(name, given.get(name, "set"))


def _sink(arguments: Sequence[Argument]) -> None:
    given = _server(arguments)
    payload, identity = given.get("payload.field", PAYLOAD), given.get("identity.field", IDENTITY)
    for name, text in (("payload.field", payload), ("identity.field", identity)):
        _name(name, text)
    _name("stream.name", given["stream.name"])
    check_headers(given, "fields")
    if payload == ALL_FIELDS:
        raise SignatureError("a sink writes one field", f"payload.field='{PAYLOAD}'")
    if payload == identity:
        raise SignatureError(
            f"'payload.field' and 'identity.field' are both {payload!r}", "give them two names"
        )
    if "max.length.exact" in given and "max.length" not in given:
        raise SignatureError("'max.length.exact' says nothing without 'max.length'", "give both")


_SERVER: Final = (
    option("url", needed=True),
    option("username"),
    option("password"),
    *OPTIONS,
)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "redis-stream",
        (
            Overload(
                (
                    *_SERVER,
                    option("stream.name", needed=True),
                    option("group.name"),
                    option("start.from", choices=STARTS),
                    option("payload.field"),
                    option("identity.field"),
                    option("delete.after.process", BOOL),
                ),
                check=_source,
            ),
        ),
        doc="Entries of a stream, in order, by a consumer group of the app's own.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on behind the group's place",
            poison="dead letter",
            pressure="stays in the stream",
            repeat="known by its entry's id",
        ),
        carrier=f"{__name__}.source:RedisStreamSource",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "redis-stream",
        (
            Overload(
                (
                    *_SERVER,
                    dynamic("stream.name", needed=True),
                    option("payload.field"),
                    option("identity.field"),
                    dynamic("fields"),
                    option("max.length", INT),
                    option("max.length.exact", BOOL),
                ),
                check=_sink,
            ),
        ),
        doc="An entry a message, added in one step with a mark of the last identity.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the server",
            repeat="never: the entry and its mark are one step",
            where="without event.grouping.enabled",
            otherwise=Delivery.IDENTIFIED,
        ),
        carrier=f"{__name__}.sink:RedisStreamSink",
    ),
)
