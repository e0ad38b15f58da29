"""@store(type='redis') (extensions 15.3)."""

from __future__ import annotations

import pytest

from lockstep.connectors.redis import place_of
from lockstep.siddhiql import SiddhiQLError, check

TABLE = "define table T (k string, v double);"


def test_a_store_names_a_server() -> None:
    """As the older products wrote it, in two ways; what is said alone counts more."""
    assert check(f"@Store(type='redis') @primaryKey('k') @index('v') {TABLE}").tables.keys() == {
        "T"
    }
    place = place_of({"nodes": "redis.example:7000@pass@word"}.get)
    assert (place.host, place.port, place.password) == ("redis.example", 7000, "pass@word")
    place = place_of({"nodes": "a:1", "port": "2", "password": "x"}.get)
    assert (place.host, place.port, place.password) == ("a", 2, "x")
    nothing: dict[str, str] = {}
    assert (place_of(nothing.get).host, place_of(nothing.get).port) == ("localhost", 6379)
    assert "x" not in repr(place_of({"password": "x"}.get))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"@store(type='redis') {TABLE}", "needs a primary key"),
        (f"@store(type='redis', cluster.mode='true') @PrimaryKey('k') {TABLE}", "'cluster.mode'"),
        (f"@store(type='redis', ttl.seconds='9') @PrimaryKey('k') {TABLE}", "let a query delete"),
        (f"@store(type='redis', nodes='a:b@secret') @PrimaryKey('k') {TABLE}", "'nodes' is no"),
        (f"@store(type='redis', port='many') @PrimaryKey('k') {TABLE}", "port"),
        (f"@store(type='redis', mode='follow') @PrimaryKey('k') {TABLE}", "own, copy"),
        (f"@store(type='redis', columns='k=c') @PrimaryKey('k') {TABLE}", "mode='copy'"),
        (f"@store(type='redis', mode='copy') {TABLE}", "no primary key"),
        (
            f"@store(type='redis', mode='lookup', poll.interval='1 sec') @PrimaryKey('k') {TABLE}",
            "'poll.interval' means nothing",
        ),
        (f"@store(type='redis', mode='lookup') @PrimaryKey('v') {TABLE}", "'v' is a double"),
        (
            "define stream S (k string); @store(type='redis', mode='lookup')"
            " @PrimaryKey('k', 'v') define table T (k string, v long);"
            " from S join T on S.k == T.k select T.v as v insert into O;",
            "whole primary key, and the condition compares no 'v'",
        ),
        (
            "define stream S (k string, v int); @store(type='redis') define aggregation A"
            " from S select k, sum(v) as s group by k aggregate every sec;",
            "an aggregation is not kept",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(text: str, said: str) -> None:
    """With what to do instead, and without the password."""
    with pytest.raises(SiddhiQLError) as caught:
        check(text)
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
