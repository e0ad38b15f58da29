"""@sink(type='rdbms'), @store(type='rdbms') (extensions 12.9, 14)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lockstep.siddhiql.catalogue import Argument, ExtensionKind, Overload, SignatureError
from lockstep.siddhiql.catalogue.connectors import ConnectorExtension, option, without_meaning

_POSTGRES: Final = "jdbc:postgresql://"


def _database(arguments: Sequence[Argument]) -> None:
    for argument in arguments:
        text = str(argument.value)
        if argument.attribute_name == "jdbc.url" and not text.startswith(_POSTGRES):
            raise SignatureError(
                f"'jdbc.url' is {text!r}: of databases PostgreSQL alone is supported",
                f"jdbc.url='{_POSTGRES}host:port/database', or leave it out for the suite's own",
            )


_RDBMS = (
    option("jdbc.url"),
    option("username"),
    option("password"),
    option("table.name"),
    *without_meaning(
        "jdbc.driver.name pool.properties field.length table.check.query use.collation"
        " allow.null.values"
    ),
)
_SOURCE_OF_DATA: Final = dict.fromkeys(
    ("datasource", "jndi.resource"),
    "write the 'jdbc.url', or leave it out for the suite's own database",
)


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SINK,
        "rdbms",
        (Overload(_RDBMS, check=_database),),
        doc="A row per event.",
        retired=_SOURCE_OF_DATA,
        one_destination="write one @sink for each database,"
        " with filtered streams if each has its share",
    ),
    ConnectorExtension(
        ExtensionKind.STORE,
        "rdbms",
        (Overload(_RDBMS, check=_database),),
        doc="The table's changes in a database.",
        retired=_SOURCE_OF_DATA,
    ),
)
