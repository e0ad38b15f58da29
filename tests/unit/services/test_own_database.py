"""The suite's own database and its bus: what apps may not have there, at the doors that open it."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from lockstep.bus.memory import MemoryBus, MemoryCarrier
from lockstep.clock import VirtualClock
from lockstep.connectors.nats import may_send
from lockstep.connectors.rdbms import check_own_table
from lockstep.databases import DatasourceError
from lockstep.secrets import Vault
from lockstep.siddhiql import ast
from lockstep.siddhiql.catalogue import SignatureError
from lockstep.siddhiql.syntax.parser import parse_app
from lockstep.sinks import Message, MessageRefusedError
from lockstep.telemetry import get_logger
from lockstep_services.publisher.build import SinkFactory
from lockstep_services.publisher.contract import SinkBinding, SinkSetupError
from lockstep_services.publisher.sinks.nats import nats_sink
from lockstep_services.receiver.stores import datasource_of_store
from tests.unit.services.publisher.parts import Cursors, sink_of

NOTHING: dict[str, str] = {}
OWN = "postgresql://lockstep@h/lockstep"


def test_every_table_of_the_suite_is_known() -> None:
    """Also one that a release to come adds: a bare name finds it where the user is `lockstep`."""
    folder = resources.files("lockstep.store.postgres").joinpath("migrations")
    text = "".join(one.read_text() for one in folder.iterdir() if one.name.endswith(".sql"))
    tables = set(re.findall(r"create table lockstep\.(\w+)", text, re.IGNORECASE))
    assert len(tables) > 15
    for table in (*tables, "migrations"):
        with pytest.raises(SignatureError, match="not for apps"):
            check_own_table(NOTHING.get, table)


def factory_of(vault: Vault) -> SinkFactory:
    """As a publisher has one."""
    return SinkFactory(
        Cursors(), MemoryBus(MemoryCarrier(VirtualClock())).topics, get_logger(), datasources={},
        default_dsn=OWN, max_connections=1, statement_timeout_ms=1_000, vault=vault,
        clock=VirtualClock(),
    )  # fmt: skip


def setup_of(text: str, vault: Vault) -> None:
    """A sink of app A, as the publisher makes it. SinkSetupError."""
    schema, annotation = sink_of(text)
    definition = parse_app(text).definitions[0]
    assert isinstance(definition, ast.StreamDefinition)
    factory_of(vault).sink_of(SinkBinding("A", schema, "S.0"), annotation, definition)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("@sink(type='rdbms') define stream accounts (a int);", "not for apps"),
        ("@sink(type='rdbms', table.name='${secret:t}') define stream S (a int);", "no schema"),
        ("@sink(type='rdbms', jdbc.url='${secret:e}') define stream audit (a int);", "not for"),
        (
            "@sink(type='nats', destination='ingress.B.T', @map(type='json'))"
            " define stream S (a int);",
            "not for app 'A'",
        ),
    ],
)
def test_a_sink_is_looked_at_again(tmp_path: Path, text: str, part: str) -> None:
    """The door knows the name of the stream and what a secret says."""
    (tmp_path / "t").write_text("lockstep.accounts")
    (tmp_path / "e").write_text("")
    with pytest.raises(SinkSetupError, match=part):
        setup_of(text, Vault(str(tmp_path)))


def test_what_is_an_apps_own_is_taken() -> None:
    """A table of a name of its own, and the front door of its own streams."""
    setup_of("@sink(type='rdbms') define stream Accounts (a int);", Vault(""))
    setup_of(
        "@sink(type='nats', destination='ingress.A.T', @map(type='json')) define stream S (a int);",
        Vault(""),
    )


def test_a_copied_table_is_looked_at_again() -> None:
    """Where it is read, by the name that it has there."""
    store = parse_app("@store(type='rdbms', mode='copy') define table T (a int);").definitions[0]
    assert isinstance(store, ast.TableDefinition)
    (annotation,) = store.annotations
    assert datasource_of_store(annotation, "customers", {}, OWN).host == "h"
    for table in ("accounts", "lockstep.accounts", "pg_shadow"):
        with pytest.raises(DatasourceError, match="own database"):
            datasource_of_store(annotation, table, {}, OWN)


@pytest.mark.parametrize(
    ("subject", "is_fine"),
    [
        ("alerts.fire", True),
        ("ingress.A.S", True),
        ("ingress.B.S", False),
        ("ingress.AB.S", False),
        ("topic.t", False),
        ("_INBOX.x", False),
        ("$JS.API.x", False),
        ("out.B.main.0", False),
    ],
)
async def test_a_computed_subject_is_looked_at(subject: str, is_fine: bool) -> None:
    """It is known with each row alone."""
    topics = MemoryBus(MemoryCarrier(VirtualClock())).topics
    sink = nats_sink({"destination": "{{a}}"}, topics, None, "A")
    message = Message("1", b"", "text/plain", 0, {}, lambda _template: subject)
    if is_fine:
        return await sink.send(message)
    with pytest.raises(MessageRefusedError, match="no subject for a sink"):
        await sink.send(message)
    assert may_send(subject, {"server.urls": "nats://h"}, "ingress.A.") == (subject[0] != "$")
    return None
