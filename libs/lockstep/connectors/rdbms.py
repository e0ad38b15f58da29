"""@sink(type='rdbms'), @store(type='rdbms') (extensions 12.9, 14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

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
    option,
    options_given,
    without_meaning,
)

_POSTGRES: Final = "jdbc:postgresql://"
_SQLITE: Final = ("jdbc:sqlite:/", "sqlite:/")
_KNOWN: Final = (_POSTGRES, "jdbc:mysql://", "jdbc:mariadb://", *_SQLITE)
MODE: Final = "execution.mode"
BY_KEYS: Final = "update-or-insert"
KEYS: Final = "update.keys"
_NOT_OF_FILES: Final = ("username", "password", "publication")
_SUITES_TABLES: Final = frozenset(
    (
        "accounts", "accounts_revision", "app_versions", "audit", "batch", "cursors",
        "deployments", "documents", "drained", "epochs", "failovers", "figures_coarse",
        "figures_fine", "levels", "migrations", "pauses", "placements", "revision_parts",
        "revisions",
    )
)  # fmt: skip
"""Of the suite's own schema. A server finds them by a bare name, too, where its user is called as
the schema is."""
_SYSTEMS: Final = ("lockstep_", "pg_")
"""What names of the suite's tables beside its schema, and of the server's, begin with."""
_INSTEAD: Final = f"jdbc.url='{_POSTGRES}host:port/database', or datasource='NAME' of the settings"


def is_suites_own(option: Callable[[str], str | None]) -> bool:
    """Neither a datasource nor a url: the database is that in which the suite keeps its store."""
    return option("datasource") is None and not option("jdbc.url")


def check_own_table(option: Callable[[str], str | None], table: str | None) -> None:
    """SignatureError for a table of the suite's own database that is not for apps. Identifiers are
    quoted, so a name means what it says, letter by letter."""
    if table is None or not is_suites_own(option):
        return
    if "." in table:
        said = f"the table {table!r}: in the suite's own database an app names no schema"
    elif table in _SUITES_TABLES or table.lower().startswith(_SYSTEMS):
        said = f"the table {table!r} is not for apps in the suite's own database"
    else:
        return
    raise SignatureError(said, f"another 'table.name'; or a database of your own: {_INSTEAD}")


def check_no_statements(option: Callable[[str], str | None]) -> None:
    """SignatureError for statements in the suite's own database, where its accounts are."""
    if is_suites_own(option):
        raise SignatureError(
            "it names no database, and the suite's own takes no statements of apps", _INSTEAD
        )


def check_url(arguments: Sequence[Argument]) -> None:
    """SignatureError for a database that nobody here speaks with, and for what is not an app's in
    the suite's own."""
    given = options_given(arguments)
    url = given.get("jdbc.url")
    check_own_table(given.get, given.get("table.name"))
    if url is None:
        return
    if "datasource" in given:
        raise SignatureError("it names a 'datasource' and a 'jdbc.url'", "keep one of them")
    if url.startswith(BEGINNING):
        return
    if not url.startswith(_KNOWN):
        raise SignatureError(
            f"'jdbc.url' is {url!r}: there is PostgreSQL, MySQL, MariaDB and SQLite", _INSTEAD
        )
    unknown = next((one for one in _NOT_OF_FILES if one in given), None)
    if unknown is not None and url.startswith(_SQLITE):
        raise SignatureError(f"{unknown!r} means nothing with an SQLite file", "leave it out")
    if "publication" in given and not url.startswith(_POSTGRES):
        raise SignatureError("'publication' is for PostgreSQL alone", "leave it out")


def update_keys(mode: str | None, keys: str | None) -> tuple[str, ...]:
    """The attributes by which a sink's rows are told apart; none where each event is a row."""
    if (mode or "").strip().lower() != BY_KEYS:
        return ()
    named = (one.strip() for one in (keys or "").split(","))
    return tuple(dict.fromkeys(one for one in named if one))


def _check_sink(arguments: Sequence[Argument]) -> None:
    check_url(arguments)
    given = options_given(arguments)
    if KEYS in given and MODE not in given:
        raise SignatureError(f"{KEYS!r} is for rows that are updated", f"{MODE}='{BY_KEYS}'")
    mode = given.get(MODE, "").strip().lower()
    if mode == BY_KEYS and not update_keys(mode, given.get(KEYS)):
        raise SignatureError(
            f"{MODE}={BY_KEYS!r} needs {KEYS!r}", f"{KEYS}='customer, product': attributes"
        )


LOGIN: Final = (
    option("jdbc.url"),
    option("username"),
    option("password"),
    option("datasource"),
)
_RDBMS = (
    *LOGIN,
    option("table.name"),
    *without_meaning(
        "jdbc.driver.name pool.properties field.length table.check.query use.collation isAutoCommit"
        " allow.null.values"
    ),
)
_WRITTEN = (
    option(MODE, choices=("insert", BY_KEYS)),
    option(KEYS),
)
_READ = (
    option("mode", choices=("own", "copy", "lookup")),
    option("columns"),
    option("publication"),
    option("poll.interval"),
)
_RETIRED: Final = {
    "jndi.resource": "name a datasource of the settings: datasource='NAME'",
}


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SINK,
        "rdbms",
        (Overload((*_RDBMS, *_WRITTEN), check=_check_sink),),
        doc="A row per event, or per key.",
        keys=(KEYS,),
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="a new transaction",
            poison="on.error",
            pressure="waits for the transaction",
            repeat="never: rows and place are one",
        ),
        retired=_RETIRED,
        one_destination="write one @sink for each database,"
        " with filtered streams if each has its share",
    ),
    ConnectorExtension(
        ExtensionKind.STORE,
        "rdbms",
        (Overload((*_RDBMS, *_READ), check=check_url),),
        doc="A table in a database: the app's own, or a copy that follows it.",
        retired=_RETIRED,
    ),
)
