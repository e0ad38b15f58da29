"""@source(type='snmp'), @sink(type='snmp'): variables of agents, read and written (extensions
12.23)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from lockstep.connectors.endpoints import check_port
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
    without_meaning,
)

VERSIONS: Final = ("v1", "v2c", "v3")
LEVELS: Final = ("AUTH_PRIV", "AUTH_NO_PRIV", "NO_AUTH_NO_PRIV")
AUTHENTICATIONS: Final = (
    "AUTHMD5", "AUTHSHA", "AUTHHMAC128SHA224", "AUTHHMAC192SHA256", "AUTHHMAC256SHA384",
    "AUTHHMAC384SHA512",
)  # fmt: skip
PRIVACIES: Final = ("PRIVDES", "PRIV3DES", "PRIVAES128", "PRIVAES192", "PRIVAES256")
MAX_OIDS: Final = 100
"""Of a request, which is one packet."""
MIN_PASSWORD_CHARACTERS: Final = 8
_OID: Final = re.compile(r"\.?[012](\.\d{1,10}){1,127}")


def oid_of(text: str) -> str:
    """The name of a variable, without a dot in front; ValueError."""
    found = text.strip()
    if not _OID.fullmatch(found):
        raise ValueError(f"{found[:200]!r} is no OID")
    return found.removeprefix(".")


def oids_of(text: str) -> tuple[str, ...]:
    """Names with commas between; ValueError."""
    return tuple(oid_of(part) for part in text.split(",") if part.strip())


def level_of(options: dict[str, str]) -> str:
    """How a user of version 3 is checked: as is said, else by the passwords that are there."""
    given = options.get("security.lvl", "").strip().upper()
    if given:
        return given
    if "priv.password" in options:
        return LEVELS[0]
    return LEVELS[1] if "auth.password" in options else LEVELS[2]


def _check(arguments: Sequence[Argument]) -> None:
    options = {str(one.attribute_name): str(one.value) for one in arguments}
    check_port("agent.port", options.get("agent.port", "161").strip())
    if options.get("istcp", "").strip().lower() == "true":
        raise SignatureError("'istcp' is 'true'", "agents are asked over UDP: leave it out")
    if "oids" in options:
        try:
            count = len(oids_of(options["oids"]))
        except ValueError as error:
            raise SignatureError(
                str(error), "oids='1.3.6.1.2.1.1.3.0, 1.3.6.1.2.1.1.5.0'"
            ) from error
        if not 0 < count <= MAX_OIDS:
            raise SignatureError(f"'oids' has {count} names", f"name 1 to {MAX_OIDS}")
    if options["version"].strip().lower() == "v3":
        _check_user(options)


def _check_user(options: dict[str, str]) -> None:
    if "user.name" not in options:
        raise SignatureError("version 3 asks as a user", "user.name='monitor'")
    wanted = {
        LEVELS[0]: ("auth.password", "priv.password"),
        LEVELS[1]: ("auth.password",),
        LEVELS[2]: (),
    }[level_of(options)]
    for name in wanted:
        if name not in options:
            raise SignatureError(f"{name!r} is missing", "or a lower security.lvl")
        if len(options[name]) < MIN_PASSWORD_CHARACTERS:
            raise SignatureError(f"{name!r} is too short", f"{MIN_PASSWORD_CHARACTERS} characters")


_AGENT: Final = (
    option("host", needed=True),
    option("version", needed=True, choices=VERSIONS),
    option("agent.port", INT),
    option("community"),
    option("timeout", INT),
    option("retries", INT),
    option("user.name"),
    option("security.lvl", choices=LEVELS),
    option("auth.protocol", choices=AUTHENTICATIONS),
    option("auth.password"),
    option("priv.protocol", choices=PRIVACIES),
    option("priv.password"),
    option("istcp", BOOL),
    *without_meaning("security.mode local.engine.id engine.id engine.boot"),
)

EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "snmp",
        (
            Overload(
                (option("oids", needed=True), option("request.interval", INT), *_AGENT),
                check=_check,
            ),
        ),
        doc="Variables of an agent, asked for every `request.interval` by one receiver.",
        promise=Promise(
            Delivery.AT_MOST_ONCE,
            reconnect="asks again",
            poison="dead letter",
            pressure="asks later",
            repeat="each answer is new",
        ),
        carrier=f"{__name__}.source:SnmpSource",
        extra="snmp",
    ),
    ConnectorExtension(
        ExtensionKind.SINK,
        "snmp",
        (Overload(_AGENT, check=_check),),
        doc="Variables of an agent, set to what an event holds.",
        promise=Promise(
            Delivery.AT_LEAST_ONCE,
            reconnect="set again",
            poison="on.error",
            pressure="waits for the answer",
            repeat="sets the same values",
        ),
        carrier=f"{__name__}.sink:SnmpSink",
        extra="snmp",
    ),
)
