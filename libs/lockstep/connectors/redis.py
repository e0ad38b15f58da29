"""@store(type='redis') (extensions 15.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from lockstep.secrets.references import BEGINNING
from lockstep.siddhiql.catalogue import Argument, ExtensionKind, Overload, SignatureError
from lockstep.siddhiql.catalogue.connectors import (
    BOOL,
    INT,
    ConnectorExtension,
    option,
    options_given,
)

REDIS: Final = "redis"
HOST, PORT = "localhost", 6379
_NODE: Final = "nodes='host:port@password'"
_NO_TTL: Final = (
    "queries read the app's own table, in which no row goes by itself:"
    " let a query delete what is old"
)


@dataclass(frozen=True, slots=True)
class RedisPlace:
    """One server."""

    host: str
    port: int
    password: str = field(default="", repr=False)


_SUITES: Final = "lockstep:"
"""What keys of leases, and of places of sinks, begin with."""


def place_of(option_of: Callable[[str], str | None]) -> RedisPlace:
    """The server that the options mean: `nodes`, then `host`, `port`, `password`. ValueError."""
    host, port, password = HOST, PORT, ""
    nodes = option_of("nodes")
    if nodes is not None:
        address, _, password = nodes.partition("@")
        host, _, number = address.strip().rpartition(":")
        if not host or not number.isdecimal() or "," in address:
            raise ValueError(f"'nodes' is no {_NODE}")  # it may hold a password
        port = int(number)
    return RedisPlace(
        option_of("host") or host,
        int(option_of("port") or port),
        option_of("password") or password,
    )


def _server(arguments: Sequence[Argument]) -> None:
    given = options_given(arguments)
    if given.get("cluster.mode", "").strip().lower() == "true":
        raise SignatureError(
            "'cluster.mode' is 'true': rows and their place go in one step, which a cluster"
            " makes on one server alone",
            "name one server: host='…', port='…'",
        )
    if f"{given.get('table.name', '')}:".startswith(_SUITES):
        raise SignatureError(f"keys that begin with {_SUITES!r} are the suite's", "another name")
    if BEGINNING in given.get("nodes", ""):
        return
    try:
        place_of(given.get)
    except ValueError as error:
        raise SignatureError(str(error), _NODE) from error


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.STORE,
        REDIS,
        (
            Overload(
                (
                    option("host"),
                    option("port", INT),
                    option("password"),
                    option("nodes"),
                    option("table.name"),
                    option("cluster.mode", BOOL),
                    option("mode", choices=("own", "copy", "lookup")),
                    option("columns"),
                    option("poll.interval"),
                ),
                check=_server,
            ),
        ),
        doc="A table whose rows are hashes in Redis: the app's own, or one that others write.",
        retired=dict.fromkeys(
            ("ttl.seconds", "ttl.on.update", "ttl.on.read", "ttl.onUpdate", "ttl.onRead"), _NO_TTL
        ),
    ),
)
