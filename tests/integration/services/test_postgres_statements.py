"""Statements of apps in PostgreSQL: a right that is missing is waited for, as by a table's sink."""

from __future__ import annotations

import json
from collections.abc import Sequence

import asyncpg
import pytest

from lockstep.databases.postgres.connections import Connections
from lockstep.embedded import PostgresServer
from lockstep.events import AttributeType, UnavailableError
from lockstep.sinks import Message, MessageRefusedError
from lockstep_services.publisher.rdbms.statements import PostgresStatements
from lockstep_services.publisher.sinks.rdbms_call import Statement, StatementAsking
from tests.integration.services.test_postgres_sink import BOOM, admin, limited, server

__all__ = ["admin", "limited", "server"]

MESSAGE = Message("App/main/0/1.0", b"", "text/plain", 0, {"k": 1}, str)
INSERT = ("INSERT INTO known VALUES (", ", 5)")
SELECT = ("SELECT v FROM known WHERE k = ", "")
GIVES = (("v", AttributeType.INT),)


def asking_of(connections: Connections, parts: Sequence[str]) -> StatementAsking:
    """A change, or a question."""
    gives = GIVES if parts == SELECT else None
    count = len(parts) - 1
    names, kinds = ("k",) * count, (AttributeType.INT,) * count
    statement = Statement(tuple(parts), names, kinds, gives, tells_empty=False)
    return StatementAsking(statement, PostgresStatements("calls", connections), (), "App/calls")


async def answer(asking: StatementAsking) -> list[dict[str, int]]:
    """To the message."""
    answered = await asking.send(MESSAGE)
    assert answered is not None
    found: list[dict[str, int]] = json.loads(answered.body)
    return found


async def test_a_statement_waits_for_its_rights(
    admin: asyncpg.Connection, limited: Connections
) -> None:
    """A change and a question; both are made once they may be."""
    asks = [asking_of(limited, parts) for parts in (INSERT, SELECT)]
    for asking in asks:
        with pytest.raises(UnavailableError, match=r"permission denied .*hint: grant"):
            await answer(asking)
    await admin.execute("GRANT SELECT, INSERT ON known TO w")
    assert [await answer(asking) for asking in asks] == [[{"numRecords": 1}], [{"v": 5}]]


async def test_a_statement_waits_for_a_place_for_its_records(
    admin: asyncpg.Connection, limited: Connections
) -> None:
    """No message is at fault for that."""
    await admin.execute("GRANT ALL ON known TO w; REVOKE CREATE ON SCHEMA public FROM w")
    asking = asking_of(limited, INSERT)
    with pytest.raises(UnavailableError, match="needs CREATE"):
        await answer(asking)
    await admin.execute("GRANT CREATE ON SCHEMA public TO w")
    assert await answer(asking) == [{"numRecords": 1}]


@pytest.mark.parametrize("refusing", ["trigger", "policy"])
async def test_what_refuses_a_message_for_its_values_refuses_it(
    admin: asyncpg.Connection, limited: Connections, refusing: str
) -> None:
    """In the words of a right that is missing: waiting would not help."""
    await admin.execute("GRANT ALL ON known TO w")
    if refusing == "trigger":
        await admin.execute(BOOM.format("42501"))
    else:
        await admin.execute("ALTER TABLE known ENABLE ROW LEVEL SECURITY")
    with pytest.raises(MessageRefusedError, match=r"boom|row-level security"):
        await answer(asking_of(limited, INSERT))


async def test_a_statement_that_cannot_be_planned_is_refused(
    server: PostgresServer, limited: Connections
) -> None:
    """What is not known to be a right that everybody lacks is the message's."""
    with pytest.raises(MessageRefusedError, match="must be owner"):
        await answer(asking_of(limited, ["COMMENT ON TABLE known IS ''"]))
