"""What of SNMP is refused, and why."""

from __future__ import annotations

import pytest

from lockstep.siddhiql import check
from tests.unit.siddhiql.refusals import error_of_app, says

S = "define stream S (a string);"
SOURCE = "@source(type='snmp', host='h', oids='1.3.6.1.2.1.1.3.0'"
SINK = "@sink(type='snmp', host='h'"
USER = "version='v3', user.name='u'"


@pytest.mark.parametrize(
    "text",
    [
        f"{SOURCE}, version='v1', request.interval='5000', community='public', agent.port='2019',"
        f" @map(type='keyvalue', @attributes(a='1.3.6.1.2.1.1.3.0'))) {S}",
        f"{SINK}, version='V2C', istcp='false',"
        f" @map(type='keyvalue', @payload('1.3.6.1.2.1.1.6.0'='a'))) {S}",
        f"{SINK}, {USER}, auth.password='12345678', priv.password='${{secret:snmp}}',"
        f" auth.protocol='authHmac192Sha256', priv.protocol='PRIVAES256') {S}",
        f"{SINK}, {USER}, security.lvl='no_auth_no_priv') {S}",
    ],
)
def test_what_there_is_is_accepted(text: str) -> None:
    """In any case; a user of version 3 is checked by the passwords that are there."""
    check(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (f"@source(type='snmp', host='h', version='v1') {S}", ("needs 'oids'",)),
        (f"{SINK}) {S}", ("needs 'version'",)),
        (f"{SINK}, version='v4') {S}", ("'v4'", "v1, v2c, v3")),
        (
            f"@source(type='snmp', host='h', version='v1', oids='1.3.6, sysUpTime') {S}",
            ("'sysUpTime' is no OID", "1.3.6.1"),
        ),
        (f"@source(type='snmp', host='h', version='v1', oids=',') {S}", ("'oids' has 0",)),
        (f"{SINK}, version='v1', istcp='true') {S}", ("'istcp'", "UDP")),
        (f"{SINK}, version='v3') {S}", ("as a user", "user.name")),
        (f"{SINK}, {USER}, security.lvl='AUTH_PRIV') {S}", ("'auth.password' is missing",)),
        (f"{SINK}, {USER}, priv.password='12345678') {S}", ("'auth.password' is missing",)),
        (f"{SINK}, {USER}, auth.password='1234567') {S}", ("too short", "8 characters")),
        (f"{SINK}, {USER}, auth.protocol='SHA3') {S}", ("'SHA3'", "AUTHSHA")),
    ],
)
def test_what_cannot_be_is_refused(text: str, parts: tuple[str, ...]) -> None:
    """With what to do instead."""
    says(error_of_app(text), *parts)
