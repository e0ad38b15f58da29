"""@source(type='nats'), @sink(type='nats'): subjects of the suite's own bus, or of a server that is
named (extensions 12.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.tls import INSTEAD, NAMES, OPTIONS
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
    ConnectorExtension,
    dynamic,
    option,
    without_meaning,
)

RESERVED_SUBJECTS = ("control.", "in.", "out.", "dead.", "presenter.", "$", "_INBOX.")
"""What subjects of the suite's own begin with: nobody else may write or take there."""
FRONT_DOOR: Final = "ingress."
"""What comes in without a source: `ingress.<app>.<stream>`. An app sends to its own alone."""
TOPICS: Final = "topic."
"""Where in-memory sinks send to, and nobody else."""
SERVERS: Final = ("server.urls", "bootstrap.servers")
"""Options that name a server which is not the suite's own; the second is the older name."""
MAX_SUBJECT_BYTES: Final = 1_024
"""As on the bus (`lockstep.bus.subjects`): a longer one would cut its connection."""
SCHEMES: Final = ("nats", "tls", "ws", "wss")
MAX_SERVERS: Final = 100
_NOBODYS: Final = ("$",)


def server_urls(options: Mapping[str, str]) -> tuple[str, ...]:
    """The servers of one's own that options name; none: the suite's bus."""
    text = next((options[name] for name in SERVERS if name in options), "")
    return tuple(part.strip() for part in text.split(",") if part.strip())


def reserved(options: Mapping[str, str]) -> tuple[str, ...]:
    """What subjects must not begin with, at the server that options name."""
    return _NOBODYS if server_urls(options) else RESERVED_SUBJECTS


def _given(arguments: Sequence[Argument]) -> dict[str, str]:
    return {str(one.attribute_name): str(one.value) for one in arguments}


def _server(options: Mapping[str, str]) -> None:
    """Refuses addresses that are none, and what has to do with a server where none is named."""
    urls = server_urls(options)
    if all(name in options for name in SERVERS):
        raise SignatureError("'bootstrap.servers' is the older name of 'server.urls'", "leave one")
    for url in urls:
        parts = urlsplit(url)
        if not (url.startswith(BEGINNING) or (parts.scheme in SCHEMES and parts.hostname)):
            raise SignatureError(f"{url[:200]!r} is no address", "server.urls='nats://host:4222'")
    if len(urls) > MAX_SERVERS or (any(name in options for name in SERVERS) and not urls):
        raise SignatureError(f"{len(urls)} servers", f"name 1 to {MAX_SERVERS}")
    if not urls:
        for name in (*_LOGIN, *NAMES):
            if name in options:
                raise SignatureError(
                    f"{name!r} has to do with a server of one's own, and none is named",
                    "server.urls='nats://host:4222'; without it subjects are of the suite's bus",
                )
    if ("username" in options) != ("password" in options):
        raise SignatureError("'username' and 'password' go together", "give both")
    if "token" in options and "username" in options:
        raise SignatureError("a token and a password exclude each other", "leave one of them out")


def _subject(arguments: Sequence[Argument]) -> None:
    options = _given(arguments)
    _server(options)
    text = options.get("destination")
    if text is None:
        return
    taken = reserved(options)
    if text.startswith(taken):
        raise SignatureError(
            f"the subject {text!r} belongs to the suite",
            f"choose one that does not begin with {', '.join(taken)}",
        )
    if not all(text.split(".")) or set(" \t\r\n") & set(text):
        raise SignatureError(f"{text!r} is no subject", "destination='alerts.fire'")
    _short("destination", options)


def _short(name: str, options: Mapping[str, str]) -> None:
    """Refuses what the line of a subject cannot hold."""
    size = len(options.get(name, "").encode())
    if size > MAX_SUBJECT_BYTES:
        raise SignatureError(
            f"{name!r} has {size} bytes; {MAX_SUBJECT_BYTES} are possible", "shorten it"
        )


def _taken_subject(arguments: Sequence[Argument]) -> None:
    _subject(arguments)
    options = _given(arguments)
    _short("queue.group.name", options)
    if server_urls(options):
        return
    text = options.get("destination", "")
    if text.startswith(FRONT_DOOR):
        raise SignatureError(
            "what is published to ingress.<app>.<stream> comes in without a source",
            "leave the source out, or choose another subject",
        )
    if {"*", ">"} & set(text.partition(".")[0]):
        raise SignatureError(
            f"{text!r} takes subjects of the suite and of other apps, too",
            "begin with a word, as in 'alerts.*' or 'alerts.>'",
        )
    if "/" in options.get("durable.name", ""):
        raise SignatureError(
            "a 'durable.name' with a '/' is that of a source that names none", "write '-' or '_'"
        )


def _sent_subject(arguments: Sequence[Argument]) -> None:
    _subject(arguments)
    options = _given(arguments)
    text = options.get("destination", "")
    if {"*", ">"} & set(text):
        raise SignatureError("a sink sends to one subject, without * and >", "alerts.fire")
    if not server_urls(options) and text.startswith(TOPICS):
        raise SignatureError(
            f"the subject {text!r} is one of in-memory topics", "type='inMemory', topic='…'"
        )


def may_send(subject: str, options: Mapping[str, str], own_door: str) -> bool:
    """Whether a sink may send to a subject, be it computed. `own_door`: what the subjects of its
    app's streams at the front door begin with."""
    if subject.startswith(reserved(options)):
        return False
    if server_urls(options) or subject.startswith(own_door):
        return True
    return not subject.startswith((FRONT_DOOR, TOPICS))


_LOGIN: Final = ("username", "password", "token")
_SERVER: Final = (
    option("server.urls"),
    option("bootstrap.servers"),
    *(option(name) for name in _LOGIN),
    *OPTIONS,
    *without_meaning("auth.type cluster.id streaming.cluster.id client.id ack.wait"),
)
_NO_SERVER: Final = {
    **dict.fromkeys(
        (
            "truststore.file",
            "truststore.password",
            "truststore.algorithm",
            "keystore.file",
            "keystore.password",
            "keystore.algorithm",
            "tls.store.type",
            "client.verify",
        ),
        INSTEAD,
    ),
    "optional.configuration": "connections are made anew by themselves: leave it out",
}


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "nats",
        (
            Overload(
                (
                    option("destination", needed=True),
                    option("durable.name"),
                    option("queue.group.name"),
                    *_SERVER,
                ),
                check=_taken_subject,
            ),
        ),
        doc="Messages of a subject, of the suite's own bus or of another server.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on behind what it took",
            poison="dead letter",
            pressure="stays in the stream",
            repeat="known by stream and sequence",
            where="where a stream keeps the subject",
            otherwise=Delivery.AT_MOST_ONCE,
        ),
        retired={
            **_NO_SERVER,
            "subscription.sequence": "a durable source goes on where it stopped: leave it out",
        },
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "nats",
        (
            Overload(
                (
                    dynamic("destination", needed=True),
                    *_SERVER,
                ),
                check=_sent_subject,
            ),
        ),
        doc="Messages to a subject, of the suite's own bus or of another server.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the stream",
            repeat="same Nats-Msg-Id: once in its window",
            where="where a stream keeps the subject",
            otherwise=Delivery.AT_MOST_ONCE,
        ),
        retired=_NO_SERVER,
    ),
)
