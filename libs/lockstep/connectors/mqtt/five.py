"""What MQTT 5 adds: properties of connections and messages, limits of brokers, reason codes.

A message bears its identity as a user property. So a source knows what comes again, also in
another session, where MQTT itself numbers messages anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from lockstep.sinks import Message, MessageRefusedError, headers_of

IDENTITY: Final = "lockstep-id"
"""The user property that bears a message's identity, where `identity.property` names no other."""

NEVER_S: Final = 0xFFFF_FFFF
"""A session that does not expire."""

UNACKNOWLEDGED_MAX: Final = 256
"""Messages that a broker may have under way to a source."""

STRING_MAX_BYTES: Final = 65_535

REFUSED: Final = 0x80
"""Reason codes from here on are refusals."""

FINAL: Final = frozenset({0x87, 0x90, 0x95, 0x99})
"""Refusals of a message for what it is: not authorized, topic name invalid, packet too large,
payload format invalid."""

_FIXED_BYTES: Final = 5


def is_five(options: Mapping[str, str]) -> bool:
    """Whether the connection speaks MQTT 5."""
    return options.get("protocol.version", "").strip() == "5"


def identity_property(options: Mapping[str, str]) -> str:
    """The name of the user property with a message's identity."""
    return options.get("identity.property", IDENTITY)


def told(reason: Any, properties: Any = None) -> str:
    """A broker's reason with its code, and what it adds in words."""
    more = getattr(properties, "ReasonString", "")
    return f"{reason} (0x{reason.value:02x}){f': {more[:200]}' if more else ''}"


def connecting(options: Mapping[str, str], *, keeps: bool) -> Properties:
    """Of CONNECT. `keeps`: the session outlives the connection, for ever or as long as
    `session.expiry.interval` says (seconds)."""
    made = Properties(PacketTypes.CONNECT)
    made.ReceiveMaximum = UNACKNOWLEDGED_MAX
    if keeps:
        made.SessionExpiryInterval = int(options.get("session.expiry.interval", NEVER_S))
    return made


@dataclass(frozen=True, slots=True)
class Limits:
    """What a broker takes."""

    max_packet_bytes: int | None = None
    max_quality: int = 2
    may_retain: bool = True

    @staticmethod
    def of(properties: Any) -> Limits:
        """As CONNACK says it."""
        return Limits(
            getattr(properties, "MaximumPacketSize", None),
            getattr(properties, "MaximumQoS", 2),
            bool(getattr(properties, "RetainAvailable", 1)),
        )

    def refuse(
        self, topic: str, payload: bytes, quality: int, properties: Properties, *, retain: bool
    ) -> None:
        """MessageRefusedError for what the broker would end the connection for."""
        if quality > self.max_quality:
            raise MessageRefusedError(
                f"the broker takes quality of service {self.max_quality} at most, not {quality}"
            )
        if retain and not self.may_retain:
            raise MessageRefusedError("the broker retains no messages")
        size = _FIXED_BYTES + 4 + len(topic.encode()) + len(properties.pack()) + len(payload)
        if self.max_packet_bytes is not None and size > self.max_packet_bytes:
            raise MessageRefusedError(
                f"a message of {size} bytes: the broker takes {self.max_packet_bytes} at most"
            )


def publishing(options: Mapping[str, str], message: Message) -> Properties:
    """Of a message that is sent: `user.properties`, `content.type`, `message.expiry.interval`, and
    its identity. MessageRefusedError for what a property cannot hold."""
    made = Properties(PacketTypes.PUBLISH)
    made.ContentType = _text(message.fill(options.get("content.type", message.content_type)))
    expires = message.fill(options.get("message.expiry.interval", "")).strip()
    if expires:
        if not (expires.isdecimal() and len(expires) <= 10 and int(expires) <= NEVER_S):
            raise MessageRefusedError(f"it expires after {expires[:200]!r}, which is no seconds")
        made.MessageExpiryInterval = int(expires)
    given = headers_of(options.get("user.properties", ""))
    filled = {_text(name): _text(message.fill(value)) for name, value in given.items()}
    for pair in {**filled, identity_property(options): message.id}.items():
        made.UserProperty = pair
    return made


def _text(value: str) -> str:
    """As a property can hold it."""
    if "\0" in value or "\ufeff" in value or len(value.encode()) > STRING_MAX_BYTES:
        raise MessageRefusedError(f"no text for a property of MQTT: {value[:200]!r}")
    return value


def received(properties: Any) -> dict[str, str]:
    """What `trp:` takes of a message: user properties by name, `Content-Type`, `response.topic`,
    and `message.expiry.interval`, the seconds that are left."""
    found = {str(name): str(value) for name, value in getattr(properties, "UserProperty", ())}
    for ours, theirs in (
        ("Content-Type", "ContentType"),
        ("response.topic", "ResponseTopic"),
        ("message.expiry.interval", "MessageExpiryInterval"),
    ):
        value = getattr(properties, theirs, None)
        if value is not None:
            found[ours] = str(value)
    return found
