"""@store(type='mongodb') (extensions 15.4), and what documents are as rows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from bson import Decimal128, Int64, ObjectId

from lockstep.databases import DatabaseError, TableShape, mongodb_at
from lockstep.databases.mongodb.values import filter_of, row_of
from lockstep.events import AttributeType
from lockstep.siddhiql import SiddhiQLError, check

TABLE = "@PrimaryKey('k') define table T (k string, v double);"
SECRET = "mongodb://me:hidden@h1,h2:27018/shop?tls=true"


def test_a_store_names_a_collection_that_others_write() -> None:
    """Also by secrets; a datasource shows none."""
    for uri in (SECRET, "mongodb+srv://h/shop", "${secret:uri}", "mongodb://u:${secret:p}@h/d"):
        app = check(f"@store(type='mongodb', mode='copy', mongodb.uri='{uri}') {TABLE}")
        assert [one.name for one in app.external] == ["T"]
    found = mongodb_at(SECRET, "shop")
    assert (found.dsn, found.host, found.database) == (SECRET, "h1,h2:27018", "shop")
    assert "hidden" not in f"{found!r} {found.place}"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (f"mongodb.uri='{SECRET}'", "'mode' is missing"),
        (f"mode='own', mongodb.uri='{SECRET}'", "copy, lookup"),
        ("mode='copy'", "'mongodb.uri'"),
        ("mode='copy', mongodb.uri='mongodb://me:hidden@h'", "no database"),
        ("mode='copy', mongodb.uri='http://me:hidden@h/d'", "no server, or no database"),
        (f"mode='lookup', poll.interval='1 sec', mongodb.uri='{SECRET}'", "'poll.interval'"),
        (f"mode='copy', secure.connection='true', mongodb.uri='{SECRET}'", "in the uri"),
    ],
)
def test_what_cannot_be_is_refused(options: str, said: str) -> None:
    """With what to do instead, and without the password."""
    with pytest.raises(SiddhiQLError) as caught:
        check(f"@store(type='mongodb', {options}) {TABLE}")
    assert said in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "wanted", "read"),
    [
        (Int64(2**40), AttributeType.LONG, 2**40),
        (7.0, AttributeType.INT, 7),
        (Decimal128("12.50"), AttributeType.DOUBLE, 12.5),
        (Decimal128("12.50"), AttributeType.STRING, "12.50"),
        (ObjectId("0" * 24), AttributeType.STRING, "0" * 24),
        (datetime(2026, 3, 1, tzinfo=UTC), AttributeType.STRING, "2026-03-01T00:00:00+00:00"),
        ({"a": [ObjectId("1" * 24), "ä"]}, AttributeType.STRING, '{"a": ["%s", "ä"]}' % ("1" * 24)),
        (True, AttributeType.STRING, "true"),
        (False, AttributeType.BOOL, False),
        (None, AttributeType.INT, None),
        (2**31, AttributeType.INT, DatabaseError),
        (7.5, AttributeType.LONG, DatabaseError),
        (float("inf"), AttributeType.LONG, DatabaseError),
        (True, AttributeType.LONG, DatabaseError),
        (1, AttributeType.BOOL, DatabaseError),
        ("1", AttributeType.DOUBLE, DatabaseError),
    ],
)
def test_fields_as_attributes(value: Any, wanted: AttributeType, read: Any) -> None:
    """By a path; what would lose something is refused with the field's name."""
    shape = TableShape("t", ("a.b",), (wanted,), ("a.b",))
    assert row_of({"a": 1}, shape, "shop.t") == (None,)
    if read is DatabaseError:
        with pytest.raises(DatabaseError, match=r"'a\.b' of a document"):
            row_of({"a": {"b": value}}, shape, "shop.t")
    else:
        assert row_of({"a": {"b": value}}, shape, "shop.t") == (read,)


def test_what_is_asked_is_a_value() -> None:
    """And never an operator."""
    assert filter_of(("k",), [("$ne",), (1,)]) == {"k": {"$in": ["$ne", 1]}}
    assert filter_of(("k", "v"), [("$ne", 1)]) == {"$or": [{"k": {"$eq": "$ne"}, "v": {"$eq": 1}}]}
