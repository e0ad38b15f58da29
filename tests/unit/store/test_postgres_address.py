"""A DSN that nobody can read ends a start at once, and is not taken for a server that is away."""

from __future__ import annotations

import pytest

from lockstep.store.postgres import PostgresStore
from lockstep.store.postgres.address import BadDsnError, check_dsn


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://u:p%40x@a:5432,b/db?sslmode=require",
        "postgres://[::1]:5432/db",
        "postgresql:///db?host=/run",
        "postgresql://u@a",
    ],
)
def test_what_the_driver_reads(dsn: str) -> None:
    """Several servers, addresses of IPv6, sockets."""
    check_dsn(dsn)


@pytest.mark.parametrize(
    "dsn",
    [
        "postgres//u:hidden@a/db", "a:5432", "postgresql://u:hidden@a:port/db", "",
        "postgresql://u:hidden@a:99999/db", "postgresql://u:hid/den@a/db",
        "postgresql://u:hidden@[a/db",
    ],
)  # fmt: skip
async def test_what_it_does_not(dsn: str) -> None:
    """The setting is named, and no password."""
    with pytest.raises(BadDsnError) as caught:
        await PostgresStore.connect(dsn, max_connections=1, statement_timeout_ms=100)
    text = str(caught.value)
    assert "store.postgres_dsn" in text
    assert "hidden" not in text
