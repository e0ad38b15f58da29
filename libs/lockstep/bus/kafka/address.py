"""Reads the bus's URL for Kafka: brokers, user, and what else is needed to be let in.

`kafka://user:password@a:9092,b:9092?prefix=lockstep&mechanism=SCRAM-SHA-512`; `kafka+tls://` speaks
TLS, with `ca=`, `cert=` and `key=` naming files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote

from lockstep.events import Fault, LockstepError
from lockstep.tls import TlsFiles

_PARAMETERS: Final = {"prefix", "mechanism", "password_file", "ca", "cert", "key"}
_MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_FILES: Final = {
    "ca": "ssl.ca.location",
    "cert": "ssl.certificate.location",
    "key": "ssl.key.location",
}
_PREFIX: Final = re.compile(r"[A-Za-z0-9-]{1,40}")
_HINT: Final = f"kafka://host:9092, with parameters {', '.join(sorted(_PARAMETERS))}"


class BadKafkaAddressError(LockstepError):
    """A bus URL that cannot be understood."""

    fault = Fault.USER


@dataclass(frozen=True, slots=True)
class Address:
    """Where the brokers are, how to be let in, and what all topics of the bus begin with."""

    config: Mapping[str, str]
    prefix: str
    files: TlsFiles

    @property
    def shown(self) -> str:
        """Without secrets, for messages."""
        return self.config["bootstrap.servers"]


def parse_address(url: str) -> Address:
    """The address in a URL. Errors: BadKafkaAddressError."""
    base, _, query = url.partition("?")
    scheme, _, place = base.partition("://")
    login, _, servers = place.rpartition("@")
    given = dict(parse_qsl(query))
    unknown = sorted(set(given) - _PARAMETERS)
    if scheme not in ("kafka", "kafka+tls"):
        raise _bad("another scheme than kafka or kafka+tls")
    if unknown:
        raise _bad(f"unknown parameter {unknown[0]}")
    if not servers:
        raise _bad("no broker")
    prefix = given.get("prefix", "lockstep")
    if _PREFIX.fullmatch(prefix) is None:
        raise _bad("a prefix that is not 1 to 40 letters, digits and hyphens")
    has_tls = scheme == "kafka+tls"
    config = {"bootstrap.servers": servers, **_login(login, given, has_tls=has_tls)}
    for name in _FILES.keys() & given.keys():
        if not has_tls:
            raise _bad(f"{name} and no TLS")
        if not Path(given[name]).is_file():
            raise _bad(f"{name} naming no file: {given[name]}")
        config[_FILES[name]] = given[name]
    files = TlsFiles(given.get("ca", ""), given.get("cert", ""), given.get("key", ""))
    return Address(config, prefix, files)


def _login(login: str, given: Mapping[str, str], *, has_tls: bool) -> dict[str, str]:
    if not login:
        return {"security.protocol": "SSL" if has_tls else "PLAINTEXT"}
    mechanism = given.get("mechanism", "SCRAM-SHA-512")
    if mechanism not in _MECHANISMS:
        raise _bad(f"a mechanism that is none of {', '.join(_MECHANISMS)}")
    user, _, password = login.partition(":")
    if "password_file" in given:
        try:
            password = Path(given["password_file"]).read_text().strip()
        except OSError as error:
            raise _bad(f"a password file that cannot be read ({error.strerror})") from error
    else:
        password = unquote(password)
    return {
        "security.protocol": "SASL_SSL" if has_tls else "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
        "sasl.username": unquote(user),
        "sasl.password": password,
    }


def _bad(what: str) -> BadKafkaAddressError:
    return BadKafkaAddressError(f"a bus URL with {what}", where="bus.url", hint=_HINT)
