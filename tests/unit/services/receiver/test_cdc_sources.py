"""What a cdc source is known by, and how its changes are acknowledged."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lockstep.connectors.cdc import LARGEST_SERVER_ID
from lockstep.databases import RowEvent, RowOperation
from lockstep.siddhiql import ast
from lockstep_services.receiver.changes import (
    ChangesMailbox,
    label_of,
    operations_of,
    server_id_of,
)
from lockstep_services.receiver.sources import Source


def source_of(url: str = "mysql://h/d", operation: str = "insert", word: str = "x") -> Source:
    """One of an app."""
    given = {"type": "cdc", "url": url, "table.name": "t", "operation": operation, "password": word}
    elements = tuple(ast.Element(name, value) for name, value in given.items())
    return Source("App", "S", 0, "cdc", ast.Annotation("source", elements), None)


def test_a_source_is_what_it_reads() -> None:
    """Its place stays when its operations or its password change, and not when its database, or the
    life of the app's logs, is another."""
    label = label_of(source_of(), 1)
    assert label == label_of(source_of(operation="update,delete", word="y"), 1)
    assert label != label_of(source_of(url="mysql://other/d"), 1)
    assert label != label_of(source_of(), 2)


def test_a_server_id_is_given_or_the_sources_own() -> None:
    """Connector properties go before options, as in the older product."""
    label = label_of(source_of(), 1)
    assert 1 <= server_id_of({}, label) <= LARGEST_SERVER_ID
    assert server_id_of({}, label) == server_id_of({}, label)
    assert server_id_of({"database.server.id": "7"}, label) == 7
    both = {"database.server.id": "7", "connector.properties": "database.server.id=8"}
    assert server_id_of(both, label) == 8


def test_operations_in_any_case() -> None:
    """Several, with commas."""
    assert operations_of({"operation": "Insert, DELETE"}) == {
        RowOperation.INSERT,
        RowOperation.DELETE,
    }


class Listened:
    """Two changes, and a count of how often they were said to be durable."""

    def __init__(self) -> None:
        self.settled = 0
        self.closed = False

    async def read(self, *, max_rows: int, wait_ms: int) -> Sequence[RowEvent]:
        """Both."""
        return [RowEvent(f"{n}", RowOperation.INSERT, {"id": n, "name": "é"}) for n in (1, 2)]

    async def settle(self) -> None:
        """Counted."""
        self.settled += 1

    async def forget(self) -> None:
        """Not here."""

    async def close(self) -> None:
        """Seen."""
        self.closed = True


async def test_a_place_is_noted_when_all_before_it_is_durable() -> None:
    """And not while a message is under way."""
    listened = Listened()
    mailbox = ChangesMailbox(listened, "t")
    first, second = await mailbox.read(max_messages=9, wait_ms=0)
    assert json.loads(first.payload) == {"id": 1, "name": "é"}
    assert first.headers == {"operation": "insert", "table": "t"}
    await first.acknowledge()
    before = listened.settled
    await mailbox.read(max_messages=9, wait_ms=0)
    assert listened.settled == before
    await second.acknowledge()
    await mailbox.close()
    assert (listened.settled, listened.closed) == (before, True)
