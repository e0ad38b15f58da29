"""@store(type='mongodb') (extensions 15.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from lockstep.secrets.references import BEGINNING
from lockstep.siddhiql.catalogue import Argument, ExtensionKind, Overload, SignatureError
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension, option, options_given

MONGODB: Final = "mongodb"
URI: Final = "mongodb.uri"
COLLECTION: Final = "collection.name"
_SCHEMES: Final = ("mongodb", "mongodb+srv")
_EXAMPLE: Final = "mongodb.uri='mongodb://host:port/database'"
_IN_THE_URI: Final = "say it in the uri: mongodb://…/database?tls=true&tlsCAFile=/path/ca.pem"


def database_of(uri: str) -> str:
    """The database that a uri names. ValueError, which holds no password."""
    parts = urlsplit(uri)
    name = parts.path.strip("/")
    if parts.scheme not in _SCHEMES or not parts.netloc or not name or "/" in name:
        raise ValueError("it names no server, or no database")
    return name


def _check(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    if "mode" not in given:
        raise SignatureError(
            "'mode' is missing: a table of the app's own is written exactly once, which needs"
            " transactions over several documents",
            "mode='lookup' or mode='copy' for what others write; type='rdbms' for the app's own",
        )
    uri = given.get(URI, "")
    if BEGINNING in uri:
        return
    try:
        database_of(uri)
    except ValueError as error:
        raise SignatureError(f"{URI!r}: {error}", _EXAMPLE) from error


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.STORE,
        MONGODB,
        (
            Overload(
                (
                    option(URI, needed=True),
                    option(COLLECTION),
                    option("mode", choices=("copy", "lookup")),
                    option("columns"),
                    option("poll.interval"),
                ),
                check=_check,
            ),
        ),
        doc="A collection that others write: asked when events come, or compared again and again.",
        extra="mongodb",
        retired=dict.fromkeys(
            (
                "secure.connection", "trust.store", "trust.store.password", "key.store",
                "key.store.password",
            ),
            _IN_THE_URI,
        ),
    ),
)  # fmt: skip
