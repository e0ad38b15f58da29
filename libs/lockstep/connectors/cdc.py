"""@source(type='cdc'): changes of a database's table as events (extensions 12.19)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from lockstep.siddhiql.catalogue.connectors import INT, ConnectorExtension, option, without_meaning
from lockstep.siddhiql.parts import pairs, parts

OPERATIONS: Final = ("insert", "update", "delete")
LISTENING: Final = "listening"
POLLING: Final = "polling"
LARGEST_SERVER_ID: Final = 2**32 - 1

_URLS: Final = (
    "jdbc:postgresql://", "jdbc:mysql://", "jdbc:mariadb://",
    "postgresql://", "mysql://", "mariadb://",
)  # fmt: skip
_SQLITE: Final = ("jdbc:sqlite:/", "sqlite:/")
_OF_LISTENING: Final = ("operation", "connector.properties", "database.server.id", "publication")
_OF_POLLING: Final = ("polling.column", "polling.interval")
_HARMLESS: Final = (
    "plugin.name", "slot.name", "slot.drop.on.stop", "slot.drop_on_stop", "database.server.name",
    "topic.prefix", "include.schema.changes", "tombstones.on.delete", "connect.timeout.ms",
    "connect.keep.alive", "heartbeat.interval.ms", "max.batch.size", "max.queue.size",
    "poll.interval.ms", "snapshot.locking.mode", "name", "offset.storage",
    "offset.flush.interval.ms", "database.history", "database.history.file.filename",
)  # fmt: skip
_NO_SNAPSHOT: Final = ("never", "no_data", "schema_only", "schema_only_recovery", "recovery")
_REFUSED: Final[Mapping[str, str]] = {
    "database.ssl.mode": "say it in the url: sslmode=verify-full",
    "decimal.handling.mode": "decimals come as they are, and the mapping makes them the attribute",
    "time.precision.mode": "times come as texts in ISO 8601",
    "binary.handling.mode": "bytes come in hex",
}


def _database(arguments: Sequence[Argument]) -> None:
    given = {str(one.attribute_name): str(one.value).strip() for one in arguments}
    url = given.get("url")
    if url is None and "datasource.name" not in given:
        raise SignatureError("'url' is missing", "url='jdbc:mysql://host:3306/database'")
    if url is not None and not url.startswith((*_URLS, *_SQLITE, BEGINNING)):
        raise SignatureError(
            f"'url' is {url!r}: there is MySQL, MariaDB, PostgreSQL and SQLite",
            "url='jdbc:mysql://host:3306/database', or datasource.name='NAME' of the settings",
        )
    polls = given.get("mode", LISTENING).lower() == POLLING
    if url is not None and url.startswith(_SQLITE) and not polls:
        raise SignatureError(
            "an SQLite file keeps no record of its changes",
            f"mode='{POLLING}', with polling.column='id': numbers that grow",
        )
    for name in _OF_LISTENING if polls else _OF_POLLING:
        if name in given:
            raise SignatureError(
                f"{name!r} means nothing with mode='{POLLING if polls else LISTENING}'",
                f"leave it out, or mode='{LISTENING if polls else POLLING}'",
            )
    if polls:
        if "polling.column" not in given:
            raise SignatureError("'polling.column' is missing", "polling.column='id'")
    else:
        _listening(given)


def _listening(given: Mapping[str, str]) -> None:
    wanted = parts(given.get("operation", ""))
    if not wanted or any(one.lower() not in OPERATIONS for one in wanted):
        raise SignatureError(
            f"'operation' is {given['operation']!r}" if wanted else "'operation' is missing",
            "one or several of insert, update, delete, with commas",
        )
    properties = properties_of(given.get("connector.properties", ""))
    server = properties.get("database.server.id", given.get("database.server.id", "1"))
    if not (server.isdecimal() and 1 <= int(server) <= LARGEST_SERVER_ID):
        raise SignatureError(
            f"'database.server.id' is {server!r}", f"a number from 1 to {LARGEST_SERVER_ID}"
        )


def properties_of(text: str) -> dict[str, str]:
    """Debezium's own settings; SignatureError for those that would mean something else here."""
    try:
        given = dict(pairs(text, "="))
    except ValueError as error:
        raise SignatureError(
            f"'connector.properties' holds '{error}'", "write name=value, with commas"
        ) from error
    for name, value in given.items():
        if name in _HARMLESS or name == "database.server.id":
            continue
        if name == "snapshot.mode" and value.lower() in _NO_SNAPSHOT:
            continue
        hint = _REFUSED.get(name, "leave it out: there is no Debezium here")
        if name == "snapshot.mode":
            hint = "rows that are there are not read: @store(type='rdbms', mode='copy') reads them"
        raise SignatureError(f"'connector.properties' sets {name!r} to {value!r}", hint)
    return given


EXTENSIONS = (
    ConnectorExtension(
        ExtensionKind.SOURCE,
        "cdc",
        (
            Overload(
                (
                    option("table.name", needed=True),
                    option("url"),
                    option("username"),
                    option("password"),
                    option("datasource.name"),
                    option("mode", choices=(LISTENING, POLLING)),
                    option("operation"),
                    option("polling.column"),
                    option("polling.interval", INT),
                    option("publication"),
                    option("database.server.id"),
                    option("database.server.name"),
                    option("connector.properties"),
                    *without_meaning("jdbc.driver.name pool.properties plugin.name"),
                ),
                check=_database,
            ),
        ),
        doc="Inserts, updates and deletes of a table, read by one receiver.",
        promise=Promise(
            Delivery.EXACTLY_ONCE,
            reconnect="goes on at its place in the log",
            poison="dead letter",
            pressure="stays in the database",
            repeat="known by its place",
        ),
        retired={
            "jndi.resource": "name a datasource of the settings: datasource.name='NAME'",
            "cron.expression": "name the seconds between two looks: polling.interval='1'",
            "wait.on.missed.record": "it waits for numbers that may never come: use"
            " mode='listening', which loses none",
            "missed.record.waiting.timeout": "use mode='listening', which loses none",
        },
    ),
)
