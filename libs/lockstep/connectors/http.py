"""@source(type='http'), @sink(type='http') (extensions 12.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.connectors.endpoints import check_address
from lockstep.connectors.tls import INSTEAD, OPTIONS
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
    without_meaning,
)

_WEB: Final = ("http://", "https://")
PORTS: Final = {"http": 80, "https": 443}


def web_address(arguments: Sequence[Argument]) -> None:
    """Refuses addresses of another kind."""
    for argument in arguments:
        text = str(argument.value)
        name = argument.attribute_name
        if name not in ("publisher.url", "receiver.url", "token.url"):
            continue
        example = f"{name}='http://host:port/path'"
        if not text.startswith((*_WEB, "{{", BEGINNING)):
            raise SignatureError(f"{name!r} is {text!r}", example)
        # Of a source's own address the path alone counts: 0 may stand for any port.
        if "{{" not in text and name != "receiver.url":
            check_address(name, text, PORTS, example)


def sent(arguments: Sequence[Argument]) -> None:
    """Refuses options of requests that do not go together."""
    web_address(arguments)
    given = {argument.attribute_name for argument in arguments}
    if "token.url" not in given and given & {"consumer.key", "oauth.username", "refresh.token"}:
        raise SignatureError("'token.url' is missing", "token.url='https://host/token'")
    if "token.url" in given and "basic.auth.username" in given:
        raise SignatureError("a token and a password exclude each other", "leave one of them out")


_HTTP_POOL = (
    "chunk.disabled client.bootstrap.configurations max.pool.active.connections"
    " min.pool.idle.connections max.pool.idle.connections executor.service.threads"
    " min.evictable.idle.time time.between.eviction.runs max.wait.time test.on.borrow"
    " test.while.idle exhausted.action"
)
_LOGIN: Final = "put it into 'headers', or let a proxy in front of the destination do it"
_HTTP_TLS: Final = dict.fromkeys(
    (
        "https.truststore.file",
        "https.truststore.password",
        "https.keystore.file",
        "https.keystore.password",
        "https.keystore.key.password",
        "ssl.protocol",
        "ssl.verification.disabled",
        "hostname.verification.enabled",
        "tls.store.type",
    ),
    INSTEAD,
)
_OAUTH: Final = dict.fromkeys(
    ("body.consumer.key", "body.consumer.secret"),
    "the client is named in the request's header: use consumer.key and consumer.secret",
)
_PROXY: Final = dict.fromkeys(
    ("proxy.host", "proxy.port", "proxy.username", "proxy.password"),
    "let the publisher's network lead there, or address the proxy as 'publisher.url'",
)
NO_DOOR_OPTIONS: Final = dict.fromkeys(
    ("ssl.verify.client", "ssl.protocol", "tls.store.type", "ssl.configurations"),
    "the receiver's door speaks TLS where the settings say so (server.tls_certificate_file)",
)

DOOR_OPTIONS: Final = (
    option("receiver.url"),
    option("basic.auth.enabled", BOOL),
    *without_meaning(
        "worker.count socket.idle.timeout request.size.validation.configurations"
        " header.validation.configurations server.bootstrap.configurations"
        " trace.log.enabled"
    ),
)
"""Of a source at the receiver's door."""

LOGIN_OPTIONS: Final = (
    option("basic.auth.username"),
    option("basic.auth.password"),
    option("token.url"),
    option("consumer.key"),
    option("consumer.secret"),
    option("oauth.username"),
    option("oauth.password"),
    option("oauth.scope"),
    option("refresh.token"),
)
"""Of a client that says who it is."""

REQUEST_OPTIONS: Final = (
    dynamic("publisher.url", needed=True),
    dynamic("method"),
    dynamic("headers"),
    *LOGIN_OPTIONS,
    option("socket.idle.timeout", INT),
    *OPTIONS,
    *without_meaning(_HTTP_POOL),
)
"""Of a sink that sends requests."""

NO_REQUEST_OPTIONS: Final = {**_HTTP_TLS, **_OAUTH, **_PROXY}
"""Those that the older products have, with what to do instead."""

ASKED: Final = Promise(
    Delivery.EXACTLY_ONCE,
    reconnect="the sender asks again, anywhere",
    poison="400 with each bad field",
    pressure="429 with Retry-After",
    repeat="known by its key",
    where="with an Idempotency-Key",
    otherwise=Delivery.AT_LEAST_ONCE,
)
"""Of requests at the receiver's door."""

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "http",
        (Overload(DOOR_OPTIONS, check=web_address),),
        doc="Requests at the receiver's door, at the path of receiver.url and at /<app>/<stream>.",
        promise=ASKED,
        retired=NO_DOOR_OPTIONS,
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "http",
        (Overload(REQUEST_OPTIONS, check=sent),),
        doc="A request per message.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the answer",
            repeat="same Idempotency-Key",
        ),
        retired=NO_REQUEST_OPTIONS,
    ),
)
