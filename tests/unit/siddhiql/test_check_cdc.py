"""The options of `@source(type='cdc')` (extensions 12.19)."""

from __future__ import annotations

import pytest

from lockstep.mapping import check_connectors
from lockstep.siddhiql import check
from tests.unit.siddhiql.refusals import error_of_app, says

MYSQL = "url='jdbc:mysql://db:3306/shop?useSSL=false'"
STREAM = "define stream S (id int, name string);"


def text_of(options: str) -> str:
    """An app with such a source of the table t."""
    return f"@source(type='cdc', table.name='t', {options}, @map(type='keyvalue')) {STREAM}"


@pytest.mark.parametrize(
    "options",
    [
        f"{MYSQL}, username='u', password='p', operation='insert'",
        f"{MYSQL}, operation='Insert, UPDATE,delete', database.server.id='5400'",
        f"{MYSQL}, operation='delete', database.server.name='n', plugin.name='pgoutput'",
        f"{MYSQL}, operation='insert', connector.properties='snapshot.mode=schema_only,name=x'",
        "url='${secret:where}', password='${secret:shop}', operation='insert'",
        "url='jdbc:postgresql://db/shop', operation='update', publication='p'",
        f"{MYSQL}, mode='polling', polling.column='id', polling.interval='5',"
        " jdbc.driver.name='com.mysql.jdbc.Driver', pool.properties='a:b'",
        "datasource.name='shop', mode='polling', polling.column='id'",
        "url='jdbc:sqlite:/data/shop.db', mode='polling', polling.column='id'",
    ],
)
def test_what_the_older_product_takes(options: str) -> None:
    """Also what means nothing here, where it is harmless."""
    check_connectors(check(text_of(options)))


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ("operation='insert'", ("'url' is missing", "jdbc:mysql://")),
        (
            "url='jdbc:oracle:thin:@h', operation='insert'",
            ("MySQL, MariaDB, PostgreSQL and SQLite",),
        ),
        (
            "url='jdbc:sqlite:/data/shop.db', operation='insert'",
            ("keeps no record of its changes", "mode='polling'"),
        ),
        (MYSQL, ("'operation' is missing", "insert, update, delete")),
        (f"{MYSQL}, operation='insert,upsert'", ("'insert,upsert'", "insert, update, delete")),
        (f"{MYSQL}, operation='insert', database.server.id='0'", ("'database.server.id'", "1 to")),
        (f"{MYSQL}, operation='insert', polling.column='id'", ("means nothing", "'polling'")),
        (f"{MYSQL}, mode='polling'", ("'polling.column' is missing",)),
        (f"{MYSQL}, mode='polling', polling.column='id', operation='insert'", ("'operation'",)),
        (f"{MYSQL}, mode='reading', operation='insert'", ("'reading'", "listening")),
        (
            f"{MYSQL}, operation='insert', connector.properties='snapshot.mode=initial'",
            ("snapshot.mode", "mode='copy'"),
        ),
        (
            f"{MYSQL}, operation='insert', connector.properties='transforms=x'",
            ("'transforms'", "no Debezium"),
        ),
        (f"{MYSQL}, operation='insert', connector.properties='x'", ("holds 'x'", "name=value")),
        (f"{MYSQL}, mode='polling', polling.column='id', cron.expression='* * *'", ("interval",)),
    ],
)
def test_what_would_mean_something_else_is_refused(options: str, parts: tuple[str, ...]) -> None:
    """With what to write instead."""
    says(error_of_app(text_of(options)), *parts)
