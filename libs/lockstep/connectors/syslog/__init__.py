"""@source(type='syslog'), @sink(type='syslog'): RFC 5424 and RFC 3164 over UDP, TCP and TLS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from lockstep.connectors.endpoints import check_port, is_name
from lockstep.connectors.syslog.framing import Framing
from lockstep.connectors.syslog.messages import (
    FACILITIES,
    SEVERITIES,
    SyslogError,
    number_of,
    read_elements,
)
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
    INT,
    ConnectorExtension,
    dynamic,
    option,
    options_given,
)

TRANSPORTS: Final = ("udp", "tcp", "tls")
FORMATS: Final = ("rfc5424", "rfc3164")
MESSAGE_MAX_BYTES: Final = 1_048_576
"""The most that `max.message.bytes` can be."""
DATAGRAM_MAX_BYTES: Final = 65_507

_OF_STREAMS: Final = ("framing", "max.connections")
_OF_DATAGRAMS: Final = ("receive.buffer.bytes",)
_OF_5424: Final = ("msg.id", "structured.data", "identity.sd.id")
_PLACE_OF_TEMPLATE: Final = "{{"
_EXAMPLE: Final = (
    "facility='local0', severity='info',"
    ' structured.data="""[room@32473 name="{{room}}"]""", identity.sd.id=\'lockstep@32473\''
)


def _limits(given: Mapping[str, str], *, is_udp: bool) -> None:
    most = DATAGRAM_MAX_BYTES if is_udp else MESSAGE_MAX_BYTES
    if int(given.get("max.message.bytes", "1")) > most:
        raise SignatureError(
            f"'max.message.bytes' is {given['max.message.bytes']!r}", f"at most {most}"
        )


def _port(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    transport = given.get("transport", "udp").lower()
    others = _OF_STREAMS if transport == "udp" else _OF_DATAGRAMS
    stranger = next((name for name in others if name in given), None)
    if stranger is not None:
        raise SignatureError(
            f"{stranger!r} means nothing with transport={transport!r}",
            "transport='tcp'" if transport == "udp" else "transport='udp', or leave it out",
        )
    check_port("port", given["port"])
    _limits(given, is_udp=transport == "udp")


def _url(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    hint = "url='tls://host:6514', 'tcp://host:514' or 'udp://host:514'"
    try:
        url = urlsplit(given["url"])
        fits = url.scheme in TRANSPORTS and is_name(url.hostname or "") and url.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise SignatureError(f"'url' is {given['url']!r}", hint)
    if url.scheme == "udp" and "framing" in given:
        raise SignatureError("'framing' means nothing over UDP", "each message is a datagram")
    if given.get("format", "").lower() == "rfc3164":
        newer = next((name for name in _OF_5424 if name in given), None)
        if newer is not None:
            raise SignatureError(f"RFC 3164 has no place for {newer!r}", "format='rfc5424'")
    _limits(given, is_udp=url.scheme == "udp")
    try:
        for name, names in (("facility", FACILITIES), ("severity", SEVERITIES)):
            if name in given and _PLACE_OF_TEMPLATE not in given[name]:
                number_of(given[name], names)
        structured = given.get("structured.data", "-")
        if read_elements(structured)[1] != len(structured):
            raise SyslogError(f"'structured.data' is {structured!r}")
        identity = given.get("identity.sd.id")
        if identity is not None:
            read_elements(f"[{identity}]")
    except SyslogError as error:
        raise SignatureError(str(error), _EXAMPLE) from None


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "syslog",
        (
            Overload(
                (
                    option("port", INT, needed=True),
                    option("transport", choices=TRANSPORTS),
                    option("framing", choices=tuple(Framing)),
                    option("max.message.bytes", INT),
                    option("max.connections", INT),
                    option("receive.buffer.bytes", INT),
                    option("identity.sd.id"),
                ),
                check=_port,
            ),
        ),
        doc="Messages of syslog, in either form, at a port of every receiver.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="the sender connects again",
            poison="dead letter",
            pressure="the sender waits; over UDP the system drops",
            repeat="known by its identity.sd.id, where that is given",
        ),
        carrier=f"{__name__}.source:SyslogSource",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "syslog",
        (
            Overload(
                (
                    option("url", needed=True),
                    option("format", choices=FORMATS),
                    option("framing", choices=(Framing.COUNTED, Framing.LINES)),
                    dynamic("facility"),
                    dynamic("severity"),
                    dynamic("host.name"),
                    dynamic("app.name"),
                    dynamic("proc.id"),
                    dynamic("msg.id"),
                    dynamic("structured.data"),
                    option("identity.sd.id"),
                    option("max.message.bytes", INT),
                    *OPTIONS,
                ),
                check=_url,
            ),
        ),
        doc="A message of syslog to a server.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="sent again",
            poison="on.error",
            pressure="waits for the socket; UDP knows none",
            repeat="possible, with its identity.sd.id, where that is given",
        ),
        carrier=f"{__name__}.sink:SyslogSink",
    ),
)
