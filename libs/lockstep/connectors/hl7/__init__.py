"""@source(type='hl7'), @sink(type='hl7'): HL7 version 2 over MLLP, as ER7 or XML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.connectors.endpoints import check_port, is_known, is_name, is_port
from lockstep.connectors.tls import INSTEAD, OPTIONS
from lockstep.siddhiql import ast
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
    option,
    options_given,
    without_meaning,
)

_PLAIN: Final = dict.fromkeys(
    ("tls.keystore.filepath", "tls.keystore.passphrase", "tls.keystore.type", "keystore.filepath"),
    f"a source speaks TLS where receiver.sources_tls says so; a sink: {INSTEAD}",
)


def _form(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    if given.get("hl7.conformance.profile.used", "").lower() == "true":
        raise SignatureError("'hl7.conformance.profile.used' is not supported", "leave it out")
    if "port" in given and given.get("tls.enabled", "").lower() == "true":
        raise SignatureError(
            "'tls.enabled' is not for apps to say", "leave it out: receiver.sources_tls says it"
        )
    host, colon, port = given.get("uri", "host:1").rpartition(":")
    if is_known(given.get("uri", "")) and not (colon and is_name(host) and is_port(port)):
        raise SignatureError(f"'uri' is {given['uri']!r}", "uri='localhost:4000'")
    check_port("port", given.get("port", "1"))


_COMMON = (
    option("hl7.encoding", needed=True, choices=("er7", "xml")),
    option("tls.enabled", BOOL),
    *without_meaning("charset hl7.ack.encoding"),
)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "hl7",
        (
            Overload(
                (
                    option("port", INT, needed=True),
                    *_COMMON,
                    option("hl7.conformance.profile.used", BOOL),
                ),
                check=_form,
            ),
        ),
        doc="Messages to a port, acknowledged (AA) when they are in the log.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="the sender sends what has no AA",
            poison="dead letter",
            pressure="AA comes late",
            repeat="known by sender and control id",
            where="with a control id",
            otherwise=Delivery.AT_LEAST_ONCE,
        ),
        retired=_PLAIN,
        carrier=f"{__name__}.mllp:Hl7Source",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "hl7",
        (
            Overload(
                (
                    option("uri", needed=True),
                    *_COMMON,
                    *OPTIONS,
                    *without_meaning("hl7.timeout", INT),
                ),
                check=_form,
            ),
        ),
        doc="A message to a host, delivered when it is acknowledged.",
        promise=Promise(
            Delivery.IDENTIFIED,
            reconnect="sent again",
            poison="AR: on.error",
            pressure="waits for AA",
            repeat="same control id",
        ),
        retired=_PLAIN,
        carrier=f"{__name__}.mllp:Hl7Sink",
    ),
)


def gives_er7(source: ast.Annotation) -> bool:
    """Its messages are texts in which no attribute is named: to `@map(type='text')` of a stream
    with one attribute, all of a message is its value."""
    return (source.get("type") or "").lower() == "hl7" and (
        source.get("hl7.encoding") or ""
    ).lower() == "er7"
